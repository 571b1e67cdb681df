"""Statements of absence are read with their topic, and questions are known to be answerable or not."""

import pytest

from enricher.grounding.absence import find_answer, question_parts, read_absence
from enricher.grounding.reading import read
from enricher.grounding.search import Evidence
from enricher.grounding.tokens import key_of
from tests.grounding.items import split


def absence(text):
    return read_absence(text, read(text).words)


@pytest.mark.parametrize(
    "text",
    [
        "The documents do not mention any fee.",
        "There is no information about the fee in the documents.",
        "The provided context contains no information on the fee.",
        "No fee is mentioned in the documents.",
        "The fee is not specified.",
        "The fee isn't stated in the context.",
        "Die Dokumente erwähnen keine Gebühr.",
    ],
)
def test_the_topic_of_an_absence_is_read(text):
    found = absence(text)
    assert key_of("fee") in found.topic.all_keys


@pytest.mark.parametrize("text", ["The documents do not say.", "The provided context does not contain the answer."])
def test_an_absence_without_topic_means_the_question(text):
    assert absence(text).topic is None


@pytest.mark.parametrize(
    "text", ["Breakfast is not included.", "It does not include VAT.", "No fee is charged.", "The fee is 30 EUR."]
)
def test_an_ordinary_denial_is_no_statement_about_the_documents(text):
    assert absence(text) is None


@pytest.mark.parametrize(
    ("question", "document", "answerable"),
    [
        ("What is the fee?", "The fee is 30 EUR.", True),
        ("What is the fee?", "The fee is explained below.", False),
        ("Who leads the team?", "The team is led by Anna.", True),
        ("How many rooms are there?", "There are rooms on two floors.", True),
        ("When does the pool open?", "The gym opens at 6:00.", False),
    ],
)
def test_a_question_is_answerable_by_a_sentence_of_its_kind(question, document, answerable):
    found = find_answer(read(question), Evidence(split(None, [document], "x")))
    assert (found is not None) is answerable


def test_a_question_has_parts():
    parts = question_parts("How long is the warranty, and can I return items? What is the fee?")
    assert [part.text for part in parts] == ["How long is the warranty", "can I return items", "What is the fee"]
