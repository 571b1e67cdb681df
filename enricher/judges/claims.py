"""Read the atomic claims of the faithfulness judge, and check that they cover the answer and nothing else."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from enricher.judges.evidence import Wrong, quoted, referred
from enricher.judges.material import Material
from enricher.judges.reply import Unusable, is_no_verdict, label, one_text, score_flags, shown
from enricher.results.claims import supported_claims
from enricher.trace import Item, Sentence
from enricher.verdict import Claim, ClaimVerdict, Outcome, Quote, Status
from enricher.wording import states_absence

KEYS = ("claims",)
# What the faithfulness judge may say; a conflict between sources is another judge's finding.
_VERDICTS = (ClaimVerdict.SUPPORTED, ClaimVerdict.PARTIAL, ClaimVerdict.UNSUPPORTED, ClaimVerdict.CONTRADICTED)
_TOKEN = re.compile(r"\d+(?:[.,:/]\d+)*|[^\W\d_]+")
_DENSE = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]")
_CLAUSE = re.compile(
    r"[,;:]\s+|\s[–—-]\s|[、，；]|\s+(?=(?:and|but|or|while|und|aber|oder|et|mais|ou|y|pero|e|ma)\s)", re.I
)
_LEADING = re.compile(r"^(?:and|but|or|while|und|aber|oder|et|mais|ou|y|pero|e|ma)\s+", re.I)
_ENOUGH = 0.5  # of a clause's words that the claims must hold


@dataclass(frozen=True, kw_only=True, slots=True)
class ClaimsReading:
    """What a reply says of the answer's claims; score and outcome are computed from the labels."""

    claims: tuple[Claim, ...]
    uncovered: tuple[str, ...] = ()  # parts of the answer that no claim is about
    missing: tuple[str, ...] = ()  # ids of the sentences that hold them
    stated_score: float | None = None
    flags: tuple[str, ...] = ()


def read_claims(
    value: Mapping[str, Any], item: Item, material: Material, wanted: Sequence[Sentence]
) -> ClaimsReading | Unusable:
    """Read the claims that a reply makes of these sentences of the answer."""
    try:
        claims = [_claim(n, entry, item, material, wanted) for n, entry in enumerate(_entries(value, wanted), 1)]
    except Wrong as wrong:
        return wrong.unusable
    gaps = {s.id: tuple(_uncovered(s.text, claims)) for s in wanted}
    stated, flags = _compared(value, claims)
    return ClaimsReading(
        claims=tuple(claims),
        uncovered=tuple(part for parts in gaps.values() for part in parts),
        missing=tuple(name for name, parts in gaps.items() if parts),
        stated_score=stated,
        flags=flags,
    )


def read_given(value: Mapping[str, Any], material: Material, given: Sequence[Claim]) -> ClaimsReading | Unusable:
    """Read what a reply says of claims that it was given; they stand in its order, or are named by their ids."""
    try:
        entries = _entries(value, ())
        if len(entries) != len(given):
            raise Wrong(Status.JUDGE_INCOMPLETE, f"{len(given)} claims were given, {len(entries)} were judged")
        claims = []
        for number, (entry, claim) in enumerate(zip(entries, given, strict=True), 1):
            verdict = _verdict(number, entry)
            evidence = _evidence(entry, material)
            _require_evidence(number, verdict, evidence, claim.text)
            update = {"verdict": verdict, "evidence": evidence, "explanation": one_text(entry.get("note")), "flags": ()}
            claims.append(claim.model_copy(update=update))
    except Wrong as wrong:
        return wrong.unusable
    return ClaimsReading(claims=tuple(claims))


def _entries(value: Mapping[str, Any], wanted: Sequence[Sentence]) -> list[Mapping[str, Any]]:
    entries = value.get("claims")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise Wrong(Status.JUDGE_PARSE_ERROR, "there is no 'claims' array of objects")
    if not entries and wanted:
        status = Status.JUDGE_INCOMPLETE if value.get("faithfulness_score") is None else Status.JUDGE_INVALID
        raise Wrong(status, f"{len(wanted)} checkable sentences, 0 claims")
    return entries


def _claim(number: int, entry: Mapping[str, Any], item: Item, material: Material, wanted: Sequence[Sentence]) -> Claim:
    text = entry.get("claim")
    if not isinstance(text, str) or not text.strip():
        raise Wrong(Status.JUDGE_PARSE_ERROR, f"claim {number} has no text")
    text = " ".join(text.split())
    verdict = _verdict(number, entry)
    evidence = _evidence(entry, material)
    _require_evidence(number, verdict, evidence, text)
    in_answer = _share(_tokens(text), _tokens(item.answer)) >= _ENOUGH
    sentence = sentence_of(text, entry.get("sentence"), wanted) if in_answer else None
    start, end = located(text, sentence) if sentence else (None, None)
    return Claim(
        claim_id=f"c{number}",
        text=text,
        verdict=verdict,
        evidence=evidence,
        explanation=one_text(entry.get("note")),
        sentence_id=sentence.id if sentence else None,
        start=start,
        end=end,
        in_answer=in_answer,
    )


