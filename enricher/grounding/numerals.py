"""Read numbers: digits of any script with their separators, and number words of a few languages."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from enricher.grounding.lexicon import word_set
from enricher.grounding.tokens import Token, fold

_ENGLISH = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_GERMAN = (
    "null ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn "
    "achtzehn neunzehn"
)
_FRENCH = "zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize"
_SPANISH = (
    "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis diecisiete "
    "dieciocho diecinueve"
)
_ITALIAN = "zero uno due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici quindici sedici"
_DUTCH = "nul een twee drie vier vijf zes zeven acht negen tien elf twaalf dertien veertien vijftien"
_PORTUGUESE = "zero um dois três quatro cinco seis sete oito nove dez onze doze treze catorze quinze"
_ARABIC = "صفر واحد اثنان ثلاثة أربعة خمسة ستة سبعة ثمانية تسعة عشرة"
_ARABIC_WITH_FEMININE = "صفر واحدة اثنتان ثلاث أربع خمس ست سبع ثماني تسع عشر"
_HINDI = "शून्य एक दो तीन चार पांच छह सात आठ नौ दस ग्यारह बारह तेरह चौदह पंद्रह"
_TENS = {
    20: "twenty zwanzig vingt veinte venti twintig vinte عشرون बीस",
    30: "thirty dreißig dreissig trente treinta trenta dertig trinta ثلاثون तीस",
    40: "forty fourty vierzig quarante cuarenta quaranta veertig quarenta أربعون चालीस",
    50: "fifty fünfzig cinquante cincuenta cinquanta vijftig cinquenta خمسون पचास",
    60: "sixty sechzig soixante sesenta sessanta zestig sessenta ستون साठ",
    70: "seventy siebzig setenta settanta zeventig septante سبعون सत्तर",
    80: "eighty achtzig ochenta ottanta tachtig oitenta huitante ثمانون अस्सी",
    90: "ninety neunzig noventa novanta negentig nonante تسعون नब्बे",
}
_SCALES = {
    100: "hundred hundert cent cents cien ciento cento honderd cem مئة مائة सौ",
    1000: "thousand tausend mille mil mila duizend tsd k ألف آلاف हजार हज़ार",
    10**5: "lakh lakhs लाख",
    10**6: "million millions millionen mio millón millones milione milioni miljoen milhão milhões mn mln مليون ملايين",
    10**7: "crore crores करोड़",
    10**9: "billion billions milliarde milliarden mrd milliard milliards miliardo miliardi miljard bn bln مليار",
    10**12: "trillion trillions billionen tn",
}
# Words that are numbers only beside other numbers or a unit: articles, pronouns, other parts of speech.
_AMBIGUOUS = word_set(
    "one a an ein un une dun dune uno um uma een sei once mil cent cents k elf dix mn tn due nove otto null nul"
) | {fold(word) for word in ("واحد", "واحدة", "एक", "दो")}
BEHIND_UNITS = frozenset((fold("واحد"), fold("واحدة")))  # "one" in Arabic, which follows what it counts
_CJK_DIGITS = {c: i for i, c in enumerate("〇一二三四五六七八九")} | {"零": 0, "两": 2, "兩": 2, "二": 2}
_CJK_SCALES = {"十": 10, "百": 100, "千": 1000, "万": 10**4, "萬": 10**4, "億": 10**8, "亿": 10**8}
CJK_NUMERAL = "[" + "".join(_CJK_DIGITS) + "".join(_CJK_SCALES) + "]"
COMPOUND_ENDS = ("zig", "ssig", "hundert", "tausend")  # of German number words written as one
_LARGE = 10_000


def _small() -> dict[str, int]:
    table: dict[str, int] = {}
    for row in (
        _ENGLISH,
        _GERMAN,
        _FRENCH,
        _SPANISH,
        _ITALIAN,
        _DUTCH,
        _PORTUGUESE,
        _ARABIC,
        _ARABIC_WITH_FEMININE,
        _HINDI,
    ):
        table.update({fold(word): value for value, word in enumerate(row.split())})
    table.update({"uma": 1, "duas": 2, fold("पाँच"): 5, fold("छः"): 6})
    table.update({"dun": 1, "dune": 1})  # "d'un mois"; words have lost their apostrophes
    table.update({"eine": 1, "einen": 1, "einem": 1, "einer": 1, "eins": 1, "une": 1, "dozen": 12, "dutzend": 12})
    table.update({fold(word): value for value, row in _TENS.items() for word in row.split()})
    return table


_SMALL = _small()
_BARE_SCALES = word_set("hundred thousand hundert tausend cien mille") | {
    fold("مئة"),
    fold("مائة"),
    fold("ألف"),
    fold("सौ"),
}
NUMBER_WORDS = frozenset(_SMALL) | _BARE_SCALES  # without one of these no number is written in words
_SCALE_WORDS = {fold(word): value for value, row in _SCALES.items() for word in row.split()}
_GERMAN_PARTS = {fold(word): value for value, word in enumerate(_GERMAN.split())}
_GERMAN_TENS = {fold(word): value for value, row in _TENS.items() for word in row.split()[1:2]} | {"dreissig": 30}


class Numeral(NamedTuple):
    """A number written in words: the tokens it spans (half-open), its value, whether it may be no number at all."""

    first: int
    last: int
    value: float
    is_ambiguous: bool


def scale_of(word: str) -> int | None:
    """Return the factor of a scale word such as `million`, given folded and without a final point."""
    return _SCALE_WORDS.get(word)


def read_digits(raw: str, *, decimal_comma: bool | None = None) -> tuple[float, ...]:
    """Return the possible values of digits with separators, likeliest first.

    `decimal_comma` says how the text around writes numbers; None means that it isn't known, so that "1.000" has two.
    """
    if raw.isdecimal():
        return (float(int(raw)),)
    raw = raw.translate(_ARABIC_SEPARATORS)
    body = re.sub(r"[\s'’_]", "", raw)
    marks = [c for c in body if c in ".,"]
    if not marks:
        return (float(int(body)),)
    digits = "".join(str(int(c)) if c.isdigit() else c for c in body)
    if len(set(marks)) == 2:  # the last mark is the decimal one
        decimal = max(digits.rfind("."), digits.rfind(","))
        return (float(re.sub(r"[.,]", "", digits[:decimal]) + "." + digits[decimal + 1 :]),)
    mark = marks[0]
    as_decimal = None if len(marks) > 1 else float(digits.replace(mark, "."))
    groups = digits.split(mark)
    is_grouped = all(len(group) == 3 for group in groups[1:]) or (len(groups) > 2 and len(groups[-1]) == 3)
    as_whole = float(digits.replace(mark, "")) if is_grouped and groups[0] not in ("", "0") else None
    if as_decimal is None or as_whole is None:
        value = as_whole if as_decimal is None else as_decimal
        return (value if value is not None else float(digits.replace(mark, "")),)
    if decimal_comma is None:
        return (as_whole, as_decimal)
    return (as_decimal,) if (mark == ",") == decimal_comma else (as_whole,)


_ARABIC_SEPARATORS = str.maketrans({"٫": ",", "٬": "'", "，": ",", "．": "."})


def read_cjk(numeral: str) -> float:
    """Return the value of a number in Chinese characters, such as 三十五 or 二〇二四."""
    if not any(c in _CJK_SCALES for c in numeral):
        return float("".join(str(_CJK_DIGITS[c]) for c in numeral))
    total, section, digit = 0, 0, 0
    for c in numeral:
        if c in _CJK_DIGITS:
            digit = _CJK_DIGITS[c]
            continue
        scale = _CJK_SCALES[c]
        if scale >= _LARGE:
            total += (section + digit or 1) * scale
            section = 0
        else:
            section += (digit or 1) * scale
        digit = 0
    return float(total + section + digit)


_GROUP = re.compile(r"(\d[\d,]*(?:\.\d+)?)([十百千万萬億亿]{0,2})")
MIXED_NUMERAL = re.compile(r"(?<!\d)\d[\d,]*(?:\.\d+)?[百千万萬億亿]{1,2}(?:\d+[百千万萬億亿]{0,2})+")


def read_mixed(numeral: str) -> float:
    """Return the value of digits with several signs between them: 1億2千万, 3万5千, 2万5000."""
    total = 0.0
    for digits, scales in _GROUP.findall(numeral):
        value = float(digits.replace(",", ""))
        for scale in scales:
            value *= _CJK_SCALES[scale]
        total += value
    return total


def word_value(word: str) -> int | None:
    """Return the value of one folded number word, German compounds included, or None."""
    value = _SMALL.get(word)
    return value if value is not None else _german_compound(word)


def _german_compound(word: str) -> int | None:
    if len(word) < 8 or not word.endswith(COMPOUND_ENDS):
        return None
    for scale, name in ((1000, "tausend"), (100, "hundert")):
        if name in word:
            head, _, tail = word.partition(name)
            left = 1 if not head else word_value(head)
            right = 0 if not tail else word_value(tail)
            return None if left is None or right is None else left * scale + right
    unit, joint, ten = word.partition("und")
    if joint and unit in _GERMAN_PARTS and ten in _GERMAN_TENS:
        return _GERMAN_TENS[ten] + _GERMAN_PARTS[unit]
    return None


def find_numerals(text: str, tokens: Sequence[Token]) -> list[Numeral]:
    """Return the numbers written in words, in order."""
    found: list[Numeral] = []
    at = 0
    while at < len(tokens):
        if word_value(tokens[at].word) is None and not _is_bare_scale(tokens, at):
            at += 1
            continue
        numeral = _read_run(text, tokens, at)
        found.append(numeral)
        at = numeral.last
    return found


def _is_bare_scale(tokens: Sequence[Token], at: int) -> bool:
    """Tell whether a scale word counts by itself: "a hundred", "thousand euros"; not "thousands of"."""
    word = tokens[at].word
    return word in _BARE_SCALES


def _read_run(text: str, tokens: Sequence[Token], first: int) -> Numeral:
    total, current, at = 0.0, 0.0, first
    previous: int | None = None
    while at < len(tokens):
        if at > first and not _are_joined(text, tokens, at):
            break
        word = tokens[at].word
        value, scale = word_value(word), _SCALE_WORDS.get(word)
        if scale is not None and (at > first or value is None):
            if scale == 100:
                current = (current or 1) * scale
            else:
                total += (current or 1) * scale
                current = 0.0
            previous = scale
        elif value is not None and (previous is None or value < previous):
            current += value
            previous = value
        else:
            break
        at += 1
        if (
            at < len(tokens)
            and tokens[at].word in ("and", "y", "et", "e")
            and _continues_after_and(tokens, at, previous)
        ):
            at += 1
    is_ambiguous = at == first + 1 and tokens[first].word in _AMBIGUOUS
    return Numeral(first, at, total + current, is_ambiguous)


def _continues_after_and(tokens: Sequence[Token], at: int, previous: int | None) -> bool:
    """Tell whether `and` goes on with the number: "two hundred and five", "treinta y dos"; not "five and six"."""
    following = word_value(tokens[at + 1].word) if at + 1 < len(tokens) else None
    if following is None or previous is None or following >= previous:
        return False
    return previous >= 100 or (tokens[at].word != "and" and previous >= 20)


def _are_joined(text: str, tokens: Sequence[Token], at: int) -> bool:
    between = text[tokens[at - 1].end : tokens[at].start]
    return between.strip(" -‑–\u00a0") == ""
