"""A candidate on the golden set: what changed and why, what the gate says, and what CI is told."""

import json
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enricher.errors import SetupError
from enricher.measure.baseline import baseline_path, newest, read_accepted, write_accepted
from enricher.measure.golden import GoldenItem
from enricher.measure.outcome import Regression, as_junit, as_markdown, as_text, headline, to_json
from enricher.measure.regression import Change, ItemResult, Limits, accepted, compare
from enricher.report import show
from enricher.trust import Setting
from tests.judges.test_diff import item

V2 = Setting(judge="diff", engine="openai", prompt="diff@v2", prompt_hash="p2", model="m")
V3 = V2.model_copy(update={"prompt": "diff@v3", "prompt_hash": "p3"})
STRICT = Limits(min_agreement=0.5, max_regressions=0, max_failed=0, tolerance="none")
LENIENT = STRICT.model_copy(update={"tolerance": "interval"})


def golden(name, expected="faithful", text=""):
    return GoldenItem(id=name, judge="diff", expected=expected, asked=item(text or name, "x"), comment="")


def result(one, label, status="OK", summary=""):
    return ItemResult(input_hash=one.input_hash, status=status, label=label, summary=summary)


def ran(expected_and_said, baseline=None, limits=STRICT, setting=V3):
    """Run a candidate over items a, b, c ... with what people expect and what it says."""
    rows = []
    for name, (expected, said) in zip("abcdefghijklmnopqrstuvwxyz", expected_and_said, strict=False):
        one = golden(name, expected)
        if said is None:
            rows.append((one, result(one, None, "JUDGE_REFUSED", "it refused")))
        else:
            rows.append((one, result(one, said, summary=f"says {said}")))
    return compare("diff", (setting, "version"), rows, baseline, limits), {one.id: r for one, r in rows}


def baseline_of(*expected_and_said):
    found, results = ran(expected_and_said, setting=V2)
    return accepted(found, "digest", results, "2026-11-02T00:00:00+00:00")


F, P, C = "faithful", "partial", "contradicted"


def test_each_item_is_compared_with_people_and_with_the_baseline():
    before = baseline_of((F, F), (F, F), (P, F), (P, F), (C, P), (C, None))
    found, _ = ran([(F, F), (F, P), (P, P), (P, F), (C, F), (C, C), (F, F)], before)
    assert {row.id: (row.change, row.is_right) for row in found.rows} == {
        "a": (Change.SAME, True),
        "b": (Change.REGRESSION, False),
        "c": (Change.IMPROVEMENT, True),
        "d": (Change.SAME, False),
        "e": (Change.OTHER, False),
        "f": (Change.NEW, True),  # the baseline has no verdict on it
        "g": (Change.NEW, True),
    }
    assert [row.id for row in found.changed] == ["b", "e", "c", "d"]
    assert (found.agreement.count, found.agreement.of) == (4, 7)
    assert (found.before.count, found.before.of) == (2, 5)
    first = found.rows[0]
    assert (first.before, first.why, first.why_before) == (F, "says partial", "says faithful")


def test_another_text_under_the_same_id_is_a_new_item():
    one = golden("a", F, "old text")
    before = accepted(ran([], setting=V2)[0], "d", {"a": result(one, F)}, "now")
    other = golden("a", F, "new text")
    found = compare("diff", (V3, "v"), [(other, result(other, P))], before, STRICT)
    assert found.rows[0].change is Change.NEW


def test_what_has_no_verdict_is_counted_and_part_of_no_rate():
    found, _ = ran([(F, F), (F, None), (P, None)])
    assert (found.agreement.count, found.agreement.of) == (1, 1)
    assert found.failed == {"JUDGE_REFUSED": 2}
    assert [condition.passed for condition in found.gate] == [True, True, False]
    assert found.unmeasured == 0
    assert not found.passed


def test_nothing_but_failures_passes_no_gate():
    limits = STRICT.model_copy(update={"max_failed": 9, "min_agreement": 0.0})
    found, _ = ran([(F, None)], limits=limits)
    assert not found.passed
    assert "not measured" in found.gate[0].sentence


def test_the_gate_names_what_it_asks():
    before = baseline_of((F, F), (F, F))
    found, _ = ran([(F, P), (F, F)], before, STRICT.model_copy(update={"min_agreement": 0.9}))
    assert [(c.name, c.passed) for c in found.gate] == [("agreement", False), ("regressions", False), ("failed", True)]
    assert found.gate[0].sentence == "agreement with people: 50.0% of 2, at least 90.0%"
    assert found.gate[1].sentence == "wrong where the baseline was right: 1, at most 0"


