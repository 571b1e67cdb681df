"""Find the values in a text: numbers, amounts, measures, shares, dates, times, numbered references."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from operator import attrgetter

from enricher.grounding.bounds import Bound, bound_of_date
from enricher.grounding.dates import MONTH_NAMES, QUARTER_WORDS, TIME_WORDS, Date, find_dates, find_times
from enricher.grounding.fractions import FRACTION_WORDS, ODDS_WORDS, find_fractions
from enricher.grounding.measures import LABEL_DETAIL, Quantity, measured, read_value
from enricher.grounding.numerals import (
    BEHIND_UNITS,
    CJK_NUMERAL,
    COMPOUND_ENDS,
    MIXED_NUMERAL,
    NUMBER_WORDS,
    Numeral,
    find_numerals,
    read_cjk,
    read_digits,
    read_mixed,
)
from enricher.grounding.tokens import Token
from enricher.grounding.units import UNSPACED_UNITS, find_unit

_DIGIT = re.compile(r"[\d½¼¾⅓⅔⅛]")
_ASCII_DIGIT = re.compile("[0-9]")
_NUMBER = re.compile(
    r"(?<![A-Za-zÀ-ɏ\d_.,])[-−]?"
    r"(?:\d{1,3}(?:(?:[ \u00a0\u202f]|, )\d{3})+(?![\d])(?:[.,]\d+)?|\d+(?:[.,٫٬]\d+|['’]\d{3})*)"
)
_CODE_AFTER = re.compile(r"[-/]?[^\W\d_]*\d|\.\d")
_JOINED_NUMBER = re.compile(r"[-–/]\d")
_VERSION = re.compile(r"\d[.,]\d+[.,]\d{1,2}(?:[.,]|$)")
_CJK_VALUE = re.compile(rf"({CJK_NUMERAL}+)(?=({'|'.join(UNSPACED_UNITS)}|人|个|名|歳|岁|次|回|%))")
_DOTTED = re.compile(r"(\d{1,4})(?:\.\d{1,3})+(?![\d])")
_RANGE_JOINT = re.compile(r"\s*(?:-|–|—|‑|~|〜|to|bis|à|a|until|through|and|und|et|y|e)\s*$", re.I)
_BETWEEN = re.compile(r"(?:between|zwischen|entre|tra|from|von|de|desde)\s*$", re.I)
_PHONE_LIKE = re.compile(r"(?:[-–]\d+)+")
_ORDINAL = re.compile(r"[0-9](?<![\w.].)[0-9]{0,2}(?:st|nd|rd|th)\b")
_LONGEST_NUMBER = 40  # characters; what is longer is no amount but an id, or noise, and compared as a word
_start_of = attrgetter("start")
_FIRST_YEAR = 1000  # a number of years so high is a year
_OPENING = re.compile(r"\s*\(\s*")
_CLOSING = re.compile(r"\s*\)")
_VALUE_WORDS = NUMBER_WORDS | (FRACTION_WORDS - ODDS_WORDS) | MONTH_NAMES | QUARTER_WORDS | TIME_WORDS


def may_hold_value(text: str, words: AbstractSet[str]) -> bool:
    """Tell quickly whether looking for values can find any; `words` are the folded words of the text."""
    if not text.isascii() or _ASCII_DIGIT.search(text):
        return True
    return not words.isdisjoint(_VALUE_WORDS) or _has_compound(text, words)


def find_quantities(
    text: str, tokens: Sequence[Token], words: AbstractSet[str], *, decimal_comma: bool | None = None
) -> tuple[Quantity, ...]:
    """Return the values of a text in order, none overlapping another; `words` are the folded words of its tokens."""
    first_digit = (_ASCII_DIGIT if text.isascii() else _DIGIT).search(text)
    has_digit = first_digit is not None
    found: list[Quantity] = []
    names_month = not MONTH_NAMES.isdisjoint(words) and _names_month(tokens)
    names_quarter = not words.isdisjoint(QUARTER_WORDS)
    if has_digit or names_month or names_quarter:
        _add(found, _dates(text, names_month=names_month, names_quarter=names_quarter))
    names_time = not words.isdisjoint(TIME_WORDS)
    if has_digit or names_time:
        _add(found, _times(text, names_time=names_time))
    _add(found, find_fractions(text, words, has_digit=has_digit))
    if first_digit is not None:
        if not text.isascii():
            mixed = MIXED_NUMERAL.finditer(text)
            _add(found, [read_value(text, m.start(), m.end(), (read_mixed(m.group()),), 0.0) for m in mixed])
        _add(found, _ordinals(text))
        _add(found, _digits(text, max(0, first_digit.start() - 1), decimal_comma))
    _add(found, _worded(text, tokens, words))
    if not text.isascii():
        _add(found, _unspaced(text))
    return tuple(_ranged(text, _said_twice(text, found)))


def _add(found: list[Quantity], new: list[Quantity]) -> None:
    """Put the values that overlap none of those found before in their places; a table may hold thousands."""
    for quantity in new:
        place = bisect_left(found, quantity.end, key=_start_of)
        if not place or found[place - 1].end <= quantity.start:
            found.insert(place, quantity)


def _dates(text: str, *, names_month: bool, names_quarter: bool) -> list[Quantity]:
    return [
        Quantity(
            start=date.start,
            end=date.end,
            text=text[date.start : date.end],
            dimension="date",
            dates=date.readings,
            bound=bound_of_date(text, date.start),
        )
        for date in find_dates(text, names_month=names_month, names_quarter=names_quarter)
    ]


def _names_month(tokens: Sequence[Token]) -> bool:
    """Tell whether a word for a month can be one: it has a capital letter, or a number that may be its day or year."""
    return any(
        token.is_name or any(t.word[0].isdigit() for t in tokens[max(0, place - 4) : place + 3])
        for place, token in enumerate(tokens)
        if token.word in MONTH_NAMES
    )


def _times(text: str, *, names_time: bool) -> list[Quantity]:
    return [
        Quantity(start=time.start, end=time.end, text=text[time.start : time.end], dimension="time", time=time)
        for time in find_times(text, names_time=names_time)
    ]


def _ordinals(text: str) -> list[Quantity]:
    return [
        Quantity(start=m.start(), end=m.end(), text=m.group(), dimension="ordinal", values=(float(m.group()[:-2]),))
        for m in _ORDINAL.finditer(text)
    ]


def _digits(text: str, at: int, decimal_comma: bool | None) -> list[Quantity]:
    found: list[Quantity] = []
    taken = 0
    for match in _NUMBER.finditer(text, at):
        raw, start, end = match.group(), match.start(), match.end()
        if start < taken or len(raw) > _LONGEST_NUMBER:
            continue
        if code := _number_code(text, match):
            found.append(code)
            taken = code.end
            continue
        if (label := _dotted_label(text, start, end)) is not None:
            found.append(label)
            taken = label.end
            continue
        if _CODE_AFTER.match(text, end) and not _JOINED_NUMBER.match(text, end):
            continue  # part of a code or version
        if raw.count(".") > 1 and _VERSION.search(raw):
            continue  # 2.0.1
        negative = raw[0] in "-−" and not (start and text[start - 1].isalnum())
        if raw[0] in "-−" and not negative:
            start += 1
        if text[end : end + 1].isalpha() and read_value(text, start, end, (1.0,), 0.0).end == end:
            continue  # "3D", "4x4": digits inside a name
        values = read_digits(raw.lstrip("-−"), decimal_comma=decimal_comma)
        values = tuple(-value for value in values) if negative else values
        found.append(read_value(text, start, end, values, 0.5 * 10 ** -_decimals(raw)))
    return found


def _dotted_label(text: str, start: int, end: int) -> Quantity | None:
    """Read "12.3" or "12.3.1" as the number of a clause where it is one: 12.10 is not 12.1 there, nor near 12.11."""
    found = _DOTTED.match(text, start)
    if not found or found.end() < end:
        return None
    label = read_value(text, start, start + len(found[1]), (float(found[1]),), 0.0)
    if not label.dimension.startswith("label"):
        return None
    rest = LABEL_DETAIL.match(text, found.end())
    end = rest.end() if rest else found.end()
    return label._replace(end=end, text=text[start:end], detail=text[start + len(found[1]) : end])


def _number_code(text: str, match: re.Match[str]) -> Quantity | None:
    """Read groups of digits with hyphens that are no range, such as a telephone number."""
    rest = _PHONE_LIKE.match(text, match.end())
    raw = match.group().lstrip("-−")
    if not rest or not raw.isdigit():
        return None
    groups = re.split("[-–]", rest.group()[1:])
    if len(raw) + len(rest.group()) > _LONGEST_NUMBER:
        return None
    if len(groups) == 1 and groups[0][0] != "0" and int(groups[0]) > int(raw):
        return None
    start, end = match.end() - len(raw), rest.end()
    value = float(int("".join((raw, *groups))))
    return Quantity(start=start, end=end, text=text[start:end], dimension="code", values=(value,))


def _decimals(raw: str) -> int:
    tail = re.split(r"[.,]", raw)
    return len(tail[-1]) if len(tail) == 2 and len(tail[-1]) != 3 else 0


def _worded(text: str, tokens: Sequence[Token], words: AbstractSet[str]) -> list[Quantity]:
    if words.isdisjoint(NUMBER_WORDS) and not _has_compound(text, words):
        return []
    found = []
    for numeral in find_numerals(text, tokens):
        start, end = tokens[numeral.first].start, tokens[numeral.last - 1].end
        quantity = read_value(text, start, end, (numeral.value,), 0.0)
        if quantity.unit is None and numeral.value <= 1:
            if numeral.first and (counted := _counted_after(text, tokens, numeral)):
                found.append(counted)
            continue
        is_weak = numeral.is_ambiguous and quantity.unit is None
        found.append(quantity._replace(is_weak=True) if is_weak else quantity)
    return found


def _counted_after(text: str, tokens: Sequence[Token], numeral: Numeral) -> Quantity | None:
    """Read a number that stands behind its unit, as one does in Arabic."""
    before, last = tokens[numeral.first - 1], tokens[numeral.last - 1]
    unit = find_unit(before.word) if last.word in BEHIND_UNITS else None
    return measured(text, before.start, last.end, (numeral.value,), unit) if unit else None


def _has_compound(text: str, words: AbstractSet[str]) -> bool:
    """Tell whether a word may be a German number written as one."""
    if text.isascii():
        lower = text.lower()
        if not any([end in lower for end in COMPOUND_ENDS]):
            return False
    return any(word.endswith(COMPOUND_ENDS) for word in words)


def _unspaced(text: str) -> list[Quantity]:
    found = []
    for match in _CJK_VALUE.finditer(text):
        if match[2] == "年" and read_cjk(match[1]) >= _FIRST_YEAR:
            year = Date(int(read_cjk(match[1])), None, None)
            found.append(
                Quantity(start=match.start(), end=match.end(1), text=match[1], dimension="date", dates=(year,))
            )
            continue
        found.append(read_value(text, match.start(), match.end(1), (read_cjk(match[1]),), 0.0))
    return found


def _said_twice(text: str, found: list[Quantity]) -> list[Quantity]:
    """Join a value with its repetition in parentheses, as contracts write: sixty (60) days, 30 (thirty) days."""
    joined: list[Quantity] = []
    for quantity in found:
        if joined and quantity.start < joined[-1].end:
            continue  # the joined value reaches over it: "5 (5) 1/2"
        closing = _CLOSING.match(text, quantity.end)
        if not (joined and closing and _OPENING.fullmatch(text, joined[-1].end, quantity.start)):
            joined.append(quantity)
            continue
        first = joined[-1]
        if not set(first.values) & set(quantity.values) or quantity.unit is not None:
            joined.append(quantity)
        elif first.unit is None:
            joined[-1] = read_value(text, first.start, closing.end(), first.values, 0.0)
        else:
            joined[-1] = first._replace(end=closing.end(), text=text[first.start : closing.end()])
    return joined


def _ranged(text: str, found: list[Quantity]) -> list[Quantity]:
    """Join two neighbouring values that name the ends of a range."""
    joined: list[Quantity] = []
    for quantity in found:
        if joined and (both := _range(text, joined[-1], quantity)):
            joined[-1] = both
        else:
            joined.append(quantity)
    return joined


def _range(text: str, left: Quantity, right: Quantity) -> Quantity | None:
    joint = _RANGE_JOINT.match(text[left.end : right.start])
    if not joint or left.upper or left.time_end:
        return None
    if joint.group().strip().lower() in ("and", "und", "et", "y", "e", "a") and not _BETWEEN.search(
        text[: left.start][-12:]
    ):
        return None
    if left.time and right.time:
        return left._replace(end=right.end, text=text[left.start : right.end], time_end=right.time)
    fits = left.dimension == right.dimension or (left.unit is None and left.dimension == "count")
    if not (fits and left.values and right.values) or right.dimension.startswith(("label", "ordinal")):
        return None
    unit = right.unit or left.unit
    factor, offset = (unit.factor, unit.offset) if unit and left.unit is None else (1.0, 0.0)
    scale = right.values[0] and 1.0
    low = tuple(value * factor * scale + offset for value in left.values)
    if min(low) >= max(right.values):
        return None
    return right._replace(
        start=left.start,
        text=text[left.start : right.end],
        values=low,
        upper=right.values,
        unit=unit,
        bound=Bound.EXACT,
    )
