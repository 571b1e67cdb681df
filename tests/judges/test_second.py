"""The second check: findings of a model are confirmed, disputed or refuted, and nothing is deleted."""

import pytest

from enricher.grounding.engine import VERSION
from enricher.judges.reply import Unusable
from enricher.judges.second import OVERRULED, Checks
from enricher.seams import SecondCheck
from enricher.steps.verification import verify
from enricher.verdict import (
    AlignmentStatus,
    Certainty,
    Claim,
    ClaimVerdict,
    ConsistencyResult,
    DiffResult,
    FaithfulnessResult,
    HalvesResult,
    IssueType,
    Provenance,
    Quote,
    Segment,
    Stance,
    Standing,
    Status,
    Usage,
    Verdict,
)
from tests.judges.test_diff import item

MODEL = Provenance(judge="diff", engine="openai", prompt="diff@v2", model="m-1")
WARRANTY = item(
    "The warranty lasts 12 months. Returns are free. It weighs 3 kg.",
    "The warranty lasts 12 months from delivery.",
    "The tent weighs 2.8 kg.",
)
STATUS = {"ok": "FULLY_SUPPORTED", "bad": "UNSUPPORTED", "clash": "CONTRADICTED"}


def segment(number, status, *, of=WARRANTY, explanation=""):
    sentence = of.sentences[number]
    alignment = AlignmentStatus(STATUS[status])
    return Segment(
        segment_id=sentence.id,
        start=sentence.start,
        end=sentence.end,
        generated_text=sentence.text,
        alignment_status=alignment,
        issue_type={"ok": IssueType.NONE, "bad": IssueType.ADDED, "clash": IssueType.CONTRADICTED}[status],
        explanation=explanation,
    )


def verdict(*parts, flags=(), result=None):
    result = result or DiffResult(segments=parts)
    return Verdict(trace_id="t", span_id="root", status=Status.OK, result=result, provenance=MODEL, flags=tuple(flags))


class SecondModel:
    provenance = Provenance(judge="faithfulness", engine="openai", model="m-2")

    def __init__(self, *verdicts):
        self.verdicts = verdicts
        self.asked = []

    async def assess(self, item, statements):
        self.asked.append(list(statements))
        if isinstance(self.verdicts[0], Unusable):
            return self.verdicts[0], Usage(calls=1)
        claims = [
            Claim(claim_id=f"c{n}", text=text, verdict=ClaimVerdict(said))
            for n, (text, said) in enumerate(zip(statements, self.verdicts, strict=True), 1)
        ]
        return claims, Usage(calls=1, prompt_tokens=10)

    async def aclose(self):
        pass


def parts_of(checked):
    return {part.key: part for part in checked.result.parts}


def test_it_is_a_second_check():
    assert isinstance(Checks(), SecondCheck)


async def test_a_finding_that_the_engine_shares_is_confirmed():
    (found,) = (await Checks().check(verdict(segment(1, "bad")), WARRANTY)).result.parts
    assert found.certainty is Certainty.CONFIRMED
    assert [(opinion.by, opinion.agrees) for opinion in found.opinions] == [(VERSION, True)]


async def test_a_finding_against_which_the_engine_holds_a_passage_is_refuted_and_kept():
    (found,) = (await Checks().check(verdict(segment(0, "bad", explanation="not there")), WARRANTY)).result.parts
    assert found.certainty is Certainty.REFUTED
    assert found.alignment_status is AlignmentStatus.UNSUPPORTED
    assert found.explanation == "not there"
    (opinion,) = found.opinions
    assert opinion.standing is Standing.SUPPORTED
    assert opinion.evidence[0].text == "The warranty lasts 12 months from delivery."


async def test_what_is_supported_is_not_looked_at_without_a_reason():
    checked = await Checks().check(verdict(segment(0, "ok"), segment(2, "clash")), WARRANTY)
    parts = parts_of(checked)
    assert parts["s1"].opinions == ()
    assert parts["s1"].certainty is None
    assert parts["s3"].certainty is Certainty.CONFIRMED


async def test_the_engine_overrules_support_where_the_material_speaks_to_the_judge():
    flags = ("injection_suspected:d1",)
    checked = await Checks().check(verdict(segment(0, "ok"), segment(2, "ok"), flags=flags), WARRANTY)
    parts = parts_of(checked)
    assert parts["s1"].alignment_status is AlignmentStatus.FULLY_SUPPORTED
    assert parts["s3"].alignment_status is AlignmentStatus.CONTRADICTED
    assert OVERRULED in parts["s3"].flags
    assert OVERRULED in checked.flags
    assert checked.score == 0.5


async def test_a_second_model_that_reads_more_strictly_wins():
    model = SecondModel("SUPPORTED", "UNSUPPORTED", "CONTRADICTED")
    given = verdict(segment(0, "bad"), segment(1, "ok"), segment(2, "bad"))
    parts = parts_of(await Checks(has_engine=False, assessor=model).check(given, WARRANTY))
    assert parts["s1"].alignment_status is AlignmentStatus.UNSUPPORTED
    assert parts["s1"].certainty is Certainty.DISPUTED
    assert parts["s2"].alignment_status is AlignmentStatus.UNSUPPORTED
    assert parts["s3"].alignment_status is AlignmentStatus.CONTRADICTED
    assert "m-2" in parts["s2"].explanation


