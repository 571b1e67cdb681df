"""Read spans as Phoenix's REST interface returns them, order them as a tree, and tell whether a trace still grows."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from enricher.trace import Span, SpanEvent, SpanId, SpanKind, TraceId

_FIRST = datetime.min.replace(tzinfo=UTC)


def span_from_rest(payload: Mapping[str, Any]) -> Span:
    """Convert one span of `GET /v1/projects/{p}/spans`.

    Raises:
        KeyError: the payload has no `context` with both ids.
    """
    context = payload["context"]
    parent = payload.get("parent_id")
    return Span(
        trace_id=TraceId(context["trace_id"]),
        span_id=SpanId(context["span_id"]),
        parent_id=SpanId(parent) if parent else None,
        name=payload.get("name") or "",
        kind=span_kind(payload.get("span_kind")),
        start_time=moment(payload.get("start_time")),
        end_time=moment(payload.get("end_time")),
        status=(payload.get("status_code") or "UNSET").upper(),
        status_message=payload.get("status_message") or "",
        attributes=payload.get("attributes") or {},
        events=tuple(
            SpanEvent(name=event.get("name") or "", attributes=event.get("attributes") or {})
            for event in payload.get("events") or ()
        ),
    )


def span_kind(word: str | None) -> SpanKind:
    """Map Phoenix's word for a kind; what we don't know stays UNKNOWN."""
    try:
        return SpanKind((word or "").upper())
    except ValueError:
        return SpanKind.UNKNOWN


def moment(text: str | None) -> datetime | None:
    """Parse a time of the REST interface; one without a zone is UTC."""
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


def is_still_running(spans: Sequence[Span], *, now: datetime, settle_s: float, open_parent_s: float) -> bool:
    """Tell whether more spans of this trace are likely to arrive.

    Phoenix has no mark for a finished trace and stores spans some time after it has accepted them. So a trace counts
    as running while its newest span is younger than `settle_s`; and, since a parent is sent only when it ends, while a
    parent is missing and the newest span is younger than `open_parent_s`.
    """
    moments = [time for span in spans if (time := span.end_time or span.start_time)]
    if not moments:
        return False
    age = now - max(moments)
    if age < timedelta(seconds=-open_parent_s):
        return False  # dated in the future: its clock is wrong and its age unknown
    if age < timedelta(seconds=settle_s):
        return True
    known = {span.span_id for span in spans}
    has_open_parent = any(span.parent_id is not None and span.parent_id not in known for span in spans)
    return has_open_parent and age < timedelta(seconds=open_parent_s)
