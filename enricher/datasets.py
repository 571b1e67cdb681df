"""Turn findings, with what people said of them, into an evaluation dataset on a platform or in a file."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from enricher.app import App
from enricher.errors import SetupError
from enricher.handling import patiently
from enricher.privacy import redaction_rules
from enricher.seams import DatasetExample, DatasetKeeper, Kept
from enricher.settings import Settings
from enricher.steps.redaction import RedactionRules, redact_item, redact_ref, redact_verdict
from enricher.steps.rendering import label
from enricher.store import EvaluationRecord, PersonsDecision, Store
from enricher.store.figures import JudgedTrace
from enricher.store.judged import decisions_on, records_of
from enricher.store.nights import Wanted, traces_of
from enricher.trace import Item, TraceId, TraceRef, UserReport
from enricher.verdict import HalvesResult, QuoteCheck, Verdict, kinds_of_findings

_NAMESPACE = uuid.UUID("6f0c2d4e-9d5f-4c0e-8f3a-2b1f6f0e7a51")  # of the ids of examples; must never change
_MOST = 5000  # examples of one export
_RUNS = 10_000  # runs that are looked through


@dataclass(frozen=True, kw_only=True, slots=True)
class Chosen:
    """Which judgements become examples; all that is given must hold."""

    run_id: str | None = None
    job: str | None = None
    project: str | None = None
    judge: str | None = None
    issues: tuple[str, ...] = ()  # kinds of findings, any of them
    decision: str | None = None  # confirm, reject or correct: what people decided
    label: str | None = None  # of people where they decided, else of the judge
    ids: tuple[str, ...] = ()  # of traces or evaluations, from their beginning
    labelled: bool = False  # only what people decided
    sound: bool = False  # also what nothing was found on


@dataclass(frozen=True, kw_only=True, slots=True)
class DatasetExport:
    """What an export came to."""

    dataset: str
    to: str  # phoenix, langsmith or jsonl
    examples: int
    labelled: int  # of these, with a label of people
    added: int = 0
    changed: int = 0
    unchanged: int = 0
    lines: tuple[dict[str, Any], ...] = field(default=(), repr=False)  # of a file


async def export_dataset(
    settings: Settings, chosen: Chosen, *, to: str, name: str, connection: str | None
) -> DatasetExport:
    """Choose findings and keep them as examples; a repeat replaces them by their ids.

    Raises:
        SetupError: nothing matches, too much does, or there is no such connection.
    """
    async with await App.open(settings) as app:
        keeper = None if to == "jsonl" else _keeper(app, to, connection)
        rules = await redaction_rules(settings, app.store)
        examples = await _examples(app.store, chosen, rules, place=keeper[0] if keeper else None)
        if not examples:
            raise SetupError("no finding matches; `enricher report` and `enricher review list` show what there is")
        kept = Kept() if keeper is None else await patiently(partial(keeper[1].keep_examples, name, examples))
    return DatasetExport(
        dataset=name,
        to=to,
        examples=len(examples),
        labelled=sum(example.outputs["label_by"] == "people" for example in examples),
        added=kept.added,
        changed=kept.changed,
        unchanged=kept.unchanged,
        lines=tuple(map(_line, examples)) if keeper is None else (),
    )


def _keeper(app: App, kind: str, connection: str | None) -> tuple[str, DatasetKeeper]:
    """Return the connection that the examples go to, by name or as the only one of its kind."""
    known = [name for name, section in app.settings.connections.items() if section.kind == kind]
    if connection is not None and connection not in known:
        raise SetupError(f"there is no {kind} connection '{connection}'; the config has {', '.join(known) or 'none'}")
    if connection is None and len(known) != 1:
        there = (
            f"several {kind} connections ({', '.join(known)}); name one with --connection"
            if known
            else f"no {kind} connection"
        )
        raise SetupError(f"the config has {there}")
    name = connection or known[0]
    connector = app.connectors[name]
    if not isinstance(connector, DatasetKeeper):
        raise SetupError(f"connection '{name}' keeps no datasets")
    return name, connector


async def _examples(store: Store, chosen: Chosen, rules: RedactionRules, place: str | None) -> list[DatasetExample]:
    wanted = Wanted(
        job=chosen.job,
        project=chosen.project,
        judge=chosen.judge,
        run_ids=(chosen.run_id,) if chosen.run_id else (),
        runs=_RUNS,
    )
    judged = await _judged(store, wanted, chosen)
    decided = await decisions_on(store, {one.evaluation_id for one in judged})
    found: dict[str, DatasetExample] = {}
    async for one, record in records_of(store, judged):
        decision = _last(decided.get(one.evaluation_id, ()))
        if record.item is None or record.verdict.result is None or not _is_chosen(one, record, decision, chosen):
            continue
        example = _example(one, record, record.item, decision, rules, place)
        # The newest judgement of an answer comes last in the list below, and stands for it.
        found[example.id] = example
    if len(found) > _MOST:
        raise SetupError(
            f"{len(found)} findings match; choose at most {_MOST} for one dataset: --run, --issue, --label …"
        )
    return list(found.values())


async def _judged(store: Store, wanted: Wanted, chosen: Chosen) -> list[JudgedTrace]:
    issues: Sequence[str | None] = chosen.issues or (None,)
    by_id: dict[str, JudgedTrace] = {}
    for issue in issues:
        for one in await traces_of(store, wanted, issue=issue, limit=100_000):
            if one.label is not None and (one.worst is not None or chosen.sound or issue is not None):
                by_id[one.evaluation_id] = one
    ids = chosen.ids
    picked = [
        one for one in by_id.values() if not ids or one.trace_id.startswith(ids) or one.evaluation_id.startswith(ids)
    ]
    return sorted(picked, key=lambda one: (one.settled_at, one.evaluation_id))


def _last(decisions: Sequence[PersonsDecision]) -> PersonsDecision | None:
    return decisions[-1] if decisions else None


def _is_chosen(one: JudgedTrace, record: EvaluationRecord, decision: PersonsDecision | None, chosen: Chosen) -> bool:
    if (chosen.labelled or chosen.decision is not None) and decision is None:
        return False
    if decision is not None and chosen.decision not in (None, decision.outcome):
        return False
    return chosen.label in (None, decision.label if decision is not None else label(record.verdict))


def _example(
    one: JudgedTrace,
    record: EvaluationRecord,
    item: Item,
    decision: PersonsDecision | None,
    rules: RedactionRules,
    place: str | None,
) -> DatasetExample:
    """Make an example of what the judge saw and of what people, else the judge, say of it."""
    # What is kept was masked by the rules of its time; those of today may mask more.
    verdict = redact_verdict(record.verdict, item, rules)
    item = redact_item(item, rules)
    decision = decision if decision is None else _masked(decision, rules)
    key = "\n".join((record.connection, record.item_key, record.input_hash, one.judge))
    return DatasetExample(
        id=str(uuid.uuid5(_NAMESPACE, key)),
        inputs={
            "question": item.question,
            "documents": [{"id": document.id, "text": document.text} for document in item.documents],
            "answer": item.answer,
        },
        outputs={
            "label": decision.label if decision is not None else label(verdict),
            "label_by": "people" if decision is not None else "judge",
            "statements": _statements(verdict, decision),
        },
        metadata=_metadata(one, record, verdict, decision),
        # Only where the platform has the span.
        span_id=verdict.span_id if place == record.connection else None,
    )


def _statements(verdict: Verdict, decision: PersonsDecision | None) -> list[dict[str, Any]]:
    corrected = decision.labels if decision is not None else {}
    return [
        {
            "id": part.key,
            "text": part.statement,
            "judge_says": str(part.standing),
            "label": corrected.get(part.key) or str(part.standing).upper(),
            "evidence": [
                {"document_id": quote.document_id, "text": quote.text}
                for quote in part.evidence
                if quote.check is QuoteCheck.VERIFIED
            ],
            "explanation": part.explanation,
        }
        for part in (verdict.result.parts if verdict.result is not None else ())
    ]


def _metadata(
    one: JudgedTrace, record: EvaluationRecord, verdict: Verdict, decision: PersonsDecision | None
) -> dict[str, Any]:
    people = (
        {}
        if decision is None
        else {"decision": decision.outcome, "decided_by": decision.person, "comment": decision.comment}
    )
    half = {"fix_note": verdict.result.fix_note} if isinstance(verdict.result, HalvesResult) else {}
    return {
        "trace_id": verdict.trace_id,
        "span_id": verdict.span_id,
        "connection": record.connection,
        "project": record.project,
        "job": record.job,
        "run_id": one.run_id,
        "judge": verdict.provenance.judge,
        "judge_version": verdict.provenance.version,
        "judge_label": label(verdict),
        "judge_score": verdict.score,
        "issues": sorted(set(kinds_of_findings(verdict))),
        **half,
        **people,
    }


def _masked(decision: PersonsDecision, rules: RedactionRules) -> PersonsDecision:
    said = UserReport(name="review", comment=decision.comment, author=decision.person)
    ref = TraceRef(connection="", project="", trace_id=TraceId(""), reports=(said,))
    (masked,) = redact_ref(ref, rules).reports
    return replace(decision, comment=masked.comment or "", person=masked.author or "")


def _line(example: DatasetExample) -> dict[str, Any]:
    return {
        "id": example.id,
        "inputs": dict(example.inputs),
        "outputs": dict(example.outputs),
        "metadata": dict(example.metadata),
    }
