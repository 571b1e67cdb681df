"""Compare a claimed value with one in the evidence, and say in words how they differ."""

from enum import IntEnum
from typing import NamedTuple

from enricher.grounding.bounds import Bound
from enricher.grounding.dates import DateMatch, match_dates, same_time
from enricher.grounding.measures import FIRST, Quantity
from enricher.grounding.units import ALTERNATIVE_CURRENCIES, MONTHS_TO_DAYS


class Likeness(IntEnum):
    """How a claimed value stands to one in the evidence; higher is closer."""

    UNRELATED = 0  # values of different kinds, nothing follows
    DIFFERENT = 1  # same kind, another value
    DISTORTED = 2  # the number fits, but its bound, exactness, range or day count was changed
    MORE_EXACT = 3  # the claim names more than the evidence ("4 June 2024" from "June 2024")
    SAME = 4


class Comparison(NamedTuple):
    """The outcome of comparing two values, with the reason when they are not the same."""

    likeness: Likeness
    reason: str = ""


_SAME = Comparison(Likeness.SAME)
_UNRELATED = Comparison(Likeness.UNRELATED)
_EXACT_SHARE = 1e-9
_CONVERTED_SHARE = 0.011  # what rounding in a conversion may lose
_ABOUT_SHARE = 0.06
_MONTHS_SHARE = 0.012  # 365 days are a year; 30 days are not a month
_LOOSE_MONTHS_SHARE = 0.045
_FAR = 60.0
_CLOSE_SHARE = 0.15
_UPPER = (Bound.AT_MOST, Bound.LESS_THAN, Bound.WITHIN)
_LIMITS = {Bound.AT_MOST, Bound.AT_LEAST}
_LOWER = (Bound.AT_LEAST, Bound.MORE_THAN)


def compare(claimed: Quantity, evidence: Quantity) -> Comparison:
    """Compare a claimed value with a value of the evidence."""
    if claimed.dimension == "date" or evidence.dimension == "date":
        return _compare_dates(claimed, evidence)
    if claimed.dimension == "time" or evidence.dimension == "time":
        return _compare_times(claimed, evidence)
    if (claimed.detail == FIRST) != (evidence.detail == FIRST) and {claimed.bound, evidence.bound} & _LIMITS:
        return _UNRELATED  # "the first two days" is a part of "up to three days"
    if claimed.dimension == evidence.dimension:
        if FIRST not in (claimed.detail, evidence.detail) and _is_other_detail(claimed, evidence):
            is_label = claimed.dimension.startswith("label")
            return Comparison(
                Likeness.DIFFERENT, "another subdivision" if is_label else "the rate refers to another period"
            )
        outcome = _compare_values(claimed, evidence, 1.0, _share(claimed, evidence))
        is_far = claimed.dimension in ("duration", "months") and not _same_order(claimed, evidence, 1.0)
        return _UNRELATED if is_far and outcome.likeness is Likeness.DIFFERENT else outcome
    return _compare_across(claimed, evidence)


def _is_other_detail(claimed: Quantity, evidence: Quantity) -> bool:
    if not (claimed.detail and evidence.detail) or claimed.detail == evidence.detail:
        return False
    shorter, longer = sorted((claimed.detail, evidence.detail), key=len)
    # "4.2" is not another than "4.2(b)", but "12.1" another than "12.10".
    return not (claimed.dimension.startswith("label") and longer.startswith(shorter) and longer[len(shorter)] in ".(")


def _share(claimed: Quantity, evidence: Quantity) -> float:
    same_unit = claimed.unit == evidence.unit or claimed.unit is None or evidence.unit is None
    is_exact = (
        same_unit or claimed.dimension in ("duration", "months", "ratio") or claimed.dimension.startswith("money")
    )
    return _EXACT_SHARE if is_exact else _CONVERTED_SHARE


def _compare_dates(claimed: Quantity, evidence: Quantity) -> Comparison:
    if claimed.dimension != evidence.dimension:
        # "1500" can be read as a year or as a number.
        left, right = _year_as_number(claimed), _year_as_number(evidence)
        return _SAME if left & right else _UNRELATED
    outcome = match_dates(claimed.dates, evidence.dates)
    if outcome is DateMatch.APART:
        return _UNRELATED
    if outcome is DateMatch.DIFFERENT:
        return Comparison(Likeness.DIFFERENT)
    if outcome is DateMatch.MORE_EXACT:
        return Comparison(Likeness.MORE_EXACT, "the evidence gives no exact date")
    if _are_opposed(claimed.bound, evidence.bound):
        return Comparison(Likeness.DIFFERENT, "the direction differs")
    if {claimed.bound, evidence.bound} & {Bound.LESS_THAN} and Bound.EXACT in (claimed.bound, evidence.bound):
        return Comparison(Likeness.DISTORTED, "a limit is not a date")
    return _SAME


def _year_as_number(quantity: Quantity) -> set[float]:
    if quantity.dimension == "count":
        return set(quantity.values)
    return {float(d.year) for d in quantity.dates if d.year and d.month is None and d.day is None}


