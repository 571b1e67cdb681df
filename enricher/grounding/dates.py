"""Read dates and times of day in their usual spellings, and tell whether two of them can be the same."""

import re
from enum import StrEnum
from typing import NamedTuple

from enricher.grounding.tokens import fold


class Date(NamedTuple):
    """A calendar date; None where the text leaves a part open."""

    year: int | None
    month: int | None
    day: int | None
    quarter: int | None = None


class FoundDate(NamedTuple):
    """A date in a text; "03/04/2024" has two readings."""

    start: int
    end: int
    readings: tuple[Date, ...]


class FoundTime(NamedTuple):
    """A time of day in a text, in minutes after midnight; `zone` is the offset from UTC in minutes, if named."""

    start: int
    end: int
    minutes: int
    zone: int | None


class DateMatch(StrEnum):
    """How a claimed date stands to one in the evidence."""

    SAME = "same"
    MORE_EXACT = "more exact"  # the claim names a part that the evidence leaves open
    DIFFERENT = "different"
    APART = "apart"  # they name no part in common, as a month and a year


_MONTHS = """
january januar jänner janvier enero gennaio januari janeiro jan يناير जनवरी
february februar février febrero febbraio februari fevereiro feb فبراير फरवरी फ़रवरी
march märz mars marzo maart março mar mär مارس मार्च
april avril abril aprile apr أبريل إبريل अप्रैल
may mai mayo maggio mei maio مايو मई
june juni juin junio giugno junho jun يونيو يونيه जून
july juli juillet julio luglio julho jul يوليو يوليه जुलाई
august août agosto augustus aug أغسطس अगस्त
september septembre septiembre settembre setembro sep sept سبتمبر सितंबर सितम्बर
october oktober octobre octubre ottobre outubro oct okt أكتوبر अक्टूबर अक्तूबर
november novembre noviembre novembro nov نوفمبر नवंबर नवम्बर
december dezember décembre diciembre dicembre december dezembro dec dez ديسمبر दिसंबर दिसम्बर
"""
_MONTH_NUMBER = {fold(w): n for n, row in enumerate(_MONTHS.strip().splitlines(), 1) for w in row.split()}
MONTH_NAMES = frozenset(_MONTH_NUMBER)
_AS_WRITTEN = sorted({w for row in _MONTHS.strip().splitlines() for w in row.split()}, key=len, reverse=True)
_MONTH = "(?:" + "|".join(_AS_WRITTEN) + ")"
_YEAR = r"(?:1[0-9]|20|21)\d\d"
# Arabic, Persian, Devanagari and wide digits, each in place of one of ours, so that offsets stay.
_DIGITS = {first + n: str(n) for first in map(ord, "٠۰०０") for n in range(10)}
_ORDINAL_END = r"(?:st|nd|rd|th|er|º|ª|\.)?"

_ISO = re.compile(rf"(?<!\d)({_YEAR})([-/.])(0?[1-9]|1[0-2])\2(0?[1-9]|[12]\d|3[01])(?![\d])")
_NUMERIC = re.compile(rf"(?<![\d./-])(\d{{1,2}})([./-])(\d{{1,2}})\2({_YEAR}|\d\d)(?![\d./-]\d|\d)")
_NAMED = re.compile(
    rf"""(?<!\w)
    (?:(?P<day>0?[1-9]|[12]\d|3[01]){_ORDINAL_END}\s*(?:of\s+|de\s+|day\s+of\s+)?(?:the\s+)?)?
    (?P<month>{_MONTH})(?!\w)\.?
    (?:\s+(?:the\s+)?(?P<day2>0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?(?![\d:.]\d|\d|\s*(?:%|€|[A-Z]{{3}}\b)))?
    (?:\s*,?\s*(?:of\s+|de\s+|del\s+)?(?P<year>{_YEAR})(?!\d))?""",
    re.I | re.X,
)
_CJK = re.compile(
    r"(\d{4})\s*年(?:\s*(\d{1,2})\s*月(?:\s*(\d{1,2})\s*[日号號])?)?|(\d{1,2})\s*月\s*(\d{1,2})\s*[日号號]"
)
# A bare year; a following letter or unit makes it a quantity ("1500 m").
_BARE_YEAR = re.compile(
    rf"(?:(?<![\w.,$€£¥/:-])|(?<=\d\d\d\d-))({_YEAR})(?!\d|[.,:]\d|\s*(?:%|°|€|\$|[a-zA-Z]+[²³]|(?:km|m|cm|mm|kg|g|l|ml|eur|euros?|usd|"
    r"dollars?|gbp|chf|pounds?|people|persons?|meters?|metres?|miles?|feet|ft|words?|employees|inhabitants|hours?|days?|"
    r"years?|million|billion|units?|calories|seats|students|points|votes|soldiers|men|women|kcal|mg|mah|watts?|w)\b))",
    re.I,
)
_AMBIGUOUS_MONTH = frozenset(
    {"may", "march", "mar", "mars", "august", "jan", "dec", "sep", "mai", "apr", "mei", "jun", "nov"}
)
_BEFORE_MONTH = re.compile(
    r"\b(?:in|of|since|until|till|by|from|to|during|through|before|after|early|late|mid|last|next|this|every|and|im|seit|bis|"
    r"en|de|between)[\s-]+$",
    re.I,
)

