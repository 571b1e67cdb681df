"""Find personal data in a text: e-mail addresses, phone numbers, payment cards, bank accounts, national ids.

What has a check digit is only found when it is right, so that ordinary numbers stay readable to the judge. Wide
letters, zero-width characters and HTML character references hide nothing; the offsets are those of the original.
"""

import re
from collections.abc import Callable, Collection, Iterator
from datetime import date
from typing import Literal, NamedTuple, get_args

from enricher.folding import fold

Kind = Literal["iban", "card", "national_id", "email", "phone"]
KINDS: tuple[Kind, ...] = get_args(Kind)  # in the order in which they claim a stretch of text


class Hit(NamedTuple):
    """A stretch of text that holds personal data, and the one way of writing by which equal values are known."""

    start: int
    end: int
    kind: str
    value: str


_LINE = re.compile(r"[^\r\n]+")
_CLUE = re.compile(r"[@\d]|\bat\b")
_EMAIL = re.compile(
    r"(?<![\w.+-])[\w.!#$%&'*+/=?^{|}~-]{1,64}(?:@|\s?[\[(]\s?at\s?[\])]\s?)"
    r"(?:[\w-]{1,63}(?:\.|\s?[\[(]\s?dot\s?[\])]\s?)){1,5}[^\W\d_]{2,24}(?![\w-])",
    re.I,
)
_SPELLED = re.compile(r"\s?[\[(]\s?(at|dot)\s?[\])]\s?", re.I)
_IBAN_START = re.compile(r"(?<![^\W_])[A-Za-z]{2}\d{2}(?=[ -]?[A-Za-z\d])")
_IBAN_LENGTHS = {
    country: length
    for length, countries in {
        15: "NO",
        16: "BE",
        18: "DK FI FO GL NL",
        19: "MK SI",
        20: "AT BA EE KZ LT LU XK",
        21: "CH HR LI LV",
        22: "BG BH CR DE GB GE IE ME RS VA",
        23: "AE GI IL IQ TL",
        24: "AD CZ ES MD PK RO SA SE SK TN VG",
        25: "LY PT ST",
        26: "IS TR",
        27: "FR GR IT MC MR SM",
        28: "AL AZ BY CY DO GT HU LB PL SV",
        29: "BR EG PS QA UA",
        30: "JO KW MU",
        31: "MT SC",
        32: "LC",
    }.items()
    for country in countries.split()
}
_DIGITS = re.compile(r"(?<![\w.,])\d(?:[ -]?\d){12,30}(?![\w])")
_NATIONAL_PHONE = r"\(?0[1-9]\d{0,4}\)?(?: ?[/ -] ?|(?<=\)))\d{2,8}(?:[ -]\d{1,8}){0,4}"
_PHONE = re.compile(
    r"(?<![\w.,+/-])(?:(?=\+)|(?<!\d[ -]))(?:"  # no rest of a longer number
    r"(?:\+|00)[1-9]\d{0,2}(?:[ ./-]{0,2}\(?\d{1,5}\)?){1,6}"  # international
    r"|(?:1[-. ])?(?:\(\d{3}\) ?|\d{3}[-. ])\d{3}[-. ]\d{4}"  # North America
    rf"|{_NATIONAL_PHONE}"  # with a trunk zero
    r"|0[1-9]([ .])\d{2}(?:\1\d{2}){3}|0[1-9]\d{8,9}"  # in pairs, or in one
    r")(?![\w-]|[.,]\d)"
)
_CALLED = re.compile(
    r"(?<!\w)(?:tel|tel\w?fon\w*|téléphone|phone|telephone|mobile?|handy|cell|fax|call|dial|ring|whatsapp|sms|hotline)"
    r"(?!\w)[.:]?(?:\s(?:number|no|nr|us|is|at|on|me)\b[.:]?){0,3}[\s:]{0,3}"
    r"(?P<number>\+?\(?\d[\d ()./-]{5,18}\d)(?![\w-])",
    re.I,
)
_DATE = re.compile(r"\(?\d{1,2}\)?[-/. ]\d{1,2}[-/. ](?:19|20)\d\d(?!\d)|(?:19|20)\d\d[-/. ]\d{1,2}[-/. ]\d{1,2}(?!\d)")
_PHONE_DIGITS = range(7, 16)


