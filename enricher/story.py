"""The story of one trace as `enricher explain` tells it: why chosen, what was read, each verdict, what was written."""

from collections.abc import Iterator
from typing import Any

from pydantic import TypeAdapter
from rich.console import Group, RenderableType
from rich.text import Text

from enricher.printing import number_of
from enricher.report import diff_view
from enricher.store import EvaluationRecord, Story
from enricher.verdict import DeliveryState

_STATE_STYLES = {DeliveryState.CONFIRMED: "green", DeliveryState.FAILED: "red"}


def as_json(story: Story) -> dict[str, Any]:
    """Return the machine-readable twin of the story."""
    told: dict[str, Any] = TypeAdapter(Story).dump_python(story, mode="json")
    return told


def as_text(story: Story) -> RenderableType:
    """Tell the story in order."""
    return Group(*_parts(story))


def _parts(story: Story) -> Iterator[RenderableType]:
    yield Text(f"trace {story.trace_id}", style="bold")
    yield Text("\nchosen", style="bold")
    for record in story.refs:
        rules = ", ".join(record.ref.rules) or "no rule"
        yield Text(f"  by {rules} of job {record.job}, project {record.ref.project}: {record.state} {record.reason}")
        for report in record.ref.reports:
            said = f" “{report.comment}”" if report.comment else ""
            when = f" on {report.reported_at:%Y-%m-%d %H:%M} UTC" if report.reported_at else ""
            value = report.label if report.label is not None else report.score
            yield Text(f"  reported by {report.author or 'a user'}{when}: {report.name} {value}{said}", style="cyan")
    for rejection in story.rejections:
        why = rejection.rejection
        yield Text(f"\nnot judged: {why.reason}", style="bold yellow")
        yield Text(f"  {why.detail}")
    for evaluation in story.evaluations:
        yield from _evaluation(evaluation, story)
    if story.outbox:
        yield Text("\nwritten", style="bold")
    for entry in story.outbox:
        annotation = entry.annotation
        place = "" if annotation.document_position is None else f" document {annotation.document_position}"
        value = annotation.label or annotation.score
        why_not = f": {entry.reason}" if entry.reason and entry.state is not DeliveryState.CONFIRMED else ""
        line = f"  {annotation.name} {value} on span {annotation.span_id}{place}: {entry.state}{why_not}"
        yield Text(line, style=_STATE_STYLES.get(entry.state, ""))
    for review in story.review:
        yield Text(f"\nin review: {review.state}, {', '.join(review.reasons)}", style="bold")


def _evaluation(record: EvaluationRecord, story: Story) -> Iterator[RenderableType]:
    verdict = record.verdict
    provenance = verdict.provenance
    yield Text(f"\n{provenance.judge} by {provenance.version}: {verdict.status}", style="bold")
    if record.item is not None:
        found = ", ".join(document.id for document in record.item.documents)
        yield Text(f"  read {number_of(len(record.item.documents), 'document')}: {found}", style="dim")
        yield diff_view(verdict, record.item.question, record.item.answer)
    usage = verdict.usage
    calls = number_of(usage.calls, "call")
    replies = number_of(len(story.raw_replies.get(record.id, ())), "raw reply", "raw replies")
    yield Text(
        f"  {calls}, {usage.prompt_tokens} + {usage.completion_tokens} tokens, cost {usage.cost:.4f}, "
        f"{usage.latency_s:.2f} s; {replies} kept; settled {record.settled_at:%Y-%m-%d %H:%M:%S} UTC",
        style="dim",
    )
    if verdict.flags:
        yield Text(f"  flags: {', '.join(verdict.flags)}", style="yellow")
