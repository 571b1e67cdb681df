"""The local executor: bounded, overlapping, and tidy when something ends early."""

import asyncio
import contextlib

import pytest

from enricher.executors.local import LocalExecutor


async def _numbers(count: int, pause: float = 0.0):
    for number in range(count):
        await asyncio.sleep(pause)
        yield number


async def test_every_value_gives_one_result_and_no_more_than_allowed_are_under_way():
    under_way = peak = 0

    async def work(number: int) -> int:
        nonlocal under_way, peak
        under_way += 1
        peak = max(peak, under_way)
        await asyncio.sleep(0.002)
        under_way -= 1
        return number

    results = [r async for r in LocalExecutor(concurrency=4).map(work, _numbers(40))]
    assert sorted(results) == list(range(40))
    assert peak == 4


async def test_the_source_is_not_read_ahead_of_the_work():
    read = 0

    async def source():
        nonlocal read
        for number in range(100):
            read += 1
            yield number

    async def work(number: int) -> int:
        await asyncio.sleep(0)
        return number

    results = LocalExecutor(concurrency=3).map(work, source())
    await anext(results)
    assert read <= 5
    await results.aclose()


async def test_a_ready_result_does_not_wait_for_a_slow_source():
    async def source():
        yield 1
        await asyncio.sleep(30)
        yield 2

    async def work(number: int) -> int:
        return number

    results = LocalExecutor(concurrency=2).map(work, source())
    assert await asyncio.wait_for(anext(results), 5) == 1
    await results.aclose()


async def test_an_exception_ends_the_map_and_cancels_the_others():
    cancelled = []

    async def work(number: int) -> int:
        if number == 1:
            raise ValueError("boom")
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            cancelled.append(number)
            raise
        return number

    with pytest.raises(ValueError, match="boom"):
        async for _ in LocalExecutor(concurrency=3).map(work, _numbers(3)):
            pass
    assert cancelled == [0] or cancelled == [0, 2]


async def test_closing_early_leaves_no_task_behind():
    async def work(number: int) -> int:
        await asyncio.sleep(0.001 if number == 0 else 30)
        return number

    before = asyncio.all_tasks()
    async with contextlib.aclosing(LocalExecutor(concurrency=3).map(work, _numbers(10))) as results:
        assert await anext(results) == 0
    assert asyncio.all_tasks() == before
