"""Calibration: which labels stand beside which verdicts, and what follows from them; figures worked out by hand."""

import json
from datetime import UTC, datetime

import pytest

from enricher.errors import SetupError
from enricher.measure.calibration import joined, measure
from enricher.measure.labels import Judged, PersonsLabel, distinct, from_file, from_platform, is_sound
from enricher.store.calibrations import JudgedPlace
from enricher.trace import UserReport
from enricher.trust import Setting
from enricher.verdict import Order, Preference

OLD = Setting(judge="diff", engine="openai", prompt="diff@v1", prompt_hash="p1", model="m")
NEW = OLD.model_copy(update={"prompt": "diff@v2", "prompt_hash": "p2"})
PAIRS = Setting(judge="pairwise", engine="openai", prompt="pairwise@v1", model="m")
PLACE = JudgedPlace(connection="c", project="p", trace_id="t1", span_id="s1", judge="diff")
FIRST_WEEK, SECOND_WEEK = datetime(2026, 11, 4, tzinfo=UTC), datetime(2026, 11, 9, tzinfo=UTC)


def said(item, label, *, person="ada", source="review", at=FIRST_WEEK, trace=None, judge="diff", **parts):
    given = {"judge": judge, "item": item, "trace_id": trace or item, "person": person, "source": source, "at": at}
    return PersonsLabel(**given, label=label, **{"is_sound": is_sound(judge, label) if label else None, **parts})


def judged(label, setting=NEW, **parts):
    return Judged(setting=setting, label=label, **parts)


def figures(rows, **verdicts):
    found, _ = joined(rows, {("diff", item): [verdict] for item, verdict in verdicts.items()})
    return measure(found, min_labels=4, min_recall=0.9)


def test_a_label_counts_for_every_setting_that_judged_the_same_input():
    verdicts = [judged("faithful", OLD, input_hash="i1"), judged("partial", NEW, input_hash="i1")]
    found, alone = joined([said("s1", "partial", input_hash="i1")], {("diff", "s1"): verdicts})
    assert {(one.judged.setting.prompt, one.judged.label) for one in found} == {
        ("diff@v1", "faithful"),
        ("diff@v2", "partial"),
    }
    assert alone == []
    other_input = [said("s1", "partial", input_hash="i2"), said("s9", "partial")]
    assert joined(other_input, {("diff", "s1"): verdicts}) == ([], other_input)


def test_the_newest_verdict_of_a_setting_counts_and_before_it_none_from_a_file():
    label = said("s1", "partial", judged=judged("contradicted"), source="file")
    (found,), _ = joined([label], {("diff", "s1"): [judged("faithful"), judged("partial")]})
    assert found.judged.label == "partial"
    (found,), _ = joined([label], {})
    assert found.judged.label == "contradicted"


def test_one_label_of_each_person_on_each_item_counts():
    review = said("s1", "partial")
    later = said("s1", "faithful", source="platform", at=SECOND_WEEK)
    bob, earlier = said("s1", "faithful", person="bob", at=SECOND_WEEK), said("s1", "partial", person="bob")
    assert distinct([later, review, bob, earlier]) == [review, bob]


def test_agreement_is_counted_over_labels_with_a_verdict():
    rows = [said("a", "faithful"), said("b", "partial"), said("c", "contradicted"), said("d", "faithful")]
    rows += [said("d", "partial", person="bob"), said("e", "partial")]
    (one,) = figures(
        rows,
        a=judged("faithful", score=1.0),
        b=judged("partial", score=0.5),
        c=judged("unsupported", score=0.5),
        d=judged("faithful", score=1.0),
        e=judged(None),
    )
    assert (one.labels, one.items, one.traces, one.missing, one.without_verdict) == (5, 4, 4, 0, 1)
    assert (one.agreement.count, one.agreement.of) == (3, 5)
    # People: f p c f p, judge: f p u f f. By chance: (2 x 3 + 2 x 1) / 25
    assert one.kappa == pytest.approx((0.6 - 0.32) / (1 - 0.32))
    assert one.confusion["contradicted"]["unsupported"] == 1
    # What matters most: whether anything is wrong. 4 of 5 agree on that.
    assert (one.flawed_agreement.count, one.flawed.recall.count, one.flawed.recall.of) == (4, 2, 3)
    assert (one.people.count, one.people.of) == (0, 1)
    assert (one.threshold.review_below, one.threshold.is_enough) == (1.0, False)


