"""Decision: where a verdict goes, and why people are asked."""

import pytest

from enricher.steps.decision import PolicyRule, decide, held, strictest
from enricher.verdict import (
    AlignmentStatus,
    Certainty,
    DiffResult,
    IssueType,
    Provenance,
    Route,
    Segment,
    Status,
    Verdict,
)


def _verdict(*statuses: AlignmentStatus, status: Status = Status.OK, flags: tuple[str, ...] = ()) -> Verdict:
    segments = tuple(
        Segment(segment_id=f"s{n}", generated_text="x", alignment_status=s, issue_type=IssueType.NONE)
        for n, s in enumerate(statuses, 1)
    )
    return Verdict(
        trace_id="t",
        span_id="a",
        status=status,
        result=DiffResult(segments=segments) if status.is_verdict else None,
        flags=flags,
        provenance=Provenance(judge="diff", engine="local"),
    )


SUPPORTED, UNSUPPORTED, CONTRADICTED = (
    AlignmentStatus.FULLY_SUPPORTED,
    AlignmentStatus.UNSUPPORTED,
    AlignmentStatus.CONTRADICTED,
)


def test_a_faithful_answer_is_written_and_nobody_is_asked():
    decision = decide(_verdict(SUPPORTED), PolicyRule())
    assert decision.route is Route.WRITE
    assert decision.reasons == ()


def test_high_risk_sends_low_scores_and_contradictions_to_people():
    decision = decide(_verdict(SUPPORTED, CONTRADICTED), PolicyRule(risk_level="high"))
    assert decision.route is Route.BOTH
    assert decision.reasons == ("score_below_threshold", "contradicted")


def test_a_score_of_zero_is_below_the_threshold():
    assert decide(_verdict(UNSUPPORTED), PolicyRule(review_below=0.5)).reasons == ("score_below_threshold",)


def test_an_item_without_claims_is_not_below_the_threshold():
    verdict = _verdict(status=Status.NO_CLAIMS)
    assert decide(verdict, PolicyRule(risk_level="high")).route is Route.WRITE


@pytest.mark.parametrize("status", [Status.JUDGE_PARSE_ERROR, Status.JUDGE_UNAVAILABLE, Status.JUDGE_REFUSED])
def test_a_failed_judge_goes_to_people_and_is_never_written(status):
    decision = decide(_verdict(status=status), PolicyRule())
    assert decision.route is Route.REVIEW
    assert decision.reasons == (f"judge_failed:{status}",)


def test_review_of_failures_can_be_switched_off():
    assert decide(_verdict(status=Status.JUDGE_EMPTY), PolicyRule(review_failures=False)).route is Route.DROP


def test_a_doubtful_verdict_is_written_and_shown_to_people():
    decision = decide(_verdict(SUPPORTED, flags=("injection_suspected:d1",)), PolicyRule())
    assert decision.route is Route.BOTH
    assert decision.reasons == ("injection_suspected",)


def test_the_route_review_withholds_the_verdict():
    decision = decide(_verdict(SUPPORTED), PolicyRule(route=Route.REVIEW))
    assert decision.route is Route.REVIEW
    assert decision.reasons == ("policy",)


def _checked(*certainties: Certainty | None, **policy: object) -> tuple[Verdict, PolicyRule]:
    verdict = _verdict(*[UNSUPPORTED] * len(certainties))
    parts = [
        part.model_copy(update={"certainty": c}) for part, c in zip(verdict.result.parts, certainties, strict=True)
    ]
    return verdict.model_copy(update={"result": verdict.result.with_parts(parts)}), PolicyRule(**policy)


@pytest.mark.parametrize(
    ("certainty", "reason"),
    [
        (Certainty.DISPUTED, "disputed"),
        (Certainty.REFUTED, "disputed"),
        (Certainty.UNCONFIRMED, "unconfirmed"),
    ],
)
def test_a_finding_that_a_second_check_does_not_share_goes_to_people_once(certainty, reason):
    assert decide(*_checked(certainty, certainty)).reasons == (reason,)


def test_confirmed_findings_are_written_without_asking_anybody():
    assert decide(*_checked(Certainty.CONFIRMED)).reasons == ()


def test_where_the_risk_is_high_only_a_person_confirms():
    verdict, policy = _checked(Certainty.CONFIRMED, Certainty.DISPUTED, None, risk_level="high")
    found = [part.certainty for part in held(verdict, policy).result.parts]
    assert found == [Certainty.UNCONFIRMED, Certainty.DISPUTED, None]
    assert held(verdict, PolicyRule()) is verdict


def test_a_verdict_that_was_skipped_asks_nobody_and_is_not_written():
    assert decide(_verdict(status=Status.SKIPPED), PolicyRule()).route is Route.DROP


def test_of_the_policies_of_several_rules_the_strictest_counts():
    loose = PolicyRule(review_failures=False)
    assert strictest([]) is None
    assert strictest([loose]) == loose
    assert strictest([loose, PolicyRule(route=Route.BOTH, review_below=0.5)]) == PolicyRule(
        route=Route.BOTH, review_below=0.5, review_failures=True
    )
    high = strictest([PolicyRule(review_below=0.5), PolicyRule(risk_level="high"), PolicyRule(route=Route.REVIEW)])
    assert (high.route, high.risk_level, high.threshold) == (Route.REVIEW, "high", 0.9)
