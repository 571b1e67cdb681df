"""Read the atomic claims of the faithfulness judge, and check that they cover the answer and nothing else."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from enricher.judges.reply import Unusable, is_no_verdict, label, one_text, score_flags, shown
from enricher.trace import Sentence
from enricher.verdict import Quote, Status
from enricher.wording import states_absence

KEYS = ("claims",)
_TOKEN = re.compile(r"\d+(?:[.,:/]\d+)*|[^\W\d_]+")
_DENSE = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]")
_CLAUSE = re.compile(
    r"[,;:]\s+|\s[–—-]\s|[、，；]|\s+(?=(?:and|but|or|while|und|aber|oder|et|mais|ou|y|pero|e|ma)\s)", re.I
)
_LEADING = re.compile(r"^(?:and|but|or|while|und|aber|oder|et|mais|ou|y|pero|e|ma)\s+", re.I)


class ClaimVerdict(StrEnum):
    """How a claim stands to the context."""

    SUPPORTED = "SUPPORTED"
    PARTIAL = "PARTIAL"
    UNSUPPORTED = "UNSUPPORTED"
    CONTRADICTED = "CONTRADICTED"


class Outcome(StrEnum):
    """Whether every claim can be relied on."""

    PASS = "PASS"
    FAIL = "FAIL"


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """One atomic claim; `in_answer` is False when the answer never made it."""

    text: str
    verdict: ClaimVerdict
    evidence: Quote | None = None
    note: str = ""
    in_answer: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class ClaimsReading:
    """What a reply says of the answer's claims; score and outcome are computed from the labels."""

    claims: tuple[Claim, ...]
    uncovered: tuple[str, ...] = ()  # parts of the answer that no claim is about
    most_dangerous_error: str | None = None
    stated_score: float | None = None
    flags: tuple[str, ...] = ()

    @property
    def counted(self) -> tuple[Claim, ...]:
        """Return the claims that the answer made."""
        return tuple(claim for claim in self.claims if claim.in_answer)

    @property
    def score(self) -> float | None:
        """Compute supported / all claims of the answer."""
        if not self.counted:
            return None
        return sum(claim.verdict is ClaimVerdict.SUPPORTED for claim in self.counted) / len(self.counted)

    @property
    def outcome(self) -> Outcome:
        """Compute PASS unless a claim is unsupported or contradicted."""
        return Outcome.FAIL if self.unsupported_claims else Outcome.PASS

    @property
    def unsupported_claims(self) -> tuple[str, ...]:
        """Return the texts of the claims that nobody should rely on."""
        failing = (ClaimVerdict.UNSUPPORTED, ClaimVerdict.CONTRADICTED)
        return tuple(claim.text for claim in self.counted if claim.verdict in failing)


def read_claims(value: Mapping[str, Any], answer: str, sentences: Sequence[Sentence]) -> ClaimsReading | Unusable:
    """Read the claims on an answer whose checkable sentences these are."""
    entries = value.get("claims")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        return Unusable(status=Status.JUDGE_PARSE_ERROR, problem="there is no 'claims' array of objects")
    checkable = [sentence for sentence in sentences if sentence.is_checkable]
    if not entries and checkable:
        status = Status.JUDGE_INCOMPLETE if value.get("faithfulness_score") is None else Status.JUDGE_INVALID
        return Unusable(status=status, problem=f"{len(checkable)} checkable sentences, 0 claims")
    words = _tokens(answer)
    claims = []
    for number, entry in enumerate(entries, 1):
        claim = _claim(number, entry, words)
        if isinstance(claim, Unusable):
            return claim
        claims.append(claim)
    uncovered = tuple(part for sentence in checkable for part in _uncovered(sentence.text, claims))
    reading = ClaimsReading(claims=tuple(claims), uncovered=uncovered)
    return replace(
        reading,
        most_dangerous_error=one_text(value.get("most_dangerous_error")) or None,
        **_compared(value, reading),
    )


def _claim(number: int, entry: Mapping[str, Any], answer_words: Collection[str]) -> Claim | Unusable:
    where, text, evidence = f"claim {number}", entry.get("claim"), entry.get("evidence")
    if not isinstance(text, str) or not text.strip() or not (evidence is None or isinstance(evidence, str)):
        return Unusable(status=Status.JUDGE_PARSE_ERROR, problem=f"{where} has no text, or its evidence is not a text")
    if is_no_verdict(entry.get("verdict")):
        return Unusable(status=Status.JUDGE_INCOMPLETE, problem=f"{where} has no verdict", missing=(str(number),))
    verdict = label(entry.get("verdict"), ClaimVerdict)
    if verdict is None:
        problem = f"{where}: {shown(entry.get('verdict'))} is no verdict on a claim"
        return Unusable(status=Status.JUDGE_INVALID, problem=problem)
    quote = evidence.strip() if evidence else ""
    if verdict is ClaimVerdict.SUPPORTED and not quote and not states_absence(text):
        problem = f"{where} is SUPPORTED without evidence"
        return Unusable(status=Status.JUDGE_INVALID, problem=problem, flags=("missing_evidence",))
    return Claim(
        text=text.strip(),
        verdict=verdict,
        evidence=Quote(document_id=None, text=quote) if quote else None,
        note=one_text(entry.get("note")),
        in_answer=_share(_tokens(text), answer_words) >= 0.5,
    )


def _compared(value: Mapping[str, Any], reading: ClaimsReading) -> dict[str, Any]:
    stated, flags = score_flags(value.get("faithfulness_score"), reading.score)
    outcome = label(value.get("verdict"), Outcome)
    if outcome is not None and outcome is not reading.outcome:
        flags = (*flags, "judge_verdict_inconsistent")
    if any(not claim.in_answer for claim in reading.claims):
        flags = (*flags, "claim_not_in_answer")
    return {"stated_score": stated, "flags": flags}


def _uncovered(sentence: str, claims: Sequence[Claim]) -> list[str]:
    """Return the clauses of a sentence that no claim is about."""
    said = [_tokens(claim.text) for claim in claims]
    missing = []
    for clause in _CLAUSE.split(sentence):
        words = _tokens(clause)
        figures = {word for word in words if word[0].isdigit()}
        is_covered = any(_share(words, claim) >= 0.6 and figures <= set(claim) for claim in said)
        if words and (len(words) >= 2 or figures) and not is_covered:
            missing.append(_LEADING.sub("", clause.strip().rstrip(".!。"), count=1))
    return missing


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
