"""Values are found with their reading, unit and bound, in any spelling, and never outside of their text."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from enricher.grounding.bounds import Bound
from enricher.grounding.quantities import find_quantities
from enricher.grounding.tokens import tokenize


def found(text, **options):
    tokens = tokenize(text)
    return find_quantities(text, tokens, {token.word for token in tokens}, **options)


def only(text, **options):
    quantities = found(text, **options)
    assert len(quantities) == 1
    return quantities[0]


@pytest.mark.parametrize(
    ("text", "dimension", "values"),
    [
        ("twelve months", "months", (12.0,)),
        ("one and a half years", "months", (18.0,)),
        ("fünfundzwanzig Tage", "duration", (25.0,)),
        ("treinta y dos días", "duration", (32.0,)),
        ("10 business days", "workdays", (10.0,)),
        ("三十天内", "duration", (30.0,)),
        ("保証期間は１２か月です。", "months", (12.0,)),
        ("مدة الإرجاع ٣٠ يومًا.", "duration", (30.0,)),
        ("USD 890 million", "money:USD", (890e6,)),
        ("US$5.2bn", "money:USD", (5.2e9,)),
        ("£1.2m", "money:GBP", (1.2e6,)),
        ("15 Mio. EUR", "money:EUR", (15e6,)),
        ("£50, 000", "money:GBP", (50_000.0, 50.0)),
        ("3 000 km", "length", (3_000_000.0,)),
        ("86 °F", "temperature", (30.0,)),
        ("25%", "ratio", (0.25,)),
        ("a quarter of the units", "ratio", (0.25,)),
        ("one in four", "ratio", (0.25,)),
        ("3 out of 10", "ratio", (0.3,)),
        ("2 percentage points", "points", (2.0,)),
        ("6 1/2 months", "months", (6.5,)),
        ("2½ hours", "duration", (2.5 / 24,)),
        ("half an hour", "duration", (0.5 / 24,)),
        ("Section 14", "label:section", (14.0,)),
        ("§ 5", "label:section", (5.0,)),
        ("room 3", "label:room", (3.0,)),
        ("Fax: 555-0101", "code", (5550101.0,)),
        ("-5 °C", "temperature", (-5.0,)),
    ],
)
def test_a_value_is_read_with_its_unit(text, dimension, values):
    quantity = only(text)
    assert quantity.dimension == dimension
    assert quantity.values == pytest.approx(values)


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("18 years", Bound.EXACT),
        ("at least 18 years", Bound.AT_LEAST),
        ("18 years or older", Bound.AT_LEAST),
        ("no less than 18 years", Bound.AT_LEAST),
        ("over 18 years", Bound.MORE_THAN),
        ("under 18 years", Bound.LESS_THAN),
        ("up to 18 years", Bound.AT_MOST),
        ("no more than 18 years", Bound.AT_MOST),
        ("must not exceed 18 years", Bound.AT_MOST),
        ("≤ 18 years", Bound.AT_MOST),
        ("within 18 years", Bound.WITHIN),
        ("about 18 years", Bound.ABOUT),
        ("mindestens 18 Jahre", Bound.AT_LEAST),
        ("au plus 18 ans", Bound.AT_MOST),
    ],
)
def test_a_bound_is_read_with_its_value(text, bound):
    assert only(text).bound is bound


@pytest.mark.parametrize("text", ["10-15 days", "10 to 15 days", "between 10 and 15 days", "10–15 days"])
def test_a_range_is_one_value_with_two_ends(text):
    quantity = only(text)
    assert (quantity.values, quantity.upper) == ((10.0,), (15.0,))


@pytest.mark.parametrize("text", ["v2.0.1", "COVID19", "3D", "a third party", "one of the best"])
def test_what_only_looks_like_a_value_is_none(text):
    assert found(text) == ()


def test_a_separator_is_read_as_the_language_writes_it():
    assert only("1.000 EUR", decimal_comma=True).values == (1000.0,)
    assert only("1.000 EUR", decimal_comma=False).values == (1.0,)
    assert only("1.000 EUR").values == (1000.0, 1.0)


def test_a_rate_keeps_what_it_refers_to():
    assert only("3.5% per year").detail != only("3.5% per month").detail
    assert only("3.5% per year").detail == only("3.5% a year").detail


PIECES = st.one_of(
    st.sampled_from(
        ["1", "23", "456", "1.000", "2,5", "½", "3/4", "٣٠", "１２", "三十", "年", "か月", "EUR", "€", "$", "%"]
    ),
    st.sampled_from(
        ["km", "°C", "million", "May", "2024", "5th", ":30", "pm", "-", "–", "to", "and", "about", "at least"]
    ),
    st.sampled_from(["Section", "(1)", " ", ".", "half of", "hundert", "per year", "one", "CET"]),
)
TEXTS = st.one_of(
    st.lists(PIECES, max_size=14).map("".join), st.lists(PIECES, max_size=14).map(" ".join), st.text(max_size=40)
)


@settings(max_examples=400, deadline=None)
@given(
    st.one_of(
        st.lists(PIECES, max_size=14).map("".join), st.lists(PIECES, max_size=14).map(" ".join), st.text(max_size=40)
    )
)
@example("0(0) 1/2")
def test_the_values_of_any_text_are_slices_in_order_without_overlap(text):
    end = 0
    for quantity in found(text):
        assert 0 <= quantity.start < quantity.end <= len(text)
        assert text[quantity.start : quantity.end] == quantity.text
        assert quantity.start >= end
        end = quantity.end


@settings(max_examples=200, deadline=None)
@given(st.integers(min_value=0, max_value=10**12))
def test_a_whole_number_is_read_the_same_with_and_without_separators(number):
    plain, grouped = only(f"{number} EUR"), only(f"{number:,} EUR", decimal_comma=False)
    assert float(number) in plain.values
    assert float(number) in grouped.values
    assert float(number) in only(f"{number:,} EUR".replace(",", "."), decimal_comma=True).values


@pytest.mark.parametrize(
    "text", ["sixty (60) days", "60 (sixty) days", "sixty ( 60 ) days' prior notice", "not less than sixty (60) days"]
)
def test_a_number_and_its_repetition_in_parentheses_are_one_value(text):
    value = only(text)
    assert (value.dimension, value.values) == ("duration", (60.0,))


def test_different_numbers_side_by_side_stay_two_values():
    assert len(found("sixty (61) days")) == 2


def test_a_table_of_thousands_of_numbers_has_them_all_in_order_and_none_twice():
    values = found("".join(f"{n},x{n};" for n in range(3000)))
    assert [value.start for value in values] == sorted({value.start for value in values})
    assert len(values) == 3000
