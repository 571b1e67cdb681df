"""Send neutral spans to an OpenTelemetry collector or Phoenix, ids and times preserved, and wait until they show."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue, KeyValueList
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Status
from opentelemetry.proto.trace.v1.trace_pb2 import Span as ProtoSpan

from connectors.http import HttpCalls
from enricher.errors import TryAgain
from enricher.trace import Span, SpanEvent, SpanKind

PROJECT_ATTRIBUTE = "openinference.project.name"
KIND_ATTRIBUTE = "openinference.span.kind"
_STATUS = {"OK": Status.STATUS_CODE_OK, "ERROR": Status.STATUS_CODE_ERROR}
_INT64 = 2**63
_SPANS_PER_REQUEST = 500


def export_request(spans: Sequence[Span], project: str) -> bytes:
    """Encode spans as one OTLP export request for the project."""
    resource = Resource(attributes=_key_values({PROJECT_ATTRIBUTE: project}))
    scope_spans = ScopeSpans(spans=[_proto_span(span) for span in spans])
    request = ExportTraceServiceRequest(resource_spans=[ResourceSpans(resource=resource, scope_spans=[scope_spans])])
    return bytes(request.SerializeToString())


def shifted(spans: Sequence[Span], *, newest: datetime) -> list[Span]:
    """Return the spans moved in time together, so that the last one ends at `newest`."""
    ends = [moment for span in spans if (moment := span.end_time or span.start_time)]
    if not ends:
        return list(spans)
    offset = newest - max(ends)
    return [_moved(span, offset) for span in spans]


async def send(spans: Sequence[Span], *, base_url: str, project: str, api_key: str | None = None) -> None:
    """Post the spans to `/v1/traces`. Acceptance is not storage: see `wait_until_visible`."""
    calls = HttpCalls(base_url=base_url, api_key=api_key, timeout_s=60.0)
    try:
        for start in range(0, len(spans), _SPANS_PER_REQUEST):
            body = export_request(spans[start : start + _SPANS_PER_REQUEST], project)
            await calls.post_bytes("v1/traces", body, content_type="application/x-protobuf")
    finally:
        await calls.aclose()


async def wait_until_visible(
    spans: Sequence[Span], *, base_url: str, project: str, api_key: str | None = None, within_s: float = 60.0
) -> None:
    """Wait until Phoenix shows every one of the spans; it stores them only after it has accepted them.

    Raises:
        TryAgain: the time is up and some are still missing.
    """
    missing = {span.span_id for span in spans}
    calls = HttpCalls(base_url=base_url, api_key=api_key, timeout_s=60.0)
    deadline = time.monotonic() + within_s
    try:
        while missing := missing - await _visible(calls, project, spans):
            if time.monotonic() > deadline:
                raise TryAgain(f"{len(missing)} of {len(spans)} spans don't show in '{project}' after {within_s:g} s")
            await asyncio.sleep(0.2)
    finally:
        await calls.aclose()


async def _visible(calls: HttpCalls, project: str, spans: Sequence[Span]) -> set[str]:
    """Return the ids of the spans that show in the time of `spans`; trace skeletons cost no attributes."""
    starts = [span.start_time for span in spans if span.start_time]
    params: dict[str, Any] = {"include_spans": "true", "limit": 1000, "order": "asc"}
    if starts:
        params |= {"start_time": min(starts).isoformat(), "end_time": (max(starts) + timedelta(seconds=1)).isoformat()}
    seen: set[str] = set()
    while True:
        page = await calls.get_or_none(f"v1/projects/{quote(project, safe='')}/traces", params)
        if page is None:  # the project appears with its first span
            return seen
        seen.update(span["span_id"] for trace in page["data"] for span in trace["spans"])
        if not page["next_cursor"]:
            return seen
        params["cursor"] = page["next_cursor"]


def _moved(span: Span, offset: timedelta) -> Span:
    return replace(
        span,
        start_time=span.start_time and span.start_time + offset,
        end_time=span.end_time and span.end_time + offset,
    )


def _proto_span(span: Span) -> ProtoSpan:
    attributes = dict(span.attributes)
    if span.kind is not SpanKind.UNKNOWN:
        attributes.setdefault(KIND_ATTRIBUTE, span.kind.value)
    start = _nanoseconds(span.start_time)
    end = _nanoseconds(span.end_time) or start
    return ProtoSpan(
        trace_id=bytes.fromhex(span.trace_id),
        span_id=bytes.fromhex(span.span_id),
        parent_span_id=bytes.fromhex(span.parent_id or ""),
        name=span.name,
        kind=ProtoSpan.SPAN_KIND_INTERNAL,
        start_time_unix_nano=start,
        end_time_unix_nano=end,
        attributes=_key_values(attributes),
        dropped_attributes_count=span.dropped_attributes,
        events=[_proto_event(event, end) for event in span.events],
        status=Status(code=_STATUS.get(span.status, Status.STATUS_CODE_UNSET), message=span.status_message),
    )


def _proto_event(event: SpanEvent, time_unix_nano: int) -> ProtoSpan.Event:
    return ProtoSpan.Event(name=event.name, time_unix_nano=time_unix_nano, attributes=_key_values(event.attributes))


def _nanoseconds(moment: datetime | None) -> int:
    if moment is None:
        return 0
    # Not `timestamp() * 1e9`: a float of that size can't hold microseconds.
    return int(moment.timestamp()) * 1_000_000_000 + moment.microsecond * 1000


def _key_values(attributes: Mapping[str, Any]) -> list[KeyValue]:
    return [KeyValue(key=key, value=_any_value(value)) for key, value in attributes.items() if value is not None]


def _any_value(value: Any) -> AnyValue:
    match value:
        case bool():
            return AnyValue(bool_value=value)
        case int() if -_INT64 <= value < _INT64:
            return AnyValue(int_value=value)
        case float():
            return AnyValue(double_value=value)
        case bytes():
            return AnyValue(bytes_value=value)
        case str():
            return AnyValue(string_value=value)
        case list() | tuple():
            return AnyValue(array_value=ArrayValue(values=[_any_value(item) for item in value]))
        case dict():
            return AnyValue(kvlist_value=KeyValueList(values=_key_values(value)))
        case _:
            return AnyValue(string_value=str(value))
