"""Count a comparison: how the challenger fared, with intervals, and everything that counts neither way."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field

from enricher.compare.judging import Compared
from enricher.compare.matching import Leftover, Matching
from enricher.rates import Rate
from enricher.verdict import Noun, PairwiseResult, Preference, Severity, Side, Usage

_SIDES: tuple[tuple[str, Side], ...] = (("champion", "A"), ("challenger", "B"))


class Outcome(Noun):
    """How the challenger fared."""

    wins: Rate
    ties: Rate
    losses: Rate

    @classmethod
    def of_preferences(cls, preferences: Sequence[Preference]) -> "Outcome":
        """Count preferences; answer B is the challenger's."""
        counted, total = Counter(preferences), len(preferences)
        return cls(
            wins=Rate.of_count(counted[Preference.B], total),
            ties=Rate.of_count(counted[Preference.TIE], total),
            losses=Rate.of_count(counted[Preference.A], total),
        )


class SideCounts(Noun):
    """What is held against the answers of one side, where the engine sees it too."""

    hallucinations: dict[str, int]  # by severity
    per_answer: dict[str, float]
    unconfirmed: int  # flags of the judge that do not count
    citation_errors: int


class PairRow(Noun):
    """One pair as the report lists it."""

    pair_id: str
    question: str
    outcome: str  # win, tie or loss of the challenger; the status when there is no verdict
    accepted: bool
    confidence: float | None = None
    reasons: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    summary: str = ""
    champion_trace: str = ""
    challenger_trace: str = ""
    champion_answer: str = ""
    challenger_answer: str = ""


class LeftoverRow(Noun):
    """An answer that was not compared, as the report lists it."""

    side: str
    reason: str
    where: str
    question: str = ""
    detail: str = ""


class Comparison(Noun):
    """All figures of a comparison."""

    champion: str
    challenger: str
    judge: str  # version
    pairs: int  # matched
    judged: int  # with a verdict
    recalled: int  # of these, known from before
    accepted: int
    overall: Outcome  # of the accepted ones
    provisional: dict[str, int] = Field(default_factory=dict)  # outcomes of those that wait for people
    dimensions: dict[str, Outcome]
    position_bias: Rate  # of the pairs that were judged in both orders
    in_review: int
    review_reasons: dict[str, int]
    failed: dict[str, int]  # by status; neither win nor loss
    refused: dict[str, int]  # by reason
    left: int  # over budget: judged by the next comparison
    unmatched: dict[str, int]  # by side
    differing: int
    unusable: int
    sides: dict[str, SideCounts]
    new_critical: int  # pairs in which only the challenger's answer has a critical hallucination
    fixed_critical: int  # pairs in which only the champion's has
    usage: Usage
    rows: tuple[PairRow, ...]
    leftovers: tuple[LeftoverRow, ...]
    written: int = 0
    write_problems: tuple[str, ...] = ()
    gate: str | None = None
    gate_passed: bool | None = None


def tally(champion: str, challenger: str, version: str, matching: Matching, compared: Sequence[Compared]) -> Comparison:
    """Count what was compared and what was not."""
    judged = [one for one in compared if one.result is not None]
    accepted = [one.result for one in judged if one.is_accepted and one.result is not None]
    waiting = [one for one in compared if one.reasons]
    results = [one.result for one in judged if one.result is not None]
    both = [result for result in results if len(result.orders) > 1]
    failed = Counter(one.verdict.status for one in compared if one.result is None)
    skipped, over_budget = failed.pop("SKIPPED", 0), failed.pop("BUDGET_EXCEEDED", 0)  # type: ignore[call-overload]
    held = [one.result for one in judged if not one.is_accepted and one.result is not None]
    refused = Counter(one.verdict.flags[0] for one in compared if one.verdict.status == "SKIPPED")
    usage = Usage()
    for one in compared:
        usage = usage if one.is_recalled else usage + one.verdict.usage
    critical = [(_has_critical(result, "A"), _has_critical(result, "B")) for result in results]
    assert sum(refused.values()) == skipped
    return Comparison(
        champion=champion,
        challenger=challenger,
        judge=version,
        pairs=len(compared),
        judged=len(judged),
        recalled=sum(one.is_recalled for one in compared),
        accepted=len(accepted),
        overall=Outcome.of_preferences([result.preferred for result in accepted]),
        provisional=dict(Counter(_fared(result) for result in held)),
        dimensions=_dimensions(accepted),
        position_bias=Rate.of_count(sum(result.has_position_bias for result in both), len(both)),
        in_review=len(waiting),
        review_reasons=dict(Counter(reason for one in waiting for reason in one.reasons)),
        failed={str(status): count for status, count in failed.items()},
        refused=dict(refused),
        left=over_budget,
        unmatched=dict(Counter(entry.side for entry in matching.unmatched)),
        differing=len(matching.differing),
        unusable=len(matching.unusable),
        sides={name: _side(results, side) for name, side in _SIDES},
        new_critical=sum(theirs and not ours for ours, theirs in critical),
        fixed_critical=sum(ours and not theirs for ours, theirs in critical),
        usage=usage,
        rows=tuple(_row(one) for one in compared),
        leftovers=tuple(map(_leftover, (*matching.differing, *matching.unmatched, *matching.unusable))),
    )


