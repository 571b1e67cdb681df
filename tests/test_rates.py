"""Shares, intervals and distances, against values worked out by hand or from textbooks."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enricher.rates import Rate, largest_gap, stability_by_chance, stability_index

counts = st.lists(st.integers(min_value=0, max_value=500), min_size=2, max_size=12)


def test_the_interval_is_that_of_wilson():
    # 81 of 263: Newcombe (1998), table I, method 3
    rate = Rate.of_count(81, 263)
    assert (rate.low, rate.high) == (pytest.approx(0.2553, abs=5e-5), pytest.approx(0.3662, abs=5e-5))


def test_items_of_one_trace_count_as_one_for_the_width():
    assert Rate.of_count(40, 50, independent=10).low == pytest.approx(Rate.of_count(8, 10).low)
    assert Rate.of_count(40, 50, independent=10).rate == 0.8
    assert Rate.of_count(0, 0) == Rate(count=0, of=0)


def test_the_stability_index_is_the_sum_over_the_buckets():
    # 30/70 against 50/50, with half a count added to each: (0.302-0.5) ln(0.302/0.5) + (0.698-0.5) ln(0.698/0.5)
    a, b = 30.5 / 101, 70.5 / 101
    by_hand = (a - 0.5) * math.log(a / 0.5) + (b - 0.5) * math.log(b / 0.5)
    assert stability_index([30, 70], [50, 50]) == pytest.approx(by_hand)
    assert by_hand == pytest.approx(0.1659, abs=1e-4)


def test_buckets_that_neither_side_uses_do_not_count():
    assert stability_index([0, 100, 0], [0, 300, 0]) == 0.0
    assert stability_index([30, 0, 70], [50, 0, 50]) == stability_index([30, 70], [50, 50])


def test_small_samples_need_a_larger_index():
    # chi-square with one degree of freedom, 95 %: 3.841
    assert stability_by_chance([5, 5], [5, 5]) == pytest.approx(3.841 * 0.2)
    assert stability_by_chance([5, 0], [5, 0]) == 0.0
    assert stability_by_chance([], []) == 0.0


@pytest.mark.parametrize("freedom", range(1, 21))
def test_the_quantiles_are_those_of_chi_square(freedom):
    buckets = [1] * (freedom + 1)
    quantile = stability_by_chance(buckets, buckets) / (2 / len(buckets))
    # The series of the lower incomplete gamma function.
    half, term = quantile / 2, 1 / (freedom / 2)
    total = term
    for step in range(1, 300):
        term *= half / (freedom / 2 + step)
        total += term
    share = math.exp(-half + freedom / 2 * math.log(half) - math.lgamma(freedom / 2)) * total
    assert share == pytest.approx(0.95, abs=1e-4)


def test_the_largest_gap_lies_between_cumulated_shares():
    assert largest_gap([10, 0, 0], [0, 0, 10]) == 1.0
    assert largest_gap([1, 1, 2], [2, 1, 1]) == pytest.approx(0.25)
    assert largest_gap([], []) == 0.0


@settings(deadline=None)
@given(counts)
def test_a_distribution_does_not_differ_from_itself(histogram):
    assert stability_index(histogram, histogram) == 0.0
    assert largest_gap(histogram, histogram) == 0.0


@settings(deadline=None)
@given(st.data(), counts)
def test_no_distance_is_negative(data, histogram):
    other = data.draw(st.lists(st.integers(0, 500), min_size=len(histogram), max_size=len(histogram)))
    assert stability_index(histogram, other) >= 0.0
    assert 0.0 <= largest_gap(histogram, other) <= 1.0 + 1e-9
