"""What one run judged, as reports and exports need it: verdicts with their items, reports of users, people's labels."""

from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from sqlalchemy import Connection, func, select

from enricher.store.figures import JudgedTrace
from enricher.store.history import evaluation_records
from enricher.store.intake import ref_records
from enricher.store.records import EvaluationRecord
from enricher.store.reviews import PersonsDecision
from enricher.store.schema import decisions, evaluations, refs, rejections, review_items
from enricher.store.store import Store
from enricher.trace import TraceRef

T = TypeVar("T")
_PAGE = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class RejectionCount:
    """How often traces were rejected for one reason, with one of them as the example."""

    reason: str
    count: int
    detail: str  # one sentence, of the example
    trace_id: str


async def records_of(
    store: Store, judged: Sequence[JudgedTrace]
) -> AsyncIterator[tuple[JudgedTrace, EvaluationRecord]]:
    """Yield judgements with their verdicts and items, page by page, in the order given.

    A failure that a later run replaced is left out: what is recorded now is not what the run came to.
    """
    for page in _pages(judged):
        query = select(evaluations).where(evaluations.c.id.in_([one.evaluation_id for one in page]))
        found = {record.id: record for record in await store.look(partial(evaluation_records, query=query))}
        for one in page:
            record = found.get(one.evaluation_id)
            if record is not None and record.verdict.status.value == one.status:
                yield one, record


async def refs_of(store: Store, job: str, trace_ids: Collection[str]) -> dict[str, TraceRef]:
    """Return, by trace, how a job chose it: with the reports of users, and what the platform finds it by."""
    found: dict[str, TraceRef] = {}
    for page in _pages(sorted(trace_ids)):
        query = select(refs).where(refs.c.job == job, refs.c.trace_id.in_(page))
        found |= {str(r.ref.trace_id): r.ref for r in await store.look(partial(ref_records, query=query))}
    return found


async def decisions_on(store: Store, evaluation_ids: Collection[str]) -> dict[str, tuple[PersonsDecision, ...]]:
    """Return, by evaluation, what people decided about it, oldest first."""
    found: dict[str, tuple[PersonsDecision, ...]] = {}
    for page in _pages(sorted(evaluation_ids)):
        for evaluation_id, decision in await store.look(partial(_decisions, page=page)):
            found[evaluation_id] = (*found.get(evaluation_id, ()), decision)
    return found


async def rejections_in(store: Store, run_id: str) -> list[RejectionCount]:
    """Count the rejections of a run by reason, the most frequent first."""
    return await store.look(partial(_rejections, run_id=run_id))


def _pages(values: Sequence[T]) -> Iterator[Sequence[T]]:
    return (values[start : start + _PAGE] for start in range(0, len(values), _PAGE))


def _decisions(connection: Connection, page: Sequence[str]) -> list[tuple[str, PersonsDecision]]:
    query = select(review_items.c.evaluation_id, *decisions.c).join(
        decisions, decisions.c.review_id == review_items.c.id
    )
    query = query.where(review_items.c.evaluation_id.in_(page)).order_by(decisions.c.decided_at, decisions.c.person)
    rows = [dict(row._mapping) for row in connection.execute(query)]
    return [(row.pop("evaluation_id"), PersonsDecision(**row)) for row in rows]  # fields are named after columns


def _rejections(connection: Connection, run_id: str) -> list[RejectionCount]:
    mine = rejections.c.run_id == run_id
    counted = select(rejections.c.reason, func.count()).where(mine).group_by(rejections.c.reason)
    counts: Mapping[str, int] = {reason: count for reason, count in connection.execute(counted)}
    found = []
    for reason, count in sorted(counts.items(), key=lambda each: (-each[1], each[0])):
        example = select(rejections.c.detail, rejections.c.trace_id).where(mine, rejections.c.reason == reason)
        detail, trace_id = connection.execute(example.order_by(rejections.c.trace_id).limit(1)).one()
        found.append(RejectionCount(reason=reason, count=count, detail=detail, trace_id=trace_id))
    return found
