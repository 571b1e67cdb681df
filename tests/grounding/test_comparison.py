"""A claimed value is the same as, changed from or different from one in the evidence."""

import pytest

from enricher.grounding.comparison import Likeness, compare
from enricher.grounding.quantities import find_quantities
from enricher.grounding.tokens import tokenize


def value(text):
    tokens = tokenize(text)
    return find_quantities(text, tokens, {token.word for token in tokens})[0]


@pytest.mark.parametrize(
    ("claimed", "evidence"),
    [
        ("12 months", "twelve months"),
        ("1 year", "twelve months"),
        ("365 days", "1 year"),
        ("14 days", "two weeks"),
        ("EUR 1,000", "1.000 EUR"),
        ("890,000,000 dollars", "USD 890 million"),
        ("3.1 miles", "5 km"),
        ("86 °F", "30 °C"),
        ("36 to 46 °F", "2 to 8 °C"),
        ("1.5 kg", "1500 g"),
        ("about 40,000 people", "39,612 people"),
        ("over 500 people", "512 people"),
        ("$1.2 million", "$1,234,567"),
        ("30 days", "within 30 days"),
        ("up to 5 days", "3 to 5 days"),
        ("50 cents", "$0.50"),
        ("June 2024", "4 June 2024"),
        ("33%", "a third of it"),
    ],
)
def test_the_same_value_in_another_form_agrees(claimed, evidence):
    assert compare(value(claimed), value(evidence)).likeness is Likeness.SAME


@pytest.mark.parametrize(
    ("claimed", "evidence"),
    [
        ("10 days", "10 working days"),
        ("10 days", "10-15 days"),
        ("over 18", "at least 18"),
        ("500 EUR", "up to 500 EUR"),
        ("500 people", "about 500 people"),
        ("500 people", "more than 500 people"),
        ("30 days", "1 month"),
        ("5 percent", "5 percentage points"),
        ("40,000 people", "39,612 people"),
    ],
)
def test_a_changed_bound_or_kind_is_a_distortion_with_a_reason(claimed, evidence):
    comparison = compare(value(claimed), value(evidence))
    assert comparison.likeness is Likeness.DISTORTED
    assert comparison.reason


@pytest.mark.parametrize(
    ("claimed", "evidence"),
    [
        ("30 days", "60 days"),
        ("$100", "€100"),
        ("5 miles", "5 km"),
        ("under 18", "at least 18"),
        ("2500 kg", "2.5 kg"),
        ("1.2 billion EUR", "1.2 million EUR"),
        ("7 days", "3 to 5 days"),
        ("5 May 2024", "5 May 2023"),
        ("Section 12", "Section 14"),
        ("Art. 6(1)", "Art. 6(2)"),
        ("3.5% per month", "3.5% per year"),
        ("9 pm", "9:00"),
    ],
)
def test_another_value_is_different(claimed, evidence):
    assert compare(value(claimed), value(evidence)).likeness is Likeness.DIFFERENT


@pytest.mark.parametrize(
    ("claimed", "evidence"),
    [("30 days", "30 km"), ("5 EUR", "7 USD"), ("Section 5", "5 km"), ("30 minutes", "30 years")],
)
def test_values_of_different_kinds_say_nothing_of_each_other(claimed, evidence):
    assert compare(value(claimed), value(evidence)).likeness is Likeness.UNRELATED


def test_a_date_more_exact_than_the_evidence_is_told_apart():
    assert compare(value("4 June 2024"), value("June 2024")).likeness is Likeness.MORE_EXACT
