"""A platform in memory: what is measured over it is the product, and not a server."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from benchmarks.parts.workload import Case, tag_of
from enricher.seams import Health
from enricher.trace import RawTrace, Rejection, Span, SpanId, SpanKind, TraceId, TraceQuery, TraceRef
from enricher.verdict import Annotation, Delivery, DeliveryState

_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


class MemoryPlatform:
    """A Connector without a platform: asks for the spans of each trace by its number, and accepts every annotation.

    Args:
        name: name of the connection in the config.
        count: how many traces there are.
        spans: returns the trace of a number.
        heard: is told of every annotation that was accepted.
        latency_s: how long each batch of annotations takes.
    """

    def __init__(
        self,
        name: str,
        count: int,
        spans: Callable[[int], tuple[Span, ...]],
        *,
        heard: Callable[[Annotation], None] = lambda annotation: None,
        latency_s: float = 0.0,
    ) -> None:
        self.name = name
        self.confirmed = 0
        self._count = count
        self._spans = spans
        self._heard = heard
        self._latency_s = latency_s

    async def find(self, query: TraceQuery) -> AsyncIterator[TraceRef]:
        """Yield a ref for each trace."""
        for number in range(self._count):
            yield TraceRef(
                connection=self.name,
                project="bench",
                trace_id=TraceId(tag_of(number)),
                rules=(query.rule,),
                start_time=_EPOCH + timedelta(seconds=number),
            )

    async def pull(self, refs: Sequence[TraceRef]) -> AsyncIterator[RawTrace | Rejection]:
        """Yield the traces."""
        for ref in refs:
            yield RawTrace(ref=ref, spans=self._spans(int(ref.trace_id[4:])))

    async def annotate(self, annotations: Sequence[Annotation]) -> Sequence[Delivery]:
        """Accept all of them."""
        if self._latency_s:
            await asyncio.sleep(self._latency_s)
        self.confirmed += len(annotations)
        for annotation in annotations:
            self._heard(annotation)
        return [Delivery(key=annotation.key, state=DeliveryState.CONFIRMED) for annotation in annotations]

    async def confirm(self, annotations: Sequence[Annotation]) -> Sequence[Delivery]:
        """Confirm all of them."""
        return [Delivery(key=annotation.key, state=DeliveryState.CONFIRMED) for annotation in annotations]

    async def prepare(self, names: Mapping[str, Sequence[str]]) -> None:
        """Accept any names."""

    async def check(self) -> Health:
        """Be well."""
        return Health(ok=True)

    async def aclose(self) -> None:
        """Hold nothing."""


def spans_of(made: Case, *, has_document_list: bool = True) -> tuple[Span, ...]:
    """Return the trace of a case as OpenInference records it: chain, retriever, model call.

    Without a list of documents, the texts stand in the retriever's output, and no document takes an annotation.
    """
    trace_id, ended = TraceId(made.tag), _EPOCH + timedelta(seconds=1)
    root = SpanId(f"{made.tag}-root")
    found: dict[str, object] = {"output.value": [{"id": f"d{n}", "text": t} for n, t in enumerate(made.documents, 1)]}
    if has_document_list:
        found = {
            f"retrieval.documents.{number}.document.{key}": value
            for number, text in enumerate(made.documents)
            for key, value in (("id", f"d{number + 1}"), ("content", text))
        }
    said = {
        "llm.model_name": "gpt-4o-mini",
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "\n\n".join((*made.documents, made.question)),
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": made.answer,
    }

    def span(name: str, kind: SpanKind, parent: SpanId | None, attributes: Mapping[str, object]) -> Span:
        return Span(
            trace_id=trace_id,
            span_id=SpanId(f"{made.tag}-{name}"),
            parent_id=parent,
            name=name,
            kind=kind,
            attributes=attributes,
            start_time=_EPOCH,
            end_time=ended,
            status="OK",
        )

    return (
        span("root", SpanKind.CHAIN, None, {"input.value": made.question, "output.value": made.answer}),
        span("retriever", SpanKind.RETRIEVER, root, {"input.value": made.question, **found}),
        span("llm", SpanKind.LLM, root, said),
    )
