"""The faithfulness judge on a model: which atomic claims of the answer can be relied on?"""

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from enricher.grounding.focus import SITES, mismatches, sites_in
from enricher.judges.chat import Chat
from enricher.judges.claims import KEYS, ClaimsReading, read_claims, read_given
from enricher.judges.conversation import Talk, converse, over_windows, provenance_of, reply_size, verdict_of
from enricher.judges.material import Material, fence_for, harmless, lay_out
from enricher.judges.reply import Unusable
from enricher.judges.windows import tokens
from enricher.prompts import Message, Prompt, render
from enricher.results.claims import claims_summary
from enricher.trace import Document, Item, Sentence
from enricher.verdict import Claim, ClaimVerdict, FaithfulnessResult, Standing, Status, Usage, Verdict

FOCUS_MISMATCH = "focus_mismatch"
_NAMES = {
    "clause_numbers": "clause numbers",
    "dates": "dates and periods",
    "amounts": "amounts and units",
    "names": "names of parties",
    "quantifiers": 'quantifiers ("all", "some", "only")',
    "modals": 'modal verbs and negations ("may", "must", "not")',
}
# What is most certain about a claim that was judged in several windows: supported anywhere is supported.
_STRONGEST = (ClaimVerdict.SUPPORTED, ClaimVerdict.CONTRADICTED, ClaimVerdict.PARTIAL, ClaimVerdict.UNSUPPORTED)


class ModelFaithfulnessJudge:
    """Judges the claims of items by a prompt to a model; also gives its opinion on the claims of another judge."""

    def __init__(self, chat: Chat, prompt: Prompt, *, focus: Sequence[str] = SITES, salt: bytes | None = None) -> None:
        self._chat = chat
        self._prompt = prompt
        self._focus = tuple(focus)
        self._salt = salt or secrets.token_bytes(16)
        self.provenance = provenance_of(prompt, chat.options, *self._focus)

    async def judge(self, item: Item) -> Verdict:
        """Judge the item; its answer and documents are already cut into sentences."""
        talk = Talk()
        wanted = tuple(sentence for sentence in item.sentences if sentence.is_checkable)
        if not wanted:
            return verdict_of(item, self.provenance, talk, Status.NO_CLAIMS, result=FaithfulnessResult(claims=()))
        outcome = await self._judged(item, wanted, talk)
        if isinstance(outcome, Unusable):
            talk.add_flags(outcome.flags)
            return verdict_of(item, self.provenance, talk, outcome.status, failure=outcome.problem)
        talk.add_flags(outcome.flags)
        claims = await self._compared(outcome.claims, item)
        result = FaithfulnessResult(
            claims=claims,
            most_dangerous_error=most_dangerous(claims),
            judge_score=outcome.stated_score,
            summary=claims_summary(claims),
        )
        return verdict_of(item, self.provenance, talk, Status.OK, result=result)

    async def assess(self, item: Item, statements: Sequence[str]) -> tuple[Sequence[Claim] | Unusable, Usage]:
        """Judge statements of another judge against the documents of the item, in order, and say what it cost."""
        talk = Talk()
        given = [
            Claim(claim_id=f"c{number}", text=" ".join(text.split()), verdict=ClaimVerdict.UNSUPPORTED)
            for number, text in enumerate(statements, 1)
        ]
        readings = await self._over_windows(item, (), given, talk)
        return (readings if isinstance(readings, Unusable) else _merged(readings).claims), talk.usage

    async def aclose(self) -> None:
        """Release connections."""
        await self._chat.aclose()

    async def _judged(self, item: Item, wanted: Sequence[Sentence], talk: Talk) -> ClaimsReading | Unusable:
        whole = self._ask(item, item.documents, wanted, ())
        if whole.size <= self._chat.options.window - reply_size(self._chat.options, self._chat.options.window):
            reading = await self._converse(whole, item, wanted, (), talk)
            if not (isinstance(reading, Unusable) and reading.status is Status.JUDGE_CONTEXT_TOO_LONG):
                return reading
        # The claims have to be the same in all windows: they are drawn from the answer without any document first.
        first = await self._converse(self._ask(item, (), wanted, ()), item, wanted, (), talk)
        if isinstance(first, Unusable):
            return first
        readings = await self._over_windows(item, wanted, first.claims, talk)
        return readings if isinstance(readings, Unusable) else _merged(readings)

    async def _over_windows(
        self, item: Item, wanted: Sequence[Sentence], given: Sequence[Claim], talk: Talk
    ) -> list[ClaimsReading] | Unusable:
        async def judge(documents: Sequence[Document]) -> ClaimsReading | Unusable:
            return await self._converse(self._ask(item, documents, wanted, given), item, wanted, given, talk)

        def size(documents: Sequence[Document]) -> int:
            return self._ask(item, documents, wanted, given).size

        return await over_windows(item, self._chat, talk, size, judge)

    def _ask(
        self, item: Item, documents: Sequence[Document], wanted: Sequence[Sentence], given: Sequence[Claim]
    ) -> "_Ask":
        fence = fence_for(item, self._salt)
        material = lay_out(item, documents, item.sentences, fence=fence, is_numbered=True)
        ask = _Ask(
            prompt=self._prompt,
            material=material,
            variables={
                **material.variables,
                "focus": ", ".join(_NAMES[site] for site in self._focus) or "every value",
                "ids": "" if given else ", ".join(sentence.id for sentence in wanted),
                "given_claims": "\n".join(f"[{c.claim_id}] {harmless(c.text)}" for c in given),
            },
        )
        return replace(ask, size=sum(tokens(message["content"]) for message in ask.messages("")))

    async def _converse(
        self,
        ask: "_Ask",
        item: Item,
        wanted: Sequence[Sentence],
        given: Sequence[Claim],
        talk: Talk,
    ) -> ClaimsReading | Unusable:
        read = (
            partial(read_given, material=ask.material, given=given)
            if given
            else partial(_complete, item=item, material=ask.material, wanted=wanted)
        )
        room = self._chat.options.window - ask.size
        return await converse(self._chat, self._prompt, ask.messages, read, keys=KEYS, room=room, talk=talk)

    async def _compared(self, claims: Sequence[Claim], item: Item) -> tuple[Claim, ...]:
        """Compare the sensitive places of supported claims with the engine too, and flag what certainly clashes."""
        supported = [claim for claim in claims if claim.in_answer and claim.verdict is ClaimVerdict.SUPPORTED]
        found = await asyncio.to_thread(mismatches, [claim.text for claim in supported], self._focus, item)
        notes = {supported[number].claim_id: finding for number, finding in found.items()}
        compared = []
        for claim in claims:
            if (finding := notes.get(claim.claim_id)) is not None:
                site, segment = finding
                note = f"{claim.explanation} Compared value by value: {segment.explanation}".strip()
                flags = (*claim.flags, f"{FOCUS_MISMATCH}:{site}")
                claim = claim.model_copy(update={"flags": flags, "explanation": note})
            compared.append(claim)
        return tuple(compared)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Ask:
    """One request to be made, and its size in tokens."""

    prompt: Prompt
    material: Material
    variables: Mapping[str, str]
    size: int = 0

    def messages(self, error: str) -> tuple[Message, ...]:
        return render(self.prompt, **self.variables, previous_error=error)


