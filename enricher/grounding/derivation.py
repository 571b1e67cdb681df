"""Check a claimed sum or difference against the values of the documents that it can be made of."""

import re
from itertools import combinations

from enricher.grounding.comparison import Likeness, compare
from enricher.grounding.lexicon import word_set
from enricher.grounding.measures import Quantity
from enricher.grounding.reading import Reading
from enricher.grounding.search import Evidence

_SUM_CUE = re.compile(
    r"\b(?:total|totals|sum|altogether|together|combined|overall|in\s+all|insgesamt|zusammen|gesamt|summe|au\s+total|en\s+total|"
    r"in\s+totale)\b",
    re.I,
)
_SUM_WORDS = word_set(
    "total totals sum altogether together combined overall all insgesamt zusammen gesamt summe totale"
)
_DIFFERENCE_CUE = re.compile(
    r"\b(?:difference|more\s+than|less\s+than|increase|decrease|rose\s+by|fell\s+by|saves?|cheaper|left)\b", re.I
)
_DIFFERENCE_WORDS = word_set("difference than increase decrease by save saves cheaper left")
_MAX_TERMS = 8
_NEVER_ADDED = ("label", "ordinal", "code", "temperature")  # nobody adds up temperatures


def derived_value(claim: Reading, evidence: Evidence, candidates: list[int]) -> tuple[dict[int, int], list[int], str]:
    """Check a claimed sum or difference against the values it can be made of.

    Returns the values that were derived, the sentences they come from, and the mismatch if the sum is wrong.
    """
    is_sum = not _SUM_WORDS.isdisjoint(claim.words) and bool(_SUM_CUE.search(claim.text))
    is_difference = not _DIFFERENCE_WORDS.isdisjoint(claim.words) and bool(_DIFFERENCE_CUE.search(claim.text))
    if not (is_sum or is_difference):
        return {}, [], ""
    for quantity in claim.quantities:
        if not quantity.values or quantity.upper or quantity.dimension.startswith(_NEVER_ADDED):
            continue
        terms = [
            (p, q)
            for p in candidates
            for q in evidence.sources[p].reading.quantities
            if q.dimension == quantity.dimension
        ]
        terms = [(p, q) for p, q in terms if q.values and not q.upper][:_MAX_TERMS]
        if any(compare(quantity, q).likeness is Likeness.SAME for _, q in terms):
            continue
        if is_sum and (used := _adding_up(quantity, terms)):
            return {id(quantity): 1}, [place for place, _ in used], ""
        if is_difference and (used := _differing_by(quantity, terms)):
            return {id(quantity): 1}, [place for place, _ in used], ""
        if is_sum and len(terms) >= 2 and quantity.unit is not None:
            total = sum(q.values[0] for _, q in terms)
            parts = " + ".join(q.text for _, q in terms)
            return (
                {},
                [place for place, _ in terms],
                f"answer says {quantity.text}, but {parts} is {total / quantity.unit.factor:g}",
            )
    return {}, [], ""


def _adding_up(quantity: Quantity, terms: list[tuple[int, Quantity]]) -> list[tuple[int, Quantity]] | None:
    for size in range(2, min(len(terms), 4) + 1):
        for group in combinations(terms, size):
            if any(abs(sum(q.values[0] for _, q in group) - value) <= 1e-6 * abs(value) for value in quantity.values):
                return list(group)
    return None


def _differing_by(quantity: Quantity, terms: list[tuple[int, Quantity]]) -> list[tuple[int, Quantity]] | None:
    for left, right in combinations(terms, 2):
        gap = abs(left[1].values[0] - right[1].values[0])
        if gap and any(abs(gap - value) <= 1e-6 * abs(value) for value in quantity.values):
            return [left, right]
    return None
