"""The consistency judge on a model: do the documents agree with the answer and with one another?"""

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from enricher.grounding.conflicts import Stand, Touch, disagreements, stands
from enricher.grounding.disclosure import (
    claims_consensus,
    combines,
    demanded_sources,
    documents_saying,
    is_drawn_from_several,
    says_so,
    without_frame,
)
from enricher.grounding.versions import is_older, version_of
from enricher.judges.chat import Chat
from enricher.judges.consistency_reply import KEYS, ConsistencyReading, conflict_of, read_consistency
from enricher.judges.conversation import MARGIN, Talk, converse, over_windows, provenance_of, reply_size, verdict_of
from enricher.judges.local_consistency import BLENDED, CONSENSUS, OLDER, ONE_SIDE, SYNTHESIS, TOO_FEW
from enricher.judges.material import Material, fence_for, harmless, lay_out
from enricher.judges.reply import Unusable
from enricher.judges.windows import tokens
from enricher.prompts import Message, Prompt, render
from enricher.results.claims import claims_summary
from enricher.trace import Document, Item, Sentence
from enricher.verdict import Claim, ClaimVerdict, ConsistencyResult, SourceConflict, Stance, Status, Verdict

SEEN_BY_ENGINE = "source_conflict"  # the engine holds both passages of a conflict that the model passed over
# Of a claim that was judged in several windows: supported anywhere is supported, unless another contradicts it.
_STRONGEST = (
    ClaimVerdict.SOURCE_CONFLICT,
    ClaimVerdict.SUPPORTED,
    ClaimVerdict.CONTRADICTED,
    ClaimVerdict.UNSUPPORTED,
)


class ModelConsistencyJudge:
    """Judges by a prompt to a model whether sources and answer agree."""

    def __init__(self, chat: Chat, prompt: Prompt, *, salt: bytes | None = None) -> None:
        self._chat = chat
        self._prompt = prompt
        self._salt = salt or secrets.token_bytes(16)
        self.provenance = provenance_of(prompt, chat.options)

    async def judge(self, item: Item) -> Verdict:
        """Judge the item; its answer and documents are already cut into sentences."""
        talk = Talk()
        if len(item.documents) < 2:
            return verdict_of(item, self.provenance, talk, Status.SKIPPED, failure=TOO_FEW)
        wanted = tuple(sentence for sentence in item.sentences if sentence.is_checkable)
        if not wanted:
            return verdict_of(item, self.provenance, talk, Status.NO_CLAIMS, result=ConsistencyResult(claims=()))
        outcome = await self._judged(item, wanted, talk)
        if isinstance(outcome, Unusable):
            talk.add_flags(outcome.flags)
            return verdict_of(item, self.provenance, talk, outcome.status, failure=outcome.problem)
        talk.add_flags(outcome.flags)
        claims, conflicts = await asyncio.to_thread(_examined, outcome, item)
        talk.add_flags([flag for claim in claims for flag in claim.flags])
        result = ConsistencyResult(
            claims=claims, conflicts=conflicts, judge_score=outcome.stated_score, summary=claims_summary(claims)
        )
        return verdict_of(item, self.provenance, talk, Status.OK, result=result)

    async def aclose(self) -> None:
        """Release connections."""
        await self._chat.aclose()

    async def _judged(self, item: Item, wanted: Sequence[Sentence], talk: Talk) -> ConsistencyReading | Unusable:
        options = self._chat.options
        whole = self._ask(item, item.documents, wanted, ())
        if whole.size <= options.window - reply_size(options, options.window) - MARGIN:
            reading = await self._converse(whole, item, wanted, (), talk)
            if not (isinstance(reading, Unusable) and reading.status is Status.JUDGE_CONTEXT_TOO_LONG):
                return reading
        # The claims have to be the same in all windows: they are drawn from the answer without any document first.
        first = await self._converse(self._ask(item, (), wanted, ()), item, wanted, (), talk)
        if isinstance(first, Unusable):
            return first

        async def judge(documents: Sequence[Document]) -> ConsistencyReading | Unusable:
            return await self._converse(
                self._ask(item, documents, wanted, first.claims), item, wanted, first.claims, talk
            )

        def size(documents: Sequence[Document]) -> int:
            return self._ask(item, documents, wanted, first.claims).size

        readings = await over_windows(item, self._chat, talk, size, judge)
        return readings if isinstance(readings, Unusable) else _merged(readings, item)

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
                "ids": "" if given else ", ".join(sentence.id for sentence in wanted),
                "given_claims": "\n".join(f"[{c.sentence_id or '-'}] {harmless(c.text)}" for c in given),
            },
        )
        return replace(ask, size=sum(tokens(message["content"]) for message in ask.messages("")))

    async def _converse(
        self, ask: "_Ask", item: Item, wanted: Sequence[Sentence], given: Sequence[Claim], talk: Talk
    ) -> ConsistencyReading | Unusable:
        read = partial(read_consistency, item=item, material=ask.material, wanted=wanted, given=given)
        room = self._chat.options.window - ask.size
        return await converse(self._chat, self._prompt, ask.messages, read, keys=KEYS, room=room, talk=talk)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Ask:
    """One request to be made, and its size in tokens."""

    prompt: Prompt
    material: Material
    variables: Mapping[str, str]
    size: int = 0

    def messages(self, error: str) -> tuple[Message, ...]:
        return render(self.prompt, **self.variables, previous_error=error)


