"""The faithfulness judge on a model: which atomic claims of the answer can be relied on?"""

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from enricher.grounding.focus import FOCUS_SITES, compare_claims, sites_in
from enricher.judges.chat import Chat
from enricher.judges.claims import KEYS, ClaimsReading, read_claims, read_given
from enricher.judges.conversation import Talk, converse, over_windows, provenance_of, verdict_of
from enricher.judges.material import Material, fence_for, harmless, lay_out
from enricher.judges.reply import Unusable
from enricher.judges.windows import tokens
from enricher.prompts import Message, Prompt, render
from enricher.results.claims import claims_summary, most_dangerous
from enricher.trace import Document, Item, Sentence
from enricher.verdict import Claim, ClaimVerdict, FaithfulnessResult, Segment, Standing, Status, Usage, Verdict

FOCUS_MISMATCH = "focus_mismatch"  # the engine is certain of a clash at that place
OVERLOOKED = "overlooked_mismatch"  # and the judge calls the claim supported: for people to decide
_NAMES = {
    "clause_numbers": "clause and section numbers",
    "dates": "dates, times and periods",
    "amounts": "amounts, units and percentages",
    "names": "names of parties and who does what to whom",
    "quantifiers": 'quantifiers and limits ("all", "some", "only", "at least")',
    "modals": 'modal verbs and negations ("may", "must", "shall not")',
}
# What is most certain about a claim that was judged in several windows: supported anywhere is supported.
_STRONGEST = (ClaimVerdict.SUPPORTED, ClaimVerdict.CONTRADICTED, ClaimVerdict.PARTIAL, ClaimVerdict.UNSUPPORTED)


class ModelFaithfulnessJudge:
    """Judges the claims of items by a prompt to a model; also gives its opinion on statements of another judge."""

    def __init__(
        self, chat: Chat, prompt: Prompt, *, focus: Sequence[str] = FOCUS_SITES, salt: bytes | None = None
    ) -> None:
        self._chat = chat
        self._focus = tuple(site for site in FOCUS_SITES if site in focus)
        self._prompt = _focused(prompt, self._focus)
        self._salt = salt or secrets.token_bytes(16)
        self.provenance = provenance_of(prompt, chat.options, *self._focus)

    async def judge(self, item: Item) -> Verdict:
        """Judge the item; its answer and documents are already cut into sentences."""
        talk = Talk()
        wanted = tuple(sentence for sentence in item.sentences if sentence.is_checkable)
        if not wanted:
            return verdict_of(item, self.provenance, talk, Status.NO_CLAIMS, result=FaithfulnessResult(claims=()))
        outcome = await self._judged(item, wanted, (), talk)
        talk.add_flags(outcome.flags)
        if isinstance(outcome, Unusable):
            return verdict_of(item, self.provenance, talk, outcome.status, failure=outcome.problem)
        claims = await self._compared(outcome.claims, item)
        if any(OVERLOOKED in claim.flags for claim in claims):
            talk.add_flags((OVERLOOKED,))
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
        given = tuple(
            Claim(claim_id=f"c{number}", text=" ".join(text.split()), verdict=ClaimVerdict.UNSUPPORTED)
            for number, text in enumerate(statements, 1)
        )
        outcome = await self._judged(item, (), given, talk) if given else ClaimsReading()
        return (outcome if isinstance(outcome, Unusable) else outcome.claims), talk.usage

    async def aclose(self) -> None:
        """Release connections."""
        await self._chat.aclose()

    async def _judged(
        self, item: Item, wanted: Sequence[Sentence], given: Sequence[Claim], talk: Talk
    ) -> ClaimsReading | Unusable:
        """Judge given claims, or those that the answer makes: made out in the first window, and given to the others."""
        fence = fence_for(item, self._salt)
        first = _FirstWindow()

        def request(documents: Sequence[Document], claims: Sequence[Claim] = given) -> _Request:
            is_numbered = self._prompt.evidence == "references"
            material = lay_out(item, documents, item.sentences, fence=fence, is_numbered=is_numbered)
            return _Request(
                prompt=self._prompt,
                item=item,
                material=material,
                wanted=() if claims else tuple(wanted),
                given=tuple(claims),
                focus=self._focus,
            )

        async def judge(documents: Sequence[Document]) -> ClaimsReading | Unusable:
            if given:
                return await self._converse(request(documents), talk)
            if _is_first(documents, item):
                return first.hold(await self._converse(request(documents), talk))
            claims = await first.claims()
            return claims if isinstance(claims, Unusable) else await self._converse(request(documents, claims), talk)

        outcomes = await over_windows(item, self._chat, talk, lambda documents: request(documents).size, judge)
        return outcomes if isinstance(outcomes, Unusable) else _merged(outcomes)

    async def _converse(self, request: "_Request", talk: Talk) -> ClaimsReading | Unusable:
        return await converse(
            self._chat,
            self._prompt,
            request.messages,
            request.read,
            keys=KEYS,
            room=self._chat.options.window - request.size,
            talk=talk,
        )

    async def _compared(self, claims: Sequence[Claim], item: Item) -> tuple[Claim, ...]:
        """Compare each claim value by value too, and note what certainly clashes and what a partial one lacks."""
        texts, named = [claim.text for claim in claims], [claim.evidence for claim in claims]
        compared = await asyncio.to_thread(compare_claims, texts, named, item, self._focus)
        return tuple(_noted(claim, *found) for claim, found in zip(claims, compared, strict=True))