def _compare_times(claimed: Quantity, evidence: Quantity) -> Comparison:
    if claimed.time is None or evidence.time is None:
        return _UNRELATED
    ends = [time for time in (evidence.time, evidence.time_end) if time]
    if claimed.time_end is None:
        return _SAME if any(same_time(claimed.time, time) for time in ends) else Comparison(Likeness.DIFFERENT)
    if evidence.time_end is None:
        found = any(same_time(time, evidence.time) for time in (claimed.time, claimed.time_end))
        return (
            Comparison(Likeness.MORE_EXACT, "the evidence gives one time") if found else Comparison(Likeness.DIFFERENT)
        )
    same = same_time(claimed.time, evidence.time) and same_time(claimed.time_end, evidence.time_end)
    return _SAME if same else Comparison(Likeness.DIFFERENT)


def _compare_across(claimed: Quantity, evidence: Quantity) -> Comparison:
    dimensions = {claimed.dimension, evidence.dimension}
    if dimensions == {"duration", "months"}:
        to_days = {"duration": 1.0, "months": MONTHS_TO_DAYS}
        factor = to_days[evidence.dimension] / to_days[claimed.dimension]
        loose = _compare_values(claimed, evidence, factor, _LOOSE_MONTHS_SHARE)
        strict = _compare_values(claimed, evidence, factor, _MONTHS_SHARE)
        if strict.likeness is Likeness.DIFFERENT and not _same_order(claimed, evidence, factor):
            return _UNRELATED
        if loose.likeness is Likeness.SAME and strict.likeness is not Likeness.SAME:
            return Comparison(Likeness.DISTORTED, "months are not counted in days")
        return strict
    if dimensions == {"duration", "workdays"}:
        plain = _compare_values(claimed, evidence, 1.0, _EXACT_SHARE)
        if plain.likeness in (Likeness.SAME, Likeness.DISTORTED):
            return Comparison(Likeness.DISTORTED, "working days are not calendar days")
        return plain
    if dimensions == {"ratio", "points"}:
        plain = _compare_values(claimed, evidence, 0.01 if claimed.dimension == "ratio" else 100.0, _EXACT_SHARE)
        if plain.likeness is Likeness.SAME:
            return Comparison(Likeness.DISTORTED, "percentage points are not per cent")
        return plain
    if all(dimension.startswith("money:") for dimension in dimensions):
        return _compare_currencies(claimed, evidence)
    if "count" in dimensions and not any(d.startswith(("label", "ordinal", "code")) for d in dimensions):
        # A bare number beside one with a unit: equal numbers agree, different ones say nothing.
        return _SAME if _bare(claimed) & _bare(evidence) else _UNRELATED
    if "code" in dimensions and dimensions <= {"code", "count"}:
        return _SAME if set(claimed.values) & set(evidence.values) else _UNRELATED
    return _UNRELATED


def _bare(quantity: Quantity) -> set[float]:
    unit = quantity.unit
    return {round((v - unit.offset) / unit.factor, 9) if unit else v for v in quantity.values}


def _same_order(claimed: Quantity, evidence: Quantity, factor: float) -> bool:
    """Tell whether two durations are near enough to be meant for the same: minutes are no rival of years."""
    left, right = abs(claimed.values[0]), abs(evidence.values[0] * factor)
    return min(left, right) * _FAR > max(left, right)


def _compare_currencies(claimed: Quantity, evidence: Quantity) -> Comparison:
    left, right = claimed.dimension.partition(":")[2], evidence.dimension.partition(":")[2]
    plain = _compare_values(claimed, evidence, 1.0, _EXACT_SHARE)
    if right in ALTERNATIVE_CURRENCIES.get(left, ()) or left in ALTERNATIVE_CURRENCIES.get(right, ()):
        return plain
    if "cent" in (left, right):
        factor = 100.0 if left == "cent" else 0.01
        converted = _compare_values(claimed, evidence, factor, _EXACT_SHARE)
        return converted if converted.likeness is Likeness.SAME else plain
    return Comparison(Likeness.DIFFERENT, "another currency") if plain.likeness is Likeness.SAME else _UNRELATED


def _compare_values(claimed: Quantity, evidence: Quantity, factor: float, share: float) -> Comparison:
    """Compare numbers; `factor` brings the evidence into the unit of the claim."""
    low = tuple(value * factor for value in evidence.values)
    high = tuple(value * factor for value in evidence.upper)
    if claimed.upper:
        return _compare_ranges(claimed, low, high, share)
    if high:
        return _compare_with_range(claimed, low, high, share)
    if _any_equal(claimed.values, low, share):
        return _compare_bounds(claimed, evidence)
    if claimed.dimension.startswith("label"):
        return Comparison(Likeness.DIFFERENT)  # clause 12 is not about clause 13
    if rounded := _rounded(claimed, evidence, low):
        return rounded
    if claimed.bound in (Bound.MORE_THAN, Bound.LESS_THAN) and _holds_as_limit(claimed, evidence, low):
        return _SAME
    if (
        claimed.bound is Bound.EXACT
        and evidence.bound in (Bound.MORE_THAN, Bound.LESS_THAN)
        and _is_within(claimed, evidence.bound, low)
    ):
        return Comparison(Likeness.DISTORTED, f"the evidence says only {evidence.bound}")
    return Comparison(Likeness.DIFFERENT)


