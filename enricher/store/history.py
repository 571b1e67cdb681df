"""What happened: runs, watermarks, counts for the report, the story of one trace, and forgetting it."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from secrets import token_hex
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, delete, func, null, or_, select, update

from enricher.store.drafts import ITEM
from enricher.store.intake import ref_records
from enricher.store.outbox import outbox_records
from enricher.store.records import (
    EvaluationRecord,
    RefState,
    RejectionRecord,
    ReviewRecord,
    ReviewState,
    RunRecord,
    RunState,
    Story,
    Tally,
    Watermark,
    item_id,
)
from enricher.store.schema import (
    batch_lines,
    evaluations,
    items,
    outbox,
    pairs,
    raw_replies,
    refs,
    rejections,
    review_items,
    runs,
    watermarks,
)
from enricher.store.upsert import insert_into
from enricher.trace import Rejection, RejectReason, SpanId, TraceId
from enricher.verdict import DeliveryState, Status, Verdict

Window = tuple[datetime | None, datetime | None]


def new_run_id(now: datetime) -> str:
    """Make an id that sorts by start and can be read aloud."""
    return f"{now:%Y%m%d-%H%M%S}-{token_hex(3)}"


def start_run(connection: Connection, run_id: str, job: str, owner: str, window: Window, now: datetime) -> None:
    """Open a run; runs of the job that are still open belong to processes that went away, since its lease is ours."""
    stale = update(runs).where(runs.c.job == job, runs.c.state == RunState.RUNNING.value, runs.c.id != run_id)
    connection.execute(stale.values(state=RunState.INTERRUPTED.value, finished_at=now))
    row = {
        "id": run_id,
        "job": job,
        "owner": owner,
        "state": RunState.RUNNING.value,
        "started_at": now,
        "window_start": window[0],
        "window_end": window[1],
        "counters": {},
    }
    connection.execute(insert_into(connection, runs).on_conflict_do_nothing(), row)


def note_progress(connection: Connection, run_id: str, counters: Mapping[str, Any]) -> None:
    """Keep the counters of a run that is under way."""
    connection.execute(update(runs).where(runs.c.id == run_id).values(counters=dict(counters)))


def finish_run(
    connection: Connection,
    run_id: str,
    state: RunState,
    counters: Mapping[str, Any],
    report: Any,
    reached: Iterable[Watermark],
    now: datetime,
) -> None:
    """Close a run and, in the same breath, move its watermarks forward."""
    reached = list(reached)
    if reached and state is not RunState.COMPLETED:
        raise ValueError(f"a run that ended {state} must not move watermarks: traces would be passed over")
    closing = update(runs).where(runs.c.id == run_id)
    connection.execute(closing.values(state=state.value, counters=dict(counters), report=report, finished_at=now))
    if not reached:
        return
    job = connection.execute(select(runs.c.job).where(runs.c.id == run_id)).scalar_one()
    statement = insert_into(connection, watermarks)
    statement = statement.on_conflict_do_update(
        index_elements=[watermarks.c.job, watermarks.c.connection, watermarks.c.rule],
        set_={"reached": statement.excluded.reached, "run_id": statement.excluded.run_id},
        # Forward only; but a mark that lies ahead was made by a clock that was wrong.
        where=or_(watermarks.c.reached < statement.excluded.reached, watermarks.c.reached > now),
    )
    rows = [
        {"job": job, "connection": mark.connection, "rule": mark.rule, "reached": mark.reached, "run_id": run_id}
        for mark in reached
    ]
    connection.execute(statement, rows)


def watermark(connection: Connection, job: str, place: str, rule: str) -> datetime | None:
    """Read how far a rule has looked; None when it never has."""
    query = select(watermarks.c.reached).where(
        watermarks.c.job == job, watermarks.c.connection == place, watermarks.c.rule == rule
    )
    reached: datetime | None = connection.execute(query).scalar()
    return reached


def run_records(connection: Connection, *conditions: ColumnElement[bool], limit: int) -> list[RunRecord]:
    """Read runs, newest first."""
    query = select(runs).where(*conditions).order_by(runs.c.started_at.desc(), runs.c.id.desc()).limit(limit)
    return [
        RunRecord(**{**row._mapping, "state": RunState(row.state)})  # fields are named after columns
        for row in connection.execute(query)
    ]


def tally(connection: Connection, run_id: str) -> Tally:
    """Count what a run did."""
    by_judge: dict[str, dict[Status, int]] = {}
    query = select(evaluations.c.judge, evaluations.c.status, func.count()).group_by(
        evaluations.c.judge, evaluations.c.status
    )
    for judge, status, count in connection.execute(query.where(evaluations.c.run_id == run_id)):
        by_judge.setdefault(judge, {})[Status(status)] = count
    cost = select(func.coalesce(func.sum(evaluations.c.cost), 0.0)).where(evaluations.c.run_id == run_id)

    def counts(column: ColumnElement[str], *conditions: ColumnElement[bool]) -> dict[str, int]:
        grouped = select(column, func.count()).where(*conditions).group_by(column)
        return {value: count for value, count in connection.execute(grouped)}

    mine = refs.c.run_id == run_id
    not_done = refs.c.state != RefState.DONE.value
    return Tally(
        evaluations=by_judge,
        refs={RefState(k): n for k, n in counts(refs.c.state, mine).items()},
        ref_reasons=counts(refs.c.reason, mine, not_done, refs.c.reason != ""),
        rejections=counts(rejections.c.reason, rejections.c.run_id == run_id),
        outbox={DeliveryState(k): n for k, n in counts(outbox.c.state, outbox.c.run_id == run_id).items()},
        review={ReviewState(k): n for k, n in counts(review_items.c.state, review_items.c.run_id == run_id).items()},
        cost=float(connection.execute(cost).scalar_one()),
    )


def traces_like(connection: Connection, beginning: str, limit: int) -> list[str]:
    """Read the ids of chosen traces that begin with a text."""
    query = select(refs.c.trace_id).where(refs.c.trace_id.startswith(beginning, autoescape=True)).distinct()
    return list(connection.execute(query.order_by(refs.c.trace_id).limit(limit)).scalars())


def explain(connection: Connection, trace_id: str) -> Story:
    """Collect everything recorded about a trace."""
    replies: dict[str, list[str]] = {}
    theirs = (
        select(raw_replies.c.evaluation_id, raw_replies.c.reply)
        .join(evaluations, evaluations.c.id == raw_replies.c.evaluation_id)
        .where(evaluations.c.trace_id == trace_id)
        .order_by(raw_replies.c.evaluation_id, raw_replies.c.number)
    )
    for evaluation_id, reply in connection.execute(theirs):
        replies.setdefault(evaluation_id, []).append(reply)
    judged = select(evaluations).where(evaluations.c.trace_id == trace_id)
    asked = select(review_items).where(review_items.c.trace_id == trace_id).order_by(review_items.c.created_at)
    passed = select(rejections).where(rejections.c.trace_id == trace_id).order_by(rejections.c.rejected_at)
    written = select(outbox).where(outbox.c.trace_id == trace_id).order_by(outbox.c.created_at, outbox.c.key)
    return Story(
        trace_id=trace_id,
        refs=tuple(ref_records(connection, select(refs).where(refs.c.trace_id == trace_id).order_by(refs.c.id))),
        rejections=tuple(_rejection(row) for row in connection.execute(passed)),
        evaluations=tuple(evaluation_records(connection, judged.order_by(evaluations.c.settled_at, evaluations.c.id))),
        raw_replies={key: tuple(texts) for key, texts in replies.items()},
        outbox=tuple(outbox_records(connection, written)),
        review=tuple(review_records(connection, asked)),
    )


def evaluations_page(connection: Connection, run_id: str, after: str, limit: int) -> list[EvaluationRecord]:
    """Read a page of what a run judged, in the order of evaluation ids."""
    query = select(evaluations).where(evaluations.c.run_id == run_id, evaluations.c.id > after)
    return evaluation_records(connection, query.order_by(evaluations.c.id).limit(limit))


def evaluation_records(connection: Connection, query: Select[Any]) -> list[EvaluationRecord]:
    """Read evaluations as recorded, with what was judged."""
    rows = connection.execute(query).all()
    item_ids = {row.id: item_id(row.connection, row.item_key, row.input_hash) for row in rows}
    kept = select(items.c.id, items.c.item).where(items.c.id.in_(set(item_ids.values())))
    judged = {its_id: ITEM.validate_json(item) for its_id, item in connection.execute(kept)}
    return [
        EvaluationRecord(
            id=row.id,
            run_id=row.run_id,
            job=row.job,
            connection=row.connection,
            project=row.project,
            item_key=row.item_key,
            input_hash=row.input_hash,
            verdict=Verdict.model_validate_json(row.verdict),
            settled_at=row.settled_at,
            item=judged.get(item_ids[row.id]),
        )
        for row in rows
    ]


def review_records(connection: Connection, query: Select[Any]) -> list[ReviewRecord]:
    """Read questions to people as recorded."""
    return [
        ReviewRecord(
            id=row.id,
            evaluation_id=row.evaluation_id,
            run_id=row.run_id,
            job=row.job,
            connection=row.connection,
            trace_id=row.trace_id,
            item_key=row.item_key,
            judge_version=row.judge_version,
            reasons=tuple(row.reasons),
            state=ReviewState(row.state),
            created_at=row.created_at,
            decided_at=row.decided_at,
        )
        for row in connection.execute(query)
    ]


def amend_report(connection: Connection, run_id: str, report: Any) -> None:
    """Replace the report of a run."""
    connection.execute(update(runs).where(runs.c.id == run_id).values(report=report))


def purge_raw_replies(connection: Connection, before: datetime) -> int:
    """Delete raw replies settled before a moment; verdicts stay. Return how many."""
    # Also those that a batch brought and nobody came back for.
    connection.execute(delete(batch_lines).where(batch_lines.c.updated_at < before, batch_lines.c.batch_id.is_(None)))
    is_old = (pairs.c.settled_at < before) & pairs.c.replies.is_not(None)
    of_pairs = connection.execute(update(pairs).where(is_old).values(replies=null())).rowcount
    return of_pairs + connection.execute(delete(raw_replies).where(raw_replies.c.settled_at < before)).rowcount


def _rejection(row: Row[Any]) -> RejectionRecord:
    return RejectionRecord(
        run_id=row.run_id,
        job=row.job,
        connection=row.connection,
        rejection=Rejection(
            trace_id=TraceId(row.trace_id),
            reason=RejectReason(row.reason),
            detail=row.detail,
            span_id=SpanId(row.span_id) if row.span_id else None,
        ),
        rejected_at=row.rejected_at,
    )
