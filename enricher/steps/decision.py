"""Decide what happens to a verdict: written back, shown to people, or both."""

from collections.abc import Iterable
from dataclasses import dataclass

from enricher.steps.confirmation import unconfirmed
from enricher.verdict import Certainty, Decision, Route, Standing, Status, Verdict

# Flags of a verdict or segment after which nobody should rely on it unread.
_DOUBTS = (
    "source_conflict",
    "position_bias",
    "injection_suspected",
    "overruled_by_second_check",
    "overlooked_mismatch",
    "second_check_failed",
    "evidence_not_verified",
    "context_truncated",
    "dropped_attributes",
)
# What a second check can make of a finding that people should see, and the reason that the queue gives.
_DISPUTES = {
    Certainty.DISPUTED: "disputed",
    Certainty.REFUTED: "disputed",
    Certainty.UNCONFIRMED: "unconfirmed",
}


_STRICTNESS = (Route.DROP, Route.WRITE, Route.BOTH, Route.REVIEW)  # the last one writes nothing unread


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyRule:
    """The policy of a job, as the settings give it."""

    route: Route = Route.WRITE
    risk_level: str = "normal"
    review_below: float | None = None
    review_failures: bool = True

    @property
    def threshold(self) -> float | None:
        """Return the score below which people look: as configured, else 0.9 when the risk is high, else none."""
        return 0.9 if self.review_below is None and self.risk_level == "high" else self.review_below


def decide(verdict: Verdict, policy: PolicyRule) -> Decision:
    """Route one verdict; the reasons are the codes under which the review queue lists it."""
    if verdict.status in (Status.BUDGET_EXCEEDED, Status.SKIPPED):
        return Decision(route=Route.DROP)  # it stays due, or lacks what a judge needs: nothing to look at
    if not verdict.status.is_verdict:
        return Decision(
            route=Route.REVIEW if policy.review_failures else Route.DROP,
            reasons=(f"judge_failed:{verdict.status}",) if policy.review_failures else (),
        )
    reasons = tuple(_reasons(verdict, policy))
    if policy.route is Route.WRITE:
        return Decision(route=Route.BOTH if reasons else Route.WRITE, reasons=reasons)
    return Decision(route=policy.route, reasons=reasons or ("policy",))


def strictest(policies: Iterable[PolicyRule]) -> PolicyRule | None:
    """Return one policy for a trace that several rules chose: whatever one of them shows to people is shown."""
    given = list(policies)
    if not given:
        return None
    thresholds = [policy.threshold for policy in given if policy.threshold is not None]
    return PolicyRule(
        route=max((policy.route for policy in given), key=_STRICTNESS.index),
        risk_level="high" if any(policy.risk_level == "high" for policy in given) else "normal",
        review_below=max(thresholds, default=None),
        review_failures=any(policy.review_failures for policy in given),
    )


def held(verdict: Verdict, policy: PolicyRule) -> Verdict:
    """Return what is written where the risk is high: there a second check confirms no finding, only a person does."""
    return unconfirmed(verdict) if policy.risk_level == "high" else verdict


def _reasons(verdict: Verdict, policy: PolicyRule) -> list[str]:
    reasons = []
    score, threshold = verdict.score, policy.threshold
    if score is not None and threshold is not None and score < threshold:
        reasons.append("score_below_threshold")
    parts = verdict.result.parts if verdict.result is not None else ()
    if policy.risk_level == "high" and any(part.standing is Standing.CONTRADICTED for part in parts):
        reasons.append("contradicted")
    raised = {flag.partition(":")[0] for flag in (*verdict.flags, *(flag for part in parts for flag in part.flags))}
    if any(part.standing is Standing.SOURCE_CONFLICT for part in parts):
        raised.add("source_conflict")
    if verdict.result is not None and verdict.result.kind == "pairwise" and verdict.result.has_position_bias:
        raised.add("position_bias")
    reasons += [doubt for doubt in _DOUBTS if doubt in raised]
    reasons += [_DISPUTES[part.certainty] for part in parts if part.certainty in _DISPUTES]
    # The embedded engine is unsure of every tenth sentence; where little is at stake nobody is asked about that.
    is_strict = policy.risk_level == "high" or (verdict.result is not None and verdict.result.kind == "pairwise")
    if is_strict and "low_confidence" in raised:
        reasons.append("low_confidence")
    return list(dict.fromkeys(reasons))
