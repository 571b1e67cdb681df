"""When jobs are due: on wall clocks that jump, and at intervals."""

import json
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from enricher.timetable import CronTimes, EveryTimes, check_line

CASES = {
    case["id"]: case
    for case in map(json.loads, (Path(__file__).parent / "cases/scheduling.jsonl").read_text().splitlines())
}
A_SECOND = timedelta(seconds=1)
YEAR = (datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC))


def times(line: str, zone: str, start: datetime | str, end: datetime | str) -> list[datetime]:
    """Return when a line is due in a window, on the wall clock of its zone."""
    place = ZoneInfo(zone)

    def moment(when: datetime | str) -> datetime:
        when = datetime.fromisoformat(when) if isinstance(when, str) else when
        return (when if when.tzinfo else when.replace(tzinfo=place)).astimezone(UTC)

    found, timetable, now = [], CronTimes(line, place), moment(start) - A_SECOND
    while (now := timetable.get_next_fire_time(now, now)) is not None and now < moment(end):
        found.append(now.astimezone(place))
    return found


def shown(moments: list[datetime]) -> list[str]:
    return [moment.isoformat(timespec="minutes") for moment in moments]


@pytest.mark.parametrize("name", ["SC-01", "SC-02"])
def test_a_nightly_job_is_due_once_in_the_night_that_changes_the_clock(name):
    case = CASES[name]
    hour, minute = case["input"]["schedule"].removeprefix("daily ").split(":")
    start, end = case["input"]["simulate"].removesuffix(" local").split(" to ")
    due = times(f"{int(minute)} {int(hour)} * * *", case["input"]["timezone"], start, end)
    per_day = Counter(moment.date().isoformat() for moment in due)
    assert per_day["2026-10-25"] != 2
    assert per_day == case["expected"]["runs_local_dates"]
    if name == "SC-02":
        (night,) = [moment for moment in due if moment.date() == date(2026, 3, 29)]
        assert "2026-03-29T03:00+02:00" <= night.isoformat(timespec="minutes") <= "2026-03-29T03:30+02:00"


def test_of_a_time_that_comes_twice_the_first_one_counts():
    assert shown(times("30 2 * * *", "Europe/Berlin", "2026-10-25", "2026-10-26")) == ["2026-10-25T02:30+02:00"]
    assert shown(times("15 1 * * *", "America/New_York", "2026-11-01", "2026-11-02")) == ["2026-11-01T01:15-04:00"]


def test_a_time_that_is_left_out_is_due_when_the_gap_ends():
    assert shown(times("30 2 * * *", "America/New_York", "2026-03-08", "2026-03-09")) == ["2026-03-08T03:00-04:00"]
    assert shown(times("0 0 * * *", "America/Havana", "2026-03-08", "2026-03-09")) == ["2026-03-08T01:00-04:00"]
    assert shown(times("10 2 * * *", "Australia/Lord_Howe", "2026-10-04", "2026-10-05")) == ["2026-10-04T02:30+11:00"]


def test_several_times_in_one_gap_are_one():
    due = shown(times("*/15 2,3 * * *", "Europe/Berlin", "2026-03-29", "2026-03-30"))
    assert due == [f"2026-03-29T03:{minute}+02:00" for minute in ("00", "15", "30", "45")]


def test_a_whole_day_that_a_country_left_out_is_made_up_for_at_once():
    due = shown(times("0 6 * * *", "Pacific/Apia", "2011-12-29", "2012-01-01"))
    assert due == ["2011-12-29T06:00-10:00", "2011-12-31T00:00+14:00", "2011-12-31T06:00+14:00"]


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "UTC"])
@pytest.mark.parametrize("line", ["30 2 * * *", "0 0 * * *", "59 1 * * *", "0 3 * * *"])
def test_a_daily_line_is_due_on_each_day_of_the_year_once(line, zone):
    due = times(line, zone, datetime(2026, 1, 1), datetime(2027, 1, 1))
    assert len({moment.date() for moment in due}) == len(due) == 365


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"])
@pytest.mark.parametrize(("line", "minutes"), [("*/15 * * * *", {0, 15, 30, 45}), ("7 * * * *", {7})])
def test_a_line_for_every_hour_follows_the_time_that_passes(line, minutes, zone):
    place, (start, end) = ZoneInfo(zone), YEAR
    every_minute = (start + timedelta(minutes=n) for n in range(int((end - start) / timedelta(minutes=1))))
    right = [moment for moment in every_minute if moment.astimezone(place).minute in minutes]
    assert [moment.astimezone(UTC) for moment in times(line, zone, start, end)] == right


def test_days_of_the_week_are_counted_as_in_a_crontab():
    def weekdays(field: str) -> list[int]:
        return sorted({moment.isoweekday() for moment in times(f"0 2 * * {field}", "UTC", *YEAR)})

    assert weekdays("0") == weekdays("7") == weekdays("sun") == [7]
    assert weekdays("1-5") == weekdays("Mon-Fri") == [1, 2, 3, 4, 5]
    assert weekdays("fri-mon") == [1, 5, 6, 7]
    assert weekdays("6-7") == weekdays("sat,0") == [6, 7]
    assert weekdays("*/3") == [3, 6, 7]
    assert weekdays("*") == [1, 2, 3, 4, 5, 6, 7]


def test_a_line_with_days_of_the_month_and_of_the_week_is_due_on_either():
    due = times("0 2 1 * 0", "UTC", "2026-11-01", "2026-12-07")
    assert [moment.day for moment in due] == [1, 8, 15, 22, 29, 1, 6]


def test_shorthands_are_understood():
    assert shown(times("@daily", "UTC", "2026-11-01", "2026-11-02T12:00")) == [
        "2026-11-01T00:00+00:00",
        "2026-11-02T00:00+00:00",
    ]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("61 2 * * *", "is no crontab line"),
        ("0 24 * * *", "is no crontab line"),
        ("0 2 * *", "has 4 fields"),
        ("0 2 30 2 *", "is never due"),
        ("0 2 * * 8", "'8' is no day of the week"),
        ("0 2 * * mo", "'mo' is no day of the week"),
        ("0 2 * * */0", "is no day of the week"),
        ("nightly", "has 1 fields"),
        ("", "has 0 fields"),
    ],
)
def test_what_is_no_crontab_line_is_refused_with_a_reason(line, problem):
    with pytest.raises(ValueError, match=problem):
        check_line(line)


def test_an_interval_is_counted_the_same_in_every_process():
    every = EveryTimes(timedelta(minutes=15))
    quarter = datetime(2026, 11, 1, 2, 15, tzinfo=UTC)
    assert every.get_next_fire_time(None, quarter - A_SECOND) == quarter
    assert every.get_next_fire_time(quarter, quarter + timedelta(hours=5)) == quarter + timedelta(minutes=15)
    assert every.get_next_fire_time(None, quarter) == quarter + timedelta(minutes=15)
