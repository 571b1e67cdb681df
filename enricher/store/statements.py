"""The statements of a settlement, made once: to put one together costs more than to write a row with it.

Those that insert differ by the dialect, the name of which they are asked for with.
"""

from functools import cache
from typing import Any

from sqlalchemy import (
    BindParameter,
    Delete,
    Executable,
    Insert,
    Select,
    Update,
    bindparam,
    delete,
    false,
    select,
    update,
)

from enricher.store.records import ReviewState
from enricher.store.schema import (
    batch_lines,
    evaluations,
    facts,
    items,
    opinions,
    outbox,
    raw_replies,
    refs,
    rejections,
    review_items,
)
from enricher.store.upsert import insert_for

_IDS: BindParameter[Any] = bindparam("ids", expanding=True)

KNOWN: Select[Any] = select(evaluations.c.id, evaluations.c.verdict).where(
    evaluations.c.id.in_(_IDS), evaluations.c.is_verdict.is_(True)
)
DROP_REPLIES: Delete = delete(raw_replies).where(raw_replies.c.evaluation_id.in_(_IDS))
ADD_REPLIES: Insert = raw_replies.insert()
ADD_OPINIONS: Insert = opinions.insert()
OPEN_QUESTIONS: Select[Any] = select(review_items.c.id, review_items.c.evaluation_id).where(
    review_items.c.id.in_(_IDS), review_items.c.state == ReviewState.OPEN.value
)
MOVE_REF: Update = update(refs).where(
    refs.c.job == bindparam("its_job"),
    refs.c.connection == bindparam("its_connection"),
    refs.c.trace_id == bindparam("its_trace"),
)
# What belongs to no batch any more has been answered.
DROP_ANSWERS: Delete = delete(batch_lines).where(batch_lines.c.trace_id.in_(_IDS), batch_lines.c.batch_id.is_(None))

# A claim stays: whoever is sending the older content goes first, and its late result meets a newer revision.
_STAYS = ("key", "revision", "claimed_by", "claimed_until", "remote_id")


@cache
def put_evaluations(dialect: str) -> Executable:
    """Insert evaluations, or replace failures, and return the ids of those written."""
    statement = insert_for(dialect, evaluations)
    replaced = {c.name: statement.excluded[c.name] for c in evaluations.c if c.name != "id"}
    statement = statement.on_conflict_do_update(
        index_elements=[evaluations.c.id], set_=replaced, where=evaluations.c.is_verdict == false()
    )
    return statement.returning(evaluations.c.id)


@cache
def add_items(dialect: str) -> Executable:
    """Insert items that are not there."""
    return insert_for(dialect, items).on_conflict_do_nothing(index_elements=[items.c.id])


@cache
def put_facts(dialect: str) -> Executable:
    """Insert or replace facts."""
    statement = insert_for(dialect, facts)
    replaced = {c.name: statement.excluded[c.name] for c in facts.c if not c.primary_key}
    return statement.on_conflict_do_update(index_elements=[facts.c.run_id, facts.c.evaluation_id], set_=replaced)


@cache
def write_over_annotations(dialect: str) -> Executable:
    """Insert write-backs, or put them in place of what is queued or was sent under their keys, if they differ."""
    statement = insert_for(dialect, outbox)
    replaced: dict[str, Any] = {c.name: statement.excluded[c.name] for c in outbox.c if c.name not in _STAYS}
    return statement.on_conflict_do_update(
        index_elements=[outbox.c.key],
        set_={**replaced, "revision": outbox.c.revision + 1},
        where=outbox.c.annotation != statement.excluded.annotation,
    )


@cache
def add_annotations(dialect: str) -> Executable:
    """Insert write-backs that are not there."""
    return insert_for(dialect, outbox).on_conflict_do_nothing(index_elements=[outbox.c.key])


@cache
def put_questions(dialect: str) -> Executable:
    """Insert or reopen questions to people, and return the ids of those that are open now."""
    statement = insert_for(dialect, review_items)
    replaced = ("evaluation_id", "run_id", "reasons", "state", "updated_at", "decided_at")
    statement = statement.on_conflict_do_update(
        index_elements=[review_items.c.id],
        set_={name: statement.excluded[name] for name in replaced},
        # What people decided about this very outcome stays decided.
        where=(review_items.c.state != ReviewState.DECIDED.value)
        | (review_items.c.evaluation_id != statement.excluded.evaluation_id),
    )
    return statement.returning(review_items.c.id)


@cache
def add_rejections(dialect: str) -> Executable:
    """Insert rejections that are not there."""
    return insert_for(dialect, rejections).on_conflict_do_nothing()
