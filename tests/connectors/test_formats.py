"""Exported files: every format gives the same neutral spans."""

import gzip
import json
from datetime import UTC, datetime

import pytest

from connectors.formats import groups_of, otlp_span, phoenix_span, raw_trace, read_file, recorded_span, spans_of
from enricher.errors import BadReply
from enricher.trace import SpanKind
from tests.trace_files import LANGSMITH, OTEL, as_otlp, load, otel, through_phoenix

LIMIT = "awkward-attribute-count-limit-60docs"


@pytest.mark.parametrize("path", OTEL, ids=lambda path: path.name)
def test_an_otlp_export_gives_the_same_spans(path):
    recorded = load(path)
    plain = [(s.span_id, s.parent_id, s.kind, s.attributes, s.events, s.status, s.start_time, s.dropped_attributes)
             for s in spans_of(recorded)]  # fmt: skip
    exported = [(s.span_id, s.parent_id, s.kind, s.attributes, s.events, s.status, s.start_time, s.dropped_attributes)
                for s in spans_of(as_otlp(recorded))]  # fmt: skip
    assert exported == plain


def test_a_phoenix_span_keeps_ids_times_kind_and_events():
    recorded = otel("openllmetry-chroma-openai")
    plain = {span.span_id: span for span in spans_of(recorded)}
    for span in spans_of(through_phoenix(recorded)):
        other = plain[span.span_id]
        assert (span.trace_id, span.parent_id, span.name, span.status) == (
            other.trace_id, other.parent_id, other.name, other.status
        )  # fmt: skip
        assert [e.attributes for e in span.events] == [e.attributes for e in other.events]
        assert abs((span.start_time - other.start_time).total_seconds()) < 1e-5
    assert {span.kind for span in spans_of(through_phoenix(recorded))} == {SpanKind.UNKNOWN, SpanKind.LLM}


def test_nested_phoenix_attributes_become_dotted_keys():
    raw = {
        "name": "r",
        "context": {"trace_id": "t", "span_id": "s"},
        "span_kind": "RETRIEVER",
        "status_code": "OK",
        "start_time": "2026-11-29T23:39:15.094523+00:00",
        "attributes": {"retrieval": {"documents": [{"document": {"content": "A"}}]}, "tag.tags": ["x", "y"]},
    }
    span = phoenix_span(raw)
    assert span.attributes == {"retrieval.documents.0.document.content": "A", "tag.tags": ["x", "y"]}
    assert span.start_time == datetime(2026, 11, 29, 23, 39, 15, 94523, tzinfo=UTC)
    assert span.kind is SpanKind.RETRIEVER


def test_dropped_attributes_are_counted():
    assert sum(span.dropped_attributes for span in spans_of(otel(LIMIT))) == 114


@pytest.mark.parametrize("path", LANGSMITH, ids=lambda path: path.name)
def test_langsmith_runs_form_one_tree(path):
    spans = spans_of(load(path))
    ids = {span.span_id for span in spans}
    assert [span.span_id for span in spans if span.parent_id is None] == [spans[0].trace_id]
    assert all(span.parent_id in ids for span in spans if span.parent_id)
    assert all(span.kind is not SpanKind.UNKNOWN for span in spans)
    assert not any(
        "LANGSMITH" in key or "LANGSMITH" in str(span.attributes) for span in spans for key in span.attributes
    )


def test_a_failed_langsmith_run_is_an_error_with_its_message():
    failed = spans_of(load(next(p for p in LANGSMITH if p.name.startswith("traceable_error.v2"))))
    assert {span.status for span in failed} == {"ERROR"}
    assert all("timed out" in span.status_message for span in failed)


def test_a_recorded_file_stays_together_and_an_export_is_split_by_trace():
    recorded = otel("langgraph-multiturn-session")
    assert len(groups_of(recorded)) == 1
    assert sorted(len(group) for group in groups_of(as_otlp(recorded))) == [10, 10]
    assert len(groups_of(through_phoenix(recorded))) == 2


def test_files_may_be_gzipped_or_hold_a_json_object_a_line(tmp_path):
    recorded = otel("openai-chat-manual-retriever")
    whole = tmp_path / "a.json.gz"
    whole.write_bytes(gzip.compress(json.dumps(as_otlp(recorded)).encode()))
    lines = tmp_path / "b.jsonl"
    lines.write_text("\n".join(json.dumps(span) for span in through_phoenix(recorded)["data"]), encoding="utf-8")
    exports = tmp_path / "c.jsonl"
    exports.write_text("\n".join(json.dumps(as_otlp(otel(n))) for n in (LIMIT, "dspy-react")), encoding="utf-8-sig")
    assert [len(group) for group in read_file(whole)] == [3]
    assert [len(group) for group in read_file(lines)] == [3]
    assert [len(group) for group in read_file(exports)] == [3, 16]


def test_a_group_becomes_a_pulled_trace_named_after_it():
    (group,) = groups_of(otel("dspy-react"))
    pulled = raw_trace(group, connection="files", project="p")
    assert pulled.ref.trace_id == group[0].trace_id
    assert pulled.ref.start_time == min(span.start_time for span in group)


@pytest.mark.parametrize("payload", [3, "x", {"a": 1}, [1], [{"a": 1}], {"spans": [{"name": "x"}]}])
def test_anything_else_is_refused_with_a_sentence(payload):
    with pytest.raises(BadReply, match="no export of traces"):
        spans_of(payload)


def test_a_file_that_is_not_json_is_refused(tmp_path):
    path = tmp_path / "x.json"
    path.write_text("{broken", encoding="utf-8")
    with pytest.raises(BadReply, match="neither JSON nor JSON lines"):
        read_file(path)


def test_times_ids_and_status_may_be_missing():
    bare = recorded_span({"span_id": "s", "trace_id": "t"})
    assert (bare.parent_id, bare.start_time, bare.status, bare.kind) == (None, None, "UNSET", SpanKind.UNKNOWN)
    failed = {"code": "STATUS_CODE_ERROR"}
    orphan = otlp_span({"spanId": "s", "traceId": "t", "parentSpanId": "0" * 16, "status": failed})
    assert (orphan.parent_id, orphan.status) == (None, "ERROR")