def test_within_the_interval_only_what_chance_does_not_explain_breaks_the_gate():
    eight = [(F, F)] * 8
    few, many = [(F, P)] * 2 + [(F, F)] * 6, [(F, P)] * 6 + [(F, F)] * 2
    limits = LENIENT.model_copy(update={"min_agreement": 0.8})
    lenient, _ = ran(few, baseline_of(*eight), limits)
    assert lenient.passed  # 2 to 0: p = 0.25; 75 % of 8 reaches up to 93 %
    assert "chance explains them, p = 0.25" in lenient.gate[1].sentence
    strict, _ = ran(few, baseline_of(*eight), STRICT.model_copy(update={"min_agreement": 0.8}))
    assert [condition.passed for condition in strict.gate] == [False, False, True]
    worse, _ = ran(many, baseline_of(*eight), limits)  # 6 to 0: p = 0.016
    assert [condition.passed for condition in worse.gate] == [False, False, True]


def test_a_model_that_did_not_answer_says_nothing_of_the_candidate():
    one = golden("a")
    found = compare("diff", (V3, "v"), [(one, result(one, None, "JUDGE_UNAVAILABLE"))], None, STRICT)
    outcome = Regression(golden="g.jsonl", judges=(found,))
    assert not outcome.is_measured
    assert headline(outcome) == "not measured: the model gave no answer on 1 of the items; nothing is accepted"
    assert to_json(outcome)["passed"] is False


def test_only_the_newest_of_a_judge_keeps_its_results_and_all_keep_their_figures(tmp_path):
    path = tmp_path / "golden.jsonl"
    assert read_accepted(path) == []
    first, second = baseline_of((F, F)), baseline_of((F, F), (P, F))
    write_accepted(path, [first])
    write_accepted(path, [*read_accepted(path), second])
    assert baseline_path(path).name == "golden.baseline.json"
    old, new = read_accepted(path)
    assert (old.results, old.items, old.agreement) == ({}, 1, 1.0)
    assert new == second == newest([old, new], "diff")
    assert newest([old, new], "halves") is None


@pytest.mark.parametrize("text", ["{", "[]", '{"format": 1}', '{"format": 9, "accepted": []}'])
def test_a_damaged_baseline_is_refused(tmp_path, text):
    path = tmp_path / "golden.jsonl"
    baseline_path(path).write_text(text)
    with pytest.raises(SetupError, match=r"golden\.baseline\.json"):
        read_accepted(path)


HOSTILE = "a | b\n<script>alert(1)</script> ](javascript:x) \x00\x1b[31m @team"


def outcome_of(*rows, baseline=None):
    found, _ = ran(rows, baseline)
    return Regression(golden="golden.jsonl", judges=(found,))


def test_junit_tells_regressions_failures_and_the_gate_apart():
    before = baseline_of((F, F), (F, F), (P, F))
    xml = as_junit(outcome_of((F, F), (F, P), (P, F), (C, None), baseline=before))
    (suite,) = ET.fromstring(xml)
    assert dict(suite.attrib) | {"name": ""} == {
        "name": "", "tests": "7", "failures": "4", "errors": "1", "skipped": "1",
    }  # fmt: skip
    kinds = {case.get("name"): [child.tag for child in case] for case in suite}
    assert kinds == {
        "a": [], "b": ["failure"], "c": ["skipped"], "d": ["error"],
        "agreement": ["failure"], "regressions": ["failure"], "failed": ["failure"],
    }  # fmt: skip


def test_hostile_texts_stay_texts_in_the_summary_and_in_junit():
    one = golden("a|b", F)
    found = compare("diff", (V3, "v"), [(one, result(one, P, summary=HOSTILE))], None, STRICT)
    outcome = Regression(golden="golden.jsonl", judges=(found,))
    summary = as_markdown(outcome)
    (line,) = [line for line in summary.splitlines() if "a\\|b" in line]
    assert line.replace("\\|", "").count("|") == 6
    assert "<script>" not in summary.replace("\\<", "")
    assert "\x00" not in summary + as_junit(outcome)
    ET.fromstring(as_junit(outcome))


def test_the_text_shows_what_changed_and_why(capsys):
    show(as_text(outcome_of((F, P), baseline=baseline_of((F, F)))))
    text = capsys.readouterr().out
    for part in ("gate breached", "regression", "people faithful, before faithful, now partial", "before: says"):
        assert part in text


labels = st.sampled_from([F, P, C])


@settings(deadline=None)
@given(st.lists(st.tuples(labels, labels, st.one_of(st.none(), labels)), max_size=20))
def test_every_item_has_exactly_one_change_and_the_json_holds_them_all(rows):
    before = baseline_of(*((expected, said) for expected, said, _ in rows))
    found, _ = ran([(expected, now) for expected, _, now in rows], before)
    assert sum(found.changes.values()) == len(found.rows) == len(rows)
    assert found.agreement.of + sum(found.failed.values()) == len(rows)
    written = json.loads(json.dumps(to_json(Regression(golden="g", judges=(found,)))))
    assert len(written["judges"][0]["rows"]) == len(rows)
