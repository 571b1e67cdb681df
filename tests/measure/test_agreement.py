"""Agreement between people and judge, against values from textbooks and worked out by hand."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enricher.measure.agreement import bootstrapped, classes, confusion, kappa, threshold, worse_by_chance

LABELS = st.sampled_from(["faithful", "partial", "contradicted"])
PAIRINGS = st.lists(st.tuples(LABELS, LABELS), min_size=1, max_size=60)


def table(yes_yes, yes_no, no_yes, no_no):
    return [("yes", "yes")] * yes_yes + [("yes", "no")] * yes_no + [("no", "yes")] * no_yes + [("no", "no")] * no_no


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        # 50 grant proposals, two readers: observed 0.7, by chance 0.5
        ((20, 5, 10, 15), 0.4),
        # The same observed agreement of 0.6 with other margins: by chance 0.54 and 0.46
        ((45, 15, 25, 15), 0.1304),
        ((25, 35, 5, 35), 0.2593),
        ((0, 25, 25, 0), -1.0),
    ],
)
def test_kappa_is_that_of_the_textbook(counts, expected):
    assert kappa(table(*counts)) == pytest.approx(expected, abs=5e-5)


def test_kappa_of_three_labels_is_worked_out_by_hand():
    # Diagonal 8 + 5 + 2 of 20; margins of people 10, 6, 4 and of the judge 10, 7, 3: by chance (100 + 42 + 12) / 400
    pairings = [("a", "a")] * 8 + [("a", "b")] * 2 + [("b", "b")] * 5 + [("b", "c")] + [("c", "c")] * 2
    pairings += [("c", "a")] * 2
    assert kappa(pairings) == pytest.approx((0.75 - 0.385) / (1 - 0.385))


def test_there_is_no_kappa_where_both_sides_know_one_label_only():
    assert kappa([("faithful", "faithful")] * 60) is None
    assert kappa([]) is None


def test_precision_and_recall_are_counted_by_label():
    first, second = classes(table(20, 5, 10, 15))
    assert (first.label, first.people, first.judge) == ("no", 25, 20)
    assert (first.precision.count, first.precision.of, first.recall.count, first.recall.of) == (15, 20, 15, 25)
    assert (second.label, second.precision.rate, second.recall.rate) == ("yes", pytest.approx(20 / 30), 0.8)


def test_the_confusion_matrix_has_every_label_in_both_directions():
    assert confusion([("a", "b"), ("a", "b"), ("c", "c")]) == {
        "a": {"a": 0, "b": 2, "c": 0},
        "b": {"a": 0, "b": 0, "c": 0},
        "c": {"a": 0, "b": 0, "c": 1},
    }


def test_the_labels_of_the_matrix_stand_in_the_order_that_people_know():
    assert list(confusion([("b", "a"), ("c", "x")], ["c", "b", "unused"])) == ["c", "b", "a", "x"]


def test_traces_are_drawn_and_not_items():
    pairings = table(20, 5, 10, 15)
    alone = {f"t{number}": [pairing] for number, pairing in enumerate(pairings)}
    low, high = bootstrapped(kappa, alone)
    # The asymptotic standard error of kappa is 0.13 here (Fleiss, Cohen, Everitt 1969): 0.4 - 1.96 x 0.13 = 0.15
    assert low == pytest.approx(0.15, abs=0.05)
    assert high == pytest.approx(0.65, abs=0.05)
    assert bootstrapped(kappa, alone) == (low, high)
    by_five = {f"t{number}": pairings[number::10] for number in range(10)}
    assert bootstrapped(kappa, by_five) != (low, high)
    assert bootstrapped(kappa, {"t": pairings}) is None


def test_the_advised_threshold_is_the_lowest_that_catches_enough():
    scored = [(0.0, False), (0.5, False), (0.5, True), (0.8, False), (0.9, True), (1.0, True), (1.0, True)]
    advised = threshold(scored, 0.9)
    assert (advised.review_below, advised.recall.count, advised.recall.of) == (0.9, 3, 3)
    assert (advised.precision.count, advised.precision.of) == (3, 4)
    assert advised.share == pytest.approx(4 / 7)
    lenient = threshold(scored, 0.6)
    assert (lenient.review_below, lenient.recall.count) == (0.8, 2)


def test_a_threshold_that_can_not_catch_enough_says_so():
    # What people reject although every segment was called supported lies below no threshold.
    advised = threshold([(0.5, False), (1.0, False), (1.0, False), (1.0, True)], 0.9)
    assert (advised.review_below, advised.recall.count, advised.is_enough) == (1.0, 1, False)
    assert threshold([(1.0, True)], 0.9) is None


@pytest.mark.parametrize(
    ("worse", "better", "expected"), [(0, 0, 1.0), (1, 0, 0.5), (5, 0, 1 / 32), (8, 2, 56 / 1024), (2, 8, 1013 / 1024)]
)
def test_the_sign_test_is_exact(worse, better, expected):
    assert worse_by_chance(worse, better) == pytest.approx(expected)


@settings(deadline=None)
@given(PAIRINGS)
def test_kappa_is_at_most_one_and_the_same_for_both_sides(pairings):
    value = kappa(pairings)
    turned = kappa([(other, one) for one, other in pairings])
    assert (value is None) == (turned is None)
    if value is not None:
        assert value <= 1.0 + 1e-9
        assert value == pytest.approx(turned)
        assert (value == pytest.approx(1.0)) == all(one == other for one, other in pairings)


@settings(deadline=None)
@given(PAIRINGS)
def test_the_confusion_matrix_counts_every_item_once(pairings):
    assert sum(sum(row.values()) for row in confusion(pairings).values()) == len(pairings)
    assert sum(found.people for found in classes(pairings)) == len(pairings)


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=40), st.floats(0, 1))
def test_a_threshold_that_is_enough_catches_the_share(scored, wanted):
    advised = threshold(scored, wanted)
    if advised is not None and advised.is_enough:
        assert advised.recall.rate >= wanted
