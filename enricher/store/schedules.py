"""What is due by the clock, what became of it, and when a job last succeeded: one row a job, for all processes."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import Connection, delete, func, select, update

from enricher.store.records import RunState, ScheduleOutcome, ScheduleRecord
from enricher.store.schema import runs, schedules, watermarks
from enricher.store.upsert import insert_into

# Clocks of hosts may differ by so much. A moment further ahead was noted by a clock that was wrong.
SKEW = timedelta(minutes=10)


def note_due(connection: Connection, job: str, due: Sequence[datetime], now: datetime) -> None:
    """Note moments at which a job is due, oldest first; what was noted or done before is passed over."""
    _make_sure_of(connection, job)
    row = connection.execute(select(schedules).where(schedules.c.job == job).with_for_update()).one()
    known = [moment for moment in (row.due_at, row.done_until) if moment is not None and moment <= now + SKEW]
    new = [moment for moment in due if not known or moment > max(known)]
    if not new:
        return
    is_open = row.due_at is not None and row.due_at <= now + SKEW
    connection.execute(
        update(schedules)
        .where(schedules.c.job == job)
        .values(
            due_at=new[-1],
            due_since=row.due_since if is_open else new[0],
            waiting=(row.waiting if is_open else 0) + len(new),
            done_until=row.done_until if row.done_until in known else None,
        )
    )


def close(
    connection: Connection,
    record: ScheduleRecord,
    outcome: ScheduleOutcome,
    reason: str,
    run_id: str | None,
    now: datetime,
) -> None:
    """Record what became of what was due; what has become due since stays so."""
    job, done = record.job, record.due_at
    row = connection.execute(select(schedules).where(schedules.c.job == job).with_for_update()).one()
    if row.done_until == done and done is not None:
        return  # recorded before, by a commit whose answer was lost
    came_since = row.due_at is not None and done is not None and row.due_at > done
    values = {
        "due_at": row.due_at if came_since else None,
        "due_since": row.due_at if came_since else None,
        "waiting": row.waiting - record.waiting if came_since else 0,
        "done_until": done,
        "outcome": outcome.value,
        "outcome_at": now,
        "reason": reason,
        "run_id": run_id,
    }
    if outcome in (ScheduleOutcome.CLEAN, ScheduleOutcome.INCOMPLETE):
        values["last_success_at"] = now
    connection.execute(update(schedules).where(schedules.c.job == job).values(**values))


def wind_back(connection: Connection, job: str, now: datetime) -> None:
    """Put watermarks that lie ahead back to what the last run saw whose clock was right; without one, forget them."""
    query = select(func.max(runs.c.window_end)).where(
        runs.c.job == job, runs.c.state == RunState.COMPLETED.value, runs.c.window_start.is_(None),
        runs.c.window_end <= now,
    )  # fmt: skip
    reached = connection.execute(query).scalar()
    ahead = (watermarks.c.job == job, watermarks.c.reached > now)
    if reached is None:
        connection.execute(delete(watermarks).where(*ahead))
    else:
        connection.execute(update(watermarks).where(*ahead).values(reached=reached))


def records(connection: Connection) -> dict[str, ScheduleRecord]:
    """Read how every job stands that was ever due."""
    found = {}
    for row in connection.execute(select(schedules)):
        outcome = ScheduleOutcome(row.outcome) if row.outcome else None
        found[row.job] = ScheduleRecord(**{**row._mapping, "outcome": outcome})  # fields are named after columns
    return found


def _make_sure_of(connection: Connection, job: str) -> None:
    row = {"job": job, "waiting": 0, "reason": ""}
    connection.execute(insert_into(connection, schedules).on_conflict_do_nothing(), row)
