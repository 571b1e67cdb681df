"""Compare verdicts with people's labels, setting by setting: figures, what is missing, what is to be done."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import combinations

from pydantic import Field

from enricher.measure.agreement import (
    ClassFigures,
    Pairing,
    Threshold,
    bootstrapped,
    classes,
    confusion,
    kappa,
    threshold,
)
from enricher.measure.labels import Judged, PersonsLabel, allowed, is_sound
from enricher.rates import Rate
from enricher.trust import Setting
from enricher.verdict import Noun, Side

INTERVALS = (
    "95 %; agreement: Wilson, as wide as if each trace counted once; kappa: bootstrap of whole traces, 1000 draws; "
    "other shares: Wilson"
)
_SIDES: tuple[Side, Side] = ("A", "B")


class Period(Noun):
    """Agreement in one week."""

    week: str  # its Monday, UTC
    agreement: Rate


class PositionFigures(Noun):
    """How far the order in which a model saw two answers decided what it said. Pairs in both orders only."""

    bias: Rate  # pairs on which the two orders disagree
    first_favoured: Rate  # of those, where both orders prefer whichever answer stood first
    agreement_if_orders_agree: Rate  # with people
    agreement_if_orders_disagree: Rate
    agreement_a_first: Rate  # with people, of what was said with answer A first
    agreement_b_first: Rate


class SettingFigures(Noun):
    """How far a judge agrees with people under one setting."""

    setting: Setting
    name: str
    labels: int  # with a verdict beside them
    items: int
    traces: int
    missing: int  # labels until the figures count
    without_verdict: int  # labels on items on which the judge failed; not part of any figure
    score_only: int  # labels that are a score: part of `flawed` and of nothing else
    sources: dict[str, int]
    agreement: Rate
    kappa: float | None = None
    kappa_low: float | None = None
    kappa_high: float | None = None
    flawed: ClassFigures | None = None  # anything wrong against nothing wrong
    flawed_agreement: Rate | None = None
    flawed_kappa: float | None = None
    classes: tuple[ClassFigures, ...] = ()
    confusion: dict[str, dict[str, int]] = Field(default_factory=dict)  # people's label, then the judge's
    findings: dict[str, Rate] = Field(default_factory=dict)  # by standing: those that reviewers let stand
    weeks: tuple[Period, ...] = ()
    people: Rate | None = None  # how often two people on one item agree: more can't be asked of a judge
    threshold: Threshold | None = None
    position: PositionFigures | None = None

    @property
    def is_enough(self) -> bool:
        """Tell whether there are enough labels for the figures to count."""
        return not self.missing


@dataclass(frozen=True, kw_only=True, slots=True)
class Labelled:
    """A person's label beside a verdict on the same item."""

    label: PersonsLabel
    judged: Judged


def joined(
    labels: Iterable[PersonsLabel], verdicts: Mapping[tuple[str, str], Sequence[Judged]]
) -> tuple[list[Labelled], list[PersonsLabel]]:
    """Put each label beside every verdict on its item; return also the labels without any.

    A label is about the answer and not about the verdict, so that it counts for every setting that judged the same
    input. `verdicts` are those of (judge, item), oldest first; of one setting the newest counts.
    """
    found, alone = [], []
    for one in labels:
        newest: dict[Setting, Judged] = {}
        for judged in verdicts.get((one.judge, one.item), ()):
            if one.input_hash is None or judged.input_hash == one.input_hash:
                newest[judged.setting] = judged
        if not newest and one.judged is not None:
            newest[one.judged.setting] = one.judged
        found += [Labelled(label=one, judged=judged) for judged in newest.values()]
        if not newest:
            alone.append(one)
    return found, alone


def measure(labelled: Iterable[Labelled], *, min_labels: int, min_recall: float) -> list[SettingFigures]:
    """Compute the figures of each setting, the one with most labels first."""
    by_setting: defaultdict[Setting, list[Labelled]] = defaultdict(list)
    for one in labelled:
        by_setting[one.judged.setting].append(one)
    found = [_figures(setting, rows, min_labels, min_recall) for setting, rows in by_setting.items()]
    return sorted(found, key=lambda figures: (figures.setting.judge, -figures.labels, figures.name))


