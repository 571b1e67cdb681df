"""A job on a Dask cluster, end to end: real Phoenix, PostgreSQL and worker processes, of which some are killed."""

import asyncio
import random

import pytest
import yaml

from tests.acceptance.command import until
from tests.chaos.invariants import broken
from tests.chaos.world import Stage, made_world
from tests.servers.dask import running_cluster

pytestmark = pytest.mark.long  # tests/executors kills workers in every run of the suite
TRACES = 12
WITHIN_S = 400.0  # each worker imports everything at its first page, which takes long on a busy machine


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with running_cluster(tmp_path_factory.mktemp("dask"), {"OPENAI_API_KEY": "sk-of-the-worker"}) as running:
        for _ in range(2):
            running.add_worker()
        yield running


@pytest.fixture
async def world(starter, phoenix_server, postgres, cluster, tmp_path):
    stage = Stage(
        starter=starter, open_phoenix=lambda: phoenix_server, open_postgres=lambda: postgres, open_clock=lambda: None
    )  # fmt: skip
    kind = {"platform": "phoenix", "store": "postgres", "engine": "openai", "runner": "run", "traces": TRACES}
    async with made_world(stage, tmp_path, random.Random(1), **kind) as made:
        made.model.latency_s = 0.05
        made.within_s = WITHIN_S
        config = tmp_path / "enricher.yaml"
        settings = yaml.safe_load(config.read_text())
        settings |= {"executor": "dask", "concurrency": 2}
        settings["dask"] = {"scheduler": cluster.address, "shard_size": 3, "lost_after": "10s"}
        settings["connections"]["phoenix"]["timeout"] = "30s"
        config.write_text(yaml.safe_dump(settings))
        yield made


async def has_settled(world, least: int) -> None:
    await until(lambda: world.progress("settled") >= least, within_s=WITHIN_S)


async def expect_all_is_well(world) -> None:
    world.note_settled()
    assert world.violations == []
    assert await broken(world, is_raving=False) == []


async def test_what_a_killed_worker_had_under_way_is_annotated_once_within_the_same_run(world, cluster):
    ending = asyncio.create_task(world.ending(world.start()))
    await has_settled(world, 2)
    cluster.kill(cluster.workers.pop(0))
    cluster.add_worker()
    world.note_settled()
    finished = await ending
    assert finished.code == 0, (finished.err, finished.out)
    assert finished.json["scored"] == TRACES
    await expect_all_is_well(world)


async def test_a_store_that_is_away_for_some_seconds_costs_a_run_on_workers_nothing(world, postgres):
    ending = asyncio.create_task(world.ending(world.start()))
    await has_settled(world, 2)
    world.note_settled()
    world.ledger.forget()
    postgres.stop()
    await asyncio.sleep(2)
    postgres.start()
    finished = await ending
    assert finished.code == 0, (finished.err, finished.out)
    assert finished.json["scored"] == TRACES
    await expect_all_is_well(world)


async def test_after_a_minute_without_its_store_the_next_run_annotates_the_rest(world, postgres):
    ending = asyncio.create_task(world.ending(world.start()))
    await has_settled(world, 2)
    world.note_settled()
    world.ledger.forget()
    postgres.stop()
    await asyncio.sleep(60)
    postgres.start()
    finished = await ending
    assert finished.code in (0, 1), (finished.err, finished.out)  # workers may wait for less than a minute
    finished = await world.ending(world.start())
    assert finished.code == 0, (finished.err, finished.out)
    await expect_all_is_well(world)


async def test_after_a_scheduler_was_killed_and_is_back_the_next_run_annotates_the_rest(world, cluster):
    ending = asyncio.create_task(world.ending(world.start()))
    await has_settled(world, 2)
    cluster.restart_scheduler()
    finished = await ending
    assert finished.code == 1, (finished.err, finished.out)
    assert any("scheduler" in problem for problem in finished.json["problems"])
    assert finished.json["left"] > 0
    for _ in range(2):
        cluster.add_worker()
    world.note_settled()
    finished = await world.ending(world.start())
    assert finished.code == 0, (finished.err, finished.out)
    await expect_all_is_well(world)
