"""What documents disagree on, whatever the answer says of it."""

from enricher.grounding.conflicts import Touch, disagreements, stands
from tests.grounding.items import split


def conflicting_documents(item):
    return tuple(found.described(item) for found in disagreements(item))


def test_a_conflict_names_both_values_documents_and_passages():
    item = split("How heavy is it?", ["The tent weighs 3.1 kg.", "Tent data sheet: weight 2.8 kg."], "")
    (conflict,) = conflicting_documents(item)
    assert conflict.document_ids == ("d1", "d2")
    assert conflict.description == "d1 says '3.1 kg'; d2 says '2.8 kg'"
    assert [quote.text for quote in conflict.passages] == [d.text for d in item.documents]
    assert "d1 and d2" in conflict.recommendation


def test_one_document_conflicts_with_none():
    assert conflicting_documents(split("?", ["The tent weighs 3.1 kg. The tent weighs 2.8 kg."], "")) == ()


def test_documents_that_say_the_same_in_other_units_agree():
    assert conflicting_documents(split("?", ["The pool is 25 m long.", "The pool is 2500 cm long."], "")) == ()


def test_a_sentence_that_only_names_the_period_of_a_document_conflicts_with_none():
    texts = ["Annual report 2022. Revenue was 10 million EUR.", "Annual report 2023. Revenue was 12 million EUR."]
    assert disagreements(split("Revenue?", texts, "")) == []


def test_a_claim_takes_one_side_or_gives_all_or_blends_them_or_none():
    item = split("How heavy is the tent?", ["The tent weighs 3.1 kg.", "The tent weighs 2.8 kg."], "")
    found = disagreements(item)
    claims = [
        "The tent weighs 3.1 kg.",
        "The tent weighs 3.1 kg or 2.8 kg.",
        "The tent weighs 2.95 kg.",
        "The tent weighs 5 kg.",
        "The tent is green.",
    ]
    touched = stands(claims, found, item)
    assert [[stand.touch for stand in own] for own in touched] == [
        [Touch.ONE_SIDE],
        [Touch.ALL_SIDES],
        [Touch.BLEND],
        [Touch.NEITHER],
        [],
    ]


def test_many_sentences_are_compared_in_time_that_grows_with_their_number():
    filler = " ".join(f"Room {n} has {n + 3} chairs and {n % 7 + 1} tables." for n in range(1, 700))
    item = split("How deep is the lake?", [f"The lake is 40 m deep. {filler}", f"{filler} The lake is 55 m deep."], "")
    assert any("40 m" in conflict.description for conflict in conflicting_documents(item))
