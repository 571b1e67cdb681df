"""The diff judge on a model: where does the answer leave its context?"""

import asyncio
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from enricher.judges import segments as wire
from enricher.judges.chat import Chat
from enricher.judges.conversation import (
    FINAL,
    LEAST,
    MARGIN,
    SHRINKS,
    Talk,
    ask,
    provenance_of,
    reply_size,
    verdict_of,
)
from enricher.judges.material import Material, fence_for, lay_out
from enricher.judges.reply import Unusable, score_flags
from enricher.judges.segments import Reading
from enricher.judges.windows import cut_documents, cut_sentences, merge_windows, tokens
from enricher.prompts import Message, Prompt, render
from enricher.trace import Document, Item, Sentence
from enricher.verdict import DiffResult, Status, Verdict, summary_of, supported_share


class ModelDiffJudge:
    """Judges items by a prompt to a model behind an OpenAI-compatible endpoint."""

    def __init__(self, chat: Chat, prompt: Prompt, *, salt: bytes | None = None) -> None:
        self._chat = chat
        self._prompt = prompt
        self._salt = salt or secrets.token_bytes(16)  # give all judges of a run the same, for the shared prefix
        self._window = chat.options.window
        self.provenance = provenance_of(prompt, chat.options)

    async def judge(self, item: Item) -> Verdict:
        """Judge the item; its answer and documents are already cut into sentences."""
        talk = Talk()
        wanted = tuple(sentence for sentence in item.sentences if sentence.is_checkable)
        if not wanted:
            return verdict_of(item, self.provenance, talk, Status.NO_CLAIMS, result=DiffResult(segments=()))
        outcome = await self._judged(item, wanted, talk)
        if isinstance(outcome, Unusable):
            talk.add_flags(outcome.flags)
            return verdict_of(item, self.provenance, talk, outcome.status, failure=outcome.problem)
        score, flags = outcome.stated_score, outcome.flags
        if score is not None:
            score, compared = score_flags(score, supported_share(outcome.segments))
            flags = (*flags, *compared)
        talk.add_flags(flags)
        segments = (*outcome.segments, *outcome.omissions)
        result = DiffResult(segments=segments, summary=summary_of(segments), judge_score=score)
        return verdict_of(item, self.provenance, talk, Status.OK, result=result)

    async def aclose(self) -> None:
        """Release connections."""
        await self._chat.aclose()

    async def _judged(self, item: Item, wanted: Sequence[Sentence], talk: Talk) -> Reading | Unusable:
        """Judge in one request or, when the context does not fit, in several that are merged."""
        room = self._window - self._reply_size() - MARGIN
        for _ in range(SHRINKS + 1):
            requests = self._plan(item, wanted, room)
            if requests is None:
                break
            if len(requests) > 1 and self._chat.options.context_window is None:
                talk.add_flags(("context_window_assumed",))
            asking = [self._converse(item, request, talk) for request in requests]
            outcomes = await asyncio.gather(*asking) if len(asking) > 1 else [await asking[0]]
            refused = [o for o in outcomes if isinstance(o, Unusable) and o.status is Status.JUDGE_CONTEXT_TOO_LONG]
            if not refused:
                return self._joined(item, wanted, outcomes)
            self._window = min(self._window, talk.context_limit or self._window)
            # Never the same request again: what follows is smaller than the largest that was refused.
            largest = max(request.size for request in requests)
            room = min(int(0.6 * largest), self._window - self._reply_size() - MARGIN)
        problem = "the answer and its context do not fit the model, however they are cut"
        return Unusable(status=Status.JUDGE_CONTEXT_TOO_LONG, problem=problem)

    def _plan(self, item: Item, wanted: Sequence[Sentence], room: int) -> "list[_Request] | None":
        """Cut the item into requests of at most `room` tokens; None when not even one sentence fits."""
        fence = fence_for(item, self._salt)
        whole = self._request(item, item.documents, item.sentences, wanted, fence)
        if whole.size <= room:
            return [whole]
        left = room - self._request(item, (), item.sentences[:1], wanted[:1], fence).size
        if left < LEAST:
            return None
        requests = []
        for shown in cut_sentences(item.sentences, left // 3):
            asked = [sentence for sentence in shown if sentence.is_checkable]
            if not asked:
                continue
            used = self._request(item, (), shown, asked, fence).size
            for documents in cut_documents(item.documents, max(LEAST // 2, room - used)):
                requests.append(self._request(item, documents, shown, asked, fence))
        return requests

    def _request(
        self,
        item: Item,
        documents: Sequence[Document],
        shown: Sequence[Sentence],
        wanted: Sequence[Sentence],
        fence: str,
    ) -> "_Request":
        by_reference = self._prompt.evidence == "references"
        material = lay_out(item, documents, shown, fence=fence, is_numbered=by_reference)
        request = _Request(material=material, wanted=tuple(wanted))
        messages = self._messages(request, request.wanted, item, "")
        return replace(request, messages=messages, size=sum(tokens(message["content"]) for message in messages))

    async def _converse(self, item: Item, request: "_Request", talk: Talk) -> Reading | Unusable:
        """Ask, and once more if the reply can't be used; what was missing is asked for alone."""
        reading: Reading | None = None
        wanted, messages, max_tokens = request.wanted, request.messages, self._reply_size()
        for is_last in (False, True):
            outcome = await self._ask(item, request, wanted, messages, max_tokens, talk)
            if isinstance(outcome, Unusable):
                if is_last or outcome.status in FINAL:
                    return outcome
                talk.add_flags(outcome.flags)
                if outcome.status is Status.JUDGE_TRUNCATED:
                    grown = min(2 * max_tokens, self._window - request.size - MARGIN)
                    if grown <= max_tokens:
                        return outcome
                    max_tokens = grown
                else:
                    messages = self._messages(request, wanted, item, outcome.problem)
                continue
            reading = outcome if reading is None else wire.merged(reading, outcome)
            if not reading.missing:
                return reading
            missing = reading.missing
            wanted = tuple(sentence for sentence in request.wanted if sentence.id in missing)
            messages = self._messages(request, wanted, item, f"there is no verdict on {', '.join(missing)}")
        missing = reading.missing if reading else ()
        problem = f"there is no verdict on {', '.join(missing)}"
        return Unusable(status=Status.JUDGE_INCOMPLETE, problem=problem, missing=missing)

    async def _ask(
        self,
        item: Item,
        request: "_Request",
        wanted: Sequence[Sentence],
        messages: Sequence[Message],
        max_tokens: int,
        talk: Talk,
    ) -> Reading | Unusable:
        reader = wire.read_references if self._prompt.evidence == "references" else wire.read_quotes
        read = partial(reader, item=item, material=request.material, wanted=wanted)
        return await ask(self._chat, self._prompt, messages, read, keys=wire.KEYS, max_tokens=max_tokens, talk=talk)

    def _messages(self, request: "_Request", wanted: Sequence[Sentence], item: Item, error: str) -> tuple[Message, ...]:
        variables = {**request.material.variables, "previous_error": error}
        if self._prompt.evidence == "references":
            variables["ids"] = ", ".join(sentence.id for sentence in wanted)
        else:
            fence = request.material.fence
            texts = [item.answer[sentence.start : sentence.end] for sentence in wanted]
            is_part = len(wanted) < len(request.wanted)
            variables["wanted"] = f"<answer-{fence}>\n{chr(10).join(texts)}\n</answer-{fence}>" if is_part else ""
        return render(self._prompt, **variables)

    def _joined(
        self, item: Item, wanted: Sequence[Sentence], outcomes: Sequence[Reading | Unusable]
    ) -> Reading | Unusable:
        # One window without a verdict is a cut context: nothing final can be said.
        failed = [outcome for outcome in outcomes if isinstance(outcome, Unusable)]
        if failed:
            return failed[0]
        readings = [outcome for outcome in outcomes if isinstance(outcome, Reading)]
        return readings[0] if len(readings) == 1 else merge_windows(readings, wanted, item)

    def _reply_size(self) -> int:
        """Return how many tokens a reply may have; in a small window no more than a quarter of it."""
        return reply_size(self._chat.options, self._window)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Request:
    """One request to be made: its material, the sentences it asks about, and its size in tokens."""

    material: Material
    wanted: tuple[Sentence, ...]
    messages: tuple[Message, ...] = ()
    size: int = 0
