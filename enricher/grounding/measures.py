"""Read what stands around a number: scale, unit or currency, the label it numbers, its bound."""

import re
from typing import NamedTuple

from enricher.grounding.bounds import Bound, bound_after, bound_before
from enricher.grounding.dates import Date, FoundTime
from enricher.grounding.numerals import scale_of
from enricher.grounding.tokens import SIGNS_IN_WORDS, fold, key_of
from enricher.grounding.units import CURRENCY_MARKS, UNSPACED_UNITS, Unit, find_unit


class Quantity(NamedTuple):
    """A value in a text. `values` holds its possible readings in the unit of its dimension."""

    start: int
    end: int
    text: str
    dimension: str  # "length", "money:EUR", "date", "time", "count", "label:section", "ordinal" ...
    values: tuple[float, ...] = ()
    unit: Unit | None = None
    bound: Bound = Bound.EXACT
    upper: tuple[float, ...] = ()  # of a range
    upper_end: int | None = None
    dates: tuple[Date, ...] = ()
    time: FoundTime | None = None
    time_end: FoundTime | None = None  # of a span of time
    precision: float = 0.0  # half a unit of the last written digit, in the unit of the dimension
    is_scaled: bool = False  # written with a scale word: "1.2 million"
    detail: str = ""  # the subdivision of a label, "(1)(a)", or what a rate refers to, "month"
    is_weak: bool = False  # may be no value at all ("one", "a third"); never a finding by itself


SIGNS = {"½": 1 / 2, "¼": 1 / 4, "¾": 3 / 4, "⅓": 1 / 3, "⅔": 2 / 3, "⅛": 1 / 8}
_CURRENCY_BEFORE = re.compile(
    rf"({CURRENCY_MARKS}|\b(?:EUR|USD|GBP|CHF|JPY|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|BRL|Rs)\b\.?)\s*$"
)
_CURRENCY_AFTER = re.compile(rf"\s*({CURRENCY_MARKS})")
_UNIT_WORD = re.compile(
    r"[\s\u00a0\u202f-]{0,2}(%|％|‰|°\s?[CF]|[℃℉]|(?:[^\W\d_][" + SIGNS_IN_WORDS + r"]*)+(?:/[^\W\d_]+)?[²³]?\.?)"
)
_LATIN_UNIT = re.compile("[A-Za-z]{1,4}(?=[\u3040-\u30ff\u3400-\u9fff])")
_NEXT_WORD = re.compile(r"[\s\u00a0-]+([^\W\d_]+)")
# Nouns that take a number as a name: "Section 14", "room 3". The first spelling of a line is the name of the label.
_LABELS = """
section sections sec secs abschnitt seccion sezione
article articles art artikel arts articolo articulo
clause clauses klausel
paragraph paragraphs para paras absatz abs
chapter chapters chap kapitel capitulo chapitre
page pages p pp seite pagina
number no nr nos num ziffer nummer
figure fig figures abbildung abb
room rooms zimmer raum chambre salle habitacion
floor etage stock
step steps schritt
level levels stufe
"""
_PLAIN_LABELS = """
annex schedule appendix table gate platform phase type class category tier version line route form rule
regulation zone group building season episode volume grade stage model exhibit item question terminal bus
track lot apartment suite act title part division rev revision iso en din gleis window python windows ios
android district ward channel highway
"""
_LABEL_NAMES = {fold(w): row.split()[0] for row in _LABELS.strip().splitlines() for w in row.split()} | {
    w: w for w in _PLAIN_LABELS.split()
}
_LABEL = re.compile(r"(?:([^\W\d_]+)\.?|(§{1,2}))[\s\u00a0-]?[\s\u00a0]*$")
LABEL_DETAIL = re.compile(r"(?:\(\w{1,4}\))+")
_AND_A_HALF = re.compile(r"\s+and\s+a\s+half\b|\s+et\s+demie?\b|\s+y\s+medi[oa]\b", re.I)
_MIXED = re.compile(r"\s([1-9])/([2-9])(?![\w/])")  # "6 1/2"
_SHORT_SCALE = re.compile(r"\s?(bn|[mkb])\b", re.I)
_SHORT_SCALES = {"bn": 10**9, "b": 10**9, "m": 10**6, "k": 1000}
_SCALE_WORD = re.compile(r"[\s\u00a0-]?([^\W\d_]{1,10})\b")
_UNSPACED_SCALES = {"万": 10**4, "萬": 10**4, "億": 10**8, "亿": 10**8}
_RATE = re.compile(
    r"\s*(?:times\s+)?(?:(?:per|a|an|each|every|pro|par|por|je|/)\s*(?P<period>second|minute|hour|day|night|week|month|quarter|year|"
    r"annum|person|head|monat|jahr|woche|tag|stunde|mois|an|jour|mes|año|día)\b|(?P<every>hourly|weekly|monthly|yearly)\b)",
    re.I,
)
_OF_AGE = re.compile(r"\s+(?:old|of\s+age)\b")
_NO_ADJECTIVES = frozenset({"of", "or", "and", "to", "in", "per", "for", "a", "an", "the", "by", "on", "at", "x"})
_SHORTEST_UNIT = 3
_FIRST = re.compile(r"\b(?:first|last|initial|final|ersten|letzten|premiers|primeros|primi)\s+$", re.I)
FIRST = "first"  # the detail of a value that counts off a part: "the first two days"
_CURRENCY_REACH, _LABEL_REACH = 6, 16  # characters before a number


