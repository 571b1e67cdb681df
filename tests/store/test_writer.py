"""Group commits: what is queued together is committed together, and each caller waits for its own."""

import asyncio

import pytest
from sqlalchemy import event

from enricher.store import Store
from enricher.store.sharing import same_input
from tests.store.samples import settlement


async def test_settlements_that_are_queued_together_share_a_commit(tmp_path):
    async with await Store.open(f"sqlite:///{tmp_path}/store.db", window_s=0.05) as store:
        run = await store.start_run("nightly")
        commits = []
        event.listen(store._engine, "commit", commits.append)
        await asyncio.gather(*(store.settle(settlement(run, number)) for number in range(200)))
        assert len(commits) == 1


async def test_a_group_is_bounded(tmp_path):
    async with await Store.open(f"sqlite:///{tmp_path}/store.db", window_s=0.05) as store:
        run = await store.start_run("nightly")
        commits = []
        event.listen(store._engine, "commit", commits.append)
        await asyncio.gather(*(store.settle(settlement(run, number)) for number in range(1200)))
        assert len(commits) == 3


async def test_what_many_look_up_at_a_time_is_asked_for_together(store):
    run = await store.start_run("nightly")
    settlements = [settlement(run, number) for number in range(60)]
    await asyncio.gather(*map(store.settle, settlements))
    keys = [each.evaluations[0].key(each.ref.connection) for each in settlements]
    new = [key._replace(input_hash="another") for key in keys]
    asked = []
    event.listen(store._engine, "begin", asked.append)
    known = await asyncio.gather(*(same_input(store, key) for key in (*keys, *new)))
    assert len(asked) == 1
    assert [verdict.trace_id for verdict in known[:60]] == [f"t{number}" for number in range(60)]
    assert known[60:] == [[]] * 60


async def test_what_a_caller_returned_from_is_seen_by_another_process(url):
    async with await Store.open(url) as store, await Store.open(url) as other:
        run = await store.start_run("nightly")
        await store.settle(settlement(run))
        assert len((await other.explain("t1")).evaluations) == 1


async def test_a_caller_that_goes_away_disturbs_nobody(store):
    run = await store.start_run("nightly")
    leaving = asyncio.create_task(store.settle(settlement(run, 1)))
    staying = asyncio.create_task(store.settle(settlement(run, 2)))
    await asyncio.sleep(0)
    leaving.cancel()
    assert await staying == 1
    with pytest.raises(asyncio.CancelledError):
        await leaving


async def test_closing_commits_what_is_queued_and_refuses_more(url):
    store = await Store.open(url, window_s=0.05)
    run = await store.start_run("nightly")
    settling = asyncio.create_task(store.settle(settlement(run)))
    await asyncio.sleep(0)
    await store.aclose()
    assert await settling == 1
    with pytest.raises(RuntimeError, match="closed"):
        await store.settle(settlement(run, 2))


async def test_many_processes_writing_at_once_lose_nothing(url):
    stores = [await Store.open(url) for _ in range(3)]
    run = await stores[0].start_run("nightly")
    settling = [stores[number % 3].settle(settlement(run, number // 3)) for number in range(150)]
    assert sum(await asyncio.gather(*settling)) == 50
    assert (await stores[0].tally(run)).outbox == {"pending": 50}
    for store in stores:
        await store.aclose()
