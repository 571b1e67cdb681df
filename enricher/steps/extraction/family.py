"""What a framework family tells about one span. A new family is one file here and one line in `rules.py`."""

from collections.abc import Mapping, Sequence
from typing import Any

from enricher.steps.extraction.messages import Message
from enricher.steps.extraction.payloads import Found, decode
from enricher.trace import Span, SpanKind


class Family:
    """Reads the attributes of one convention; each method answers None (or nothing) where it has nothing to say."""

    prefixes: frozenset[str] = frozenset()  # first segments of the attribute keys that this family reads

    def kind(self, span: Span) -> SpanKind | None:
        """Return what the span did."""
        return None

    def input(self, span: Span) -> Found | None:
        """Return what the span was given, decoded."""
        return None

    def output(self, span: Span) -> Found | None:
        """Return what the span returned, decoded."""
        return None

    def prompt(self, span: Span) -> Sequence[Message]:
        """Return the chat messages that a model was given."""
        return ()

    def replies(self, span: Span) -> Sequence[Message]:
        """Return what the model replied; several are alternatives."""
        return ()

    def passages(self, span: Span) -> Found | None:
        """Return the retrieved documents as a list of `Passage`, empty when the span says that it found none."""
        return None

    def context(self, span: Span) -> Found | None:
        """Return the context that was put into a prompt as a variable."""
        return None

    def finish_reason(self, span: Span) -> str | None:
        """Return why the model stopped."""
        return None

    def tool_name(self, span: Span) -> str | None:
        """Return the name of the tool that ran."""
        return None


def first_of(attributes: Mapping[str, Any], *keys: str, quoted: bool = False) -> Found | None:
    """Return the first attribute that is there and not null, decoded."""
    for key in keys:
        value = attributes.get(key)
        if value is not None:
            return Found(decode(value, quoted=quoted), key)
    return None


def first_text(attributes: Mapping[str, Any], *keys: str) -> str | None:
    """Return the first attribute that is a non-empty string; of a list, its first string."""
    for key in keys:
        value = decode(attributes.get(key), quoted=True)
        if isinstance(value, list | tuple) and value:
            value = value[0]
        if isinstance(value, str) and value:
            return value
    return None
