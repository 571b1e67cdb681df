"""Compare what a candidate says of the golden set with people's labels and with the baseline; hold the gate."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Literal

from pydantic import Field

from enricher.measure.agreement import kappa, worse_by_chance
from enricher.measure.golden import GoldenItem
from enricher.rates import Rate
from enricher.trust import Setting
from enricher.verdict import Noun, Status

# The endpoint or a budget is to blame, and nothing is known of the candidate.
UNMEASURED = (str(Status.JUDGE_UNAVAILABLE), str(Status.BUDGET_EXCEEDED))
_SIGNIFICANT = 0.05  # what chance explains less often is no chance


class ItemResult(Noun):
    """What a judge said of one golden item."""

    input_hash: str
    status: str  # verdict.Status, or BUG
    label: str | None = None  # None: no verdict
    score: float | None = None
    summary: str = ""  # one sentence: the worst finding, or the failure


class Accepted(Noun):
    """A candidate that passed the gate and was accepted. The newest one of a judge is the baseline."""

    judge: str
    setting: Setting
    version: str  # verdict.Provenance.version
    golden: str  # digest of the items and labels that it was measured on
    at: str  # ISO time
    items: int
    agreement: float | None
    regressions: int
    failed: int
    results: dict[str, ItemResult] = Field(default_factory=dict)  # by item; empty once a later one took its place


class Change(StrEnum):
    """What became of an item, compared with the baseline."""

    SAME = "same"
    REGRESSION = "regression"  # the baseline had it right
    IMPROVEMENT = "improvement"  # the baseline had it wrong
    OTHER = "wrong_otherwise"
    NEW = "new"  # the baseline does not know it, or knows other texts under its id
    FAILED = "failed"  # no verdict


class ItemRow(Noun):
    """One golden item under the candidate."""

    id: str
    question: str
    expected: str  # people's label
    label: str | None
    status: str
    score: float | None
    is_right: bool | None  # None: no verdict
    change: Change
    before: str | None = None  # the baseline's label
    why: str = ""  # what the candidate says
    why_before: str = ""  # what the baseline said
    comment: str = ""  # what people said


class Limits(Noun):
    """What a candidate must hold up to."""

    min_agreement: float
    max_regressions: int
    max_failed: int
    tolerance: Literal["none", "interval"]


class Condition(Noun):
    """One condition of the gate."""

    name: str
    passed: bool
    sentence: str


class JudgeRegression(Noun):
    """How the candidate for one judge did."""

    judge: str
    setting: Setting
    version: str
    baseline: str | None  # setting of the baseline; None: there is none yet
    items: int
    agreement: Rate  # with people, of the items with a verdict
    kappa: float | None
    before: Rate | None  # the baseline's agreement on the items that both have a verdict on
    changes: dict[str, int]
    failed: dict[str, int]  # by status; part of no rate
    unmeasured: int  # of these, the endpoint or the budget is to blame
    chance: float | None  # how likely chance alone makes it so much worse than the baseline
    gate: tuple[Condition, ...]
    rows: tuple[ItemRow, ...]  # what changed first

    @property
    def passed(self) -> bool:
        """Tell whether every condition of the gate holds."""
        return all(condition.passed for condition in self.gate)

    @property
    def changed(self) -> tuple[ItemRow, ...]:
        """Return the items that people should look at: all but those as before."""
        return tuple(row for row in self.rows if row.change not in (Change.SAME, Change.NEW) or row.is_right is False)


def compare(
    judge: str,
    candidate: tuple[Setting, str],
    golden: Sequence[tuple[GoldenItem, ItemResult]],
    baseline: Accepted | None,
    limits: Limits,
) -> JudgeRegression:
    """Compare the results of a candidate with people's labels and with the baseline."""
    known = baseline.results if baseline is not None else {}
    rows = [_row(item, result, known.get(item.id)) for item, result in golden]
    right = [row for row in rows if row.is_right is not None]
    both = [row for row in right if row.before is not None]
    changes = Counter(str(row.change) for row in rows)
    failed = Counter(row.status for row in rows if row.is_right is None)
    agreement = Rate.of_count(sum(row.is_right is True for row in right), len(right))
    worse, better = changes[Change.REGRESSION], changes[Change.IMPROVEMENT]
    chance = worse_by_chance(worse, better) if both else None
    return JudgeRegression(
        judge=judge,
        setting=candidate[0],
        version=candidate[1],
        baseline=baseline.setting.name if baseline is not None else None,
        items=len(rows),
        agreement=agreement,
        kappa=kappa([(row.expected, row.label) for row in right if row.label is not None]),
        before=Rate.of_count(sum(row.before == row.expected for row in both), len(both)) if both else None,
        changes=dict(changes),
        failed=dict(failed),
        unmeasured=sum(failed[status] for status in UNMEASURED),
        chance=chance,
        gate=tuple(_gate(agreement, worse, chance, failed, limits)),
        rows=tuple(sorted(rows, key=lambda row: (_PLACES.index(row.change), row.is_right is not False))),
    )