_COUNTED = {
    "first": 1, "1st": 1, "erstes": 1, "ersten": 1, "premier": 1, "second": 2, "2nd": 2, "zweites": 2, "zweiten": 2,
    "deuxieme": 2, "third": 3, "3rd": 3, "drittes": 3, "dritten": 3, "troisieme": 3, "fourth": 4, "4th": 4,
    "viertes": 4, "vierten": 4, "quatrieme": 4,
}  # fmt: skip
_QUARTER = re.compile(
    rf"""(?<![\w.])(?:
      (?:(?:FY|fiscal(?:\s+year)?)?[\s-]?(?P<year0>{_YEAR})[\s-]{{1,3}})?[QT](?P<number>[1-4])(?![\w.:]\w|\w|:)
        (?:[\s,'’-]{{0,2}}(?:of\s+)?(?:FY|fiscal(?:\s+year)?)?[\s-]?(?P<year1>{_YEAR})(?!\d))?
    | (?:(?P<name>first|second|third|fourth|[1-4](?:st|nd|rd|th)|erstes|ersten|zweites|zweiten|drittes|dritten|viertes|
        vierten|premier|deuxième|troisième|quatrième)\s+|(?P<dotted>[1-4])\.\s*)(?:(?:fiscal|calendar)\s+)?
        (?:quarter|quartal|trimestre)\b(?:\s+(?:of|de|des)(?:\s+(?:the|l['’]))?)?
        (?:\s+(?:(?:fiscal|calendar)\s+)?(?:year\s+)?(?P<year2>{_YEAR})(?!\d))?
    | (?:quarter|(?:three|3)[\s-]months?(?:\s+period)?)\s+(?:that\s+)?end(?:ed|ing|s)\s+(?:on\s+)?
        (?:(?P<month>{_MONTH})\s+\d{{1,2}}|\d{{1,2}}\s+(?P<month2>{_MONTH}))(?:,?\s*(?P<year3>{_YEAR})(?!\d))?
    )""",
    re.X | re.I,
)
# A quarter is named with one of these words.
QUARTER_WORDS = frozenset({"quarter", "quartal", "trimestre", "ended", "ending"}) | {
    f"{c}{n}" for c in "qt" for n in "1234"
}

_CLOCK = re.compile(
    r"(?<![\d.,:])([01]?\d|2[0-3])(?:[:.h]([0-5]\d))(?::[0-5]\d)?(?![\d:])(?:\s*(?P<half>[ap])\.?\s?m\b\.?)?(?P<uhr>\s*uhr\b)?"
    r"|(?<![\d.,:])(1[0-2]|0?[1-9])\s*(?P<half2>[ap])\.?\s?m\b\.?"
    r"|(?<![\d.,:])([01]?\d|2[0-3])\s*(?:uhr\b|o['’]clock\b|h\b(?=\s*(?:$|[^\w\s])))"
    r"|\b(?P<word>noon|midday|midnight)\b",
    re.I,
)
_ZONE = re.compile(r"\s*\(?(UTC|GMT|CET|CEST|BST|EET|EEST|EST|EDT|CST|CDT|MST|MDT|PST|PDT|JST|IST|MEZ|MESZ)\b")
_ZONES = {
    "UTC": 0, "GMT": 0, "CET": 60, "MEZ": 60, "CEST": 120, "MESZ": 120, "BST": 60, "EET": 120, "EEST": 180, "EST": -300,
    "EDT": -240, "CST": -360, "CDT": -300, "MST": -420, "MDT": -360, "PST": -480, "PDT": -420, "JST": 540, "IST": 330,
}  # fmt: skip
_NUMERIC_HINT = re.compile(r"\d[./-]\d")
_YEAR_HINT = re.compile(rf"{_YEAR}(?!\d)")
_TIME_HINT = re.compile(r"\d(?:[:.h]\d\d|\s?(?:[ap]\.?\s?m\b|uhr|o['’]clock|h\b))", re.I)
TIME_WORDS = frozenset(("noon", "midday", "midnight"))
_NOON = 12 * 60
_DAY = 24 * 60


def find_dates(text: str, *, names_month: bool = True, names_quarter: bool = True) -> list[FoundDate]:
    """Return the dates of a text in order; False saves looking for named months, or for quarters."""
    found: list[FoundDate] = []
    text = text if text.isascii() else text.translate(_DIGITS)
    if names_quarter:
        for match in _QUARTER.finditer(text):
            _keep(found, match, (_quarter_reading(match),))
    if _NUMERIC_HINT.search(text):
        for match in _ISO.finditer(text):
            _keep(found, match, (Date(int(match[1]), int(match[3]), int(match[4])),))
        for match in _NUMERIC.finditer(text):
            _keep(found, match, _numeric_readings(int(match[1]), int(match[3]), match[4], match[2]))
    if not text.isascii():
        for match in _CJK.finditer(text):
            year, month, day = match[1], match[2] or match[4], match[3] or match[5]
            _keep(found, match, (Date(*(int(part) if part else None for part in (year, month, day))),))
    if names_month:
        for match in _NAMED.finditer(text):
            _keep(found, match, _named_reading(text, match))
    if _YEAR_HINT.search(text):
        for match in _BARE_YEAR.finditer(text):
            _keep(found, match, (Date(int(match[1]), None, None),))
    found.sort()
    return found


