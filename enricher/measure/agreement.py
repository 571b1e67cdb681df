"""How far two sides agree on labels: Cohen's kappa, precision and recall, confusion, thresholds. Pure figures."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from math import comb
from random import Random

from enricher.rates import Rate
from enricher.verdict import Noun

Pairing = tuple[str, str]  # what people say, what the judge says

_RESAMPLES = 1000
_TAIL = 0.025  # outside a 95 % interval, on each side


class ClassFigures(Noun):
    """How a judge does on one label."""

    label: str
    people: int  # items that people give it
    judge: int  # items that the judge gives it
    precision: Rate  # of what the judge calls so, what people call so too
    recall: Rate  # of what people call so, what the judge calls so too


class Threshold(Noun):
    """What a score below which people look would catch."""

    review_below: float
    recall: Rate  # of the answers that people reject
    precision: Rate  # of the answers below it
    share: float  # of all answers that people would have to look at
    is_enough: bool  # it catches as many as configured


def kappa(pairings: Sequence[Pairing]) -> float | None:
    """Return Cohen's kappa: the agreement beyond chance, 1 at most; None when both sides know one label only.

    Cohen, "A coefficient of agreement for nominal scales" (1960).
    """
    total = len(pairings)
    if not total:
        return None
    people, judge = Counter(one for one, _ in pairings), Counter(other for _, other in pairings)
    observed = sum(one == other for one, other in pairings) / total
    by_chance = sum(people[label] * judge[label] for label in people) / (total * total)
    return None if by_chance >= 1 else (observed - by_chance) / (1 - by_chance)


def bootstrapped(
    statistic: Callable[[Sequence[Pairing]], float | None], by_trace: Mapping[str, Sequence[Pairing]]
) -> tuple[float, float] | None:
    """Return the 95 % interval of a statistic when whole traces are drawn again and again; None of a single trace.

    Items of one trace, and several people's labels on one item, are not independent, so that traces are drawn and not
    items. The draws are the same every time.
    """
    traces = [by_trace[trace] for trace in sorted(by_trace)]
    if len(traces) < 2:
        return None
    chance = Random(0)
    found = []
    for _ in range(_RESAMPLES):
        drawn = [pairing for some in chance.choices(traces, k=len(traces)) for pairing in some]
        if (value := statistic(drawn)) is not None:
            found.append(value)
    # A draw in which both sides know one label only has no kappa; if most are so, there is nothing to say.
    if len(found) < _RESAMPLES / 2:
        return None
    found.sort()
    return found[int(_TAIL * len(found))], found[min(len(found) - 1, int((1 - _TAIL) * len(found)))]


def confusion(pairings: Sequence[Pairing], order: Sequence[str] = ()) -> dict[str, dict[str, int]]:
    """Count what the judge says for each label that people give; all labels in use are in both directions.

    Those of `order` come first, as they stand there.
    """
    used = sorted({label for pairing in pairings for label in pairing})
    labels = [*(label for label in order if label in used), *(label for label in used if label not in order)]
    counted = Counter(pairings)
    return {one: {other: counted[one, other] for other in labels} for one in labels}


def classes(pairings: Sequence[Pairing]) -> tuple[ClassFigures, ...]:
    """Return precision and recall of each label that either side gives, the most frequent one of people first."""
    both = Counter(one for one, other in pairings if one == other)
    people, judge = Counter(one for one, _ in pairings), Counter(other for _, other in pairings)
    labels = sorted({*people, *judge}, key=lambda label: (-people[label], label))
    return tuple(
        ClassFigures(
            label=label,
            people=people[label],
            judge=judge[label],
            precision=Rate.of_count(both[label], judge[label]),
            recall=Rate.of_count(both[label], people[label]),
        )
        for label in labels
    )


def threshold(scored: Sequence[tuple[float, bool]], min_recall: float) -> Threshold | None:
    """Advise below which score people should look: the lowest that catches enough of what they reject.

    Args:
        scored: the judge's score of each answer, and whether people call the answer sound.
        min_recall: share of the rejected answers to be caught.

    Returns:
        the threshold; the one that catches most when none catches enough; None when people reject nothing.
    """
    rejected = sum(not is_sound for _, is_sound in scored)
    if not rejected:
        return None
    advised = None
    # "Below" is strict: a threshold lies just above the scores that it catches, and 1 is never below 1.
    for limit in sorted({score for score, _ in scored if score > 0} | {1.0}):
        below = [is_sound for score, is_sound in scored if score < limit]
        caught = sum(not is_sound for is_sound in below)
        is_enough = caught / rejected >= min_recall
        if advised is None or caught > advised.recall.count:
            advised = Threshold(
                review_below=limit,
                recall=Rate.of_count(caught, rejected),
                precision=Rate.of_count(caught, len(below)),
                share=len(below) / len(scored),
                is_enough=is_enough,
            )
        if is_enough:
            break
    return advised


def worse_by_chance(worse: int, better: int) -> float:
    """Return how likely chance alone makes so many of the changed items worse (exact one-sided sign test; McNemar)."""
    changed = worse + better
    return sum(comb(changed, count) for count in range(worse, changed + 1)) / (1 << changed)