async def test_what_a_second_model_costs_is_part_of_what_the_verdict_cost():
    checks = Checks(has_engine=False, assessor=SecondModel("UNSUPPORTED"))
    checked = await checks.check(verdict(segment(1, "bad")), WARRANTY)
    assert (checked.usage.calls, checked.usage.prompt_tokens) == (1, 10)


async def test_a_second_model_that_only_advises_is_asked_about_findings_alone():
    model = SecondModel("UNSUPPORTED")
    checks = Checks(has_engine=False, assessor=model, stricter_wins=False)
    parts = parts_of(await checks.check(verdict(segment(0, "ok"), segment(1, "bad")), WARRANTY))
    assert model.asked == [["Returns are free."]]
    assert parts["s2"].certainty is Certainty.CONFIRMED


async def test_a_finding_that_one_of_two_checks_shares_is_disputed_not_refuted():
    model = SecondModel("UNSUPPORTED")
    (found,) = (await Checks(assessor=model).check(verdict(segment(0, "bad")), WARRANTY)).result.parts
    assert found.certainty is Certainty.DISPUTED
    assert len(found.opinions) == 2


async def test_a_check_that_fails_is_flagged_and_leaves_no_opinion():
    model = SecondModel(Unusable(status=Status.JUDGE_UNAVAILABLE, problem="down"))
    checks = Checks(has_engine=False, assessor=model, require_agreement=True)
    checked = await checks.check(verdict(segment(1, "bad")), WARRANTY)
    assert "second_check_failed:JUDGE_UNAVAILABLE" in checked.flags
    (found,) = checked.result.parts
    assert found.opinions == ()
    assert found.certainty is Certainty.UNCONFIRMED


async def test_an_omission_that_the_answer_does_hold_is_refuted():
    def omitted(text):
        quote = Quote(document_id="d1", text=text)
        return Segment(
            segment_id="o1",
            generated_text=None,
            alignment_status=AlignmentStatus.UNSUPPORTED,
            issue_type=IssueType.OMITTED,
            evidence=(quote,),
        )

    (held,) = (await Checks().check(verdict(omitted("The warranty lasts 12 months.")), WARRANTY)).result.parts
    (missing,) = (await Checks().check(verdict(omitted("Batteries are excluded.")), WARRANTY)).result.parts
    assert held.certainty is Certainty.REFUTED
    assert missing.certainty is Certainty.CONFIRMED


async def test_a_source_conflict_is_checked_against_the_documents_that_contradict():
    tents = item("The tent weighs 3.1 kg.", "The tent weighs 3.1 kg.", "The tent weighs 2.8 kg.")
    claim = Claim(
        claim_id="c1",
        text="The tent weighs 3.1 kg.",
        verdict=ClaimVerdict.SOURCE_CONFLICT,
        evidence=(
            Quote(document_id="d1", text="The tent weighs 3.1 kg.", stance=Stance.SUPPORTS),
            Quote(document_id="d2", text="The tent weighs 2.8 kg.", stance=Stance.CONTRADICTS),
        ),
    )
    given = verify(verdict(result=ConsistencyResult(claims=(claim,))), tents)
    (found,) = (await Checks().check(given, tents)).result.parts
    assert found.verdict is ClaimVerdict.SOURCE_CONFLICT
    assert found.certainty is Certainty.CONFIRMED
    assert found.opinions[0].standing is Standing.CONTRADICTED


async def test_claims_are_checked_as_segments_are():
    claims = (
        Claim(claim_id="c1", text="The warranty lasts 12 months.", verdict=ClaimVerdict.UNSUPPORTED),
        Claim(claim_id="c2", text="Returns are free.", verdict=ClaimVerdict.UNSUPPORTED),
    )
    parts = parts_of(await Checks().check(verdict(result=FaithfulnessResult(claims=claims)), WARRANTY))
    assert parts["c1"].certainty is Certainty.REFUTED
    assert parts["c2"].certainty is Certainty.CONFIRMED


async def test_a_result_without_statements_stays_as_it_is():
    axis = {"value": 2}
    halves = HalvesResult(context_relevance=axis, faithfulness=axis, answer_relevance=axis)
    given = verdict(result=halves)
    assert await Checks().check(given, WARRANTY) == given


@pytest.mark.parametrize(
    ("checks", "name"),
    [
        (Checks(), VERSION),
        (Checks(has_engine=False, assessor=SecondModel("x")), "faithfulness/openai/m-2/stricter"),
        (Checks(require_agreement=True), f"{VERSION}/agreed"),
    ],
)
def test_its_name_changes_with_what_changes_its_outcome(checks, name):
    assert checks.name == name