def metrics(comparison: Comparison | None) -> dict[str, float | None]:
    """Return the figures that a gate can name; all None without a comparison."""
    found: dict[str, float | None] = {}
    one = comparison
    for name, attribute in (("wins", "wins"), ("ties", "ties"), ("losses", "losses")):
        rate: Rate | None = getattr(one.overall, attribute) if one else None
        plain = "ties" if name == "ties" else f"challenger_{name}"
        found[plain] = rate.rate if rate else None
        found[f"{plain}_low"] = rate.low if rate else None
        found[f"{plain}_high"] = rate.high if rate else None
    for dimension in ("faithfulness", "citation_accuracy", "completeness", "source_conflict_handling"):
        outcome = one.dimensions.get(dimension) if one else None
        found[f"{dimension}_wins"] = outcome.wins.rate if outcome else None
        found[f"{dimension}_losses"] = outcome.losses.rate if outcome else None
    for name, _ in _SIDES:
        for severity in Severity:
            side = one.sides[name] if one else None
            word = severity.value.lower()
            found[f"{name}_{word}"] = side.per_answer.get(severity.value) if side else None
    share = one.pairs if one else 0
    found |= {
        "position_bias": one.position_bias.rate if one else None,
        "new_critical": one.new_critical if one and one.judged else None,
        "fixed_critical": one.fixed_critical if one and one.judged else None,
        "pairs": one.pairs if one else None,
        "judged": one.judged if one else None,
        "accepted": one.accepted if one else None,
        "in_review": one.in_review / share if one and share else None,
        "failed": sum(one.failed.values()) / share if one and share else None,
        "unmatched": sum(one.unmatched.values()) if one else None,
        "differing": one.differing if one else None,
        "cost": one.usage.cost if one else None,
    }
    return found


def _dimensions(results: Sequence[PairwiseResult]) -> dict[str, Outcome]:
    winners: dict[str, list[Preference]] = {}
    for result in results:
        for dimension in result.dimensions:
            winners.setdefault(dimension.name, []).append(dimension.winner)
    return {name: Outcome.of_preferences(found) for name, found in winners.items()}


def _side(results: Sequence[PairwiseResult], side: Side) -> SideCounts:
    counts = Counter(str(flag.severity) for result in results for flag in result.held_against(side))
    all_flags = sum(flag.answer == side for result in results for flag in result.hallucinations)
    errors = sum(e.answer == side and e.is_confirmed for result in results for e in result.citation_errors)
    by_severity = {str(severity): counts[str(severity)] for severity in Severity}
    return SideCounts(
        hallucinations=by_severity,
        per_answer={name: count / len(results) for name, count in by_severity.items()} if results else {},
        unconfirmed=all_flags - sum(counts.values()),
        citation_errors=errors,
    )


def _has_critical(result: PairwiseResult, side: Side) -> bool:
    return any(flag.severity is Severity.CRITICAL for flag in result.held_against(side))


def _fared(result: PairwiseResult) -> str:
    return _FARED[result.preferred]


_FARED: Mapping[Preference, str] = {Preference.B: "win", Preference.TIE: "tie", Preference.A: "loss"}


def _row(one: Compared) -> PairRow:
    result = one.result
    found: dict[str, Any] = {
        "pair_id": one.pair.id,
        "question": one.pair.a.question or "",
        "outcome": _fared(result) if result is not None else str(one.verdict.status),
        "accepted": one.is_accepted,
        "confidence": result.confidence if result is not None else None,
        "reasons": one.reasons,
        "flags": one.verdict.flags,
        "summary": result.summary if result is not None else one.verdict.failure or "",
        "champion_trace": one.pair.a.trace_id if one.matched.champion else "",
        "challenger_trace": one.pair.b.trace_id if one.matched.challenger else "",
        "champion_answer": one.pair.a.answer,
        "challenger_answer": one.pair.b.answer,
    }
    return PairRow(**found)


def _leftover(entry: Leftover) -> LeftoverRow:
    return LeftoverRow(
        side=entry.side, reason=entry.reason, where=entry.where, question=entry.question, detail=entry.detail
    )
