"""Validation: what is rejected and why, and what is made safe to judge."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from enricher.steps.extraction import extract
from enricher.steps.validation import cleaned, has_cut_values, validate
from enricher.trace import Document, Extraction, Item, RejectReason, Source, SpanId, TraceId
from tests.steps.spans import KIND, chat, documents, io, span, trace

CASES = {
    case["id"]: case
    for line in (Path(__file__).parent.parent / "cases" / "validation.jsonl").read_text("utf-8").splitlines()
    if (case := json.loads(line))
}
ROOT = span("rag", kind=KIND.CHAIN, **io("q", "a"))
TRACE = trace(ROOT)


def _document(text: str, name: str = "d", number: int = 1) -> Document:
    return Document(id=name, text=text, span_id=ROOT.span_id, citation_numbers=(number,))


def _item(answer: str = "It is so.", docs: tuple[Document, ...] = (_document("Text."),), **fields) -> Item:
    return Item(
        trace_id=ROOT.trace_id, question="q", documents=docs, answer=answer, annotate_span_id=ROOT.span_id, **fields
    )


def _verdict(item: Item) -> RejectReason | None:
    valid = validate(Extraction(items=(item,)), TRACE)
    assert len(valid.items) + len(valid.rejections) == 1
    return valid.rejections[0].reason if valid.rejections else None


def test_va_01_a_blank_answer_is_no_answer():
    case = CASES["VA-01"]["input"]
    docs = tuple(_document(d["text"], d["document_id"]) for d in case["documents"])
    assert _verdict(_item(case["answer"], docs)) is RejectReason.NO_ANSWER


def test_va_02_a_span_id_that_is_not_in_the_trace_is_refused():
    foreign = SpanId(CASES["VA-02"]["input"]["output_span_id"])
    for field in ("annotate_span_id", "answer_span_id", "question_span_id"):
        assert _verdict(replace(_item(), **{field: foreign})) is RejectReason.UNKNOWN_SPAN_ID
    assert _verdict(_item(docs=(replace(_document("x"), span_id=foreign),))) is RejectReason.UNKNOWN_SPAN_ID


def test_va_04_the_same_id_for_two_texts_becomes_two_ids():
    case = CASES["VA-04"]["input"]
    item = cleaned(_item(docs=tuple(_document(d["text"], d["document_id"]) for d in case["documents"])))
    assert [d.text for d in item.documents] == [d["text"] for d in case["documents"]]
    assert [d.id for d in item.documents] == ["kb", "kb#2"]


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        (_item(), None),
        (_item(docs=()), RejectReason.NO_CONTEXT),
        (_item(docs=(), flags=("empty_retrieval",)), RejectReason.EMPTY_RETRIEVAL),
        (_item(docs=(), flags=("retrieval_error",)), RejectReason.RETRIEVAL_ERROR),
        (_item(docs=(), flags=("tool_error",)), RejectReason.TOOL_ERROR),
        (_item(docs=(), flags=("context_not_recorded",)), RejectReason.CONTEXT_NOT_RECORDED),
        (_item(docs=(_document(""), _document(" \n"))), RejectReason.CONTEXT_NOT_RECORDED),
        (_item("", flags=("error",)), RejectReason.ERROR),
        (_item("", docs=(), flags=("not_rag",)), RejectReason.NOT_RAG),
        (_item("", docs=(), flags=("content_not_captured",)), RejectReason.CONTENT_NOT_CAPTURED),
        (_item(flags=("redacted",)), None),
        (_item("", flags=("redacted",)), RejectReason.REDACTED),
        (replace(_item(flags=("redacted",)), question=None), RejectReason.REDACTED),
        (replace(_item(flags=("no_question",)), question=None), None),
        (replace(_item(), trace_id=TraceId("")), RejectReason.MISSING_IDS),
        (replace(_item(), annotate_span_id=SpanId("")), RejectReason.MISSING_IDS),
        (_item("I cannot find it.", flags=("refusal",)), None),
        (_item(flags=("dropped_attributes", "context_truncated")), None),
    ],
)
def test_each_lack_has_its_reason(item, reason):
    assert _verdict(item) is reason


def test_a_rejection_names_its_span_and_says_why_in_a_sentence():
    valid = validate(Extraction(items=(_item(""),)), TRACE)
    (rejection,) = valid.rejections
    assert rejection.span_id == ROOT.span_id
    assert rejection.detail == "there is no answer text"


def test_a_trace_without_any_item_is_rejected_too():
    assert [r.reason for r in validate(Extraction(), trace()).rejections] == [RejectReason.NOT_RAG]


def test_sources_follow_the_items_that_stay():
    sources = (Source(part="answer", span_id=ROOT.span_id, field="a", item=0),
               Source(part="answer", span_id=ROOT.span_id, field="b", item=1))  # fmt: skip
    valid = validate(Extraction(items=(_item(""), _item()), found_in=sources), TRACE)
    assert [(s.field, s.item) for s in valid.found_in] == [("b", 0)]


def test_duplicates_become_aliases_and_keep_every_citation_number():
    docs = (_document("Same  text.", "a", 1), _document("Other.", "b", 2), _document("Same text.", "c", 3),
            _document("Same text.", "a", 4))  # fmt: skip
    item = cleaned(_item(docs=docs))
    assert [(d.id, d.aliases, d.citation_numbers) for d in item.documents] == [
        ("a", ("c",), (1, 3, 4)), ("b", (), (2,))
    ]  # fmt: skip
    assert "duplicates" in item.flags
    assert item.documents[0].text == "Same  text."


@given(st.lists(st.tuples(st.sampled_from(["a", "a#2", "a#3", "b", ""]), st.sampled_from(["x", "y ", "z", "", " "]))))
@example([("a", "x"), ("a", "y "), ("a#2", "y ")])
def test_cleaning_gives_unique_ids_and_loses_no_text(pairs):
    docs = tuple(_document(text, name, number) for number, (name, text) in enumerate(pairs, start=1))
    item = cleaned(_item(docs=docs))
    assert len({d.id for d in item.documents}) == len(item.documents)
    assert all(d.id for d in item.documents)
    assert {d.text.strip() for d in item.documents} == {text.strip() for _, text in pairs} - {""}
    numbers = [number for d in item.documents for number in d.citation_numbers]
    assert sorted(numbers) == [n for n, (_, text) in enumerate(pairs, start=1) if text.strip()]
    assert cleaned(item).documents == item.documents


def _sentence(length: int, start: str) -> str:
    return (start + " " + "word " * length)[:length]


def test_values_cut_at_one_length_are_noticed():
    root = span("rag", kind=KIND.CHAIN, **io("Fee?", _sentence(120, "The answer")))
    found = span("r", root, KIND.RETRIEVER, **documents(_sentence(120, "One"), _sentence(120, "Two")))
    assert has_cut_values((root, found))
    pulled = trace(root, found)
    assert [r.reason for r in validate(extract(pulled), pulled).rejections] == [RejectReason.TRUNCATED_ATTRIBUTES]


def test_json_that_breaks_off_at_the_same_length_is_noticed():
    asked = json.dumps({"messages": [{"role": "user", "content": _sentence(400, "Why")}]})[:256]
    root = span("rag", kind=KIND.CHAIN, **io(asked, "Because."))
    found = span("r", root, KIND.RETRIEVER, **documents(_sentence(256, "One")))
    assert has_cut_values((root, found))


def test_chunks_of_one_size_are_no_sign_of_a_limit():
    root = span("rag", kind=KIND.CHAIN, **io("Fee?", "Because."))
    found = span("r", root, KIND.RETRIEVER, **documents(*(_sentence(500, word) for word in "abcdef")))
    model = span("llm", root, KIND.LLM, **chat("Long prompt. " * 400, "Because."))
    assert not has_cut_values((root, found))
    assert not has_cut_values((root, found, model))
    assert not has_cut_values(())
