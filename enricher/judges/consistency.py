"""The consistency judge on a model: do the documents agree with the answer and with one another?"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from enricher.grounding.conflicts import dates_of
from enricher.judges.chat import Chat
from enricher.judges.claims import located, sentence_of
from enricher.judges.conversation import Talk, converse, over_windows, provenance_of, verdict_of
from enricher.judges.evidence import Wrong, referred
from enricher.judges.local_consistency import TOO_FEW
from enricher.judges.material import Material, fence_for, lay_out
from enricher.judges.reply import Unusable, is_no_verdict, label, one_text, score_flags, shown
from enricher.judges.windows import tokens
from enricher.prompts import Prompt, render
from enricher.results.claims import claims_summary, counted, supported_claims
from enricher.trace import Document, Item, Sentence
from enricher.verdict import (
    Claim,
    ClaimVerdict,
    ConsistencyResult,
    Quote,
    SourceConflict,
    Stance,
    Status,
    Verdict,
)

KEYS = ("claims",)
COUNTS = "judge_counts_inconsistent"
CONFLICT = "judge_conflict_inconsistent"
_COUNTED = {
    "supported_claims": ClaimVerdict.SUPPORTED,
    "unsupported_claims": ClaimVerdict.UNSUPPORTED,
    "contradicted_claims": ClaimVerdict.CONTRADICTED,
    "source_conflict_claims": ClaimVerdict.SOURCE_CONFLICT,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class ConsistencyReading:
    """What a reply says; counts and score are computed from the claims."""

    claims: tuple[Claim, ...]
    conflicts: tuple[SourceConflict, ...] = ()
    stated_score: float | None = None
    flags: tuple[str, ...] = ()


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
        result = ConsistencyResult(
            claims=outcome.claims,
            conflicts=outcome.conflicts,
            judge_score=outcome.stated_score,
            summary=claims_summary(outcome.claims),
        )
        return verdict_of(item, self.provenance, talk, Status.OK, result=result)

    async def aclose(self) -> None:
        """Release connections."""
        await self._chat.aclose()

    async def _judged(self, item: Item, wanted: Sequence[Sentence], talk: Talk) -> ConsistencyReading | Unusable:
        fence = fence_for(item, self._salt)
        ids = ", ".join(sentence.id for sentence in wanted)

        def material(documents: Sequence[Document]) -> Material:
            return lay_out(item, documents, item.sentences, fence=fence, is_numbered=True)

        def messages(laid_out: Material, error: str) -> Sequence[Any]:
            return render(self._prompt, **laid_out.variables, ids=ids, previous_error=error)

        def size(documents: Sequence[Document]) -> int:
            return sum(tokens(message["content"]) for message in messages(material(documents), ""))

        async def judge(documents: Sequence[Document]) -> ConsistencyReading | Unusable:
            laid_out = material(documents)
            return await converse(
                self._chat,
                self._prompt,
                partial(messages, laid_out),
                partial(read_consistency, item=item, material=laid_out, wanted=wanted),
                keys=KEYS,
                room=self._chat.options.window - size(documents),
                talk=talk,
            )

        readings = await over_windows(item, self._chat, talk, size, judge)
        if isinstance(readings, Unusable):
            return readings
        return readings[0] if len(readings) == 1 else _merged(readings, item)


def read_consistency(
    value: Mapping[str, Any], item: Item, material: Material, wanted: Sequence[Sentence]
) -> ConsistencyReading | Unusable:
    """Read what a reply says of these sentences: evidence by reference, or as quoted passages."""
    try:
        entries = value.get("claims")
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise Wrong(Status.JUDGE_PARSE_ERROR, "there is no 'claims' array of objects")
        if not entries:
            raise Wrong(Status.JUDGE_INCOMPLETE, f"{len(wanted)} checkable sentences, 0 claims")
        claims = [_claim(number, entry, item, material, wanted) for number, entry in enumerate(entries, 1)]
        missing = [s.id for s in wanted if all(claim.sentence_id != s.id for claim in claims)]
        if missing:
            raise Wrong(Status.JUDGE_INCOMPLETE, f"no claim is about {', '.join(missing)}")
        listed = value.get("conflicts") or value.get("source_conflicts_summary")
        claims, conflicts = _with_conflicts(claims, listed, item, material)
    except Wrong as wrong:
        return wrong.unusable
    stated, flags = score_flags(value.get("overall_consistency_score"), supported_claims(claims))
    if any(claim.flags and CONFLICT in claim.flags for claim in claims):
        flags = (*flags, CONFLICT)
    if _miscounted(value, claims):
        flags = (*flags, COUNTS)
    if any(not claim.in_answer for claim in claims):
        flags = (*flags, "claim_not_in_answer")
    return ConsistencyReading(claims=tuple(claims), conflicts=conflicts, stated_score=stated, flags=flags)


def _claim(number: int, entry: Mapping[str, Any], item: Item, material: Material, wanted: Sequence[Sentence]) -> Claim:
    text = entry.get("claim", entry.get("claim_text"))
    if not isinstance(text, str) or not text.strip():
        raise Wrong(Status.JUDGE_PARSE_ERROR, f"claim {number} has no text")
    text = " ".join(text.split())
    verdict, evidence = _status(number, entry), _evidence(number, entry, material)
    stances = {quote.stance for quote in evidence}
    flags: tuple[str, ...] = ()
    if verdict is ClaimVerdict.SUPPORTED and stances == {Stance.SUPPORTS, Stance.CONTRADICTS}:
        verdict, flags = ClaimVerdict.SOURCE_CONFLICT, (CONFLICT,)
    _require(number, verdict, stances)
    sentence = sentence_of(text, entry.get("sentence"), wanted)
    start, end = located(text, sentence) if sentence else (None, None)
    return Claim(
        claim_id=f"c{number}",
        text=text,
        verdict=verdict,
        evidence=evidence,
        explanation=one_text(entry.get("explanation")),
        sentence_id=sentence.id if sentence else None,
        start=start,
        end=end,
        in_answer=sentence is not None,
        flags=flags,
    )


def _status(number: int, entry: Mapping[str, Any]) -> ClaimVerdict:
    if is_no_verdict(entry.get("status")):
        raise Wrong(Status.JUDGE_INCOMPLETE, f"claim {number} has no status")
    verdict = label(entry.get("status"), ClaimVerdict)
    if verdict is None or verdict is ClaimVerdict.PARTIAL:
        raise Wrong(Status.JUDGE_INVALID, f"claim {number}: {shown(entry.get('status'))} is no status of a claim")
    return verdict


def _evidence(number: int, entry: Mapping[str, Any], material: Material) -> tuple[Quote, ...]:
    if "source_references" in entry:
        references = entry["source_references"]
        if not isinstance(references, list) or not all(isinstance(reference, dict) for reference in references):
            raise Wrong(Status.JUDGE_PARSE_ERROR, f"the references of claim {number} are no list of objects")
        return tuple(_reference(number, reference, material) for reference in references)
    supports = (
        quote.model_copy(update={"stance": Stance.SUPPORTS}) for quote in referred(entry.get("supports"), material)
    )
    against = (
        quote.model_copy(update={"stance": Stance.CONTRADICTS})
        for quote in referred(entry.get("contradicts"), material)
    )
    return (*supports, *against)


def _reference(number: int, reference: Mapping[str, Any], material: Material) -> Quote:
    passage, source = reference.get("passage"), reference.get("document_id")
    stance = label(reference.get("relationship"), Stance)
    if not isinstance(passage, str) or not passage.strip() or stance is None:
        raise Wrong(Status.JUDGE_PARSE_ERROR, f"a reference of claim {number} has no passage or no relationship")
    document = material.labels.get(source.strip()) if isinstance(source, str) else None
    name = document.id if document else source if isinstance(source, str) else None
    return Quote(document_id=name, text=passage.strip(), stance=stance)


def _require(number: int, verdict: ClaimVerdict, stances: set[Stance | None]) -> None:
    needed = {
        ClaimVerdict.SUPPORTED: {Stance.SUPPORTS},
        ClaimVerdict.CONTRADICTED: {Stance.CONTRADICTS},
        ClaimVerdict.SOURCE_CONFLICT: {Stance.SUPPORTS, Stance.CONTRADICTS},
        ClaimVerdict.UNSUPPORTED: set[Stance](),
    }[verdict]
    if not needed <= stances:
        sides = " and ".join(sorted(f"a passage that {stance.lower()} it" for stance in needed - stances))
        raise Wrong(Status.JUDGE_INVALID, f"claim {number} is {verdict} without {sides}", "missing_evidence")
    if verdict is ClaimVerdict.CONTRADICTED and Stance.SUPPORTS in stances:
        raise Wrong(Status.JUDGE_INVALID, f"claim {number} is CONTRADICTED, and yet a passage supports it")


def _with_conflicts(
    claims: Sequence[Claim], listed: Any, item: Item, material: Material
) -> tuple[list[Claim], tuple[SourceConflict, ...]]:
    """Join the listed conflicts with the claims that they are about; each conflict of a claim is listed."""
    by_text = {_key(claim.text): claim for claim in claims}
    conflicts: list[SourceConflict] = []
    for entry in listed if isinstance(listed, list) else ():
        if not isinstance(entry, dict):
            raise Wrong(Status.JUDGE_PARSE_ERROR, "an entry of the conflicts is no object")
        about = by_text.get(_key(entry.get("claim", entry.get("claim_text"))))
        passages = referred(entry.get("evidence"), material) or (about.evidence if about else ())
        if about is not None and about.verdict is not ClaimVerdict.SOURCE_CONFLICT:
            # What is called a conflict in one place and supported in another goes to people.
            about = about.model_copy(
                update={"verdict": ClaimVerdict.SOURCE_CONFLICT, "flags": (*about.flags, CONFLICT)}
            )
            by_text[_key(about.text)] = about
        conflicts.append(
            SourceConflict(
                description=one_text(entry.get("description", entry.get("conflict_description"))),
                passages=passages,
                dates=dates_of(item.documents, {quote.document_id for quote in passages}),
                recommendation=one_text(entry.get("recommendation")),
                claim_id=about.claim_id if about else None,
            )
        )
    found = [by_text[_key(claim.text)] for claim in claims]
    known = {conflict.claim_id for conflict in conflicts}
    conflicts += [
        SourceConflict(
            description=claim.explanation,
            passages=claim.evidence,
            dates=dates_of(item.documents, {quote.document_id for quote in claim.evidence}),
            claim_id=claim.claim_id,
        )
        for claim in found
        if claim.verdict is ClaimVerdict.SOURCE_CONFLICT and claim.claim_id not in known
    ]
    return found, tuple(conflicts)


def _key(text: Any) -> str:
    return " ".join(text.casefold().split()).rstrip(".") if isinstance(text, str) else ""


def _miscounted(value: Mapping[str, Any], claims: Sequence[Claim]) -> bool:
    made = counted(claims)
    stated = {name: value.get(name) for name in (*_COUNTED, "total_claims")}
    counts: dict[str, int] = {name: sum(c.verdict is verdict for c in made) for name, verdict in _COUNTED.items()}
    counts["total_claims"] = len(made)
    return any(number is not None and number != counts[name] for name, number in stated.items())


def _merged(readings: Sequence[ConsistencyReading], item: Item) -> ConsistencyReading:
    """Merge what windows say of the same claims: supported here and contradicted there is a conflict of the sources."""
    said: dict[str, list[Claim]] = {}
    for reading in readings:
        for claim in reading.claims:
            said.setdefault(_key(claim.text), []).append(claim)
    claims = [_joined(number, together) for number, together in enumerate(said.values(), 1)]
    conflicts = [
        SourceConflict(
            description=claim.explanation,
            passages=claim.evidence,
            dates=dates_of(item.documents, {quote.document_id for quote in claim.evidence}),
            claim_id=claim.claim_id,
        )
        for claim in claims
        if claim.verdict is ClaimVerdict.SOURCE_CONFLICT
    ]
    untouched = [conflict for reading in readings for conflict in reading.conflicts if conflict.claim_id is None]
    flags = tuple(dict.fromkeys(flag for reading in readings for flag in reading.flags))
    return replace(
        readings[0], claims=tuple(claims), conflicts=(*conflicts, *untouched), stated_score=None, flags=flags
    )


def _joined(number: int, together: Sequence[Claim]) -> Claim:
    verdicts = {claim.verdict for claim in together}
    both = {ClaimVerdict.SUPPORTED, ClaimVerdict.CONTRADICTED} <= verdicts
    if both or ClaimVerdict.SOURCE_CONFLICT in verdicts:
        verdict = ClaimVerdict.SOURCE_CONFLICT
    else:
        order = (ClaimVerdict.SUPPORTED, ClaimVerdict.CONTRADICTED, ClaimVerdict.UNSUPPORTED)
        verdict = next(one for one in order if one in verdicts)
    evidence = tuple(dict.fromkeys(quote for claim in together for quote in claim.evidence))
    told = next((claim.explanation for claim in together if claim.explanation), "")
    update = {"claim_id": f"c{number}", "verdict": verdict, "evidence": evidence, "explanation": told}
    return together[0].model_copy(update=update)
