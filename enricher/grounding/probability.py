"""Turn what the engine found into probabilities: that a segment is supported, and that the whole answer is faithful."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from enricher.grounding.outcome import Decision
from enricher.grounding.reading import Reading
from enricher.grounding.search import Evidence
from enricher.grounding.tokens import FULL
from enricher.verdict import AlignmentStatus


class Signals(NamedTuple):
    """What the probability of a faithful answer is computed from; each is 0 for a perfect answer, except `length`."""

    new_words: float  # share of the answer's content words that no document holds
    new_pairs: float  # share of neighbouring words that stand so in no document
    weakest: float  # 1 - support of the least supported sentence
    weakness: float  # the same, averaged over the sentences
    spread: float  # 1 - best overlap of a sentence with two neighbouring sentences of a document, averaged
    widest: float  # the same for the worst sentence
    new_values: float  # share of the answer's values that no document holds
    new_names: float  # share of the answer's names that no document holds
    contradicted: float  # share of contradicted sentences
    distorted: float  # share of sentences in which a comparer found a change short of contradiction
    length: float  # logarithm of the number of words


def faithful_probability(signals: Signals) -> float:
    """Return the probability that the whole answer is faithful to its documents."""
    total = _INTERCEPT + sum(weight * value for weight, value in zip(_WEIGHTS, signals, strict=True))
    return 1.0 / (1.0 + math.exp(-total))


_INTERCEPT = 3.0
_WEIGHTS = Signals(-3.0, -2.0, -1.0, -1.0, -1.0, -1.0, -1.0, -1.0, -2.0, -1.0, 0.0)


def segment_probability(decision: Decision) -> float:
    """Return the probability that a segment is fully supported; 0.5 parts the labels."""
    share = min(1.0, max(0.0, decision.share))
    if decision.status is AlignmentStatus.FULLY_SUPPORTED:
        return 0.55 + 0.4 * share * (1.0 if decision.is_certain else 0.5)
    if decision.status is AlignmentStatus.CONTRADICTED:
        return 0.05
    return 0.05 + 0.4 * share


def read_signals(answer: Sequence[Reading], decisions: Sequence[Decision], evidence: Evidence) -> Signals:
    """Gather the signals over the judged sentences of an answer."""
    overlaps = [best_overlap(reading, evidence) for reading in answer] or [0.0]
    shares = [decision.share for decision in decisions] or [0.0]
    words = [t for reading in answer for t in reading.tokens]
    count = max(1, len(decisions))
    return Signals(
        new_words=_share_unknown([t.key for t in words if t.weight >= FULL], evidence.holds),
        new_pairs=_new_pairs(answer, evidence),
        weakest=1.0 - min(shares),
        weakness=1.0 - sum(shares) / len(shares),
        spread=1.0 - sum(overlaps) / len(overlaps),
        widest=1.0 - min(overlaps),
        new_values=_share_unknown([t.key for t in words if t.word[:1].isdigit()], evidence.holds),
        new_names=_share_unknown([name for reading in answer for name in reading.names], evidence.holds),
        contradicted=sum(d.status is AlignmentStatus.CONTRADICTED for d in decisions) / count,
        distorted=sum(d.status is AlignmentStatus.PARTIALLY_SUPPORTED and d.is_certain for d in decisions) / count,
        length=math.log(max(1, len(words))),
    )


def _share_unknown(keys: Sequence[str], is_known: Callable[[str], bool]) -> float:
    return sum(not is_known(key) for key in keys) / len(keys) if keys else 0.0


def _new_pairs(answer: Sequence[Reading], evidence: Evidence) -> float:
    pairs = [pair for reading in answer for pair in reading.pairs]
    return sum(pair not in evidence.pairs for pair in pairs) / len(pairs) if pairs else 0.0


def best_overlap(reading: Reading, evidence: Evidence) -> float:
    """Return the best share of a sentence's words that two neighbouring sentences of a document hold."""
    weights = {t.key: t.weight for t in reading.tokens if t.weight}
    if not weights:
        return 1.0
    total, best = sum(weights.values()), 0.0
    for place in evidence.best(weights, 4):
        for held in evidence.windows(place):
            best = max(best, sum(w for key, w in weights.items() if key in held) / total)
    return best
