"""The figures of a comparison: what counts, what waits for people, and what failed are kept apart."""

import math

import pytest

from enricher.compare.matching import Leftover, Matching
from enricher.compare.report import as_html, as_text, numbers, to_json
from enricher.compare.tally import Comparison, Outcome, metrics, tally
from enricher.rates import Rate
from enricher.report import show
from enricher.verdict import Certainty, Preference, Severity, Status, Usage
from tests.compare.samples import compared, flag, verdict


def of(*verdicts, matching=None, **more):
    found = [compared(given, name=f"p{n}", **more) for n, given in enumerate(verdicts)]
    return tally("old", "new", "v", matching or Matching(), found)


@pytest.mark.parametrize(
    ("count", "total", "low", "high"),
    [
        (0, 10, 0.0, 0.2775),
        (10, 10, 0.7225, 1.0),
        (5, 10, 0.2366, 0.7634),
        (1, 1, 0.2065, 1.0),
        (30, 300, 0.0710, 0.1391),
    ],
)
def test_intervals_are_wilsons(count, total, low, high):
    rate = Rate.of_count(count, total)
    assert rate.low == pytest.approx(low, abs=1e-4)
    assert rate.high == pytest.approx(high, abs=1e-4)


def test_of_nothing_there_is_no_share():
    assert Rate.of_count(0, 0) == Rate(count=0, of=0)


def test_answer_b_is_the_challengers():
    outcome = Outcome.of_preferences([Preference.B, Preference.B, Preference.A, Preference.TIE])
    assert (outcome.wins.count, outcome.losses.count, outcome.ties.count) == (2, 1, 1)


def test_what_is_not_sure_is_neither_win_nor_loss():
    found = of(verdict("A"), verdict("B", 0.5), verdict("B", status=Status.JUDGE_INVALID), verdict("TIE"))
    assert (found.judged, found.accepted, found.in_review) == (3, 2, 2)
    assert found.overall.losses.rate == 0.5
    assert found.provisional == {"win": 1}
    assert found.failed == {"JUDGE_INVALID": 1}
    assert found.review_reasons == {"low_confidence": 1, "judge_failed:JUDGE_INVALID": 1}


def test_orders_that_disagree_are_a_tie_that_people_look_at():
    both = (("A", "A"), ("B", "B"))
    agreed = (("A", "A"), ("B", "A"))
    found = of(verdict("TIE", None, orders=both), verdict("A", orders=agreed), verdict("A", orders=agreed[:1]))
    assert found.overall.ties.count == 1
    assert (found.position_bias.count, found.position_bias.of) == (1, 2)
    assert found.review_reasons == {"position_bias": 1}


def test_only_flags_that_the_engine_shares_are_held_against_an_answer():
    found = of(
        verdict("A", flags=[flag(), flag(severity=Severity.MINOR, name="2")]),
        verdict("A", flags=[flag(certainty=Certainty.REFUTED), flag("A", name="2")]),
        verdict("A", flags=[flag(certainty=None), flag("A")]),
    )
    assert found.sides["challenger"].hallucinations == {"CRITICAL": 2, "MAJOR": 0, "MINOR": 1}
    assert found.sides["challenger"].per_answer["CRITICAL"] == pytest.approx(2 / 3)
    assert found.sides["challenger"].unconfirmed == 1
    assert (found.new_critical, found.fixed_critical) == (1, 1)


def test_a_preference_that_rests_on_refuted_flags_is_disputed():
    found = of(verdict("A", flags=[flag(certainty=Certainty.REFUTED)]))
    assert (found.accepted, found.review_reasons) == (0, {"disputed": 1})


def test_suspected_injections_are_not_accepted_unread():
    found = of(verdict("B", raised=("injection_suspected:answer_b",)))
    assert (found.accepted, found.review_reasons) == (0, {"injection_suspected": 1})


def test_what_is_refused_or_over_budget_is_counted_by_itself():
    found = of(
        verdict(status=Status.SKIPPED, raised=("contexts_differ",)), verdict(status=Status.BUDGET_EXCEEDED)
    )  # fmt: skip
    assert (found.refused, found.left, found.failed, found.in_review) == ({"contexts_differ": 1}, 1, {}, 0)
    assert found.overall.losses.rate is None


def test_only_new_verdicts_cost():
    paid = verdict("A", usage=Usage(cost=2.0, calls=3))
    assert of(paid, paid).usage == Usage(cost=4.0, calls=6)
    assert of(paid, is_recalled=True).usage == Usage()


def test_dimensions_are_counted_over_accepted_pairs():
    found = of(
        verdict("A", dims={"faithfulness": "A", "completeness": "B"}), verdict("A", 0.1, dims={"faithfulness": "A"})
    )
    assert found.dimensions["faithfulness"].losses.count == 1
    assert found.dimensions["completeness"].wins.count == 1


def test_every_figure_of_a_gate_has_a_value_and_is_none_without_a_comparison():
    found = metrics(of(verdict("A", dims={"faithfulness": "A"})))
    assert found["challenger_losses"] == 1.0
    assert found["faithfulness_losses"] == 1.0
    assert found["completeness_losses"] is None
    assert found["challenger_critical"] == 0.0
    assert found.keys() == metrics(None).keys()
    assert set(metrics(None).values()) == {None}
    assert metrics(of())["in_review"] is None
    assert not any(value is not None and math.isnan(value) for value in found.values())


def test_the_report_says_it_in_text_json_and_html(capsys):
    leftovers = (Leftover(side="champion", reason="unmatched", where="t9", question="<b>Why?</b>"),)
    found = of(
        verdict("A", flags=[flag()], dims={"faithfulness": "A"}),
        verdict("B", 0.5),
        verdict(status=Status.JUDGE_INVALID),
        matching=Matching(unmatched=leftovers),
    )
    found = found.model_copy(update={"gate": "gate breached: x", "gate_passed": False, "write_problems": ("oh",)})
    show(as_text(found))
    said = capsys.readouterr().out
    assert "new against old: 0 wins, 0 ties, 1 loss" in said
    for part in ("low_confidence", "1 JUDGE_INVALID", "t9", "gate breached", "oh", "1 critical (0.50 an answer)"):
        assert part in said, part
    assert Comparison.model_validate(to_json(found)) == found
    page = as_html(found)
    assert page.startswith("<!doctype html>")
    assert "&lt;b&gt;Why?" in page
    assert "<b>Why?" not in page
    assert dict(numbers(found))["challenger loses"] == "1 of 1, 100% [21%, 100%]"


def test_a_comparison_of_nothing_says_so(capsys):
    show(as_text(of()))
    assert "Nothing was compared" in capsys.readouterr().out
