"""Numbers in words and digits are read in several languages and scripts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enricher.grounding.numerals import find_numerals, read_cjk, read_digits, word_value
from enricher.grounding.tokens import tokenize

SMALL = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen"""
TENS = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]


def in_words(number):
    """Spell a whole number below a million in English."""
    if number < 20:
        return SMALL.split()[number]
    if number < 100:
        return TENS[number // 10] + (f"-{in_words(number % 10)}" if number % 10 else "")
    if number < 1000:
        return f"{in_words(number // 100)} hundred" + (f" and {in_words(number % 100)}" if number % 100 else "")
    return f"{in_words(number // 1000)} thousand" + (f" {in_words(number % 1000)}" if number % 1000 else "")


@given(st.integers(min_value=0, max_value=999_999))
def test_any_english_number_word_is_read(number):
    text = in_words(number)
    assert [numeral.value for numeral in find_numerals(text, tokenize(text))] == [float(number)]


def in_cjk(number):
    """Write a number below ten thousand in Chinese characters."""
    digits, out = "零一二三四五六七八九", ""
    for scale, sign in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit = number // scale % 10
        if digit:
            out += digits[digit] + sign
    return out


@given(st.integers(min_value=1, max_value=9999))
def test_any_chinese_number_is_read(number):
    assert read_cjk(in_cjk(number)) == number


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("zwolf", 12),
        ("einundzwanzig", 21),
        ("zweihundertfunfzig", 250),
        ("dreitausendeinhundert", 3100),
        ("quinze", 15),
        ("haus", None),
    ],
)
def test_a_number_word_of_another_language_is_read(word, value):
    assert word_value(word) == value


@pytest.mark.parametrize(
    ("raw", "values"),
    [
        ("12", (12.0,)),
        ("1,234.56", (1234.56,)),
        ("1.234,56", (1234.56,)),
        ("1.234.567", (1234567.0,)),
        ("1,00,000", (100000.0,)),
        ("1'000.50", (1000.5,)),
        ("1 000", (1000.0,)),
        ("0.500", (0.5,)),
        ("2,5", (2.5,)),
        ("1.000", (1000.0, 1.0)),
        ("٣٠", (30.0,)),
        ("１２", (12.0,)),
    ],
)
def test_digits_are_read_with_their_separators(raw, values):
    assert read_digits(raw) == values


@given(st.decimals(min_value=0, max_value=10**9, places=2, allow_nan=False))
def test_a_decimal_is_read_in_either_convention(number):
    english = f"{number:,.2f}"
    german = english.translate(str.maketrans(",.", ".,"))
    assert read_digits(english) == pytest.approx((float(number),))
    assert read_digits(german) == pytest.approx((float(number),))
