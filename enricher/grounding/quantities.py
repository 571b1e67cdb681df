"""Find the values in a text (numbers, amounts, measures, shares, dates, times, numbered references) with their bounds."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from enricher.grounding.dates import Date, FoundTime, find_dates, find_times, is_month
from enricher.grounding.numerals import CJK_NUMERAL, find_numerals, read_cjk, read_digits, scale_of, word_value
from enricher.grounding.tokens import Token, fold
from enricher.grounding.units import CURRENCY_MARKS, UNSPACED_UNITS, Unit, find_unit


class Bound(StrEnum):
    """What a value limits: "at least 18" is AT_LEAST, "over 18" MORE_THAN, "within 30 days" WITHIN."""

    EXACT = "exactly"
    ABOUT = "about"
    AT_LEAST = "at least"
    MORE_THAN = "more than"
    AT_MOST = "at most"
    LESS_THAN = "less than"
    WITHIN = "within"


@dataclass(frozen=True, kw_only=True, slots=True)
class Quantity:
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
    detail: str = ""  # what follows the number of a label: "(1)(a)"
    is_weak: bool = False  # may be no value at all ("one", "a third"); never a finding by itself


_NUMBER = re.compile(r"(?<![A-Za-zÀ-ɏ\d_.,])[-−]?(?:\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?![\d])(?:[.,]\d+)?|\d+(?:[.,٫٬]\d+|['’]\d{3})*)")
_CODE_AFTER = re.compile(r"[-/]?[^\W\d_]*\d|\.\d")
_CURRENCY_BEFORE = re.compile(rf"({CURRENCY_MARKS}|\b(?:EUR|USD|GBP|CHF|JPY|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|BRL|Rs)\b\.?)\s*$")
_CURRENCY_AFTER = re.compile(rf"\s*({CURRENCY_MARKS})")
_UNIT_WORD = re.compile(r"[\s\u00a0\u202f-]{0,2}(%|％|‰|°\s?[CF]|[℃℉]|[^\W\d_]+(?:/[^\W\d_]+)?[²³]?\.?)")
_NEXT_WORD = re.compile(r"[\s\u00a0-]+([^\W\d_]+)")
_CJK_VALUE = re.compile(rf"({CJK_NUMERAL}+)(?=({'|'.join(UNSPACED_UNITS)}|人|个|名|歳|岁|次|回|%))")
_RANGE_JOINT = re.compile(r"\s*(?:-|–|—|‑|~|〜|to|bis|à|a|until|through|and|und|et|y|e)\s*$", re.I)
_BETWEEN = re.compile(r"(?:between|zwischen|entre|tra|from|von|de|desde)\s*$", re.I)
_FRACTION = re.compile(
    r"(?P<half>\bhalf\b(?!-)|\bhälfte\b|\bmoitié\b|\bmitad\b)"
    r"|\b(?P<n>a|one|two|three|four|five|ein|zwei|drei|un|deux|trois|dos|tres)[\s-]+"
    r"(?P<d>thirds?|quarters?|fourths?|fifths?|sixths?|eighths?|tenths?|drittel|viertel|fünftel|tiers|quarts?|tercios?|cuartos?)"
    r"(?=\s+(?:of|der|des|von|de|du)\b)"
    r"|\b(?P<p>\d+|one|two|three|four|five|nine)\s+(?:in|out\s+of)\s+(?:every\s+)?(?P<q>\d+|two|three|four|five|ten|twenty|100)\b(?!\s*(?:%|[a-z]*years?|days?))"
    r"|(?P<sign>[½¼¾⅓⅔⅛])|(?<![\w/.,])(?P<a>[1-9])/(?P<b>[2-9]|10)(?![\w/])",
    re.I,
)
_PARTS = {
    "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "eighth": 8, "tenth": 10, "drittel": 3, "viertel": 4,
    "fünftel": 5, "tier": 3, "quart": 4, "tercio": 3, "cuarto": 4,
}  # fmt: skip
_SIGNS = {"½": 1 / 2, "¼": 1 / 4, "¾": 3 / 4, "⅓": 1 / 3, "⅔": 2 / 3, "⅛": 1 / 8}
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
annex schedule appendix table gate platform phase type class category tier version line route form rule regulation zone group
building season episode volume grade stage model exhibit item question terminal bus track lot apartment suite act title part
division rev revision iso en din gleis window python windows ios android district ward channel highway
"""
_LABEL_NAMES = {fold(w): row.split()[0] for row in _LABELS.strip().splitlines() for w in row.split()} | {
    w: w for w in _PLAIN_LABELS.split()
}
_LABEL = re.compile(r"(?:([^\W\d_]+)\.?|(§{1,2}))[\s\u00a0-]?[\s\u00a0]*$")
_LABEL_DETAIL = re.compile(r"(?:\(\w{1,4}\))+")
_PHONE_LIKE = re.compile(r"(?:[-–]\d+)+")
_AND_A_HALF = re.compile(r"\s+and\s+a\s+half\b|\s+et\s+demie?\b|\s+y\s+medi[oa]\b", re.I)
_SHORT_SCALE = re.compile(r"\s?(bn|[mkb])\b", re.I)
_SHORT_SCALES = {"bn": 10**9, "b": 10**9, "m": 10**6, "k": 1000}
_ORDINAL = re.compile(r"(?<![\w.])(\d{1,3})(?:st|nd|rd|th)\b")

