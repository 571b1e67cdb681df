"""Caps on money are used up and not overrun, whatever the order in which calls end."""

import asyncio

import pytest

from enricher.judges.budget import RunLedger, Spending
from enricher.judges.prices import Prices, estimate
from enricher.traffic import Grant


async def spend(spending, calls, *, most, cost, at_once=8):
    """Make calls until the budget is used up; return how many were made."""
    made = 0
    places = asyncio.Semaphore(at_once)

    async def call():
        nonlocal made
        async with places:
            permit = await spending.admit(0.2 * most, most)
            if permit is None:
                return
            made += 1
            await asyncio.sleep(0)
            permit.settle(cost)

    await asyncio.gather(*(call() for _ in range(calls)))
    return made


async def test_a_cap_is_used_up_to_the_last_call_that_fits():
    spending = Spending(RunLedger(5.0))
    made = await spend(spending, 500, most=0.1, cost=0.02)
    assert 245 <= made <= 250
    assert "5 a run" in spending.used_up


async def test_a_cap_that_does_not_cover_one_call_lets_none_through():
    assert await spend(Spending(RunLedger(0.03)), 3, most=0.1, cost=0.02) == 0


async def test_a_small_cap_is_used_one_call_at_a_time():
    assert await spend(Spending(RunLedger(0.07)), 8, most=0.1, cost=0.02) == 3


async def test_calls_near_the_cap_wait_for_what_those_under_way_give_back():
    spending = Spending(RunLedger(1.0))
    first = await spending.admit(0.1, 0.9)
    second = asyncio.create_task(spending.admit(0.1, 0.5))
    await asyncio.sleep(0)
    assert not second.done()
    first.settle(0.1)
    assert await second is not None


async def test_a_call_that_failed_costs_nothing():
    spending = Spending(RunLedger(1.0))
    for _ in range(50):
        permit = await spending.admit(0.1, 0.9)
        permit.settle(0.0)
    assert spending.used_up is None


async def test_replies_dearer_than_estimated_raise_the_bound():
    spending = Spending(RunLedger(1.0))
    assert await spend(spending, 100, most=0.01, cost=0.05, at_once=1) <= 20


class _Counting:
    def __init__(self):
        self.asked = 0
        self.settled = None

    async def reserve(self, least, most):
        self.asked += 1
        return Grant(most)

    async def settle(self, spent):
        self.settled = spent


async def test_the_ledger_is_asked_for_many_calls_at_a_time_and_told_what_was_spent():
    ledger = _Counting()
    spending = Spending(ledger)
    await spend(spending, 100, most=0.1, cost=0.1)
    await spending.aclose()
    assert ledger.asked < 20
    assert ledger.settled == pytest.approx(10.0)


def test_cached_tokens_cost_as_much_as_others_unless_a_price_is_given():
    prices = Prices(prompt=2.0, completion=10.0)
    assert prices.cost(prompt=1000, cached=400, completion=10) == pytest.approx((1000 * 2 + 100) / 1e6)
    cheaper = Prices(prompt=2.0, cached=1.0, completion=10.0)
    assert cheaper.cost(prompt=1000, cached=400, completion=10) == pytest.approx((600 * 2 + 400 + 100) / 1e6)


def test_an_estimate_is_rather_too_much_than_too_little():
    messages = [{"role": "system", "content": "word " * 100}, {"role": "user", "content": "Wort " * 100}]
    usage = estimate(messages, 500, Prices(prompt=1.0, completion=4.0))
    assert 200 <= usage.prompt_tokens <= 600
    assert usage.completion_tokens == 500
    assert usage.cost == pytest.approx((usage.prompt_tokens + 2000) / 1e6)
    assert usage.calls == 1
