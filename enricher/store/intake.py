"""Keep which traces a job has chosen, hand them out once a run, and give up those that never end."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, bindparam, delete, func, or_, select, update

from enricher.store.forgetting import forgotten_among
from enricher.store.records import Hint, Intake, RefRecord, RefState, Taken
from enricher.store.schema import REF_IS_OPEN, hints, refs, rejections
from enricher.store.upsert import insert_into
from enricher.trace import RejectReason, TraceId, TraceRef, UserReport

_OPEN = (RefState.DUE.value, RefState.DEFERRED.value)


def take_in(connection: Connection, job: str, chosen: Iterable[TraceRef], again: bool, now: datetime) -> Intake:
    """Add chosen traces; a known one gains rules and reports, and if it did (or if `again`) it is due once more."""
    merged = _merged(chosen)
    gone = forgotten_among(connection, {trace_id for _, trace_id in merged})
    merged = {place: ref for place, ref in merged.items() if place[1] not in gone}
    query = select(refs).where(refs.c.job == job, refs.c.trace_id.in_([trace_id for _, trace_id in merged]))
    known = {(row.connection, row.trace_id): row for row in connection.execute(query)}
    added: list[dict[str, Any]] = []
    changed: list[dict[str, Any]] = []
    reopened = 0
    for place, ref in merged.items():
        row = known.get(place)
        if row is None:
            added.append(_new_row(job, ref, now))
            continue
        old = _ref(row)
        ref = old.joined_with(ref)
        if not again and ref.rules == old.rules and ref.reports == old.reports:
            continue
        is_open = row.state in _OPEN
        reopened += not is_open
        state = {} if is_open else {"state": RefState.DUE.value, "reason": ""}
        changed.append({**_parts(ref), "state": row.state, "reason": row.reason, **state, "its_id": row.id})
    if added:
        connection.execute(insert_into(connection, refs).on_conflict_do_nothing(), added)
    if changed:
        statement = update(refs).where(refs.c.id == bindparam("its_id")).values(updated_at=now)
        connection.execute(statement, changed)
    known_before = len(merged) - len(added) - reopened
    return Intake(new=len(added), again=reopened, known=known_before, forgotten=len(gone))


def take_due(
    connection: Connection, job: str, run_id: str, limit: int, only: Collection[str] | None, now: datetime
) -> list[Taken]:
    """Hand the next open traces to a run, reported ones first; each trace once a run, whatever becomes of it."""
    named = () if only is None else (refs.c.trace_id.in_(only),)
    query = (
        select(refs)
        .where(refs.c.job == job, REF_IS_OPEN, or_(refs.c.run_id.is_(None), refs.c.run_id != run_id), *named)
        .order_by(refs.c.priority, refs.c.id)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    rows = connection.execute(query).all()
    if rows:
        statement = update(refs).where(refs.c.id.in_([row.id for row in rows]))
        connection.execute(statement.values(run_id=run_id, attempts=refs.c.attempts + 1, updated_at=now))
    return [
        Taken(
            ref=_ref(row),
            attempts=row.attempts + 1,
            was_deferred=row.state == RefState.DEFERRED.value,
            first_seen_at=row.first_seen_at,
        )
        for row in rows
    ]


def count_due(connection: Connection, job: str, not_of: str | None, only: Collection[str] | None) -> int:
    """Count the due traces: all, those that the run `not_of` has not taken, or those among some ids."""
    query = select(func.count()).where(refs.c.job == job, REF_IS_OPEN, refs.c.state == RefState.DUE.value)
    if not_of is not None:
        query = query.where(or_(refs.c.run_id.is_(None), refs.c.run_id != not_of))
    if only is not None:
        query = query.where(refs.c.trace_id.in_(only))
    return int(connection.execute(query).scalar_one())


def give_up(
    connection: Connection, job: str, run_id: str, first_seen_before: datetime, now: datetime
) -> list[TraceRef]:
    """Reject deferred traces first seen before a moment, and return them."""
    query = select(refs).where(
        refs.c.job == job, refs.c.state == RefState.DEFERRED.value, refs.c.first_seen_at < first_seen_before
    )
    rows = connection.execute(query).all()
    if not rows:
        return []
    reason = RejectReason.STILL_RUNNING.value
    statement = update(refs).where(refs.c.id.in_([row.id for row in rows]))
    connection.execute(statement.values(state=RefState.REJECTED.value, reason=reason, run_id=run_id, updated_at=now))
    entries = [
        {
            "run_id": run_id,
            "connection": row.connection,
            "trace_id": row.trace_id,
            "span_id": "",
            "reason": reason,
            "job": job,
            "detail": f"still running; first seen at {row.first_seen_at:%Y-%m-%d %H:%M} UTC and given up",
            "rejected_at": now,
        }
        for row in rows
    ]
    connection.execute(insert_into(connection, rejections).on_conflict_do_nothing(), entries)
    return [_ref(row) for row in rows]


def ref_records(connection: Connection, query: Select[Any]) -> list[RefRecord]:
    """Read refs as recorded."""
    return [
        RefRecord(
            job=row.job,
            ref=_ref(row),
            state=RefState(row.state),
            reason=row.reason,
            attempts=row.attempts,
            run_id=row.run_id,
            first_seen_at=row.first_seen_at,
            updated_at=row.updated_at,
        )
        for row in connection.execute(query)
    ]


def add_hint(connection: Connection, platform: str, project: str, trace_id: str, reason: str, now: datetime) -> bool:
    """Keep a hint; False when the same trace is hinted at already."""
    row = {"platform": platform, "project": project, "trace_id": trace_id, "reason": reason, "received_at": now}
    statement = insert_into(connection, hints).on_conflict_do_nothing().returning(hints.c.id)
    return connection.execute(statement, row).scalar() is not None


def pending_hints(connection: Connection, platform: str, limit: int) -> list[Hint]:
    """Read the oldest hints for a platform."""
    query = select(hints).where(hints.c.platform == platform).order_by(hints.c.id).limit(limit)
    return [Hint(**row._mapping) for row in connection.execute(query)]


def drop_hints(connection: Connection, ids: Sequence[int]) -> None:
    """Delete hints that a run has taken in."""
    connection.execute(delete(hints).where(hints.c.id.in_(ids)))


def _merged(chosen: Iterable[TraceRef]) -> dict[tuple[str, str], TraceRef]:
    merged: dict[tuple[str, str], TraceRef] = {}
    for ref in chosen:
        place = (ref.connection, str(ref.trace_id))
        merged[place] = merged[place].joined_with(ref) if place in merged else ref
    return merged


def _new_row(job: str, ref: TraceRef, now: datetime) -> dict[str, Any]:
    return {
        "job": job,
        "connection": ref.connection,
        "trace_id": ref.trace_id,
        **_parts(ref),
        "state": RefState.DUE.value,
        "reason": "",
        "attempts": 0,
        "first_seen_at": now,
        "updated_at": now,
    }


def _parts(ref: TraceRef) -> dict[str, Any]:
    return {
        "project": ref.project,
        "start_time": ref.start_time,
        "stratum": ref.stratum,
        "locator": dict(ref.locator),
        "rules": list(ref.rules),
        "reports": [_report_json(report) for report in ref.reports],
        "priority": 0 if ref.reports else 1,
    }


def _report_json(report: UserReport) -> dict[str, Any]:
    return {
        "name": report.name,
        "label": report.label,
        "score": report.score,
        "comment": report.comment,
        "author": report.author,
        "reported_at": report.reported_at.isoformat() if report.reported_at else None,
    }


def _report(value: Mapping[str, Any]) -> UserReport:
    at = value["reported_at"]
    return UserReport(**{**value, "reported_at": datetime.fromisoformat(at) if at else None})


def _ref(row: Row[Any]) -> TraceRef:
    return TraceRef(
        connection=row.connection,
        project=row.project,
        trace_id=TraceId(row.trace_id),
        rules=tuple(row.rules),
        start_time=row.start_time,
        stratum=row.stratum,
        reports=tuple(_report(report) for report in row.reports),
        locator=row.locator,
    )