def find(text: str, kinds: Collection[str]) -> Iterator[Hit]:
    """Yield what is found of these kinds, in the order of `KINDS`; stretches may overlap."""
    if not kinds or not _CLUE.search(text):
        return
    lines = [(found.start(), *_folded(found.group())) for found in _LINE.finditer(text) if _CLUE.search(found.group())]
    for kind in KINDS:
        if kind not in kinds:
            continue
        for offset, line, starts, ends in lines:
            for start, end, value in _FINDERS[kind](line):
                first = start if starts is None else starts[start]
                last = end if ends is None else ends[end - 1]
                yield Hit(offset + first, offset + last, kind, value)


def _folded(line: str) -> tuple[str, list[int] | None, list[int] | None]:
    return (line, None, None) if line.isascii() and "&" not in line else fold(line)


Found = Iterator[tuple[int, int, str]]


def _emails(line: str) -> Found:
    if "@" in line or "at" in line:
        for found in _EMAIL.finditer(line):
            spelled = _SPELLED.sub(lambda word: {"at": "@", "dot": "."}[word[1].lower()], found.group())
            yield found.start(), found.end(), spelled.casefold()


def _ibans(line: str) -> Found:
    for found in _IBAN_START.finditer(line):
        length = _IBAN_LENGTHS.get(found.group()[:2].upper(), 0)
        taken = _take(line, found.start(), length) if length else None
        if taken and _is_iban(taken[1]):
            yield found.start(), *taken


def _take(line: str, start: int, count: int) -> tuple[int, str] | None:
    """Take so many letters and digits, single blanks or hyphens between them left out."""
    taken, at = "", start
    while at < len(line) and len(taken) < count:
        char = line[at]
        if char.isascii() and char.isalnum():
            taken += char.upper()
        elif char not in " -" or line[at - 1] in " -":
            return None
        at += 1
    is_whole = len(taken) == count and not (at < len(line) and line[at].isalnum())
    return (at, taken) if is_whole else None


def _is_iban(text: str) -> bool:
    return int("".join(str(int(char, 36)) for char in text[4:] + text[:4])) % 97 == 1


def _cards(line: str) -> Found:
    for run in _DIGITS.finditer(line):
        places = [place for place in range(*run.span()) if line[place].isdigit()]
        first = 0
        while first + 13 <= len(places):
            length = _card_length(line, places, first)
            if length:
                last = places[first + length - 1]
                yield places[first], last + 1, "".join(line[place] for place in places[first : first + length])
            first += length or 1


def _card_length(line: str, places: list[int], first: int) -> int:
    """Return how many digits from the first on make a card: whole groups, a known issuer, and the right check digit."""
    start = places[first]
    if line[start] not in "23456" or (start and line[start - 1].isdigit()):
        return 0
    for length in range(min(19, len(places) - first), 12, -1):
        last = places[first + length - 1]
        digits = "".join(line[place] for place in places[first : first + length])
        if not line[last + 1 : last + 2].isdigit() and is_luhn(digits):
            return length
    return 0


def is_luhn(digits: str) -> bool:
    """Tell whether the last digit is the check digit of the others, as on payment cards."""
    doubled = (int(digit) * 2 for digit in digits[-2::-2])
    return (sum(map(int, digits[-1::-2])) + sum(d - 9 if d > 9 else d for d in doubled)) % 10 == 0


def _phones(line: str) -> Found:
    for pattern in (_PHONE, _CALLED):
        for found in pattern.finditer(line):
            start, end = found.span("number" if pattern is _CALLED else 0)
            written = line[start:end].rstrip(" (./-")
            digits = re.sub(r"\D", "", written.replace("(0)", ""))
            is_national = pattern is _PHONE and re.fullmatch(_NATIONAL_PHONE, written)
            if len(digits) not in _PHONE_DIGITS or (is_national and len(digits) < 9) or _DATE.match(written):
                continue
            is_international = written.startswith(("+", "00"))
            if is_international and len(digits) < 8:
                continue
            value = digits.removeprefix("00") if is_international else digits
            yield start, start + len(written), f"+{value}" if is_international else value