def _figures(setting: Setting, rows: Sequence[Labelled], min_labels: int, min_recall: float) -> SettingFigures:
    judged = [row for row in rows if row.judged.label is not None]
    by_trace: defaultdict[str, list[Pairing]] = defaultdict(list)
    for row in judged:
        if row.label.label is not None and row.judged.label is not None:
            by_trace[row.label.trace_id].append((row.label.label, row.judged.label))
    pairings = [pairing for some in by_trace.values() for pairing in some]
    interval = bootstrapped(kappa, by_trace)
    sides = [(_word(row.label.is_sound), _word(_judged_sound(row))) for row in judged if row.label.is_sound is not None]
    traces = len({row.label.trace_id for row in judged})
    scored = [
        (row.judged.score, row.label.is_sound)
        for row in judged
        if row.judged.score is not None and row.label.is_sound is not None
    ]
    return SettingFigures(
        setting=setting,
        name=setting.name,
        labels=len(judged),
        items=len({row.label.item for row in judged}),
        traces=traces,
        missing=max(0, min_labels - len(pairings)),
        without_verdict=len(rows) - len(judged),
        score_only=len(judged) - len(pairings),
        sources=dict(Counter(row.label.source for row in judged)),
        agreement=_rate(pairings, independent=len(by_trace)),
        kappa=kappa(pairings),
        kappa_low=interval[0] if interval else None,
        kappa_high=interval[1] if interval else None,
        flawed=next((one for one in classes(sides) if one.label == _FLAWED), None),
        flawed_agreement=_rate(sides, independent=traces) if sides else None,
        flawed_kappa=kappa(sides),
        classes=classes(pairings),
        confusion=confusion(pairings, allowed(setting.judge)),
        findings=_findings(judged),
        weeks=_weeks(judged),
        people=_people(judged),
        threshold=threshold(scored, min_recall),
        position=_position(judged) if setting.judge == "pairwise" else None,
    )


_FLAWED, _SOUND = "flawed", "sound"


def _word(sound: bool | None) -> str:
    return _SOUND if sound else _FLAWED


def _judged_sound(row: Labelled) -> bool | None:
    return is_sound(row.label.judge, row.judged.label or "")


def _rate(pairings: Sequence[Pairing], *, independent: int | None = None) -> Rate:
    return Rate.of_count(sum(one == other for one, other in pairings), len(pairings), independent=independent)


def _weeks(rows: Iterable[Labelled]) -> tuple[Period, ...]:
    """Return the agreement by the week in which the label was given."""
    by_week: defaultdict[str, list[Pairing]] = defaultdict(list)
    for row in rows:
        if row.label.at is not None and row.label.label is not None and row.judged.label is not None:
            by_week[_monday(row.label.at)].append((row.label.label, row.judged.label))
    return tuple(Period(week=week, agreement=_rate(by_week[week])) for week in sorted(by_week))


def _findings(rows: Iterable[Labelled]) -> dict[str, Rate]:
    """Return the share of the findings of each kind that people let stand; only of verdicts that they looked at."""
    decided: defaultdict[str, list[bool]] = defaultdict(list)
    for row in rows:
        if row.label.version == row.judged.version:
            for standing, stands in row.label.findings:
                decided[standing].append(stands)
    return {standing: Rate.of_count(sum(found), len(found)) for standing, found in sorted(decided.items())}


def _monday(moment: datetime) -> str:
    day = moment.astimezone(UTC).date()
    return (day - timedelta(days=day.weekday())).isoformat()


def _people(rows: Iterable[Labelled]) -> Rate | None:
    by_item: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for row in rows:
        if row.label.label is not None:
            by_item[row.label.item][row.label.person] = row.label.label
    pairings = [pair for labels in by_item.values() for pair in combinations(labels.values(), 2)]
    return _rate(pairings, independent=sum(len(labels) > 1 for labels in by_item.values())) if pairings else None


def _position(rows: Iterable[Labelled]) -> PositionFigures:
    fared = {"A": "win", "B": "loss", "TIE": "tie"}
    split: dict[bool, list[Pairing]] = {True: [], False: []}
    by_first: dict[str, list[Pairing]] = {side: [] for side in _SIDES}
    favoured = disagreeing = pairs = 0
    seen: set[str] = set()
    for row in rows:
        orders, said = row.judged.orders, row.label.label
        if len(orders) < 2 or said is None or row.judged.label is None:
            continue
        is_same = len({order.preferred for order in orders}) == 1
        split[is_same].append((said, row.judged.label))
        for order in orders:
            by_first[order.first].append((said, fared[order.preferred]))
        if row.label.item not in seen:
            seen.add(row.label.item)
            pairs += 1
            disagreeing += not is_same
            favoured += not is_same and all(order.preferred == order.first for order in orders)
    return PositionFigures(
        bias=Rate.of_count(disagreeing, pairs),
        first_favoured=Rate.of_count(favoured, disagreeing),
        agreement_if_orders_agree=_rate(split[True]),
        agreement_if_orders_disagree=_rate(split[False]),
        agreement_a_first=_rate(by_first["A"]),
        agreement_b_first=_rate(by_first["B"]),
    )
