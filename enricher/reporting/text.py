"""The report for a terminal or a plain mail."""

from collections.abc import Iterator, Sequence

from rich.console import Group as Stack
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from enricher.printing import number_of, plural, visible
from enricher.report import agreement_table, disagreements_table, numbers_table, since
from enricher.reporting.changes import shown
from enricher.reporting.nouns import Changes, FullReport, Group, RankedFinding, Systemic, UserReports

_RANKED = 10  # answers; the page and the JSON have more
_STATEMENTS = 3
_GROUPS = 5
_STYLES = {
    "contradicted": "bold red",
    "source_conflict": "bold red",
    "unsupported": "red",
    "partial": "yellow",
    "omitted": "yellow",
}


def as_text(report: FullReport) -> RenderableType:
    """Render the whole report; trace text is shown with everything invisible in it made visible."""
    return Stack(*_parts(report))


def _parts(report: FullReport) -> Iterator[RenderableType]:
    run, head = report.run, report.headline
    style = "bold red" if head.is_bad else "bold yellow" if head.is_incomplete else "bold green"
    yield Text(f"{run.job}: ", style="bold").append(visible(head.sentence), style=style)
    if head.coverage:
        yield Text(head.coverage, style="dim")
    yield from (Text(f"! {visible(detail)}", style="yellow") for detail in (*head.moved, *head.details))
    yield from (
        Text(f"!! {visible(alert.sentence)}{'' if alert.is_new else since(alert)}", style="bold red")
        for alert in run.alerts
    )
    yield numbers_table(run)
    yield from _changes(report.changes)
    yield from _ranked(report)
    yield from _systemic(report.systemic)
    yield from _not_judged(report)
    if run.disagreements:
        yield _title("findings that the second check does not share")
        yield disagreements_table(run.disagreements[:_RANKED])
    if run.agreement:
        yield _title("agreement of the second check, the last 30 days")
        yield agreement_table(run.agreement)
    yield from _users(report.user_reports)


def _title(text: str) -> Text:
    return Text(f"\n{text}", style="bold")


def _table(*columns: str, wide: int | None = None) -> Table:
    table = Table(box=None, padding=(0, 1), header_style="dim", show_edge=False)
    for number, name in enumerate(columns):
        table.add_column(name, ratio=1 if number == wide else None, no_wrap=number != wide)
    return table


def _changes(changes: Changes) -> Iterator[RenderableType]:
    yield from (Text(f"! {visible(note)}", style="yellow") for note in changes.notes)
    known = [figure for figure in changes.figures if figure.before is not None]
    if not known:
        return
    past = len(changes.runs) - 1
    yield _title(f"against the {past} runs before" if past > 1 else "against the run before")
    table = _table("figure", "now", "before", "lowest to highest", "")
    for figure in known:
        told = ("worse" if figure.is_worse else "better" if figure.is_worse is False else "moved") * figure.is_notable
        style = {"worse": "bold red", "better": "bold green", "moved": "bold"}.get(told, "")
        now, before, low, high = (
            shown(value, figure.unit) for value in (figure.now, figure.before, figure.low, figure.high)
        )
        table.add_row(Text(visible(figure.name)), Text(now, style=style), before, f"{low} to {high}", Text(told, style))
    yield table


def _ranked(report: FullReport) -> Iterator[RenderableType]:
    if not report.ranked:
        return
    yield _title("findings, the most dangerous first")
    for finding in report.ranked[:_RANKED]:
        yield from _finding(finding)
    if len(report.ranked) > _RANKED:
        yield Text(f"… {report.answers_with_findings} answers in all; --json and --format html have more", style="dim")


