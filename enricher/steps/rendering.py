"""Turn a verdict into what people see on the platform: names, labels, one plain sentence, structured metadata."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from enricher.trace import Document, Item, TraceRef
from enricher.verdict import (
    AlignmentStatus,
    Annotation,
    Decision,
    DiffResult,
    Provenance,
    QuoteCheck,
    Route,
    Segment,
    Status,
    Verdict,
    summary_of,
)

CONTEXT_DIFF = "context_diff"
DOCUMENT_RELEVANCE = "document_relevance"
NEEDS_REVIEW = "needs_review"

_LABELS = {
    AlignmentStatus.FULLY_SUPPORTED: "faithful",
    AlignmentStatus.PARTIALLY_SUPPORTED: "partial",
    AlignmentStatus.UNSUPPORTED: "unsupported",
    AlignmentStatus.CONTRADICTED: "contradicted",
}
NAMES: Mapping[str, tuple[str, ...]] = {
    CONTEXT_DIFF: (*_LABELS.values(), "no_claims"),
    DOCUMENT_RELEVANCE: ("evidence", "contradicts", "unused"),
    NEEDS_REVIEW: (),
}


def names(prefix: str = "") -> dict[str, tuple[str, ...]]:
    """Return every annotation name with its labels, best first, as `Connector.prepare` takes them."""
    return {prefix + name: labels for name, labels in NAMES.items()}


def identifier(provenance: Provenance) -> str:
    """Name the author of an annotation: the same judge version replaces itself, another one stands beside it."""
    return f"trace-enricher/{provenance.version}"


def render(
    verdict: Verdict, decision: Decision, item: Item, ref: TraceRef, *, prefix: str = "", report_url: str | None = None
) -> tuple[Annotation, ...]:
    """Return the annotations of one verdict: on the item root, on each used document, and the call for review."""

    def annotation(name: str, **fields: Any) -> Annotation:
        return Annotation(
            connection=ref.connection,
            project=ref.project,
            trace_id=item.trace_id,
            name=prefix + name,
            identifier=identifier(verdict.provenance),
            annotator_kind="CODE" if verdict.provenance.engine == "local" else "LLM",
            locator=dict(ref.locator),
            **{"span_id": item.annotate_span_id, **fields},
        )

    rendered = []
    if decision.route in (Route.WRITE, Route.BOTH) and isinstance(verdict.result, DiffResult):
        rendered.append(
            annotation(
                CONTEXT_DIFF,
                label=label(verdict),
                score=verdict.score,
                explanation=explain(verdict),
                metadata=_metadata(verdict, ref, report_url),
            )
        )
        rendered += [
            annotation(
                DOCUMENT_RELEVANCE,
                span_id=document.span_id,
                document_position=document.position,
                label=use,
                score=0.0 if use == "unused" else 1.0,
                explanation=sentence,
            )
            for document, use, sentence in _document_uses(verdict.result, item.documents)
        ]
    if decision.route in (Route.REVIEW, Route.BOTH):
        rendered.append(
            annotation(
                NEEDS_REVIEW,
                label=decision.reasons[0],
                explanation=verdict.failure or explain(verdict),
                metadata={"reasons": list(decision.reasons), "status": str(verdict.status)},
            )
        )
    return tuple(rendered)


def label(verdict: Verdict) -> str:
    """Return the word people filter by: the worst status among the generated segments."""
    if verdict.status is Status.NO_CLAIMS or verdict.result is None:
        return "no_claims"
    order = list(_LABELS)
    statuses = [s.alignment_status for s in verdict.result.segments if not s.is_omission]
    return _LABELS[max(statuses, key=order.index, default=AlignmentStatus.FULLY_SUPPORTED)]


def explain(verdict: Verdict) -> str:
    """Say in one plain sentence what is worst, with the passage; platforms show no more than three lines."""
    if verdict.result is None:
        return verdict.failure or f"No verdict: {verdict.status}."
    return verdict.result.summary or summary_of(verdict.result.segments)


def _metadata(verdict: Verdict, ref: TraceRef, report_url: str | None) -> dict[str, Any]:
    result = verdict.result
    assert isinstance(result, DiffResult)
    metadata: dict[str, Any] = {
        "status": str(verdict.status),
        "segments": [_segment(s) for s in result.segments],
        "flags": list(verdict.flags),
        "judge": verdict.provenance.model_dump(exclude_none=True),
        "chosen_by": list(ref.rules),
    }
    if result.faithful_probability is not None:
        metadata["faithful_probability"] = round(result.faithful_probability, 4)
    if ref.reports:
        metadata["user_reports"] = [
            {"name": r.name, "label": r.label, "score": r.score, "comment": r.comment, "author": r.author}
            for r in ref.reports
        ]
    if report_url:
        metadata["review"] = f"{report_url.rstrip('/')}/trace/{verdict.trace_id}"
    return metadata


def _segment(segment: Segment) -> dict[str, Any]:
    return segment.model_dump(mode="json", exclude_none=True, exclude_defaults=True) | {
        "segment_id": segment.segment_id,
        "generated_text": segment.generated_text,
    }


def _document_uses(result: DiffResult, documents: Sequence[Document]) -> Iterator[tuple[Document, str, str]]:
    cited: dict[str, list[Segment]] = {}
    for segment in result.segments:
        for quote in segment.evidence:
            if quote.check is QuoteCheck.VERIFIED and quote.document_id is not None:
                cited.setdefault(quote.document_id, []).append(segment)
    for document in documents:
        # Only spans with a list of documents take document annotations; the position is the platform's own index.
        if document.position is None or document.span_id is None:
            continue
        segments = cited.get(document.id, [])
        if not segments:
            yield document, "unused", "No part of the answer rests on this document."
        elif any(s.alignment_status is AlignmentStatus.CONTRADICTED and not s.is_omission for s in segments):
            yield document, "contradicts", "The answer contradicts this document."
        else:
            parts = "1 part" if len(segments) == 1 else f"{len(segments)} parts"
            yield document, "evidence", f"{parts} of the answer can be compared with this document."
