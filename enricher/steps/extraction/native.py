"""Native payloads (LangSmith runs): decoded `inputs` and `outputs` instead of attributes."""

from collections.abc import Sequence
from typing import Any

from enricher.steps.extraction.family import Family
from enricher.steps.extraction.messages import Message, messages_in
from enricher.steps.extraction.passages import texts_in
from enricher.steps.extraction.payloads import Found
from enricher.trace import Span, SpanKind


class Native(Family):
    """Runs whose inputs and outputs are JSON objects; a bare value or list is wrapped under `output`."""

    def input(self, span: Span) -> Found | None:
        """Return `inputs`, if there are any."""
        return Found(span.inputs, "inputs") if span.inputs else None

    def output(self, span: Span) -> Found | None:
        """Return `outputs` without the wrapper of a bare value."""
        value: Any = span.outputs
        if isinstance(value, dict) and set(value) == {"output"}:
            return None if value["output"] is None else Found(value["output"], "outputs#/output")
        return Found(value, "outputs") if value else None

    def prompt(self, span: Span) -> Sequence[Message]:
        """Return the messages of a model run's inputs."""
        if span.kind is not SpanKind.LLM or not isinstance(span.inputs, dict):
            return ()
        if found := messages_in(span.inputs):
            return found
        prompts = span.inputs.get("prompts") or span.inputs.get("prompt") or span.inputs.get("input")
        listed = prompts if isinstance(prompts, list) else [prompts]
        return [Message("user", (text,)) for text in listed if isinstance(text, str)]

    def passages(self, span: Span) -> Found | None:
        """Return the documents of a retriever run, also when it returned a bare list."""
        output = self.output(span)
        found = texts_in(output.value) if output else None
        return Found(found, output.field) if output and found is not None else None
