"""Read what a heading says of every sentence below it: the period, the version, whether it is still in force."""

import re
from collections.abc import Sequence

from enricher.grounding.comparison import Likeness, compare
from enricher.grounding.lexicon import word_set
from enricher.grounding.measures import Quantity
from enricher.grounding.reading import Reading, read
from enricher.grounding.tokens import fold

_FINITE = word_set(
    """is are was were be been has have had do does did will would shall should can could may might must isn't aren't
    wasn't weren't don't doesn't didn't won't can't cannot ist sind war waren hat haben hatte wird werden kann können
    muss müssen darf soll est sont était a ont peut doit es son fue ha han puede debe sono può deve"""
)
_VERBS = _FINITE - {"may"}  # which may be a month
_YEAR = re.compile(r"\d{4}")
_ASCII_YEAR = re.compile(r"(?:1\d|2[01])\d\d(?!\d)")  # other digits, as of a number of a file, are read as no year
_MOST_WORDS = 24  # of a heading
_TITLE_SHARE = 0.65  # of capitals among its first words
_TITLE_END = re.compile(r"[,;:(–—]")
# Words, not concepts: a heading "Replacement of batteries" is not out of force.
_IN_FORCE = frozenset(
    map(fold, word_set("current currently valid applicable aktuell aktuelle gültig actuelle vigente"))
)
_OUT_OF_FORCE = frozenset(
    map(
        fold,
        word_set(
            """superseded obsolete outdated repealed withdrawn expired former archived deprecated veraltet überholt
            aufgehoben abrogé obsolète périmé derogado obsoleto"""
        ),
    )
)
_VERSION = re.compile(r"\b(?:v|version\s+|rev(?:ision)?\.?\s+)(\d+(?:\.\d+)*)\b", re.I)
_BESIDE = re.compile(r"\s*\(?(?:(?:in|for|during|of|im|für|en|au|nel)\s+)?(?:the\s+)?(?:\w+\s+)?$", re.I)


def is_heading(text: str, reading: Reading, *, is_first: bool) -> bool:
    """Tell whether a sentence of a document only names what follows.

    That is a marked heading, or at the very start (`is_first`) a title or the period that the document is about.
    """
    if text.startswith("#"):
        return True
    if not is_first or not 0 < len(reading.spelled) <= _MOST_WORDS or not _VERBS.isdisjoint(reading.words):
        return False
    cut = _TITLE_END.search(text)
    stop = cut.start() if cut else len(text)
    head = [token[2:] for token in reading.tokens if token.end <= stop] if cut else reading.unplaced
    capitals = [is_name for word, _, weight, is_name in head if weight and (word.isalpha() or not _has_digit(word))]
    is_title = len(capitals) > 1 and sum(capitals) >= _TITLE_SHARE * len(capitals)
    if not is_title and not _names_period(text, reading):
        return False
    if "may" in reading.words and any(token.word == "may" for token in reading.plain):
        return False
    opening = read(text[:stop])
    return is_title or not opening.tokens or not opening.whole.marks.is_past


def _names_period(text: str, reading: Reading) -> bool:
    """Tell whether a sentence names a year or a quarter of one; most show by their digits that they don't."""
    has_year = (_ASCII_YEAR if text.isascii() else _YEAR).search(text)
    return has_year is not None and any(is_period(quantity) for quantity in reading.quantities)


def _has_digit(word: str) -> bool:
    return any(c.isdigit() for c in word)


def is_clause(reading: Reading) -> bool:
    """Tell whether a few words state something by themselves: a subject of their own and a finite verb after it."""
    for place, token in enumerate(reading.tokens):
        if token.word in _FINITE:
            return any(t.weight for t in reading.tokens[:place])
    return False


def other_scope(claim: Reading, heading: Reading) -> tuple[str, str] | None:
    """Return how the claim and a heading name different versions, as the words of both; None if they don't."""
    ours, theirs = _VERSION.search(claim.text), _VERSION.search(heading.text)
    if ours and theirs:
        return (ours.group(), theirs.group()) if ours[1] != theirs[1] else None
    for named, excluded in ((_IN_FORCE, _OUT_OF_FORCE), (_OUT_OF_FORCE, _IN_FORCE)):
        said = next((t for t in claim.tokens if t.word in named), None)
        held = next((t for t in heading.tokens if t.word in excluded), None)
        if said and held and named.isdisjoint(heading.words):
            return claim.text[said.start : said.end], heading.text[held.start : held.end]
    return None


def period_of(quantity: Quantity, reading: Reading) -> Quantity | None:
    """Return the year or quarter that a sentence gives a value for: named right after it, or the only one there is."""
    periods = [q for q in reading.quantities if is_period(q)]
    for period in periods:
        if quantity.end <= period.start and _BESIDE.match(reading.text[quantity.end : period.start]):
            return period
    return periods[0] if len(periods) == 1 else None


def is_period(quantity: Quantity) -> bool:
    """Tell whether a value is a year or a quarter; a full date is when something was issued or happened."""
    return any(d.year is not None and d.month is None and d.day is None for d in quantity.dates)


def is_other_period(claimed: Quantity | None, nearby: Sequence[Quantity], heading: Reading | None) -> bool:
    """Tell whether a sentence stands under a heading for another period than the claimed one and doesn't name that."""
    if claimed is None or heading is None:
        return False
    if any(compare(claimed, other).likeness > Likeness.DIFFERENT for other in nearby):
        return False
    above = [compare(claimed, other).likeness for other in heading.quantities if is_period(other)]
    return bool(above) and max(above) is Likeness.DIFFERENT
