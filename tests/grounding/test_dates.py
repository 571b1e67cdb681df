"""Dates and times are read in their usual spellings and compared part by part."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enricher.grounding.dates import Date, DateMatch, find_dates, find_times, match_dates, same_time

MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-03-05", Date(2024, 3, 5)),
        ("March 5, 2024", Date(2024, 3, 5)),
        ("5 March 2024", Date(2024, 3, 5)),
        ("the 5th of March", Date(None, 3, 5)),
        ("am 5. März 2024", Date(2024, 3, 5)),
        ("5 de mayo de 2024", Date(2024, 5, 5)),
        ("31.12.2023", Date(2023, 12, 31)),
        ("2024年3月5日", Date(2024, 3, 5)),
        ("في 30 يونيو 2025", Date(2025, 6, 30)),
        ("٥ مارس ٢٠٢٤", Date(2024, 3, 5)),
        ("5 أغسطس 2024", Date(2024, 8, 5)),
        ("30 जून 2025 को", Date(2025, 6, 30)),
        ("5 जनवरी 2024 को", Date(2024, 1, 5)),
        ("in May", Date(None, 5, None)),
        ("March 2024", Date(2024, 3, None)),
        ("in 1999", Date(1999, None, None)),
    ],
)
def test_a_date_is_read(text, expected):
    assert [found.readings for found in find_dates(text)] == [(expected,)]


@pytest.mark.parametrize("text", ["You may go", "10.5", "version 2.0.1", "2000 people", "1500 m", "they march on"])
def test_what_only_looks_like_a_date_is_none(text):
    assert find_dates(text) == []


def test_an_ambiguous_date_has_two_readings():
    assert find_dates("03/04/2024")[0].readings == (Date(2024, 4, 3), Date(2024, 3, 4))


@given(st.dates(min_value=date(1900, 1, 1), max_value=date(2099, 12, 31)))
def test_any_day_is_the_same_in_every_spelling(day):
    month = MONTHS[day.month - 1]
    spellings = [
        day.isoformat(),
        f"{month} {day.day}, {day.year}",
        f"{day.day} {month} {day.year}",
        day.strftime("%d.%m.%Y"),
    ]
    readings = [find_dates(f"on {spelling}.")[0].readings for spelling in spellings]
    assert {match_dates(readings[0], other) for other in readings} == {DateMatch.SAME}


@pytest.mark.parametrize(
    ("claimed", "evidence", "expected"),
    [
        (Date(2024, 3, None), Date(2024, 3, 5), DateMatch.SAME),
        (Date(2024, 3, 5), Date(2024, 3, None), DateMatch.MORE_EXACT),
        (Date(2024, 3, 5), Date(2023, 3, 5), DateMatch.DIFFERENT),
        (Date(None, 5, None), Date(2024, None, None), DateMatch.APART),
    ],
)
def test_dates_are_compared_part_by_part(claimed, evidence, expected):
    assert match_dates((claimed,), (evidence,)) is expected


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("14:30", "2:30 pm", True),
        ("14:30", "14.30 Uhr", True),
        ("noon", "12:00", True),
        ("12 am", "midnight", True),
        ("13:30 UTC", "14:30 CET", True),
        ("15:00 UTC", "15:00 CET", False),
        ("9:00", "9 pm", False),
    ],
)
def test_times_are_compared_over_spellings_and_zones(left, right, same):
    assert same_time(find_times(left)[0], find_times(right)[0]) is same


@given(st.integers(0, 23), st.integers(0, 59))
def test_any_time_is_the_same_on_both_clocks(hour, minute):
    half = f"{hour % 12 or 12}:{minute:02} {'pm' if hour >= 12 else 'am'}"
    assert same_time(find_times(f"{hour:02}:{minute:02}")[0], find_times(half)[0])
