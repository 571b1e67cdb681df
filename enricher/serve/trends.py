"""Nights as people look at them: the latest one against those before, charts, and groups."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from enricher.serve.charts import Chart, Series
from enricher.serve.showing import words
from enricher.store.facts import ISSUES
from enricher.store.nights import JudgeNight, Night

Link = Callable[..., str]  # of a night and what is behind a figure of it

# Labels of verdicts that hold nothing against an answer.
SOUND = ("faithful", "pass", "consistent", "none", "no_claims")
BANDS = (("above 0.9", (9,), "good"), ("above 0.5", (5, 6, 7, 8), "warn"), ("0.5 or less", (0, 1, 2, 3, 4), "worst"))
_TONES = {
    "CONTRADICTED": "worst",
    "SOURCE_CONFLICT": "5",
    "UNSUPPORTED": "bad",
    "ADDED": "bad",
    "DISTORTED": "warn",
    "PARTIAL": "warn",
    "OMITTED": "mute",
}
_HALVES = (("retrieval", "1"), ("generation", "2"), ("both", "worst"), ("none", "mute"))
_COLOURS = 6  # lines and parts that can be told apart; what comes after them is summed up or left to the table
_NOBODY = JudgeNight()


@dataclass(frozen=True, kw_only=True, slots=True)
class Tile:
    """One figure of the latest night."""

    name: str
    value: str
    note: str = ""  # how it was before
    moved: str = ""  # up or down, where it changed
    tone: str = ""  # good or bad, where the change is either
    link: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """All nights of the window of one group."""

    name: str
    judged: int
    scored: int
    mean_score: float | None
    labels: int
    unsound: int
    issues: Mapping[str, int]
    halves: Mapping[str, int]
    failed: int
    checked: int
    agreed: int
    cost: float

    @property
    def unsound_share(self) -> float | None:
        """Return the share of the verdicts that hold something against the answer."""
        return self.unsound / self.labels if self.labels else None

    @property
    def agreement(self) -> float | None:
        """Return the share of the checked findings that second checks share."""
        return self.agreed / self.checked if self.checked else None


def leading_judge(found: Iterable[Night]) -> str | None:
    """Choose the judge whose scores are shown when nobody asks for another: the diff, else the one with most."""
    scored: Counter[str] = Counter()
    for night in found:
        scored.update({name: judge.scored for name, judge in night.judges.items()})
    if scored["diff"]:
        return "diff"
    return max(scored, key=lambda name: scored[name], default=None)


def tiles(found: Sequence[Night], judge: str, link: Link) -> list[Tile]:
    """Return the figures of the latest night beside those of the nights before it."""
    latest, before = found[-1], found[:-1]
    said, earlier = _of(latest, judge), [_of(night, judge) for night in before]
    return [
        Tile(name="answers judged", value=f"{said.judged:,}", link=link(latest), note=_usual(earlier, _judged)),
        _mean_tile(said, earlier),
        _unsound_tile(said, earlier, link(latest, sound=False)),
        Tile(
            name="contradicted findings",
            value=f"{said.issues.get('CONTRADICTED', 0):,}",
            link=link(latest, issue="CONTRADICTED") if said.issues.get("CONTRADICTED") else None,
            note=_usual(earlier, lambda one: one.issues.get("CONTRADICTED", 0)),
        ),
        Tile(
            name="rejected unjudged",
            value=f"{sum(latest.rejected.values()):,}",
            note=_usual(before, lambda night: sum(night.rejected.values())),
        ),
        Tile(
            name="judges failed",
            value=f"{sum(latest.failed.values()):,}",
            note=_usual(before, lambda night: sum(night.failed.values())),
            tone="bad" if latest.failed else "",
        ),
    ]


def charts(found: Sequence[Night], judge: str, link: Link, link_run: Callable[[Night], str]) -> list[Chart]:
    """Return what is drawn of the nights, in the order of the page."""
    labels, runs = _labels(found), tuple(map(link_run, found))
    shared: dict[str, Any] = {"labels": labels, "links": runs}
    mine = [_of(night, judge) for night in found]
    return [
        _faithfulness(found, mine, judge, link, shared),
        _findings(found, mine, judge, link, shared),
        _failing_half(found, link, shared),
        _counted("rejections", "Rejected, by reason", [night.rejected for night in found], shared),
        _agreement(found, shared),
        _counted("failures", "Judges that failed, by status", [night.failed for night in found], shared, found, link),
        _cost(found, shared),
    ]


def score_lines(found: Sequence[Night], split: Sequence[Night], judge: str, runs: Callable[[Night], str]) -> Chart:
    """Draw mean scores over the nights: one line, or one for each of the largest groups."""
    lines: dict[str, dict[str, float | None]] = {}
    for night in split:
        lines.setdefault(night.group, {})[night.run_id] = _of(night, judge).mean_score
    sizes: Counter[str] = Counter()
    for night in split:
        sizes[night.group] += _of(night, judge).scored
    kept = [name for name, size in sizes.most_common(_COLOURS) if size]
    left = sum(1 for size in sizes.values() if size) - len(kept)
    means = [_of(night, judge).mean_score for night in found]
    return Chart(
        id="scores",
        title=f"Mean score of {judge}",
        kind="lines",
        unit="score",
        labels=_labels(found),
        links=tuple(map(runs, found)),
        series=tuple(
            Series(
                name=group_name(name) if len(lines) > 1 or name else judge,
                values=tuple(lines[name].get(night.run_id) for night in found),
                tone=str(number),
            )
            for number, name in enumerate(kept, 1)
        ),
        says=_since(means) + (f" The {left} smallest groups are in the table below only." if left else ""),
    )


def groups_of(split: Sequence[Night], judge: str) -> list[Group]:
    """Sum up the nights by group, the largest group first."""
    by_name: dict[str, list[Night]] = {}
    for night in split:
        by_name.setdefault(night.group, []).append(night)
    found = [_group(name, its, judge) for name, its in by_name.items() if name or any(night.judged for night in its)]
    return sorted(found, key=lambda group: (-group.judged, group.name))


def night_row(night: Night) -> dict[str, Any]:
    """Return a night for machines."""
    judges = {
        name: {**asdict(judge), "judged": judge.judged, "scored": judge.scored, "mean_score": judge.mean_score}
        for name, judge in night.judges.items()
    }
    found = {**asdict(night), "judges": judges, "failed": night.failed, "halves": dict(night.halves)}
    return found | {"started_at": night.started_at.isoformat(), "finished_at": night.finished_at.isoformat()}


def group_row(group: Group) -> dict[str, Any]:
    """Return a group for machines."""
    return {**asdict(group), "unsound_share": group.unsound_share, "agreement": group.agreement}


def group_name(name: str) -> str:
    """Return what a group is called; what lacks the value has no name of its own."""
    return name or "(not given)"


def unsound(judge: JudgeNight) -> int:
    """Count the verdicts that hold something against the answer."""
    return sum(count for label, count in judge.labels.items() if label not in SOUND)


# figures


def _of(night: Night, judge: str) -> JudgeNight:
    return night.judges.get(judge, _NOBODY)


def _judged(judge: JudgeNight) -> int:
    return judge.judged


def _usual(before: Sequence[Any], count: Callable[[Any], float]) -> str:
    return f"{sum(map(count, before)) / len(before):,.1f} a night before" if before else ""


def _mean_of(judges: Sequence[JudgeNight]) -> float | None:
    scored = sum(judge.scored for judge in judges)
    return sum(judge.score_sum for judge in judges) / scored if scored else None


def _mean_tile(said: JudgeNight, earlier: Sequence[JudgeNight]) -> Tile:
    was = _mean_of(earlier)
    if said.mean_score is None:
        return Tile(name="mean score", value="–", note="nothing was scored")
    if was is None:
        return Tile(name="mean score", value=f"{said.mean_score:.2f}")
    moved = _moved(said.mean_score, was)
    tone = {"up": "good", "down": "bad"}.get(moved, "")
    return Tile(name="mean score", value=f"{said.mean_score:.2f}", note=f"{was:.2f} before", moved=moved, tone=tone)


def _unsound_tile(said: JudgeNight, earlier: Sequence[JudgeNight], link: str) -> Tile:
    labelled, was = sum(said.labels.values()), sum(sum(judge.labels.values()) for judge in earlier)
    share = unsound(said) / labelled if labelled else None
    before = sum(map(unsound, earlier)) / was if was else None
    moved = "" if share is None or before is None else _moved(share, before)
    return Tile(
        name="answers with a finding",
        value="–" if share is None else f"{share:.0%}",
        note="" if before is None else f"{before:.0%} before",
        moved=moved,
        tone={"up": "bad", "down": "good"}.get(moved, ""),
        link=link if share else None,
    )


def _moved(now: float, before: float) -> str:
    return "" if abs(now - before) < 0.005 else "up" if now > before else "down"


def _group(name: str, its: Sequence[Night], judge: str) -> Group:
    mine = [_of(night, judge) for night in its]
    return Group(
        name=name,
        judged=sum(one.judged for one in mine),
        scored=sum(one.scored for one in mine),
        mean_score=_mean_of(mine),
        labels=sum(sum(one.labels.values()) for one in mine),
        unsound=sum(map(unsound, mine)),
        issues=_summed(one.issues for one in mine),
        halves=_summed(night.halves for night in its),
        failed=sum(sum(one.failed.values()) for one in mine),
        checked=sum(one.checked for one in mine),
        agreed=sum(one.agreed for one in mine),
        cost=sum(night.cost for night in its),
    )


def _summed(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return dict(total)


# charts


def _labels(found: Sequence[Night]) -> tuple[str, ...]:
    """Name nights by their day (UTC), and by the hour too where a day has several."""
    days = [f"{night.started_at:%b} {night.started_at.day}" for night in found]
    if len(set(days)) == len(days):
        return tuple(days)
    return tuple(f"{day}, {night.started_at:%H:%M}" for day, night in zip(days, found, strict=True))


def _since(means: Sequence[float | None]) -> str:
    known = [mean for mean in means if mean is not None]
    if not known:
        return "Nothing was scored in these nights."
    if len(known) == 1:
        return f"{known[0]:.2f} in the only night with scores."
    return f"{known[-1]:.2f} in the latest night with scores; between {min(known):.2f} and {max(known):.2f} in all."


def _faithfulness(
    found: Sequence[Night], mine: Sequence[JudgeNight], judge: str, link: Link, shared: Mapping[str, Any]
) -> Chart:
    series = [
        Series(
            name=f"score {name}",
            values=tuple(sum(one.buckets[bucket] for bucket in buckets) for one in mine),
            tone=tone,
            links=tuple(link(night, buckets=buckets) for night in found),
        )
        for name, buckets, tone in BANDS
    ]
    without = tuple(one.no_claims for one in mine)
    links = tuple(link(night, status="NO_CLAIMS") for night in found)
    series.append(Series(name="no claims", values=without, tone="mute", links=links))
    series = [one for one in series if any(one.values)]
    scored, high = sum(one.scored for one in mine), sum(one.buckets[9] for one in mine)
    says = f"{high:,} of {scored:,} scored answers are above 0.9 ({high / scored:.0%})." if scored else ""
    return Chart(
        id="faithfulness", title=f"Answers by score of {judge}", series=tuple(series), says=says, **shared
    )  # fmt: skip


def _findings(
    found: Sequence[Night], mine: Sequence[JudgeNight], judge: str, link: Link, shared: Mapping[str, Any]
) -> Chart:
    total = _summed(one.issues for one in mine)
    series = tuple(
        Series(
            name=words(issue),
            values=tuple(one.issues.get(issue, 0) for one in mine),
            tone=_TONES[issue],
            links=tuple(link(night, issue=issue) for night in found),
        )
        for issue in ISSUES
        if total.get(issue)
    )
    return Chart(
        id="findings", title=f"Findings of {judge}, by kind", series=series, says=_told(total), **shared
    )  # fmt: skip


def _failing_half(found: Sequence[Night], link: Link, shared: Mapping[str, Any]) -> Chart:
    total = _summed(night.halves for night in found)
    series = tuple(
        Series(
            name=half,
            values=tuple(night.halves.get(half, 0) for night in found),
            tone=tone,
            links=tuple(link(night, judge="halves", label=half) for night in found),
        )
        for half, tone in _HALVES
        if total.get(half)
    )
    return Chart(id="halves", title="Which half failed", series=series, says=_told(total), **shared)


def _counted(
    chart_id: str,
    title: str,
    counts: Sequence[Mapping[str, int]],
    shared: Mapping[str, Any],
    found: Sequence[Night] = (),
    link: Link | None = None,
) -> Chart:
    """Draw counts by code; the codes after the most frequent ones are summed up."""
    total = Counter(_summed(counts))
    kept = [code for code, _ in total.most_common(_COLOURS if len(total) <= _COLOURS else _COLOURS - 1)]
    series = [
        Series(
            name=words(code),
            values=tuple(each.get(code, 0) for each in counts),
            tone=str(number),
            links=tuple(link(night, status=code) for night in found) if link is not None and code != "BUG" else (),
        )
        for number, code in enumerate(kept, 1)
    ]
    if len(total) > len(kept):
        rest = tuple(sum(count for code, count in each.items() if code not in kept) for each in counts)
        series.append(Series(name="other", values=rest, tone="mute"))
    return Chart(id=chart_id, title=title, series=tuple(series), says=_told(total), **shared)


def _agreement(found: Sequence[Night], shared: Mapping[str, Any]) -> Chart:
    checked, agreed = sum(night.checked for night in found), sum(night.agreed for night in found)
    decided, confirmed = sum(night.decided for night in found), sum(night.confirmed for night in found)
    told = []
    if checked:
        told.append(f"The second check shares {agreed:,} of {checked:,} findings ({agreed / checked:.0%}).")
    if decided:
        told.append(f"People confirmed {confirmed:,} of {decided:,} verdicts ({confirmed / decided:.0%}).")
    lines = (
        ("second check", "1", tuple(_share(night.agreed, night.checked) for night in found)),
        ("people", "2", tuple(_share(night.confirmed, night.decided) for night in found)),
    )
    return Chart(
        id="agreement",
        title="Who agrees with the judges",
        kind="lines",
        unit="share",
        series=tuple(Series(name=name, values=values, tone=tone) for name, tone, values in lines if any_known(values)),
        says=" ".join(told),
        **shared,
    )


def _cost(found: Sequence[Night], shared: Mapping[str, Any]) -> Chart:
    total, calls = sum(night.cost for night in found), sum(night.calls for night in found)
    says = f"{total:,.4f} for {calls:,} calls of models in these nights." if calls else ""
    series = Series(name="cost", values=tuple(night.cost for night in found), tone="1")
    return Chart(id="cost", title="Cost", unit="money", series=(series,), says=says, **shared)


def any_known(values: Iterable[float | None]) -> bool:
    """Tell whether there is a figure among them."""
    return any(value is not None for value in values)


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _told(total: Mapping[str, int]) -> str:
    ordered = Counter(total).most_common()
    return ", ".join(f"{count:,} {words(code)}" for code, count in ordered if count)
