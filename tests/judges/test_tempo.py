"""A server's limit is found from what it refuses, kept to, and followed; refusals at random slow nobody down."""

import math
import random

import pytest

from enricher.judges.tempo import Tempo
from tests.doubles import SleepersClock


class Limited:
    """Calls to a server that holds so many requests at most, and gets so many new ones a second."""

    def __init__(self, rate, burst, *, noise=0.0):
        self.clock = SleepersClock()
        self.tempo = Tempo(sleep=self.clock.sleep, clock=self.clock)
        self.rate, self.burst, self.noise = rate, burst, noise
        self._left, self._at = burst, 0.0
        self._random = random.Random(5)
        self.refused = 0

    async def call(self, *, until):
        """Make calls until so many were let through, or until that time."""
        passed = 0
        while passed < until.get("passed", math.inf) and self.clock.now < until.get("seconds", math.inf):
            started = await self.tempo.start()
            self._left = min(self.burst, self._left + self.rate * (self.clock.now - self._at))
            self._at = self.clock.now
            if self._left < 1 or self._random.random() < self.noise:
                self.refused += 1
                if self.tempo.refused(started, 1.0):
                    await self.clock.sleep(1.0)
                continue
            self._left -= 1
            self.tempo.answered()
            passed += 1
            if self.tempo.rate == math.inf:
                await self.clock.sleep(0.001)
        return passed


async def test_a_few_refusals_among_answers_change_nothing():
    clock = SleepersClock()
    tempo = Tempo(sleep=clock.sleep, clock=clock)
    for number in range(2000):
        started = await tempo.start()
        if number % 20 == 7:
            assert not tempo.refused(started, 1.0)
        else:
            tempo.answered()
    assert clock.now == 0


@pytest.mark.parametrize(("rate", "burst"), [(200, 200), (50, 50), (50, 10), (8, 60), (1, 10), (0.3, 20)])
async def test_what_a_limit_allows_is_used_and_little_is_refused(rate, burst):
    server = Limited(rate, burst)
    await server.call(until={"passed": 500})  # finds out
    server.refused, began = 0, server.clock.now
    await server.call(until={"passed": 2000})
    assert server.refused < 300
    assert server.clock.now - began < 1.1 * 2000 / rate


async def test_a_limit_is_found_by_few_refusals():
    server = Limited(50, 50)
    await server.call(until={"passed": 500})
    assert server.refused < 30
    assert server.clock.now < 11


async def test_a_limit_that_changes_is_followed():
    server = Limited(50, 20)
    await server.call(until={"passed": 1000})
    server.rate, server.refused = 10, 0
    await server.call(until={"seconds": server.clock.now + 10})
    assert 7 < server.tempo.rate < 20
    assert server.refused < 60
    server.rate = 100
    await server.call(until={"seconds": server.clock.now + 60})
    assert 80 < server.tempo.rate < 130


async def test_a_server_that_refused_everything_is_noticed_to_be_well_again():
    server = Limited(50, 50)
    await server.call(until={"passed": 500})
    server.rate, server.refused = 0.0, 0
    await server.call(until={"seconds": server.clock.now + 300})
    assert server.refused < 300
    server.rate = 50
    assert await server.call(until={"seconds": server.clock.now + 60}) > 500


async def test_refusals_at_random_end_the_time_of_a_limit_that_is_gone():
    server = Limited(20, 20)
    await server.call(until={"passed": 300})
    server.rate = server.burst = math.inf
    server.noise = 0.05
    await server.call(until={"passed": 6000})
    assert server.tempo.rate > 100


async def test_calls_that_were_under_way_are_counted_when_they_are_refused():
    clock = SleepersClock()
    tempo = Tempo(sleep=clock.sleep, clock=clock)
    started = [await tempo.start() for _ in range(64)]
    clock.now = 0.1
    assert [tempo.refused(at, 0.9) for at in started[:4]] == [False, False, False, True]
    assert tempo.rate == pytest.approx(0.9 * 60)
    for at in started[4:54]:
        assert not tempo.refused(at, 0.9)
    assert tempo.rate == pytest.approx(0.9 * 10)
    await tempo.start()
    assert clock.now == pytest.approx(1.0)
