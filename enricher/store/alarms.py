"""Which alerts have been raised and not been lowered since, so that each is told once."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, delete, select, update

from enricher.store.schema import alerts
from enricher.store.upsert import insert_into


@dataclass(frozen=True, kw_only=True, slots=True)
class Alarm:
    """An alert that was raised and still holds."""

    rule: str
    raised_at: datetime
    run_id: str  # the run that raised it
    told: tuple[str, ...] = ()  # digests of the webhooks that took it


def follow(
    connection: Connection, job: str, breached: Collection[str], checked: Collection[str], run_id: str, now: datetime
) -> dict[str, Alarm]:
    """Raise what is breached, lower what was checked and is not; return what holds now, by rule."""
    lowered = set(checked) - set(breached)
    connection.execute(delete(alerts).where(alerts.c.job == job, alerts.c.rule.in_(lowered)))
    rows = [{"job": job, "rule": rule, "raised_at": now, "run_id": run_id, "told": []} for rule in sorted(breached)]
    if rows:
        connection.execute(insert_into(connection, alerts).on_conflict_do_nothing(), rows)
    held = connection.execute(select(alerts).where(alerts.c.job == job).order_by(alerts.c.rule))
    return {row.rule: _alarm(row) for row in held}


def note_told(connection: Connection, job: str, told: Mapping[str, Collection[str]]) -> None:
    """Keep which webhooks took which alerts."""
    for rule, takers in told.items():
        statement = update(alerts).where(alerts.c.job == job, alerts.c.rule == rule)
        connection.execute(statement.values(told=sorted(takers)))


def _alarm(row: Row[Any]) -> Alarm:
    return Alarm(rule=row.rule, raised_at=row.raised_at, run_id=row.run_id, told=tuple(row.told))
