"""The Dask executor: on real worker processes, which are killed."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from distributed import LocalCluster
from distributed.comm.core import CommClosedError

from enricher.errors import SetupError, TryAgain
from enricher.executors.dask import DaskExecutor
from enricher.seams import Executor
from tests.executors.work import doubled, kill, refuse
from tests.servers.dask import running_cluster

pytestmark = pytest.mark.filterwarnings("ignore")  # what the package itself warns of as its processes die


@pytest.fixture
def cluster(tmp_path):
    with running_cluster(tmp_path) as running:
        yield running


async def numbers(count: int) -> AsyncIterator[int]:
    for number in range(count):
        yield number


async def test_all_values_are_worked_on_and_workers_that_join_late_take_part(cluster):
    executor = DaskExecutor(cluster.address)
    assert isinstance(executor, Executor)
    first = cluster.add_worker()
    results, joined = [], None
    async for result, process in executor.map(doubled, numbers(60)):
        results.append((result, process))
        joined = joined or (cluster.add_worker() if len(results) == 5 else None)
    assert sorted(result for result, _ in results) == [2 * number for number in range(60)]
    assert {process for _, process in results} == {first.pid, joined.pid}


async def test_what_a_killed_worker_had_under_way_is_done_by_another(cluster):
    doomed, other = cluster.add_worker(), cluster.add_worker()
    results = []
    async for result, process in DaskExecutor(cluster.address).map(doubled, numbers(40)):
        results.append((result, process))
        if process == doomed.pid and doomed.poll() is None:
            cluster.kill(doomed)
    assert sorted(result for result, _ in results) == [2 * number for number in range(40)]
    assert sum(process == other.pid for _, process in results) > 20


async def test_no_more_than_a_few_values_are_taken_from_the_source_at_once(cluster):
    cluster.add_worker()
    taken = 0

    async def counted() -> AsyncIterator[int]:
        nonlocal taken
        async for number in numbers(30):
            taken += 1
            yield number

    finished = 0
    async for _ in DaskExecutor(cluster.address).map(doubled, counted()):
        finished += 1
        assert taken - finished <= 4
    assert finished == 30


async def test_what_the_operator_must_mend_ends_the_map(cluster):
    cluster.add_worker()
    with pytest.raises(SetupError, match="no key for 0"):
        _ = [result async for result in DaskExecutor(cluster.address).map(refuse, numbers(1))]


async def test_a_page_that_kills_every_worker_is_given_up(cluster):
    async def replace_the_dead() -> None:
        while True:
            if all(worker.poll() is not None for worker in cluster.workers):
                cluster.add_worker()
            await asyncio.sleep(0.2)

    replacing = asyncio.create_task(replace_the_dead())
    try:
        with pytest.raises(TryAgain, match="workers die on the same page"):
            _ = [result async for result in DaskExecutor(cluster.address).map(kill, numbers(1))]
    finally:
        replacing.cancel()


async def test_a_scheduler_that_goes_away_while_a_result_is_on_its_way_is_an_outage(cluster, monkeypatch):
    cluster.add_worker()

    async def cut_off(client, futures):
        raise CommClosedError("Stream is closed")

    monkeypatch.setattr("distributed.Client._gather", cut_off)
    with pytest.raises(TryAgain, match="scheduler"):
        async for _ in DaskExecutor(cluster.address).map(doubled, numbers(4)):
            pass


async def test_a_scheduler_that_goes_away_is_an_outage_and_not_a_wait_for_ever(cluster):
    cluster.add_worker()
    results = []

    async def work() -> None:
        async for result in DaskExecutor(cluster.address, lost_after_s=3).map(doubled, numbers(200)):
            results.append(result)
            if cluster.scheduler.poll() is None:
                cluster.kill(cluster.scheduler)

    with pytest.raises(TryAgain, match="scheduler"):
        await work()
    assert 0 < len(results) < 200


@pytest.mark.long
async def test_a_cluster_that_adapts_grows_for_the_work_and_shrinks_when_it_is_done():
    local = {"processes": True, "threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": None}
    async with LocalCluster(n_workers=0, asynchronous=True, silence_logs=50, **local) as cluster:
        cluster.adapt(minimum=0, maximum=2, interval="100ms", wait_count=5, target_duration="500ms")
        results = [one async for one in DaskExecutor(cluster.scheduler_address).map(doubled, numbers(150))]
        assert sorted(result for result, _ in results) == [2 * number for number in range(150)]
        assert len({process for _, process in results}) >= 2
        async with asyncio.timeout(60):
            while cluster.scheduler.workers:
                await asyncio.sleep(0.1)


async def test_an_address_where_nobody_listens_is_a_setup_error():
    with pytest.raises(SetupError, match="no Dask scheduler at"):
        _ = [result async for result in DaskExecutor("tcp://127.0.0.1:1", lost_after_s=1).map(doubled, numbers(1))]
