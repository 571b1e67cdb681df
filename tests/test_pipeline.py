"""The pipeline: which judges run on an item, and that no evidence counts unchecked, whoever named it."""

import pytest

from enricher.judges.second import Checks
from enricher.pipeline import Judging, examine
from enricher.trace import TraceId, TraceRef, UserReport
from enricher.verdict import (
    AlignmentStatus,
    Claim,
    ClaimVerdict,
    DiffResult,
    IssueType,
    Provenance,
    Quote,
    QuoteCheck,
    Segment,
    Status,
    Usage,
    Verdict,
)
from tests.doubles import ScriptedJudge
from tests.judges.test_diff import item

REF = TraceRef(connection="memory", project="p", trace_id=TraceId("t"))
REPORTED = TraceRef(
    connection="memory", project="p", trace_id=TraceId("t"), reports=(UserReport(name="user_feedback", score=0),)
)
ONE = item("It is 3 kg.", "It is 3 kg.")
TWO = item("It is 3 kg.", "It is 3 kg.", "It is green.")


class Judgement:
    def __init__(self, status):
        issue = IssueType.NONE if status == "FULLY_SUPPORTED" else IssueType.ADDED
        segment = Segment(
            segment_id="s1", generated_text="It is 3 kg.", alignment_status=AlignmentStatus(status), issue_type=issue
        )
        self.verdict = Verdict(
            trace_id="t",
            span_id="root",
            status=Status.OK,
            result=DiffResult(segments=(segment,)),
            provenance=Provenance(judge="diff", engine="openai"),
        )


@pytest.mark.parametrize(
    ("when", "made", "ref", "risk", "so_far", "due"),
    [
        ((), ONE, REF, "normal", (), True),
        (("always",), ONE, REF, "normal", (), True),
        (("two_documents",), ONE, REF, "normal", (), False),
        (("two_documents",), TWO, REF, "normal", (), True),
        (("reported",), ONE, REF, "normal", (), False),
        (("reported",), ONE, REPORTED, "normal", (), True),
        (("high_risk",), ONE, REF, "normal", (), False),
        (("high_risk",), ONE, REF, "high", (), True),
        (("diff_finds",), ONE, REF, "normal", (), False),
        (("diff_finds",), ONE, REF, "normal", (Judgement("FULLY_SUPPORTED"),), False),
        (("diff_finds",), ONE, REF, "normal", (Judgement("UNSUPPORTED"),), True),
        (("reported", "two_documents"), ONE, REPORTED, "normal", (), False),
        (("reported", "two_documents"), TWO, REPORTED, "normal", (), True),
    ],
)
def test_a_judge_runs_when_all_its_conditions_hold(when, made, ref, risk, so_far, due):
    assert Judging(judge=ScriptedJudge(), when=when).is_due(made, ref, risk, so_far) is due


class Model:
    """A judge and a second check whose passages may be invented."""

    provenance = Provenance(judge="diff", engine="openai", model="m-1")

    def __init__(self, passage):
        self.passage = passage

    async def judge(self, item):
        sentence = item.sentences[0]
        segment = Segment(
            segment_id=sentence.id,
            start=sentence.start,
            end=sentence.end,
            generated_text=sentence.text,
            alignment_status=AlignmentStatus.UNSUPPORTED,
            issue_type=IssueType.ADDED,
        )
        return Verdict(
            trace_id=item.trace_id,
            span_id=item.annotate_span_id,
            status=Status.OK,
            result=DiffResult(segments=(segment,)),
            provenance=self.provenance,
        )

    async def assess(self, item, statements):
        quote = Quote(document_id="d1", text=self.passage)
        claims = [
            Claim(claim_id="c1", text=text, verdict=ClaimVerdict.CONTRADICTED, evidence=(quote,)) for text in statements
        ]
        return claims, Usage(calls=1)

    async def aclose(self):
        pass


async def test_a_passage_that_a_second_model_invented_carries_no_verdict():
    model = Model("It weighs seven kilograms in all.")
    verdict = await examine(ONE, model, Checks(has_engine=False, assessor=model))
    (segment,) = verdict.result.segments
    assert segment.alignment_status is AlignmentStatus.UNSUPPORTED
    assert segment.verified == ()
    assert segment.opinions[0].evidence == ()
    assert "evidence_not_verified" in verdict.flags


async def test_a_passage_of_a_second_model_that_stands_there_counts():
    model = Model("It is 3 kg.")
    verdict = await examine(ONE, model, Checks(has_engine=False, assessor=model))
    (segment,) = verdict.result.segments
    assert segment.alignment_status is AlignmentStatus.CONTRADICTED
    assert segment.verified[0].check is QuoteCheck.VERIFIED
    assert segment.opinions[0].evidence[0].check is QuoteCheck.VERIFIED


async def test_what_checks_is_part_of_the_version_of_the_verdict():
    model = Model("It is 3 kg.")
    checks = Checks(has_engine=False, assessor=model)
    verdict = await examine(ONE, model, checks)
    assert verdict.provenance.second == checks.name
    assert verdict.provenance.version.endswith(checks.name)
    assert (await examine(ONE, model)).provenance.second is None
