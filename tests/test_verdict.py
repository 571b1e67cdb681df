"""The one sentence that sums up a diff, and copies of what is judged."""

import pytest
from pydantic import BaseModel

from enricher.verdict import (
    AlignmentStatus,
    DiffResult,
    IssueType,
    Provenance,
    Quote,
    QuoteCheck,
    Segment,
    Status,
    Verdict,
    summary_of,
)

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


@pytest.mark.parametrize("update", [None, {}, {"flags": ("a",), "failure": "why"}])
def test_a_copy_is_what_pydantic_would_have_made(update):
    verdict = Verdict(
        trace_id="t",
        span_id="s",
        status=Status.OK,
        result=DiffResult(segments=()),
        provenance=Provenance(judge="diff", engine="local"),
    )
    copied, by_pydantic = verdict.model_copy(update=update), BaseModel.model_copy(verdict, update=update)
    assert copied == by_pydantic
    assert copied is not verdict
    assert copied.model_fields_set == by_pydantic.model_fields_set
    assert copied.model_dump_json(exclude_unset=True) == by_pydantic.model_dump_json(exclude_unset=True)
    assert verdict.flags == ()
    assert hash(copied) == hash(by_pydantic)
    deep = verdict.model_copy(deep=True)
    assert deep == verdict
    assert deep.result is not verdict.result
