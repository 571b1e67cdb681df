"""A sentence is read once: words under keys, clauses, language, names; citations are blanks."""

import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enricher.grounding.reading import read
from enricher.grounding.tokens import key_of, tokenize


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("refunded", "reimbursement"),
        ("bought", "purchase"),
        ("cancellation", "cancelling"),
        ("fee", "costs"),
        ("Kündigungsfrist", "notice"),
        ("Erstattung", "refund"),
        ("children", "Kinder"),
        ("prohibited", "interdit"),
    ],
)
def test_words_of_one_meaning_have_one_key(left, right):
    assert key_of(left) == key_of(right)


@pytest.mark.parametrize(
    ("left", "right"), [("employer", "employee"), ("tenant", "landlord"), ("open", "close"), ("lawful", "unlawful")]
)
def test_words_of_different_meaning_have_different_keys(left, right):
    assert key_of(left) != key_of(right)


def test_two_words_that_mean_one_thing_have_its_key():
    keys = {token.key for token in tokenize("Goods can be sent back for your money back.")}
    assert {key_of("return"), key_of("refund")} <= keys


def test_tokens_are_slices_of_their_text():
    text = "It’s Zoë's café: 客户可在30天内退货, ３D and naïve."
    for token in tokenize(text):
        assert text[token.start : token.end].strip()
        assert len(text[token.start : token.end]) == token.end - token.start


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The ticket is valid for 90 minutes.", "en"),
        ("Die Kündigungsfrist beträgt drei Monate.", "de"),
        ("La garantie dure deux ans pour les clients.", "fr"),
        ("El precio es de 1.200 euros.", "es"),
        ("保証期間は12か月です。", "ja"),
        ("客户可在三十天内退货。", "zh"),
        ("مدة الإرجاع ٣٠ يومًا.", "ar"),
        ("Срок возврата составляет 14 дней.", "ru"),
        ("42", None),
    ],
)
def test_the_language_is_guessed_from_script_and_function_words(text, language):
    assert read(text).language == language


def test_citations_are_neither_words_nor_values():
    reading = read("Entry costs 8 EUR [1][2, 3] 【4†source】.")
    assert [quantity.text for quantity in reading.quantities] == ["8 EUR"]
    assert len(reading.text) == len("Entry costs 8 EUR [1][2, 3] 【4†source】.")


def test_each_word_and_value_belongs_to_one_clause():
    reading = read("The gym is open from 6:00 to 22:00, and it has a sauna.")
    assert [clause.text for clause in reading.clauses] == ["The gym is open from 6:00 to 22:00", "and it has a sauna"]
    assert [len(clause.quantities) for clause in reading.clauses] == [1, 0]


def test_names_are_told_by_their_capitals_where_capitals_mean_something():
    assert read("Yesterday Norvik AG acquired Borel.").names == {"norvik", "ag", "borel"}
    assert read("Die Kündigungsfrist beträgt drei Monate zum Quartalsende.").names == frozenset()
    assert read("Terms And Conditions Of The Central Hall Company Limited").names == frozenset()


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ["The", "don't", "d'été", "1,5", "give", "back", "up", "down", "6%", "x_y", "İ", "ﬁn", "—", "["]
        )
        | st.text(max_size=6),
        max_size=12,
    ).map(" ".join)
)
def test_words_stand_where_their_tokens_say_and_come_in_that_order(text):
    reading = read(text)
    if not re.search("[\u0e00-\u1fff\u3005-\uffff]", text) and not any(unicodedata.category(c)[0] == "M" for c in text):
        places = [found.span() for found in re.finditer(r"[^\W_]+(?:['’][^\W\d_]+)*", reading.text)]
        assert [(token.start, token.end) for token in reading.tokens] == places
    assert reading.words == {token.word for token in reading.tokens}
    assert list(reading.all_keys) == list(dict.fromkeys(token.key for token in reading.tokens if token.weight))
