"""Work through the review queue: list, look, decide; a decision is a person's label and goes back to the platform."""

from collections.abc import Mapping, Sequence
from typing import Any

from enricher.errors import SetupError
from enricher.steps.rendering import MAIN, NAMES, NEEDS_REVIEW, details, identifier, label
from enricher.store import PersonsDecision, Question, Store, closed_call
from enricher.trust import Setting
from enricher.verdict import (
    AlignmentStatus,
    Annotation,
    Claim,
    ClaimVerdict,
    IssueType,
    Part,
    Result,
    Segment,
    Verdict,
)

OUTCOMES = ("confirm", "reject", "correct")
# What people may type for a label of another judge that means the same.
_SAME = {"SUPPORTED": "FULLY_SUPPORTED", "PARTIAL": "PARTIALLY_SUPPORTED"}
_SAME |= {other: one for one, other in _SAME.items()}
_ISSUES = {
    AlignmentStatus.FULLY_SUPPORTED: IssueType.NONE,
    AlignmentStatus.PARTIALLY_SUPPORTED: IssueType.DISTORTED,
    AlignmentStatus.UNSUPPORTED: IssueType.ADDED,
    AlignmentStatus.CONTRADICTED: IssueType.CONTRADICTED,
}


async def find(store: Store, beginning: str) -> Question:
    """Return the one question whose id begins with a text.

    Raises:
        SetupError: there is none, or more than one.
    """
    found = await store.question_like(beginning)
    if not found:
        raise SetupError(f"there is no review item {beginning}; `enricher review list` shows them")
    if len(found) > 1:
        raise SetupError(f"{beginning} begins more than one review item; write more of it")
    return found[0]


def decided(
    question: Question, *, outcome: str, person: str, final: str | None, changes: Sequence[str], comment: str
) -> PersonsDecision:
    """Make a person's decision of what was typed.

    Raises:
        SetupError: the outcome, a label or a statement does not exist.
    """
    if outcome not in OUTCOMES:
        raise SetupError(f"'{outcome}' is no decision; use {', '.join(OUTCOMES)}")
    if not person.strip():
        raise SetupError("say who decides: --by NAME, or set ENRICHER_REVIEWER")
    verdict = question.evaluation.verdict
    allowed = _labels_of(verdict)
    labels = _changed(changes, verdict)
    if final is not None and final not in allowed:
        raise SetupError(f"--label: '{final}' is not known; use one of {', '.join(allowed)}")
    if outcome == "correct" and final is None and not labels:
        raise SetupError("a correction needs --label, or --set STATEMENT=LABEL for each statement that is wrong")
    said = label(verdict) if verdict.result is not None else ""
    if final is None and labels and verdict.result is not None:
        final = corrected(verdict.result, labels).label
    if final is None:
        # Who rejects a finding without saying more calls the answer sound.
        final = allowed[0] if outcome == "reject" and allowed else said
    return PersonsDecision(
        review_id=question.review.id,
        person=person.strip(),
        outcome=outcome,
        label=final,
        labels=labels,
        comment=comment.strip(),
    )


def corrected(result: Result, labels: Mapping[str, str]) -> Result:
    """Return a result as a person has it; its label and score follow from the corrected statements."""
    parts: list[Part] = []
    for part in result.parts:
        wanted = labels.get(part.key)
        if wanted is not None and isinstance(part, Segment):
            status = AlignmentStatus(wanted)
            part = part.model_copy(update={"alignment_status": status, "issue_type": _ISSUES[status]})
        elif wanted is not None and isinstance(part, Claim):
            part = part.model_copy(update={"verdict": ClaimVerdict(wanted)})
        parts.append(part)
    return result.with_parts(parts)


def written_back(question: Question, decision: PersonsDecision, asked: Sequence[Annotation]) -> list[Annotation]:
    """Return what goes to the platform: the person's label beside the judge's, and the call for review, closed.

    `asked` are the write-backs of the question's evaluation; they say where on the platform it stands.
    """
    verdict = question.evaluation.verdict
    calls = [annotation for annotation in asked if annotation.name.endswith(NEEDS_REVIEW)]
    if not calls:
        return []
    told = f"{decision.outcome} by {decision.person}" + (f": {decision.comment}" if decision.comment else "")
    closed = [closed_call(annotation, told) for annotation in calls]
    if verdict.result is None:
        return closed
    prefix = calls[0].name.removesuffix(NEEDS_REVIEW)
    human = calls[0].model_copy(
        update={
            "name": prefix + MAIN[verdict.result.kind],
            "label": decision.label,
            "score": None,
            "explanation": told,
            "metadata": {"outcome": decision.outcome, "labels": dict(decision.labels), "judge_said": label(verdict)},
            # Each person stands beside the judge and beside the others.
            "identifier": f"trace-enricher/review/{decision.person}",
            "annotator_kind": "HUMAN",
        }
    )
    return [*closed, human]


