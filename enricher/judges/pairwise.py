"""The pairwise judge on a model: which of two answers is better, whatever the order in which the model sees them."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

from enricher.grounding.citations import check_citations
from enricher.judges.chat import Chat
from enricher.judges.conversation import FINAL, MARGIN, Talk, ask, provenance_of, reply_size
from enricher.judges.material import document_labels, fence_for, harmless, lay_out
from enricher.judges.pair_merge import MISPLACED, merged, with_engine, with_places
from enricher.judges.pair_reply import KEYS, PairReading, reader
from enricher.judges.pairs import (
    CITATIONS,
    DIMENSIONS,
    NO_CONTEXT,
    POSITION_BIAS,
    UNSURE,
    counterpart,
    first_shown,
    is_judged_twice,
    pair_verdict,
    seed_of,
    settled,
)
from enricher.judges.reply import Unusable
from enricher.judges.second import Checks
from enricher.judges.windows import tokens
from enricher.prompts import Message, Prompt, render
from enricher.trace import Item, Pair
from enricher.verdict import Certainty, Citation, PairwiseResult, Side, Status, Verdict

_FIRST_PAUSE_S = 0.5  # before an invalid verdict is asked for again; doubles each time


@dataclass(frozen=True, kw_only=True, slots=True)
class PairOptions:
    """How pairs are judged."""

    dimensions: tuple[str, ...] = DIMENSIONS
    both_orders: float = 0.2  # share of the pairs that are judged in both orders
    attempts: int = 3  # of an invalid verdict, before people decide


class ModelPairJudge:
    """Judges pairs by a prompt to a model; flags and citation errors count once the embedded engine sees them too."""

    def __init__(
        self,
        chat: Chat,
        prompt: Prompt,
        options: PairOptions = PairOptions(),
        *,
        salt: bytes | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._chat = chat
        self._options = options
        self._prompt = replace(prompt, schema=_schema_for(prompt.schema, options.dimensions))
        self._salt = salt or secrets.token_bytes(16)
        self._sleep = sleep
        self._checks = Checks()
        named = provenance_of(prompt, chat.options, options.dimensions)
        self.provenance = named.model_copy(update={"second": self._checks.name})

    async def judge_pair(self, pair: Pair) -> Verdict:
        """Compare the answers of the pair; all texts are already cut into sentences."""
        known = settled(pair, self.provenance, self._options.dimensions)
        if known is not None:
            return known
        talk = Talk()
        citations: dict[Side, tuple[Citation, ...]] = {
            "A": await asyncio.to_thread(check_citations, pair.a),
            "B": await asyncio.to_thread(check_citations, pair.b),
        }
        first = first_shown(seed_of(pair.id))
        orders: list[Side] = [first]
        if self._wants_both(pair):
            orders.append("B" if first == "A" else "A")
        readings: list[PairReading] = []
        for order in orders:
            outcome = await self._read(pair, order, citations, talk, is_second=bool(readings))
            if isinstance(outcome, Unusable):
                return self._failed(pair, outcome, talk, order if readings else None)
            readings.append(outcome)
        return await self._verdict(pair, readings, citations, talk)

    def is_enough(self, pair: Pair, verdict: Verdict) -> bool:
        """Tell whether an earlier verdict saw the pair in as many orders as this judge would."""
        result = verdict.result
        if not isinstance(result, PairwiseResult):
            return False
        return not result.orders or len(result.orders) > 1 or not self._wants_both(pair)

    async def aclose(self) -> None:
        """Release connections."""
        await self._chat.aclose()

    def _wants_both(self, pair: Pair) -> bool:
        return is_judged_twice(pair.id, self._options.both_orders)

    async def _read(
        self, pair: Pair, first: Side, citations: Mapping[Side, Sequence[Citation]], talk: Talk, *, is_second: bool
    ) -> PairReading | Unusable:
        """Ask in one order, again after a pause while the reply can't be used."""
        messages = self._messages(pair, first, citations, "")
        window = self._chat.options.window
        room = window - sum(tokens(message["content"]) for message in messages) - MARGIN
        if room < reply_size(self._chat.options, window):
            # Windows of a context can't be merged: in each of them another answer may be better.
            problem = "the answers and their context do not fit the model, and a cut context decides nothing"
            return Unusable(status=Status.JUDGE_CONTEXT_TOO_LONG, problem=problem)
        read = reader(pair, first, self._options.dimensions)
        max_tokens = reply_size(self._chat.options, window)
        for attempt in range(1, self._options.attempts + 1):
            outcome = await ask(
                self._chat, self._prompt, messages, read, keys=KEYS, max_tokens=max_tokens, talk=talk
            )  # fmt: skip
            if not isinstance(outcome, Unusable) or attempt == self._options.attempts:
                return outcome
            # A silence has had its retries; but half a comparison is worth another try.
            is_silence = outcome.status is Status.JUDGE_UNAVAILABLE
            if outcome.status in FINAL and not (is_second and is_silence):
                return outcome
            talk.add_flags(outcome.flags)
            if outcome.status is Status.JUDGE_TRUNCATED:
                grown = min(2 * max_tokens, room)
                if grown <= max_tokens:
                    return outcome
                max_tokens = grown
            elif not is_silence:
                messages = self._messages(pair, first, citations, outcome.problem)
            await self._sleep(_FIRST_PAUSE_S * 2.0 ** (attempt - 1))
        raise AssertionError("unreachable")

    def _messages(
        self, pair: Pair, first: Side, citations: Mapping[Side, Sequence[Citation]], previous_error: str
    ) -> tuple[Message, ...]:
        # Of both answers and in one order, so that both orders share their beginning for the provider's cache.
        fence = fence_for(replace(pair.a, answer=f"{pair.a.answer}\n{pair.b.answer}"), self._salt)
        material = lay_out(pair.a, pair.a.documents, pair.a.sentences, fence=fence, is_numbered=True)
        second: Side = "B" if first == "A" else "A"
        items = {"A": pair.a, "B": pair.b}
        variables = {
            "fence": fence,
            "documents": material.documents,
            "question": material.question,
            "first_answer": harmless(items[first].answer),
            "second_answer": harmless(items[second].answer),
            "dimension_example": _example(self._options.dimensions),
            **dict.fromkeys(self._options.dimensions, "yes"),
        }
        if CITATIONS in self._options.dimensions:
            for place, side in (("first", first), ("second", second)):
                if listed := _resolved(items[side], citations[side], pair.a):
                    variables[f"{place}_citations"] = listed
        if previous_error:
            variables["previous_error"] = previous_error
        return render(self._prompt, **variables)

    async def _verdict(
        self,
        pair: Pair,
        readings: Sequence[PairReading],
        citations: Mapping[Side, Sequence[Citation]],
        talk: Talk,
    ) -> Verdict:
        result, flags = merged(readings, seed_of(pair.id))
        result = with_engine(result, citations)
        if not pair.a.documents:
            flags = (*flags, NO_CONTEXT)
            result = result.model_copy(update={"confidence": min(UNSURE, result.confidence or 0.0)})
        if result.has_position_bias:
            flags = (*flags, POSITION_BIAS)
        talk.add_flags(flags)
        provenance = self.provenance.model_copy(update={"model_snapshot": talk.snapshot})
        verdict = pair_verdict(
            pair,
            provenance,
            Status.OK,
            result=result,
            flags=tuple(talk.flags),
            usage=talk.usage,
            raw_replies=tuple(talk.replies),
        )
        if not pair.a.documents:
            return _unconfirmed(verdict, result)
        # Flags of either answer are statements about the documents, which both answers share.
        checked = await self._checks.check(verdict, pair.a)
        assert isinstance(checked.result, PairwiseResult)
        placed = with_places(checked.result, pair)
        flags = checked.flags if placed == checked.result else tuple(dict.fromkeys((*checked.flags, MISPLACED)))
        return checked.model_copy(update={"result": placed, "flags": flags})

    def _failed(self, pair: Pair, outcome: Unusable, talk: Talk, missing_order: Side | None) -> Verdict:
        talk.add_flags(outcome.flags)
        status, failure = outcome.status, outcome.problem
        if missing_order is not None and status is not Status.BUDGET_EXCEEDED:
            # One order alone says nothing where both were to be asked: it may be its own position that it likes.
            status = Status.JUDGE_INCOMPLETE
            failure = f"the order with answer {missing_order} first gave no verdict ({outcome.status}): {failure}"
        return pair_verdict(
            pair,
            self.provenance.model_copy(update={"model_snapshot": talk.snapshot}),
            status,
            failure=failure,
            flags=tuple(talk.flags),
            usage=talk.usage,
            raw_replies=tuple(talk.replies),
        )


