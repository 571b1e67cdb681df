"""Record what traces have come to: verdict, replies, write-backs, review and ref state stand or fall together."""

from collections.abc import Iterator, Sequence

from sqlalchemy import Connection, bindparam, select, update

from enricher.store import queue, statements
from enricher.store.drafts import Draft, Entry, Row, annotation_rows
from enricher.store.forgetting import forgotten_among
from enricher.store.records import CALL_FOR_REVIEW, EvaluationKey, ReviewState, closed_call
from enricher.store.schema import outbox, review_items
from enricher.verdict import Annotation, Verdict


def settle_all(connection: Connection, drafts: Sequence[Draft]) -> list[int]:
    """Record settlements; return how many evaluations of each were new.

    A verdict that is there already stays as it is, and so do its write-backs. A failure that is there is replaced.
    """
    gone = forgotten_among(connection, [draft.trace_id for draft in drafts])
    kept = [draft for draft in drafts if draft.trace_id not in gone]
    new: list[Entry] = []
    for layer in _layers([entry for draft in kept for entry in draft.entries]):
        taken = _record_evaluations(connection, layer)
        fresh = [entry for entry in layer if entry.id in taken]
        _record_items(connection, fresh)
        _record_replies(connection, fresh)
        _record_opinions(connection, fresh)
        _record_facts(connection, [entry for entry in layer if entry.is_cached or entry.id in taken])
        write_over(connection, _outbox_rows(fresh))
        _ask_people(connection, fresh)
        _add_missing_annotations(connection, [e for e in layer if e.is_cached and e.id not in taken])
        new += fresh
    _record_rejections(connection, kept)
    _move_refs(connection, kept)
    _drop_answers(connection, kept)
    recorded = {id(entry) for entry in new}
    return [sum(id(entry) in recorded for entry in draft.entries) for draft in drafts]


def known_evaluations(connection: Connection, keys: Sequence[EvaluationKey]) -> list[Verdict | None]:
    """Look the verdict for each key up; failures are not known, so that they are tried again."""
    ids = [key.id for key in keys]
    found = {id_: verdict for id_, verdict in connection.execute(statements.KNOWN, {"ids": ids})}
    return [Verdict.model_validate_json(found[id_]) if id_ in found else None for id_ in ids]


def _layers(entries: list[Entry]) -> Iterator[list[Entry]]:
    # One statement must not hold the same evaluation twice. Sorted, so that two processes lock in the same order.
    while entries:
        layer: dict[str, Entry] = {}
        rest = []
        for entry in entries:
            if entry.id in layer:
                rest.append(entry)
            else:
                layer[entry.id] = entry
        yield [layer[id_] for id_ in sorted(layer)]
        entries = rest


def _record_evaluations(connection: Connection, entries: list[Entry]) -> set[str]:
    rows = [entry.evaluation for entry in entries]
    return set(connection.execute(statements.put_evaluations(connection.dialect.name), rows).scalars())


def _record_items(connection: Connection, entries: list[Entry]) -> None:
    rows: dict[str, Row] = {}
    for entry in entries:
        if entry.item is not None:
            rows.setdefault(entry.item["id"], entry.item)
    if rows:
        connection.execute(statements.add_items(connection.dialect.name), [rows[its_id] for its_id in sorted(rows)])


def _record_replies(connection: Connection, entries: list[Entry]) -> None:
    if not entries:
        return
    # Those of a failure that is being replaced.
    connection.execute(statements.DROP_REPLIES, {"ids": [entry.id for entry in entries]})
    rows = [row for entry in entries for row in entry.replies]
    if rows:
        connection.execute(statements.ADD_REPLIES, rows)


def _record_opinions(connection: Connection, entries: list[Entry]) -> None:
    rows = [row for entry in entries for row in entry.opinions]
    if rows:
        connection.execute(statements.ADD_OPINIONS, rows)


def _record_facts(connection: Connection, entries: list[Entry]) -> None:
    if entries:
        connection.execute(statements.put_facts(connection.dialect.name), [entry.facts for entry in entries])


def _outbox_rows(entries: list[Entry]) -> list[Row]:
    return sorted((row for entry in entries for row in entry.annotations), key=_by_key)


def _by_key(row: Row) -> str:
    key: str = row["key"]
    return key


def _add_missing_annotations(connection: Connection, entries: list[Entry]) -> None:
    rows = _outbox_rows(entries)
    if rows:
        connection.execute(statements.add_annotations(connection.dialect.name), rows)


def _ask_people(connection: Connection, entries: list[Entry]) -> None:
    questions = [entry.question for entry in entries if entry.question is not None]
    settled = [entry for entry in entries if entry.question is None]
    if questions:
        opened = set(connection.execute(statements.put_questions(connection.dialect.name), questions).scalars())
        queue.enter(connection, [e.line for e in entries if e.line is not None and e.review_id in opened])
    if settled:
        _supersede(connection, settled)


def _supersede(connection: Connection, entries: list[Entry]) -> None:
    """Close the questions that a later outcome no longer asks, here and on the platform."""
    moments = {entry.review_id: entry.now for entry in entries}
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


def _record_rejections(connection: Connection, drafts: Sequence[Draft]) -> None:
    rows = [row for draft in drafts for row in draft.rejections]
    if rows:
        connection.execute(statements.add_rejections(connection.dialect.name), rows)


def _move_refs(connection: Connection, drafts: Sequence[Draft]) -> None:
    rows = [draft.ref for draft in drafts if draft.ref is not None]
    if rows:
        connection.execute(statements.MOVE_REF, rows)


def _drop_answers(connection: Connection, drafts: Sequence[Draft]) -> None:
    """Forget what batches brought for traces that are done; until then a crash meets the answers again."""
    done = [draft.trace_id for draft in drafts if draft.is_done]
    if done:
        connection.execute(statements.DROP_ANSWERS, {"ids": done})
