"""MLflow tracing: `mlflow.spanInputs`, `mlflow.spanOutputs` and `mlflow.spanType`, each JSON text."""

from enricher.steps.extraction.family import Family, first_of, first_text
from enricher.steps.extraction.passages import texts_in
from enricher.steps.extraction.payloads import Found
from enricher.trace import Span, SpanKind

_KINDS = {
    "CHAT_MODEL": SpanKind.LLM, "LLM": SpanKind.LLM, "RETRIEVER": SpanKind.RETRIEVER, "RERANKER": SpanKind.RERANKER,
    "TOOL": SpanKind.TOOL, "AGENT": SpanKind.AGENT, "CHAIN": SpanKind.CHAIN, "EMBEDDING": SpanKind.EMBEDDING,
    "PARSER": SpanKind.PARSER, "WORKFLOW": SpanKind.CHAIN, "TASK": SpanKind.CHAIN, "GUARDRAIL": SpanKind.GUARDRAIL,
    "EVALUATOR": SpanKind.EVALUATOR, "UNKNOWN": SpanKind.UNKNOWN,
}  # fmt: skip


class MLflow(Family):
    """Spans of `mlflow.trace` and the autologging integrations."""

    prefixes = frozenset({"mlflow"})

    def kind(self, span: Span) -> SpanKind | None:
        """Map `mlflow.spanType`."""
        return _KINDS.get(first_text(span.attributes, "mlflow.spanType") or "")

    def input(self, span: Span) -> Found | None:
        """Return `mlflow.spanInputs`."""
        return first_of(span.attributes, "mlflow.spanInputs", quoted=True)

    def output(self, span: Span) -> Found | None:
        """Return `mlflow.spanOutputs`."""
        return first_of(span.attributes, "mlflow.spanOutputs", quoted=True)

    def passages(self, span: Span) -> Found | None:
        """Return the documents in a retriever's outputs."""
        output = self.output(span)
        found = texts_in(output.value) if output else None
        return Found(found, output.field) if output and found is not None else None
