"""Decide a claim whose evidence is written in another language, from what survives translation: values and names."""

from enricher.grounding.comparison import Comparison, Likeness, compare
from enricher.grounding.measures import Quantity
from enricher.grounding.outcome import Decision
from enricher.grounding.reading import Reading
from enricher.grounding.search import Evidence, Source
from enricher.grounding.tokens import is_concept
from enricher.verdict import AlignmentStatus, IssueType

_ENOUGH = 0.6  # of the words whose translation is known
_ALIKE = 0.5
FLAG = "cross_lingual"


def decide_across_languages(claim: Reading, evidence: Evidence) -> Decision:
    """Decide by values, names and the few words whose translation is known; never with full confidence."""
    if not evidence.sources:
        return _decision(AlignmentStatus.UNSUPPORTED, IssueType.ADDED, "there is no evidence", [], 0.0)
    shares = [_word_share(claim, source) for source in evidence.sources]
    order = sorted(range(len(shares)), key=lambda p: (-shares[p] - 0.5 * _value_share(claim, evidence.sources[p]), p))
    best = order[0]
    source, share = evidence.sources[best], shares[best]
    values = [q for q in claim.quantities if not q.is_weak]
    outcomes = [_closest(quantity, source) for quantity in values]
    if share >= _ALIKE and claim.marks.is_negated != source.reading.marks.is_negated:
        text = f"{source.document.id} is negated differently"
        return _decision(AlignmentStatus.CONTRADICTED, IssueType.CONTRADICTED, text, [best], share)
    for quantity, (outcome, other) in zip(values, outcomes, strict=True):
        if outcome.likeness is Likeness.DIFFERENT and other is not None and (share > 0 or len(evidence.sources) == 1):
            text = f"answer says {quantity.text}, {source.document.id} says {other.text}"
            return _decision(AlignmentStatus.CONTRADICTED, IssueType.CONTRADICTED, text, [best], share)
    if any(outcome.likeness is Likeness.DISTORTED for outcome, _ in outcomes):
        text = next(outcome.reason for outcome, _ in outcomes if outcome.likeness is Likeness.DISTORTED)
        return _decision(AlignmentStatus.PARTIALLY_SUPPORTED, IssueType.DISTORTED, text, [best], share)
    matched = all(outcome.likeness is Likeness.SAME for outcome, _ in outcomes)
    if matched and (share >= _ENOUGH or values):
        return _decision(AlignmentStatus.FULLY_SUPPORTED, IssueType.NONE, "", [best], max(share, _ENOUGH))
    text = "the documents are in another language, and what can be compared doesn't support this"
    return _decision(AlignmentStatus.UNSUPPORTED, IssueType.ADDED, text, [best] if share else [], share)


def _decision(status: AlignmentStatus, issue: IssueType, text: str, places: list[int], share: float) -> Decision:
    return Decision(status, issue, text, places, share, False, [FLAG])


def _word_share(claim: Reading, source: Source) -> float:
    """Return how much of the translatable words the sentence holds."""
    held = source.reading.all_keys
    known = [key for key in claim.keys if is_concept(key) or key in claim.names or key in held]
    return sum(key in held for key in known) / len(known) if known else 0.0


def _value_share(claim: Reading, source: Source) -> float:
    values = [q for q in claim.quantities if not q.is_weak]
    return sum(_closest(q, source)[0].likeness is Likeness.SAME for q in values) / len(values) if values else 0.0


def _closest(quantity: Quantity, source: Source) -> tuple[Comparison, Quantity | None]:
    best, found = Comparison(Likeness.UNRELATED), None
    for other in source.reading.quantities:
        outcome = compare(quantity, other)
        if outcome.likeness > best.likeness:
            best, found = outcome, other
    return best, found
