"""An endpoint that is down costs few calls, is found again by one probe, and does not suffer for one bad question."""

import asyncio

from enricher.judges.breaker import Breaker, Entry


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def broken(clock, *, patience_s=60.0):
    breaker = Breaker(patience_s=patience_s, clock=clock)
    for number in range(5):
        breaker.failed(number, Entry.PASS)
    assert breaker.is_open
    return breaker


async def test_failures_of_many_questions_open_it_and_one_probe_closes_it():
    clock = Clock()
    breaker = broken(clock)
    clock.now = 1.0
    assert await breaker.enter() is Entry.PROBE
    others = [asyncio.create_task(breaker.enter()) for _ in range(3)]
    await asyncio.sleep(0)
    assert not any(other.done() for other in others)
    breaker.succeeded()
    assert await asyncio.gather(*others) == [Entry.PASS] * 3


async def test_failures_of_one_question_leave_it_closed():
    breaker = Breaker(patience_s=60.0, clock=Clock())
    for _ in range(20):
        breaker.failed("poison", Entry.PASS)
    assert not breaker.is_open


async def test_an_answer_between_failures_leaves_it_closed():
    breaker = Breaker(patience_s=60.0, clock=Clock())
    for number in range(20):
        breaker.failed(number, Entry.PASS)
        if number % 4 == 3:
            breaker.succeeded()
    assert not breaker.is_open


async def test_after_a_failed_probe_the_next_one_comes_later():
    clock = Clock()
    breaker = broken(clock)
    clock.now = 1.0
    breaker.failed("probe", await breaker.enter())
    clock.now = 2.9
    waiting = asyncio.create_task(breaker.enter())
    await asyncio.sleep(0)
    assert not waiting.done()
    waiting.cancel()
    clock.now = 3.1
    assert await breaker.enter() is Entry.PROBE


async def test_open_for_too_long_is_down_but_still_probed():
    clock = Clock()
    breaker = broken(clock, patience_s=0.5)
    clock.now = 0.6
    assert breaker.is_down
    assert await breaker.enter() is Entry.DOWN
    clock.now = 1.1
    assert await breaker.enter() is Entry.PROBE
    assert await breaker.enter() is Entry.DOWN
    breaker.succeeded()
    assert not breaker.is_down
    assert await breaker.enter() is Entry.PASS


async def test_a_probe_that_was_cancelled_leaves_its_place_to_the_next():
    clock = Clock()
    breaker = broken(clock)
    clock.now = 1.0
    breaker.abandoned(await breaker.enter())
    assert await breaker.enter() is Entry.PROBE
