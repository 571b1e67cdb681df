"""Automatic confirmation: held while a judge agrees too little with people, or is not the one that was compared."""

from datetime import UTC, datetime

import pytest

from enricher.pipeline import Judging, Pipeline
from enricher.steps.confirmation import Confirmation, HoldReason
from enricher.steps.segmentation import split_item
from enricher.trace import TraceId, TraceRef
from enricher.trust import Calibration, Setting
from enricher.verdict import (
    AlignmentStatus,
    Certainty,
    DiffResult,
    IssueType,
    Opinion,
    Provenance,
    Segment,
    Standing,
    Status,
    Verdict,
)
from tests.judges.test_diff import item

MODEL = Provenance(
    judge="diff", engine="openai", prompt="diff@v2", prompt_hash="p2", model="m-1", model_snapshot="m-1-june"
)
WHEN = datetime(2026, 11, 2, tzinfo=UTC)


def calibration(agreement=0.9, **changes):
    setting = Setting.of(MODEL).model_copy(update=changes)
    return Calibration(setting=setting, made_at=WHEN, labels=60, agreement=agreement)


def confirmation(*known, required=False):
    return Confirmation(calibrations=known, level=0.8, is_required=required)


def found(*certainties):
    segments = tuple(
        Segment(
            segment_id=f"s{number}",
            generated_text="x",
            alignment_status=AlignmentStatus.UNSUPPORTED,
            issue_type=IssueType.ADDED,
            certainty=certainty,
            opinions=(Opinion(by="e", standing=Standing.UNSUPPORTED, agrees=certainty is Certainty.CONFIRMED),),
        )
        for number, certainty in enumerate(certainties, 1)
    )
    result = DiffResult(segments=segments)
    return Verdict(trace_id="t", span_id="a", status=Status.OK, result=result, provenance=MODEL)


def certainties(verdict):
    return [part.certainty for part in verdict.result.parts]


@pytest.mark.parametrize(
    ("known", "reason", "detail"),
    [
        ((), None, ""),
        ((calibration(0.9),), None, ""),
        ((calibration(0.8),), None, ""),
        ((calibration(0.79),), HoldReason.AGREEMENT, "agreed with 79% of 60 labels on 2026-11-02, 80% are asked"),
        ((calibration(0.9, prompt="diff@v1", prompt_hash="p1"),), HoldReason.PROMPT, "calibrated was diff@v1"),
        ((calibration(0.9, prompt_hash="p2 with examples"),), HoldReason.PROMPT, "diff@v2 with other additions"),
        ((calibration(0.9, snapshot="m-1-may"),), HoldReason.MODEL, "its model is m-1-june, calibrated was m-1-may"),
        ((calibration(0.9, judge="faithfulness"),), None, ""),
        ((calibration(0.5, engine="local", prompt=None, prompt_hash=None),), None, ""),
        # The newest calibration of the very same setting counts, whatever was calibrated after it.
        ((calibration(0.9, snapshot="m-2"), calibration(0.9), calibration(0.5)), None, ""),
    ],
)
def test_confirmation_is_held_by_what_is_known_of_the_setting(known, reason, detail):
    hold = confirmation(*known).hold(Setting.of(MODEL))
    assert (hold.reason if hold else None) == reason
    if hold:
        assert detail in hold.sentence
        assert "enricher calibrate" in hold.sentence


def test_a_judge_that_was_never_calibrated_is_held_only_where_that_is_asked():
    assert confirmation(required=True).hold(Setting.of(MODEL)).reason is HoldReason.NEVER
    assert confirmation(calibration(), required=True).hold(Setting.of(MODEL)) is None


def test_a_hold_unconfirms_what_was_confirmed_and_nothing_else():
    verdict, hold = confirmation(calibration(0.5)).applied(found(Certainty.CONFIRMED, Certainty.REFUTED))
    assert certainties(verdict) == [Certainty.UNCONFIRMED, Certainty.REFUTED]
    assert verdict.flags == ("confirmation_held:agreement_below_level",)
    assert hold.judge == "diff"
    untouched, hold = confirmation(calibration(0.5)).applied(found(Certainty.DISPUTED))
    assert (certainties(untouched), untouched.flags) == ([Certainty.DISPUTED], ())
    assert hold is not None


def test_a_verdict_from_before_is_confirmed_again_once_the_judge_is_recalibrated():
    held, _ = confirmation(calibration(0.5)).applied(found(Certainty.CONFIRMED, Certainty.DISPUTED))
    verdict, hold = confirmation(calibration(0.9)).applied(held)
    assert certainties(verdict) == [Certainty.CONFIRMED, Certainty.DISPUTED]
    assert (verdict.flags, hold) == ((), None)


def test_what_no_check_looked_at_stays_unconfirmed():
    # `require_agreement`: there is no opinion that could confirm it.
    result = found(Certainty.UNCONFIRMED).result
    bare = result.segments[0].model_copy(update={"opinions": ()})
    verdict = found(Certainty.UNCONFIRMED).model_copy(update={"result": result.with_parts((bare,))})
    assert confirmation(calibration(0.9)).applied(verdict)[0] is verdict


class Model:
    provenance = MODEL

    async def judge(self, item):
        return found(Certainty.CONFIRMED)

    async def aclose(self):
        pass


async def test_in_the_pipeline_a_held_finding_goes_to_people_as_unconfirmed():
    async def nothing(ref, item, digest, provenance):
        return None

    ref = TraceRef(connection="memory", project="p", trace_id=TraceId("t"))
    asked = split_item(item("x", "y"))
    for level, certainty, reasons in ((0.95, "unconfirmed", ("unconfirmed",)), (0.5, "confirmed", ())):
        rule = Confirmation(calibrations=(calibration(0.9),), level=level)
        pipeline = Pipeline(judges=(Judging(judge=Model()),), recall=nothing, confirmation=rule)
        (made,) = await pipeline._judgements(asked, ref)
        assert made.decision.reasons == reasons
        assert certainties(made.verdict) == [Certainty(certainty)]
        (written, *_) = made.annotations
        assert written.metadata["segments"][0]["certainty"] == certainty
        assert (made.hold is None) == (not reasons)


@pytest.mark.parametrize(("flags", "certainty"), [((), "confirmed"), (("same_input_as_before",), "unconfirmed")])
async def test_what_is_recorded_of_the_very_item_stays_and_what_comes_from_another_trace_does_not(flags, certainty):
    async def recorded(ref, item, digest, provenance):
        return found(Certainty.CONFIRMED).model_copy(update={"flags": flags})

    rule = Confirmation(calibrations=(calibration(0.5),), level=0.8)
    pipeline = Pipeline(judges=(Judging(judge=Model()),), recall=recorded, confirmation=rule)
    ref = TraceRef(connection="memory", project="p", trace_id=TraceId("t"))
    (made,) = await pipeline._judgements(split_item(item("x", "y")), ref)
    assert certainties(made.verdict) == [Certainty(certainty)]
