"""Whether what judges say has moved: distributions and rates of the newest runs against those before, without labels.

A score that moves is not worse by itself: the application, its users or the judge may have changed. What has moved says
where to look; agreement with people, where there are labels, says whether the judge is to be trusted there.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from pydantic import Field

from enricher.alerts import comparable
from enricher.measure.calibration import Period
from enricher.rates import Rate, largest_gap, stability_by_chance, stability_index, summed
from enricher.store.figures import JudgeNight, Night
from enricher.store.gauges import FinishedRun
from enricher.verdict import Noun, Status


class Shift(Noun):
    """How far a distribution has moved."""

    stability: float  # population stability index
    by_chance: float  # below it in 19 of 20 cases when nothing has moved
    gap: float | None = None  # Kolmogorov-Smirnov distance; of scores only
    now: dict[str, int]  # counts by label, or by the upper bound of a bucket of scores
    before: dict[str, int]
    moved: bool = False


class Move(Noun):
    """A rate now and before."""

    now: Rate
    before: Rate
    moved: bool = False  # the intervals do not touch


class JudgeDrift(Noun):
    """What has moved for one judge."""

    judge: str
    mean_now: float | None = None
    mean_before: float | None = None
    scores: Shift | None = None  # None: too few to say
    labels: Shift | None = None
    rates: dict[str, Move] = Field(default_factory=dict)  # refused, failed, disputed

    @property
    def moved(self) -> tuple[str, ...]:
        """Name what has moved."""
        shifts = {"scores": self.scores, "labels": self.labels}
        found = [name for name, shift in shifts.items() if shift is not None and shift.moved]
        return (*found, *(name for name, move in self.rates.items() if move.moved))


class LabelledDrift(Noun):
    """Agreement with people over time under one setting."""

    name: str
    weeks: tuple[Period, ...]
    moved: bool  # the newest week lies below the weeks before, beyond chance


class JobDrift(Noun):
    """What has moved in one job."""

    job: str
    runs: int  # taken together as now
    before: int  # comparable runs before
    other_versions: int  # runs before that were judged otherwise, and are not compared
    judges: tuple[JudgeDrift, ...] = ()

    @property
    def moved(self) -> tuple[str, ...]:
        """Name what has moved, by judge."""
        return tuple(f"{judge.judge}: {', '.join(judge.moved)}" for judge in self.judges if judge.moved)


class DriftReport(Noun):
    """What has moved."""

    jobs: tuple[JobDrift, ...]
    labelled: tuple[LabelledDrift, ...] = ()

    @property
    def has_moved(self) -> bool:
        """Tell whether anything has."""
        return any(job.moved for job in self.jobs) or any(one.moved for one in self.labelled)


def drift_of(
    job: str,
    nights: Sequence[Night],
    runs: Iterable[FinishedRun],
    *,
    window: int,
    before: int,
    min_items: int,
    stability: float,
) -> JobDrift:
    """Compare the newest runs of a job with those before that the very same judge versions judged.

    Args:
        job: its name.
        nights: figures of its runs, oldest first.
        runs: the same runs, for the versions of their judges.
        window: how many of the newest are taken together.
        before: with how many before them they are compared.
        min_items: fewer say nothing.
        stability: from which stability index on a distribution counts as moved.
    """
    counters = {run.id: {**run.counters, "run": run.id} for run in runs}
    judged = [night for night in nights if night.judged and night.run_id in counters]
    now, then = judged[-window:], judged[:-window][-before:]
    same = {one["run"] for one in comparable([counters[n.run_id] for n in now], [counters[n.run_id] for n in then])}
    alike = [night for night in then if night.run_id in same]
    names = sorted({name for night in now for name in night.judges})
    return JobDrift(
        job=job,
        runs=len(now),
        before=len(alike),
        other_versions=len(then) - len(alike),
        judges=tuple(_judge(name, now, alike, min_items, stability) for name in names),
    )


def labelled_drift(name: str, weeks: Sequence[Period]) -> LabelledDrift:
    """Compare the newest week of agreement with people with the weeks before."""
    moved = False
    if len(weeks) > 1:
        newest, earlier = weeks[-1].agreement, weeks[:-1]
        whole = Rate.of_count(sum(w.agreement.count for w in earlier), sum(w.agreement.of for w in earlier))
        moved = _are_apart(newest, whole) and (newest.rate or 0.0) < (whole.rate or 0.0)
    return LabelledDrift(name=name, weeks=tuple(weeks), moved=moved)


def _judge(name: str, now: Sequence[Night], then: Sequence[Night], min_items: int, stability: float) -> JudgeDrift:
    here = [night.judges[name] for night in now if name in night.judges]
    there = [night.judges[name] for night in then if name in night.judges]
    scores = _shift(_buckets(here), _buckets(there), min_items, stability)
    labels = _shift(summed(one.labels for one in here), summed(one.labels for one in there), min_items, stability)
    if scores is not None:
        gap = largest_gap(list(scores.now.values()), list(scores.before.values()))
        scores = scores.model_copy(update={"gap": gap})
    return JudgeDrift(
        judge=name,
        mean_now=_mean(here),
        mean_before=_mean(there),
        scores=scores,
        labels=labels,
        rates={
            "refused": _move(here, there, _refused, min_items),
            "failed": _move(here, there, _failed, min_items),
            "disputed": _move(here, there, _disputed, min_items),
        },
    )


def _shift(now: Mapping[str, int], then: Mapping[str, int], min_items: int, stability: float) -> Shift | None:
    if min(sum(now.values()), sum(then.values())) < min_items:
        return None
    names = sorted({*now, *then})
    here, there = [now.get(name, 0) for name in names], [then.get(name, 0) for name in names]
    index, chance = stability_index(here, there), stability_by_chance(here, there)
    return Shift(
        stability=index,
        by_chance=chance,
        now=dict(zip(names, here, strict=True)),
        before=dict(zip(names, there, strict=True)),
        moved=index > max(stability, chance),
    )


def _move(
    here: Sequence[JudgeNight],
    there: Sequence[JudgeNight],
    count: Callable[[JudgeNight], tuple[int, int]],
    min_items: int,
) -> Move:
    now, before = _rate(map(count, here)), _rate(map(count, there))
    is_enough = min(now.of, before.of) >= min_items
    return Move(now=now, before=before, moved=is_enough and _are_apart(now, before))


def _rate(counts: Iterable[tuple[int, int]]) -> Rate:
    pairs = list(counts)
    return Rate.of_count(sum(count for count, _ in pairs), sum(of for _, of in pairs))


def _are_apart(one: Rate, other: Rate) -> bool:
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return False
    return one.low > other.high or other.low > one.high


def _refused(night: JudgeNight) -> tuple[int, int]:
    return night.statuses.get(Status.JUDGE_REFUSED, 0), night.judged


def _failed(night: JudgeNight) -> tuple[int, int]:
    left = night.statuses.get(Status.BUDGET_EXCEEDED, 0)  # it stays due and says nothing
    return sum(night.failed.values()) - left, night.judged - left


def _disputed(night: JudgeNight) -> tuple[int, int]:
    return night.checked - night.agreed, night.checked


def _buckets(nights: Iterable[JudgeNight]) -> dict[str, int]:
    counts = [sum(column) for column in zip(*(night.buckets for night in nights), strict=True)]
    return {f"{(place + 1) / len(counts):.1f}": count for place, count in enumerate(counts)}


def _mean(nights: Sequence[JudgeNight]) -> float | None:
    scored = sum(night.scored for night in nights)
    return sum(night.score_sum for night in nights) / scored if scored else None