_BEFORE_BOUND = re.compile(
    r"""(?:(?P<about>about|around|approximately|approx\.?|roughly|circa|ca\.?|c\.|some|nearly|almost|close\s+to|an\s+estimated|
        estimated(?:\s+at)?|etwa|ungefähr|rund|zirka|knapp|environ|unos|unas|aproximadamente|cerca\s+de|alrededor\s+de|quasi|[~≈約约])
    |(?P<not_over>(?:not|no|never)\s+(?:more|greater|higher|longer|later|older)\s+than|(?:must|may|shall|can|should|do(?:es)?)?\s*
        not\s+(?:to\s+)?exceed(?:ing)?|at\s+most|at\s+the\s+most|up\s+to|(?:a\s+)?max(?:imum|\.)?(?:\s+of)?|maximal|höchstens|bis\s+zu|
        as\s+(?:long|much|many|far|high|late|old)\s+as|au\s+(?:plus|maximum)|jusqu['’]à|como\s+máximo|hasta|no\s+más\s+de|al\s+massimo|
        fino\s+a|limited\s+to|capped\s+at|nicht\s+mehr\s+als|ne\s+dépass\w+\s+pas|[≤⩽]|<=|最多|不超过|最大)
    |(?P<not_under>(?:not|no)\s+(?:less|fewer|lower|earlier|younger|sooner|shorter)\s+than|at\s+(?:the\s+)?least|
        (?:a\s+)?min(?:imum|\.)?(?:\s+of)?|mindestens|wenigstens|nicht\s+weniger\s+als|au\s+(?:moins|minimum)|al\s+menos|por\s+lo\s+menos|
        como\s+mínimo|almeno|minimal|starting\s+(?:at|from)|as\s+(?:little|few|low|early)\s+as|[≥⩾]|>=|至少|最少|最低)
    |(?P<over>more\s+than|over|above|exceed(?:s|ing|ed)?|greater\s+than|higher\s+than|longer\s+than|older\s+than|beyond|
        in\s+excess\s+of|mehr\s+als|über|länger\s+als|älter\s+als|plus\s+de|más\s+de|mayor\s+de|più\s+di|oltre|>|超过)
    |(?P<under>less\s+than|fewer\s+than|under|below|lower\s+than|shorter\s+than|younger\s+than|weniger\s+als|unter|
        kürzer\s+als|jünger\s+als|moins\s+de|menos\s+de|menor\s+de|meno\s+di|<|低于|未満)
    |(?P<within>within|inside|innerhalb(?:\s+von)?|binnen|in\s+less\s+than|dans\s+(?:les|un\s+délai\s+de)|sous|dentro\s+de|
        en\s+un\s+plazo\s+de|entro))
    \s*(?:the\s+|a\s+|an\s+|first\s+|de\s+|of\s+)?(?:US|CA|AU)?[$€£¥]?\s*(?:EUR|USD|GBP|CHF)?\s*$""",
    re.I | re.X,
)
_AFTER_BOUND = re.compile(
    r"""[\s,]*(?:\(?(?P<not_under>or\s+(?:more|older|over|above|longer|higher|greater|later)|and\s+(?:over|above|older|up|more)|minimum|
        at\s+(?:the\s+)?(?:least|minimum)|plus\b|upwards?|oder\s+(?:mehr|älter|länger)|ou\s+plus|o\s+más|以上|\+)
    |(?P<not_over>or\s+(?:less|fewer|younger|under|below|shorter|lower|earlier)|and\s+under|maximum|at\s+(?:the\s+)?(?:most|maximum)|
        oder\s+weniger|ou\s+moins|o\s+menos|以内|以下|max\b))""",
    re.I | re.X,
)
_DATE_BOUND = re.compile(
    r"""\b(?:(?P<under>before|prior\s+to|vor|avant|antes\s+(?:de|del))|(?P<not_over>by|until|till|up\s+to|no\s+later\s+than|
        not\s+later\s+than|through|bis(?:\s+zum)?|spätestens(?:\s+am)?|jusqu['’](?:à|au)|hasta(?:\s+el)?|at\s+the\s+latest)
    |(?P<over>after|nach(?:\s+dem)?|après(?:\s+le)?|después\s+del?)|(?P<not_under>since|from|as\s+of|starting(?:\s+on|\s+from)?|
        effective|ab(?:\s+dem)?|seit|depuis|à\s+partir\s+du|desde|a\s+partir\s+del?))\s*(?:the\s+|dem\s+|le\s+|el\s+)?$""",
    re.I | re.X,
)
_BOUND_OF_GROUP = {
    "about": Bound.ABOUT, "not_over": Bound.AT_MOST, "not_under": Bound.AT_LEAST, "over": Bound.MORE_THAN,
    "under": Bound.LESS_THAN, "within": Bound.WITHIN,
}  # fmt: skip
_LOOK_BACK = 36


