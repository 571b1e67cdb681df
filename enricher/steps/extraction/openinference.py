"""OpenInference: `input.value`, `llm.*_messages.N`, `retrieval.documents.N`, from any of its instrumentors."""

from collections.abc import Sequence
from typing import Any

from enricher.steps.extraction.family import Family, first_text
from enricher.steps.extraction.messages import Message, openinference_messages
from enricher.steps.extraction.passages import Passage, passages_in
from enricher.steps.extraction.payloads import Found, as_list, decode, numbered
from enricher.trace import Span, SpanKind

_CONTEXT_VARIABLES = (
    "context", "context_str", "context_msg", "contexts", "documents", "docs", "sources", "passages", "chunks",
    "knowledge", "retrieved_context", "retrieved_documents", "summaries", "text_chunks",
)  # fmt: skip


class OpenInference(Family):
    """Spans of the OpenInference instrumentors, and what Phoenix adds to others."""

    prefixes = frozenset({"openinference", "input", "output", "llm", "retrieval", "reranker", "embedding", "tool"})

    def kind(self, span: Span) -> SpanKind | None:
        """Tell the kind by what only one kind of span carries; the declared one never gets here."""
        keys = span.attributes.keys()
        for start, kind in (
            ("reranker.", SpanKind.RERANKER),
            ("retrieval.documents", SpanKind.RETRIEVER),
            ("embedding.", SpanKind.EMBEDDING),
            ("llm.output_messages.", SpanKind.LLM),
            ("llm.invocation_parameters", SpanKind.LLM),
        ):
            if any(key.startswith(start) for key in keys):
                return kind
        return SpanKind.TOOL if "tool.name" in keys else None

    def input(self, span: Span) -> Found | None:
        """Return `input.value`."""
        return self._value(span, "input")

    def output(self, span: Span) -> Found | None:
        """Return `output.value`, unless it is the stub that Phoenix puts on GenAI spans."""
        found = self._value(span, "output")
        is_stub = found is not None and isinstance(found.value, dict) and set(found.value) <= {"id", "model"}
        return None if is_stub else found

    def _value(self, span: Span, side: str) -> Found | None:
        key = f"{side}.value"
        value = span.attributes.get(key)
        if not isinstance(value, str):
            return None if value is None else Found(value, key)
        mime = span.attributes.get(f"{side}.mime_type")
        return Found(decode(value, quoted=isinstance(mime, str) and "json" in mime), key)

    def prompt(self, span: Span) -> Sequence[Message]:
        """Return `llm.input_messages`, or the prompts of a completion model."""
        attributes: Any = span.attributes
        if groups := numbered(attributes, "llm.input_messages"):
            return openinference_messages(groups)
        prompts = decode(attributes.get("llm.prompts"))
        if isinstance(prompts, str):
            prompts = [prompts]
        if not prompts:
            prompts = [g.get("prompt.text") for g in numbered(attributes, "llm.prompts")]
        return [Message("user", (text,)) for text in as_list(prompts) if isinstance(text, str)]

    def replies(self, span: Span) -> Sequence[Message]:
        """Return `llm.output_messages`."""
        return openinference_messages(numbered(span.attributes, "llm.output_messages"))  # type: ignore[arg-type]

    def passages(self, span: Span) -> Found | None:
        """Return `retrieval.documents` or `reranker.output_documents`, with the ids that only `output.value` has."""
        attributes: Any = span.attributes
        for prefix in ("reranker.output_documents", "retrieval.documents"):
            if groups := numbered(attributes, prefix):
                found = [_document(group) for group in groups]
                return Found(self._with_ids(found, span), prefix)
            if decode(attributes.get(prefix)) in ([], ()):
                return Found([], prefix)
        output = self.output(span)
        if output and span.status != "ERROR" and (listed := passages_in(output.value)) is not None:
            return Found(listed, output.field)
        return None

    def _with_ids(self, found: list[Passage], span: Span) -> list[Passage]:
        if all(p.id for p in found):
            return found
        output = self.output(span)
        listed = (passages_in(output.value) if output else None) or []
        if len(listed) != len(found):
            return found
        return [
            Passage(p.text, p.id or other.id, p.score if p.score is not None else other.score, p.metadata)
            for p, other in zip(found, listed, strict=True)
        ]

    def context(self, span: Span) -> Found | None:
        """Return the template variable that holds the context; Phoenix flattens the variables."""
        prefix = "llm.prompt_template.variables"
        variables = decode(span.attributes.get(prefix))
        for name in _CONTEXT_VARIABLES:
            value = variables.get(name) if isinstance(variables, dict) else span.attributes.get(f"{prefix}.{name}")
            if value:
                return Found(decode(value), f"{prefix}#/{name}")
        return None

    def finish_reason(self, span: Span) -> str | None:
        """Return `llm.finish_reason`."""
        return first_text(span.attributes, "llm.finish_reason")

    def tool_name(self, span: Span) -> str | None:
        """Return `tool.name`."""
        return first_text(span.attributes, "tool.name")


def _document(flat: dict[str, Any]) -> Passage:
    """Read one document; its metadata is JSON text, or flattened by Phoenix."""
    metadata = decode(flat.get("document.metadata"))
    if not isinstance(metadata, dict):
        start = len("document.metadata.")
        metadata = {key[start:]: value for key, value in flat.items() if key.startswith("document.metadata.")}
    text, score, identity = (flat.get(f"document.{name}") for name in ("content", "score", "id"))
    return Passage(
        text if isinstance(text, str) else "",
        str(identity) if identity not in (None, "") else None,
        float(score) if isinstance(score, int | float) else None,
        metadata,
    )