def _unconfirmed(verdict: Verdict, result: PairwiseResult) -> Verdict:
    """Hold nothing against an answer that there is nothing to hold it against."""
    unsure = [flag.model_copy(update={"certainty": Certainty.UNCONFIRMED}) for flag in result.parts]
    return verdict.model_copy(update={"result": result.with_parts(unsure)})


def _schema_for(schema: Mapping[str, Any], dimensions: Sequence[str]) -> dict[str, Any]:
    """Return the schema of a reply with the chosen dimensions only."""
    chosen: dict[str, Any] = deepcopy(dict(schema))
    verdicts = chosen["properties"]["dimension_verdicts"]
    verdicts["properties"] = {name: verdicts["properties"][name] for name in dimensions}
    verdicts["required"] = list(dimensions)
    if CITATIONS not in dimensions:
        del chosen["properties"]["citation_errors"]
        chosen["required"] = [name for name in chosen["required"] if name != "citation_errors"]
    return chosen


def _example(dimensions: Sequence[str]) -> str:
    return ", ".join(f'"{name}": {{"justification": "...", "winner": "TIE"}}' for name in dimensions)


def _resolved(item: Item, citations: Sequence[Citation], shown: Item) -> str:
    """List what the markers of an answer stand for, by the names under which the documents are shown."""
    labels = document_labels(shown.documents)
    known = {document.id: document for document in item.documents}
    lines: dict[str, None] = {}
    for citation in citations:
        if not citation.marker:
            continue
        meant = [counterpart(known[name], shown) for name in citation.document_ids if name in known]
        names = [labels[document.id] for document in meant if document is not None]
        lines[f"{' '.join(harmless(citation.marker).split())} = {', '.join(names) or 'no document'}"] = None
    return "\n".join(lines)