def _compare_ranges(claimed: Quantity, low: tuple[float, ...], high: tuple[float, ...], share: float) -> Comparison:
    if not high:
        is_end = _any_equal(claimed.values, low, share) or _any_equal(claimed.upper, low, share)
        return (
            Comparison(Likeness.DISTORTED, "the evidence gives no range") if is_end else Comparison(Likeness.DIFFERENT)
        )
    slack = claimed.precision * 2 if share > _EXACT_SHARE else 0.0  # a converted range is rounded at both ends
    same = _any_equal(claimed.values, low, share, slack) and _any_equal(claimed.upper, high, share, slack)
    return _SAME if same else Comparison(Likeness.DIFFERENT)


def _compare_with_range(claimed: Quantity, low: tuple[float, ...], high: tuple[float, ...], share: float) -> Comparison:
    if claimed.bound in _UPPER and _any_equal(claimed.values, high, share):
        return _SAME
    if claimed.bound is Bound.AT_LEAST and _any_equal(claimed.values, low, share):
        return _SAME
    if any(min(low) * (1 - share) <= value <= max(high) * (1 + share) for value in claimed.values):
        return Comparison(Likeness.DISTORTED, "the evidence gives a range")
    return Comparison(Likeness.DIFFERENT)


def _any_equal(left: tuple[float, ...], right: tuple[float, ...], share: float, slack: float = 0.0) -> bool:
    return any(abs(a - b) <= max(slack, share * max(abs(a), abs(b))) for a in left for b in right)


def _compare_bounds(claimed: Quantity, evidence: Quantity) -> Comparison:
    left, right = claimed.bound, evidence.bound
    if left is right or {left, right} <= {Bound.AT_MOST, Bound.WITHIN}:
        return _SAME
    if Bound.ABOUT in (left, right):
        hedge_lost = right is Bound.ABOUT and left is Bound.EXACT
        return Comparison(Likeness.DISTORTED, "the evidence says only about") if hedge_lost else _SAME
    if _are_opposed(left, right):
        return Comparison(Likeness.DIFFERENT, f"{left} is not {right}")
    if Bound.EXACT in (left, right) and (Bound.WITHIN in (left, right) or claimed.dimension.startswith("label")):
        return _SAME
    return Comparison(Likeness.DISTORTED, f"{left} is not {right}")


def _are_opposed(left: Bound, right: Bound) -> bool:
    return (left in _UPPER and right in _LOWER) or (left in _LOWER and right in _UPPER)


def _rounded(claimed: Quantity, evidence: Quantity, low: tuple[float, ...]) -> Comparison | None:
    """Accept a claim that is the rounded evidence, if it says so or if rounding is how such values are written."""
    is_converted = claimed.unit != evidence.unit and claimed.unit is not None and evidence.unit is not None
    for value in claimed.values:
        step = claimed.precision or _last_place(value)
        for other in low:
            off = abs(value - other)
            if claimed.bound is Bound.ABOUT and off <= max(
                _ABOUT_SHARE * abs(other), min(_last_place(value), 0.1 * abs(other))
            ):
                return _SAME
            if (is_converted and claimed.dimension not in ("duration", "months")) or claimed.is_scaled:
                if off <= step * 1.0001 and off <= 0.1 * abs(other):
                    return _SAME
            elif off <= _last_place(value) and off <= 0.02 * abs(other) and value != other and not claimed.unit:
                return Comparison(Likeness.DISTORTED, "the number was rounded")
            elif claimed.dimension == "ratio" and off <= claimed.precision * 1.0001 and off <= 0.1 * abs(other):
                return _SAME
    return None


def _last_place(value: float) -> float:
    """Return half a unit of the last non-zero digit of a whole number, nothing for others."""
    whole = abs(int(value))
    if whole == 0 or whole != abs(value):
        return 0.0
    zeros = len(str(whole)) - len(str(whole).rstrip("0"))
    return float(0.5 * 10**zeros)


def _holds_as_limit(claimed: Quantity, evidence: Quantity, low: tuple[float, ...]) -> bool:
    """Tell whether the claim is a limit that the exact value of the evidence keeps closely: "over 500" of 512."""
    if evidence.bound is not Bound.EXACT:
        return False
    for limit in claimed.values:
        for value in low:
            is_kept = value > limit if claimed.bound in _LOWER else value < limit if claimed.bound in _UPPER else False
            if is_kept and abs(value - limit) <= _CLOSE_SHARE * abs(value):
                return True
    return False


def _is_within(claimed: Quantity, bound: Bound, low: tuple[float, ...]) -> bool:
    """Tell whether an exact value keeps closely to the limit that the evidence gives: "131" of "more than 130"."""
    pairs = [(value, limit) for value in claimed.values for limit in low]
    return any(
        (value > limit if bound in _LOWER else value < limit) and abs(value - limit) <= _CLOSE_SHARE * abs(value)
        for value, limit in pairs
    )
