"""Plain records on several cores: the rows of one process, in its order, and an end that leaves nothing behind."""

import asyncio
import json
import multiprocessing
import os
import signal
from collections.abc import AsyncIterator
from contextlib import aclosing
from itertools import count

import pytest

from enricher.errors import SetupError
from enricher.executors.processes import ProcessExecutor, WorkerLost
from enricher.judges.local import LocalDiffJudge
from enricher.judging import judge_file
from enricher.progress import Silent
from enricher.records import judge_records
from enricher.seams import Executor
from enricher.settings import load
from enricher.workers import judge_on_cores


def _record(number: int) -> str:
    document = {"id": "d", "text": f"Notice is {number} days. Fees are refunded pro rata."}
    return json.dumps({"id": number, "answer": f"Notice is {number % 7} days.", "documents": [document]})


def _untimed(row: dict) -> dict:
    return {key: value for key, value in row.items() if key != "usage"}


async def test_several_processes_give_the_rows_of_one_in_its_order_and_name_what_they_cannot_read():
    lines = [(n, "{broken" if n == 20 else _record(n)) for n in range(1, 71)]
    alone = [row async for row in judge_records(lines, LocalDiffJudge())]
    shared = [row async for row in judge_on_cores(lines, load(None, {}), "diff", workers=2)]
    assert [_untimed(row) for row in shared] == [_untimed(row) for row in alone]
    assert "line 20 can't be read" in shared[19]["explanation"]


def _begin() -> None:
    pass


async def _work(number: int) -> int:
    if number < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


async def _slow_at_first(number: int) -> int:
    await asyncio.sleep(1.0 if number == 0 else 0.0)
    return number


async def counted() -> AsyncIterator[int]:
    for number in count():
        taken.append(number)
        yield number


async def these(*numbers: int) -> AsyncIterator[int]:
    for number in numbers:
        yield number


taken: list[int] = []


async def test_the_source_is_read_no_further_than_the_work_and_an_early_end_leaves_no_process():
    taken.clear()
    async with aclosing(ProcessExecutor(workers=2, begin=_begin, in_order=True).map(_work, counted())) as results:
        first = [await anext(results) for _ in range(3)]
    assert first == [0, 1, 2]
    assert len(taken) <= 3 + 4
    assert multiprocessing.active_children() == []


async def test_results_come_in_the_order_of_the_values_only_where_that_is_asked_for():
    for in_order in (True, False):
        executor = ProcessExecutor(workers=2, begin=_begin, in_order=in_order)
        assert isinstance(executor, Executor)
        found = [number async for number in executor.map(_slow_at_first, these(*range(6)))]
        assert sorted(found) == list(range(6))
        assert (found[0] == 0) is in_order


async def test_a_worker_that_is_killed_is_named_after_the_results_before_it():
    results = ProcessExecutor(workers=1, begin=_begin).map(_work, these(1, -1, 2))
    assert await anext(results) == 1
    with pytest.raises(WorkerLost, match="ended from outside"):
        await anext(results)
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize("which", [0, 1])
async def test_a_killed_worker_holds_up_no_other_even_when_both_had_nothing_to_do(which):
    async def told() -> AsyncIterator[int]:
        for number in range(4):
            yield number
        await asyncio.sleep(2)  # both wait for work: one at the lock of the queue, which the other holds
        os.kill(multiprocessing.active_children()[which].pid, signal.SIGKILL)
        await asyncio.sleep(0.5)
        yield 4

    async with asyncio.timeout(60):
        with pytest.raises(WorkerLost):
            _ = [number async for number in ProcessExecutor(workers=2, begin=_begin).map(_work, told())]
    assert multiprocessing.active_children() == []


async def test_workers_do_not_hear_who_stops_all_processes_even_as_they_are_begun():
    async def told() -> AsyncIterator[int]:
        for number in range(8):
            for child in multiprocessing.active_children():
                os.kill(child.pid, signal.SIGTERM)
                os.kill(child.pid, signal.SIGINT)
            yield number

    found = [number async for number in ProcessExecutor(workers=2, begin=_begin).map(_work, told())]
    assert sorted(found) == list(range(8))


async def _endless(number: int) -> int:
    if number:
        await asyncio.sleep(600)
    return number


@pytest.mark.parametrize("work", [_work, _endless])
async def test_cancelling_ends_the_processes_and_waits_for_nothing_that_is_under_way(work):
    async def all_of_them() -> None:
        async for _ in ProcessExecutor(workers=1, begin=_begin).map(work, counted()):
            begun.set()

    begun = asyncio.Event()
    task = asyncio.create_task(all_of_them())
    await begun.wait()
    task.cancel()
    async with asyncio.timeout(30):
        await asyncio.wait([task])
    assert task.cancelled()
    assert multiprocessing.active_children() == []


async def test_several_processes_are_refused_where_a_model_is_asked(tmp_path):
    (tmp_path / "in.jsonl").write_text(_record(1))
    settings = load(None, {"ENRICHER_OPENAI__MODEL": "m"})
    with pytest.raises(SetupError, match="--workers is for the engine local"):
        await judge_file(settings, tmp_path / "in.jsonl", None, "diff", "openai", Silent(), workers=2)
