"""Read shares that are written as fractions."""

import re
from collections.abc import Set as AbstractSet

from enricher.grounding.lexicon import word_set
from enricher.grounding.measures import SIGNS, Quantity, measured, unit_after
from enricher.grounding.numerals import word_value
from enricher.grounding.tokens import fold
from enricher.grounding.units import find_unit

_FRACTION = re.compile(
    r"(?P<half>\bhalf\b(?!-)|\bhälfte\b|\bmoitié\b|\bmitad\b)"
    r"|\b(?P<n>a|one|two|three|four|five|ein|zwei|drei|un|deux|trois|dos|tres)[\s-]+"
    r"(?P<d>thirds?|quarters?|fourths?|fifths?|sixths?|eighths?|tenths?|drittel|viertel|fünftel|tiers|quarts?|tercios?"
    r"|cuartos?)"
    r"(?=\s+(?:of|der|des|von|de|du)\b)"
    r"|\b(?P<p>\d+|one|two|three|four|five|nine)\s+(?:in|out\s+of)\s+(?:every\s+)?"
    r"(?P<q>\d+|two|three|four|five|ten|twenty|100)\b(?!\s*(?:%|[a-z]*years?|days?))"
    r"|(?P<sign>[½¼¾⅓⅔⅛])|(?<![\w/.,])(?<!\d\s)(?P<a>[1-9])/(?P<b>[2-9]|10)(?![\w/])",
    re.I,
)
_PARTS = {
    "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "eighth": 8, "tenth": 10, "drittel": 3, "viertel": 4,
    "fünftel": 5, "tier": 3, "quart": 4, "tercio": 3, "cuarto": 4,
}  # fmt: skip
_PART_WORDS = frozenset(
    map(
        fold,
        word_set(
            """third thirds quarter quarters fourth fourths fifth fifths sixth sixths eighth eighths tenth tenths
            drittel viertel fünftel tiers quart quarts tercio tercios cuarto cuartos"""
        ),
    )
)
_COUNTS = word_set("a one two three four five ein zwei drei un deux trois dos tres")
ODDS_WORDS = word_set("in out")  # between two numbers: "one in four"
# Without one of these or a sign no fraction is written.
FRACTION_WORDS = _PART_WORDS | ODDS_WORDS | frozenset(map(fold, word_set("half hälfte moitié mitad")))
_ODDS = re.compile(
    r"(?:\d|one|two|three|four|five|nine)\s+in\s+(?:every\s+)?(?:\d|two|three|four|five|ten|twenty)", re.I
)
_ARTICLE = re.compile(r"\s*(?:an?\b)?")


def find_fractions(text: str, words: AbstractSet[str], *, has_digit: bool) -> list[Quantity]:
    """Return the shares of a text that are written as fractions: "half of", "two thirds of", "one in four", "3/4"."""
    has_sign = not text.isascii() and not SIGNS.keys().isdisjoint(text)
    if words.isdisjoint(FRACTION_WORDS) and not ("/" in text and has_digit) and not has_sign:
        return []
    named = words & FRACTION_WORDS
    if named == {"in"} and not _ODDS.search(text):
        return []
    if named and named <= _PART_WORDS and _counts_no_parts(text, words):
        return []
    found: list[Quantity] = []
    for match in _FRACTION.finditer(text):
        value = _fraction_value(match)
        end = match.end()
        unit, unit_end = unit_after(text, _after_article(text, end))
        if match["half"] and re.search(r"\band\s+a\s+$", text[max(0, match.start() - 8) : match.start()]):
            continue  # read with its number
        if match["half"] and unit is not None and unit.dimension in ("duration", "months"):
            found.append(measured(text, match.start(), unit_end, (value,), unit))
        elif match["sign"] and (match.start() == 0 or text[match.start() - 1].isdigit() is False):
            found.append(measured(text, match.start(), unit_end if unit else end, (value,), unit))
        elif not match["sign"]:
            weak = bool(match["half"]) and not re.match(r"\s+(?:of|the|der|des|de)\b", text[end : end + 6], re.I)
            ratio = find_unit("%")
            assert ratio is not None
            found.append(
                measured(text, match.start(), end, (value * 100,), ratio)._replace(is_weak=weak, precision=0.005)
            )
    return found


def _counts_no_parts(text: str, words: AbstractSet[str]) -> bool:
    """Tell quickly that the words for parts in a text are no fractions: most say which one, "the third office"."""
    is_plain = text.isascii() and "'" not in text  # so that its words are those that the pattern sees
    return is_plain and "/" not in text and words.isdisjoint(_COUNTS)


def _fraction_value(match: re.Match[str]) -> float:
    if match["half"]:
        return 0.5
    if match["sign"]:
        return SIGNS[match["sign"]]
    if match["a"]:
        return int(match["a"]) / int(match["b"])
    if match["p"]:
        return _small_number(match["p"]) / _small_number(match["q"])
    return _small_number(match["n"]) / _PARTS[match["d"].lower().rstrip("s")]


def _small_number(word: str) -> int:
    return int(word) if word.isdigit() else word_value(fold(word)) or 1


def _after_article(text: str, end: int) -> int:
    found = _ARTICLE.match(text, end)
    return found.end() if found else end
