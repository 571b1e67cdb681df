"""What a run did, in numbers and findings, as it tells when it ends; `reporting` makes more of it."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any

from pydantic import Field
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from enricher.printing import masked, number_of, plural, visible
from enricher.verdict import HalvesResult, Noun, Part, QuoteCheck, Segment, Standing, Verdict

STYLES: Mapping[str, str] = {
    "faithful": "green",
    "pass": "green",
    "consistent": "green",
    "none": "green",
    "partial": "yellow",
    "unsupported": "red",
    "fail": "red",
    "retrieval": "red",
    "generation": "red",
    "both": "bold red",
    "contradicted": "bold red",
    "source_conflict": "bold red",
    "no_claims": "dim",
}
SOUND = ("faithful", "pass", "consistent", "none", "no_claims", "win", "tie")
_STANDING_STYLES = {
    Standing.SUPPORTED: "green",
    Standing.PARTIAL: "yellow",
    Standing.OMITTED: "yellow",
    Standing.UNSUPPORTED: "red",
    Standing.CONTRADICTED: "bold red",
    Standing.SOURCE_CONFLICT: "bold red",
}


class RuleCount(Noun):
    """What one rule found."""

    rule: str
    found: int = 0  # traces that match the rule
    taken: int = 0  # of these, chosen by its sampling
    in_window: int = 0  # traces at all, counted (up to 10,000) only when none of them matches


class Finding(Noun):
    """One item of the run with its outcome, as the lists show it."""

    trace_id: str
    span_id: str
    project: str
    judge: str
    status: str
    label: str | None = None
    score: float | None = None
    question: str | None = None
    summary: str = ""
    reported: bool = False  # a user report chose it


class Disagreement(Noun):
    """A finding that a second check does not share, with what both say."""

    trace_id: str
    judge: str
    statement: str
    standing: str  # as the judge has it
    certainty: str  # disputed or refuted
    second_by: str
    second_standing: str
    evidence: str | None = None  # the passage that the second check holds against it
    explanation: str = ""


class AgreementRate(Noun):
    """How often a second check shared one kind of a judge's findings on one day."""

    day: str  # UTC
    judge: str
    standing: str
    second_by: str
    checked: int
    agreed: int


class Tally(Noun):
    """What one judge said in a run. Failures are counted apart and never part of a mean."""

    judged: dict[str, int] = Field(default_factory=dict)  # verdicts by status
    scored: int = 0
    no_claims: int = 0
    mean_score: float | None = None
    labels: dict[str, int] = Field(default_factory=dict)
    findings: dict[str, int] = Field(default_factory=dict)  # statements by standing
    certainties: dict[str, int] = Field(default_factory=dict)  # findings by what a second check made of them


class Alert(Noun):
    """A rate of the job against its threshold."""

    rule: str  # unsupported, contradicted, failed, rejected, drift
    value: float
    threshold: float
    items: int  # what the rate is of
    sentence: str
    raised_at: datetime | None = None
    is_new: bool = False  # raised by this run; an alert that goes on is told no second time

    @property
    def is_breached(self) -> bool:
        """Tell whether the threshold is passed."""
        return self.value > self.threshold


class ReportState(StrEnum):
    """What became of a report that was to be sent."""

    DELIVERED = "REPORT_DELIVERED"
    UNDELIVERED = "REPORT_UNDELIVERED"


class SentReport(Noun):
    """A webhook that was to be sent the report."""

    webhook: int  # its place in the job's send_report
    state: ReportState
    reason: str = ""  # why it was not taken


class RunReport(Noun):
    """Everything a run did. Every trace that was chosen is in exactly one of judged, rejected, deferred, left."""

    run_id: str
    job: str
    state: str  # finished, interrupted, failed, dry_run, skipped
    started: datetime
    finished: datetime | None = None
    window_start: datetime | None = None
    window_end: datetime | None = None
    rules: tuple[RuleCount, ...] = ()
    chosen: int = 0  # distinct traces due in this run, with those left by earlier runs
    already_judged: int = 0  # found again, but nothing about them is new
    pulled: int = 0
    deferred: int = 0  # still running; looked at again next time
    rejected: dict[str, int] = Field(default_factory=dict)  # by reason
    judged: dict[str, int] = Field(default_factory=dict)  # verdicts of all judges by status
    scored: int = 0  # this and the next figures: of the job's first judge
    no_claims: int = 0
    mean_score: float | None = None
    labels: dict[str, int] = Field(default_factory=dict)
    judges: dict[str, Tally] = Field(default_factory=dict)  # every judge for itself, in the order of the job
    failed: dict[str, int] = Field(default_factory=dict)  # of all judges by status; never part of the mean
    written: int = 0
    confirmed: int = 0
    unwritten: int = 0  # refused for good
    undelivered: int = 0  # to be tried again by the next run
    in_review: int = 0
    cost: float = 0.0
    calls: int = 0  # to models
    prompt_tokens: int = 0
    cached_tokens: int = 0  # of the prompt tokens
    completion_tokens: int = 0
    left: int = 0  # due, but not reached
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    alerts: tuple[Alert, ...] = ()  # thresholds that are passed
    findings: tuple[Finding, ...] = ()  # worst first, at most 100
    disagreements: tuple[Disagreement, ...] = ()  # at most 100
    agreement: tuple[AgreementRate, ...] = ()  # of the last 30 days, this run included
    sent: tuple[SentReport, ...] = ()  # to the webhooks of the job

    @property
    def is_clean(self) -> bool:
        """Tell whether everything that was due is judged and written."""
        # A run that another process is doing is that process's to finish.
        return self.state in ("finished", "dry_run", "skipped") and not (
            self.failed or self.unwritten or self.undelivered or self.left or self.problems
        )


