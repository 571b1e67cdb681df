"""Show what has moved: each job in a line, then the figures of each judge."""

from collections.abc import Iterator, Mapping

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from enricher.measure.drift import DriftReport, JobDrift, JudgeDrift, Move, Shift
from enricher.rates import share


def as_text(report: DriftReport) -> RenderableType:
    """Return the report for the terminal."""
    parts: list[RenderableType] = []
    for job in report.jobs:
        style = "bold red" if job.moved else "bold"
        parts.append(Text(_headline(job), style=style))
        for judge in job.judges:
            table = Table.grid(padding=(0, 2))
            for name, value, has_moved in _rows(judge):
                table.add_row(Text(f"  {judge.judge}: {name}", style="dim"), Text(value, style="red" * has_moved))
            parts.append(table)
    for one in report.labelled:
        parts.append(Text(f"agreement with people: {one.name}", style="bold red" if one.moved else "bold"))
        parts += [Text(f"  week of {week.week}  {share(week.agreement)}") for week in one.weeks]
    return Group(*parts)


def _headline(job: JobDrift) -> str:
    others = f"; {job.other_versions} others had other judge versions" if job.other_versions else ""
    against = f"{job.runs} run{'s' * (job.runs != 1)} against {job.before} before{others}"
    if not job.runs:
        return f"{job.job}: no run has judged anything yet"
    if not job.before:
        return f"{job.job}: nothing to compare with, {against}"
    return f"{job.job}: {'moved: ' + '; '.join(job.moved) if job.moved else 'nothing has moved'} ({against})"


def _rows(judge: JudgeDrift) -> Iterator[tuple[str, str, bool]]:
    if judge.mean_now is not None and judge.mean_before is not None:
        yield "mean score", f"{judge.mean_now:.3f}, before {judge.mean_before:.3f}", False
    for name, shift in (("scores", judge.scores), ("labels", judge.labels)):
        yield name, _shift(shift) if shift is not None else "too few to say", shift is not None and shift.moved
    for name, move in judge.rates.items():
        yield name, _move(move), move.moved


def _shift(shift: Shift) -> str:
    told = f"stability index {shift.stability:.3f} (by chance up to {shift.by_chance:.3f})"
    gap = f", largest gap {shift.gap:.2f}" if shift.gap is not None else ""
    return f"{told}{gap}; now {_counts(shift.now)}; before {_counts(shift.before)}"


def _move(move: Move) -> str:
    return f"{share(move.now)}; before {share(move.before)}"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items() if count) or "none"
