"""Show how far judges are to be trusted: numbers first, then what is missing and what is to be done."""

from collections.abc import Iterator
from datetime import datetime

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from enricher.measure.calibration import INTERVALS, SettingFigures
from enricher.printing import number_of
from enricher.rates import share
from enricher.verdict import Noun


class CalibrationReport(Noun):
    """How far the judges agree with people."""

    made_at: datetime
    min_labels: int
    min_agreement: float
    intervals: str = INTERVALS  # how they are computed
    settings: tuple[SettingFigures, ...] = ()
    unmatched: int = 0  # labels on items without a verdict
    kept: tuple[str, ...] = ()  # settings whose calibration counts from now on
    warnings: tuple[str, ...] = ()

    @property
    def too_low(self) -> tuple[SettingFigures, ...]:
        """Return the settings that agree with people less than is asked."""
        return tuple(one for one in self.settings if one.is_enough and (one.agreement.rate or 0.0) < self.min_agreement)

    @property
    def is_enough(self) -> bool:
        """Tell whether any setting has enough labels."""
        return any(one.is_enough for one in self.settings)


def as_text(report: CalibrationReport) -> RenderableType:
    """Return the report for the terminal."""
    parts: list[RenderableType] = []
    if not report.settings:
        missing = f"there is no label on a judged answer; {report.min_labels} are needed"
        parts.append(Text(missing, style="bold red"))
    for figures in report.settings:
        style = "bold" if figures.is_enough else "bold yellow"
        parts += [Text(headline(figures), style=style), _numbers(figures), _classes(figures)]
        if figures.confusion:
            parts.append(_confusion(figures))
    if report.unmatched:
        labels = number_of(report.unmatched, "label is", "labels are")
        parts.append(Text(f"{labels} on items that no judge has a verdict on", style="yellow"))
    parts += [Text(f"! {warning}", style="yellow") for warning in report.warnings]
    parts.append(Text(f"intervals: {report.intervals}", style="dim"))
    return Group(*parts)


def headline(figures: SettingFigures) -> str:
    """Say in one line how a judge does."""
    if figures.missing:
        missing = number_of(figures.missing, "more is", "more are")
        return f"{figures.name}: {_labels(figures.agreement.of)}, {missing} needed before they count"
    return f"{figures.name}: agrees with people on {share(figures.agreement)}"


def _labels(count: int) -> str:
    return number_of(count, "label")


def _numbers(figures: SettingFigures) -> Table:
    table = Table.grid(padding=(0, 2))
    for name, value in _rows(figures):
        table.add_row(Text(f"  {name}", style="dim"), Text(value))
    return table


def _rows(figures: SettingFigures) -> Iterator[tuple[str, str]]:
    sources = ", ".join(f"{count} {source}" for source, count in sorted(figures.sources.items()))
    where = f"{number_of(figures.items, 'item')} of {number_of(figures.traces, 'trace')}"
    yield "labels", f"{figures.labels} ({sources}) on {where}"
    yield "agreement", share(figures.agreement)
    yield "kappa", _value(figures.kappa, figures.kappa_low, figures.kappa_high)
    if figures.flawed is not None and figures.flawed_agreement is not None:
        yield "anything wrong?", f"{share(figures.flawed_agreement)}, kappa {_value(figures.flawed_kappa)}"
        yield "  found by the judge", f"{share(figures.flawed.recall)} of what people reject"
        yield "  right when it says so", share(figures.flawed.precision)
    for standing, rate in figures.findings.items():
        yield f"{standing} findings", f"{share(rate)} that reviewers let stand"
    if figures.people is not None:
        yield "two people agree", share(figures.people)
    for week in figures.weeks:
        yield f"week of {week.week}", share(week.agreement)
    if figures.without_verdict:
        yield "judge had no verdict", f"{_labels(figures.without_verdict)}, in no figure"
    if figures.score_only:
        yield "score without label", f"{_labels(figures.score_only)}, only in: anything wrong?"
    advised = figures.threshold
    if advised is not None:
        caught = f"catches {share(advised.recall)} of what people reject, {share(advised.precision)} right"
        looked = f"{advised.share:.0%} of all answers to look at"
        begins = "" if advised.is_enough else "no threshold catches enough; the best is "
        yield "advice", f"{begins}review_below: {advised.review_below:g} {caught}, {looked}"
    if figures.position is not None:
        position = figures.position
        yield "orders disagree", f"{share(position.bias)} pairs judged in both orders"
        yield "  prefers the first", f"{share(position.first_favoured)} of these"
        yield "agreement, A first", share(position.agreement_a_first)
        yield "agreement, B first", share(position.agreement_b_first)
        yield "agreement, orders agree", share(position.agreement_if_orders_agree)
        yield "agreement, they do not", share(position.agreement_if_orders_disagree)


def _value(value: float | None, low: float | None = None, high: float | None = None) -> str:
    if value is None:
        return "not defined: one label only"
    return f"{value:.2f}" + (f" [{low:.2f}, {high:.2f}]" if low is not None and high is not None else "")


def _classes(figures: SettingFigures) -> Table:
    table = Table(box=None, padding=(0, 1), header_style="dim", show_edge=False)
    for name in ("  label", "people", "judge", "precision", "recall"):
        table.add_column(name, no_wrap=True)
    for one in figures.classes:
        table.add_row(f"  {one.label}", str(one.people), str(one.judge), share(one.precision), share(one.recall))
    return table


def _confusion(figures: SettingFigures) -> Table:
    table = Table(box=None, padding=(0, 1), header_style="dim", show_edge=False)
    table.add_column("  people say / judge says", no_wrap=True)
    for name in figures.confusion:
        table.add_column(name, justify="right", no_wrap=True)
    for name, row in figures.confusion.items():
        table.add_row(f"  {name}", *(str(row[other]) for other in figures.confusion))
    return table
