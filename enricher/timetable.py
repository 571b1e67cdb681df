"""When a job is due: cron times on a wall clock that jumps twice a year, and plain intervals."""

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from apscheduler.triggers.base import BaseTrigger  # type: ignore[import-untyped]  # ships no type information
from apscheduler.triggers.cron import CronTrigger  # type: ignore[import-untyped]

_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_SHORTHANDS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_A_DAY = timedelta(days=1)
_INSTANT = timedelta(microseconds=1)


class CronTimes(BaseTrigger):  # type: ignore[misc]
    """A crontab line in a time zone, as people mean it.

    A time that a spring night leaves out is due when that gap ends; a time that an autumn night has twice is due at the
    first of the two. Lines for every hour (hour field `*`) follow the time that passes instead: each matching minute
    that really happens, none that does not.

    Raises:
        ValueError: the line is no crontab line, or never due.
    """

    def __init__(self, line: str, zone: ZoneInfo) -> None:
        self.line = line
        self.zone = zone
        minute, hour, day, month, weekday = _fields(line)
        self._is_hourly = hour == "*"
        # As in every cron, a line that names days of the month and days of the week is due on either.
        names_both = not day.startswith("*") and not weekday.startswith("*")
        weekday = _named(weekday)
        either = ((day, "*"), ("*", weekday)) if names_both else ((day, weekday),)
        # On this clock UTC stands for the wall clock: jumps of the time zone are for this class to see to.
        try:
            self._clocks = tuple(
                CronTrigger(minute=minute, hour=hour, day=d, month=month, day_of_week=w, timezone=UTC)
                for d, w in either
            )
        except ValueError as problem:
            raise ValueError(f"'{line}' is no crontab line: {problem}") from problem
        if self._next_on_the_wall(datetime(2000, 1, 1)) is None:
            raise ValueError(f"'{line}' is never due")

    def __str__(self) -> str:
        return f"{self.line} {self.zone.key}"

    def get_next_fire_time(self, previous: datetime | None, now: datetime) -> datetime | None:
        """Return the next moment after the previous one; without one, after now."""
        after = (previous or now).astimezone(UTC)
        return self._next_that_happens(after) if self._is_hourly else self._next_said_once(after)

    def _next_said_once(self, after: datetime) -> datetime | None:
        wall: datetime | None = self._wall(after)
        while wall is not None and (wall := self._next_on_the_wall(wall)) is not None:
            moment = self._first_moment(wall)
            if moment > after:
                return moment
        return None

    def _next_that_happens(self, after: datetime) -> datetime | None:
        """Go along stretches of the same offset from UTC."""
        moment = after
        wall = self._wall(moment)
        while (found := self._next_on_the_wall(wall)) is not None:
            offset = self._offset(moment)
            candidate = found.replace(tzinfo=UTC) - offset
            end = min(candidate, moment + _A_DAY)
            if self._offset(end) != offset:
                moment = self._jump(moment, end)
                wall = self._wall(moment) - _INSTANT  # what the clock shows right after the jump counts as well
            elif end == candidate:
                return candidate
            else:
                moment = end
                wall = self._wall(moment)
        return None

    def _next_on_the_wall(self, wall: datetime) -> datetime | None:
        after = wall.replace(tzinfo=UTC) + _INSTANT
        found = [clock.get_next_fire_time(None, after) for clock in self._clocks]
        return min((moment.replace(tzinfo=None) for moment in found if moment is not None), default=None)

    def _first_moment(self, wall: datetime) -> datetime:
        moment = wall.replace(tzinfo=self.zone).astimezone(UTC)
        if self._wall(moment) == wall:
            return moment
        before = wall.replace(tzinfo=self.zone, fold=1).astimezone(UTC)  # as if the clock had been changed already
        return self._jump(before, moment)

    def _jump(self, before: datetime, after: datetime) -> datetime:
        """Find the moment between two at which the offset changes, to the second, as zones have it."""
        offset = self._offset(before)
        first, last = int(before.timestamp()), int(after.timestamp())
        while last - first > 1:
            middle = (first + last) // 2
            if self._offset(datetime.fromtimestamp(middle, UTC)) == offset:
                first = middle
            else:
                last = middle
        return datetime.fromtimestamp(last, UTC)

    def _wall(self, moment: datetime) -> datetime:
        return moment.astimezone(self.zone).replace(tzinfo=None, fold=0)

    def _offset(self, moment: datetime) -> timedelta:
        return moment.astimezone(self.zone).utcoffset() or timedelta()


class EveryTimes(BaseTrigger):  # type: ignore[misc]
    """Every so often, counted in whole intervals of UTC, so that all processes agree without talking."""

    def __init__(self, interval: timedelta) -> None:
        self.interval = interval

    def __str__(self) -> str:
        return f"every {self.interval}"

    def get_next_fire_time(self, previous: datetime | None, now: datetime) -> datetime:
        """Return the next moment after the previous one; without one, after now."""
        passed = ((previous or now) - _EPOCH) // self.interval
        return _EPOCH + (passed + 1) * self.interval


def check_line(line: str) -> None:
    """Refuse what is no crontab line.

    Raises:
        ValueError: says what is wrong with it.
    """
    CronTimes(line, ZoneInfo("UTC"))


def _fields(line: str) -> list[str]:
    fields = _SHORTHANDS.get(line.strip().lower(), line).split()
    if len(fields) != 5:
        raise ValueError(
            f"'{line}' has {len(fields)} fields; write five: minute, hour, day of month, month, day of week"
        )
    return fields


def _named(field: str) -> str:
    """Name the days of the week: in a crontab 0 and 7 are Sunday, elsewhere 0 may be Monday."""
    if field == "*":
        return field
    days: list[str] = []
    for part in field.lower().split(","):
        match = re.fullmatch(r"(\*|[a-z0-9]+)(?:-([a-z0-9]+))?(?:/(\d+))?", part)
        if match is None or (match[1] == "*" and match[2]) or match[3] == "0":
            raise ValueError(f"'{part}' is no day of the week; write 0-7 (0 and 7 are Sunday) or sun, mon ...")
        first = 0 if match[1] == "*" else _number(match[1])
        last = 6 if match[1] == "*" or (match[3] and not match[2]) else _number(match[2] or match[1])
        last += 7 if last < first else 0  # fri-mon, and sat-sun
        days += [_DAYS[day % 7] for day in range(first, last + 1, int(match[3] or 1))]
    return ",".join(dict.fromkeys(days))


def _number(day: str) -> int:
    if day in _DAYS:
        return _DAYS.index(day)
    if day.isdigit() and int(day) <= 7:
        return int(day)
    raise ValueError(f"'{day}' is no day of the week; write 0-7 (0 and 7 are Sunday) or sun, mon ...")
