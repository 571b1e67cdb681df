"""Runs for those who watch: a list without reports, and how far one that is under way has come."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, and_, func, or_, select

from enricher.store.history import tally
from enricher.store.owner import is_surely_gone
from enricher.store.records import RefState, RunState, Tally
from enricher.store.schema import REF_IS_OPEN, leases, refs, rejections, runs
from enricher.store.store import Store
from enricher.trace import Rejection, RejectReason, TraceId

_COLUMNS = (runs.c.id, runs.c.job, runs.c.owner, runs.c.state, runs.c.started_at, runs.c.finished_at, runs.c.counters)


@dataclass(frozen=True, kw_only=True, slots=True)
class RunRow:
    """A run without its report."""

    id: str
    job: str
    owner: str
    state: RunState
    started_at: datetime
    finished_at: datetime | None
    counters: Mapping[str, Any]  # empty while it is under way


@dataclass(frozen=True, kw_only=True, slots=True)
class RunProgress:
    """How far a run has come, counted from what is settled."""

    done: int  # traces it took up and is through with
    in_work: int  # traces it has taken up
    waiting: int  # traces of its job that are due and not taken up yet
    tally: Tally  # what it settled so far
    heartbeat_at: datetime | None  # when its process last renewed its lease; None: nobody holds it
    is_alive: bool  # somebody holds the lease of the job

    @property
    def total(self) -> int:
        """Return how many traces there are for it to do, as far as is known."""
        return self.done + self.in_work + self.waiting


async def latest_runs(
    store: Store, *, job: str | None = None, before: str | None = None, limit: int = 50
) -> list[RunRow]:
    """Return runs, newest first; those that started before a run, if one is named."""
    conditions: list[ColumnElement[bool]] = []
    if job is not None:
        conditions.append(runs.c.job == job)
    if before is not None:
        conditions.append(started_before(runs, before))
    query = select(*_COLUMNS).where(*conditions).order_by(runs.c.started_at.desc(), runs.c.id.desc()).limit(limit)
    return await store.look(lambda c: [_row(row) for row in c.execute(query)])


def started_before(table: Table, row_id: str) -> ColumnElement[bool]:
    """Return the condition for what comes after a row in a list with the newest first; ids tell equals apart."""
    own = select(table.c.started_at).where(table.c.id == row_id).scalar_subquery()
    return or_(table.c.started_at < own, and_(table.c.started_at == own, table.c.id < row_id))


async def jobs_that_ran(store: Store) -> list[str]:
    """Return the names of all jobs that ever ran."""
    query = select(runs.c.job).distinct().order_by(runs.c.job)
    return await store.look(lambda c: list(c.execute(query).scalars()))


async def run_progress(store: Store, run_id: str, job: str) -> RunProgress:
    """Count what a run has done and what waits for it."""
    now = store.clock()
    return await store.look(lambda c: _progress(c, run_id, job, now))


async def rejections_in(store: Store, run_id: str, *, limit: int = 200) -> list[Rejection]:
    """Return traces that a run must not judge, with the reason, by reason and trace."""
    query = select(rejections).where(rejections.c.run_id == run_id)
    query = query.order_by(rejections.c.reason, rejections.c.trace_id, rejections.c.span_id).limit(limit)
    return await store.look(lambda c: [_rejection(row) for row in c.execute(query)])


def _rejection(row: Any) -> Rejection:
    return Rejection(trace_id=TraceId(row.trace_id), reason=RejectReason(row.reason), detail=row.detail)


def _row(row: Any) -> RunRow:
    return RunRow(**{**row._mapping, "state": RunState(row.state)})  # fields are named after columns


def _progress(connection: Connection, run_id: str, job: str, now: datetime) -> RunProgress:
    counted = tally(connection, run_id)
    in_work = counted.refs.get(RefState.DUE, 0)
    is_not_taken = or_(refs.c.run_id.is_(None), refs.c.run_id != run_id)
    waiting = select(func.count()).where(refs.c.job == job, REF_IS_OPEN, is_not_taken)
    lease = connection.execute(
        select(leases.c.owner, leases.c.heartbeat_at, leases.c.expires_at).where(leases.c.name == f"job:{job}")
    ).first()
    return RunProgress(
        done=sum(counted.refs.values()) - in_work,
        in_work=in_work,
        waiting=int(connection.execute(waiting).scalar_one()),
        tally=counted,
        heartbeat_at=lease.heartbeat_at if lease is not None else None,
        is_alive=lease is not None and lease.expires_at > now and not is_surely_gone(lease.owner),
    )