def accepted(found: JudgeRegression, golden_digest: str, results: Mapping[str, ItemResult], at: str) -> Accepted:
    """Return what is kept of a candidate that is accepted."""
    return Accepted(
        judge=found.judge,
        setting=found.setting,
        version=found.version,
        golden=golden_digest,
        at=at,
        items=found.items,
        agreement=found.agreement.rate,
        regressions=found.changes.get(Change.REGRESSION, 0),
        failed=sum(found.failed.values()),
        results=dict(results),
    )


_PLACES = (Change.REGRESSION, Change.FAILED, Change.OTHER, Change.IMPROVEMENT, Change.NEW, Change.SAME)


def _row(item: GoldenItem, result: ItemResult, before: ItemResult | None) -> ItemRow:
    is_right = None if result.label is None else result.label == item.expected
    if before is not None and (before.input_hash != result.input_hash or before.label is None):
        before = None
    return ItemRow(
        id=item.id,
        question=item.question,
        expected=item.expected,
        label=result.label,
        status=result.status,
        score=result.score,
        is_right=is_right,
        change=_change(item.expected, result.label, before.label if before is not None else None),
        before=before.label if before is not None else None,
        why=result.summary,
        why_before=before.summary if before is not None else "",
        comment=item.comment,
    )


def _change(expected: str, label: str | None, before: str | None) -> Change:
    if label is None:
        return Change.FAILED
    if before is None:
        return Change.NEW
    if label == before:
        return Change.SAME
    if before == expected:
        return Change.REGRESSION
    return Change.IMPROVEMENT if label == expected else Change.OTHER


def _gate(
    agreement: Rate, worse: int, chance: float | None, failed: Mapping[str, int], limits: Limits
) -> Iterator[Condition]:
    is_lenient = limits.tolerance == "interval"
    reached = (agreement.high if is_lenient else agreement.rate) or 0.0
    shown = "not measured" if agreement.rate is None else f"{agreement.rate:.1%} of {agreement.of}"
    within = f" (interval to {agreement.high:.1%})" if is_lenient and agreement.high is not None else ""
    yield Condition(
        name="agreement",
        passed=agreement.rate is not None and reached >= limits.min_agreement,
        sentence=f"agreement with people: {shown}{within}, at least {limits.min_agreement:.1%}",
    )
    is_chance = is_lenient and chance is not None and chance >= _SIGNIFICANT
    by_chance = f" (chance explains them, p = {chance:.2f})" if is_chance and worse > limits.max_regressions else ""
    yield Condition(
        name="regressions",
        passed=worse <= limits.max_regressions or is_chance,
        sentence=f"wrong where the baseline was right: {worse}, at most {limits.max_regressions}" + by_chance,
    )
    count = sum(failed.values())
    statuses = ", ".join(f"{number} {status}" for status, number in sorted(failed.items()))
    yield Condition(
        name="failed",
        passed=count <= limits.max_failed,
        sentence=f"without a verdict: {count}, at most {limits.max_failed}" + (f" ({statuses})" if statuses else ""),
    )