def _merged(readings: Sequence[ConsistencyReading], item: Item) -> ConsistencyReading:
    """Merge what windows say of the same claims: supported here and contradicted there is a conflict of the sources."""
    claims = [_joined(together) for together in zip(*(reading.claims for reading in readings), strict=True)]
    conflicts = [conflict_of(claim, item) for claim in claims if claim.verdict is ClaimVerdict.SOURCE_CONFLICT]
    untouched = [conflict for reading in readings for conflict in reading.conflicts if conflict.claim_id is None]
    flags = tuple(dict.fromkeys(flag for reading in readings for flag in reading.flags))
    return ConsistencyReading(claims=tuple(claims), conflicts=(*conflicts, *untouched), flags=flags)


def _joined(together: Sequence[Claim]) -> Claim:
    verdicts = {claim.verdict for claim in together}
    verdict = next(one for one in _STRONGEST if one in verdicts)
    if {ClaimVerdict.SUPPORTED, ClaimVerdict.CONTRADICTED} <= verdicts:
        verdict = ClaimVerdict.SOURCE_CONFLICT
    update = {
        "verdict": verdict,
        "evidence": tuple(dict.fromkeys(quote for claim in together for quote in claim.evidence)),
        "explanation": "; ".join(dict.fromkeys(c.explanation for c in together if c.explanation)),
        "flags": tuple(dict.fromkeys(flag for claim in together for flag in claim.flags)),
    }
    return together[0].model_copy(update=update)


def _examined(reading: ConsistencyReading, item: Item) -> tuple[tuple[Claim, ...], tuple[SourceConflict, ...]]:
    """Flag what the answer makes of conflicts, and add those that the model passed over and the engine is sure of."""
    found = disagreements(item)
    touched = stands([without_frame(claim.text) for claim in reading.claims], found, item)
    claims = tuple(
        _flagged(claim, own, reading.claims, item) for claim, own in zip(reading.claims, touched, strict=True)
    )
    named = {(q.document_id, q.start) for conflict in reading.conflicts for q in conflict.passages}
    listed = {conflict.claim_id for conflict in reading.conflicts}
    conflicts = list(reading.conflicts)
    for claim in claims:
        if claim.verdict is ClaimVerdict.SOURCE_CONFLICT and claim.claim_id not in listed:
            conflicts.append(conflict_of(claim, item))
            named |= {(q.document_id, q.start) for q in claim.evidence}
    for disagreement in found:
        places = {(passage.document.id, passage.source.start) for passage in disagreement.passages}
        if places & named:
            continue  # the model names it, perhaps by other sentences
        about = (c for c, own in zip(claims, touched, strict=True) if any(s.disagreement is disagreement for s in own))
        claim_id = next((claim.claim_id for claim in about), None)
        conflicts.append(disagreement.described(item, claim_id))
    return claims, tuple(conflicts)


def _flagged(claim: Claim, own: Sequence[Stand], claims: Sequence[Claim], item: Item) -> Claim:
    flags, verdict, explanation, evidence = list(claim.flags), claim.verdict, claim.explanation, claim.evidence
    is_one_sided = any(stand.touch is Touch.ONE_SIDE for stand in own)
    blend = next((stand for stand in own if stand.touch is Touch.BLEND), None)
    if blend is not None and verdict is not ClaimVerdict.SOURCE_CONFLICT and not says_so(item.answer):
        verdict, evidence = ClaimVerdict.SOURCE_CONFLICT, blend.evidence
        explanation = explanation or "no document gives this value"
        flags.append(BLENDED)
    elif verdict is ClaimVerdict.SOURCE_CONFLICT:
        if not says_so(item.answer) and not _states_both(claim, claims):
            flags.append(ONE_SIDE)
        if _follows_older(claim, item):
            flags.append(OLDER)
    elif verdict is ClaimVerdict.SUPPORTED and is_one_sided and not says_so(item.answer):
        flags.append(SEEN_BY_ENGINE)
    if claims_consensus(claim.text):
        if verdict is not ClaimVerdict.SUPPORTED or SEEN_BY_ENGINE in flags:
            flags.append(CONSENSUS)
        elif (said := _said_by(claim, item)) < demanded_sources(claim.text, len(item.documents)):
            verdict, explanation = ClaimVerdict.UNSUPPORTED, f"{said} of {len(item.documents)} documents say this"
            flags.append(CONSENSUS)
    is_conclusion = verdict is ClaimVerdict.UNSUPPORTED and combines(claim.text)
    if is_conclusion and is_drawn_from_several(claim.text, item.documents):
        flags.append(SYNTHESIS)
    update = {
        "verdict": verdict,
        "flags": tuple(dict.fromkeys(flags)),
        "explanation": explanation,
        "evidence": evidence,
    }
    return claim.model_copy(update=update)


def _states_both(claim: Claim, claims: Sequence[Claim]) -> bool:
    """Tell whether another claim of the answer gives the other side."""
    against = {(q.document_id, q.text) for q in claim.evidence if q.stance is Stance.CONTRADICTS}
    return any(
        other is not claim
        and against & {(q.document_id, q.text) for q in other.evidence if q.stance is Stance.SUPPORTS}
        for other in claims
    )


def _follows_older(claim: Claim, item: Item) -> bool:
    documents = {document.id: document for document in item.documents}

    def of(stance: Stance) -> list[Document]:
        named = (quote.document_id for quote in claim.evidence if quote.stance is stance)
        return [documents[name] for name in named if name in documents]

    ours, theirs = of(Stance.SUPPORTS), of(Stance.CONTRADICTS)
    return bool(ours) and any(all(is_older(version_of(own), version_of(other)) for own in ours) for other in theirs)


def _said_by(claim: Claim, item: Item) -> int:
    named = {quote.document_id for quote in claim.evidence if quote.stance is Stance.SUPPORTS}
    return len(named | documents_saying(claim.text, item))
