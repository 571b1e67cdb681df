"""Rendering: labels, scores, the one sentence, and per-document annotations."""

from enricher.steps.rendering import identifier, names, render
from enricher.trace import Document, Item, TraceRef, UserReport
from enricher.verdict import (
    AlignmentStatus,
    Decision,
    DiffResult,
    IssueType,
    Provenance,
    Quote,
    QuoteCheck,
    Route,
    Segment,
    Status,
    Verdict,
    summary_of,
)

REF = TraceRef(
    connection="phoenix",
    project="p",
    trace_id="t",
    rules=("reported",),
    reports=(UserReport(name="user_feedback", label="thumbs-down", comment="wrong price"),),
)
ITEM = Item(
    trace_id="t",
    question="How long?",
    documents=(
        Document(id="d1", text="Within 30 days.", span_id="r", position=0),
        Document(id="d2", text="Other.", span_id="r", position=1),
        Document(id="d3", text="From a tool."),
    ),
    answer="Within 90 days.",
    annotate_span_id="root",
)
QUOTE = Quote(document_id="d1", text="Within 30 days.", start=0, end=15, check=QuoteCheck.VERIFIED, occurrences=1)


def _segment(status: AlignmentStatus, **fields) -> Segment:
    defaults = {"segment_id": "s1", "start": 0, "end": 15, "generated_text": "Within 90 days."}
    return Segment(**{**defaults, "alignment_status": status, "issue_type": IssueType.NONE, **fields})


def _verdict(*segments: Segment, status: Status = Status.OK, **fields) -> Verdict:
    result = DiffResult(segments=segments) if status.is_verdict else None
    provenance = fields.pop("provenance", Provenance(judge="diff", engine="local", model="grounding-1"))
    return Verdict(trace_id="t", span_id="root", status=status, result=result, provenance=provenance, **fields)


def _rendered(verdict: Verdict, route: Route = Route.WRITE, **options):
    reasons = ("policy",) if route in (Route.REVIEW, Route.BOTH) else ()
    return {
        (a.name, a.document_position): a
        for a in render(verdict, Decision(route=route, reasons=reasons), ITEM, REF, **options)
    }


def test_a_contradiction_is_the_label_and_names_both_passages():
    found = _rendered(_verdict(_segment(AlignmentStatus.CONTRADICTED, evidence=(QUOTE,))))
    diff = found["context_diff", None]
    assert diff.label == "contradicted"
    assert diff.score == 0.0
    assert diff.explanation == "1 of 1 segment contradicted: answer says 'Within 90 days.', d1 says 'Within 30 days.'"
    assert diff.span_id == "root"
    assert diff.metadata["segments"][0]["evidence"][0]["text"] == "Within 30 days."
    assert diff.metadata["user_reports"][0]["comment"] == "wrong price"


def test_documents_with_a_place_get_their_own_annotation():
    found = _rendered(_verdict(_segment(AlignmentStatus.CONTRADICTED, evidence=(QUOTE,))))
    assert found["document_relevance", 0].label == "contradicts"
    assert found["document_relevance", 0].span_id == "r"
    assert found["document_relevance", 1].label == "unused"
    assert found["document_relevance", 1].score == 0.0
    assert len(found) == 3


def test_an_item_without_claims_has_its_label_and_no_score():
    diff = _rendered(_verdict(status=Status.NO_CLAIMS))["context_diff", None]
    assert diff.label == "no_claims"
    assert diff.score is None


def test_a_failure_writes_no_verdict_but_a_call_for_review():
    failed = _verdict(status=Status.JUDGE_PARSE_ERROR, failure="The reply holds no JSON object.")
    found = _rendered(failed, Route.REVIEW)
    assert set(found) == {("needs_review", None)}
    assert found["needs_review", None].score is None
    assert found["needs_review", None].explanation == "The reply holds no JSON object."


def test_raw_replies_never_leave_the_store():
    verdict = _verdict(_segment(AlignmentStatus.FULLY_SUPPORTED), raw_replies=("the raw reply",))
    assert "the raw reply" not in str([a.model_dump_json() for a in _rendered(verdict).values()])


def test_an_answer_that_only_leaves_something_out_is_faithful_and_says_so():
    omitted = _segment(
        AlignmentStatus.UNSUPPORTED,
        segment_id="o1",
        generated_text=None,
        start=None,
        end=None,
        issue_type=IssueType.OMITTED,
        evidence=(QUOTE,),
    )
    diff = _rendered(_verdict(_segment(AlignmentStatus.FULLY_SUPPORTED), omitted))["context_diff", None]
    assert diff.label == "faithful"
    assert diff.score == 1.0
    assert "leaves out: 'Within 30 days.'" in diff.explanation


def test_an_unverified_quote_is_not_shown_as_what_a_document_says():
    unverified = QUOTE.model_copy(update={"check": QuoteCheck.NOT_VERIFIED})
    assert "says 'Within 30" not in summary_of([_segment(AlignmentStatus.CONTRADICTED, evidence=(unverified,))])


def test_the_identifier_follows_the_judge_version_and_only_that():
    first = Provenance(judge="diff", engine="openai", prompt="diff@v1", model="m")
    second = first.model_copy(update={"prompt": "diff@v2"})
    assert identifier(first) == identifier(first.model_copy(update={"model_snapshot": "m-2026"}))
    assert identifier(first) != identifier(second)


def test_a_prefix_stands_before_every_name():
    found = _rendered(_verdict(_segment(AlignmentStatus.FULLY_SUPPORTED)), prefix="rag_")
    assert {name for name, _ in found} <= set(names("rag_"))
