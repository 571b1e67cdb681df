"""What all model judges share: ask, ask once more with PREVIOUS_ERROR, cut what does not fit, and record all of it."""

import asyncio
import hashlib
import json
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from enricher.judges.chat import Chat, ChatOptions, NoReply, Reply
from enricher.judges.reply import ReplyObject, Unusable, read_object
from enricher.judges.windows import cut_documents
from enricher.prompts import Message, Prompt
from enricher.trace import Document, Item
from enricher.verdict import Provenance, Result, Status, Usage, Verdict

R = TypeVar("R")

_log = logging.getLogger(__name__)
MARGIN = 64  # tokens that chat templates add
LEAST = 128  # tokens of documents and answer below which a window is not worth a request
SHRINKS = 3  # how often a context is cut smaller after the server refused it
# A model that refused once refuses again, and a missing answer has had its retries.
FINAL = (Status.JUDGE_REFUSED, Status.JUDGE_UNAVAILABLE, Status.JUDGE_CONTEXT_TOO_LONG, Status.BUDGET_EXCEEDED)


@dataclass(slots=True)
class Talk:
    """All that was said about one item."""

    usage: Usage = field(default_factory=Usage)
    replies: list[str] = field(default_factory=list)
    flags: dict[str, None] = field(default_factory=dict)
    snapshot: str | None = None
    context_limit: int | None = None

    def note(self, reply: Reply | NoReply) -> None:
        """Record what a call said and cost."""
        self.usage = self.usage + reply.usage
        if isinstance(reply, NoReply):
            self.context_limit = reply.context_limit or self.context_limit
            return
        self.replies.append(reply.content or reply.refusal or "")
        self.snapshot = reply.snapshot or self.snapshot
        if reply.is_shifted:
            self.add_flags(("model_snapshot_changed",))

    def note_object(self, found: ReplyObject) -> None:
        """Record whether the reply had to be repaired."""
        if found.is_repaired:
            self.add_flags(("judge_reply_repaired",))

    def add_flags(self, flags: Sequence[str]) -> None:
        """Add flags, each once."""
        self.flags.update(dict.fromkeys(flags))


def provenance_of(prompt: Prompt, options: ChatOptions, *further: object) -> Provenance:
    """Name what produces the verdicts of a prompt on a model; `further` settings change the version too."""
    settings = [prompt.fingerprint, options.max_tokens, options.context_window, options.seed, *further]
    return Provenance(
        judge=prompt.judge,
        engine="openai",
        prompt=prompt.name,
        prompt_hash=prompt.fingerprint,
        model=options.model,
        settings_hash=hashlib.sha256(json.dumps(settings).encode()).hexdigest()[:12],
    )


def verdict_of(
    item: Item,
    provenance: Provenance,
    talk: Talk,
    status: Status,
    *,
    result: Result | None = None,
    failure: str | None = None,
) -> Verdict:
    """Put a verdict together from what was said."""
    if failure is not None:
        sizes = ", ".join(str(len(reply)) for reply in talk.replies) or "no"
        _log.info("trace %s: %s: %s; replies of %s characters", item.trace_id, status, failure, sizes)
    return Verdict(
        trace_id=item.trace_id,
        span_id=item.annotate_span_id,
        status=status,
        result=result,
        failure=failure,
        flags=tuple(talk.flags),
        provenance=provenance.model_copy(update={"model_snapshot": talk.snapshot}),
        usage=talk.usage,
        raw_replies=tuple(talk.replies),
    )


