"""The halves judge on a model: which half of the pipeline broke? The context is judged without the answer in sight."""

import secrets
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from enricher.errors import SetupError
from enricher.judges import fixes
from enricher.judges.axes import ANSWER_KEYS, CONTEXT_KEYS, AxesReading, Figure, read_axes, result_of
from enricher.judges.chat import Chat
from enricher.judges.conversation import MARGIN, Talk, converse, over_windows, provenance_of, verdict_of
from enricher.judges.material import Material, document_labels, fence_for, lay_out
from enricher.judges.reply import Unusable
from enricher.judges.windows import tokens
from enricher.prompts import Message, Prompt, render
from enricher.trace import Document, Item
from enricher.verdict import FailingHalf, Status, Verdict

COMPOSED = "fix_note_composed"
NO_QUESTION = "the question is not recorded, so that neither half can be judged"
_BY_RULE = "The answer states nothing that could be checked."
_WANTED = "fix_note names no next step: say which part of the pipeline to change, and name the document or the fact"


class ModelHalvesJudge:
    """Judges items by two prompts: one on the documents and the question alone, one on the answer."""

    def __init__(self, chat: Chat, prompt: Prompt, *, salt: bytes | None = None) -> None:
        """Take the prompt on the answer; its `before` is the one on the context.

        Raises:
            SetupError: the prompt names none.
        """
        if prompt.before is None:
            raise SetupError(f"the prompt {prompt.name} must name, as before, the one that judges the context alone")
        self._chat = chat
        self._prompt = prompt
        self._context_prompt = prompt.before
        self._salt = salt or secrets.token_bytes(16)  # give all judges of a run the same, for the shared prefix
        hashes = f"{prompt.fingerprint}+{prompt.before.fingerprint}"
        self.provenance = provenance_of(prompt, chat.options).model_copy(update={"prompt_hash": hashes})

    async def judge(self, item: Item) -> Verdict:
        """Judge the item; its answer and documents are already cut into sentences."""
        talk = Talk()
        if not (item.standalone_question or item.question):
            return verdict_of(item, self.provenance, talk, Status.SKIPPED, failure=NO_QUESTION)
        # One after the other, so that the second call finds the documents in the provider's cache.
        context = await self._context(item, talk)
        if isinstance(context, Unusable) and context.status is not Status.BUDGET_EXCEEDED:
            return self._failed(item, talk, context)
        relevance = 0 if isinstance(context, Unusable) else context.values["context_relevance"]
        answer = await self._answer(item, relevance, talk)  # over budget too: an estimate is of both calls
        for outcome in (context, answer):
            if isinstance(outcome, Unusable):
                return self._failed(item, talk, outcome)
        assert isinstance(context, AxesReading)
        assert isinstance(answer, AxesReading)
        return self._verdict(item, talk, context, answer)

    async def aclose(self) -> None:
        """Release connections."""
        await self._chat.aclose()

    async def _context(self, item: Item, talk: Talk) -> AxesReading | Unusable:
        """Judge the documents against the question; of several windows the best one counts."""
        # The answer is taken out before anything is laid out, so that no prompt can show it.
        blind = replace(item, answer="", sentences=())
        readings = await self._asked(
            self._context_prompt,
            blind,
            talk,
            fence=fence_for(item, self._salt),
            keys=CONTEXT_KEYS,
            variables={},
            fails=lambda reading: reading.values["context_relevance"] <= 1,
        )
        if isinstance(readings, Unusable):
            return readings
        return max(readings, key=lambda reading: reading.values["context_relevance"])

    async def _answer(self, item: Item, context_relevance: int, talk: Talk) -> AxesReading | Unusable:
        """Judge the answer against documents and question."""
        readings = await self._asked(
            self._prompt,
            item,
            talk,
            fence=fence_for(item, self._salt),
            keys=ANSWER_KEYS,
            variables={"context_relevance": str(context_relevance)},
            fails=lambda reading: _half(context_relevance, reading).includes_generation,
        )
        if isinstance(readings, Unusable):
            return readings
        answer = readings[0] if len(readings) == 1 else _merged(readings, item)
        if not any(sentence.is_checkable for sentence in item.sentences) and answer.values["faithfulness"] < 2:
            values: dict[str, Figure] = {**answer.values, "faithfulness": 2}
            answer = replace(answer, values=values, reasons={**answer.reasons, "faithfulness": _BY_RULE}, stated=None)
        return answer

    async def _asked(
        self,
        prompt: Prompt,
        item: Item,
        talk: Talk,
        *,
        fence: str,
        keys: Sequence[str],
        variables: Mapping[str, str],
        fails: Callable[[AxesReading], bool],
    ) -> list[AxesReading] | Unusable:
        def composed(documents: Sequence[Document], error: str) -> tuple[Material, tuple[Message, ...]]:
            material = lay_out(
                item, documents, item.sentences, fence=fence, is_numbered=prompt.evidence == "references"
            )  # fmt: skip
            shown = {name: text for name, text in material.variables.items() if name in prompt.variables}
            return material, render(prompt, **shown, **variables, previous_error=error)

        def size(documents: Sequence[Document]) -> int:
            return _size(composed(documents, "")[1])

        async def judged(documents: Sequence[Document]) -> AxesReading | Unusable:
            material, messages = composed(documents, "")
            reader = _Reader(item=item, material=material, keys=keys, fails=fails)
            outcome = await converse(
                self._chat,
                prompt,
                lambda error: composed(documents, error)[1],
                reader.read,
                keys=keys,
                room=self._chat.options.window - _size(messages) - MARGIN,
                talk=talk,
            )
            # A verdict without a note is a verdict: the note can be composed.
            return reader.kept if isinstance(outcome, Unusable) and reader.kept is not None else outcome

        return await over_windows(item, self._chat, talk, size, judged)

    def _verdict(self, item: Item, talk: Talk, context: AxesReading, answer: AxesReading) -> Verdict:
        is_windowed = "context_windowed" in talk.flags
        note, is_composed = _note(item, context, answer, is_windowed=is_windowed)
        result, flags = result_of(_renamed(context, item), _renamed(answer, item), fix_note=note)
        talk.add_flags((*flags, *((COMPOSED,) if is_composed else ())))
        has_claims = any(sentence.is_checkable for sentence in item.sentences)
        status = Status.OK if has_claims else Status.NO_CLAIMS
        return verdict_of(item, self.provenance, talk, status, result=result)

    def _failed(self, item: Item, talk: Talk, outcome: Unusable) -> Verdict:
        talk.add_flags(outcome.flags)
        return verdict_of(item, self.provenance, talk, outcome.status, failure=outcome.problem)


