"""Turn a verdict into what people see on the platform: names, labels, one plain sentence, structured metadata."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from enricher.printing import number_of
from enricher.trace import Document, Item, TraceRef
from enricher.verdict import (
    Annotation,
    ConsistencyResult,
    Decision,
    DiffResult,
    FaithfulnessResult,
    HalvesResult,
    PairwiseResult,
    Part,
    Provenance,
    Quote,
    QuoteCheck,
    Result,
    Route,
    Standing,
    Status,
    Verdict,
)

CONTEXT_DIFF = "context_diff"
DOCUMENT_RELEVANCE = "document_relevance"
NEEDS_REVIEW = "needs_review"
PREFERENCE = "pairwise_preference"

_WORDS = ("yes", "partial", "no")
NAMES: Mapping[str, tuple[str, ...]] = {
    CONTEXT_DIFF: ("faithful", "partial", "unsupported", "contradicted", "no_claims"),
    "claim_faithfulness": ("pass", "fail", "no_claims"),
    "failing_half": ("none", "generation", "retrieval", "both"),
    "context_relevance": _WORDS,
    "groundedness": _WORDS,
    "answer_relevance": _WORDS,
    "source_consistency": ("consistent", "unsupported", "contradicted", "source_conflict", "no_claims"),
    PREFERENCE: ("win", "tie", "loss"),
    DOCUMENT_RELEVANCE: ("evidence", "contradicts", "unused"),
    NEEDS_REVIEW: (),
}
# The main annotation of each judge.
MAIN: Mapping[str, str] = {
    "diff": CONTEXT_DIFF,
    "faithfulness": "claim_faithfulness",
    "halves": "failing_half",
    "consistency": "source_consistency",
    "pairwise": PREFERENCE,
}
_AXIS_MEANING = {
    "context_relevance": "whether the context holds what the question asks for",
    "groundedness": "whether the answer follows from the context",
    "answer_relevance": "whether the answer answers the question",
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
    result = verdict.result
    if decision.route in (Route.WRITE, Route.BOTH) and result is not None:
        main = MAIN[result.kind]
        rendered.append(
            annotation(
                main,
                label=label(verdict),
                score=verdict.score,
                explanation=explain(verdict),
                metadata=_metadata(verdict, result, ref, report_url),
            )
        )
        if isinstance(result, HalvesResult):
            rendered += [
                annotation(
                    name,
                    label=axis.word,
                    score=float(axis.value),
                    explanation=axis.reason or f"{axis.word}: {_AXIS_MEANING[name]}",
                )
                for name, axis in result.axes.items()
            ]
        if isinstance(result, DiffResult):
            rendered += [
                annotation(
                    DOCUMENT_RELEVANCE,
                    span_id=document.span_id,
                    document_position=document.position,
                    label=use,
                    score=0.0 if use == "unused" else 1.0,
                    explanation=sentence,
                )
                for document, use, sentence in _document_uses(result, item.documents)
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
    """Return the word people filter by."""
    result = verdict.result
    # To decline is no claim, and still the fault of one half.
    if result is None or (verdict.status is Status.NO_CLAIMS and not isinstance(result, HalvesResult)):
        return "no_claims"
    return result.label


def explain(verdict: Verdict) -> str:
    """Say in one plain sentence what is worst, with the passage; platforms show no more than three lines."""
    if verdict.result is None:
        return verdict.failure or f"No verdict: {verdict.status}."
    return verdict.result.summary or verdict.result.with_parts(verdict.result.parts).summary


def _metadata(verdict: Verdict, result: Result, ref: TraceRef, report_url: str | None) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "status": str(verdict.status),
        **details(result),
        "flags": list(verdict.flags),
        "judge": verdict.provenance.model_dump(exclude_none=True),
        "chosen_by": list(ref.rules),
    }
    if ref.reports:
        metadata["user_reports"] = [
            {"name": r.name, "label": r.label, "score": r.score, "comment": r.comment, "author": r.author}
            for r in ref.reports
        ]
    if report_url:
        metadata["review"] = f"{report_url.rstrip('/')}/trace/{verdict.trace_id}"
    return metadata


def made_by(verdict: Verdict) -> dict[str, Any]:
    """Return the end of a row for machines: its flags, and what produced it."""
    provenance = verdict.provenance
    return {
        "flags": list(verdict.flags),
        "judge": provenance.judge,
        "engine": provenance.engine,
        "prompt": provenance.prompt,
        "model": provenance.model_snapshot or provenance.model,
        "usage": verdict.usage.model_dump(),
    }


def details(result: Result) -> dict[str, Any]:
    """Return the result as people read it on the platform: every statement with its status and passages."""
    found = result.model_dump(mode="json", exclude_none=True, exclude_defaults=True, exclude=_OWN_WAY)
    if isinstance(result, DiffResult):
        found["segments"] = [
            part | {"generated_text": segment.generated_text}
            for part, segment in zip(_parts(result, "segments"), result.segments, strict=True)
        ]
    elif isinstance(result, FaithfulnessResult):
        found |= {
            "claims": _parts(result, "claims"),
            "outcome": str(result.outcome),
            "unsupported_claims": list(result.unsupported_claims),
            "most_dangerous_error": result.most_dangerous_error,
        }
    elif isinstance(result, ConsistencyResult):
        claims = zip(_parts(result, "claims"), result.claims, strict=True)
        found |= {
            "claims": [part | {"source_references": _references(claim.evidence)} for part, claim in claims],
            "counts": result.counts,
        }
    elif isinstance(result, HalvesResult):
        axes = {name: getattr(result, name) for name in _AXES}
        found |= {name: axis.value for name, axis in axes.items()}
        found |= {"reasons": {name: axis.reason for name, axis in axes.items()}}
        found |= {
            "evidence": {name: [_quote(q) for q in axis.evidence] for name, axis in axes.items() if axis.evidence}
        }
        found |= {"failing_half": str(result.failing_half), "fix_note": result.fix_note}
    elif isinstance(result, PairwiseResult):
        found |= {"hallucinations": _parts(result, "hallucinations")}
        found |= {"preferred": str(result.preferred), "position_bias": result.has_position_bias}
    if (probability := getattr(result, "faithful_probability", None)) is not None:
        found["faithful_probability"] = round(probability, 4)
    return found


# The summary stands beside the metadata, and the statements are written out by `details`.
_AXES = ("context_relevance", "faithfulness", "answer_relevance")
_OWN_WAY = {*_AXES, "summary", "segments", "claims", "hallucinations", "faithful_probability"}


def _quote(quote: Quote) -> dict[str, Any]:
    return {"document_id": quote.document_id, "text": quote.text, "start": quote.start, "end": quote.end}


def _parts(result: Result, field: str) -> list[dict[str, Any]]:
    # All in one call: a call each costs several times as much.
    found = result.model_dump(mode="json", include={field}, exclude_none=True, exclude_defaults=True)
    parts: list[dict[str, Any]] = found.get(field, [])
    return parts


def _references(quotes: Sequence[Quote]) -> list[dict[str, Any]]:
    return [
        {"document_id": q.document_id, "passage": q.text, "relationship": str(q.stance or "SUPPORTS")} for q in quotes
    ]


def _document_uses(result: DiffResult, documents: Sequence[Document]) -> Iterator[tuple[Document, str, str]]:
    cited: dict[str, list[Part]] = {}
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
        elif any(segment.standing is Standing.CONTRADICTED for segment in segments):
            yield document, "contradicts", "The answer contradicts this document."
        else:
            parts = number_of(len(segments), "part")
            yield document, "evidence", f"{parts} of the answer can be compared with this document."
