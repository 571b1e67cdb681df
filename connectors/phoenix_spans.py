"""Read spans as Phoenix's REST interface returns them, and tell whether a trace still grows."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from connectors.ordering import moment
from enricher.trace import Span, SpanEvent, SpanId, SpanKind, TraceId


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
