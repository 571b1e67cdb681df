"""How a clause asserts is read from its function words, and two readings are compared."""

import pytest

from enricher.grounding.polarity import Extent, Force, compare_marks, read_marks
from enricher.grounding.tokens import key_of, tokenize


def marks(text):
    return read_marks(tokenize(text), text)


@pytest.mark.parametrize(
    ("text", "denied"),
    [
        ("It may not be transferred", "transferred"),
        ("It is not true that the device leaks", "device"),
        ("Das gilt nicht für Kinder", "Kinder"),
        ("without a receipt", "receipt"),
    ],
)
def test_a_negation_denies_the_next_word_with_content(text, denied):
    assert key_of(denied) in marks(text).denied
    assert marks(text).is_negated


@pytest.mark.parametrize(
    "text", ["no later than 5 May", "no more than 10 kg", "not only fast", "No. 3 is red", "It is red"]
)
def test_a_bound_or_an_emphasis_is_no_negation(text):
    assert not marks(text).is_negated


def test_scripts_without_spaces_have_negations_too():
    assert marks("不可以退货").is_negated
    assert not marks("可以退货").is_negated


@pytest.mark.parametrize(
    ("text", "force"),
    [
        ("you must pay", Force.MUST),
        ("you have to pay", Force.MUST),
        ("payment is required", Force.MUST),
        ("you should pay", Force.SHOULD),
        ("you may pay", Force.MAY),
        ("you pay", Force.PLAIN),
    ],
)
def test_the_modal_force_is_read(text, force):
    assert marks(text).force is force


@pytest.mark.parametrize(
    ("text", "permits"),
    [("you may smoke", True), ("you may not smoke", False), ("smoking is prohibited", False), ("you smoke", None)],
)
def test_permission_is_read_over_its_spellings(text, permits):
    assert marks(text).permits is permits


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("the supplier must pay", "the supplier may pay"),
        ("the supplier must pay", "the supplier should pay"),
        ("all sensors work", "some sensors work"),
        ("the sensors work", "some sensors work"),
        ("the drug works", "the drug may have worked"),
        ("the drug works", "the drug probably works"),
        ("the station opened", "the station will open"),
    ],
)
def test_a_strengthened_claim_is_a_change(claim, evidence):
    assert compare_marks(marks(claim), marks(evidence))


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("some sensors work", "all sensors work"),
        ("the drug probably works", "the drug works"),
        ("you can return it", "you may return it"),
        ("the station will open", "the station will open"),
    ],
)
def test_a_weaker_or_equal_claim_is_none(claim, evidence):
    assert compare_marks(marks(claim), marks(evidence)) == []


def test_quantifiers_are_ranked():
    assert [marks(f"{word} units").extent for word in ("some", "many", "most", "all")] == [
        Extent.SOME,
        Extent.MANY,
        Extent.MOST,
        Extent.ALL,
    ]