def _finding(finding: RankedFinding) -> Iterator[RenderableType]:
    place = Text(f"{finding.rank:>3}  {visible(finding.trace_id)}", style="dim")
    if finding.reported:
        place.append(f"  reported: {visible(finding.reported[0])}", style="cyan")
    if finding.decided:
        place.append(f"  {visible(', '.join(finding.decided))}", style="cyan")
    yield place
    if finding.question:
        yield Text(f"     {visible(finding.question)}", style="bold")
    for statement in finding.statements[:_STATEMENTS]:
        said = Text(f"     {statement.standing.replace('_', ' ')}", style=_STYLES[statement.standing])
        said.append(f" “{visible(statement.text)}”", style="default")
        if statement.certainty:
            said.append(f"  {statement.certainty} by the second check", style="magenta")
        yield said
        for passage in statement.passages:
            mark = "" if passage.is_verified else " (not verified)"
            yield Text(f"       {visible(passage.document)}{mark}: “{visible(passage.text)}”", style="cyan")
        if statement.others:
            yield Text(f"       other judges: {visible(', '.join(statement.others))}", style="magenta")
        if statement.explanation:
            yield Text(f"       {visible(statement.explanation)}", style="dim")
    if finding.same:
        yield Text(
            f"     and the same on {len(finding.same)} more: {visible(', '.join(finding.same[:3]))}", style="dim"
        )
    if finding.fix_note:
        yield Text(f"     next: {visible(finding.fix_note)}", style="dim")


def _systemic(found: Systemic) -> Iterator[RenderableType]:
    kinds: tuple[tuple[str, Sequence[Group]], ...] = (
        ("documents", found.documents),
        ("questions about", found.topics),
        ("retrievers", found.retrievers),
        ("prompts", found.prompts),
        ("models", found.models),
    )
    for name, groups in kinds:
        flagged = [group for group in groups if group.findings][:_GROUPS]
        if flagged and (len(groups) > 1 or name == "documents"):
            yield _title(f"where findings come from: {name}")
            yield _groups(flagged, is_documents=name == "documents")
    if found.fixes:
        yield _title("next steps")
        table = _table("answers", "half", "step", wide=2)
        for fix in found.fixes[:_GROUPS]:
            table.add_row(str(fix.count), fix.half, Text(visible(fix.note)))
        yield table


def _groups(groups: Sequence[Group], *, is_documents: bool) -> Table:
    extra = ("named as evidence",) if is_documents else ()
    table = _table("", "with a finding", "contradicted", "retrieval", "generation", *extra)
    for group in groups:
        table.add_row(
            Text(visible(group.name)),
            f"{group.findings} of {group.answers} ({group.share:.0%})",
            str(group.critical),
            str(group.retrieval),
            str(group.generation),
            *((str(group.evidence),) if is_documents else ()),
        )
    return table


def _not_judged(report: FullReport) -> Iterator[RenderableType]:
    rows = [(one.reason, one.count, one.example, one.trace_id) for one in report.rejections]
    rows += [(one.status, one.count, one.example, one.trace_id) for one in report.failures]
    if not rows:
        return
    yield _title("could not be judged, and is in no mean")
    table = _table("reason", "", "such as", "trace", wide=2)
    for reason, count, example, trace_id in rows:
        table.add_row(reason, str(count), Text(visible(example)), Text(visible(trace_id[:12])))
    yield table


def _users(users: UserReports) -> Iterator[RenderableType]:
    if not (users.among_reported.of or users.unreported_critical or users.scores):
        return
    yield _title("reports of users and scores against what was found")
    reported, others = users.among_reported, users.among_others
    if reported.of:
        rest = f", {others.count} of {others.of} others ({others.rate:.0%})" if others.of else ""
        share = f"{reported.count} of {number_of(reported.of, 'reported trace')}"
        yield Text(f"  {share} {plural(reported.count, 'has', 'have')} a finding ({reported.rate:.0%}){rest}")
    if users.without_finding_traces:
        yield Text(f"  reported without a finding: {visible(', '.join(users.without_finding_traces))}")
    if users.unreported_critical:
        traces = visible(", ".join(users.unreported_critical_traces))
        yield Text(f"  contradicted and reported by nobody: {users.unreported_critical}, such as {traces}")
    yield from (Text(f"  {visible(relation.sentence)}") for relation in users.scores)