@dataclass(slots=True)
class _Request:
    """One request with what has been read in answer to it so far."""

    prompt: Prompt
    item: Item
    material: Material
    wanted: tuple[Sentence, ...]
    given: tuple[Claim, ...]
    focus: tuple[str, ...]
    so_far: ClaimsReading = field(default_factory=ClaimsReading)

    @property
    def size(self) -> int:
        """Return how many tokens it has."""
        return sum(tokens(message["content"]) for message in self.messages(""))

    def messages(self, error: str) -> tuple[Message, ...]:
        """Compose the request; what is still missing after a first reply is asked for alone."""
        lacking = set(self.so_far.missing)
        asked = [claim for claim in self.given if not lacking or claim.claim_id in lacking]
        parts = self.so_far.uncovered if self.wanted else ()
        variables = {
            "ids": ", ".join(sentence.id for sentence in self.wanted if not lacking or sentence.id in lacking),
            "given_claims": "\n".join(f"[{claim.claim_id}] {harmless(claim.text)}" for claim in asked),
            "sites": ", ".join(self.focus),
            "focus": ", ".join(_NAMES[site] for site in self.focus),
            "missing": "\n".join(harmless(" ".join(part.split())) for part in parts),
        }
        # A prompt of an operator's own, or an earlier version, need not know all of them.
        known = {name: text for name, text in variables.items() if f"{{{{{name}}}}}" in self.prompt.task}
        return render(self.prompt, **self.material.variables, **known, previous_error=error)

    def read(self, value: Mapping[str, Any]) -> ClaimsReading | Unusable:
        """Read a reply together with those before it."""
        earlier = self.so_far.claims
        if self.given:
            reading = read_given(value, self.material, self.given, earlier=earlier)
        else:
            reading = read_claims(value, self.item, self.material, self.wanted, earlier=earlier)
        if isinstance(reading, Unusable):
            return reading
        reading = replace(reading, flags=tuple(dict.fromkeys((*self.so_far.flags, *reading.flags))))
        if not reading.missing:
            return reading
        self.so_far = reading
        what = "there is no verdict on" if self.given else "no claim is about a part of"
        problem = f"{what} {', '.join(reading.missing)}"
        return Unusable(status=Status.JUDGE_INCOMPLETE, problem=problem, missing=reading.missing)


class _FirstWindow:
    """Where the other windows wait for the claims that the first one makes out."""

    def __init__(self) -> None:
        self._is_read = asyncio.Event()
        self._outcome: ClaimsReading | Unusable | None = None

    def hold(self, outcome: ClaimsReading | Unusable) -> ClaimsReading | Unusable:
        """Take what the first window says; a context that is cut anew makes it say more."""
        self._outcome = outcome
        self._is_read.set()
        return outcome

    async def claims(self) -> Sequence[Claim] | Unusable:
        """Wait for the claims."""
        await self._is_read.wait()
        assert self._outcome is not None
        return self._outcome if isinstance(self._outcome, Unusable) else self._outcome.claims


