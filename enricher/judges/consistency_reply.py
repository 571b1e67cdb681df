"""Read the reply of the consistency judge: claims with passages of either side, and the conflicts of the documents.

Two shapes: references to numbered sentences, and passages that are quoted with their relationship. What a reply says in
one place and denies in another (totals, a list of conflicts) never hides a conflict.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from enricher.grounding.conflicts import dates_of, recommended
from enricher.judges.coverage import located, sentence_of
from enricher.judges.evidence import Wrong, referred
from enricher.judges.material import Material
from enricher.judges.reply import Unusable, is_no_verdict, label, one_text, score_flags, shown
from enricher.results.claims import counted, supported_claims
from enricher.trace import Item, Sentence
from enricher.verdict import Claim, ClaimVerdict, Quote, SourceConflict, Stance, Status

KEYS = ("claims",)
COUNTS = "judge_counts_inconsistent"
CONFLICT = "judge_conflict_inconsistent"
_COUNTED = {
    "supported_claims": ClaimVerdict.SUPPORTED,
    "unsupported_claims": ClaimVerdict.UNSUPPORTED,
    "contradicted_claims": ClaimVerdict.CONTRADICTED,
    "source_conflict_claims": ClaimVerdict.SOURCE_CONFLICT,
}
_NEEDED: Mapping[ClaimVerdict, frozenset[Stance | None]] = {
    ClaimVerdict.SUPPORTED: frozenset({Stance.SUPPORTS}),
    ClaimVerdict.CONTRADICTED: frozenset({Stance.CONTRADICTS}),
    ClaimVerdict.SOURCE_CONFLICT: frozenset({Stance.SUPPORTS, Stance.CONTRADICTS}),
    ClaimVerdict.UNSUPPORTED: frozenset(),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class ConsistencyReading:
    """What a reply says; counts and score are computed from the claims."""

    claims: tuple[Claim, ...]
    conflicts: tuple[SourceConflict, ...] = ()
    stated_score: float | None = None
    flags: tuple[str, ...] = ()


def read_consistency(
    value: Mapping[str, Any],
    item: Item,
    material: Material,
    wanted: Sequence[Sentence],
    given: Sequence[Claim] = (),
) -> ConsistencyReading | Unusable:
    """Read what a reply says of these sentences of the answer or, in their order, of the claims that it was given."""
    try:
        entries = _entries(value, wanted, given)
        claims = [_claim(number, entry, item, material, wanted) for number, entry in enumerate(entries, 1)]
        if given:
            claims = [_put_into(own, claim) for own, claim in zip(given, claims, strict=True)]
        missing = [s.id for s in wanted if all(claim.sentence_id != s.id for claim in claims)]
        if missing and not given:
            raise Wrong(Status.JUDGE_INCOMPLETE, f"no claim is about {', '.join(missing)}")
        listed = value.get("conflicts", value.get("source_conflicts_summary"))
        claims, conflicts = _with_conflicts(claims, listed, item, material)
    except Wrong as wrong:
        return wrong.unusable
    stated, flags = score_flags(value.get("overall_consistency_score"), supported_claims(claims))
    if any(CONFLICT in claim.flags for claim in claims):
        flags = (*flags, CONFLICT)
    if _miscounted(value, claims):
        flags = (*flags, COUNTS)
    if any(not claim.in_answer for claim in claims):
        flags = (*flags, "claim_not_in_answer")
    return ConsistencyReading(claims=tuple(claims), conflicts=conflicts, stated_score=stated, flags=flags)


def conflict_of(
    claim: Claim, item: Item, description: str = "", recommendation: str = "", passages: Sequence[Quote] = ()
) -> SourceConflict:
    """Return the conflict that a claim is about, as its passages show it."""
    quotes = tuple(dict.fromkeys((*claim.evidence, *passages)))
    documents = [quote.document_id for quote in quotes]
    return SourceConflict(
        description=description or claim.explanation,
        passages=quotes,
        dates=dates_of(item.documents, documents),
        recommendation=recommendation or recommended(item.documents, documents),
        claim_id=claim.claim_id,
    )


def _entries(
    value: Mapping[str, Any], wanted: Sequence[Sentence], given: Sequence[Claim]
) -> Sequence[Mapping[str, Any]]:
    entries = value.get("claims")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise Wrong(Status.JUDGE_PARSE_ERROR, "there is no 'claims' array of objects")
    if given and len(entries) != len(given):
        raise Wrong(Status.JUDGE_INCOMPLETE, f"{len(given)} claims were given, {len(entries)} were judged")
    if not entries:
        raise Wrong(Status.JUDGE_INCOMPLETE, f"{len(wanted)} checkable sentences, 0 claims")
    return entries


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


def _put_into(own: Claim, judged: Claim) -> Claim:
    """Return a given claim with what was said of it."""
    said = {"verdict": judged.verdict, "evidence": judged.evidence, "explanation": judged.explanation}
    return own.model_copy(update={**said, "flags": judged.flags})


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
    sides = ((Stance.SUPPORTS, "supports"), (Stance.CONTRADICTS, "contradicts"))
    return tuple(
        quote.model_copy(update={"stance": stance})
        for stance, key in sides
        for quote in referred(entry.get(key), material)
    )


def _reference(number: int, reference: Mapping[str, Any], material: Material) -> Quote:
    passage, source = reference.get("passage"), reference.get("document_id")
    stance = label(reference.get("relationship"), Stance)
    if not isinstance(passage, str) or not passage.strip() or stance is None:
        raise Wrong(Status.JUDGE_PARSE_ERROR, f"a reference of claim {number} has no passage or no relationship")
    document = material.labels.get(source.strip()) if isinstance(source, str) else None
    name = document.id if document else source if isinstance(source, str) else None
    return Quote(document_id=name, text=passage.strip(), stance=stance)


def _require(number: int, verdict: ClaimVerdict, stances: set[Stance | None]) -> None:
    lacking = _NEEDED[verdict] - stances
    if lacking:
        sides = " and ".join(sorted(f"a passage that {stance.lower()} it" for stance in lacking if stance))
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
        passages = referred(entry.get("evidence"), material)
        description = one_text(entry.get("description", entry.get("conflict_description")))
        advice = one_text(entry.get("recommendation"))
        about = by_text.get(_key(entry.get("claim", entry.get("claim_text"))))
        if about is not None:
            about = by_text[_key(about.text)] = _disputed(about, passages)
            conflicts.append(conflict_of(about, item, description, advice, passages))
        elif passages:
            documents = [quote.document_id for quote in passages]
            conflicts.append(
                SourceConflict(
                    description=description,
                    passages=passages,
                    dates=dates_of(item.documents, documents),
                    recommendation=advice or recommended(item.documents, documents),
                )
            )
    found = [by_text[_key(claim.text)] for claim in claims]
    known = {conflict.claim_id for conflict in conflicts}
    conflicts += [
        conflict_of(claim, item)
        for claim in found
        if claim.verdict is ClaimVerdict.SOURCE_CONFLICT and claim.claim_id not in known
    ]
    return found, tuple(conflicts)


def _disputed(claim: Claim, passages: Sequence[Quote]) -> Claim:
    """Return a claim about which a conflict is listed; what is supported here and disputed there, is disputed."""
    if claim.verdict is ClaimVerdict.SOURCE_CONFLICT:
        return claim
    flags = tuple(dict.fromkeys((*claim.flags, CONFLICT)))
    if claim.verdict is not ClaimVerdict.SUPPORTED:
        # Which side it is on nobody said; people will look.
        return claim.model_copy(update={"flags": (*flags, "source_conflict")})
    ours = {quote.document_id for quote in claim.evidence}
    against = [q.model_copy(update={"stance": Stance.CONTRADICTS}) for q in passages if q.document_id not in ours]
    if not against:
        problem = f"{claim.claim_id} is SUPPORTED, but a conflict is listed for it without a passage of the other side"
        raise Wrong(Status.JUDGE_INVALID, problem, CONFLICT)
    update = {"verdict": ClaimVerdict.SOURCE_CONFLICT, "flags": flags, "evidence": (*claim.evidence, *against)}
    return claim.model_copy(update=update)


def _key(text: Any) -> str:
    return " ".join(text.casefold().split()).rstrip(".") if isinstance(text, str) else ""


def _miscounted(value: Mapping[str, Any], claims: Sequence[Claim]) -> bool:
    made = counted(claims)
    counts: dict[str, int] = {name: sum(c.verdict is verdict for c in made) for name, verdict in _COUNTED.items()}
    counts["total_claims"] = len(made)
    stated = {name: value.get(name) for name in counts}
    return any(number is not None and number != counts[name] for name, number in stated.items())
