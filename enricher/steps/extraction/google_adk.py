"""Google ADK's native spans: `gcp.vertex.agent.*`."""

from collections.abc import Sequence
from typing import Any

from enricher.steps.extraction.family import Family, first_of
from enricher.steps.extraction.messages import Message, message_of, messages_in
from enricher.steps.extraction.payloads import Found, decode
from enricher.trace import Span

_PREFIX = "gcp.vertex.agent."


class GoogleADK(Family):
    """Model calls carry request and response, tool calls their response; empty objects stand for nothing."""

    prefixes = frozenset({"gcp"})

    def input(self, span: Span) -> Found | None:
        """Return the tool's arguments."""
        return first_of(span.attributes, _PREFIX + "tool_call_args")

    def output(self, span: Span) -> Found | None:
        """Return the tool's response."""
        return first_of(span.attributes, _PREFIX + "tool_response")

    def prompt(self, span: Span) -> Sequence[Message]:
        """Return the request's instruction and contents."""
        request: Any = decode(span.attributes.get(_PREFIX + "llm_request"))
        if not isinstance(request, dict):
            return ()
        config = request.get("config")
        instruction = config.get("system_instruction") if isinstance(config, dict) else None
        system = [Message("system", (instruction,))] if isinstance(instruction, str) else []
        return [*system, *messages_in(request)]

    def replies(self, span: Span) -> Sequence[Message]:
        """Return the response's content."""
        response: Any = decode(span.attributes.get(_PREFIX + "llm_response"))
        found = message_of(response.get("content")) if isinstance(response, dict) else None
        return [found] if found else ()