def reply_size(options: ChatOptions, window: int) -> int:
    """Return how many tokens a reply may have; in a small window no more than a quarter of it."""
    return options.max_tokens if options.max_tokens * 2 <= window else max(128, window // 4)


async def ask(
    chat: Chat,
    prompt: Prompt,
    messages: Sequence[Message],
    read: Callable[[Mapping[str, Any]], R | Unusable],
    *,
    keys: Collection[str],
    max_tokens: int,
    talk: Talk,
) -> R | Unusable:
    """Ask and read the one object of the reply, which has one of the `keys`.

    A reply that breaks off was lost on its way, and no fault of the model's: the same is asked once more.
    """
    name = prompt.name.replace("@", "_")
    for is_again in (False, True):
        reply = await chat.ask(messages, schema=prompt.schema, schema_name=name, max_tokens=max_tokens)
        talk.note(reply)
        if isinstance(reply, NoReply):
            return Unusable(status=reply.status, problem=reply.failure)
        found = read_object(reply.content, keys=keys, finish_reason=reply.finish_reason, refusal=reply.refusal)
        if not isinstance(found, Unusable):
            talk.note_object(found)
            return read(found.value)
        if is_again or not found.is_broken_off:
            return found
    raise AssertionError("unreachable")


async def converse(
    chat: Chat,
    prompt: Prompt,
    compose: Callable[[str], Sequence[Message]],
    read: Callable[[Mapping[str, Any]], R | Unusable],
    *,
    keys: Collection[str],
    room: int,
    talk: Talk,
    attempts: int = 2,
) -> R | Unusable:
    """Ask until a reply can be used, at most `attempts` times; `compose` is given the PREVIOUS_ERROR, empty at first.

    A reply that was cut off is asked for again with more room, up to `room` tokens, instead of with an error.
    """
    messages, max_tokens = compose(""), reply_size(chat.options, chat.options.window)
    for attempt in range(attempts):
        outcome = await ask(chat, prompt, messages, read, keys=keys, max_tokens=max_tokens, talk=talk)
        if not isinstance(outcome, Unusable) or attempt == attempts - 1 or outcome.status in FINAL:
            return outcome
        talk.add_flags(outcome.flags)
        if outcome.status is Status.JUDGE_TRUNCATED:
            grown = min(2 * max_tokens, room)
            if grown <= max_tokens:
                return outcome
            max_tokens = grown
        else:
            messages = compose(outcome.problem)
    raise AssertionError("unreachable")


async def over_windows(
    item: Item,
    chat: Chat,
    talk: Talk,
    size: Callable[[Sequence[Document]], int],
    judge: Callable[[Sequence[Document]], Awaitable[R | Unusable]],
) -> list[R] | Unusable:
    """Judge all documents together or, when they do not fit, in windows that the caller merges.

    `size` says how many tokens the request with these documents has. One window without a verdict is a cut context, of
    which nothing final can be said: its failure is returned.
    """
    window = chat.options.window
    room = window - reply_size(chat.options, window) - MARGIN
    for _ in range(SHRINKS + 1):
        windows = _cut(item.documents, room, size)
        if windows is None:
            break
        if len(windows) > 1:
            known = chat.options.context_window is not None
            talk.add_flags(("context_windowed",) if known else ("context_windowed", "context_window_assumed"))
        outcomes = await asyncio.gather(*(judge(documents) for documents in windows))
        failed = [outcome for outcome in outcomes if isinstance(outcome, Unusable)]
        if not failed:
            return [outcome for outcome in outcomes if not isinstance(outcome, Unusable)]
        if not any(outcome.status is Status.JUDGE_CONTEXT_TOO_LONG for outcome in failed):
            return failed[0]
        # Never the same request again: what follows is smaller than the largest that was refused.
        window = min(window, talk.context_limit or window)
        largest = max(size(documents) for documents in windows)
        room = min(int(0.6 * largest), window - reply_size(chat.options, window) - MARGIN)
    problem = "the answer and its context do not fit the model, however they are cut"
    return Unusable(status=Status.JUDGE_CONTEXT_TOO_LONG, problem=problem)


def _cut(
    documents: Sequence[Document], room: int, size: Callable[[Sequence[Document]], int]
) -> list[Sequence[Document]] | None:
    if size(documents) <= room:
        return [documents]
    left = room - size(())
    return list(cut_documents(documents, left)) if left >= LEAST else None