def test_too_few_labels_say_how_many_are_missing():
    (one,) = figures([said("a", "faithful")], a=judged("faithful"))
    assert (one.missing, one.is_enough) == (3, False)


def test_agreement_is_shown_by_week():
    rows = [said("a", "faithful"), said("b", "partial"), said("c", "partial", at=SECOND_WEEK)]
    (one,) = figures(rows, a=judged("faithful"), b=judged("faithful"), c=judged("partial"))
    assert [(week.week, week.agreement.count, week.agreement.of) for week in one.weeks] == [
        ("2026-11-02", 1, 2),
        ("2026-11-09", 1, 1),
    ]


def test_a_score_without_a_label_counts_for_whether_anything_is_wrong_only():
    reports = [
        UserReport(name="context_diff", score=1.0, author="ada"),
        UserReport(name="context_diff", score=0.4),
        UserReport(name="context_diff", label="faithful", author="eve"),
        UserReport(name="context_diff", label="looks fine", score=1.0),
        UserReport(name="context_diff", comment="hm"),
    ]
    labels = list(from_platform(PLACE, reports))
    assert [(one.person, one.label, one.is_sound) for one in labels] == [
        ("ada", None, True),
        ("someone", None, False),
        ("eve", "faithful", True),
    ]
    (one,) = figures(labels, s1=judged("faithful"))
    assert (one.agreement.count, one.agreement.of, one.score_only) == (1, 1, 2)
    assert (one.flawed_agreement.count, one.flawed_agreement.of) == (2, 3)


def test_the_order_of_two_answers_is_measured_against_people():
    def pair(label, a_first, b_first):
        orders = (Order(first="A", preferred=Preference(a_first)), Order(first="B", preferred=Preference(b_first)))
        return judged(label, PAIRS, orders=orders)

    rows = [said(item, label, judge="pairwise") for item, label in (("p1", "win"), ("p2", "win"), ("p3", "loss"))]
    verdicts = {
        ("pairwise", "p1"): [pair("win", "A", "A")],
        ("pairwise", "p2"): [pair("tie", "A", "B")],  # each order prefers what stood first
        ("pairwise", "p3"): [pair("tie", "TIE", "B")],
    }
    found, _ = joined(rows, verdicts)
    (one,) = measure(found, min_labels=1, min_recall=0.9)
    position = one.position
    assert (position.bias.count, position.bias.of) == (2, 3)
    assert (position.first_favoured.count, position.first_favoured.of) == (1, 2)
    assert (position.agreement_if_orders_agree.count, position.agreement_if_orders_agree.of) == (1, 1)
    assert (position.agreement_if_orders_disagree.count, position.agreement_if_orders_disagree.of) == (0, 2)
    assert (position.agreement_a_first.count, position.agreement_b_first.count) == (2, 2)
    assert one.flawed is None


def written(tmp_path, *rows):
    path = tmp_path / "labels.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_a_file_holds_labels_with_or_without_the_verdict_beside_them(tmp_path):
    full = {
        "trace_id": "t1", "span_id": "s1", "judge": "diff", "label": "partial", "person": "ada",
        "decided_at": "2026-11-04T08:00:00+00:00", "judge_label": "faithful", "judge_score": 1.0,
        "setting": NEW.model_dump(),
    }  # fmt: skip
    bare = {"span_id": "s2", "label": "faithful"}
    pair = {"judge": "pairwise", "pair_id": "p1", "label": "B"}
    first, second, third = from_file(written(tmp_path, full, bare, pair))
    assert (first.judged.setting, first.judged.label, first.at.day) == (NEW, "faithful", 4)
    assert (second.item, second.judge, second.judged, second.person) == ("s2", "diff", None, "someone")
    assert (third.item, third.label, third.is_sound) == ("p1", "loss", None)


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ({"span_id": "s1", "label": "fine"}, "line 1: label: 'fine' is no label of diff; use one of faithful"),
        ({"label": "faithful"}, "line 1: span_id: say which item"),
        ({"judge": "style", "label": "x"}, "line 1: judge: 'style' is not known"),
        ({"span_id": "s", "label": "faithful", "judge_label": "partial", "setting": {"model": "m"}}, "no judge"),
    ],
)
def test_a_line_that_can_not_be_read_is_named(tmp_path, row, sentence):
    with pytest.raises(SetupError, match=sentence):
        from_file(written(tmp_path, row))
