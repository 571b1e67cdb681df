"""The one sentence that sums up a diff."""

import pytest

from enricher.verdict import AlignmentStatus, IssueType, Quote, QuoteCheck, Segment, summary_of

QUOTE = Quote(document_id="d2", text="Refunds take 60 days.", start=0, end=21, check=QuoteCheck.VERIFIED)


def segment(status=AlignmentStatus.FULLY_SUPPORTED, text="Refunds take 30 days.", **more):
    return Segment(segment_id="s1", generated_text=text, alignment_status=status, issue_type=IssueType.NONE, **more)


OMITTED = segment(AlignmentStatus.UNSUPPORTED, None, evidence=(QUOTE,))


@pytest.mark.parametrize(
    ("segments", "summary"),
    [
        ([], "Nothing in the answer can be checked against the context."),
        ([segment()], "The one segment is supported by the context."),
        ([segment()] * 3, "All 3 segments are supported by the context."),
        ([segment(), OMITTED], "The one segment is supported by the context. It leaves out: 'Refunds take 60 days.'."),
        (
            [OMITTED],
            "Nothing in the answer can be checked against the context. It leaves out: 'Refunds take 60 days.'.",
        ),
    ],
)
def test_an_answer_without_findings_is_said_to_have_none(segments, summary):
    assert summary_of(segments) == summary


def test_the_worst_finding_comes_first():
    partial = segment(AlignmentStatus.PARTIALLY_SUPPORTED, explanation="the documents say nothing about 'pets'")
    unsupported = segment(AlignmentStatus.UNSUPPORTED, explanation="the documents say nothing about 'tolls'")
    assert summary_of([partial, segment()]) == (
        "1 of 2 segments only partly supported: the documents say nothing about 'pets'"
    )
    assert summary_of([partial, unsupported]) == "1 of 2 segments unsupported: the documents say nothing about 'tolls'"


def test_a_contradiction_shows_both_sides():
    told = segment(AlignmentStatus.CONTRADICTED, explanation="answer says 30 days, d2 says 60 days")
    assert summary_of([told, segment(), segment()]) == (
        "1 of 3 segments contradicted: answer says 30 days, d2 says 60 days"
    )
    untold = segment(AlignmentStatus.CONTRADICTED, explanation="The number differs.", evidence=(QUOTE,))
    assert summary_of([untold]) == (
        "1 of 1 segment contradicted: answer says 'Refunds take 30 days.', d2 says 'Refunds take 60 days.'"
    )


def test_a_long_finding_is_cut_at_a_word():
    summary = summary_of([segment(AlignmentStatus.UNSUPPORTED, explanation="word " * 60)])
    assert summary.endswith("word…")
    assert len(summary) < 160
