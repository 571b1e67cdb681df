"""Findings as people should read them: the most dangerous answer first, each with its evidence word for word."""

from collections.abc import Mapping, Sequence

from enricher.reporting.nouns import Passage, RankedFinding, Statement
from enricher.reporting.systemic import Answer, document_name
from enricher.results.claims import SITES
from enricher.store import EvaluationRecord, PersonsDecision
from enricher.trace import Item, TraceRef, UserReport
from enricher.verdict import Certainty, Claim, HalvesResult, Part, Quote, QuoteCheck, Segment, Standing, Verdict

_DANGER = (
    Standing.CONTRADICTED,
    Standing.SOURCE_CONFLICT,
    Standing.UNSUPPORTED,
    Standing.PARTIAL,
    Standing.OMITTED,
)
_DOUBT = {str(Certainty.DISPUTED): 1, str(Certainty.REFUTED): 2}
_STATEMENTS = 6  # of one answer
_PASSAGES = 3  # of one statement
_ANSWER = 1200  # characters


def ranked(
    records: Sequence[EvaluationRecord],
    answers: Mapping[tuple[str, str], Answer],
    refs: Mapping[str, TraceRef],
    decisions: Mapping[str, Sequence[PersonsDecision]],
    links: Mapping[tuple[str, str], str],
) -> tuple[RankedFinding, ...]:
    """Put the judgements of each answer together, and the answers in the order of their danger."""
    by_answer: dict[tuple[str, str], list[EvaluationRecord]] = {}
    for record in records:
        by_answer.setdefault((record.verdict.trace_id, record.verdict.span_id), []).append(record)
    found = [
        _finding(own, answers[place], refs.get(place[0]), decisions, links.get(place))
        for place, own in by_answer.items()
    ]
    found.sort(key=_order)
    merged: dict[object, list[RankedFinding]] = {}
    for finding in found:
        merged.setdefault(_said_wrong(finding), []).append(finding)
    return tuple(
        first.model_copy(update={"rank": number, "same": tuple(other.trace_id for other in others)})
        for number, (first, *others) in enumerate(merged.values(), 1)
    )


def _order(finding: RankedFinding) -> tuple[int, int, bool, float, str]:
    score = 1.0 if finding.score is None else finding.score
    doubt = _DOUBT.get(finding.statements[0].certainty or "", 0) if finding.statements else 0
    return _DANGER.index(Standing(finding.standing)), doubt, not finding.reported, score, finding.trace_id


def _said_wrong(finding: RankedFinding) -> object:
    """Return what makes findings on two answers the same: the statements, and the passages held against them."""
    return finding.standing, tuple(
        (_folded(one.text), one.standing, tuple((p.document_id, _folded(p.text)) for p in one.passages))
        for one in finding.statements
    )


def _folded(text: str) -> str:
    return " ".join(text.lower().split()).rstrip(".")


def _finding(
    records: Sequence[EvaluationRecord],
    answer: Answer,
    ref: TraceRef | None,
    decisions: Mapping[str, Sequence[PersonsDecision]],
    link: str | None,
) -> RankedFinding:
    item = next((record.item for record in records if record.item is not None), None)
    statements = _statements([record.verdict for record in records], item)
    standings = [standing for standing in _DANGER if standing in answer.standings]
    return RankedFinding(
        rank=0,
        trace_id=answer.trace_id,
        span_id=answer.span_id,
        project=answer.project,
        standing=standings[0],
        question=answer.question,
        answer=_cut(item.answer) if item is not None else "",
        score=answer.score,
        failing_half=str(answer.half) if answer.half is not None else None,
        fix_note=answer.fix_note,
        reported=tuple(_said(report) for report in ref.reports) if ref is not None else (),
        decided=tuple(f"{d.outcome} by {d.person}" for record in records for d in decisions.get(record.id, ())),
        link=link,
        statements=statements[:_STATEMENTS],
    )


def _statements(verdicts: Sequence[Verdict], item: Item | None) -> tuple[Statement, ...]:
    parts = [(verdict, part) for verdict in verdicts if verdict.result for part in verdict.result.findings]
    parts.sort(key=lambda each: _danger(each[1]))
    found: dict[str, Statement] = {}
    for verdict, part in parts:
        # What several judges say of the same words is one finding, as the most dangerous has it.
        said = _folded(part.statement)
        first = found.setdefault(said, _statement(verdict, part, item))
        if first.judge != verdict.provenance.judge and first.standing != str(part.standing):
            other = f"{verdict.provenance.judge}: {str(part.standing).replace('_', ' ')}"
            found[said] = first.model_copy(update={"others": (*first.others, other)})
    if not found:
        return tuple(_of_half(verdict, item) for verdict in verdicts if isinstance(verdict.result, HalvesResult))
    return tuple(found.values())


def _danger(part: Part) -> tuple[bool, int, int]:
    """Order statements: what a second check refuted comes last; then by standing, then by the place it concerns."""
    places = [SITES.index(site) for site in part.sites if site in SITES] if isinstance(part, Claim) else []
    is_refuted = part.certainty is Certainty.REFUTED
    return is_refuted, _DANGER.index(part.standing), min(places, default=len(SITES))


def _statement(verdict: Verdict, part: Part, item: Item | None) -> Statement:
    return Statement(
        judge=verdict.provenance.judge,
        standing=str(part.standing),
        issue=str(part.issue_type) if isinstance(part, Segment) else str(part.standing).upper(),
        text=part.statement,
        explanation=part.explanation,
        certainty=None if part.certainty is None else str(part.certainty),
        passages=_passages(part.evidence, item),
    )


def _of_half(verdict: Verdict, item: Item | None) -> Statement:
    """Say of an answer without a wrong statement which half failed."""
    result = verdict.result
    assert isinstance(result, HalvesResult)
    quotes = [quote for axis in result.axes.values() for quote in axis.evidence]
    return Statement(
        judge=verdict.provenance.judge,
        standing=str(Standing.PARTIAL),
        issue=f"{result.failing_half.upper()}_FAILED",
        text=result.summary,
        passages=_passages(quotes, item),
    )


def _passages(quotes: Sequence[Quote], item: Item | None) -> tuple[Passage, ...]:
    return tuple(
        Passage(
            document_id=quote.document_id or "",
            document=_named(quote.document_id, item),
            text=quote.text,
            is_verified=quote.check is QuoteCheck.VERIFIED,
        )
        for quote in quotes[:_PASSAGES]
    )


def _named(document_id: str | None, item: Item | None) -> str:
    document = next((d for d in item.documents if d.id == document_id), None) if item is not None else None
    return document_id or "" if document is None else document_name(document)


def _said(report: UserReport) -> str:
    value = report.label if report.label is not None else report.score
    said = report.name if value is None else f"{report.name} {value}"
    return f"{said}: {report.comment}" if report.comment else said


def _cut(text: str) -> str:
    return text if len(text) <= _ANSWER else text[: _ANSWER - 1] + "…"
