"""Turn what the engine found into probabilities: that a segment is supported, and that the whole answer is faithful."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from enricher.grounding.meaning import Closeness
from enricher.grounding.outcome import Decision
from enricher.grounding.reading import Reading
from enricher.grounding.search import Evidence
from enricher.grounding.tokens import FULL
from enricher.verdict import AlignmentStatus, IssueType, Probabilities


class Nearness(NamedTuple):
    """How near the sentences of an answer are in meaning to the documents: half the worst, half the mean of them."""

    words: float  # of their words
    whole: float  # of the sentences as wholes
    sentences: int


class Signals(NamedTuple):
    """What the probability of a faithful answer is computed from; each is 0 for a perfect answer."""

    new_words: float  # share of the answer's content words that no document holds
    oddest: float  # share of neighbouring words that stand so in no document, in the sentence that has most of them
    widest: float  # 1 - best overlap of a sentence with three neighbouring sentences of a document, for the worst one
    burden: float  # logarithm of 1 + the missing support added up over the sentences: long answers err more often
    new_values: float  # share of the answer's numbers that no document holds
    new_names: float  # share of the answer's names that no document holds
    contradicted: float  # share of contradicted sentences


# Round figures set by hand, not fitted: all signals alike, but for the burden, which tells most, and the widest gap,
# which it largely contains. Chosen among a handful of such settings with a look at the labelled sets of the README.
_INTERCEPT = 4.6
_WEIGHTS = Signals(
    new_words=-2.0, oddest=-2.0, widest=-1.5, burden=-3.0, new_values=-2.0, new_names=-2.0, contradicted=-2.0
)
# What nearness adds: round figures too, chosen by AUROC, and the middle and the length by balanced accuracy at 0.5.
_NEAR_WORDS, _NEAR_WHOLE, _NEAR_USUALLY = 4.0, 2.0, 4.5
_LONG_ANSWER = 0.6
# Fitted on what people say of whole answers in the labelled sets, each set weighing as much as any other.
_TEMPERATURE = 1.7
# What people say of single statements: a logistic regression over the labelled sentences and claims of eight sets, each
# set weighing as much as any other; logarithms of odds, rounded to a tenth.
_SUPPORTED, _PROBABLY_SUPPORTED, _DISTORTED, _PERHAPS_LACKING, _LACKING, _CONTRADICTED = 1.3, 0.9, 0.6, 0.1, -0.2, -1.1
_BY_SHARE, _USUAL_SHARE = 1.1, 0.7
_BY_NEARNESS, _USUAL_NEARNESS = 2.0, 0.75
COPIED = 0.9  # of a sentence that the documents hold word for word; the encoder would say little more
_NEAR_OF_COPY, _NEAR_OF_OTHERS = 0.9, 0.7  # where the encoder wasn't asked
# Partial, unsupported, contradicted: how people divide what they don't call supported, by what the engine called it.
_IF_NOT_SUPPORTED = {
    AlignmentStatus.FULLY_SUPPORTED: (0.45, 0.40, 0.15),
    AlignmentStatus.PARTIALLY_SUPPORTED: (0.45, 0.45, 0.10),
    AlignmentStatus.UNSUPPORTED: (0.25, 0.70, 0.05),
    AlignmentStatus.CONTRADICTED: (0.10, 0.35, 0.55),
}
_CONTRADICTED_AT_MOST = 0.4  # an answer with a contradicted sentence is never called faithful
_STRICTER = math.exp(1.2 / _TEMPERATURE)
_WINDOWS = 4  # places looked at for each sentence


def faithful_probability(signals: Signals, nearness: Nearness | None = None) -> float:
    """Return the probability that the whole answer is faithful to its documents.

    Without nearness, where the encoder doesn't know the language, the words alone tell.
    """
    total = _INTERCEPT + sum(weight * value for weight, value in zip(_WEIGHTS, signals, strict=True))
    if nearness is not None:
        total += _NEAR_WORDS * nearness.words + _NEAR_WHOLE * nearness.whole - _NEAR_USUALLY
        total += _LONG_ANSWER * math.log(nearness.sentences)
    probability = _logistic(total / _TEMPERATURE)
    # Squeezed rather than cut, so that the order among such answers is kept.
    return probability * _CONTRADICTED_AT_MOST if signals.contradicted else probability


def strictly(probability: float) -> float:
    """Return a probability at the strict operating point: one half stands where the balanced one says 0.67.

    More invented answers are caught and more honest ones questioned; docs/figures.md tells how many of each.
    """
    odds = probability / max(1e-9, 1.0 - probability) / _STRICTER
    return odds / (1.0 + odds)


def label_probabilities(decision: Decision, close: Closeness | None = None) -> Probabilities:
    """Return how likely people call a statement supported, partial, unsupported or contradicted.

    The status is what words and comparers found; how often people see it so is another question, which this answers.
    """
    share = min(1.0, max(0.0, decision.share))
    near = close.words if close is not None else _NEAR_OF_COPY if share >= COPIED else _NEAR_OF_OTHERS
    odds = _standing(decision) + _BY_SHARE * (share - _USUAL_SHARE) + _BY_NEARNESS * (near - _USUAL_NEARNESS)
    supported = _logistic(odds)
    partial, unsupported, contradicted = (part * (1.0 - supported) for part in _IF_NOT_SUPPORTED[decision.status])
    return Probabilities(supported=supported, partial=partial, unsupported=unsupported, contradicted=contradicted)


def _standing(decision: Decision) -> float:
    if decision.status is AlignmentStatus.FULLY_SUPPORTED:
        return _SUPPORTED if decision.is_certain else _PROBABLY_SUPPORTED
    if decision.status is AlignmentStatus.CONTRADICTED:
        return _CONTRADICTED
    if decision.issue in (IssueType.DISTORTED, IssueType.OMITTED):
        return _DISTORTED
    return _LACKING if decision.is_certain else _PERHAPS_LACKING


def _logistic(odds: float) -> float:
    return 1.0 / (1.0 + math.exp(-odds))


def read_signals(answer: Sequence[Reading], decisions: Sequence[Decision], evidence: Evidence) -> Signals:
    """Gather the signals over the judged sentences of an answer."""
    overlaps = [best_overlap(reading, evidence) for reading in answer] or [0.0]
    shares = [decision.share for decision in decisions] or [0.0]
    words = [t for reading in answer for t in reading.tokens]
    missing = sum(1.0 - (share + overlap) / 2 for share, overlap in zip(shares, overlaps, strict=True))
    return Signals(
        new_words=_share_unknown([t.key for t in words if t.weight >= FULL], evidence.holds),
        oddest=max([_share_new([*reading.pairs], evidence) for reading in answer], default=0.0),
        widest=1.0 - min(overlaps),
        burden=math.log1p(missing),
        new_values=_share_unknown([t.key for t in words if t.word[:1].isdigit()], evidence.holds),
        new_names=_share_unknown([name for reading in answer for name in reading.names], evidence.holds),
        contradicted=sum(d.status is AlignmentStatus.CONTRADICTED for d in decisions) / max(1, len(decisions)),
    )


def _share_unknown(keys: Sequence[str], is_known: Callable[[str], bool]) -> float:
    return sum([not is_known(key) for key in keys]) / len(keys) if keys else 0.0


def _share_new(pairs: Sequence[tuple[str, str]], evidence: Evidence) -> float:
    known = evidence.pairs
    return sum([pair not in known for pair in pairs]) / len(pairs) if pairs else 0.0


def best_overlap(reading: Reading, evidence: Evidence) -> float:
    """Return the best share of a sentence's words that three neighbouring sentences of a document hold."""
    weights = {t.key: t.weight for t in reading.tokens if t.weight}
    if not weights:
        return 1.0
    total, best = sum(weights.values()), 0.0
    for place in evidence.best(weights, _WINDOWS):
        here, before, after = evidence.window(place)
        held = [w for key, w in weights.items() if key in here or key in before or key in after]
        best = max(best, sum(held) / total)
    return best