def _complete(
    value: Mapping[str, Any], item: Item, material: Material, wanted: Sequence[Sentence]
) -> ClaimsReading | Unusable:
    reading = read_claims(value, item, material, wanted)
    if isinstance(reading, Unusable) or not reading.missing:
        return reading
    problem = f"parts of {', '.join(reading.missing)} are in no claim"
    return Unusable(status=Status.JUDGE_INCOMPLETE, problem=problem, missing=reading.missing, flags=reading.flags)


def _merged(readings: Sequence[ClaimsReading]) -> ClaimsReading:
    """Merge what the windows say of the same claims."""
    merged = []
    for said in zip(*(reading.claims for reading in readings), strict=True):
        claim: Claim = min(said, key=lambda one: _STRONGEST.index(one.verdict))
        verdicts = {one.verdict for one in said}
        if {ClaimVerdict.SUPPORTED, ClaimVerdict.CONTRADICTED} <= verdicts:
            against = next(one for one in said if one.verdict is ClaimVerdict.CONTRADICTED)
            note = f"another part of the context contradicts it. {against.explanation}".strip()
            update = {"flags": (*claim.flags, "source_conflict"), "explanation": note}
            claim = claim.model_copy(update={**update, "evidence": (*claim.evidence, *against.evidence)})
        merged.append(claim)
    return replace(readings[0], claims=tuple(merged))


def most_dangerous(claims: Sequence[Claim]) -> str | None:
    """Name the claim that would do most harm: by verdict, then by what it is about, in the order of `SITES`."""
    order = (Standing.CONTRADICTED, Standing.UNSUPPORTED, Standing.PARTIAL)
    findings = [claim for claim in claims if claim.is_finding and claim.standing in order]
    if not findings:
        return None

    def danger(claim: Claim) -> tuple[int, int]:
        site = next(iter(sites_in(claim.text)), None)
        return order.index(claim.standing), SITES.index(site) if site else len(SITES)

    worst = min(findings, key=danger)
    return f"{worst.text} ({worst.standing})" + (f": {worst.explanation}" if worst.explanation else "")
