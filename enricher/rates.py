"""Shares with intervals, sums, and how far two distributions lie apart: the statistics that several rooms need."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import log, sqrt
from typing import Self

from enricher.results.evidence import Noun

_Z = 1.959964  # of a 95 % interval
# 95 % quantiles of chi-square with 1 to 20 degrees of freedom.
_CHI_SQUARE = (
    *(3.841, 5.991, 7.815, 9.488, 11.070, 12.592, 14.067, 15.507, 16.919, 18.307),
    *(19.675, 21.026, 22.362, 23.685, 24.996, 26.296, 27.587, 28.869, 30.144, 31.410),
)
_HALF = 0.5  # added to each count, so that an empty bucket is no infinite surprise


class Rate(Noun):
    """A share with its 95 % interval (Wilson); of nothing there is no share."""

    count: int
    of: int
    rate: float | None = None
    low: float | None = None
    high: float | None = None

    @classmethod
    def of_count(cls, count: int, of: int, *, independent: int | None = None) -> Self:
        """Compute the share and its interval.

        Args:
            count: how many.
            of: of how many.
            independent: how many of them are independent, such as the traces that the items are of; the interval is
                as wide as if there were only so many. None: all of them.
        """
        if not of:
            return cls(count=0, of=0)
        share, size = count / of, of if independent is None else min(independent, of)
        centre = share + _Z * _Z / (2 * size)
        spread = _Z * sqrt(share * (1 - share) / size + _Z * _Z / (4 * size * size))
        scale = 1 + _Z * _Z / size
        # At the ends the interval touches the end; rounding must not lift it off.
        low = 0.0 if count == 0 else max(0.0, (centre - spread) / scale)
        high = 1.0 if count == of else min(1.0, (centre + spread) / scale)
        return cls(count=count, of=of, rate=share, low=low, high=high)


def share(rate: Rate) -> str:
    """Show a share with its interval."""
    if rate.rate is None or rate.low is None or rate.high is None:
        return "0 of 0"
    return f"{rate.count} of {rate.of}, {rate.rate:.0%} [{rate.low:.0%}, {rate.high:.0%}]"


def summed(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Add counts up by name."""
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return dict(total)


def stability_index(now: Sequence[float], before: Sequence[float]) -> float:
    """Return the population stability index of two histograms with the same buckets; 0 when they are alike.

    By custom 0.1 is a small and 0.2 a large shift.
    """
    used = [(a, b) for a, b in zip(now, before, strict=True) if a + b]
    total_now, total_before = sum(now) + _HALF * len(used), sum(before) + _HALF * len(used)
    shares = [((a + _HALF) / total_now, (b + _HALF) / total_before) for a, b in used]
    return sum((a - b) * log(a / b) for a, b in shares)


def stability_by_chance(now: Sequence[float], before: Sequence[float]) -> float:
    """Return the index that two histograms of one distribution stay below in 19 of 20 cases.

    Without a shift, the index divided by (1/n + 1/m) is distributed as chi-square with one degree of freedom less than
    there are buckets in use: small samples look shifted by chance alone.
    """
    used = sum(1 for a, b in zip(now, before, strict=True) if a + b)
    if used < 2 or not sum(now) or not sum(before):
        return 0.0
    return _CHI_SQUARE[min(used - 1, len(_CHI_SQUARE)) - 1] * (1 / sum(now) + 1 / sum(before))


def largest_gap(now: Sequence[float], before: Sequence[float]) -> float:
    """Return the largest gap between the cumulated shares of two histograms (Kolmogorov-Smirnov), 0 to 1."""
    total_now, total_before = sum(now), sum(before)
    if not total_now or not total_before:
        return 0.0
    gap = widest = 0.0
    for a, b in zip(now, before, strict=True):
        gap += a / total_now - b / total_before
        widest = max(widest, abs(gap))
    return widest