def _verdict(number: int, entry: Mapping[str, Any]) -> ClaimVerdict:
    if is_no_verdict(entry.get("verdict")):
        raise Wrong(Status.JUDGE_INCOMPLETE, f"claim {number} has no verdict")
    verdict = label(entry.get("verdict"), ClaimVerdict)
    if verdict not in _VERDICTS:
        raise Wrong(Status.JUDGE_INVALID, f"claim {number}: {shown(entry.get('verdict'))} is no verdict on a claim")
    return verdict


def _evidence(entry: Mapping[str, Any], material: Material) -> tuple[Quote, ...]:
    evidence = entry.get("evidence")
    return quoted(entry, material, "evidence") if isinstance(evidence, str) else referred(evidence, material)


def _require_evidence(number: int, verdict: ClaimVerdict, evidence: Sequence[Quote], text: str) -> None:
    if evidence or verdict is ClaimVerdict.UNSUPPORTED:
        return
    if verdict is ClaimVerdict.SUPPORTED and states_absence(text):
        return
    raise Wrong(Status.JUDGE_INVALID, f"claim {number} is {verdict} without evidence", "missing_evidence")


def _compared(value: Mapping[str, Any], claims: Sequence[Claim]) -> tuple[float | None, tuple[str, ...]]:
    stated, flags = score_flags(value.get("faithfulness_score"), supported_claims(claims))
    failing = (ClaimVerdict.UNSUPPORTED, ClaimVerdict.CONTRADICTED)
    computed = Outcome.FAIL if any(c.in_answer and c.verdict in failing for c in claims) else Outcome.PASS
    outcome = label(value.get("verdict"), Outcome)
    if outcome is not None and outcome is not computed:
        flags = (*flags, "judge_verdict_inconsistent")
    if any(not claim.in_answer for claim in claims):
        flags = (*flags, "claim_not_in_answer")
    return stated, flags


def sentence_of(text: str, name: Any, wanted: Sequence[Sentence]) -> Sentence | None:
    """Return the sentence that makes a claim: the named one, else the one that shares most; None if none does."""
    named = next((s for s in wanted if isinstance(name, str) and s.id == name.strip().strip("[]")), None)
    if named is not None:
        return named
    words = _tokens(text)
    best = max(wanted, key=lambda s: _share(words, _tokens(s.text)), default=None)
    return best if best is not None and _share(words, _tokens(best.text)) >= _ENOUGH else None


def located(text: str, sentence: Sentence) -> tuple[int, int]:
    """Return where the answer says it: the clauses that the claim takes up, else the whole sentence."""
    words = _tokens(text)
    own = [(start, end) for start, end in _clauses(sentence.text) if _tokens(sentence.text[start:end])]
    taken = [(start, end) for start, end in own if _share(_tokens(sentence.text[start:end]), words) >= _ENOUGH]
    if not taken or len(taken) == len(own):
        return sentence.start, sentence.end
    return sentence.start + taken[0][0], sentence.start + taken[-1][1]


def _clauses(text: str) -> Iterator[tuple[int, int]]:
    at = 0
    for joint in _CLAUSE.finditer(text):
        yield at, joint.start()
        at = joint.end()
    yield at, len(text.rstrip())


def _uncovered(sentence: str, claims: Iterable[Claim]) -> Iterator[str]:
    """Yield the clauses of a sentence that no claim is about; what the claims hold together counts."""
    said = {word for claim in claims for word in _tokens(claim.text)}
    for start, end in _clauses(sentence):
        clause = sentence[start:end]
        words = _tokens(clause)
        figures = {word for word in words if word[0].isdigit()}
        is_covered = _share(words, said) >= _ENOUGH and figures <= said
        if words and (len(words) >= 2 or figures) and not is_covered:
            yield _LEADING.sub("", clause.strip().rstrip(".!。"), count=1)


def _tokens(text: str) -> list[str]:
    """Return figures and words that carry meaning; scripts without spaces are cut into pairs of characters."""
    found: list[str] = []
    for token in _TOKEN.findall(text.casefold()):
        if _DENSE.search(token):
            found += [token[at : at + 2] for at in range(max(1, len(token) - 1))]
        elif token[0].isdigit() or len(token) >= 4:
            found.append(token)
    return found


def _share(words: Collection[str], others: Collection[str]) -> float:
    if not words:
        return 1.0
    # Inflected forms count as the same word: "requires" and "required".
    stems = {other[:5] for other in others}
    return sum(word in others if word[0].isdigit() else word[:5] in stems for word in words) / len(words)
