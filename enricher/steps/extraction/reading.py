"""One span with its place in the trace; what it says is decoded once, when somebody asks."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from enricher.lazy import lazy
from enricher.steps.extraction.answers import answer_in
from enricher.steps.extraction.messages import Message, is_error_text, message_of, messages_in
from enricher.steps.extraction.passages import without_redacted
from enricher.steps.extraction.payloads import Found, decode, folded, is_redacted, plain_text
from enricher.steps.extraction.questions import question_in
from enricher.steps.extraction.rules import FAMILIES, families_of
from enricher.trace import Span, SpanKind

METADATA = "metadata."  # under which platforms flatten an application's own notes
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_RETRIEVERS = (SpanKind.RETRIEVER, SpanKind.RERANKER)
# Kinds that can be the item's root; model calls, tools and retrievers are parts of it.
_WRAPPERS = (SpanKind.CHAIN, SpanKind.AGENT, SpanKind.UNKNOWN)
_FINAL_TOOLS = frozenset({"final_answer", "finalanswer", "finish", "final_result", "submit_answer", "final_output"})
_HAND_OVERS = ("transfer_to_", "handoff", "hand_off")
_HEAD = 100  # characters of a text that are found much sooner than all of it
_REPLY_KEYS = (
    "generations", "choices", "candidates", "message", "messages", "content", "output", "replies", "response", "text",
    "completion", "output_text", "answer",
)  # fmt: skip


class Node:
    """A span in its tree. Order of `children` is by start time."""

    def __init__(self, span: Span, index: int) -> None:
        self.span = span
        self.index = index
        self.parent: Node | None = None
        self.children: list[Node] = []
        self.families = families_of(span)
        self.kind = span.kind if span.kind is not SpanKind.UNKNOWN else self._implied_kind()
        # Order by start; spans without times keep their place in the list.
        self.started = (span.start_time or _EPOCH, index)

    def __repr__(self) -> str:
        return f"Node({self.span.name!r}, {self.kind})"

    @property
    def ended(self) -> tuple[datetime, timedelta, int]:
        """Order by end; of two that end together the one that started first, which wraps the other, is later."""
        start = self.started[0]
        return self.span.end_time or start, _EPOCH - start, -self.index

    def _implied_kind(self) -> SpanKind:
        # What OpenInference only implies comes after what another convention says outright.
        asked = sorted(self.families, key=lambda family: family is FAMILIES[0])
        said = (family.kind(self.span) for family in asked)
        return next((kind for kind in said if kind is not None), SpanKind.UNKNOWN)

    @lazy
    def input(self) -> Found | None:
        """Return the decoded input."""
        for family in self.families:
            if (found := family.input(self.span)) is not None:
                return found
        return None

    @lazy
    def output(self) -> Found | None:
        """Return the decoded output."""
        for family in self.families:
            if (found := family.output(self.span)) is not None:
                return found
        return None

    @lazy
    def question(self) -> Found | None:
        """Return the question in the input."""
        return question_in(self.input.value) if self.input else None

    @lazy
    def answer(self) -> Found | None:
        """Return the answer in the output."""
        return answer_in(self.output.value) if self.output else None

    @lazy
    def prompt(self) -> Sequence[Message]:
        """Return what a model was given; empty for anything but a model call."""
        if self.kind is not SpanKind.LLM:
            return ()
        said = next((found for family in self.families if (found := family.prompt(self.span))), ())
        return said or (messages_in(self.input.value) if self.input else ())

    @lazy
    def replies(self) -> Sequence[Message]:
        """Return what a model replied; several are alternatives."""
        if self.kind is not SpanKind.LLM:
            return ()
        said = next((found for family in self.families if (found := family.replies(self.span))), ())
        if any(m.texts or m.calls for m in said):
            return said
        return replies_in(self.output.value) if self.output else said

    @lazy
    def reply(self) -> str | None:
        """Return the text of the model's first reply that has one."""
        for message in self.replies:
            for text in message.texts or ():
                if (said := plain_text(text.removeprefix("assistant: "))) is not None:
                    return said
        return None

    @lazy
    def refusal(self) -> str | None:
        """Return the text of a refusal, which some providers put beside the content."""
        body: Any = self.output.value if self.output and self.kind is SpanKind.LLM else None
        stated = replies_in(body) if isinstance(body, dict) else []
        return next((m.refusal for m in (*self.replies, *stated) if m.refusal), None)

    @lazy
    def passages(self) -> Found | None:
        """Return the retriever's documents; None when it does not say what it found."""
        said = [f for family in self.families if (f := family.passages(self.span)) is not None]
        # One convention may list the ids alone where another has the texts too.
        found = next((f for f in said if any(p.text for p in f.value)), said[0] if said else None)
        return Found(without_redacted(found.value), found.field) if found else None

    @lazy
    def context(self) -> Found | None:
        """Return the context variable of a prompt."""
        said = (family.context(self.span) for family in self.families)
        return next((f for f in said if f is not None), None)

    @property
    def has_prompt(self) -> bool:
        """Tell whether anything is left of the prompt when it is folded."""
        return any(map(str.strip, self._plain_prompts)) or bool(self.prompt_folded)

    def quotes(self, text: str) -> bool:
        """Tell whether a text stands as it is where folding the prompt changes white space alone.

        Then the folded text stands in the folded prompt too, and neither needs to be folded.
        """
        return any(_holds(prompt, text) for prompt in self._plain_prompts)

    def was_given(self, key: str) -> bool:
        """Tell whether a folded text stands in the folded prompt."""
        return self.quotes(key) or key in self.prompt_folded

    @lazy
    def _plain_prompts(self) -> list[str]:
        return [text for m in self.prompt if m.role != "assistant" and (text := m.text).isascii()]

    @lazy
    def prompt_folded(self) -> str:
        """Return the whole prompt, folded for comparison."""
        return " ".join(folded(message.text) for message in self.prompt if message.role != "assistant") + " ".join(
            folded(text) for m in self.prompt for r in m.results for text in _leaves(r)
        )

    @lazy
    def metadata(self) -> dict[str, Any]:
        """Return what OpenInference writes as one JSON text, and what platforms flatten."""
        whole = self.span.attributes.get("metadata")
        if isinstance(whole, str):
            try:
                whole = json.loads(whole)
            except ValueError:
                whole = None
        found = {str(key): value for key, value in whole.items()} if isinstance(whole, Mapping) else {}
        flat = self.span.attributes.items()
        return found | {key.removeprefix(METADATA): value for key, value in flat if key.startswith(METADATA)}

    @property
    def finish_reason(self) -> str | None:
        """Return why the model stopped."""
        return next((f for family in self.families if (f := family.finish_reason(self.span))), None)

    @property
    def tool_name(self) -> str:
        """Return the tool's name, or the span's."""
        return next((n for family in self.families if (n := family.tool_name(self.span))), self.span.name)

    @property
    def is_retriever(self) -> bool:
        """Tell whether the span fetched documents."""
        return self.kind in _RETRIEVERS

    @property
    def is_wrapper(self) -> bool:
        """Tell whether the span can be an item's root: it has a say, and is not itself a step."""
        return self.kind in _WRAPPERS and (self.input is not None or self.output is not None or self.is_run)

    @property
    def is_run(self) -> bool:
        """Tell whether this is a native run: those have inputs and outputs by definition, even if hidden."""
        return self.span.inputs is not None or self.span.outputs is not None

    @property
    def is_final_tool(self) -> bool:
        """Tell whether the span is the tool by which an agent states its answer."""
        return self.kind is SpanKind.TOOL and self.tool_name.lower().split(".")[0] in _FINAL_TOOLS

    @lazy
    def is_evidence_tool(self) -> bool:
        """Tell whether the span is a tool whose result the model may rely on."""
        if self.kind is not SpanKind.TOOL:
            return False
        return not self.is_final_tool and not self.tool_name.lower().startswith(_HAND_OVERS)

    @property
    def has_failed(self) -> bool:
        """Tell whether the step failed, by its status or by what it returned."""
        if self.span.status == "ERROR":
            return True
        if self.kind is not SpanKind.TOOL or self.output is None:
            return False
        message = message_of(self.output.value)
        return message.is_error if message else is_error_text(self.output.value)

    @lazy
    def has_redaction(self) -> bool:
        """Tell whether the producer hid a value on this span."""
        if any(map(is_redacted, self.span.attributes.values())):
            return True
        return self.is_run and any(map(is_redacted, _leaves([self.span.inputs, self.span.outputs])))

    def ancestors(self) -> Iterator["Node"]:
        """Yield parent, grandparent and so on."""
        node = self.parent
        while node:
            yield node
            node = node.parent

    def subtree(self) -> Iterator["Node"]:
        """Yield the span and everything below it, parents first."""
        yield self
        for child in self.children:
            yield from child.subtree()


def replies_in(value: Any, depth: int = 5) -> list[Message]:
    """Read the replies in a model's raw response, whichever provider it came from."""
    if isinstance(value, str):
        decoded = decode(value) if value[:2] == '["' else value
        if isinstance(decoded, list):
            return replies_in(decoded, depth - 1)
        return [Message("assistant", (value,))] if plain_text(value) else []
    if depth == 0 or not isinstance(value, list | dict):
        return []
    if isinstance(value, list):
        return [m for item in value for m in replies_in(item, depth - 1) if m.role == "assistant"]
    if (message := message_of(value)) is not None:
        return [message]
    for key in _REPLY_KEYS:
        if value.get(key) and (found := replies_in(value[key], depth - 1)):
            return found
    if isinstance(value.get("parts"), list):
        return replies_in({"role": "assistant", "parts": value["parts"]})
    return []


def _holds(prompt: str, text: str) -> bool:
    at = prompt.find(text[:_HEAD])
    return at >= 0 and (prompt.startswith(text, at) or text in prompt)


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _leaves(item)
