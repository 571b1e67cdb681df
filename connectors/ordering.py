"""Read the times that platforms write, and put the spans of a trace in the order of its tree."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime

from enricher.trace import Span

_FIRST = datetime.min.replace(tzinfo=UTC)


def moment(text: str | None) -> datetime | None:
    """Parse a time in ISO form; one without a zone is UTC."""
    if not text:
        return None
    parsed = datetime.fromisoformat(text)
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)


def tree_order(spans: Sequence[Span]) -> tuple[Span, ...]:
    """Order spans as a reader expects: parents before children, siblings by start, orphans after the root.

    Phoenix returns them as they were inserted, children first.
    """
    by_time = sorted(spans, key=lambda span: (span.start_time or _FIRST, span.span_id))
    known = {span.span_id for span in spans}
    children: defaultdict[str, list[Span]] = defaultdict(list)
    roots: list[Span] = []
    orphans: list[Span] = []
    for span in by_time:
        if span.parent_id is None:
            roots.append(span)
        elif span.parent_id in known and span.parent_id != span.span_id:
            children[span.parent_id].append(span)
        else:
            orphans.append(span)
    ordered: dict[str, Span] = {}
    # `by_time` comes last for spans whose parents form a ring: damaged, but not to be lost.
    for top in (*roots, *orphans, *by_time):
        pending = [top]
        while pending:
            span = pending.pop()
            if span.span_id not in ordered:
                ordered[span.span_id] = span
                pending.extend(reversed(children[span.span_id]))
    return tuple(ordered.values())
