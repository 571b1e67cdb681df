"""No minute holds more requests or tokens than allowed, wherever it begins."""

import pytest

from enricher.judges.pace import Pace
from tests.doubles import SleepersClock


def most_in_a_minute(starts):
    return max(sum(amount for at, amount in starts if begin <= at < begin + 60) for begin, _ in starts)


@pytest.mark.parametrize("limit", [1, 3, 10, 60, 500])
async def test_requests_keep_to_the_limit_over_any_minute(limit):
    clock = SleepersClock()
    pace = Pace(requests=limit, tokens=None, sleep=clock.sleep, clock=clock)
    starts = []
    for _ in range(3 * limit):
        slot = await pace.start(100)
        starts.append((clock.now, 1))
        assert slot.amount == 100
    assert most_in_a_minute(starts) <= limit
    assert clock.now <= 3 * 60 * 1.3


async def test_tokens_keep_to_the_limit_over_any_minute():
    clock = SleepersClock()
    pace = Pace(requests=None, tokens=1000, sleep=clock.sleep, clock=clock)
    starts = []
    for amount in (400, 500, 300, 900, 100, 50, 1000, 20):
        await pace.start(amount)
        starts.append((clock.now, amount))
    assert most_in_a_minute(starts) <= 1000


async def test_a_request_larger_than_the_limit_is_sent_alone():
    clock = SleepersClock()
    pace = Pace(requests=None, tokens=1000, sleep=clock.sleep, clock=clock)
    await pace.start(10)
    await pace.start(5000)
    assert clock.now >= 60
    await pace.start(10)
    assert clock.now >= 120


async def test_tokens_that_were_not_used_are_given_back():
    clock = SleepersClock()
    pace = Pace(requests=None, tokens=1000, sleep=clock.sleep, clock=clock)
    slot = await pace.start(900)
    slot.amount = 100
    await pace.start(800)
    assert clock.now == 0


async def test_without_limits_nothing_waits():
    clock = SleepersClock()
    pace = Pace(requests=None, tokens=None, sleep=clock.sleep, clock=clock)
    for _ in range(1000):
        await pace.start(10**6)
    assert clock.now == 0
