"""Relevance: what documents hold of a question, and what an answer meets of it, each without a look at the other."""

import pytest

from enricher.grounding.relevance import answer_relevance, context_relevance
from enricher.grounding.search import Evidence
from tests.grounding.items import split


def context(question, *documents):
    return context_relevance(question, Evidence(split(question, documents, "")))


@pytest.mark.parametrize(
    ("question", "document", "value"),
    [
        ("How long is the notice period?", "The notice period is sixty days.", 2),
        ("How long is the notice period?", "The notice period is described below.", 1),
        ("How long is the notice period?", "Dogs are welcome in the garden.", 0),
        ("Who founded the firm?", "Ada Lane founded the firm in 1999.", 2),
        ("Who founded the firm?", "The firm was founded in a small town.", 1),
        ("What is the energy density of the cell?", "Energy density of lithium cells.", 1),
        ("How do I cancel my plan?", "To cancel, open Settings and press Cancel.", 2),
        ("Where is the office?", "The office is in Lisbon.", 2),
        ("Wie lange ist die Kündigungsfrist?", "Die Kündigungsfrist beträgt 30 Tage.", 2),
        ("合同期限是多久？", "合同期限为三年。", 2),
        ("合同期限是多久？", "食堂每天中午开放。", 0),
    ],
)
def test_documents_are_graded_by_what_they_state_of_the_question(question, document, value):
    assert context(question, document).value == value


def test_one_document_that_answers_is_enough_among_many_that_do_not():
    found = context("How long is the notice period?", *["The garden is green."] * 9, "The notice period is sixty days.")
    assert found.value == 2
    assert found.is_certain


def test_what_is_missing_is_named_in_the_questions_own_words():
    assert context("What does shipping to Norway cost?", "Shipping to Sweden takes two days.").missing == ("norway",)


@pytest.mark.parametrize(
    ("question", "answer", "value"),
    [
        ("How long is the notice period?", ["Sixty days."], 2),
        ("How long is the notice period?", ["The notice period is long."], 1),
        ("How long is the notice period?", ["Dogs are welcome in the garden."], 0),
        ("Is smoking allowed?", ["No."], 2),
        ("Who founded the firm?", ["Ada Lane."], 2),
        ("How do I cancel my plan?", ["To upgrade, press Upgrade."], 0),
    ],
)
def test_answers_are_graded_by_what_they_meet_of_the_question(question, answer, value):
    assert answer_relevance(question, answer).value == value


@pytest.mark.parametrize(
    "answer",
    [
        "I don't know.",
        "I'm sorry, but I cannot answer that based on the documents.",
        "The documents do not mention it.",
        "There is not enough information.",
        "Das weiß ich nicht.",
        "Ich kann das leider nicht beantworten.",
        "Je ne sais pas.",
        "No lo sé.",
        "我不知道。",
    ],
)
def test_declining_is_no_answer(answer):
    assert answer_relevance("How long is the notice period?", [answer]).value == 0


def test_an_answer_that_declines_a_part_answers_a_part():
    found = answer_relevance(
        "How long is the notice, and who pays?", ["The notice is 60 days.", "I don't know who pays."]
    )
    assert found.value == 1
    assert not found.is_abstention
