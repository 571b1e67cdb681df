"""Nights as people look at them: the latest one against those before, and groups."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from enricher.rates import summed
from enricher.report import SOUND
from enricher.store.nights import JudgeNight, Night

Link = Callable[..., str]  # of a night and what is behind a figure of it
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
    said, earlier = of_judge(latest, judge), [of_judge(night, judge) for night in before]
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


def of_judge(night: Night, judge: str) -> JudgeNight:
    """Return what one judge said in a night; nothing where it said nothing."""
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
    mine = [of_judge(night, judge) for night in its]
    return Group(
        name=name,
        judged=sum(one.judged for one in mine),
        scored=sum(one.scored for one in mine),
        mean_score=_mean_of(mine),
        labels=sum(sum(one.labels.values()) for one in mine),
        unsound=sum(map(unsound, mine)),
        issues=summed(one.issues for one in mine),
        halves=summed(night.halves for night in its),
        failed=sum(sum(one.failed.values()) for one in mine),
        checked=sum(one.checked for one in mine),
        agreed=sum(one.agreed for one in mine),
        cost=sum(night.cost for night in its),
    )
