"""Next steps: concrete, or composed."""

import pytest

from enricher.judges import fixes
from enricher.verdict import Quote

TEXTS = ("How long is the warranty?", "The warranty is 12 months.")
PASSAGE = Quote(document_id="kb-7", text="The warranty is 12 months.")


@pytest.mark.parametrize(
    ("note", "is_concrete"),
    [
        ("Add the warranty terms to the index.", True),
        ("Tell the generator to copy from kb-7.", True),
        ("Chunk kb-7 by paragraph.", True),
        ("Improve retrieval.", False),
        ("Fix the retriever and the answer prompt.", False),
        ("Retrieve better passages that answer the question.", False),
        ("The warranty is 12 months.", False),  # names no part of the pipeline
        ("Nothing to fix.", False),
        ("", False),
    ],
)
def test_a_note_must_name_something_of_this_case_and_a_part_of_the_pipeline(note, is_concrete):
    assert fixes.is_concrete(note, TEXTS, ["kb-7"]) == is_concrete


@pytest.mark.parametrize(
    "note",
    [
        fixes.retrieval_note(TEXTS[0], "'warranty'", None, is_partial=False),
        fixes.retrieval_note(TEXTS[0], "", PASSAGE, is_partial=True),
        fixes.contradiction_note("It is 24 months of warranty.", PASSAGE),
        fixes.addition_note("The warranty covers batteries."),
        fixes.abstention_note(PASSAGE),
        fixes.irrelevance_note("'warranty'", PASSAGE),
    ],
)
def test_what_we_compose_is_concrete_itself(note):
    assert fixes.is_concrete(note, TEXTS, ["kb-7"])


def test_short_names_become_ids_only_where_they_stand_alone():
    labels = {"d1": "kb/7", "d10": "kb/9"}
    assert fixes.with_ids("d1 and d10, not d11 or xd1 or d1-a", labels) == "kb/7 and kb/9, not d11 or xd1 or d1-a"
    assert fixes.with_ids("d1", {"d1": "d1"}) == "d1"


def test_the_retrievers_step_comes_before_the_generators():
    assert fixes.joined("First.", "Second.") == "First. Then: Second."
    assert fixes.joined("", "Second.") == "Second."