def _is_first(documents: Sequence[Document], item: Item) -> bool:
    if not documents:
        return True
    first = item.documents[0]
    return documents[0].id == first.id and first.text.startswith(documents[0].text)


def _focused(prompt: Prompt, focus: Sequence[str]) -> Prompt:
    """Return the prompt with a schema that follows the chosen places."""
    try:
        entry = prompt.schema["properties"]["claims"]["items"]
        properties = dict(entry["properties"])
    except (KeyError, TypeError):
        return prompt  # an operator's own prompt may have another schema, or none
    if "site" not in properties:
        return prompt
    if focus:
        properties["site"] = {"type": "string", "enum": ["none", *focus]}
    else:
        del properties["site"]
    required = [name for name in entry.get("required", ()) if name in properties]
    entry = {**entry, "properties": properties, "required": required}
    claims = {**prompt.schema["properties"]["claims"], "items": entry}
    return replace(prompt, schema={**prompt.schema, "properties": {**prompt.schema["properties"], "claims": claims}})


def _noted(claim: Claim, sites: Sequence[str], segment: Segment) -> Claim:
    """Return a claim with what the engine is certain of: flags, both values in the note, the places it concerns."""
    flags, note, evidence = list(claim.flags), claim.explanation, claim.evidence
    if sites:
        flags += [f"{FOCUS_MISMATCH}:{site}" for site in sites]
        compared = f"compared value by value: {segment.explanation}"
        note = f"{note.rstrip('. ')}; {compared}" if note else compared
        evidence = evidence or segment.evidence[:1]
        if claim.verdict is ClaimVerdict.SUPPORTED:
            flags.append(OVERLOOKED)
    elif claim.verdict is ClaimVerdict.PARTIAL and not note:
        if segment.standing in (Standing.PARTIAL, Standing.UNSUPPORTED):
            note = segment.explanation
        else:
            flags.append("gap_not_named")
    update: dict[str, object] = {"flags": tuple(flags), "explanation": note, "evidence": evidence}
    if claim.verdict is not ClaimVerdict.SUPPORTED:
        update["sites"] = tuple(dict.fromkeys((*sites, *claim.sites))) or sites_in(claim.text)
    return claim.model_copy(update=update)


def _merged(readings: Sequence[ClaimsReading]) -> ClaimsReading:
    """Merge what the windows say of the same claims."""
    if len(readings) == 1:
        return readings[0]
    claims = tuple(_strongest(said) for said in zip(*(reading.claims for reading in readings), strict=True))
    flags = dict.fromkeys(flag for reading in readings for flag in reading.flags)
    if any("source_conflict" in claim.flags for claim in claims):
        flags["source_conflict"] = None
    return replace(readings[0], claims=claims, flags=tuple(flags))


def _strongest(said: Sequence[Claim]) -> Claim:
    ranked = sorted(said, key=lambda claim: _STRONGEST.index(claim.verdict))
    best, verdicts = ranked[0], [claim.verdict for claim in said]
    update: dict[str, object] = {}
    if best.verdict is ClaimVerdict.SUPPORTED and ClaimVerdict.CONTRADICTED in verdicts:
        against = next(claim for claim in ranked if claim.verdict is ClaimVerdict.CONTRADICTED)
        update = {
            "evidence": (*best.evidence, *against.evidence),
            "explanation": f"The sources conflict. {against.explanation}".strip(),
            "flags": (*best.flags, "source_conflict"),
        }
    elif best.verdict is ClaimVerdict.PARTIAL and verdicts.count(ClaimVerdict.PARTIAL) > 1:
        # Its parts may be supported by different windows, which none of them can see.
        evidence = tuple(quote for claim in ranked for quote in claim.evidence)
        update = {"evidence": evidence, "flags": (*best.flags, "context_truncated")}
    return best.model_copy(update=update)