def read_value(text: str, start: int, end: int, values: tuple[float, ...], precision: float) -> Quantity:
    """Build a quantity from a number: scale, unit or currency, label and bound are read around it."""
    if half := _AND_A_HALF.match(text, end):
        values, end = tuple(value + 0.5 for value in values), half.end()
    elif mixed := _MIXED.match(text, end):
        values = tuple(value + int(mixed[1]) / int(mixed[2]) for value in values)
        end = mixed.end()
    elif text[end : end + 1] in SIGNS:
        values, end = tuple(value + SIGNS[text[end]] for value in values), end + 1
    scale, end = _scale_after(text, end)
    if scale != 1:
        values, precision = tuple(value * scale for value in values), precision * scale
    currency = _CURRENCY_BEFORE.search(text[max(0, start - _CURRENCY_REACH) : start])
    unit: Unit | None
    if currency and (unit := find_unit(currency[1].rstrip("."))):
        start -= len(currency.group())
        if scale == 1 and (short := _SHORT_SCALE.match(text, end)):
            scale, end = _SHORT_SCALES[short[1].lower()], short.end()
            values, precision = tuple(value * scale for value in values), precision * scale
    else:
        unit, end = unit_after(text, end)
        if (
            unit
            and unit.name in ("g", "m", "t", "l", "h", "A", "V", "W", "K", "B")
            and text[end : end + 1] in ("'", "’")
        ):
            unit = None
    if unit is None and scale == 1 and (label := _label(text[max(0, start - _LABEL_REACH) : start])):
        detail = LABEL_DETAIL.match(text, end)
        end = detail.end() if detail else end
        return Quantity(
            start=start,
            end=end,
            text=text[start:end],
            dimension=f"label:{label}",
            values=values,
            detail=detail.group() if detail else "",
        )
    value = measured(text, start, end, values, unit, precision)
    return value._replace(is_scaled=True) if scale > 1 else value


def measured(
    text: str, start: int, end: int, values: tuple[float, ...], unit: Unit | None, precision: float = 0.0
) -> Quantity:
    """Build a quantity whose unit is known; its values are brought into the unit of the dimension."""
    factor, offset = (unit.factor, unit.offset) if unit else (1.0, 0.0)
    bound = bound_before(text, start)
    if bound is Bound.EXACT:
        bound = bound_after(text, end)
        if bound is Bound.EXACT and unit and (old := _OF_AGE.match(text, end)):
            bound = bound_after(text, old.end())
    rate = _RATE.match(text, end)
    return Quantity(
        start=start,
        end=end,
        text=text[start:end],
        detail=key_of(rate["period"] or rate["every"].removesuffix("ly")) if rate else _part(text, start),
        dimension=unit.dimension if unit else "count",
        values=tuple(value * factor + offset for value in values),
        unit=unit,
        bound=bound,
        precision=precision * factor,
    )


def _part(text: str, start: int) -> str:
    return FIRST if _FIRST.search(text[max(0, start - _LABEL_REACH) : start]) else ""


def _scale_after(text: str, end: int) -> tuple[int, int]:
    if text[end : end + 1] in _UNSPACED_SCALES and end < len(text):
        return _UNSPACED_SCALES[text[end]], end + 1
    match = _SCALE_WORD.match(text, end)
    if match and (scale := scale_of(fold(match[1]))) and scale >= 1000 and match[1] not in ("Mil",):
        end = match.end()
        return scale, end + (text[end : end + 1] == "." and match[1].lower() in ("mio", "mrd", "tsd", "mn", "bn"))
    return 1, end


def unit_after(text: str, end: int) -> tuple[Unit | None, int]:
    """Return the unit that follows, and where it ends; the longest spelling wins ("working days" over "working")."""
    for name in UNSPACED_UNITS if end < len(text) and text[end] >= "\u3000" else ():
        if text.startswith(name, end):
            return find_unit(name), end + len(name)
    if mark := _CURRENCY_AFTER.match(text, end):
        return find_unit(mark[1]), mark.end()
    match = _UNIT_WORD.match(text, end)
    if not match:
        return None, end
    spelling, stop = match[1].replace(" ", ""), match.end()
    if not spelling.isascii() and (latin := _LATIN_UNIT.match(text, match.start(1))):
        return find_unit(latin[0]), latin.end() if find_unit(latin[0]) else end  # "3.1kgです"
    best: tuple[Unit | None, int] = (find_unit(spelling), stop)
    if best[0] is None and spelling.endswith("."):
        best = (find_unit(spelling.rstrip(".")), stop - 1)
    phrase = spelling
    for _ in range(2):
        following = _NEXT_WORD.match(text, stop)
        if not following:
            break
        phrase, stop = f"{phrase} {following[1]}", following.end()
        if unit := find_unit(phrase.lower()) or _described(spelling, following[1]):
            best = (unit, stop)
    if best[0] is None:
        return None, end
    if text[best[1] - 1] == "." and best[0].name != "in.":
        return best[0], best[1] - 1
    return best


def _described(adjective: str, word: str) -> Unit | None:
    """Return the unit of time that a word names after an adjective: "two remote days", "three long years"."""
    if not adjective.islower() or adjective.endswith("s") or adjective in _NO_ADJECTIVES or not word.endswith("s"):
        return None
    unit = find_unit(word)
    return unit if unit and unit.dimension in ("duration", "months") and len(word) > _SHORTEST_UNIT else None


def _label(before: str) -> str | None:
    match = _LABEL.search(before)
    if not match:
        return None
    return "section" if match[2] else _LABEL_NAMES.get(fold(match[1]))