def as_text(report: RunReport, *, traces: int = 25) -> RenderableType:
    """Render the report for a terminal: the numbers, then the worst traces."""
    parts: list[RenderableType] = [_headline(report), numbers_table(report)]
    parts += [Text(f"! {visible(warning)}", style="yellow") for warning in report.warnings]
    parts += [Text(f"! {visible(problem)}", style="red") for problem in report.problems]
    parts += [
        Text(f"!! {alert.sentence}{'' if alert.is_new else since(alert)}", style="bold red") for alert in report.alerts
    ]
    if report.findings:
        parts.append(_findings(report.findings[:traces]))
        if len(report.findings) > traces:
            parts.append(Text(f"… and {len(report.findings) - traces} more: --json lists them", style="dim"))
    if report.disagreements:
        parts.append(Text("\nfindings that the second check does not share", style="bold"))
        parts.append(disagreements_table(report.disagreements[:traces]))
    if report.agreement:
        parts.append(Text("\nagreement of the second check, the last 30 days", style="bold"))
        parts.append(agreement_table(report.agreement))
    return Group(*parts)


def since(alert: Alert) -> str:
    """Say since when an alert holds."""
    return f", since {alert.raised_at:%Y-%m-%d %H:%M} UTC" if alert.raised_at else ""


def _headline(report: RunReport) -> Text:
    flagged = sum(n for label, n in report.labels.items() if label not in SOUND)
    total = sum(report.labels.values())
    text = Text(f"{report.job}: ", style="bold")
    if report.state == "dry_run":
        return text.append(f"dry run, nothing is written; {number_of(report.chosen, 'trace')} would be judged")
    if not total:
        return text.append("no verdicts")
    style = "bold red" if flagged else "bold green"
    said = f"{flagged} of {number_of(total, 'answer')} {plural(flagged, 'leaves its', 'leave their')} context"
    return text.append(said, style=style)


def numbers(report: RunReport) -> Iterable[tuple[str, str]]:
    """Yield the figures of a run, each with its name."""
    for rule in report.rules:
        yield f"rule {rule.rule}", f"{rule.taken} of {rule.found} matching {plural(rule.found, 'trace')}"
    yield "pulled", f"{report.pulled}" + (f", {report.deferred} still running" if report.deferred else "")
    if report.already_judged:
        yield "already judged", str(report.already_judged)
    yield "rejected", _counted(report.rejected)
    mean = "" if report.mean_score is None else f", mean score {report.mean_score:.3f}"
    yield "scored", f"{report.scored}{mean}"
    yield "no claims", str(report.no_claims)
    if len(report.judges) > 1:
        for name, tally in report.judges.items():
            mean = "" if tally.mean_score is None else f", mean score {tally.mean_score:.3f}"
            yield name, f"{_counted(tally.labels)}{mean}"
    for name, tally in report.judges.items():
        if tally.certainties:
            yield f"second check of {name}", _counted(tally.certainties)
    yield "failed", _counted(report.failed)
    lost = (f", {report.unwritten} refused" if report.unwritten else "") + (
        f", {report.undelivered} to be sent again" if report.undelivered else ""
    )
    yield "annotations", f"{report.written} written, {report.confirmed} confirmed{lost}"
    yield "in review", str(report.in_review)
    if report.left:
        yield "left for later", str(report.left)
    if report.calls and report.state == "dry_run":
        tokens = f"about {report.prompt_tokens} tokens in, at most {report.completion_tokens} out"
        yield "estimate", f"{number_of(report.calls, 'call')}, {tokens}, cost at most {report.cost:.4f}"
    elif report.prompt_tokens or report.cost:
        cached = f" ({report.cached_tokens} cached)" if report.cached_tokens else ""
        tokens = f"{report.prompt_tokens} in{cached}, {report.completion_tokens} out"
        yield "tokens", f"{tokens} in {number_of(report.calls, 'call')}, cost {report.cost:.4f}"


def _counted(counts: Mapping[str, int]) -> str:
    total = sum(counts.values())
    return f"{total} ({', '.join(f'{name} {n}' for name, n in sorted(counts.items()))})" if total else "0"


def numbers_table(report: RunReport) -> Table:
    """Render the figures."""
    table = Table.grid(padding=(0, 2))
    for name, value in numbers(report):
        table.add_row(Text(name, style="dim"), value)
    return table


