"""What a heading says of the sentences below it: period, version, whether it is in force."""

import pytest

from enricher.grounding.dates import Date, find_dates
from enricher.grounding.engine import ground
from enricher.grounding.reading import read
from enricher.grounding.scope import is_clause, is_heading, other_scope, period_of
from enricher.verdict import AlignmentStatus
from tests.grounding.items import split

YEARS = [
    "Harbour Line plc. Quarter ended September 30, 2031. Net income was $5.4 million. Debt was $9 million.",
    "Harbour Line plc. Quarter ended September 30, 2030. Net income was $6.1 million. Debt was $8 million.",
]
VERSIONS = [
    "Travel Rules v2 (current). Staff may book hotels up to 150 EUR a night.",
    "Travel Rules v1 (superseded). Staff may book hotels up to 120 EUR a night.",
]


def status(documents, answer):
    return ground(split("?", documents, answer)).segments[0].alignment_status


@pytest.mark.parametrize(
    ("text", "heads"),
    [
        ("Travel Rules v2 (effective 1 May 2031).", True),
        ("## how to reset", True),
        ("Dogs are allowed.", False),
        ("Northwind Corp. is profitable.", False),
        ("Wait.", False),
        ("Sales rose in 2031.", False),
        ("Fiscal year 2031.", True),
        ("(2031) Harbour", True),
        (", 2031", True),
    ],
)
def test_a_heading_names_and_states_nothing(text, heads):
    assert is_heading(text, read(text), is_first=True) is heads


def test_a_title_is_a_heading_only_at_the_start():
    assert not is_heading("Travel Rules.", read("Travel Rules."), is_first=False)


@pytest.mark.parametrize(
    "text",
    [
        "Q3 2031",
        "2031 Q3",
        "third quarter of 2031",
        "quarter ended September 30, 2031",
        "3. Quartal 2031",
        "3rd quarter 2031",
    ],
)
def test_a_quarter_is_read_in_its_spellings(text):
    assert find_dates(f"In {text}.")[0].readings == (Date(2031, None, None, 3),)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Harbour Line's net income in Q3 2031 was $5.4 million.", AlignmentStatus.FULLY_SUPPORTED),
        ("Net income fell from $6.1 million in Q3 2030 to $5.4 million in Q3 2031.", AlignmentStatus.FULLY_SUPPORTED),
        ("Harbour Line's net income in Q3 2031 was $6.1 million.", AlignmentStatus.CONTRADICTED),
    ],
)
def test_a_value_belongs_to_the_period_of_its_heading(answer, expected):
    assert status(YEARS, answer) is expected


def test_values_of_two_periods_cannot_change_places():
    answer = "Net income rose from $5.4 million in Q3 2030 to $6.1 million in Q3 2031."
    assert status(YEARS, answer) is not AlignmentStatus.FULLY_SUPPORTED


@pytest.mark.parametrize(
    ("answer", "is_supported"),
    [
        ("The current rules allow hotels up to 150 EUR a night.", True),
        ("The current rules allow hotels up to 120 EUR a night.", False),
        ("Under v1 of the travel rules, staff may book hotels up to 120 EUR a night.", True),
        ("Under v2 of the travel rules, staff may book hotels up to 120 EUR a night.", False),
    ],
)
def test_a_value_belongs_to_the_version_of_its_heading(answer, is_supported):
    assert (status(VERSIONS, answer) is AlignmentStatus.FULLY_SUPPORTED) is is_supported


def test_a_claim_about_what_is_current_does_not_rest_on_what_is_superseded():
    assert other_scope(read("The current rules say 120 EUR."), read("Travel Rules (superseded)")) is not None
    assert other_scope(read("The rules say 120 EUR."), read("Travel Rules (superseded)")) is None


def test_the_period_of_a_value_is_the_one_right_after_it():
    reading = read("Sales fell from $6 million in Q3 2030 to $5 million in Q3 2031.")
    first, _, second, _ = reading.quantities
    assert period_of(first, reading).text == "Q3 2030"
    assert period_of(second, reading).text == "Q3 2031"


def test_a_few_words_with_a_subject_and_a_verb_are_a_claim_of_their_own():
    assert is_clause(read("Settings are erased."))
    assert not is_clause(read("Only on Mondays."))