def same_phone(one: str, other: str) -> bool:
    """Tell whether a number without a country code is the other one, which has one."""
    short, long = sorted((one, other), key=lambda value: value.startswith("+"))
    if short.startswith("+") or not long.startswith("+"):
        return one == other
    own = short.removeprefix("0")
    return len(own) >= 7 and long.endswith(own) and 1 <= len(long) - 1 - len(own) <= 3


def _weighted(digits: str, weights: Collection[int]) -> int:
    return sum(int(digit) * weight for digit, weight in zip(digits, weights, strict=True))


def _is_german_tax(value: str) -> bool:
    counts = [value[:10].count(digit) for digit in set(value[:10])]
    if value[0] == "0" or sorted(counts)[-1] not in (2, 3):
        return False
    product = 10
    for digit in value[:10]:
        product = ((int(digit) + product) % 10 or 10) * 2 % 11
    return (11 - product) % 10 == int(value[10])


def _is_french(value: str) -> bool:
    number = value[:13].replace("2A", "19").replace("2B", "18")
    return number.isdigit() and 97 - int(number) % 97 == int(value[13:])


def _is_spanish(value: str) -> bool:
    number = int(value[:-1].translate(str.maketrans("XYZ", "012")))
    return "TRWAGMYFPDXBNJZSQVHLCKE"[number % 23] == value[-1]


_ITALIAN_ODD = dict(
    zip(
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16,
         10, 22, 25, 24, 23),
        strict=True,
    )
)  # fmt: skip


def _is_italian(value: str) -> bool:
    odd = sum(_ITALIAN_ODD[char] for char in value[0:15:2])
    even = sum(int(char) if char.isdigit() else ord(char) - 65 for char in value[1:15:2])
    return chr((odd + even) % 26 + 65) == value[15]


def _is_polish(value: str) -> bool:
    month = int(value[2:4]) % 20
    is_date = 1 <= month <= 12 and 1 <= int(value[4:6]) <= 31
    return is_date and (10 - _weighted(value[:10], (1, 3, 7, 9, 1, 3, 7, 9, 1, 3)) % 10) % 10 == int(value[10])


def _is_swedish(value: str) -> bool:
    return 1 <= int(value[-8:-6]) <= 12 and 1 <= int(value[-6:-4]) % 60 <= 31 and is_luhn(value[-10:])


def _is_brazilian(value: str) -> bool:
    if len(set(value)) == 1:
        return False
    return all(_weighted(value[:size], range(size + 1, 1, -1)) * 10 % 11 % 10 == int(value[size]) for size in (9, 10))


def _is_belgian(value: str) -> bool:
    return int(value[9:]) in (97 - int(value[:9]) % 97, 97 - int("2" + value[:9]) % 97)


def _is_swiss(value: str) -> bool:
    return _weighted(value, (1, 3) * 6 + (1,)) % 10 == 0


def _is_chinese(value: str) -> bool:
    try:
        date.fromisoformat(value[6:14])
    except ValueError:
        return False
    return "10X98765432"[_weighted(value[:17], [2 ** (17 - place) % 11 for place in range(17)]) % 11] == value[17]


def _is_dutch(value: str) -> bool:
    return _weighted(value, (9, 8, 7, 6, 5, 4, 3, 2, -1)) % 11 == 0


_DIHEDRAL = [
    [(a + b) % 5 if b < 5 else 5 + (a + b) % 5 for b in range(10)]
    if a < 5
    else [5 + (a - b) % 5 if b < 5 else (a - b) % 5 for b in range(10)]
    for a in range(10)
]
_SHIFT = (1, 5, 7, 6, 2, 8, 3, 0, 9, 4)


def _is_indian(value: str) -> bool:
    """Check a Verhoeff digit, as on Aadhaar numbers."""
    check = 0
    for place, digit in enumerate(reversed(value)):
        number = int(digit)
        for _ in range(place % 8):
            number = _SHIFT[number]
        check = _DIHEDRAL[check][number]
    return check == 0


