"""One run of a job at a time, over processes."""

import asyncio
import sys
from datetime import timedelta

import pytest

from enricher.store import Store, leases

HOLDER = (
    "import asyncio, sys\n"
    "from enricher.store import Store\n"
    "async def main():\n"
    "    store = await Store.open(sys.argv[1])\n"
    "    async with store.hold('nightly') as hold:\n"
    "        print(hold.grant.granted, flush=True)\n"
    "        await asyncio.sleep(60)\n"
    "asyncio.run(main())\n"
)


async def test_a_second_owner_is_told_who_holds_the_lease(store):
    async with store.hold("nightly") as first, store.hold("nightly") as second:
        assert first.is_held
        assert not second.is_held
        assert second.grant.owner == first.grant.owner


async def test_a_lease_is_free_when_its_holder_leaves(store):
    async with store.hold("nightly"):
        pass
    async with store.hold("nightly") as hold:
        assert hold.is_held


async def test_leases_of_other_jobs_are_independent(store):
    async with store.hold("nightly"), store.hold("weekly") as other:
        assert other.is_held


async def test_a_lease_outlives_its_time_to_live_while_its_holder_breathes(store):
    async with store.hold("nightly", ttl_s=0.4) as first:
        await asyncio.sleep(1.0)
        async with store.hold("nightly") as second:
            assert not second.is_held
        assert first.is_held


async def test_a_holder_that_was_taken_over_is_told(store):
    async with store.hold("nightly", ttl_s=0.4) as hold:
        await store.transact(lambda c: leases.release(c, "nightly", hold.grant.owner))
        async with store.hold("nightly") as other:
            assert other.is_held
            await asyncio.wait_for(hold.lost.wait(), 5)
            assert not hold.is_held


@pytest.mark.parametrize("year", [2099, 1999], ids=["ahead", "behind"])
async def test_a_clock_that_is_wrong_takes_no_lease_from_a_holder_that_breathes(store, url, year):
    async with store.hold("nightly", ttl_s=2.0) as hold:
        rival = await Store.open(url, clock=lambda: store.clock().replace(year=year))
        async with rival, rival.hold("nightly") as other:
            assert not other.is_held
            assert other.grant.owner == hold.grant.owner
        await asyncio.sleep(0.6)  # a beat
        assert hold.is_held


@pytest.mark.parametrize("year", [2099, 1999], ids=["its clock was ahead", "its time has come"])
async def test_the_lease_of_a_holder_elsewhere_that_breathes_no_more_is_taken(url, year):
    async with await Store.open(url) as store:
        then = store.clock().replace(year=year)
        ttl = timedelta(seconds=0.4)
        await store.transact(lambda c: leases.acquire(c, "nightly", "elsewhere/-/1/2", ttl, then))
        async with store.hold("nightly") as hold:
            assert hold.is_held


async def test_the_lease_of_a_killed_process_on_this_host_is_free_at_once(store, url):
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", HOLDER, url, stdout=asyncio.subprocess.PIPE)
    assert await process.stdout.readline() == b"True\n"
    async with store.hold("nightly") as hold:
        assert not hold.is_held

    process.kill()
    await process.wait()

    async with store.hold("nightly") as hold:
        assert hold.is_held
