"""Spans as they are sent to a collector."""

from datetime import UTC, datetime, timedelta

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Status

from connectors.otlp import export_request, send, shifted, wait_until_visible
from enricher.errors import TryAgain
from enricher.trace import Span, SpanEvent, SpanId, SpanKind, TraceId
from tests.servers.failing import FailingServer, Reply, reply_json

START = datetime(2026, 11, 30, 1, 2, 3, 456789, tzinfo=UTC)
SPAN = Span(
    trace_id=TraceId("0e1512c78b9a7a13370a6f55d2605f28"),
    span_id=SpanId("5f2c9a0b1d3e4f60"),
    parent_id=SpanId("0f2c9a0b1d3e4f60"),
    name="retrieve",
    kind=SpanKind.RETRIEVER,
    start_time=START,
    end_time=START + timedelta(microseconds=1),
    status="ERROR",
    status_message="broken",
    attributes={"s": "é", "i": 3, "f": 0.5, "b": True, "l": ["a", "b"], "d": {"k": [1]}, "none": None, "big": 2**70},
    events=(SpanEvent(name="exception", attributes={"exception.type": "KeyError"}),),
    dropped_attributes=7,
)


def test_ids_times_and_attributes_are_preserved():
    (resource_spans,) = ExportTraceServiceRequest.FromString(export_request([SPAN], "a project")).resource_spans
    (attribute,) = resource_spans.resource.attributes
    assert (attribute.key, attribute.value.string_value) == ("openinference.project.name", "a project")
    (sent,) = resource_spans.scope_spans[0].spans
    assert (sent.trace_id.hex(), sent.span_id.hex(), sent.parent_span_id.hex()) == (
        SPAN.trace_id,
        SPAN.span_id,
        SPAN.parent_id,
    )
    assert sent.start_time_unix_nano == int(START.timestamp()) * 10**9 + 456_789_000
    assert sent.end_time_unix_nano - sent.start_time_unix_nano == 1000
    assert (sent.status.code, sent.status.message) == (Status.STATUS_CODE_ERROR, "broken")
    assert sent.dropped_attributes_count == 7
    values = {attribute.key: attribute.value for attribute in sent.attributes}
    assert values["openinference.span.kind"].string_value == "RETRIEVER"
    assert (values["s"].string_value, values["i"].int_value, values["f"].double_value) == ("é", 3, 0.5)
    assert values["b"].bool_value is True
    assert [item.string_value for item in values["l"].array_value.values] == ["a", "b"]
    assert values["d"].kvlist_value.values[0].value.array_value.values[0].int_value == 1
    assert values["big"].string_value == str(2**70)
    assert "none" not in values
    assert [event.name for event in sent.events] == ["exception"]


def test_a_kind_that_the_attributes_name_is_not_overruled():
    span = Span(trace_id=SPAN.trace_id, span_id=SPAN.span_id, attributes={"openinference.span.kind": "AGENT"})
    request = ExportTraceServiceRequest.FromString(export_request([span], "p"))
    (attribute,) = request.resource_spans[0].scope_spans[0].spans[0].attributes
    assert attribute.value.string_value == "AGENT"


def test_a_trace_is_moved_in_time_as_a_whole():
    child = Span(trace_id=SPAN.trace_id, span_id=SpanId("1" * 16), start_time=START - timedelta(seconds=9))
    moved = shifted([SPAN, child], newest=START + timedelta(days=1))
    assert moved[0].end_time == START + timedelta(days=1)
    assert moved[0].start_time - moved[1].start_time == timedelta(seconds=9)
    assert moved[1].end_time is None


async def test_waiting_for_spans_ends_when_they_never_show():
    async with FailingServer(reply_json({"data": [], "next_cursor": None})) as server:
        with pytest.raises(TryAgain, match="1 of 1 spans"):
            await wait_until_visible([SPAN], base_url=server.base_url, project="a/b", within_s=0.3)
    assert server.asked[0].path == "/v1/projects/a%2Fb/traces"


async def test_a_full_ingest_queue_is_told():
    async with FailingServer(Reply(status=503)) as server:
        with pytest.raises(TryAgain, match="503"):
            await send([SPAN], base_url=server.base_url, project="p")
