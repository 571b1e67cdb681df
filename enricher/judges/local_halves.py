"""The halves judge of the embedded engine: coverage of the question, grounding of the answer, and steps from both."""

from collections.abc import Sequence

from enricher.grounding.engine import LOW_CONFIDENCE, VERSION, ground, quote_of
from enricher.grounding.relevance import AnswerRelevance, ContextRelevance, answer_relevance, context_relevance
from enricher.grounding.search import evidence_of
from enricher.judges import fixes
from enricher.judges.halves import NO_QUESTION
from enricher.judges.turns import in_turn
from enricher.trace import Item
from enricher.verdict import (
    AlignmentStatus,
    Axis,
    HalvesResult,
    Provenance,
    Quote,
    Segment,
    Status,
    Verdict,
)

_MODEL = f"{VERSION}/relevance-1"  # raised whenever the same item may be judged otherwise
_UNSURE = " (the words alone don't settle it)"


class LocalHalvesJudge:
    """Judges an item with the embedded engine: pure computation."""

    def __init__(self, *, settings_hash: str = "") -> None:
        self.provenance = Provenance(
            judge="halves", engine="local", model=_MODEL, model_snapshot=_MODEL, settings_hash=settings_hash
        )

    async def judge(self, item: Item) -> Verdict:
        """Judge the item; its answer and documents are already cut into sentences."""
        return await in_turn(self.verdict, item)

    def verdict(self, item: Item) -> Verdict:
        """Judge the item at once, for callers that are in a worker thread or process."""
        question = item.standalone_question or item.question
        if not question:
            return self._verdict(item, Status.SKIPPED, failure=NO_QUESTION)
        # The documents alone: nothing of the answer is in reach.
        evidence = evidence_of(item)
        context = context_relevance(question, evidence)
        grounding = ground(item)
        answer = answer_relevance(question, [sentence.text for sentence in item.sentences])
        segments = [segment for segment in grounding.segments if not segment.is_omission]
        passages = tuple(quote_of(place, evidence) for place in context.places[:3])
        faithfulness, is_sure = _faithfulness(segments)
        relevance = _answer_axis(answer)
        result = HalvesResult(
            context_relevance=_context_axis(context, passages),
            faithfulness=faithfulness,
            answer_relevance=relevance,
        )
        result = result.model_copy(update={"fix_note": _note(question, result, context, answer, segments, passages)})
        flags = list(grounding.flags)
        if not (is_sure and context.is_certain and answer.is_certain):
            flags.append(LOW_CONFIDENCE)
        status = Status.OK if segments else Status.NO_CLAIMS
        return self._verdict(item, status, result=result.with_parts(()), flags=flags)

    async def aclose(self) -> None:
        """Do nothing: there is no connection."""

    def _verdict(
        self,
        item: Item,
        status: Status,
        *,
        result: HalvesResult | None = None,
        failure: str | None = None,
        flags: Sequence[str] = (),
    ) -> Verdict:
        return Verdict(
            trace_id=item.trace_id,
            span_id=item.annotate_span_id,
            status=status,
            result=result,
            failure=failure,
            flags=tuple(flags),
            provenance=self.provenance,
        )


def _context_axis(context: ContextRelevance, passages: Sequence[Quote]) -> Axis:
    missing = _listed(context.missing)
    nearest = passages[0].document_id if passages else None
    if context.value == 2:
        reason = f"{nearest} states what is asked" if nearest else "the question asks for nothing in particular"
    elif context.value == 1 and nearest:
        reason = f"{nearest} comes nearest, but the documents don't state {missing or 'what is asked'}"
    else:
        reason = f"no document states {missing or 'what is asked'}"
    return _axis(context.value, reason, is_certain=context.is_certain, evidence=tuple(passages))


def _faithfulness(segments: Sequence[Segment]) -> tuple[Axis, bool]:
    """Grade the answer by its segments: one contradiction, or more unsupported than not, is no."""
    if not segments:
        return _axis(2, "the answer states nothing that could be checked"), True
    clashing = [s for s in segments if s.alignment_status is AlignmentStatus.CONTRADICTED]
    unsupported = [s for s in segments if s.alignment_status is AlignmentStatus.UNSUPPORTED]
    short = [s for s in segments if s.alignment_status is AlignmentStatus.PARTIALLY_SUPPORTED]
    worst = next(iter([*clashing, *unsupported, *short]), None)
    if worst is None:
        return _axis(2, "every statement follows from the documents", evidence=segments[0].evidence[:1]), True
    value = 0 if clashing or 2 * len(unsupported) > len(segments) else 1
    is_certain = LOW_CONFIDENCE not in worst.flags
    reason = worst.explanation or f"the documents don't bear out '{worst.statement}'"
    return _axis(value, reason, is_certain=is_certain, evidence=worst.evidence[:1]), is_certain


def _answer_axis(answer: AnswerRelevance) -> Axis:
    if answer.value == 2:
        return _axis(2, "the answer takes up what is asked", is_certain=answer.is_certain)
    if answer.is_abstention:
        return _axis(0, "the answer declines to answer")
    reason = f"the answer does not speak of {_listed(answer.missing)}" if answer.missing else "a part is left open"
    return _axis(answer.value, reason, is_certain=answer.is_certain)


def _note(
    question: str,
    result: HalvesResult,
    context: ContextRelevance,
    answer: AnswerRelevance,
    segments: Sequence[Segment],
    passages: Sequence[Quote],
) -> str:
    half = result.failing_half
    passage = passages[0] if passages else None
    retrieval = generation = ""
    if half.includes_retrieval:
        retrieval = fixes.retrieval_note(question, _listed(context.missing), passage, is_partial=context.value == 1)
    if half.includes_generation:
        generation = _generation_note(answer, segments, passage)
    return fixes.joined(retrieval, generation)


def _generation_note(answer: AnswerRelevance, segments: Sequence[Segment], passage: Quote | None) -> str:
    if answer.is_abstention and passage is not None:
        return fixes.abstention_note(passage)
    for status in (AlignmentStatus.CONTRADICTED, AlignmentStatus.UNSUPPORTED, AlignmentStatus.PARTIALLY_SUPPORTED):
        worst = next((segment for segment in segments if segment.alignment_status is status), None)
        if worst is not None and status is AlignmentStatus.CONTRADICTED:
            return fixes.contradiction_note(worst.statement, next(iter(worst.evidence), None))
        if worst is not None:
            return fixes.addition_note(worst.statement)
    return (
        fixes.abstention_note(passage)
        if answer.is_abstention
        else fixes.irrelevance_note(_listed(answer.missing), passage)
    )


def _axis(value: int, reason: str, *, is_certain: bool = True, evidence: tuple[Quote, ...] = ()) -> Axis:
    said = reason if is_certain else f"{reason}{_UNSURE}"
    return Axis.model_validate({"value": value, "reason": said, "evidence": evidence})


def _listed(words: Sequence[str]) -> str:
    return ", ".join(f"'{word}'" for word in words[:6])
