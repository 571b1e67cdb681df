"""Compare opening hours, as an answer tells them, with those of a record: days, times, closed days."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

Minutes = int  # since midnight
Hours = tuple[Minutes, Minutes]
Span = tuple[Minutes | None, Minutes | None]  # opening and closing; None where only the other is told

DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SHORT = {day[:3]: number for number, day in enumerate(DAYS)} | {"thurs": 3, "tues": 1, "thur": 3, "weds": 2}
_DAY = r"(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?s?\b\.?"
_TIME = r"(?:\d{1,2}(?::\d{1,2})?\s*(?:a\.?m\b\.?|p\.?m\b\.?)|\d{1,2}:\d{1,2}|noon|midnight)"
_LOOSE = r"(?:\d{1,2}(?::\d{1,2})?\s*(?:a\.?m\b\.?|p\.?m\b\.?)?|noon|midnight)"
_TOKEN = re.compile(
    rf"(?P<through>\b{_DAY}\s*(?:-|–|to|through|thru|until|till)\s*{_DAY})|(?P<day>\b{_DAY})"
    r"|(?P<weekdays>\bweek\s?days?\b)|(?P<weekend>\bweek-?\s?ends?\b)"
    r"|(?P<all>\b(?:every\s?day|daily|seven days|7 days|all week|each day|throughout the week|all days)\b)"
    r"|(?P<except>\b(?:except|excluding|other than|besides)\b)"
    r"|(?P<rest>\b(?:other days|rest of the week|remaining days|the other)\b)"
    rf"|(?P<span>(?:from\s+|between\s+)?(?P<from>{_LOOSE})\s*(?:-|–|—|to|until|till|through|and)\s*(?P<to>{_TIME}))"
    rf"|(?P<opens>\b(?:opens?|opening|starts?|from|starting)\s+(?:at\s+|from\s+)?(?P<open>{_TIME}))"
    rf"|(?P<closes>\b(?:closes?|closing|until|till|ends?)\s+(?:at\s+|until\s+)?(?P<close>{_TIME}))"
    r"|(?P<closed>\bclosed\b)|(?P<around>\b24[ /-]?(?:hours|7|hrs)|\baround the clock)",
    re.I,
)
_CLOCK = re.compile(r"(\d{1,2})(?::(\d{1,2}))?\s*(?:(a|p)\.?m)?", re.I)
_RECORDED = re.compile(r"\s*(\d{1,2}):(\d{1,2})\s*(?:-|–|to)\s*(\d{1,2}):(\d{1,2})")
_HALF_DAY = 720
_WEEKDAYS, _WEEKEND, _ALL = frozenset(range(5)), frozenset((5, 6)), frozenset(range(7))
_VARYING = re.compile(r"\bvar(?:y|ies|ying|ied|iable)\b|\bdepending\b|\bdifferent\b", re.I)  # "between 7 AM and 9 PM"
_OPEN = re.compile(r"\b(?:opens?|operat\w+|business hours|hours)\b", re.I)
_JOINING = re.compile(r"\s*(?:,|and|&|,\s*and|or|/)\s*(?:on\s+)?", re.I)


@dataclass(frozen=True, slots=True)
class Told:
    """What an answer says of some days; `spans` is empty for closed days. `start`, `end` are offsets into the claim."""

    days: frozenset[int]
    spans: tuple[Span, ...]
    start: int
    end: int
    is_closed: bool = False
    is_around_the_clock: bool = False


def day_of(word: str) -> int | None:
    """Return the number of a weekday, Monday being 0."""
    word = word.strip().rstrip(".").lower()
    for length in (5, 4, 3):
        if word[:length] in _SHORT and (len(word) <= length or word.rstrip("s") in DAYS):
            return _SHORT[word[:length]]
    return None


def read_recorded(value: str) -> Hours | None:
    """Read the hours of one day of a record, "7:0-15:30"; None when they are written otherwise."""
    found = _RECORDED.match(value)
    if not found:
        return None
    first, second = int(found[1]) * 60 + int(found[2]), int(found[3]) * 60 + int(found[4])
    return first, second


def read_told(text: str) -> list[Told]:
    """Return what a sentence tells of opening hours: each time with the days that it belongs to."""
    tokens = list(_TOKEN.finditer(text))
    if not tokens or _VARYING.search(text):
        return []
    if all(found["except"] or _names_days(found) for found in tokens):
        days = frozenset().union(*(_days(found, set()) for found in tokens if not found["except"]))
        is_told = len(days) > 1 and _OPEN.search(text) and not any(found["except"] for found in tokens)
        return [Told(days, (), tokens[0].start(), tokens[-1].end())] if is_told else []
    named = next((found for found in tokens if not found["except"]), None)
    teller = _Teller(text, days_first=named is None or _names_days(named))
    for found in tokens:
        if found["except"]:
            teller.is_excepting = True
        elif days := _days(found, teller.seen):
            teller.take_days(found, days)
        else:
            teller.take_time(found)
    return [one for one in teller.told if one.days]


class _Teller:
    """Puts days and times together as they come: days before their times, or behind them."""

    def __init__(self, text: str, *, days_first: bool) -> None:
        self.told: list[Told] = []
        self.seen: set[int] = set()
        self.is_excepting = False
        self._text, self._days_first = text, days_first
        self._days: frozenset[int] = frozenset()
        self._start = self._end = 0  # of the days
        self._times: list[re.Match[str]] = []  # of these days, or waiting for theirs

    def take_days(self, found: re.Match[str], days: frozenset[int]) -> None:
        """Take the name of a day or of several."""
        self.seen |= days
        if self.is_excepting:
            self.is_excepting = False
            self.told[-1:] = [replace(one, days=one.days - days) for one in self.told[-1:]]
            if not self.told:  # "every day except Monday from 9 to 5"
                self._days -= days
                return
        elif self._days and _JOINING.fullmatch(self._text, self._end, found.start()):
            self._days |= days
            self._end = found.end()
            if not self._days_first and self.told:
                self.told[-1] = replace(self.told[-1], days=self._days, end=self._end)
            return
        self._days, self._start, self._end = days, found.start(), found.end()
        if self._days_first:
            self._times = []
        elif self._times:
            self._tell()
            self._times = []

    def take_time(self, found: re.Match[str]) -> None:
        """Take a time, or that it is closed."""
        if not self._days_first or not self._days:
            self._days = frozenset()
            self._times.append(found)
            return
        if self._times:
            self.told.pop()
        self._times.append(found)
        self._tell()

    def _tell(self) -> None:
        spans: list[Span] = [(_minutes(found["from"]), _minutes(found["to"])) for found in self._times if found["span"]]
        opens = next((_minutes(found["open"]) for found in self._times if found["opens"]), None)
        closes = next((_minutes(found["close"]) for found in self._times if found["closes"]), None)
        if opens is not None or closes is not None:
            spans.append((opens, closes))
        self.told.append(
            Told(
                self._days,
                tuple(spans),
                min(self._start, self._times[0].start()),
                max(self._end, self._times[-1].end()),
                is_closed=any(found["closed"] for found in self._times) and not spans,
                is_around_the_clock=any(found["around"] for found in self._times),
            )
        )


def _names_days(found: re.Match[str]) -> bool:
    return any(found[name] for name in ("through", "day", "weekdays", "weekend", "all", "rest"))


def _days(found: re.Match[str], seen: set[int]) -> frozenset[int]:
    if found["through"]:
        first, last = (day_of(m.group()) for m in re.finditer(_DAY, found["through"], re.I))
        if first is None or last is None:
            return frozenset()
        return frozenset((first + step) % 7 for step in range((last - first) % 7 + 1))
    if found["day"]:
        day = day_of(found["day"])
        return frozenset() if day is None else frozenset((day,))
    if found["rest"]:
        return _ALL - seen
    return _WEEKDAYS if found["weekdays"] else _WEEKEND if found["weekend"] else _ALL if found["all"] else frozenset()


def _minutes(time: str) -> Minutes | None:
    lower = time.strip().lower()
    if lower in ("noon", "midnight"):
        return _HALF_DAY if lower == "noon" else 0
    found = _CLOCK.match(lower)
    if not found or int(found[1]) > 24:
        return None
    hour, minute = int(found[1]), int(found[2] or 0)
    if found[3]:
        hour = hour % 12 + (12 if found[3] == "p" else 0)
    return hour * 60 + minute


def differing_day(told: Told, recorded: Mapping[int, Hours | None]) -> int | None:
    """Return a day of which the record says something else; days that the record leaves out differ from nothing."""
    for day in sorted(told.days):
        hours = recorded.get(day)
        if hours is not None and not _agrees(told, hours):
            return day
    return None


def _agrees(told: Told, hours: Hours) -> bool:
    if hours[0] == hours[1]:  # "0:0-0:0" stands for closed as well as for always open
        return told.is_closed or told.is_around_the_clock or not told.spans
    if told.is_closed or told.is_around_the_clock:
        return False
    return not told.spans or any(_is_same(span, hours) for span in told.spans)


def _is_same(span: Span, hours: Hours) -> bool:
    return all(
        said is None or said == held or (said <= _HALF_DAY and said == held % _HALF_DAY)  # "from 5 to 9 pm"
        for said, held in zip(span, hours, strict=True)
    )