@dataclass(kw_only=True, slots=True)
class _Reader:
    """Reads replies, and asks once more for a note that is missing or says nothing."""

    item: Item
    material: Material
    keys: Sequence[str]
    fails: Callable[[AxesReading], bool]
    kept: AxesReading | None = None  # a verdict whose note was asked for again

    def read(self, value: Mapping[str, Any]) -> AxesReading | Unusable:
        """Read one reply."""
        ids = [sentence.id for sentence in self.item.sentences]
        reading = read_axes(value, self.keys, material=self.material, sentences=ids)
        if isinstance(reading, Unusable):
            return reading
        if not self.fails(reading):
            return replace(reading, fix_note="")
        if self._is_concrete(reading):
            return reading
        reading = replace(reading, fix_note="")
        if self.kept is not None:
            return reading
        self.kept = reading
        return Unusable(status=Status.JUDGE_INVALID, problem=_WANTED)

    def _is_concrete(self, reading: AxesReading) -> bool:
        item = self.item
        texts = [item.standalone_question or item.question or "", item.answer, *(d.text for d in item.documents)]
        return fixes.is_concrete(reading.fix_note, texts, [*self.material.labels, *(d.id for d in item.documents)])


def _half(context_relevance: int, answer: AxesReading) -> FailingHalf:
    values = answer.values
    return FailingHalf.of(context_relevance, values["faithfulness"], values["answer_relevance"])


