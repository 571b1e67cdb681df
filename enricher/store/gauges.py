"""Figures for those who watch: what finished runs counted, how long the queues are, how late deliveries come."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, func, select

from enricher.store.records import ReviewState, RunState
from enricher.store.schema import REF_IS_OPEN, hints, outbox, refs, review_items, runs
from enricher.verdict import DeliveryState

_LAGS = 1000  # deliveries of a run that are looked at; more would say the same


@dataclass(frozen=True, kw_only=True, slots=True)
class FinishedRun:
    """A run that has ended, without its report."""

    id: str
    job: str
    state: RunState
    started_at: datetime
    finished_at: datetime
    counters: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Queues:
    """What waits: traces by job and state, write-backs by connection and state, questions to people, hints."""

    traces: Mapping[tuple[str, str], int]
    write_backs: Mapping[tuple[str, str], int]
    oldest: Mapping[str, datetime]  # by connection: creation of the oldest open write-back
    reviews: int
    hints: int


def finished_runs(
    connection: Connection, job: str | None, since: datetime | None, limit: int | None
) -> list[FinishedRun]:
    """Return runs that have ended, newest first."""
    query = select(runs.c.id, runs.c.job, runs.c.state, runs.c.started_at, runs.c.finished_at, runs.c.counters)
    query = query.where(runs.c.finished_at.is_not(None)).order_by(runs.c.finished_at.desc(), runs.c.id.desc())
    if job is not None:
        query = query.where(runs.c.job == job)
    if since is not None:
        query = query.where(runs.c.finished_at >= since)
    return [
        FinishedRun(
            id=row.id,
            job=row.job,
            state=RunState(row.state),
            started_at=row.started_at,
            finished_at=row.finished_at,
            counters=row.counters,
        )
        for row in connection.execute(query.limit(limit))
    ]


def queues(connection: Connection) -> Queues:
    """Count what waits."""
    open_refs = select(refs.c.job, refs.c.state, func.count()).where(REF_IS_OPEN).group_by(refs.c.job, refs.c.state)
    states = [state.value for state in DeliveryState if state is not DeliveryState.CONFIRMED]
    waiting = select(outbox.c.connection, outbox.c.state, func.count(), func.min(outbox.c.created_at))
    waiting = waiting.where(outbox.c.state.in_(states)).group_by(outbox.c.connection, outbox.c.state)
    rows: Sequence[Any] = connection.execute(waiting).all()
    oldest: dict[str, datetime] = {}
    for name, state, _, created in rows:
        if state != DeliveryState.FAILED.value:
            oldest[name] = min(oldest.get(name, created), created)
    asked = select(func.count()).where(review_items.c.state == ReviewState.OPEN.value)
    return Queues(
        traces={(job, state): count for job, state, count in connection.execute(open_refs)},
        write_backs={(name, state): count for name, state, count, _ in rows},
        oldest=oldest,
        reviews=int(connection.execute(asked).scalar_one()),
        hints=int(connection.execute(select(func.count()).select_from(hints)).scalar_one()),
    )


def delivery_lags(connection: Connection, run_id: str) -> list[float]:
    """Return how many seconds the latest confirmed write-backs of a run took from their verdict to the platform."""
    query = select(outbox.c.created_at, outbox.c.confirmed_at).where(
        outbox.c.run_id == run_id, outbox.c.confirmed_at.is_not(None)
    )
    rows = connection.execute(query.order_by(outbox.c.confirmed_at.desc()).limit(_LAGS))
    return [max(0.0, (confirmed - created).total_seconds()) for created, confirmed in rows]
