"""OpenLLMetry and the Traceloop SDK: `traceloop.entity.*` around GenAI model calls."""

from typing import Any

from enricher.steps.extraction.family import Family, first_of, first_text
from enricher.steps.extraction.passages import texts_in
from enricher.steps.extraction.payloads import Found
from enricher.trace import Span, SpanKind

_KINDS = {"workflow": SpanKind.CHAIN, "task": SpanKind.CHAIN, "agent": SpanKind.AGENT, "tool": SpanKind.TOOL}


class Traceloop(Family):
    """Workflow, task, agent and tool spans; their payloads are JSON around `inputs` and `outputs`."""

    prefixes = frozenset({"traceloop"})

    def kind(self, span: Span) -> SpanKind | None:
        """Map `traceloop.span.kind`; a task of a retriever class is a retriever."""
        if "gen_ai.operation.name" in span.attributes:  # says more
            return None
        kind = _KINDS.get(str(span.attributes.get("traceloop.span.kind")))
        name = str(span.attributes.get("traceloop.entity.name", span.name)).removesuffix(".task")
        return SpanKind.RETRIEVER if kind is SpanKind.CHAIN and name.endswith("Retriever") else kind

    def input(self, span: Span) -> Found | None:
        """Return the entity's input without the call's own dressing."""
        return _bare(first_of(span.attributes, "traceloop.entity.input", "gen_ai.task.input", quoted=True), "inputs")

    def output(self, span: Span) -> Found | None:
        """Return the entity's output without the call's own dressing."""
        found = first_of(span.attributes, "traceloop.entity.output", "gen_ai.task.output", quoted=True)
        return _bare(found, "outputs", "output")

    def passages(self, span: Span) -> Found | None:
        """Return the documents in the output of a retriever."""
        output = self.output(span)
        found = texts_in(output.value) if output else None
        return Found(found, output.field) if output and found is not None else None

    def tool_name(self, span: Span) -> str | None:
        """Return the name of the tool entity."""
        return first_text(span.attributes, "traceloop.entity.name")


def _bare(found: Found | None, *names: str) -> Found | None:
    value: Any = found.value if found else None
    for name in names:
        if found and isinstance(value, dict) and name in value:
            return Found(value[name], f"{found.field}#/{name}")
    return found