def _merged(readings: Sequence[AxesReading], item: Item) -> AxesReading:
    """Merge the readings of windows: what one of them bears out is borne out. No window can say which half failed."""
    wrong = [reading.faults or {} for reading in readings]
    checkable = [sentence.id for sentence in item.sentences if sentence.is_checkable]
    denied = {name for name in checkable if any(name in one.get("contradicted", ()) for one in wrong)}
    # In no window does it follow.
    unborne = {name for name in checkable if all(any(name in names for names in one.values()) for one in wrong)}
    clashing, unsupported = denied & unborne, unborne - denied
    best = max(readings, key=lambda reading: reading.values["faithfulness"])
    faithfulness = best.values["faithfulness"]
    if all(reading.faults is not None for reading in readings):
        faithfulness = _graded(clashing, unsupported, len(checkable))
    relevance = Counter(reading.values["answer_relevance"] for reading in readings).most_common(1)[0][0]
    values: dict[str, Figure] = {"faithfulness": faithfulness, "answer_relevance": relevance}
    flags = [flag for reading in readings for flag in reading.flags]
    if denied - unborne:
        flags.append("source_conflict")  # one window contradicts what another one bears out
    return AxesReading(
        values=values,
        reasons=next((r.reasons for r in readings if r.values["faithfulness"] == faithfulness), best.reasons),
        faults={"contradicted": frozenset(clashing), "unsupported": frozenset(unsupported)},
        flags=tuple(dict.fromkeys(flags)),
    )


def _graded(clashing: Collection[str], unsupported: Collection[str], total: int) -> Figure:
    if clashing or 2 * len(unsupported) > total:
        return 0
    return 1 if unsupported else 2


def _note(item: Item, context: AxesReading, answer: AxesReading, *, is_windowed: bool) -> tuple[str, bool]:
    """Return the next step, and whether we had to compose a part of it."""
    relevance = context.values["context_relevance"]
    half = _half(relevance, answer)
    retrieval = generation = ""
    if half.includes_retrieval:
        question, nearest = item.standalone_question or item.question or "", next(iter(context.evidence), None)
        retrieval = context.fix_note or fixes.retrieval_note(
            question, context.missing, nearest, is_partial=relevance == 1
        )  # fmt: skip
    if half.includes_generation:
        # A note of one window does not know the others.
        generation = ("" if is_windowed else answer.fix_note) or _generation_note(item, context, answer)
    is_composed = (half.includes_retrieval and not context.fix_note) or (
        half.includes_generation and generation != answer.fix_note
    )
    labels = _labels(item)
    return fixes.with_ids(fixes.joined(retrieval, generation), labels), is_composed


def _generation_note(item: Item, context: AxesReading, answer: AxesReading) -> str:
    passage = context.evidence[0] if context.evidence else None
    faults = answer.faults or {}
    for name, note in (("contradicted", fixes.contradiction_note), ("unsupported", None)):
        said = next((s.text for s in item.sentences if s.id in faults.get(name, ())), None)
        if said is not None:
            return note(said, passage) if note else fixes.addition_note(said)
    if answer.values["faithfulness"] <= 1:
        return fixes.addition_note(item.answer)
    if answer.values["answer_relevance"] == 0:
        return fixes.abstention_note(passage)
    return fixes.irrelevance_note("", passage)


def _renamed(reading: AxesReading, item: Item) -> AxesReading:
    labels = _labels(item)
    return replace(reading, reasons={name: fixes.with_ids(text, labels) for name, text in reading.reasons.items()})


def _labels(item: Item) -> dict[str, str]:
    return {label: name for name, label in document_labels(item.documents).items()}


def _size(messages: Sequence[Message]) -> int:
    return sum(tokens(message["content"]) for message in messages)
