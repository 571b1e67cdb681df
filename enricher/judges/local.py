"""The diff judge of the embedded grounding engine: no key, no network, no model download."""

from enricher.grounding.engine import VERSION, Grounding, ground
from enricher.judges.turns import in_turn
from enricher.trace import Item
from enricher.verdict import DiffResult, Provenance, Segment, Status, Verdict, summary_of


class LocalDiffJudge:
    """Judges an item with the embedded engine: pure computation, which never holds up the event loop for long."""

    def __init__(self, *, risk_level: str = "normal") -> None:
        self._is_strict = risk_level == "high"
        chosen = "strict" if self._is_strict else ""
        self.provenance = Provenance(
            judge="diff", engine="local", model=VERSION, model_snapshot=VERSION, settings_hash=chosen
        )

    async def judge(self, item: Item) -> Verdict:
        """Judge the item; its answer and documents are already cut into sentences."""
        return await in_turn(self.verdict, item)

    def verdict(self, item: Item) -> Verdict:
        """Judge the item at once, for callers that are in a worker thread or process."""
        grounding = ground(item, is_strict=self._is_strict)
        segments = tuple(_with_references(segment, item) for segment in grounding.segments)
        has_claims = any(not segment.is_omission for segment in segments)
        result = DiffResult(
            segments=segments,
            summary=summary_of(segments),
            faithful_probability=grounding.faithful_probability,
        )
        return Verdict(
            trace_id=item.trace_id,
            span_id=item.annotate_span_id,
            status=Status.OK if has_claims else Status.NO_CLAIMS,
            result=result,
            flags=_flags(grounding),
            provenance=self.provenance,
        )

    async def aclose(self) -> None:
        """Do nothing: there is no connection."""


def _flags(grounding: Grounding) -> tuple[str, ...]:
    from_segments = {flag for segment in grounding.segments for flag in segment.flags}
    return (*grounding.flags, *sorted(from_segments))


def _with_references(segment: Segment, item: Item) -> Segment:
    spans = [quote.span_id for quote in segment.evidence if quote.span_id]
    if item.answer_span_id:
        spans.append(item.answer_span_id)
    if not spans:
        return segment
    return segment.model_copy(update={"trace_event_references": tuple(dict.fromkeys(spans))})
