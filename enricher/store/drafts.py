"""What a settlement writes, as rows of the tables: drawn up by the task that made it, so that the store only writes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import BaseModel, TypeAdapter
from pydantic_core import PydanticSerializationError

from enricher.store import queue
from enricher.store.facts import facts_of
from enricher.store.records import Evaluation, RefState, ReviewState, Settlement, digest, item_id
from enricher.trace import Item
from enricher.verdict import Annotation

ITEM: TypeAdapter[Item] = TypeAdapter(Item)
# They follow from the texts, and would double the size.
_SENTENCES: Mapping[str, Any] = {"sentences": True, "documents": {"__all__": {"sentences"}}}
Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """The rows of one evaluation."""

    id: str
    now: datetime
    is_cached: bool
    review_id: str
    evaluation: Row
    item: Row | None
    replies: Sequence[Row]
    opinions: Sequence[Row]
    facts: Row
    annotations: Sequence[Row]
    question: Row | None  # to people
    line: Row | None  # of their queue


@dataclass(frozen=True, kw_only=True, slots=True)
class Draft:
    """The rows of one settlement."""

    trace_id: str
    entries: Sequence[Entry]
    rejections: Sequence[Row]
    ref: Row | None
    is_done: bool  # nothing more will be asked about the trace


def draft_of(settlement: Settlement, now: datetime) -> Draft:
    """Draw up what is to be written of a settlement."""
    state, ref = settlement.state, settlement.ref
    return Draft(
        trace_id=ref.trace_id,
        entries=[_entry(settlement, evaluation, now) for evaluation in settlement.evaluations],
        rejections=[
            {
                "run_id": settlement.run_id,
                "connection": ref.connection,
                "trace_id": rejection.trace_id,
                "span_id": rejection.span_id or "",
                "reason": rejection.reason.value,
                "job": settlement.job,
                "detail": rejection.detail,
                "rejected_at": now,
            }
            for rejection in settlement.rejections
        ],
        ref=None
        if state is None
        else {
            "its_job": settlement.job,
            "its_connection": ref.connection,
            "its_trace": ref.trace_id,
            "state": state.value,
            "reason": settlement.reason,
            "run_id": settlement.run_id,
            "updated_at": now,
        },
        is_done=state in (RefState.DONE, RefState.REJECTED),
    )


def annotation_rows(annotations: Sequence[Annotation], *, evaluation_id: str, run_id: str, now: datetime) -> list[Row]:
    """Return the rows of the outbox for write-backs that have not been sent; the table fills in the rest."""
    return [
        {
            "key": annotation.key,
            "evaluation_id": evaluation_id,
            "run_id": run_id,
            "connection": annotation.connection,
            "trace_id": annotation.trace_id,
            "annotation": _json(annotation),
            "next_attempt_at": now,
            "created_at": now,
        }
        for annotation in annotations
    ]


def _entry(settlement: Settlement, evaluation: Evaluation, now: datetime) -> Entry:
    verdict, ref, key = evaluation.verdict, settlement.ref, evaluation.key(settlement.ref.connection)
    review_id = digest(key.connection, key.item_key, key.judge_version)
    question = line = None
    if evaluation.review:
        reasons = list(evaluation.review)
        question = {
            "id": review_id,
            "evaluation_id": key.id,
            "run_id": settlement.run_id,
            "job": settlement.job,
            "connection": ref.connection,
            "trace_id": ref.trace_id,
            "item_key": key.item_key,
            "judge_version": key.judge_version,
            "reasons": reasons,
            "state": ReviewState.OPEN.value,
            "created_at": now,
            "updated_at": now,
            "decided_at": None,
        }
        line = {
            "review_id": review_id,
            "trace_id": ref.trace_id,
            "job": settlement.job,
            "project": ref.project,
            "reasons": reasons,
            "created_at": now,
            **queue.line_of(verdict, evaluation.item),
        }
    return Entry(
        id=key.id,
        now=now,
        is_cached=evaluation.is_cached,
        review_id=review_id,
        evaluation={
            "id": key.id,
            "run_id": settlement.run_id,
            "job": settlement.job,
            "connection": ref.connection,
            "project": ref.project,
            "trace_id": ref.trace_id,
            "span_id": verdict.span_id,
            "item_key": key.item_key,
            "judge": verdict.provenance.judge,
            "judge_version": key.judge_version,
            "input_hash": key.input_hash,
            "status": verdict.status.value,
            "is_verdict": verdict.status.is_verdict,
            "score": verdict.score,
            "verdict": _json(verdict, exclude={"raw_replies"}),
            "cost": verdict.usage.cost,
            "settled_at": now,
        },
        item=None if evaluation.item is None else _item_row(evaluation, evaluation.item, ref.connection, now),
        replies=[
            {"evaluation_id": key.id, "number": number, "reply": reply, "settled_at": now}
            for number, reply in enumerate(verdict.raw_replies)
        ],
        opinions=_opinion_rows(evaluation, key.id, now),
        facts={
            "run_id": settlement.run_id,
            "evaluation_id": key.id,
            "job": settlement.job,
            "project": ref.project,
            "trace_id": ref.trace_id,
            **facts_of(verdict, evaluation.item, is_reported=bool(ref.reports), is_recalled=evaluation.is_cached),
            "settled_at": now,
        },
        annotations=annotation_rows(evaluation.annotations, evaluation_id=key.id, run_id=settlement.run_id, now=now),
        question=question,
        line=line,
    )


def _item_row(evaluation: Evaluation, item: Item, connection: str, now: datetime) -> Row:
    its_id = item_id(connection, evaluation.item_key, evaluation.input_hash)
    return {"id": its_id, "trace_id": item.trace_id, "item": _item_json(item), "settled_at": now}


def _item_json(item: Item) -> str:
    try:
        return ITEM.dump_json(item, exclude=_SENTENCES).decode()
    except PydanticSerializationError:
        bare = _without_surrogates(ITEM.dump_python(item, exclude=_SENTENCES))
        return ITEM.dump_json(ITEM.validate_python(bare), exclude=_SENTENCES).decode()


def _opinion_rows(evaluation: Evaluation, evaluation_id: str, now: datetime) -> list[Row]:
    verdict = evaluation.verdict
    return [
        {
            "evaluation_id": evaluation_id,
            "part": part.key,
            "second_by": opinion.by,
            "judge": verdict.provenance.judge,
            "trace_id": verdict.trace_id,
            "statement": part.statement,
            "standing": str(part.standing),
            "second_standing": str(opinion.standing),
            "agrees": opinion.agrees,
            "certainty": None if part.certainty is None else str(part.certainty),
            "opinion": _json(opinion),
            "settled_at": now,
        }
        for part in (() if verdict.result is None else verdict.result.parts)
        for opinion in part.opinions
    ]


def _json(value: BaseModel, exclude: set[str] | None = None) -> str:
    try:
        return value.model_dump_json(exclude=exclude)
    except PydanticSerializationError:
        # A lone surrogate from a broken trace: no platform takes it either, so it is replaced, not kept.
        clean = _without_surrogates(value.model_dump(mode="python", exclude=exclude))
        return type(value).model_validate(clean).model_dump_json(exclude=exclude)


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, Mapping):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_surrogates(item) for item in value]
    return value
