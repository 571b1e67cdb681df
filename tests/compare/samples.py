"""Answers and verdicts for the tests of comparisons."""

from enricher.compare.judging import Compared, review_reasons
from enricher.compare.matching import Matched
from enricher.trace import Document, Item, Pair, SpanId, TraceId, TraceRef
from enricher.verdict import (
    Certainty,
    Dimension,
    Hallucination,
    Order,
    PairwiseResult,
    Preference,
    Provenance,
    Severity,
    Status,
    Usage,
    Verdict,
)

LOCAL = Provenance(judge="pairwise", engine="local", model="grounding")


def item(answer="Yes.", question="Is it?", texts=("It is.",), trace="t"):
    return Item(
        trace_id=TraceId(trace),
        question=question,
        documents=tuple(Document(id=f"d{n}", text=text) for n, text in enumerate(texts, 1)),
        answer=answer,
        annotate_span_id=SpanId(f"{trace}-root"),
    )


def ref(trace, project="p", connection="memory"):
    return TraceRef(connection=connection, project=project, trace_id=TraceId(trace))


def flag(side="B", severity=Severity.CRITICAL, certainty=Certainty.CONFIRMED, name="1"):
    return Hallucination(
        flag_id=f"{side}{name}", answer=side, claim="It flies.", severity=severity, certainty=certainty
    )  # fmt: skip


def verdict(preferred="A", confidence=0.9, *, orders=(), flags=(), status=Status.OK, raised=(), usage=None, dims=None):
    result = None
    if status is Status.OK:
        result = PairwiseResult(
            preferred=Preference(preferred),
            confidence=confidence,
            dimensions=tuple(Dimension(name=n, winner=Preference(w)) for n, w in (dims or {}).items()),
            hallucinations=tuple(flags),
            orders=tuple(Order(first=first, preferred=Preference(said)) for first, said in orders),
        )
        result = result.with_parts(result.parts)
    return Verdict(
        trace_id="ta",
        span_id="ta-root",
        status=status,
        result=result,
        failure=None if result else "it failed",
        flags=tuple(raised),
        provenance=LOCAL,
        usage=usage or Usage(),
    )


def compared(given, *, name="p1", is_recalled=False, min_confidence=0.7, has_refs=True):
    pair = Pair(id=name, a=item(trace="ta"), b=item("No.", trace="tb"))
    matched = Matched(pair=pair, champion=ref("ta") if has_refs else None, challenger=ref("tb") if has_refs else None)
    reasons = review_reasons(given, min_confidence)
    return Compared(matched=matched, verdict=given, reasons=reasons, is_recalled=is_recalled)
