"""This run against the runs of the same job before it: which figures moved beyond what they did so far."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt

from enricher.rates import Rate
from enricher.report import SOUND
from enricher.reporting.nouns import Change, Changes, PastRun
from enricher.store.facts import BUCKETS, ISSUES
from enricher.store.nights import JudgeNight, Night

_FEWEST = 3  # runs before that say how far a figure moves by itself
_Z = 1.959964  # of a 95 % interval
_PRICE = 0.2  # a cost that moves by less is no news
_NOBODY = JudgeNight()


@dataclass(frozen=True, kw_only=True, slots=True)
class _Measured:
    """One figure of one night: a part of a whole."""

    name: str
    unit: str
    part: float
    whole: int
    more_is_worse: bool | None = None
    deviation: float | None = None  # of the single values, for a mean; None: a share of the whole, or a count

    @property
    def value(self) -> float | None:
        """Return the figure; None where there is nothing to measure."""
        return self.part / self.whole if self.whole else None


def changes(tonight: Night, before: Sequence[Night], leading: str | None, notes: Sequence[str]) -> Changes:
    """Compare a run with the runs before, oldest first; `leading` names the job's first judge."""
    judged = [night for night in before if night.judged or night.rejected]
    judges = [name for name, judge in tonight.judges.items() if judge.scored]
    past = [{one.name: one for one in _measured(night, judges, leading)} for night in judged]
    figures = (_change(one, [night[one.name] for night in past]) for one in _measured(tonight, judges, leading))
    return Changes(
        runs=tuple(_past(night, leading) for night in (*judged, tonight)),
        figures=tuple(figure for figure in figures if figure is not None),
        notes=tuple(notes),
    )


def flagged(judge: JudgeNight) -> Rate:
    """Return the share of the verdicts whose label holds something against the answer."""
    return Rate.of_count(
        sum(count for label, count in judge.labels.items() if label not in SOUND), sum(judge.labels.values())
    )


def _past(night: Night, leading: str | None) -> PastRun:
    judge = night.judges.get(leading or "", _NOBODY)
    return PastRun(
        run_id=night.run_id,
        started=night.started_at,
        state=night.state,
        judged=judge.judged,
        scored=judge.scored,
        mean_score=judge.mean_score,
        flagged=flagged(judge),
        contradicted=judge.labels.get("contradicted", 0),
        failed=sum(night.failed.values()),
        rejected=sum(night.rejected.values()),
        reported=night.reports.reported,
        cost=night.cost,
    )


def _measured(night: Night, judges: Sequence[str], leading: str | None) -> Iterator[_Measured]:
    """Measure a night by the judges of the night that all are compared with."""
    for name in judges:
        judge = night.judges.get(name, _NOBODY)
        yield _Measured(
            name=f"mean score of {name}",
            unit="score",
            part=judge.score_sum,
            whole=judge.scored,
            more_is_worse=False,
            deviation=_deviation(judge),
        )
    if leading is not None:
        yield from _of_leading(night.judges.get(leading, _NOBODY))
    of_halves = sum(night.halves.values())
    for half in ("retrieval", "generation"):
        failed = night.halves.get(half, 0) + night.halves.get("both", 0)
        yield _Measured(name=f"{half} failed", unit="share", part=failed, whole=of_halves, more_is_worse=True)
    failed, rejected = sum(night.failed.values()), sum(night.rejected.values())
    answers = max((judge.judged for judge in night.judges.values()), default=0)
    yield _Measured(name="judgements that failed", unit="share", part=failed, whole=night.judged, more_is_worse=True)
    yield _Measured(
        name="could not be judged", unit="share", part=rejected, whole=rejected + answers, more_is_worse=True
    )
    yield _Measured(name="reported by users", unit="share", part=night.reports.reported, whole=night.reports.traces)
    yield _Measured(
        name="findings that the second check shares",
        unit="share",
        part=night.agreed,
        whole=night.checked,
        more_is_worse=False,
    )
    yield _Measured(name="cost of 100 judgements", unit="cost", part=100 * night.cost, whole=night.judged)


def _of_leading(judge: JudgeNight) -> Iterator[_Measured]:
    verdicts = sum(judge.labels.values())
    yield _Measured(
        name="answers with a finding", unit="share", part=flagged(judge).count, whole=verdicts, more_is_worse=True
    )
    for issue in ISSUES:
        per_hundred = 100 * judge.issues.get(issue, 0)
        yield _Measured(
            name=f"{issue} per 100 answers", unit="count", part=per_hundred, whole=verdicts, more_is_worse=True
        )


def _change(tonight: _Measured, before: Sequence[_Measured]) -> Change | None:
    now, values = tonight.value, [value for night in before if (value := night.value) is not None]
    pooled = sum(night.part for night in before) / sum(night.whole for night in before) if values else None
    # What happened neither now nor before is no news; a mean of 0 is.
    if now is None or (not now and not pooled and tonight.deviation is None):
        return None
    change = Change(
        name=tonight.name,
        unit=tonight.unit,
        now=now,
        before=pooled,
        low=min(values, default=None),
        high=max(values, default=None),
        runs=len(values),
    )
    if pooled is None or len(values) < _FEWEST or min(values) <= now <= max(values):
        return change
    if not _is_beyond_chance(tonight, pooled, sum(night.whole for night in before)):
        return change
    worse = None if tonight.more_is_worse is None else (now > pooled) == tonight.more_is_worse
    update = {"is_notable": True, "is_worse": worse, "sentence": _sentence(change, now > pooled)}
    return change.model_copy(update=update)


def _is_beyond_chance(tonight: _Measured, pooled: float, of: int) -> bool:
    """Tell whether a figure differs from that of `of` before by more than 95 % of such samples would."""
    part, whole = tonight.part, tonight.whole
    if tonight.deviation is not None:
        return abs(part / whole - pooled) > _Z * tonight.deviation / sqrt(whole)
    if tonight.unit == "share":
        now, then = Rate.of_count(round(part), whole), Rate.of_count(round(pooled * of), of)
        return (now.low or 0.0) > (then.high or 0.0) or (then.low or 0.0) > (now.high or 0.0)
    if tonight.unit == "count":  # counts scatter by their root
        expected = pooled * whole / 100
        return abs(part / 100 - expected) > _Z * sqrt(max(expected, 1.0))
    return abs(part / whole - pooled) > _PRICE * pooled


def _sentence(change: Change, is_higher: bool) -> str:
    now, before, low, high = (
        shown(value, change.unit) for value in (change.now, change.before, change.low, change.high)
    )
    direction = "higher" if is_higher else "lower"
    return (
        f"{change.name}: {now}, {direction} than in any of the {change.runs} runs before "
        f"({before} over all, {low} to {high})"
    )


def _deviation(judge: JudgeNight) -> float:
    """Return the standard deviation of scores, as near as tenths tell."""
    mean = judge.mean_score or 0.0
    middles = [1.0 if number == BUCKETS - 1 else (number + 0.5) / BUCKETS for number in range(BUCKETS)]
    squares = sum(n * (middle - mean) ** 2 for n, middle in zip(judge.buckets, middles, strict=True))
    return sqrt(squares / judge.scored) if judge.scored else 0.0


def shown(value: float | None, unit: str) -> str:
    """Write a figure as people read it."""
    if value is None:
        return "–"
    if unit == "share":
        return f"{value:.1%}"
    return f"{value:.1f}" if unit == "count" else f"{value:.4f}" if unit == "cost" else f"{value:.3f}"
