"""Record what traces have come to: verdict, replies, write-backs, review and ref state stand or fall together."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import BaseModel, TypeAdapter
from pydantic_core import PydanticSerializationError
from sqlalchemy import Connection, bindparam, select, update

from enricher.store import queue, statements
from enricher.store.facts import facts_of
from enricher.store.forgetting import forgotten_among
from enricher.store.records import (
    CALL_FOR_REVIEW,
    Evaluation,
    EvaluationKey,
    RefState,
    ReviewState,
    Settlement,
    closed_call,
    digest,
    item_id,
)
from enricher.store.schema import outbox, review_items
from enricher.trace import Item
from enricher.verdict import Annotation, Verdict

ITEM: TypeAdapter[Item] = TypeAdapter(Item)
# They follow from the texts, and would double the size.
_SENTENCES: Mapping[str, Any] = {"sentences": True, "documents": {"__all__": {"sentences"}}}
Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Entry:
    key: EvaluationKey
    id: str
    settlement: Settlement
    evaluation: Evaluation
    now: datetime


def settle_all(connection: Connection, settlements: Sequence[tuple[Settlement, datetime]]) -> list[int]:
    """Record settlements, each with the moment of it; return how many evaluations of each were new.

    A verdict that is there already stays as it is, and so do its write-backs. A failure that is there is replaced.
    """
    gone = forgotten_among(connection, [settlement.ref.trace_id for settlement, _ in settlements])
    given, settlements = settlements, [entry for entry in settlements if entry[0].ref.trace_id not in gone]
    entries = []
    for settlement, now in settlements:
        for evaluation in settlement.evaluations:
            key = evaluation.key(settlement.ref.connection)
            entries.append(_Entry(key=key, id=key.id, settlement=settlement, evaluation=evaluation, now=now))
    recorded: dict[int, int] = {}
    for layer in _layers(entries):
        taken = _record_evaluations(connection, layer)
        fresh = [entry for entry in layer if entry.id in taken]
        _record_items(connection, fresh)
        _record_replies(connection, fresh)
        _record_opinions(connection, fresh)
        _record_facts(connection, [e for e in layer if e.evaluation.is_cached or e.id in taken])
        _replace_annotations(connection, fresh)
        _ask_people(connection, fresh)
        _add_missing_annotations(connection, [e for e in layer if e.evaluation.is_cached and e.id not in taken])
        for entry in fresh:
            recorded[id(entry.settlement)] = recorded.get(id(entry.settlement), 0) + 1
    _record_rejections(connection, settlements)
    _move_refs(connection, settlements)
    _drop_answers(connection, settlements)
    return [recorded.get(id(settlement), 0) for settlement, _ in given]


def known_evaluations(connection: Connection, keys: Sequence[EvaluationKey]) -> list[Verdict | None]:
    """Look the verdict for each key up; failures are not known, so that they are tried again."""
    ids = [key.id for key in keys]
    found = {id_: verdict for id_, verdict in connection.execute(statements.KNOWN, {"ids": ids})}
    return [Verdict.model_validate_json(found[id_]) if id_ in found else None for id_ in ids]


def _layers(entries: list[_Entry]) -> Iterator[list[_Entry]]:
    # One statement must not hold the same evaluation twice. Sorted, so that two processes lock in the same order.
    while entries:
        layer: dict[str, _Entry] = {}
        rest = []
        for entry in entries:
            if entry.id in layer:
                rest.append(entry)
            else:
                layer[entry.id] = entry
        yield [layer[id_] for id_ in sorted(layer)]
        entries = rest


def _record_evaluations(connection: Connection, entries: list[_Entry]) -> set[str]:
    rows = [_evaluation_row(entry) for entry in entries]
    return set(connection.execute(statements.put_evaluations(connection.dialect.name), rows).scalars())


def _evaluation_row(entry: _Entry) -> Row:
    verdict, ref = entry.evaluation.verdict, entry.settlement.ref
    return {
        "id": entry.id,
        "run_id": entry.settlement.run_id,
        "job": entry.settlement.job,
        "connection": ref.connection,
        "project": ref.project,
        "trace_id": ref.trace_id,
        "span_id": verdict.span_id,
        "item_key": entry.key.item_key,
        "judge": verdict.provenance.judge,
        "judge_version": entry.key.judge_version,
        "input_hash": entry.key.input_hash,
        "status": verdict.status.value,
        "is_verdict": verdict.status.is_verdict,
        "score": verdict.score,
        "verdict": _json(verdict, exclude={"raw_replies"}),
        "cost": verdict.usage.cost,
        "settled_at": entry.now,
    }


def _record_items(connection: Connection, entries: list[_Entry]) -> None:
    rows: dict[str, Row] = {}
    for entry in entries:
        if (item := entry.evaluation.item) is not None:
            its_id = item_id(entry.key.connection, entry.key.item_key, entry.key.input_hash)
            row = {"id": its_id, "trace_id": item.trace_id, "item": _item_json(item), "settled_at": entry.now}
            rows.setdefault(its_id, row)
    if rows:
        connection.execute(statements.add_items(connection.dialect.name), [rows[its_id] for its_id in sorted(rows)])


def _item_json(item: Item) -> str:
    try:
        return ITEM.dump_json(item, exclude=_SENTENCES).decode()
    except PydanticSerializationError:
        bare = _without_surrogates(ITEM.dump_python(item, exclude=_SENTENCES))
        return ITEM.dump_json(ITEM.validate_python(bare), exclude=_SENTENCES).decode()


def _record_replies(connection: Connection, entries: list[_Entry]) -> None:
    if not entries:
        return
    # Those of a failure that is being replaced.
    connection.execute(statements.DROP_REPLIES, {"ids": [entry.id for entry in entries]})
    rows = [
        {"evaluation_id": entry.id, "number": number, "reply": reply, "settled_at": entry.now}
        for entry in entries
        for number, reply in enumerate(entry.evaluation.verdict.raw_replies)
    ]
    if rows:
        connection.execute(statements.ADD_REPLIES, rows)


def _record_opinions(connection: Connection, entries: list[_Entry]) -> None:
    rows = [
        {
            "evaluation_id": entry.id,
            "part": part.key,
            "second_by": opinion.by,
            "judge": entry.evaluation.verdict.provenance.judge,
            "trace_id": entry.evaluation.verdict.trace_id,
            "statement": part.statement,
            "standing": str(part.standing),
            "second_standing": str(opinion.standing),
            "agrees": opinion.agrees,
            "certainty": None if part.certainty is None else str(part.certainty),
            "opinion": _json(opinion),
            "settled_at": entry.now,
        }
        for entry in entries
        if entry.evaluation.verdict.result is not None
        for part in entry.evaluation.verdict.result.parts
        for opinion in part.opinions
    ]
    if rows:
        connection.execute(statements.ADD_OPINIONS, rows)


def _record_facts(connection: Connection, entries: list[_Entry]) -> None:
    rows = [
        {
            "run_id": entry.settlement.run_id,
            "evaluation_id": entry.id,
            "job": entry.settlement.job,
            "project": entry.settlement.ref.project,
            "trace_id": entry.settlement.ref.trace_id,
            **facts_of(
                entry.evaluation.verdict,
                entry.evaluation.item,
                is_reported=bool(entry.settlement.ref.reports),
                is_recalled=entry.evaluation.is_cached,
            ),
            "settled_at": entry.now,
        }
        for entry in entries
    ]
    if rows:
        connection.execute(statements.put_facts(connection.dialect.name), rows)


def _outbox_rows(entries: list[_Entry]) -> list[Row]:
    return sorted((_outbox_row(e, annotation) for e in entries for annotation in e.evaluation.annotations), key=_by_key)


def _by_key(row: Row) -> str:
    key: str = row["key"]
    return key


def _outbox_row(entry: _Entry, annotation: Annotation) -> Row:
    run_id = entry.settlement.run_id
    return annotation_rows([annotation], evaluation_id=entry.id, run_id=run_id, now=entry.now)[0]


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


def _replace_annotations(connection: Connection, entries: list[_Entry]) -> None:
    write_over(connection, _outbox_rows(entries))


def _add_missing_annotations(connection: Connection, entries: list[_Entry]) -> None:
    rows = _outbox_rows(entries)
    if rows:
        connection.execute(statements.add_annotations(connection.dialect.name), rows)


def _ask_people(connection: Connection, entries: list[_Entry]) -> None:
    asked = [entry for entry in entries if entry.evaluation.review]
    settled = [entry for entry in entries if not entry.evaluation.review]
    if asked:
        rows = [_review_row(entry) for entry in asked]
        opened = set(connection.execute(statements.put_questions(connection.dialect.name), rows).scalars())
        queue.enter(connection, [_line(entry) for entry in asked if _review_id(entry) in opened])
    if settled:
        _supersede(connection, settled)


def _supersede(connection: Connection, entries: list[_Entry]) -> None:
    """Close the questions that a later outcome no longer asks, here and on the platform."""
    moments = {_review_id(entry): entry.now for entry in entries}
    asked = connection.execute(statements.OPEN_QUESTIONS, {"ids": list(moments)}).all()
    if not asked:
        return
    closing = update(review_items).where(review_items.c.id == bindparam("item"))
    closing = closing.values(state=ReviewState.SUPERSEDED.value, updated_at=bindparam("moment"))
    connection.execute(closing, [{"item": row.id, "moment": moments[row.id]} for row in asked])
    queue.leave(connection, [row.id for row in asked])
    written = select(outbox.c.evaluation_id, outbox.c.run_id, outbox.c.annotation).where(
        outbox.c.evaluation_id.in_([row.evaluation_id for row in asked])
    )
    rows = []
    for evaluation_id, run_id, text in connection.execute(written).all():
        annotation = Annotation.model_validate_json(text)
        if annotation.name.endswith(CALL_FOR_REVIEW):
            closed = closed_call(annotation, "A later outcome no longer asks.")
            rows += annotation_rows([closed], evaluation_id=evaluation_id, run_id=run_id, now=entries[0].now)
    write_over(connection, rows)


def write_over(connection: Connection, rows: Sequence[Row]) -> None:
    """Queue write-backs, in place of what was queued or sent under the same keys."""
    if not rows:
        return
    connection.execute(statements.write_over_annotations(connection.dialect.name), list(rows))


def _review_id(entry: _Entry) -> str:
    return digest(entry.key.connection, entry.key.item_key, entry.key.judge_version)


def _review_row(entry: _Entry) -> Row:
    return {
        "id": _review_id(entry),
        "evaluation_id": entry.id,
        "run_id": entry.settlement.run_id,
        "job": entry.settlement.job,
        "connection": entry.settlement.ref.connection,
        "trace_id": entry.settlement.ref.trace_id,
        "item_key": entry.key.item_key,
        "judge_version": entry.key.judge_version,
        "reasons": list(entry.evaluation.review),
        "state": ReviewState.OPEN.value,
        "created_at": entry.now,
        "updated_at": entry.now,
        "decided_at": None,
    }


def _line(entry: _Entry) -> Row:
    return {
        "review_id": _review_id(entry),
        "trace_id": entry.settlement.ref.trace_id,
        "job": entry.settlement.job,
        "project": entry.settlement.ref.project,
        "reasons": list(entry.evaluation.review),
        "created_at": entry.now,
        **queue.line_of(entry.evaluation.verdict, entry.evaluation.item),
    }


def _record_rejections(connection: Connection, settlements: Sequence[tuple[Settlement, datetime]]) -> None:
    rows = [
        {
            "run_id": settlement.run_id,
            "connection": settlement.ref.connection,
            "trace_id": rejection.trace_id,
            "span_id": rejection.span_id or "",
            "reason": rejection.reason.value,
            "job": settlement.job,
            "detail": rejection.detail,
            "rejected_at": now,
        }
        for settlement, now in settlements
        for rejection in settlement.rejections
    ]
    if rows:
        connection.execute(statements.add_rejections(connection.dialect.name), rows)


def _move_refs(connection: Connection, settlements: Sequence[tuple[Settlement, datetime]]) -> None:
    rows: list[Mapping[str, Any]] = [
        {
            "its_job": settlement.job,
            "its_connection": settlement.ref.connection,
            "its_trace": settlement.ref.trace_id,
            "state": settlement.state.value,
            "reason": settlement.reason,
            "run_id": settlement.run_id,
            "updated_at": now,
        }
        for settlement, now in settlements
        if settlement.state is not None
    ]
    if rows:
        connection.execute(statements.MOVE_REF, rows)


def _drop_answers(connection: Connection, settlements: Sequence[tuple[Settlement, datetime]]) -> None:
    """Forget what batches brought for traces that are done; until then a crash meets the answers again."""
    done = [s.ref.trace_id for s, _ in settlements if s.state in (RefState.DONE, RefState.REJECTED)]
    if done:
        connection.execute(statements.DROP_ANSWERS, {"ids": done})


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
