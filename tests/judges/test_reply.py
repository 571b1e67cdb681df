"""Raw replies hold exactly one object, or a status says why not."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enricher.judges.axes import KEYS as AXES_KEYS
from enricher.judges.axes import AxesReading, read_axes, result_of
from enricher.judges.reply import ReplyObject, Unusable, label, read_object, score_flags, shown
from enricher.verdict import AlignmentStatus, Status

CASES_FOLDER = Path(__file__).parent.parent / "cases"
VERDICT = {"segments": [{"id": "s1", "status": "FULLY_SUPPORTED"}], "summary": "All is well."}
TEXT = json.dumps(VERDICT)


def cases(kind):
    lines = (CASES_FOLDER / f"{kind}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def read(content, **more):
    return read_object(content, keys=("segments",), **more)


AXES_CASES = [case for case in cases("judge-output") if case["input"].get("judge") == "rag_axes"]


@pytest.mark.parametrize("case", AXES_CASES, ids=lambda case: case["id"])
def test_an_axes_case_is_read_as_it_should_be(case):
    given_, expected = case["input"], case["expected"]
    found = read_object(given_["raw_response"], keys=AXES_KEYS, finish_reason=given_["finish_reason"])
    assert isinstance(found, ReplyObject)
    axes = read_axes(found.value)
    if expected.get("status") == "JUDGE_PARSE_ERROR":
        assert isinstance(axes, Unusable)
        assert axes.status is Status.JUDGE_PARSE_ERROR
        details = expected["detail"] if isinstance(expected["detail"], list) else [expected["detail"]]
        assert all(detail.split()[0] in axes.problem for detail in details)
        return
    assert isinstance(axes, AxesReading)
    result, flags = result_of(axes, axes)
    assert not any(wrong == result.failing_half for wrong in expected["must_not"])
    for name in AXES_KEYS:
        if name in expected:
            assert getattr(result, name).value == expected[name]
    if "failing_half" in expected:
        assert result.failing_half == expected["failing_half"]
    assert [flag for flag in flags if flag != "axis_coerced"] == expected.get("flags", [])
    assert ("axis_coerced" in flags) == expected.get("coerced", False)


@pytest.mark.parametrize(
    ("context", "faithfulness", "answer", "half"),
    [
        (
            c,
            f,
            a,
            "both" if c <= 1 and f <= 1 else "retrieval" if c <= 1 else "generation" if min(f, a) <= 1 else "none",
        )
        for c in (0, 1, 2)
        for f in (0, 1, 2)
        for a in (0, 1, 2)
    ],
)
def test_the_failing_half_follows_from_the_axes(context, faithfulness, answer, half):
    axes = read_axes({"context_relevance": context, "faithfulness": faithfulness, "answer_relevance": answer})
    assert result_of(axes, axes)[0].failing_half == half


@pytest.mark.parametrize("value", [True, None, "high", "1/2", 3, -1, 1.5, 1.0, [2], ""])
def test_an_axis_off_the_scale_is_never_a_number(value):
    read_ = read_axes({"context_relevance": value, "faithfulness": 2, "answer_relevance": 2})
    assert isinstance(read_, Unusable)
    assert read_.status is Status.JUDGE_PARSE_ERROR


@pytest.mark.parametrize(
    "content",
    [
        TEXT,
        f"```json\n{TEXT}\n```",
        f"```\n{TEXT}\n```\nThat is my verdict.",
        f"\ufeff  {TEXT}",
        f"Sure! {{thanks}}\n{TEXT}\nAnything else {{you}} need?",
        f"<think>maybe {TEXT[:30]} no</think>{TEXT}",
        f"<think>a {TEXT} draft</think>\n{TEXT}",
        f"Maybe {TEXT} or not.</think>\n{TEXT}",
        f'Maybe {{"segments": [ no.</think>{TEXT}',
        f"<|channel|>analysis<|message|>Hm {TEXT}<|end|><|start|>assistant<|channel|>final<|message|>{TEXT}",
        json.dumps(TEXT),
        json.dumps({"result": VERDICT}),
        f"[{TEXT}]",
        TEXT.replace('"}]', '",}]'),
        TEXT.replace('"', "'"),
        "".join(f"\\u{ord(c):04x}" if c == "w" else c for c in TEXT),
    ],
)
def test_a_wrapping_that_changes_nothing_is_forgiven(content):
    found = read(content)
    assert isinstance(found, ReplyObject)
    assert found.value == VERDICT


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (None, Status.JUDGE_EMPTY),
        ("", Status.JUDGE_EMPTY),
        (" \n\ufeff\n", Status.JUDGE_EMPTY),
        ("{}", Status.JUDGE_EMPTY),
        ("{}" + "\n " * 300, Status.JUDGE_EMPTY),
        ("<think>still thinking", Status.JUDGE_EMPTY),
        ("<think>done thinking</think>", Status.JUDGE_EMPTY),
        ("The answer is fine.", Status.JUDGE_PARSE_ERROR),
        (TEXT[:-1], Status.JUDGE_PARSE_ERROR),
        (TEXT[: len(TEXT) // 2], Status.JUDGE_PARSE_ERROR),
        (f'{{"draft": {TEXT}, "final": {{"segm', Status.JUDGE_PARSE_ERROR),
        ('{"summary": "no segments"}', Status.JUDGE_PARSE_ERROR),
        ('{"type": "object", "properties": {"segments": {"type": "array"}}}', Status.JUDGE_PARSE_ERROR),
        ("[1, 2]", Status.JUDGE_PARSE_ERROR),
        ('"just a string"', Status.JUDGE_PARSE_ERROR),
        ("42", Status.JUDGE_PARSE_ERROR),
        (f"{TEXT}\n{TEXT}", Status.JUDGE_AMBIGUOUS),
        (f"[{TEXT}, {TEXT}]", Status.JUDGE_AMBIGUOUS),
        (f'The answer says: {TEXT} Mine: {{"segments": [}}', Status.JUDGE_PARSE_ERROR),
        (f'The answer says: {TEXT} Mine: {{"segments": [] "a" 1 :}}', Status.JUDGE_AMBIGUOUS),
        ("I'm sorry, but I can't help with that.", Status.JUDGE_REFUSED),
        ("Ich kann dabei leider nicht helfen.", Status.JUDGE_REFUSED),
        ("抱歉，我无法评估此内容。", Status.JUDGE_REFUSED),
        ('{"segments": [], "segments": [1]}', Status.JUDGE_INVALID),
    ],
)
def test_a_reply_without_one_whole_verdict_has_a_status(content, status):
    found = read(content)
    assert isinstance(found, Unusable)
    assert found.status is status


def test_a_cut_reply_is_truncated_even_if_it_parses():
    assert read(TEXT, finish_reason="length").status is Status.JUDGE_TRUNCATED
    assert read(None, finish_reason="length").status is Status.JUDGE_TRUNCATED


def test_a_refusal_field_wins_over_the_content():
    assert read(TEXT, refusal="I can't help with this.").status is Status.JUDGE_REFUSED
    assert read(TEXT, finish_reason="content_filter").status is Status.JUDGE_REFUSED


@settings(max_examples=200, deadline=None)
@given(st.integers(1, len(TEXT) - 1))
def test_no_cut_of_a_verdict_is_ever_taken_for_a_verdict(length):
    assert isinstance(read(TEXT[:length]), Unusable)


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet='{}[]":,\\ab1 \n<think>/', max_size=60))
def test_no_reply_makes_the_reader_raise(text):
    assert isinstance(read(text), ReplyObject | Unusable)


def test_no_words_of_a_reply_enter_the_problem():
    # PR-01: problems go to logs.
    found = read("Patient Jana Beispiel, born 1980-01-01, ... not json")
    assert "Jana" not in found.problem
    assert "52 characters" in found.problem
    assert "Jana" not in shown("Jana Beispiel")
    assert shown("SUPPORTED") == '"SUPPORTED"'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (" fully-supported. ", AlignmentStatus.FULLY_SUPPORTED),
        ("Fully Supported", AlignmentStatus.FULLY_SUPPORTED),
        ("unsupported", AlignmentStatus.UNSUPPORTED),
        ("**CONTRADICTED**", AlignmentStatus.CONTRADICTED),
        ("SUPPORTED", None),
        ("NOT FULLY SUPPORTED", None),
        ("PARTIAL", None),
        (1, None),
        (None, None),
    ],
)
def test_a_label_is_normalised_and_never_guessed(text, expected):
    assert label(text, AlignmentStatus) is expected


@pytest.mark.parametrize(
    ("stated", "computed", "expected"),
    [
        (0.5, 0.5, (0.5, ())),
        (0.6667, 2 / 3, (0.6667, ())),
        ("0.5", 0.5, (0.5, ())),
        (None, 0.5, (None, ())),
        (1.0, 0.5, (1.0, ("judge_score_inconsistent",))),
        ("NaN", 0.5, (None, ("judge_score_invalid",))),
        (85, 0.85, (None, ("judge_score_invalid",))),
        (True, 1.0, (None, ("judge_score_invalid",))),
        (-1, 0.5, (None, ("judge_score_invalid",))),
    ],
)
def test_a_stated_score_is_recorded_and_compared(stated, computed, expected):
    assert score_flags(stated, computed) == expected
