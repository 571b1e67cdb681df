"""Langfuse SDK: `langfuse.observation.*`."""

from enricher.steps.extraction.family import Family, first_of
from enricher.steps.extraction.passages import texts_in
from enricher.steps.extraction.payloads import Found
from enricher.trace import Span, SpanKind

_KINDS = {
    "generation": SpanKind.LLM, "span": SpanKind.CHAIN, "chain": SpanKind.CHAIN, "agent": SpanKind.AGENT,
    "tool": SpanKind.TOOL, "retriever": SpanKind.RETRIEVER, "embedding": SpanKind.EMBEDDING,
    "guardrail": SpanKind.GUARDRAIL, "evaluator": SpanKind.EVALUATOR,
}  # fmt: skip


class Langfuse(Family):
    """Observations of the Langfuse SDK and its integrations."""

    prefixes = frozenset({"langfuse"})

    def kind(self, span: Span) -> SpanKind | None:
        """Map `langfuse.observation.type`."""
        return _KINDS.get(str(span.attributes.get("langfuse.observation.type")))

    def input(self, span: Span) -> Found | None:
        """Return the observation's input, or the trace's on the root."""
        return first_of(span.attributes, "langfuse.observation.input", "langfuse.trace.input")

    def output(self, span: Span) -> Found | None:
        """Return the observation's output, or the trace's on the root."""
        return first_of(span.attributes, "langfuse.observation.output", "langfuse.trace.output")

    def passages(self, span: Span) -> Found | None:
        """Return the documents in a retriever's output."""
        output = self.output(span)
        found = texts_in(output.value) if output else None
        return Found(found, output.field) if output and found is not None else None
