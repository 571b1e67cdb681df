"""Which words of a sentence a finding is about."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enricher.grounding.engine import assess, ground
from enricher.grounding.locating import located
from enricher.grounding.outcome import Decision
from enricher.records import item_of, segment_row
from enricher.steps.segmentation import split_item
from enricher.verdict import AlignmentStatus, IssueType

LEASE = "The rent of the flat is 900 euros a month. The tenant must pay it by the third of each month."
HOTEL = '{"name": "Blue Door Hotel", "attributes": {"pool": false, "breakfast": true, "parking": true}, "stars": 4}'


def judged(answer, *texts):
    """Judge an answer of one sentence."""
    documents = [{"id": f"d{number}", "text": text} for number, text in enumerate(texts, 1)]
    item = split_item(item_of({"id": "r1", "question": None, "answer": answer, "documents": documents}))
    segments = [segment for segment in ground(item).segments if not segment.is_omission]
    return segments[0]


def words(segment, answer):
    return [answer[part.start : part.end] for part in segment.lacking]


@pytest.mark.parametrize(
    ("answer", "text", "status", "expected"),
    [
        (
            "The rent of the flat is 900 euros a month, and guests receive two free bicycles on arrival.",
            LEASE,
            AlignmentStatus.PARTIALLY_SUPPORTED,
            "guests receive two free bicycles on arrival",
        ),
        (
            "According to passage 1, the rent of the flat is 950 euros a month.",
            LEASE,
            AlignmentStatus.CONTRADICTED,
            "950 euros",
        ),
        (
            "The Blue Door Hotel serves breakfast, has parking for its guests, and offers a pool.",
            HOTEL,
            AlignmentStatus.CONTRADICTED,
            "offers a pool",
        ),
    ],
)
def test_the_words_are_named_that_were_invented_or_that_clash(answer, text, status, expected):
    segment = judged(answer, text)
    assert segment.alignment_status is status
    assert segment.generated_text == answer  # the segment stays the sentence
    found = words(segment, answer)
    assert expected in " ".join(found)
    assert "Blue Door" not in " ".join(found)
    assert "rent" not in " ".join(found)


def test_a_finding_about_all_of_a_sentence_or_about_a_short_one_names_no_words():
    assert judged("Whales sing to one another across whole oceans in the winter months.", LEASE).lacking == ()
    assert judged("The rent is 950 euros a month.", LEASE).lacking == ()
    assert judged("The rent of the flat is 900 euros a month.", LEASE).lacking == ()


def test_a_claim_that_stands_in_no_answer_has_no_places():
    item = split_item(
        item_of({"id": "r1", "question": None, "answer": "Any.", "documents": [{"id": "d1", "text": LEASE}]})
    )
    claim = "The rent of the flat is 900 euros a month, and guests receive two free bicycles on arrival."
    assert assess(claim, item).lacking == ()


def test_a_row_is_of_the_words_and_names_the_sentence_they_are_from():
    answer = "The rent of the flat is 900 euros a month, and guests receive two free bicycles on arrival."
    segment = judged(answer, LEASE)
    row = segment_row(segment)
    assert answer[row["start"] : row["end"]] == row["generated_text"] != answer
    assert row["sentence"] == {"start": 0, "end": len(answer), "text": answer}
    assert [answer[part["start"] : part["end"]] for part in row["lacking"]] == [part["text"] for part in row["lacking"]]
    assert row["generated_text"] in [part["text"] for part in row["lacking"]]
    whole = segment_row(judged("The rent of the flat is 900 euros a month.", LEASE))
    assert not {"sentence", "lacking"} & whole.keys()


@settings(max_examples=30)
@given(st.text(max_size=120), st.lists(st.tuples(st.integers(-5, 130), st.integers(-5, 130)), max_size=5))
def test_stretches_lie_within_the_sentence_in_order_and_apart(text, ranges):
    decision = Decision(AlignmentStatus.PARTIALLY_SUPPORTED, IssueType.ADDED, "", [], 0.5, True)
    decision.lacks = ranges
    found = located(decision, text, 10)
    assert all(10 <= part.start < part.end <= 10 + len(text) for part in found)
    assert all(left.end < right.start for left, right in pairwise(found))
