"""Show the review queue on a terminal."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from enricher.report import diff_view
from enricher.review.queue import as_row
from enricher.store import Question
from enricher.trace import UserReport


def queue_table(found: Sequence[Question], total: int) -> RenderableType:
    """Render a page of the queue."""
    if not found:
        return Text("Nothing is waiting for people.", style="green")
    table = Table(box=None, padding=(0, 1), header_style="dim", show_edge=False)
    for name in ("id", "trace", "judge", "label", "why"):
        table.add_column(name, no_wrap=True)
    table.add_column("summary", ratio=1)
    for row in map(as_row, found):
        label = row["label"] or row["status"]
        why = ", ".join(row["reasons"])
        table.add_row(row["id"][:8], row["trace_id"][:12], row["judge"], Text(label), Text(why), Text(row["summary"]))
    shown = f"{len(found)} of {total}" if total > len(found) else str(total)
    return Group(table, Text(f"{shown} waiting; `enricher review show ID` shows one", style="dim"))


def question_view(
    question: Question,
    reports: Sequence[UserReport] = (),
    *,
    link: str | None = None,
    raw_replies: Sequence[str] = (),
) -> RenderableType:
    """Render everything that a reviewer needs for one decision."""
    review, verdict, item = question.review, question.evaluation.verdict, question.evaluation.item
    parts: list[RenderableType] = [
        Text(f"{review.id[:8]}  {verdict.provenance.judge}  trace {review.trace_id}", style="bold"),
        Text(f"asked because: {', '.join(review.reasons)}", style="yellow"),
    ]
    if link:
        parts.append(Text(link, style="dim"))
    for report in reports:
        said = f" “{report.comment}”" if report.comment else ""
        value = report.label if report.label is not None else report.score
        parts.append(Text(f"reported by {report.author or 'a user'}: {report.name} {value}{said}", style="cyan"))
    parts.append(Text(""))
    parts.append(diff_view(verdict, item.question if item else None, item.answer if item else ""))
    for document in item.documents if item else ():
        parts.append(Text(f"\n{document.id}", style="dim"))
        parts.append(Text(document.text))
    if not verdict.status.is_verdict:  # what the model said is all there is to decide by
        for number, reply in enumerate(raw_replies, 1):
            parts.append(Text(f"\nreply {number}", style="dim"))
            parts.append(Text(reply))
    if verdict.flags:
        parts.append(Text(f"\nflags: {', '.join(verdict.flags)}", style="yellow"))
    for decision in question.decisions:
        said = f": {decision.comment}" if decision.comment else ""
        parts.append(Text(f"{decision.outcome} by {decision.person}, {decision.label}{said}", style="green"))
    return Group(*parts)