def _findings(findings: Iterable[Finding]) -> Table:
    table = Table(box=None, padding=(0, 1), header_style="dim", show_edge=False)
    table.add_column("trace", no_wrap=True)
    table.add_column("score", justify="right")
    table.add_column("finding", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("summary", ratio=1)
    for finding in findings:
        label = finding.label or finding.status
        table.add_row(
            Text(visible(finding.trace_id[:12])),
            "–" if finding.score is None else f"{finding.score:.2f}",
            Text(label, style=STYLES.get(label, "magenta")),
            Text("reported", style="cyan") if finding.reported else "",
            Text(visible(finding.summary)),
        )
    return table


def disagreements_table(found: Iterable[Disagreement]) -> Table:
    """Render findings that a second check does not share."""
    table = Table(box=None, padding=(0, 1), header_style="dim", show_edge=False)
    for name in ("trace", "judge", "certainty"):
        table.add_column(name, no_wrap=True)
    table.add_column("statement", ratio=1)
    table.add_column("second check", ratio=1)
    for one in found:
        held = f"{one.second_standing}: “{one.evidence}”" if one.evidence else one.second_standing
        table.add_row(
            Text(visible(one.trace_id[:12])),
            f"{one.judge}: {one.standing}",
            Text(one.certainty, style="magenta"),
            Text(visible(one.statement)),
            Text(visible(held), style="cyan"),
        )
    return table


def agreement_table(rates: Iterable[AgreementRate]) -> Table:
    """Render how often second checks shared findings, day by day."""
    table = Table(box=None, padding=(0, 1), header_style="dim", show_edge=False)
    for name in ("day", "judge", "finding", "second check"):
        table.add_column(name, no_wrap=True)
    table.add_column("agreed", justify="right")
    for rate in rates:
        share = f"{rate.agreed} of {rate.checked} ({rate.agreed / rate.checked:.0%})"
        table.add_row(rate.day, rate.judge, rate.standing, Text(rate.second_by), share)
    return table


def diff_view(verdict: Verdict, question: str | None, answer: str) -> RenderableType:
    """Render one verdict: the answer in colour, then each finding with the passage it was compared with."""
    parts: list[RenderableType] = [Text(f"Question  {visible(question or '–')}", style="bold")]
    result = verdict.result
    if result is None:
        parts.append(Text(f"{verdict.status}: {verdict.failure or 'no verdict'}", style="magenta"))
        return Group(*parts)
    parts.append(_coloured(answer, result.parts))
    parts += [_finding(part) for part in result.parts if part.is_finding]
    if isinstance(result, HalvesResult):
        parts += [Text(f"  {name}: {axis.word}. {visible(axis.reason)}") for name, axis in result.axes.items()]
    if verdict.score is not None:
        parts.append(Text(f"score {verdict.score:.2f}. {visible(result.summary)}", style="dim"))
    else:
        parts.append(Text(f"{result.label}. {visible(result.summary)}", style="dim"))
    return Group(*parts)


def _coloured(answer: str, found: Iterable[Part]) -> Text:
    text = Text("Answer    ", style="bold")
    body = Text(masked(answer))  # of the same length: parts are found by their offsets
    for part in found:
        start, end = getattr(part, "start", None), getattr(part, "end", None)
        if start is not None and end is not None:
            body.stylize(_STANDING_STYLES[part.standing], start, end)
    return text.append_text(body)


def _finding(part: Part) -> Text:
    style = _STANDING_STYLES[part.standing]
    if part.standing is Standing.OMITTED:
        text = Text("  left out     ", style=style)
    else:
        word = part.issue_type.lower() if isinstance(part, Segment) else str(part.standing).replace("_", " ")
        text = Text(f"  {word:<12} “{visible(part.statement)}”", style=style)
    if part.certainty is not None:
        text.append(f"  {part.certainty} by the second check", style="magenta")
    text.append(f"\n               {visible(part.explanation)}" if part.explanation else "")
    for opinion in part.opinions:
        said = "agrees" if opinion.agrees else f"says {opinion.standing}"
        text.append(f"\n               {opinion.by} {said}", style="magenta")
        if not opinion.agrees and opinion.evidence:
            text.append(
                f": {visible(opinion.evidence[0].document_id or '')} “{visible(opinion.evidence[0].text)}”",
                style="cyan",
            )
    for quote in part.evidence:
        mark = "✓" if quote.check is QuoteCheck.VERIFIED else f"not verified: {quote.reason or quote.check}"
        text.append(f"\n               {visible(quote.document_id or '')} {mark} ", style="dim")
        text.append(f"“{visible(quote.text)}”", style="cyan")
    return text


def show(renderable: RenderableType, console: Console | None = None) -> None:
    """Print to the terminal; a pipe gets plain text of a width that does not break tables."""
    console = console or Console()
    if not console.is_terminal:
        console = Console(width=160)
    console.print(renderable)


def to_json(report: RunReport) -> dict[str, Any]:
    """Return the machine-readable twin of the report."""
    return report.model_dump(mode="json")
