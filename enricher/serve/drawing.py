"""What is drawn of nights: one chart for each question that people ask of them."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from enricher.printing import number_of
from enricher.rates import summed
from enricher.serve.charts import Chart, Series
from enricher.serve.showing import words
from enricher.serve.trends import Link, group_name, of_judge
from enricher.store.facts import ISSUES
from enricher.store.nights import JudgeNight, Night

_BANDS = (("above 0.9", (9,), "good"), ("above 0.5", (5, 6, 7, 8), "warn"), ("0.5 or less", (0, 1, 2, 3, 4), "worst"))
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


def charts(found: Sequence[Night], judge: str, link: Link, link_run: Callable[[Night], str]) -> list[Chart]:
    """Return what is drawn of the nights, in the order of the page."""
    labels, runs = _labels(found), tuple(map(link_run, found))
    shared: dict[str, Any] = {"labels": labels, "links": runs}
    mine = [of_judge(night, judge) for night in found]
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
        lines.setdefault(night.group, {})[night.run_id] = of_judge(night, judge).mean_score
    sizes: Counter[str] = Counter()
    for night in split:
        sizes[night.group] += of_judge(night, judge).scored
    kept = [name for name, size in sizes.most_common(_COLOURS) if size]
    left = sum(1 for size in sizes.values() if size) - len(kept)
    means = [of_judge(night, judge).mean_score for night in found]
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
        says=_since(means) + (f" The table below has {number_of(left, 'more group')}." if left else ""),
    )


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
        for name, buckets, tone in _BANDS
    ]
    without = tuple(one.no_claims for one in mine)
    links = tuple(link(night, status="NO_CLAIMS") for night in found)
    series.append(Series(name="no claims", values=without, tone="mute", links=links))
    series = [one for one in series if any(one.values)]
    scored, high = sum(one.scored for one in mine), sum(one.buckets[9] for one in mine)
    answers = number_of(scored, "scored answer is", "scored answers are")
    says = f"{high:,} of {answers} above 0.9 ({high / scored:.0%})." if scored else ""
    return Chart(
        id="faithfulness", title=f"Answers by score of {judge}", series=tuple(series), says=says, **shared
    )  # fmt: skip


def _findings(
    found: Sequence[Night], mine: Sequence[JudgeNight], judge: str, link: Link, shared: Mapping[str, Any]
) -> Chart:
    total = summed(one.issues for one in mine)
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
    total = summed(night.halves for night in found)
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
    total = Counter(summed(counts))
    kept = [code for code, _ in total.most_common(_COLOURS if len(total) <= _COLOURS else _COLOURS - 1)]
    series = [
        Series(
            name=words(code),
            values=tuple(each.get(code, 0) for each in counts),
            tone=str(number),
            links=tuple(link(night, status=code) for night in found) if link is not None else (),
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
        findings = number_of(checked, "finding")
        told.append(f"The second check shares {agreed:,} of {findings} ({agreed / checked:.0%}).")
    if decided:
        told.append(f"People confirmed {confirmed:,} of {number_of(decided, 'verdict')} ({confirmed / decided:.0%}).")
    lines = (
        ("second check", "1", tuple(_share(night.agreed, night.checked) for night in found)),
        ("people", "2", tuple(_share(night.confirmed, night.decided) for night in found)),
    )
    return Chart(
        id="agreement",
        title="Who agrees with the judges",
        kind="lines",
        unit="share",
        series=tuple(
            Series(name=name, values=values, tone=tone) for name, tone, values in lines if _is_any_known(values)
        ),
        says=" ".join(told),
        **shared,
    )


def _cost(found: Sequence[Night], shared: Mapping[str, Any]) -> Chart:
    total, calls = sum(night.cost for night in found), sum(night.calls for night in found)
    says = f"{total:,.4f} for {number_of(calls, 'call')} of models in these nights." if calls else ""
    series = Series(name="cost", values=tuple(night.cost for night in found), tone="1")
    return Chart(id="cost", title="Cost", unit="money", series=(series,), says=says, **shared)


def _is_any_known(values: Iterable[float | None]) -> bool:
    """Tell whether there is a figure among them."""
    return any(value is not None for value in values)


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _told(total: Mapping[str, int]) -> str:
    ordered = Counter(total).most_common()
    return ", ".join(f"{count:,} {words(code)}" for code, count in ordered if count)
