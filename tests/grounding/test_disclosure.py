"""What an answer says about its sources."""

import pytest

from enricher.grounding.disclosure import claims_consensus, combines, demanded_sources, says_so, without_frame


@pytest.mark.parametrize(
    "answer",
    [
        "The sources differ: one says 3.1 kg.",
        "It weighs 3.1 kg. However, the data sheet says otherwise.",
        "The documents contradict each other.",
        "Die Quellen widersprechen sich.",
        "资料不一致。",
    ],
)
def test_an_answer_may_say_that_its_sources_differ(answer):
    assert says_so(answer)


@pytest.mark.parametrize("answer", ["The tent weighs 3.1 kg.", "Differential gears differ not.", "It is different."])
def test_most_answers_do_not(answer):
    assert says_so(answer) is (answer == "Differential gears differ not.")


@pytest.mark.parametrize(
    ("statement", "core", "needed"),
    [
        ("All sources agree that the tent weighs 3.1 kg.", "the tent weighs 3.1 kg.", 2),
        ("Both documents state that it is green.", "it is green.", 2),
        ("All three reports confirm that it is green.", "it is green.", 3),
        ("Alle Quellen bestätigen, dass es grün ist.", "es grün ist.", 2),
        ("According to all documents, it is green.", "it is green.", 2),
    ],
)
def test_a_claimed_consensus_is_read_without_its_frame(statement, core, needed):
    assert claims_consensus(statement)
    assert without_frame(statement) == core
    assert demanded_sources(statement, 5) == needed


@pytest.mark.parametrize(
    "statement", ["The tent weighs 3.1 kg.", "All rooms have a balcony.", "Sources of water are near."]
)
def test_other_statements_claim_no_consensus(statement):
    assert not claims_consensus(statement)
    assert without_frame(statement) == statement


def test_a_conclusion_is_told_by_its_words():
    assert combines("Taken together, the two are safe.")
    assert not combines("The two are safe.")