async def decide(store: Store, question: Question, decision: PersonsDecision) -> list[Annotation]:
    """Record a decision, and queue its write-backs; return them."""
    story = await store.explain(question.review.trace_id)
    # What a verdict has written carries the version of its judge.
    mine = identifier(question.evaluation.verdict.provenance)
    span_id = question.evaluation.verdict.span_id
    written = [entry.annotation for entry in story.outbox]
    asked = [a for a in written if a.identifier == mine and a.span_id == span_id]
    annotations = written_back(question, decision, asked)
    await store.decide(decision, annotations)
    return annotations


def as_row(question: Question) -> dict[str, Any]:
    """Return one line of the queue."""
    review, verdict = question.review, question.evaluation.verdict
    return {
        "id": review.id,
        "state": str(review.state),
        "reasons": list(review.reasons),
        "job": review.job,
        "project": question.evaluation.project,
        "judge": verdict.provenance.judge,
        "trace_id": review.trace_id,
        "span_id": verdict.span_id,
        "status": str(verdict.status),
        "label": label(verdict) if verdict.result is not None else None,
        "score": verdict.score,
        "summary": verdict.result.summary if verdict.result is not None else verdict.failure or "",
        "asked_at": review.created_at.isoformat(),
        "decided_by": [decision.person for decision in question.decisions],
    }


def as_dict(question: Question, *, link: str | None = None, raw_replies: Sequence[str] = ()) -> dict[str, Any]:
    """Return everything that a reviewer needs."""
    item, verdict = question.evaluation.item, question.evaluation.verdict
    read = (
        {
            "question": item.question,
            "answer": item.answer,
            "documents": [{"id": d.id, "text": d.text, "span_id": d.span_id} for d in item.documents],
        }
        if item is not None
        else {}
    )
    result = details(verdict.result) | {"summary": verdict.result.summary} if verdict.result is not None else None
    return {
        **as_row(question),
        **read,
        "result": result,
        "failure": verdict.failure,
        "flags": list(verdict.flags),
        "judge_version": verdict.provenance.version,
        "link": link,
        "raw_replies": list(raw_replies),
        "decisions": [_told(decision) for decision in question.decisions],
    }


def as_label(question: Question, decision: PersonsDecision) -> dict[str, Any]:
    """Return one person's label, as `enricher export labels` writes it."""
    item, verdict = question.evaluation.item, question.evaluation.verdict
    return {
        "trace_id": question.review.trace_id,
        "span_id": verdict.span_id,
        "judge": verdict.provenance.judge,
        "judge_version": verdict.provenance.version,
        "setting": Setting.of(verdict.provenance).model_dump(mode="json"),
        "question": item.question if item else None,
        "documents": [{"id": d.id, "text": d.text} for d in item.documents] if item else [],
        "answer": item.answer if item else None,
        "judge_label": label(verdict) if verdict.result is not None else None,
        "judge_score": verdict.score,
        **_told(decision),
    }


def _told(decision: PersonsDecision) -> dict[str, Any]:
    return {
        "person": decision.person,
        "outcome": decision.outcome,
        "label": decision.label,
        "labels": dict(decision.labels),
        "comment": decision.comment,
        "decided_at": decision.decided_at.isoformat() if decision.decided_at else None,
    }


def _labels_of(verdict: Verdict) -> tuple[str, ...]:
    return NAMES[MAIN[verdict.result.kind]] if verdict.result is not None else ()


def _changed(changes: Sequence[str], verdict: Verdict) -> Mapping[str, str]:
    parts = {part.key: part for part in (verdict.result.parts if verdict.result is not None else ())}
    found = {}
    for change in changes:
        name, equals, wanted = change.partition("=")
        part = parts.get(name.strip())
        if not equals or part is None:
            raise SetupError(f"--set {change}: write STATEMENT=LABEL; the statements are {', '.join(parts) or 'none'}")
        allowed = _statement_labels(part)
        chosen = wanted.strip().upper()
        chosen = chosen if chosen in allowed else _SAME.get(chosen, chosen)
        if chosen not in allowed:
            raise SetupError(f"--set {change}: '{wanted}' is not known; use one of {', '.join(allowed)}")
        found[name.strip()] = chosen
    return found


def _statement_labels(part: Any) -> tuple[str, ...]:
    labels = type(getattr(part, "alignment_status", None) or getattr(part, "verdict", None) or part.standing)
    return tuple(str(one.value).upper() for one in labels)
