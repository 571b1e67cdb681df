"""Whatever shape a verdict object has, it is read into segments or refused with a reason."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enricher.judges.material import lay_out
from enricher.judges.reply import Unusable
from enricher.judges.segments import Reading, read_quotes, read_references
from enricher.steps.segmentation import split_item
from enricher.trace import Document, Item, SpanId, TraceId
from enricher.verdict import AlignmentStatus, Status

ITEM = split_item(
    Item(
        trace_id=TraceId("t"),
        question="Rent?",
        documents=(Document(id="d1", text="The rent is 900 EUR. The deposit is 2,700 EUR."),),
        answer="The rent is 900 EUR and the deposit is 2,700 EUR. The rent is 900 EUR.",
        annotate_span_id=SpanId("root"),
    )
)
WANTED = ITEM.sentences
MATERIAL = lay_out(ITEM, ITEM.documents, ITEM.sentences, fence="ab12", is_numbered=True)
WORDS = ("", "s1", "s2", "d1.s1", "FULLY_SUPPORTED", "UNSUPPORTED", "NONE", "ADDED", "OMITTED", "N/A")
TEXTS = ("The rent is 900 EUR", "the deposit is 2,700 EUR")
LEAVES = st.sampled_from([None, True, 1, -1, 0.5, [], {}, ["d1.s1"], [1], *WORDS, *TEXTS])
KEYS = ("id", "status", "issue", "evidence", "segment_id", "generated_text", "alignment_status", "issue_type")
ENTRIES = st.dictionaries(st.sampled_from([*KEYS, "supporting_context", "document_id", "explanation"]), LEAVES)
OBJECTS = st.fixed_dictionaries(
    {"segments": st.lists(ENTRIES, max_size=4) | LEAVES},
    optional={
        "omissions": st.lists(ENTRIES | LEAVES, max_size=2) | LEAVES,
        "faithfulness_score": LEAVES,
        "summary": LEAVES,
    },
)


@settings(max_examples=400, deadline=None)
@given(OBJECTS)
def test_no_object_makes_a_reader_raise(value):
    for reader in (read_references, read_quotes):
        reading = reader(value, ITEM, MATERIAL, WANTED)
        assert isinstance(reading, Reading | Unusable)
        if isinstance(reading, Reading):
            for segment in reading.segments:
                assert ITEM.answer[segment.start : segment.end] == segment.generated_text
            covered = {s.id for s in WANTED for g in reading.segments if g.start < s.end and s.start < g.end}
            assert covered | set(reading.missing) == {s.id for s in WANTED}


def quoted(text, status="FULLY_SUPPORTED", name="s1", context="The rent is 900 EUR."):
    labels = {"alignment_status": status, "issue_type": "NONE" if status == "FULLY_SUPPORTED" else "ADDED"}
    return {"segment_id": name, "generated_text": text, "supporting_context": context, "document_id": "d1", **labels}


def read(*entries):
    return read_quotes({"segments": list(entries), "summary": ""}, ITEM, MATERIAL, WANTED)


def test_half_a_sentence_leaves_its_other_half_missing():
    reading = read(quoted("The rent is 900 EUR"), quoted("The rent is 900 EUR.", name="s2"))
    assert reading.missing == ("s1",)


def test_a_sentence_cut_in_two_segments_is_covered():
    reading = read(
        quoted("The rent is 900 EUR"),
        quoted("the deposit is 2,700 EUR", name="s1b", context="The deposit is 2,700 EUR."),
        quoted("The rent is 900 EUR.", name="s2"),
    )
    assert reading.missing == ()
    assert [s.alignment_status for s in reading.segments] == [AlignmentStatus.FULLY_SUPPORTED] * 3
    assert [s.start for s in reading.segments] == sorted(s.start for s in reading.segments)


@pytest.mark.parametrize("text", ["The rent is 901 EUR", "rent is 90", "The rent amounts to 900 EUR"])
def test_a_segment_that_the_answer_does_not_hold_is_invalid(text):
    assert read(quoted(text)).status is Status.JUDGE_INVALID


def test_one_stretch_under_two_names_with_two_labels_is_invalid():
    reading = read(quoted("the deposit is 2,700 EUR"), quoted("the deposit is 2,700 EUR", "UNSUPPORTED", "s7"))
    assert reading.status is Status.JUDGE_INVALID