def _always(_: str) -> bool:
    return True


_NUMBERED = re.compile(r"(?<![\w.,-])(?=\w{0,16}\d|[A-Z]{2} \d)(?=\S{9}|[A-Z\d]{1,4}(?: \d{2,4}){2})\w", re.I)
# How each country writes its numbers, and the check that tells them from others; labels stand where there is none.
_NATIONAL: tuple[tuple[re.Pattern[str], Callable[[str], bool]], ...] = tuple(
    (re.compile(rf"(?<![\w.,-]){pattern}(?![\w]|[-.,]\d)", re.I), check)
    for pattern, check in (
        (r"(?!000|666)\d{3}-(?!00)\d\d-(?!0000)\d{4}", _always),  # US: SSN and ITIN
        (r"(?!BG|GB|NK|KN|TN|NT|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z](?: ?\d\d){3} ?[A-D]", _always),  # UK: NINO
        (r"\d{2} ?\d{3} ?\d{3} ?\d{3}", _is_german_tax),
        (r"[12] ?\d\d ?(?:0[1-9]|1[0-2]|[2-9]\d) ?(?:\d\d|2[AB]) ?\d{3} ?\d{3} ?\d\d", _is_french),
        (r"(?:\d{8}|[XYZ]-?\d{7})-?[A-Z]", _is_spanish),
        (r"[A-Z]{6}[\dL-NP-V]{2}[A-EHLMPRST][\dL-NP-V]{2}[A-Z][\dL-NP-V]{3}[A-Z]", _is_italian),
        (r"\d{11}", _is_polish),
        (r"(?:19|20)?\d{6}[-+]\d{4}", _is_swedish),
        (r"\d{3}\.?\d{3}\.?\d{3}-?\d\d", _is_brazilian),
        (r"\d\d\.?\d\d\.?\d\d-?\d{3}\.?\d\d", _is_belgian),
        (r"756\.?\d{4}\.?\d{4}\.?\d\d", _is_swiss),
        (r"[1-9]\d{16}[\dX]", _is_chinese),
        (r"\d{6}-[1-8]\d{6}", _always),  # Korea
        (r"[2-9]\d{3}[ -]?\d{4}[ -]?\d{4}", _is_indian),
        (r"[A-Z]{3}[ABCFGHLJPT][A-Z]\d{4}[A-Z]", _always),  # India: PAN
        (r"\d{3}-\d{3}-\d{3}", is_luhn),  # Canada
    )
)
_NAMED = (
    (re.compile(r"\b(?:BSN|burgerservicenummer)\W{1,3}(?P<number>\d{9})\b", re.I), _is_dutch),
    (re.compile(r"\b(?:SSN|social security (?:number|no\.?))(?: is)?\W{1,3}(?P<number>\d{9})\b", re.I), _always),
    (
        re.compile(r"\b(?:passport|reisepass|passeport|pasaporte)(?: (?:number|no\.?|nr\.?))?(?: is)?\W{1,3}"
                   r"(?P<number>(?=\w*\d\w*\d\w*\d)[A-Z\d]{7,9})\b", re.I),
        _always,
    ),
)  # fmt: skip


def _national_ids(line: str) -> Found:
    # Tried only where a word with a digit begins: searching the line with each pattern takes ten times as long.
    starts = [found.start() for found in _NUMBERED.finditer(line)]
    for pattern, check in _NATIONAL if starts else ():
        for start in starts:
            if (found := pattern.match(line, start)) is not None:
                value = re.sub(r"[^A-Z\d]", "", found.group().upper())
                if check(value):
                    yield start, found.end(), value
    for pattern, check in _NAMED:
        for found in pattern.finditer(line):
            value = found["number"].upper()
            if check(value):
                yield found.start("number"), found.end("number"), value


_FINDERS: dict[Kind, Callable[[str], Found]] = {
    "iban": _ibans,
    "card": _cards,
    "national_id": _national_ids,
    "email": _emails,
    "phone": _phones,
}
