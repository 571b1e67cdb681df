"""Which sentences of the documents are read beside a claim."""

from enricher.grounding.reading import read
from enricher.grounding.search import Evidence
from enricher.grounding.windows import window
from enricher.records import item_of
from enricher.steps.segmentation import split_item


def evidence_of(*texts: str) -> Evidence:
    documents = [{"id": f"d{number}", "text": text} for number, text in enumerate(texts, 1)]
    return Evidence(split_item(item_of({"id": "r1", "question": None, "answer": "Any.", "documents": documents})))


def test_the_sentence_that_speaks_of_the_claim_is_read():
    evidence = evidence_of("Bees make honey. The museum opens at nine. Tickets cost 12 euros.")
    assert window(read("Tickets are 12 euros."), evidence) == ["Tickets cost 12 euros."]


def test_sentences_that_together_hold_a_claim_are_read_together_in_the_order_of_the_documents():
    evidence = evidence_of("Tickets cost 12 euros.", "The museum stands in Ghent. It rains often.")
    found = window(read("The museum in Ghent sells tickets for 12 euros."), evidence)
    assert found == ["Tickets cost 12 euros.", "The museum stands in Ghent."]


def test_of_a_very_long_sentence_the_part_that_speaks_of_the_claim_is_read():
    filler = " ".join(f"part{number} of the list," for number in range(60))
    evidence = evidence_of(f"{filler} the deposit is 400 euros, {filler}.")
    (found,) = window(read("The deposit is 400 euros."), evidence)
    assert "deposit is 400 euros" in found
    assert len(found.split()) <= 45


def test_a_claim_that_shares_no_word_has_nothing_to_be_read_beside():
    assert window(read("Whales sing."), evidence_of("The deposit is 400 euros.")) == []
