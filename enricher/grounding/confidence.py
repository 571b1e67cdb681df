"""How far the engine may be believed in a language: where it is weak, it says so and keeps nearer to the middle."""

from collections.abc import Sequence

from enricher.grounding.crosslingual import FLAG as CROSS_LINGUAL
from enricher.grounding.outcome import Decision
from enricher.grounding.probability import label_probabilities
from enricher.grounding.reading import Reading
from enricher.verdict import Probabilities

WEAK_LANGUAGE = "weak_language"
# Languages whose forms, synonyms and opposites the lexicon holds. In others the engine compares words as they are
# written, values and negation, and no labelled set has told how well.
_KNOWN = frozenset({"en", "de", "fr", "es", "it", "pt", "nl"})
_TRUST_WEAK, _TRUST_ACROSS = 0.7, 0.5


def trust_in(claim: Reading, decision: Decision) -> float:
    """Return how far a decision is believed, 1 for fully."""
    if CROSS_LINGUAL in decision.flags:
        return _TRUST_ACROSS
    return _TRUST_WEAK if is_weak(claim) else 1.0


def is_weak(claim: Reading) -> bool:
    """Tell whether a claim is written in a language that the engine knows little of."""
    return claim.language is not None and claim.language not in _KNOWN


def towards_middle(probability: float, trust: float) -> float:
    """Return a probability drawn towards one half, on the side where it was."""
    return 0.5 + (probability - 0.5) * trust


def doubted(found: Probabilities, trust: float) -> Probabilities:
    """Return the probabilities of the labels with that of support drawn towards one half, rounded to four places."""
    supported = towards_middle(found.supported, trust)
    rest = (1.0 - supported) / max(1e-9, 1.0 - found.supported)
    return Probabilities(
        supported=round(supported, 4),
        partial=round(found.partial * rest, 4),
        unsupported=round(found.unsupported * rest, 4),
        contradicted=round(found.contradicted * rest, 4),
    )


def across_languages(decisions: Sequence[Decision]) -> float | None:
    """Return the probability of an answer most of whose sentences have their evidence in another language, else None.

    What words and neighbours of words tell of an answer tells nothing there; the weakest sentence does.
    """
    across = [decision for decision in decisions if CROSS_LINGUAL in decision.flags]
    if 2 * len(across) <= len(decisions):
        return None
    return min(label_probabilities(decision).supported for decision in decisions)
