"""Every recorded trace gives the question, context, answer, place and validity that people wrote down for it."""

import pytest

from connectors.formats import raw_trace, spans_of
from enricher.steps.extraction import extract
from enricher.steps.validation import validate
from enricher.trace import Extraction
from tests.trace_files import LANGSMITH, OTEL, bare, load, shuffled, through_phoenix

# The record names ids that its spans don't hold: documents are compared by text and span.
_IDS_NOT_THERE = {"awkward-attribute-count-limit-60docs", "openllmetry-langgraph-agent"}
# The record names the tool around the retriever; both hold the texts, and the inner one holds them apart.
_INNER_SPAN = {"openllmetry-langgraph-agent"}
_FLAGS = {
    "agent", "multi_turn", "refusal", "truncated_answer", "content_filter", "multiple_choices", "redacted",
    "root_error",
    "missing_root", "multi_item_trace", "context_from_prompt", "context_from_tool_message", "hosted_retrieval",
    "docs_without_text", "dropped_attributes", "split_traces", "empty_retrieval", "retrieval_error", "tool_error",
}  # fmt: skip
ALL = [*OTEL, *LANGSMITH]


def _name(path) -> str:
    return path.name.removesuffix(".gz").removesuffix(".json")


def _read(recorded) -> tuple[Extraction, Extraction]:
    trace = raw_trace(spans_of(recorded))
    found = extract(trace)
    return found, validate(found, trace)


def _documents(documents, name: str, has_ids: bool) -> list[tuple[str | None, str, str | None]]:
    return sorted((d[0] if has_ids else "", d[1], "" if name in _INNER_SPAN else d[2] or "") for d in documents)


@pytest.mark.parametrize("path", ALL, ids=_name)
def test_a_recorded_trace_is_read_as_people_read_it(path):
    recorded = load(path)
    expected = recorded["expected"]
    found, valid = _read(recorded)
    place = expected["annotate_span_id"]
    item = next(item for item in found.items if item.annotate_span_id == place)
    assert item.question == expected["question"]
    assert (item.answer or None) == (expected["answer"].strip() if expected["answer"] else None)
    kept = [i for i in valid.items if i.annotate_span_id == place]
    assert bool(kept) == expected["valid"]
    reasons = [r.reason.value for r in valid.rejections if r.span_id == place]
    assert reasons == ([] if expected["valid"] else [expected["reject_reason"]])
    has_ids = expected.get("ids_in_trace", True) and _name(path) not in _IDS_NOT_THERE
    got = [(d.id, d.text, d.span_id) for d in (kept[0] if kept else item).documents]
    want = [(d["id"], d["text"], d["span_id"]) for d in expected["documents"]]
    assert _documents(got, _name(path), has_ids) == _documents(want, _name(path), has_ids)


@pytest.mark.parametrize("path", OTEL, ids=_name)
def test_a_recorded_trace_gives_all_of_its_items(path):
    recorded = load(path)
    expected = recorded["expected"]
    found, valid = _read(recorded)
    assert len({span.trace_id for span in spans_of(recorded)}) == expected["n_traces"]
    listed = expected.get("items") or [None]
    assert len(found.items) == len(listed)
    if listed[0]:
        got = {(item.question, item.answer, tuple(sorted(d.id for d in item.documents))) for item in valid.items}
        assert got == {(i["question"], i["answer"], tuple(sorted(i["documents"]))) for i in listed}


@pytest.mark.parametrize("path", OTEL, ids=_name)
def test_a_recorded_trace_carries_the_flags_that_matter_when_judging(path):
    expected = load(path)["expected"]
    found, _ = _read(load(path))
    item = next(item for item in found.items if item.annotate_span_id == expected["annotate_span_id"])
    assert set(expected["flags"]) & _FLAGS <= set(item.flags)


@pytest.mark.parametrize("path", ALL, ids=_name)
def test_every_part_says_where_it_was_read(path):
    recorded = load(path)
    _, valid = _read(recorded)
    spans = {span.span_id for span in spans_of(recorded)}
    for number, item in enumerate(valid.items):
        sources = [source for source in valid.found_in if source.item == number]
        assert {"answer", "documents"} <= {source.part for source in sources}
        assert all(source.span_id in spans and source.field for source in sources)
        assert item.answer_span_id in {s.span_id for s in sources if s.part == "answer"}
        assert {d.span_id for d in item.documents} <= {s.span_id for s in sources if s.part == "documents"}


def _summary(recorded):
    _, valid = _read(recorded)
    items = [
        (i.annotate_span_id, i.question, i.answer, sorted((d.id, d.text, str(d.span_id)) for d in i.documents))
        for i in valid.items
    ]
    return sorted(items), sorted((r.reason, str(r.span_id)) for r in valid.rejections)


@pytest.mark.parametrize("change", [shuffled, bare, through_phoenix], ids=lambda change: change.__name__)
@pytest.mark.parametrize("path", OTEL, ids=_name)
def test_a_trace_reads_the_same_after_what_happens_to_traces(path, change):
    recorded = load(path)
    assert _summary(change(recorded)) == _summary(recorded)


@pytest.mark.parametrize("path", [p for p in LANGSMITH if ".v2." not in p.name], ids=_name)
def test_both_versions_of_the_langsmith_api_read_the_same(path):
    second = next(p for p in LANGSMITH if p.name.startswith(_name(path) + ".v2."))
    assert _summary(load(path)) == _summary(load(second))
