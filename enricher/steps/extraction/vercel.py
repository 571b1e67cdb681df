"""Vercel AI SDK: `ai.*` attributes."""

from collections.abc import Sequence
from typing import Any

from enricher.steps.extraction.family import Family, first_of, first_text
from enricher.steps.extraction.messages import Message, messages_in
from enricher.steps.extraction.payloads import Found, as_list, decode
from enricher.trace import Span, SpanKind

_MODEL_CALLS = (".doGenerate", ".doStream")
_TEXT = ("ai.response.text", "ai.result.text")
_OBJECT = ("ai.response.object", "ai.result.object")


class Vercel(Family):
    """Spans of generateText, streamText, generateObject and their model and tool calls."""

    prefixes = frozenset({"ai"})

    def kind(self, span: Span) -> SpanKind | None:
        """Map `ai.operationId`."""
        operation = span.attributes.get("ai.operationId")
        if not isinstance(operation, str):
            return None
        if operation.endswith(_MODEL_CALLS):
            return SpanKind.LLM
        if operation == "ai.toolCall":
            return SpanKind.TOOL
        return SpanKind.EMBEDDING if operation.startswith("ai.embed") else SpanKind.AGENT

    def input(self, span: Span) -> Found | None:
        """Return prompt or tool arguments."""
        return first_of(span.attributes, "ai.prompt", "ai.toolCall.args", "ai.prompt.messages")

    def output(self, span: Span) -> Found | None:
        """Return text, object or tool result."""
        return first_of(span.attributes, "ai.toolCall.result", *_TEXT, *_OBJECT, quoted=True)

    def prompt(self, span: Span) -> Sequence[Message]:
        """Return the messages of a model call, or of the whole run."""
        attributes: Any = span.attributes
        if found := messages_in(attributes.get("ai.prompt.messages")):
            return found
        body = decode(attributes.get("ai.prompt"))
        if not isinstance(body, dict):
            return ()
        system = [Message("system", (body["system"],))] if isinstance(body.get("system"), str) else []
        said = [Message("user", (body["prompt"],))] if isinstance(body.get("prompt"), str) else messages_in(body)
        return [*system, *said]

    def replies(self, span: Span) -> Sequence[Message]:
        """Return text and tool calls of a model call."""
        text = first_text({"text": span.attributes.get(_TEXT[0], span.attributes.get(_TEXT[1]))}, "text")
        made = decode(span.attributes.get("ai.response.toolCalls"))
        calls = [
            (str(call["toolName"]), decode(call.get("input", call.get("args"))))
            for call in as_list(made)
            if isinstance(call, dict) and "toolName" in call
        ]
        found = first_of(span.attributes, *_OBJECT)
        texts = (text,) if text else ((str(span.attributes[found.field]),) if found else ())
        return [Message("assistant", texts, tuple(calls))] if texts or calls else ()

    def finish_reason(self, span: Span) -> str | None:
        """Return `ai.response.finishReason`."""
        return first_text(span.attributes, "ai.response.finishReason", "ai.finishReason")

    def tool_name(self, span: Span) -> str | None:
        """Return `ai.toolCall.name`."""
        return first_text(span.attributes, "ai.toolCall.name")
