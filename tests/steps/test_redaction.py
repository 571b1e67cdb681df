"""Redaction: masks keep every offset, tell equal from different values, and leave nothing to be read."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enricher.judges.local import LocalDiffJudge
from enricher.steps.personal import KINDS
from enricher.steps.redaction import (
    REDACTED,
    RedactionRules,
    mask_for,
    redact,
    redact_annotations,
    redact_item,
    redact_ref,
    redact_verdict,
)
from enricher.steps.segmentation import split_item
from enricher.steps.verification import verify
from enricher.trace import Document, Extraction, Item, RawTrace, Span, SpanId, TraceId, TraceRef, UserReport
from enricher.verdict import (
    AlignmentStatus,
    Annotation,
    DiffResult,
    IssueType,
    Provenance,
    Quote,
    QuoteCheck,
    Segment,
    Status,
    Verdict,
)

EVERYTHING = RedactionRules(kinds=KINDS)
DOCUMENT = "Refunds are paid within 30 days. Write to jane.doe@example.com or call +49 170 1234567 for help."


def _item(answer: str, *documents: str, **fields) -> Item:
    return Item(
        trace_id=TraceId("t1"),
        question=fields.pop("question", "Whom do I ask?"),
        documents=tuple(Document(id=f"d{n}", text=text) for n, text in enumerate(documents or (DOCUMENT,), 1)),
        answer=answer,
        annotate_span_id=SpanId("s1"),
        **fields,
    )


def _judged(item: Item) -> DiffResult:
    item = split_item(item)
    verdict = verify(LocalDiffJudge().verdict(item), item)
    assert isinstance(verdict.result, DiffResult)
    return verdict.result


def test_every_text_of_an_item_is_masked_at_its_length_and_flagged():
    secret = "jane.doe@example.com"
    item = _item(
        f"Ask {secret}.",
        question=f"Is {secret} right?",
        standalone_question=f"Is {secret} the address?",
        history=(f"I am {secret}.",),
        metadata={"user": {"mail": [secret]}, "n": 3},
    )
    item = replace(item, documents=(replace(item.documents[0], id=f"box/{secret}", metadata={"from": secret}),))
    masked = redact_item(item, EVERYTHING)
    assert "jane" not in repr(masked)
    assert "1234567" not in repr(masked)
    for before, after in (
        (item.answer, masked.answer),
        (item.question, masked.question),
        (item.documents[0].text, masked.documents[0].text),
    ):
        assert len(before) == len(after)
    assert masked.flags == (REDACTED,)
    assert masked.metadata["n"] == 3


def test_what_holds_nothing_personal_stays_as_it_is():
    item = _item("Refunds take 30 days.", "Refunds are paid within 30 days.")
    assert redact_item(item, EVERYTHING) is item
    assert redact_item(_item("a@b.co"), RedactionRules()).answer == "a@b.co"


def test_equal_values_get_equal_masks_and_the_answer_is_still_supported():
    item = redact_item(_item("Write to jane.doe@example.com for help."), EVERYTHING)
    (segment,) = _judged(item).segments
    assert segment.alignment_status is AlignmentStatus.FULLY_SUPPORTED


@pytest.mark.parametrize(
    ("document", "answer"),
    [
        ("Write to jane.doe@example.com for help.", "Write to john.roe@example.com for help."),
        ("Call +49 170 1234567 for help.", "Call +49 170 7654321 for help."),
        ("Pay to DE89 3704 0044 0532 0130 00.", "Pay to GB82 WEST 1234 5698 7654 32."),
        ("The card is 4111 1111 1111 1111.", "The card is 5500 0000 0000 0004."),
        ("The customer's SSN is 123-45-6789.", "The customer's SSN is 987-65-4321."),
    ],
)
def test_an_answer_that_names_another_value_still_leaves_its_context(document, answer):
    masked = redact_item(_item(answer, document), EVERYTHING)
    (segment,) = (segment for segment in _judged(masked).segments if not segment.is_omission)
    assert segment.alignment_status is not AlignmentStatus.FULLY_SUPPORTED
    assert segment.generated_text == masked.answer


@pytest.mark.parametrize(
    ("document", "answer"),
    [
        ("Pay to DE89 3704 0044 0532 0130 00 only.", "Pay to DE89370400440532013000 only."),
        ("Call +49 170 1234567 now.", "Call 0170/1234567 now."),
        ("Call +1 555 123 4567 now.", "Call (555) 123-4567 now."),
        ("The card is 4111 1111 1111 1111 here.", "The card is 4111-1111-1111-1111 here."),
        ("Mail Jane.Doe@Example.com now.", "Mail jane.doe@example.com now."),
    ],
)
def test_one_value_written_in_two_ways_has_masks_that_read_the_same(document, answer):
    masked = redact_item(_item(answer, document), EVERYTHING)
    assert len(masked.answer) == len(answer)
    assert masked.answer.split() == masked.documents[0].text.split()


def test_offsets_of_a_verdict_on_masked_text_are_right_in_the_original():
    answer = "Write to jane.doe@example.com. Refunds are paid within 30 days."
    item = _item(answer)
    segments = _judged(redact_item(item, EVERYTHING)).segments
    last = next(segment for segment in segments if segment.generated_text and "Refunds" in segment.generated_text)
    assert answer[last.start : last.end] == "Refunds are paid within 30 days."
    quote = last.evidence[0]
    assert quote.check is QuoteCheck.VERIFIED
    assert item.documents[0].text[quote.start : quote.end] == "Refunds are paid within 30 days."


def test_the_secret_decides_the_masks():
    one, other = (
        redact_item(_item("a.b@example.com"), RedactionRules(kinds=("email",), secret=secret)).answer
        for secret in (b"1", b"2")
    )
    assert one != other


@given(st.text(max_size=60), st.sampled_from(["TEL", "MAIL", "X"]), st.integers(0, 60))
def test_a_mask_has_the_length_that_is_asked_for_and_reads_as_no_number(value, tag, length):
    mask = mask_for(tag, value, length)
    assert len(mask) == length
    assert mask == mask_for(tag, value, length)
    assert not mask[:1].isdigit()


@given(st.lists(st.sampled_from(["jane@example.com", "+49 170 1234567", "é", "\n", " and ", "ﬁ", "&amp;", "7"])))
def test_masking_keeps_lengths_and_finds_nothing_the_second_time(pieces):
    item = _item("".join(pieces), "x")
    masked = redact_item(item, EVERYTHING)
    assert len(masked.answer) == len(item.answer)
    assert redact_item(masked, EVERYTHING) == masked


def test_patterns_of_ones_own_mask_the_match_or_its_first_group():
    rules = RedactionRules(patterns={"case": re.compile(r"CASE-\d+"), "mrn": re.compile(r"MRN (\d+)")})
    masked = redact_item(_item("See CASE-1234567 and MRN 998877665544."), rules)
    assert re.fullmatch(r"See CASE[2-9]\w{5}   and MRN MRN[2-9]\w{5}   \.", masked.answer), masked.answer


def _trace(**attributes) -> RawTrace:
    span = Span(trace_id=TraceId("t1"), span_id=SpanId("s1"), attributes=attributes)
    native = Span(trace_id=TraceId("t1"), span_id=SpanId("s2"), inputs={"customer": {"name": "Jana Beispiel"}})
    return RawTrace(ref=TraceRef(connection="c", project="p", trace_id=TraceId("t1")), spans=(span, native))


@pytest.mark.parametrize("field", ["user.name", "user.*", "inputs.customer.name"])
def test_the_value_of_a_field_is_masked_wherever_it_stands(field):
    item = _item("Dear  JANA\nBeispiel, it is so.", "Jana Beispiel ordered it. Janas are rare.")
    extraction = Extraction(items=(item,))
    trace = _trace(**{"user.name": "Jana Beispiel", "user.age": 7})
    (masked,) = redact(extraction, trace, RedactionRules(fields=(field,))).items
    assert "beispiel" not in (masked.answer + masked.documents[0].text).casefold()
    assert masked.documents[0].text.endswith("ordered it. Janas are rare.")
    assert masked.answer.replace(",", "").split()[1] == masked.documents[0].text.split()[0]


def test_fields_of_metadata_are_masked_as_a_whole():
    item = _item("Jana did it.", metadata={"customer": {"name": "Jana", "id": 12345}, "tier": "gold"})
    masked = redact_item(item, RedactionRules(fields=("metadata.customer.*",)))
    assert masked.metadata["tier"] == "gold"
    assert masked.metadata["customer"]["name"] != "Jana"
    assert masked.metadata["customer"]["id"] != 12345
    assert "Jana" not in masked.answer


def test_what_stands_behind_a_key_is_masked_there_and_everywhere():
    record = '{"patient": "Jana Beispiel", "dose": "5 mg"}'
    item = _item("Jana Beispiel takes 5 mg.", record, "patient: Max Muster, dose: 5 mg", metadata={"Patient": "Max"})
    masked = redact_item(item, RedactionRules(keys=("patient",)))
    assert "Jana" not in repr(masked)
    assert "Max" not in repr(masked)
    assert "takes 5 mg." in masked.answer
    assert '"dose": "5 mg"' in masked.documents[0].text
    assert len(masked.documents[0].text) == len(record)


def test_reports_of_users_lose_names_and_keep_their_words():
    report = UserReport(name="user_feedback", comment="Mail me at a.b@example.com!", author="jane@example.com", score=0)
    ref = TraceRef(connection="c", project="p", trace_id=TraceId("t"), reports=(report,), stratum="x@example.com")
    masked = redact_ref(ref, EVERYTHING)
    assert "example" not in repr(masked)
    assert masked.reports[0].comment is not None
    assert masked.reports[0].comment.startswith("Mail me at ")
    assert masked.reports[0].score == 0
    assert redact_ref(ref, RedactionRules()) is ref


def _verdict(item: Item, **fields) -> Verdict:
    segment = Segment(
        segment_id="s1",
        start=0,
        end=len(item.answer),
        generated_text=item.answer,
        alignment_status=AlignmentStatus.CONTRADICTED,
        issue_type=IssueType.CONTRADICTED,
        explanation="It should be max@example.com.",
        evidence=(Quote(document_id="d1", text=item.documents[0].text, check=QuoteCheck.VERIFIED, start=0, end=9),),
    )
    return Verdict(
        trace_id="4111111111111111",
        span_id="5500000000000004",
        status=Status.OK,
        result=DiffResult(segments=(segment,), summary="max@example.com is missing"),
        raw_replies=('{"note": "max@example.com"}',),
        provenance=Provenance(judge="diff", engine="openai", model="m@example.com", settings_hash="4111111111111111"),
        **fields,
    )


def test_what_a_judge_adds_is_masked_and_ids_are_not():
    item = redact_item(_item("Write to jane.doe@example.com."), EVERYTHING)
    verdict = redact_verdict(_verdict(item), item, EVERYTHING)
    assert "max@example" not in verdict.model_dump_json()
    assert isinstance(verdict.result, DiffResult)
    assert verdict.result.segments[0].generated_text == item.answer
    assert verdict.result.segments[0].evidence[0].text == item.documents[0].text
    assert (verdict.trace_id, verdict.span_id) == ("4111111111111111", "5500000000000004")
    assert verdict.provenance == _verdict(item).provenance
    assert REDACTED in verdict.flags


def test_annotations_are_masked_on_their_way_out():
    item = _item("It is so.")
    annotation = Annotation(
        connection="c",
        project="p",
        trace_id="4111111111111111",
        span_id="s",
        name="context_diff",
        explanation="see max@example.com",
        metadata={"user_reports": [{"author": "max@example.com"}], "judge": {"model": "m"}, "span_id": "123-45-6789"},
        identifier="trace-enricher/x",
    )
    (masked,) = redact_annotations([annotation], item, EVERYTHING)
    assert "max@example" not in masked.model_dump_json()
    assert masked.metadata["span_id"] == "123-45-6789"
    assert masked.key == annotation.key
