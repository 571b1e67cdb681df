"""Forget a trace: delete everything about it, and keep only that it is not to be taken up again."""

import re
from collections.abc import Collection
from datetime import datetime
from hashlib import sha256
from typing import Any

from sqlalchemy import Connection, String, bindparam, delete, or_, select, type_coerce, update

from enricher.store.schema import (
    batch_lines,
    comparisons,
    evaluations,
    forgotten,
    hints,
    items,
    outbox,
    pairs,
    refs,
    rejections,
    review_items,
    runs,
)
from enricher.store.upsert import insert_into

_FORGOTTEN = select(forgotten.c.digest).where(forgotten.c.digest.in_(bindparam("digests", expanding=True)))
# Raw replies, opinions, write-backs and questions to people go with their evaluations.
_TABLES = (outbox, review_items, evaluations, items, rejections, refs, hints, batch_lines)


def forget(connection: Connection, trace_id: str, now: datetime) -> int:
    """Delete everything about a trace, on every connection, also from stored reports; return how many rows.

    A digest of its id stays behind, so that no rule and no webhook brings it back.
    """
    deleted = sum(connection.execute(delete(t).where(t.c.trace_id == trace_id)).rowcount for t in _TABLES)
    is_compared = or_(pairs.c.champion_trace_id == trace_id, pairs.c.challenger_trace_id == trace_id)
    deleted += connection.execute(delete(pairs).where(is_compared)).rowcount
    about = re.compile(rf"(?<![\w-]){re.escape(trace_id)}(?![\w-])")
    for stored in (runs.c.report, comparisons.c.figures):
        key, mentions = stored.table.c.id, type_coerce(stored, String).contains(trace_id, autoescape=True)
        for its_id, value in connection.execute(select(key, stored).where(mentions)).all():
            statement = update(stored.table).where(key == its_id)
            connection.execute(statement.values({stored: _without(value, about)}))
    row = {"digest": _digest(trace_id), "forgotten_at": now}
    connection.execute(insert_into(connection, forgotten).on_conflict_do_nothing(), row)
    return deleted


def forgotten_among(connection: Connection, trace_ids: Collection[str]) -> set[str]:
    """Return those of these traces that are to stay forgotten."""
    digests = {_digest(trace_id): trace_id for trace_id in trace_ids}
    if not digests:
        return set()
    found = connection.execute(_FORGOTTEN, {"digests": list(digests)})
    return {digests[digest] for digest in found.scalars()}


def _digest(trace_id: str) -> str:
    return sha256(trace_id.encode("utf-8", "replace")).hexdigest()


def _without(value: Any, about: re.Pattern[str]) -> Any:
    """Drop from every list and object the entries about a trace."""
    if isinstance(value, list):
        return [_without(entry, about) for entry in value if not _is_about(entry, about)]
    if isinstance(value, dict):
        return {key: _without(entry, about) for key, entry in value.items() if not _is_about(entry, about)}
    return value


def _is_about(value: Any, about: re.Pattern[str]) -> bool:
    if isinstance(value, str):
        return about.search(value) is not None
    return isinstance(value, dict) and isinstance(value.get("trace_id"), str) and _is_about(value["trace_id"], about)
