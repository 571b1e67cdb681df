"""Show a comparison: numbers first, then what did not count, then the pairs that people should look at."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from jinja2 import Environment, PackageLoader, select_autoescape
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from enricher.compare.tally import Comparison, LeftoverRow, Outcome, PairRow
from enricher.printing import number_of
from enricher.rates import share

_STYLES = {"win": "green", "tie": "", "loss": "red"}
_SHOWN = 20  # pairs and leftovers in the text; the JSON and the page have all


def as_text(comparison: Comparison) -> RenderableType:
    """Return the report for the terminal."""
    table = Table(box=None, show_header=False, padding=(0, 1), show_edge=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column()
    for name, value in numbers(comparison):
        table.add_row(name, Text(value))
    parts: list[RenderableType] = [Text(headline(comparison), style="bold"), table]
    if not comparison.pairs:
        parts.append(Text("Nothing was compared: no answer of one side has its match on the other.", style="bold red"))
    listed = sorted(comparison.rows, key=lambda row: (row.outcome != "loss", row.accepted))
    listed = [row for row in listed if row.outcome == "loss" or row.reasons]
    if listed:
        parts.append(_pairs(listed[:_SHOWN]))
        parts += _more(len(listed))
    if comparison.leftovers:
        parts.append(Text("not compared", style="bold"))
        parts.append(_leftovers(comparison.leftovers[:_SHOWN]))
        parts += _more(len(comparison.leftovers))
    parts += [Text(problem, style="red") for problem in comparison.write_problems]
    if comparison.gate is not None:
        parts.append(Text(comparison.gate, style="bold green" if comparison.gate_passed else "bold red"))
    return Group(*parts)


def to_json(comparison: Comparison) -> dict[str, Any]:
    """Return the report for machines."""
    return comparison.model_dump(mode="json")


def as_html(comparison: Comparison) -> str:
    """Return the report as one page that needs nothing else."""
    environment = Environment(loader=PackageLoader("enricher"), autoescape=select_autoescape())
    page = environment.get_template("compare.html")
    return page.render(comparison=comparison, numbers=list(numbers(comparison)), headline=headline(comparison))


def headline(comparison: Comparison) -> str:
    """Say in one sentence how the challenger fared."""
    overall = comparison.overall
    counted = (("win", "wins", overall.wins), ("tie", "ties", overall.ties), ("loss", "losses", overall.losses))
    fared = ", ".join(number_of(rate.count, one, many) for one, many, rate in counted)
    return f"{comparison.challenger} against {comparison.champion}: {fared}"


def numbers(comparison: Comparison) -> Iterator[tuple[str, str]]:
    """Yield the figures as people read them."""
    one = comparison
    yield (
        "pairs",
        f"{one.pairs} matched, {one.judged} judged ({one.recalled} known from before), {one.accepted} accepted",
    )
    yield "challenger wins", share(one.overall.wins)
    yield "ties", share(one.overall.ties)
    yield "challenger loses", share(one.overall.losses)
    for name, outcome in one.dimensions.items():
        yield name.replace("_", " "), _line(outcome)
    yield "position bias", share(one.position_bias) + " judged in both orders"
    for name, side in one.sides.items():
        counted = ", ".join(
            f"{count} {severity.lower()} ({side.per_answer.get(severity, 0.0):.2f} an answer)"
            for severity, count in side.hallucinations.items()
        )
        yield f"{name}: hallucinations", f"{counted}; {side.unconfirmed} more that the second check does not share"
        yield f"{name}: wrong citations", str(side.citation_errors)
    yield "critical ones", f"{one.new_critical} new, {one.fixed_critical} gone"
    waiting = f"; they would be {_counts(one.provisional)}" if one.provisional else ""
    reasons = f": {_counts(one.review_reasons)}{waiting}" if one.in_review else ""
    yield "for people", f"{one.in_review}{reasons}"
    if one.failed:
        yield "without a verdict", _counts(one.failed)
    if one.refused:
        yield "refused", _counts(one.refused)
    if one.left:
        yield "over budget", f"{one.left}; compare again to go on"
    unmatched = _counts(one.unmatched) or "0"
    yield "not compared", f"{unmatched} unmatched, {one.differing} with other documents, {one.unusable} unusable"
    yield (
        "cost",
        f"{one.usage.cost:.4f}, {number_of(one.usage.calls, 'call')}, {one.usage.prompt_tokens} tokens in, "
        f"{one.usage.completion_tokens} out",
    )
    yield "judge", one.judge
    if one.written or one.write_problems:
        yield "written back", str(one.written)


def _line(outcome: Outcome) -> str:
    return f"{outcome.wins.count} won, {outcome.ties.count} tied, {outcome.losses.count} lost"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))


def _pairs(rows: Iterable[PairRow]) -> Table:
    table = Table(box=None, padding=(0, 1), header_style="dim", show_edge=False)
    for name in ("pair", "challenger"):
        table.add_column(name, no_wrap=True)
    table.add_column("sure", justify="right")
    table.add_column("for people")
    table.add_column("why", ratio=1)
    for row in rows:
        table.add_row(
            Text(row.pair_id[:24]),
            Text(row.outcome, style=_STYLES.get(row.outcome, "magenta")),
            "–" if row.confidence is None else f"{row.confidence:.2f}",
            Text(", ".join(row.reasons), style="magenta"),
            Text(row.summary),
        )
    return table


def _leftovers(rows: Iterable[LeftoverRow]) -> Table:
    table = Table(box=None, padding=(0, 1), header_style="dim", show_edge=False)
    for name in ("side", "reason", "where"):
        table.add_column(name, no_wrap=True)
    table.add_column("question", ratio=1)
    for row in rows:
        table.add_row(row.side, row.reason, Text(row.where[:40]), Text(row.question or row.detail))
    return table


def _more(total: int) -> list[RenderableType]:
    return [Text(f"... and {total - _SHOWN} more; --json has all", style="dim")] if total > _SHOWN else []
