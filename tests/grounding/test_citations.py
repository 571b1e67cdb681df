"""Citations: resolved as the model saw the documents, and reported only where something is certainly wrong."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from enricher.grounding.citations import check_citations, find_markers
from enricher.grounding.engine import ground
from enricher.records import item_of
from enricher.steps.extraction.answers import citations_in
from enricher.steps.segmentation import split_item
from enricher.verdict import CitationIssue

CASES = {
    case["id"]: case
    for case in map(
        json.loads,
        (Path(__file__).parent.parent / "cases" / "citations.jsonl").read_text(encoding="utf-8").splitlines(),
    )
}
FEES = ("Entry costs 8 EUR.", "Lockers cost 2 EUR.", "The sauna is closed on Mondays.")


def item(answer, *texts, ids=None, metadata=None):
    names = ids or [f"d{n}" for n in range(1, len(texts) + 1)]
    documents = [{"id": name, "text": text} for name, text in zip(names, texts, strict=True)]
    made = item_of({"id": "t", "question": "What are the fees?", "documents": documents, "answer": answer})
    return split_item(replace(made, metadata=metadata or {}))


def of_case(name):
    given = CASES[name]["input"]
    texts = [document["text"] for document in given["documents"]]
    return item(given["answer"], *texts, ids=[document["document_id"] for document in given["documents"]])


def issues(answer, *texts, **more):
    return [(c.marker, c.issue) for c in check_citations(item(answer, *texts, **more))]


def test_a_marker_on_the_wrong_document_is_a_miscitation_that_names_the_right_one():
    (citation,) = check_citations(of_case("CI-01"))
    assert citation.issue is CitationIssue.MISCITATION
    assert citation.document_ids == ("d1",)
    assert citation.supported_by == ("d2",)
    assert next(s.alignment_status for s in ground(of_case("CI-01")).segments) == "FULLY_SUPPORTED"


def test_a_marker_without_a_document_dangles_and_is_not_read_as_another():
    (citation,) = check_citations(of_case("CI-02"))
    assert citation.marker == "[10]"
    assert citation.document_ids == ()
    assert "dangling" in citation.flags
    assert citation.supported_by == ("d1",)
    assert next(s.alignment_status for s in ground(of_case("CI-02")).segments) == "FULLY_SUPPORTED"


@pytest.mark.parametrize("base", [None, 0])
def test_numbers_from_zero_are_noticed_once_for_the_answer(base):
    found = check_citations(of_case("CI-04"), base=base)
    assert [(c.marker, c.document_ids, c.issue) for c in found] == [
        ("[ID:0]", ("d1",), None),
        ("[ID:1]", ("d2",), None),
    ]


def test_combined_forms_are_taken_apart():
    found = check_citations(of_case("CI-05"))
    resolved = [(c.marker, c.document_ids[0]) for c in found]
    assert [d for marker, d in resolved if marker == "[1-3]"] == ["d1", "d2", "d3"]
    assert [d for marker, d in resolved if marker == "[1, 3]"] == ["d1", "d3"]
    pool = [(c.document_ids, c.issue) for c in found if c.statement == "Pool 9-21"]
    assert pool == [(("d1",), None), (("d3",), CitationIssue.MISCITATION)]
    assert {c.issue for c in found if c.marker in ("[1-3]", "[1, 3]")} == {None}


def test_a_wrong_section_number_is_a_finding_of_the_judge():
    (segment,) = [s for s in ground(of_case("CI-06")).segments if not s.is_omission]
    assert (segment.alignment_status, segment.issue_type) in [
        ("PARTIALLY_SUPPORTED", "DISTORTED"),
        ("CONTRADICTED", "CONTRADICTED"),
    ]


def test_an_answer_that_cites_nothing_has_no_citation_issue():
    assert issues("Entry costs 8 EUR. Lockers cost 2 EUR.", *FEES) == []


def test_a_statement_without_a_citation_is_missing_one_in_an_answer_that_cites():
    found = check_citations(item("Entry costs 8 EUR [1].\n\nLockers cost 2 EUR.", *FEES))
    assert [(c.marker, c.issue, c.supported_by) for c in found] == [
        ("[1]", None, ()),
        ("", CitationIssue.MISSING_CITATION, ("d2",)),
    ]


def test_one_citation_at_the_end_of_a_paragraph_covers_it():
    text = "The sauna is open daily. The sauna is closed on Mondays."
    assert issues("The sauna is open daily. The sauna is closed on Mondays [1].", text) == [("[1]", None)]


def test_a_document_that_has_nothing_to_do_with_the_statement_is_irrelevant():
    assert issues("Penguins live in Antarctica [3].", *FEES) == [("[3]", CitationIssue.IRRELEVANT_CITATION)]


def test_a_document_that_the_answer_distorts_is_rightly_cited():
    assert issues("Entry costs 9 EUR [1].", *FEES) == [("[1]", None)]


@pytest.mark.parametrize(
    ("answer", "ids", "marker", "document"),
    [
        ("Entry costs 8 EUR [doc-1].", None, "[doc-1]", "d1"),
        ("Entry costs 8 EUR [kb-7].", ("kb-7", "kb-8", "kb-9"), "[kb-7]", "kb-7"),
        ("Entry costs 8 EUR [kb-7, kb-8].", ("kb-7", "kb-8", "kb-9"), "[kb-7, kb-8]", "kb-7"),
        ("Entry costs 8 EUR 【4:0†fees.md】.", None, "【4:0†fees.md】", "d1"),
        ("Entry costs 8 EUR.¹", None, "¹", "d1"),
        ("Entry costs 8 EUR[^1].", None, "[^1]", "d1"),
        ("Entry costs 8 EUR (source: d1).", None, "(source: d1)", "d1"),
        ("入場料は8 EURです【1】。", None, "【1】", "d1"),
    ],
)
def test_many_ways_of_citing_are_understood(answer, ids, marker, document):
    citation = check_citations(item(answer, *FEES, ids=ids))[0]
    assert (citation.marker, citation.document_ids) == (marker, (document,))
    assert answer[citation.start : citation.end] == marker


@pytest.mark.parametrize(
    "answer", ["It cost 8 EUR [sic].", "See [the page](http://x).", "Since [2019] it costs 8 EUR.", "a[i]"]
)
def test_other_brackets_are_no_citations(answer):
    assert find_markers(answer, ["d1"]) == []


def test_a_number_points_where_it_pointed_before_duplicates_were_removed():
    made = item("Lockers cost 2 EUR [3].", FEES[0], FEES[1])
    first, second = made.documents
    made = replace(made, documents=(replace(first, citation_numbers=(1, 2)), replace(second, citation_numbers=(3,))))
    assert [(c.document_ids, c.issue) for c in check_citations(made)] == [(("d2",), None)]


def test_the_ids_of_a_structured_answer_are_resolved():
    found = check_citations(item("Entry costs 8 EUR.", *FEES, metadata={"citations": ["d1", "kb-9"]}))
    assert [(c.marker, c.document_ids, c.flags) for c in found] == [("d1", ("d1",), ()), ("kb-9", (), ("dangling",))]


def test_the_annotations_of_a_responses_reply_are_citations():
    annotation = {"type": "file_citation", "index": 3, "file_id": "file-1", "filename": "fees.md"}
    reply = {"output": [{"type": "message", "content": [{"type": "output_text", "annotations": [annotation] * 2}]}]}
    assert citations_in(reply) == ["file-1"]