def _keep(found: list[FoundDate], match: re.Match[str], readings: tuple[Date, ...]) -> None:
    start, end = match.span()
    if readings and not any(start < other.end and other.start < end for other in found):
        found.append(FoundDate(start, end, readings))


def _numeric_readings(first: int, second: int, year: str, mark: str) -> tuple[Date, ...]:
    full = int(year) if len(year) == 4 else 2000 + int(year) if int(year) < 70 else 1900 + int(year)
    if len(year) == 2 and mark == ".":  # "10.12.24" may as well be a version or a section number
        return (Date(full, second, first),) if 1 <= second <= 12 and 1 <= first <= 31 else ()
    day_first = (Date(full, second, first),) if 1 <= second <= 12 and 1 <= first <= 31 else ()
    month_first = (Date(full, first, second),) if 1 <= first <= 12 and 1 <= second <= 31 and mark != "." else ()
    return day_first if first == second else day_first + month_first


def _quarter_reading(match: re.Match[str]) -> Date:
    """Read "Q2 2025", "second quarter of 2025" and "quarter ended June 30, 2025" as the same three months."""
    year = match["year0"] or match["year1"] or match["year2"] or match["year3"]
    if month := match["month"] or match["month2"]:
        number = (_MONTH_NUMBER[fold(month)] + 2) // 3
    else:
        number = int(match["number"] or match["dotted"] or _COUNTED[fold(match["name"])])
    return Date(int(year) if year else None, None, None, number)


def _named_reading(text: str, match: re.Match[str]) -> tuple[Date, ...]:
    day, year = match["day"] or match["day2"], match["year"]
    if not (day or year) and (
        not match["month"][0].isupper()
        or (fold(match["month"]) in _AMBIGUOUS_MONTH and not _BEFORE_MONTH.search(text[: match.start()][-12:]))
    ):
        return ()
    if (
        match["day"]
        and not year
        and not match["month"][0].isupper()
        and fold(match["month"]) in ("may", "march", "mar")
    ):
        return ()
    return (Date(int(year) if year else None, _MONTH_NUMBER[fold(match["month"])], int(day) if day else None),)


def find_times(text: str, *, names_time: bool = True) -> list[FoundTime]:
    """Return the times of day of a text, in order; False says that it has none of the words for a time."""
    if not names_time and not _TIME_HINT.search(text):
        return []
    found = []
    for match in _CLOCK.finditer(text):
        minutes = _minutes(match)
        if minutes is None:
            continue
        end = zone.end() if (zone := _ZONE.match(text, match.end())) else match.end()
        found.append(FoundTime(match.start(), end, minutes, _ZONES[zone[1]] if zone else None))
    return found


def _minutes(match: re.Match[str]) -> int | None:
    if match["word"]:
        return 0 if match["word"].lower() == "midnight" else _NOON
    half = match["half"] or match["half2"]
    if match[2] is not None:
        separator = match.string[match.start(2) - 1]
        if separator == "." and not half and not match["uhr"]:
            return None  # a decimal number
        hour, minute = int(match[1]), int(match[2])
    else:
        hour, minute = int(match[5] or match[7]), 0
    if half:
        if hour > 12:
            return None
        hour = hour % 12 + (12 if half.lower() == "p" else 0)
    return hour * 60 + minute


def match_dates(claimed: tuple[Date, ...], evidence: tuple[Date, ...]) -> DateMatch:
    """Compare two dates over all their readings; the friendliest outcome counts."""
    outcomes = {_match(left, right) for left in claimed for right in evidence}
    return next((outcome for outcome in DateMatch if outcome in outcomes), DateMatch.DIFFERENT)


def _match(claimed: Date, evidence: Date) -> DateMatch:
    shared = False
    if claimed.quarter and evidence.month:
        # A day is no quarter, but it tells which one is meant.
        evidence = Date(evidence.year, None, None, (evidence.month + 2) // 3)
    elif evidence.quarter and claimed.month and (claimed.month + 2) // 3 == evidence.quarter:
        evidence = evidence._replace(quarter=None)
        shared = True
    for left, right in zip(claimed, evidence, strict=True):
        if left is not None and right is not None:
            if left != right:
                return DateMatch.DIFFERENT
            shared = True
    if not shared:
        return DateMatch.APART
    more_exact = any(left is not None and right is None for left, right in zip(claimed, evidence, strict=True))
    return DateMatch.MORE_EXACT if more_exact else DateMatch.SAME


def same_time(claimed: FoundTime, evidence: FoundTime) -> bool:
    """Tell whether two times are the same moment; zones count only where both are named."""
    if claimed.zone is None or evidence.zone is None:
        return claimed.minutes == evidence.minutes
    return (claimed.minutes - claimed.zone - evidence.minutes + evidence.zone) % _DAY == 0
