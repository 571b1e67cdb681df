"""Read the atomic claims of a reply: those that it makes out in an answer, or its verdicts on claims it was given."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from enricher.judges.coverage import is_made, located, sentence_of, uncovered_parts
from enricher.judges.evidence import Wrong, referred
from enricher.judges.material import Material
from enricher.judges.reply import Unusable, is_no_verdict, label, one_text, score_flags, shown
from enricher.results.claims import SITES, supported_claims
from enricher.trace import Item, Sentence
from enricher.verdict import Claim, ClaimVerdict, Outcome, Quote, Status
from enricher.wording import states_absence

KEYS = ("claims",)
# What this judge may say; a conflict between sources is another judge's finding.
_VERDICTS = (ClaimVerdict.SUPPORTED, ClaimVerdict.PARTIAL, ClaimVerdict.UNSUPPORTED, ClaimVerdict.CONTRADICTED)
_FAILING = (ClaimVerdict.UNSUPPORTED, ClaimVerdict.CONTRADICTED)


@dataclass(frozen=True, kw_only=True, slots=True)
class ClaimsReading:
    """What a reply says of claims; score and outcome are computed from the labels."""

    claims: tuple[Claim, ...] = ()
    uncovered: tuple[str, ...] = ()  # parts of the answer that no claim is about, or given claims without a verdict
    missing: tuple[str, ...] = ()  # ids of the sentences that hold them, or of those claims
    stated_score: float | None = None
    flags: tuple[str, ...] = ()


def read_claims(
    value: Mapping[str, Any],
    item: Item,
    material: Material,
    wanted: Sequence[Sentence],
    *,
    earlier: Sequence[Claim] = (),
) -> ClaimsReading | Unusable:
    """Read the claims that a reply makes out in these sentences of the answer, beside those read earlier."""
    try:
        entries = _entries(value)
        if not entries and wanted and not earlier:
            # A score over no claims contradicts itself; an empty list alone is merely incomplete.
            has_score = value.get("faithfulness_score") is not None
            status = Status.JUDGE_INVALID if has_score else Status.JUDGE_INCOMPLETE
            raise Wrong(status, f"{len(wanted)} checkable sentences, 0 claims")
        read = [_claim(number, entry, item, material, wanted) for number, entry in enumerate(entries, 1)]
        claims, flags = _distinct(earlier, read)
    except Wrong as wrong:
        return wrong.unusable
    made = [claim for claim in claims if claim.in_answer]
    gaps = {sentence.id: uncovered_parts(sentence.text, [claim.text for claim in made]) for sentence in wanted}
    if not made:
        gaps = {sentence.id: [sentence.text] for sentence in wanted}
    stated, compared = _compared(value, claims) if not earlier else (None, ())
    return ClaimsReading(
        claims=claims,
        uncovered=tuple(part for parts in gaps.values() for part in parts),
        missing=tuple(name for name, parts in gaps.items() if parts),
        stated_score=stated,
        flags=(*flags, *compared),
    )


def read_given(
    value: Mapping[str, Any], material: Material, given: Sequence[Claim], *, earlier: Sequence[Claim] = ()
) -> ClaimsReading | Unusable:
    """Read the verdicts on claims that were given, named by their ids or in their order, beside those read earlier."""
    judged = {claim.claim_id: claim for claim in earlier}
    asked = [claim for claim in given if claim.claim_id not in judged]
    try:
        entries = _entries(value)
        names = [_id(entry.get("sentence")) or _id(entry.get("id")) for entry in entries]
        known = {claim.claim_id: claim for claim in given}
        if known.keys().isdisjoint(names):
            if len(entries) != len(asked):
                raise Wrong(Status.JUDGE_INCOMPLETE, f"{len(asked)} claims were given, {len(entries)} were judged")
            names = [claim.claim_id for claim in asked]
        for name, entry in zip(names, entries, strict=True):
            if name not in known:
                raise Wrong(Status.JUDGE_INVALID, f"no claim {shown(name)} was given")
            if is_no_verdict(entry.get("verdict")):
                continue
            claim = _judged(known[name], entry, material)
            if name in judged and judged[name].verdict is not claim.verdict:
                raise Wrong(Status.JUDGE_INVALID, f"claim {shown(name)} has two verdicts")
            judged[name] = claim
    except Wrong as wrong:
        return wrong.unusable
    return ClaimsReading(
        claims=tuple(judged[claim.claim_id] for claim in given if claim.claim_id in judged),
        uncovered=tuple(claim.text for claim in given if claim.claim_id not in judged),
        missing=tuple(claim.claim_id for claim in given if claim.claim_id not in judged),
    )


def _entries(value: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    entries = value.get("claims")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise Wrong(Status.JUDGE_PARSE_ERROR, "there is no 'claims' array of objects")
    return entries


def _claim(number: int, entry: Mapping[str, Any], item: Item, material: Material, wanted: Sequence[Sentence]) -> Claim:
    text = entry.get("claim")
    if not isinstance(text, str) or not text.strip():
        raise Wrong(Status.JUDGE_PARSE_ERROR, f"claim {number} has no text")
    text = one_text(" ".join(text.split()))
    if is_no_verdict(entry.get("verdict")):
        raise Wrong(Status.JUDGE_INCOMPLETE, f"claim {number} has no verdict")
    plain = Claim(claim_id=f"c{number}", text=text, verdict=ClaimVerdict.UNSUPPORTED, in_answer=is_made(text, item))
    claim = _judged(plain, entry, material)
    sentence = sentence_of(text, entry.get("sentence"), wanted) if claim.in_answer else None
    if sentence is None:
        return claim
    start, end = located(text, sentence)
    return claim.model_copy(update={"sentence_id": sentence.id, "start": start, "end": end})


def _judged(claim: Claim, entry: Mapping[str, Any], material: Material) -> Claim:
    """Return a claim with what the reply says of it."""
    where, stated = f"claim {claim.claim_id[1:]}", entry.get("verdict")
    verdict = label(stated, ClaimVerdict)
    if verdict not in _VERDICTS:
        raise Wrong(Status.JUDGE_INVALID, f"{where}: {shown(stated)} is no verdict on a claim")
    evidence = _evidence(entry.get("evidence"), material)
    is_absence = verdict is ClaimVerdict.SUPPORTED and states_absence(claim.text)
    if not evidence and verdict is not ClaimVerdict.UNSUPPORTED and not is_absence:
        raise Wrong(Status.JUDGE_INVALID, f"{where} is {verdict} without evidence", "missing_evidence")
    site = entry.get("site")
    update = {
        "verdict": verdict,
        "evidence": evidence,
        "explanation": one_text(entry.get("note")),
        "sites": (site,) if site in SITES and verdict is not ClaimVerdict.SUPPORTED else (),
        "flags": (),
    }
    return claim.model_copy(update=update)


def _evidence(value: Any, material: Material) -> tuple[Quote, ...]:
    """Read ids of document sentences where the prompt numbers them, else passages that are quoted literally."""
    if isinstance(value, str):
        names = value.replace(",", " ").replace("[", " ").replace("]", " ").split()
        if names and all(name in material.sentences for name in names):
            return referred(names, material)
        value = [value]
    elif material.sentences:
        return referred(value, material)
    if not (value is None or (isinstance(value, list) and all(isinstance(text, str) for text in value))):
        raise Wrong(Status.JUDGE_PARSE_ERROR, "'evidence' is no text")
    return tuple(Quote(document_id=None, text=text.strip()) for text in value or () if text.strip())


def _distinct(earlier: Sequence[Claim], read: Sequence[Claim]) -> tuple[tuple[Claim, ...], tuple[str, ...]]:
    """Number the claims anew, each once; of one that was read earlier, that verdict stands."""
    found = {_key(claim): claim for claim in earlier}
    flags = []
    for claim in read:
        known = found.setdefault(_key(claim), claim)
        if known is not claim and known not in earlier:
            if known.verdict is not claim.verdict:
                raise Wrong(Status.JUDGE_INVALID, f"claim {claim.claim_id[1:]} is there twice with different verdicts")
            flags.append("duplicate_claim")
    # In the order of the answer, whatever the order of the reply; what the answer never made comes last.
    ordered = sorted(found.values(), key=lambda claim: (claim.start is None, claim.start or 0))
    numbered = (claim.model_copy(update={"claim_id": f"c{number}"}) for number, claim in enumerate(ordered, 1))
    return tuple(numbered), tuple(dict.fromkeys(flags))


def _key(claim: Claim) -> tuple[str, str | None]:
    return claim.text.casefold().rstrip(" .!。"), claim.sentence_id


def _compared(value: Mapping[str, Any], claims: Sequence[Claim]) -> tuple[float | None, tuple[str, ...]]:
    """Compare what the judge states of the whole with what follows from its labels."""
    everything = [claim.model_copy(update={"in_answer": True}) for claim in claims]
    # The judge counts all of its claims, also those that the answer never made.
    stated, flags = score_flags(value.get("faithfulness_score"), supported_claims(everything))
    outcome = label(value.get("verdict"), Outcome)
    is_failing = any(claim.verdict in _FAILING for claim in everything)
    if outcome is not None and (outcome is Outcome.FAIL) != is_failing:
        flags = (*flags, "judge_verdict_inconsistent")
    if any(not claim.in_answer for claim in claims):
        flags = (*flags, "claim_not_in_answer")
    return stated, flags


def _id(value: Any) -> str:
    return value.strip().strip("[]").strip() if isinstance(value, str) else ""