def find_quantities(
    text: str, tokens: Sequence[Token], *, decimal_comma: bool | None = None
) -> tuple[Quantity, ...]:
    """Return the values of a text in order, none overlapping another."""
    words = {token.word for token in tokens}
    has_digit = any(c.isdigit() for c in text) or any(sign in text for sign in _SIGNS)
    found: list[Quantity] = []
    names_month = any(is_month(word) for word in words)
    if has_digit or names_month:
        _add(found, _dates(text, names_month=names_month))
    if has_digit or not words.isdisjoint(("noon", "midday", "midnight")):
        _add(found, _times(text))
    _add(found, _fractions(text, words, has_digit=has_digit))
    if has_digit:
        _add(found, _ordinals(text))
        _add(found, _digits(text, decimal_comma))
    _add(found, _worded(text, tokens, words))
    if not text.isascii():
        _add(found, _unspaced(text))
    found.sort(key=lambda quantity: quantity.start)
    return tuple(_ranged(text, found))


def _add(found: list[Quantity], new: list[Quantity]) -> None:
    for quantity in new:
        if not any(quantity.start < other.end and other.start < quantity.end for other in found):
            found.append(quantity)


def _dates(text: str, *, names_month: bool) -> list[Quantity]:
    return [
        Quantity(
            start=date.start,
            end=date.end,
            text=text[date.start : date.end],
            dimension="date",
            dates=date.readings,
            bound=_bound(_DATE_BOUND.search(text[max(0, date.start - _LOOK_BACK) : date.start])),
        )
        for date in find_dates(text, names_month=names_month)
    ]


def _times(text: str) -> list[Quantity]:
    return [
        Quantity(start=time.start, end=time.end, text=text[time.start : time.end], dimension="time", time=time)
        for time in find_times(text)
    ]


def _fractions(text: str, words: set[str], *, has_digit: bool) -> list[Quantity]:
    if not has_digit and words.isdisjoint(_FRACTION_WORDS):
        return []
    found = []
    for match in _FRACTION.finditer(text):
        value = _fraction_value(match)
        end = match.end()
        unit, unit_end = _unit_after(text, re.compile(r"\s*(?:an?\b)?").match(text, end).end())  # type: ignore[union-attr]
        if match["half"] and re.search(r"\band\s+a\s+$", text[max(0, match.start() - 8) : match.start()]):
            continue  # read with its number
        if match["half"] and unit is not None and unit.dimension in ("duration", "months"):
            found.append(_measured(text, match.start(), unit_end, (value,), unit))
        elif match["sign"] and (match.start() == 0 or text[match.start() - 1].isdigit() is False):
            found.append(_measured(text, match.start(), unit_end if unit else end, (value,), unit))
        elif not match["sign"]:
            weak = bool(match["half"]) and not re.match(r"\s+(?:of|the|der|des|de)\b", text[end : end + 6], re.I)
            ratio = find_unit("%")
            assert ratio is not None
            found.append(replace(_measured(text, match.start(), end, (value * 100,), ratio), is_weak=weak, precision=0.005))
    return found


_FRACTION_WORDS = frozenset(
    fold(w)
    for w in """half hälfte moitié mitad third thirds quarter quarters fourth fourths fifth fifths sixth sixths eighth eighths tenth
    tenths drittel viertel fünftel tiers quart quarts tercio tercios cuarto cuartos in out""".split()
)


