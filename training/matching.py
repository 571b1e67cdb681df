"""Tells how the tokens of claim and evidence recur in one another, which the edit reader gets as an input."""

from collections.abc import Sequence
from itertools import pairwise


def matches(tokens: Sequence[int], others: Sequence[int]) -> list[int]:
    """Tell for each token how it recurs in the other text: 0 not at all, 1 alone, 2 with a neighbour, 3 with both."""
    if not tokens:
        return []
    single, double = set(others), set(pairwise(others))
    after = [pair in double for pair in pairwise(tokens)] + [False]
    before = [False, *after[:-1]]
    return [
        1 + left + right if token in single else 0 for token, left, right in zip(tokens, before, after, strict=True)
    ]
