"""Runs in the shapes of v1 and v2 become the same spans, from which the same items are read."""

import gzip
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from connectors.langsmith_runs import attribute, is_still_running, root_start, span_from_run
from connectors.ordering import tree_order
from enricher.steps.extraction import extract
from enricher.steps.validation import validate
from enricher.trace import RawTrace, SpanKind, TraceId, TraceRef

CORPUS = Path(__file__).parents[1] / "traces" / "langsmith"
NAMES = sorted({path.name.split(".")[0] for path in CORPUS.iterdir() if not path.name.startswith("_")})
ROOT = "01a229ab-ee5c-759a-a4d4-4febee495ea3"
CHILD = "01a229ab-ee61-7802-ad9b-fc53188e558e"


def load(name: str, shape: str) -> dict[str, Any]:
    path = next(CORPUS.glob(f"{name}{shape}.json*"))
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rb") as file:
        return dict(json.load(file))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("shape", "key"), [("", "runs"), (".v2", "items")])
def test_recorded_trees_are_read_exactly(name, shape, key):
    tree = load(name, shape)
    expected = tree["expected"]
    spans = tree_order([span_from_run(run) for run in tree[key]])
    ref = TraceRef(connection="c", project="p", trace_id=TraceId(spans[0].trace_id))
    extraction = validate(extract(trace := RawTrace(ref=ref, spans=spans)), trace)

    assert not any("LANGSMITH" in key for span in spans for key in span.attributes)
    assert spans[0].span_id == expected["annotate_span_id"]
    if not expected["valid"]:
        assert [str(one.reason) for one in extraction.rejections] == [expected["reject_reason"]]
        return
    (item,) = extraction.items
    assert (item.question, item.answer.strip()) == (expected["question"], expected["answer"].strip())
    assert item.annotate_span_id == expected["annotate_span_id"]
    read = [{"id": one.id, "text": one.text, "span_id": one.span_id} for one in item.documents]
    assert read == expected["documents"]


@pytest.mark.parametrize("name", NAMES)
def test_both_shapes_make_the_same_spans(name):
    old = [span_from_run(run) for run in load(name, "")["runs"]]
    new = [span_from_run(run) for run in load(name, ".v2")["items"]]
    assert {span.span_id: span for span in old} == {span.span_id: span for span in new}


@pytest.mark.parametrize(
    ("payload", "parent"),
    [
        ({"parent_run_id": ROOT}, ROOT),
        ({"parent_run_ids": ["x", ROOT]}, ROOT),
        ({"dotted_order": f"20261129T233743260614Z{ROOT}.20261129T233743265000Z{CHILD}"}, ROOT),
        ({"dotted_order": f"20261129T233743260614Z{CHILD}"}, None),
        ({}, None),
    ],
)
def test_the_parent_is_found_in_every_shape(payload, parent):
    assert span_from_run({"id": CHILD, "trace_id": ROOT, **payload}).parent_id == parent


def test_a_run_that_was_not_fully_selected_keeps_what_is_missing_apart_from_what_is_empty():
    bare = span_from_run({"id": CHILD, "dotted_order": f"20261129T233743260614Z{ROOT}.20261129T233743265000Z{CHILD}"})
    assert (bare.trace_id, bare.inputs, bare.outputs, bare.kind) == (ROOT, None, None, SpanKind.UNKNOWN)
    hidden = span_from_run({"id": ROOT, "trace_id": ROOT, "inputs": {}, "outputs": {}, "run_type": "llm"})
    assert (hidden.inputs, hidden.outputs, hidden.kind) == ({}, {}, SpanKind.LLM)
    with pytest.raises(KeyError):
        span_from_run({"id": ROOT})


@pytest.mark.parametrize(
    ("payload", "status"),
    [
        ({"status": "success"}, "OK"),
        ({"status": "ERROR"}, "ERROR"),
        ({"status": "PENDING"}, "UNSET"),
        ({"error": "boom"}, "ERROR"),
        ({"end_time": "2026-11-29T23:37:43+00:00"}, "OK"),
        ({}, "UNSET"),
    ],
)
def test_the_status_is_read_or_concluded(payload, status):
    assert span_from_run({"id": ROOT, "trace_id": ROOT, **payload}).status == status


def test_metadata_is_flat_and_free_of_the_tracers_own_settings():
    metadata = {"env": "prod", "customer": {"size": 3}, "LANGSMITH_PROJECT": "p", "LANGCHAIN_X": "y"}
    run = {"id": ROOT, "trace_id": ROOT, "extra": {"metadata": metadata, "runtime": {"platform": "Linux"}}}
    assert span_from_run(run).attributes == {"metadata.env": "prod", "metadata.customer.size": 3}
    assert (attribute(run, "env"), attribute(run, "metadata.customer.size"), attribute(run, "id")) == ("prod", 3, ROOT)


def test_the_start_of_a_trace_is_read_from_the_dotted_order_of_any_run():
    dotted = f"20261129T233743260614Z{ROOT}.20261129T233743265000Z{CHILD}"
    assert root_start({"id": CHILD, "dotted_order": dotted}) == datetime(2026, 11, 29, 23, 37, 43, 260614, tzinfo=UTC)
    assert root_start({"id": CHILD, "trace_id": ROOT, "start_time": "2026-11-29T23:37:43"}) is None


@pytest.mark.parametrize(
    ("root", "child", "age_s", "expected"),
    [
        ({"end_time": True}, {"end_time": True}, 60, False),
        ({"end_time": False}, {"end_time": True}, 90_000, True),  # for the run to give up
        ({"end_time": True}, {"end_time": False}, 60, True),
        ({"end_time": True}, {"end_time": False}, 7_200, False),
        ({"end_time": True}, {"end_time": True, "parent_run_id": "elsewhere"}, 60, True),
        (None, {"end_time": True}, 60, True),
        (None, {"end_time": True}, 7_200, False),
        ({"end_time": True}, {"end_time": True}, 5, True),
    ],
)
def test_a_trace_is_whole_when_its_root_has_ended_and_nothing_is_on_its_way(root, child, age_s, expected):
    now = datetime.now(UTC)
    ended = now - timedelta(seconds=age_s)

    def run(id_: str, fields: dict[str, Any], **more: Any) -> dict[str, Any]:
        times = {"start_time": ended.isoformat(), "end_time": ended.isoformat() if fields["end_time"] else None}
        return {"id": id_, "trace_id": ROOT, **more, **fields, **times}

    runs = [run(CHILD, child, **{"parent_run_id": ROOT, **child})]
    runs += [run(ROOT, root)] if root else []
    spans = [span_from_run(one) for one in runs]
    assert is_still_running(spans, now=now, settle_s=10, open_run_s=3600) is expected