def _fraction_value(match: re.Match[str]) -> float:
    if match["half"]:
        return 0.5
    if match["sign"]:
        return _SIGNS[match["sign"]]
    if match["a"]:
        return int(match["a"]) / int(match["b"])
    if match["p"]:
        return _small_number(match["p"]) / _small_number(match["q"])
    return _small_number(match["n"]) / _PARTS[match["d"].lower().rstrip("s")]


def _small_number(word: str) -> int:
    return int(word) if word.isdigit() else word_value(fold(word)) or 1


def _ordinals(text: str) -> list[Quantity]:
    return [
        Quantity(start=m.start(), end=m.end(), text=m.group(), dimension="ordinal", values=(float(m[1]),))
        for m in _ORDINAL.finditer(text)
    ]


def _digits(text: str, decimal_comma: bool | None) -> list[Quantity]:
    found: list[Quantity] = []
    taken = 0
    for match in _NUMBER.finditer(text):
        raw, start, end = match.group(), match.start(), match.end()
        if start < taken:
            continue
        if code := _number_code(text, match):
            found.append(code)
            taken = code.end
            continue
        if _CODE_AFTER.match(text, end) and not re.match(r"[-–/]\d", text[end : end + 2]):
            continue  # part of a code or version
        if re.search(r"\d[.,]\d+[.,]\d{1,2}(?:[.,]|$)", raw) and raw.count(".") > 1:
            continue  # 2.0.1
        negative = raw[0] in "-−" and not (start and text[start - 1].isalnum())
        if raw[0] in "-−" and not negative:
            start += 1
        if text[end : end + 1].isalpha() and _valued(text, start, end, (1.0,), 0.0).end == end:
            continue  # "3D", "4x4": digits inside a name
        values = read_digits(raw.lstrip("-−"), decimal_comma=decimal_comma)
        values = tuple(-value for value in values) if negative else values
        found.append(_valued(text, start, end, values, 0.5 * 10 ** -_decimals(raw)))
    return found


def _number_code(text: str, match: re.Match[str]) -> Quantity | None:
    """Read groups of digits with hyphens that are no range, such as a telephone number."""
    rest = _PHONE_LIKE.match(text, match.end())
    raw = match.group().lstrip("-−")
    if not rest or not raw.isdigit():
        return None
    groups = re.split("[-–]", rest.group()[1:])
    if len(groups) == 1 and groups[0][0] != "0" and int(groups[0]) > int(raw):
        return None
    start, end = match.end() - len(raw), rest.end()
    value = float(int("".join((raw, *groups))))
    return Quantity(start=start, end=end, text=text[start:end], dimension="code", values=(value,))


def _decimals(raw: str) -> int:
    tail = re.split(r"[.,]", raw)
    return len(tail[-1]) if len(tail) == 2 and len(tail[-1]) != 3 else 0


def _worded(text: str, tokens: Sequence[Token], words: set[str]) -> list[Quantity]:
    if words.isdisjoint(_NUMBER_WORDS) and not any(len(word) >= 8 and word_value(word) for word in words):
        return []
    found = []
    for numeral in find_numerals(text, tokens):
        start, end = tokens[numeral.first].start, tokens[numeral.last - 1].end
        quantity = _valued(text, start, end, (numeral.value,), 0.0)
        if quantity.unit is None and numeral.value <= 1:
            continue
        found.append(replace(quantity, is_weak=numeral.is_ambiguous and quantity.unit is None))
    return found


def _unspaced(text: str) -> list[Quantity]:
    found = []
    for match in _CJK_VALUE.finditer(text):
        found.append(_valued(text, match.start(), match.end(1), (read_cjk(match[1]),), 0.0))
    return found


def _valued(text: str, start: int, end: int, values: tuple[float, ...], precision: float) -> Quantity:
    """Build a quantity from a number: scale, unit or currency, label and bound are read around it."""
    if half := _AND_A_HALF.match(text, end):
        values, end = tuple(value + 0.5 for value in values), half.end()
    elif text[end : end + 1] in _SIGNS:
        values, end = tuple(value + _SIGNS[text[end]] for value in values), end + 1
    scale, end = _scale_after(text, end)
    values = tuple(value * scale for value in values)
    precision *= scale
    before = text[max(0, start - _LOOK_BACK) : start]
    currency = _CURRENCY_BEFORE.search(before)
    unit: Unit | None
    if currency and (unit := find_unit(currency[1].rstrip("."))):
        start -= len(currency.group())
        if scale == 1 and (short := _SHORT_SCALE.match(text, end)):
            scale, end = _SHORT_SCALES[short[1].lower()], short.end()
            values, precision = tuple(value * scale for value in values), precision * scale
    else:
        unit, end = _unit_after(text, end)
        if unit and unit.name in ("g", "m", "t", "l", "h", "A", "V", "W", "K", "B") and text[end : end + 1] in ("'", "’"):
            unit = None
    if unit is None and scale == 1 and (label := _label(before)):
        detail = _LABEL_DETAIL.match(text, end)
        end = detail.end() if detail else end
        return Quantity(
            start=start,
            end=end,
            text=text[start:end],
            dimension=f"label:{label}",
            values=values,
            detail=detail.group() if detail else "",
        )
    return replace(_measured(text, start, end, values, unit, precision), is_scaled=scale > 1)


