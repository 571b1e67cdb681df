"""OpenTelemetry GenAI conventions (`gen_ai.*`), with what Pydantic AI and older instrumentations put beside them."""

from collections.abc import Sequence
from typing import Any

from enricher.steps.extraction.family import Family, first_of, first_text
from enricher.steps.extraction.messages import Message, message_of, messages_in
from enricher.steps.extraction.passages import Passage, passages_in
from enricher.steps.extraction.payloads import Found, decode, numbered
from enricher.trace import Span, SpanEvent, SpanKind

_OPERATIONS = {
    "chat": SpanKind.LLM,
    "generate_content": SpanKind.LLM,
    "text_completion": SpanKind.LLM,
    "completion": SpanKind.LLM,
    "responses": SpanKind.LLM,
    "invoke_agent": SpanKind.AGENT,
    "create_agent": SpanKind.AGENT,
    "invoke_workflow": SpanKind.CHAIN,
    "execute_task": SpanKind.CHAIN,
    "execute_tool": SpanKind.TOOL,
    "retrieval": SpanKind.RETRIEVER,
    "retrieve": SpanKind.RETRIEVER,
    "vector_db_retrieve": SpanKind.RETRIEVER,
    "rerank": SpanKind.RERANKER,
    "embeddings": SpanKind.EMBEDDING,
}
_PROMPT_EVENTS = ("gen_ai.user.message", "gen_ai.system.message", "gen_ai.assistant.message", "gen_ai.tool.message")


class GenAI(Family):
    """Spans of the OpenTelemetry GenAI instrumentations and of frameworks that follow the convention."""

    prefixes = frozenset({"gen_ai", "final_result", "all_messages_events", "events", "pydantic_ai", "tool_response",
                          "tool_arguments", "db"})  # fmt: skip

    def kind(self, span: Span) -> SpanKind | None:
        """Map `gen_ai.operation.name`; without it, a requested model means a model call."""
        operation = span.attributes.get("gen_ai.operation.name")
        if isinstance(operation, str) and operation in _OPERATIONS:
            return _OPERATIONS[operation]
        if any(_is_result(event) for event in span.events):
            return SpanKind.RETRIEVER
        if "gen_ai.tool.name" in span.attributes:
            return SpanKind.TOOL
        if operation is None and "gen_ai.request.model" in span.attributes:
            return SpanKind.LLM
        return None

    def input(self, span: Span) -> Found | None:
        """Return arguments, query or the messages of an agent."""
        keys = ("gen_ai.tool.call.arguments", "tool_arguments", "gen_ai.retrieval.query.text")
        if found := first_of(span.attributes, *keys):
            return found
        asked = ("pydantic_ai.all_messages", "all_messages_events", "gen_ai.input.messages", "gen_ai.prompt")
        return first_of(span.attributes, *asked)

    def output(self, span: Span) -> Found | None:
        """Return a tool's result, an agent's final result or the reply messages."""
        keys = ("gen_ai.tool.call.result", "tool_response", "final_result", "gen_ai.output.messages",
                "gen_ai.completion")  # fmt: skip
        return first_of(span.attributes, *keys)

    def prompt(self, span: Span) -> Sequence[Message]:
        """Return `gen_ai.input.messages` after the system instructions, or one of the older forms."""
        attributes: Any = span.attributes
        system = decode(attributes.get("gen_ai.system_instructions"))
        first = message_of({"role": "system", "parts": system if isinstance(system, list) else [system]})
        found = messages_in(attributes.get("gen_ai.input.messages")) or _numbered(attributes, "gen_ai.prompt")
        found = found or [m for m in map(_event_message, span.events) if m]
        found = found or [m for m in messages_in(attributes.get("events")) if m.role != "assistant"]
        found = found or messages_in(attributes.get("pydantic_ai.all_messages"))[:-1]
        return [first, *found] if system and first else found

    def replies(self, span: Span) -> Sequence[Message]:
        """Return `gen_ai.output.messages`, or one of the older forms."""
        attributes: Any = span.attributes
        found = messages_in(attributes.get("gen_ai.output.messages")) or _numbered(attributes, "gen_ai.completion")
        if not found:
            choices = [decode(e.attributes.get("message")) for e in span.events if e.name == "gen_ai.choice"]
            found = [m for m in (message_of({"role": "assistant", **c}) for c in choices if isinstance(c, dict)) if m]
        return found

    def passages(self, span: Span) -> Found | None:
        """Return `gen_ai.retrieval.documents`, or the results that vector stores report as span events."""
        value = decode(span.attributes.get("gen_ai.retrieval.documents"))
        if isinstance(value, list):
            return Found(passages_in(value) or [], "gen_ai.retrieval.documents")
        results = [_event_passage(event) for event in span.events if _is_result(event)]
        return Found(results, "events/db.query.result") if results else None

    def context(self, span: Span) -> Found | None:
        """Return the prompt variable that holds the context."""
        names = ("context", "documents", "docs", "context_str", "sources")
        return first_of(span.attributes, *(f"gen_ai.prompt.variable.{name}" for name in names))

    def finish_reason(self, span: Span) -> str | None:
        """Return the first of `gen_ai.response.finish_reasons`."""
        return first_text(span.attributes, "gen_ai.response.finish_reasons")

    def tool_name(self, span: Span) -> str | None:
        """Return `gen_ai.tool.name`."""
        return first_text(span.attributes, "gen_ai.tool.name")


def _numbered(attributes: dict[str, Any], prefix: str) -> list[Message]:
    return [m for m in map(message_of, numbered(attributes, prefix)) if m]


def _event_message(event: SpanEvent) -> Message | None:
    if event.name not in _PROMPT_EVENTS or "content" not in event.attributes:
        return None
    return message_of({"role": event.name.split(".")[1], "content": event.attributes["content"]})


def _is_result(event: SpanEvent) -> bool:
    return event.name.endswith(("query.result", "search.result"))


def _event_passage(event: SpanEvent) -> Passage:
    """Read one result; the keys end in id, document, metadata and score or distance."""
    by_name = {key.rpartition(".")[2]: value for key, value in event.attributes.items()}
    metadata = decode(by_name.get("metadata"))
    metadata = metadata if isinstance(metadata, dict) else {}
    text = by_name.get("document") or by_name.get("text") or by_name.get("content")
    if text is None:
        text = next((metadata[k] for k in ("text", "content", "page_content") if k in metadata), None)
    score = by_name.get("score")
    identity = by_name.get("id")
    return Passage(
        text if isinstance(text, str) else None,
        None if identity is None else str(identity),
        float(score) if isinstance(score, int | float) else None,
        metadata,
    )
