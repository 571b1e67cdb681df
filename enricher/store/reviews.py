"""The review queue, and what people decided: one decision a person and question, never another person's overwritten."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, Select, String, func, select, type_coerce, update

from enricher.store import queue
from enricher.store.drafts import annotation_rows
from enricher.store.history import evaluation_records, review_records
from enricher.store.records import EvaluationRecord, ReviewRecord, ReviewState
from enricher.store.schema import decisions, evaluations, review_items
from enricher.store.settlement import write_over
from enricher.store.upsert import insert_into
from enricher.verdict import Annotation


@dataclass(frozen=True, kw_only=True, slots=True)
class QueueFilter:
    """Which questions to people are asked for; None lets everything through."""

    state: ReviewState | None = ReviewState.OPEN
    job: str | None = None
    project: str | None = None
    judge: str | None = None
    reason: str | None = None  # the beginning of a reason code
    trace_id: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class PersonsDecision:
    """What one person decided about one question."""

    review_id: str
    person: str
    outcome: str  # confirm, reject or correct
    label: str  # of the whole verdict, as the person has it
    labels: Mapping[str, str] = field(default_factory=dict)  # statement to its corrected label
    comment: str = ""
    decided_at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """A question to people, with the verdict it is about and what was decided so far."""

    review: ReviewRecord
    evaluation: EvaluationRecord
    decisions: tuple[PersonsDecision, ...] = ()


def questions(connection: Connection, wanted: QueueFilter, limit: int, offset: int = 0) -> list[Question]:
    """Read a page of the queue, oldest first."""
    query = _matching(select(review_items), wanted)
    query = query.order_by(review_items.c.created_at, review_items.c.id).limit(limit).offset(offset)
    return _questions(connection, review_records(connection, query))


def count_questions(connection: Connection, wanted: QueueFilter) -> int:
    """Count the questions that match."""
    matching = _matching(select(review_items.c.id), wanted).subquery()
    return int(connection.execute(select(func.count()).select_from(matching)).scalar_one())


def question_like(connection: Connection, beginning: str) -> list[Question]:
    """Read the questions whose id begins with a text; at most two, so that the caller can tell one from several."""
    query = select(review_items).where(review_items.c.id.startswith(beginning, autoescape=True)).limit(2)
    return _questions(connection, review_records(connection, query))


def decide(connection: Connection, decision: PersonsDecision, annotations: Sequence[Annotation], now: datetime) -> None:
    """Record what a person decided, close the question, and queue what is written back; all of it or nothing."""
    statement = insert_into(connection, decisions)
    row = {
        "review_id": decision.review_id,
        "person": decision.person,
        "outcome": decision.outcome,
        "label": decision.label,
        "labels": dict(decision.labels),
        "comment": decision.comment,
        "decided_at": now,
    }
    replaced = {name: statement.excluded[name] for name in row if name not in ("review_id", "person")}
    # A person may think again; nobody else's decision is touched.
    statement = statement.on_conflict_do_update(
        index_elements=[decisions.c.review_id, decisions.c.person], set_=replaced
    )
    connection.execute(statement, row)
    closing = update(review_items).where(review_items.c.id == decision.review_id)
    connection.execute(closing.values(state=ReviewState.DECIDED.value, decided_at=now, updated_at=now))
    queue.leave(connection, [decision.review_id])
    asked = select(review_items.c.evaluation_id, review_items.c.run_id).where(review_items.c.id == decision.review_id)
    evaluation_id, run_id = connection.execute(asked).one()
    rows = annotation_rows(annotations, evaluation_id=evaluation_id, run_id=run_id, now=now)
    write_over(connection, rows)


def persons_decisions(connection: Connection, limit: int = 100_000) -> list[Question]:
    """Read every question that somebody decided, oldest decision first: people's labels."""
    decided = select(decisions.c.review_id).distinct()
    query = select(review_items).where(review_items.c.id.in_(decided)).order_by(review_items.c.decided_at).limit(limit)
    return _questions(connection, review_records(connection, query))


def _matching(query: "Select[tuple[object, ...]]", wanted: QueueFilter) -> "Select[tuple[object, ...]]":
    conditions: list[ColumnElement[bool]] = []
    if wanted.state is not None:
        conditions.append(review_items.c.state == wanted.state.value)
    if wanted.job is not None:
        conditions.append(review_items.c.job == wanted.job)
    if wanted.trace_id is not None:
        conditions.append(review_items.c.trace_id.startswith(wanted.trace_id, autoescape=True))
    if wanted.reason is not None:
        # The codes are stored as JSON texts, each after a quotation mark.
        stored = type_coerce(review_items.c.reasons, String)
        conditions.append(stored.contains(f'"{wanted.reason}', autoescape=True))
    if wanted.judge is not None or wanted.project is not None:
        query = query.join(evaluations, evaluations.c.id == review_items.c.evaluation_id)
        if wanted.judge is not None:
            conditions.append(evaluations.c.judge == wanted.judge)
        if wanted.project is not None:
            conditions.append(evaluations.c.project == wanted.project)
    return query.where(*conditions)


def _questions(connection: Connection, reviews: Sequence[ReviewRecord]) -> list[Question]:
    ids = [review.id for review in reviews]
    asked = select(evaluations).where(evaluations.c.id.in_([review.evaluation_id for review in reviews]))
    by_id = {record.id: record for record in evaluation_records(connection, asked)}
    made: dict[str, list[PersonsDecision]] = {}
    query = select(decisions).where(decisions.c.review_id.in_(ids)).order_by(decisions.c.decided_at)
    for row in connection.execute(query):
        made.setdefault(row.review_id, []).append(PersonsDecision(**row._mapping))  # fields are named after columns
    return [Question(review=r, evaluation=by_id[r.evaluation_id], decisions=tuple(made.get(r.id, ()))) for r in reviews]