def _measured(
    text: str, start: int, end: int, values: tuple[float, ...], unit: Unit | None, precision: float = 0.0
) -> Quantity:
    factor, offset = (unit.factor, unit.offset) if unit else (1.0, 0.0)
    before = text[max(0, start - _LOOK_BACK) : start]
    bound = _bound(_BEFORE_BOUND.search(before))
    if bound is Bound.EXACT:
        bound = _bound(_AFTER_BOUND.match(text, end))
        if bound is Bound.EXACT and unit and (old := re.match(r"\s+(?:old|of\s+age)\b", text[end : end + 10])):
            bound = _bound(_AFTER_BOUND.match(text, end + old.end()))
    return Quantity(
        start=start,
        end=end,
        text=text[start:end],
        dimension=unit.dimension if unit else "count",
        values=tuple(value * factor + offset for value in values),
        unit=unit,
        bound=bound,
        precision=precision * factor,
    )


def _bound(match: re.Match[str] | None) -> Bound:
    return _BOUND_OF_GROUP[match.lastgroup] if match and match.lastgroup else Bound.EXACT


def _scale_after(text: str, end: int) -> tuple[int, int]:
    match = re.compile(r"[\s\u00a0-]?([^\W\d_]{1,10})\b").match(text, end)
    if match and (scale := scale_of(fold(match[1]))) and scale >= 1000 and match[1] not in ("Mil",):
        end = match.end()
        return scale, end + (text[end : end + 1] == "." and match[1].lower() in ("mio", "mrd", "tsd", "mn", "bn"))
    if match is None and text[end : end + 1] in "万萬億亿" and end < len(text):
        return (10**4 if text[end] in "万萬" else 10**8), end + 1
    return 1, end


def _unit_after(text: str, end: int) -> tuple[Unit | None, int]:
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
    best: tuple[Unit | None, int] = (find_unit(spelling), stop)
    if best[0] is None and spelling.endswith("."):
        best = (find_unit(spelling.rstrip(".")), stop - 1)
    phrase = spelling
    for _ in range(2):
        following = _NEXT_WORD.match(text, stop)
        if not following:
            break
        phrase, stop = f"{phrase} {following[1]}", following.end()
        if unit := find_unit(phrase.lower()):
            best = (unit, stop)
    if best[0] is None:
        return None, end
    if text[best[1] - 1] == "." and best[0].name != "in.":
        return best[0], best[1] - 1
    return best


def _label(before: str) -> str | None:
    match = _LABEL.search(before)
    if not match:
        return None
    return "section" if match[2] else _LABEL_NAMES.get(fold(match[1]))


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
    if joint.group().strip().lower() in ("and", "und", "et", "y", "e", "a") and not _BETWEEN.search(text[: left.start][-12:]):
        return None
    if left.time and right.time:
        return replace(left, end=right.end, text=text[left.start : right.end], time_end=right.time)
    fits = left.dimension == right.dimension or (left.unit is None and left.dimension == "count")
    if not (fits and left.values and right.values) or right.dimension.startswith(("label", "ordinal")):
        return None
    unit = right.unit or left.unit
    factor, offset = (unit.factor, unit.offset) if unit and left.unit is None else (1.0, 0.0)
    scale = right.values[0] and 1.0
    low = tuple(value * factor * scale + offset for value in left.values)
    if min(low) >= max(right.values):
        return None
    return replace(
        right, start=left.start, text=text[left.start : right.end], values=low, upper=right.values, unit=unit, bound=Bound.EXACT
    )


_NUMBER_WORDS = frozenset(
    (
        "zero two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen "
        "nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand one a dozen zwei drei vier funf sechs "
        "sieben acht neun zehn elf zwolf zwanzig dreißig dreissig vierzig funfzig sechzig siebzig achtzig neunzig hundert tausend "
        "ein eine einen einem einer deux trois quatre cinq sept huit neuf dix onze douze quinze vingt trente quarante cinquante "
        "soixante un une dos tres cuatro cinco seis siete ocho nueve diez doce quince veinte treinta cuarenta cincuenta uno una"
    ).split()
)
