"""What the Phoenix connector works out without a server."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from connectors.fitting import cleaned, fitted, json_size
from connectors.ordering import tree_order
from connectors.phoenix_payload import payload, refuse_reserved, why_unwritable
from connectors.phoenix_query import Pointer, counts_as_report, pointer, trace_condition
from connectors.phoenix_spans import is_still_running, span_from_rest
from enricher.errors import SetupError
from enricher.trace import ReportFilter, Span, SpanFilter, SpanId, SpanKind, TraceId
from enricher.verdict import Annotation

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
TRACE = TraceId("0e1512c78b9a7a13370a6f55d2605f28")


def span(name: str, parent: str | None = None, *, age_s: float = 3600.0) -> Span:
    end = NOW - timedelta(seconds=age_s)
    return Span(
        trace_id=TRACE,
        span_id=SpanId(name),
        parent_id=parent and SpanId(parent),
        start_time=end - timedelta(seconds=1),
        end_time=end,
    )


def annotation(**changes: object) -> Annotation:
    given = {
        "connection": "phoenix",
        "project": "p",
        "trace_id": TRACE,
        "span_id": "5f2c9a0b1d3e4f60",
        "name": "context_diff",
        "label": "contradicted",
        "score": 0.5,
        "identifier": "enricher:diff:v1",
    }
    return Annotation.model_validate(given | changes)


def test_parents_come_before_children_and_siblings_by_start():
    spans = [
        span("second", "root", age_s=10),
        span("leaf", "first", age_s=15),
        span("first", "root", age_s=20),
        span("root", age_s=5),
    ]
    assert [s.span_id for s in tree_order(spans)] == ["root", "first", "leaf", "second"]


def test_orphans_and_rings_are_kept_after_the_root():
    spans = [span("ring-a", "ring-b"), span("ring-b", "ring-a"), span("orphan", "missing", age_s=9), span("root")]
    assert [s.span_id for s in tree_order(spans)][:2] == ["root", "orphan"]
    assert {s.span_id for s in tree_order(spans)} == {"root", "orphan", "ring-a", "ring-b"}


@pytest.mark.parametrize(
    ("spans", "running"),
    [
        ([span("root", age_s=29)], True),
        ([span("root", age_s=31)], False),
        ([span("root", age_s=600), span("late", "root", age_s=3)], True),
        ([span("child", "not-yet-sent", age_s=600)], True),
        ([span("child", "never-sent", age_s=1000)], False),
        ([span("root", age_s=-20)], True),
        ([span("root", age_s=-86400)], False),
        ([], False),
    ],
)
def test_a_trace_is_running_until_it_is_quiet_and_its_parents_are_there(spans, running):
    assert is_still_running(spans, now=NOW, settle_s=30, open_parent_s=900) is running


def test_an_unknown_kind_and_a_time_without_zone_are_read():
    read = span_from_rest(
        {
            "context": {"trace_id": TRACE, "span_id": "5f2c9a0b1d3e4f60"},
            "span_kind": "DECISION",
            "start_time": "2026-11-30T00:00:00",
            "status_code": "ERROR",
            "attributes": {"input.value": ""},
            "events": [{"name": "exception", "timestamp": "2026-11-30T00:00:00+00:00", "attributes": {"a": 1}}],
        }
    )
    assert read.kind is SpanKind.UNKNOWN
    assert read.start_time == datetime(2026, 11, 30, tzinfo=UTC)
    assert (read.status, read.parent_id, read.attributes) == ("ERROR", None, {"input.value": ""})
    assert [(event.name, event.attributes) for event in read.events] == [("exception", {"a": 1})]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (TRACE, Pointer(trace_id=TRACE)),
        (f"  {TRACE.upper()} ", Pointer(trace_id=TRACE)),
        ("0e1512c7-8b9a-7a13-370a-6f55d2605f28", Pointer(trace_id=TRACE)),
        ("5f2c9a0b1d3e4f60", Pointer(span_id="5f2c9a0b1d3e4f60")),
        (f"https://phoenix.example/base/redirects/traces/{TRACE}", Pointer(trace_id=TRACE)),
        ("http://h/redirects/spans/5f2c9a0b1d3e4f60", Pointer(span_id="5f2c9a0b1d3e4f60")),
        (f"http://h/projects/UHJvamVjdDoy/traces/{TRACE}", Pointer(trace_id=TRACE, project_id="UHJvamVjdDoy")),
        (
            f"http://h/s/team/projects/UHJvamVjdDoy/spans/{TRACE}?selectedSpanNodeId=U3BhbjoxNTk%3D",
            Pointer(trace_id=TRACE, project_id="UHJvamVjdDoy"),
        ),
        (f"http://h/projects/UHJvamVjdDox%3D/traces/{TRACE}/", Pointer(trace_id=TRACE, project_id="UHJvamVjdDox=")),
    ],
)
def test_ids_and_pasted_urls_are_understood(text, found):
    assert pointer(text) == found


@pytest.mark.parametrize(
    "text",
    ["", "hello", "U3BhbjoxNTk=", "http://h/projects/UHJvamVjdDoy", "http://h/", "http://h/redirects", TRACE[:-1]],
)
def test_what_points_to_no_trace_is_refused_with_its_words(text):
    with pytest.raises(SetupError, match="trace"):
        pointer(text)


def test_texts_are_quoted_into_the_filter_language():
    condition = trace_condition(SpanFilter(name='it\'s "x" \\ y'), (ReportFilter(labels=("thumbs'down",)),))
    assert condition is not None
    compile(condition, "filter", "eval")
    assert "a.label in" in condition
    assert trace_condition(SpanFilter(), ()) is None


@pytest.mark.parametrize(
    ("wanted", "result", "kind", "counts"),
    [
        (ReportFilter(name="feedback", max_score=0.0), {"score": 0.0}, "HUMAN", True),
        (ReportFilter(name="feedback", max_score=0.0), {"score": None}, "HUMAN", False),
        (ReportFilter(name="feedback", max_score=0.0), {"score": 0.1}, "HUMAN", False),
        (ReportFilter(name="other"), {"score": 0.0}, "HUMAN", False),
        (ReportFilter(labels=("bad", "thumbs-down")), {"label": "thumbs-down"}, "CODE", True),
        (ReportFilter(labels=("bad",)), None, "HUMAN", False),
        (ReportFilter(), {"label": "faithful"}, "LLM", False),
        (ReportFilter(), None, "HUMAN", True),
    ],
)
def test_a_report_counts_when_all_conditions_hold(wanted, result, kind, counts):
    row = {"name": "feedback", "result": result, "annotator_kind": kind}
    assert counts_as_report(row, (wanted,)) is counts


@pytest.mark.parametrize("score", [float("nan"), float("inf")])
def test_a_score_that_is_no_number_is_refused(score):
    assert "finite" in (why_unwritable(annotation(score=score)) or "")


def test_an_annotation_without_identifier_is_refused():
    assert "identifier" in (why_unwritable(annotation(identifier=" ")) or "")


@pytest.mark.parametrize("name", ["note", " "])
def test_reserved_names_stop_before_any_work(name):
    with pytest.raises(SetupError):
        refuse_reserved(["context_diff", name])


def test_lone_surrogates_and_nul_are_replaced_at_any_depth():
    dirty = {"a\ud800": ["x\x00y", {"b": "\ud83d\ude00 \udfff"}], "n": float("nan"), "t": ("é", 1, None, True)}
    assert cleaned(dirty) == {"a\ufffd": ["x\ufffdy", {"b": "😀 \ufffd"}], "n": None, "t": ["é", 1, None, True]}


@pytest.mark.parametrize("limit", [300, 1000, 65536])
def test_long_metadata_is_cut_along_its_structure(limit):
    segments = [{"segment_id": f"s{n}", "generated_text": 'a "quoted" \n é' * 9, "score": 0.5} for n in range(2000)]
    body = payload(annotation(metadata={"segments": segments, "judge": "diff", "flags": ["x"]}), max_bytes=limit)
    kept = body["metadata"]
    assert json_size(kept) <= limit
    assert kept["judge"] == "diff"
    assert kept["flags"] == ["x", "diff_truncated"]
    assert json.loads(json.dumps(kept)) == kept
    assert (body["result"]["label"], body["result"]["score"]) == ("contradicted", 0.5)
    whole = [segment for segment in kept["segments"] if segment in segments]
    assert len(kept["segments"]) - len(whole) <= 1


@pytest.mark.parametrize("value", ["\n" * 5000, "é" * 5000, ["x" * 5000], {"k" * 3000: 1, "s": "y" * 4000}])
def test_any_shape_fits_its_limit(value):
    shorter, cut = fitted(value, 1000)
    assert cut
    assert json_size(shorter) <= 1000


def test_what_fits_is_not_touched():
    metadata = {"segments": [{"text": "x" * 1000}], "flags": []}
    assert payload(annotation(metadata=metadata), max_bytes=65536)["metadata"] == metadata


def test_a_document_annotation_keeps_its_identifier_in_the_metadata():
    body = payload(annotation(document_position=0), max_bytes=1000)
    assert "identifier" not in body
    assert (body["document_position"], body["metadata"]["identifier"]) == (0, "enricher:diff:v1")
