"""The books of model traffic, on both engines: no two processes spend the same money or lose a call of a batch."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from enricher.store import Store
from enricher.store.traffic import Caps, StoreBatchBook, StoreLedger, keepsake, spent_on
from enricher.traffic import BatchState

NOW = datetime(2026, 11, 1, 23, 30, tzinfo=UTC)


@pytest.fixture
async def store(url):
    async with await Store.open(url, clock=lambda: NOW) as opened:
        yield opened


async def test_processes_that_reserve_at_once_never_get_more_than_the_cap(url, store):
    async with await Store.open(url, clock=lambda: NOW) as other:
        ledgers = [StoreLedger(place, "nightly", Caps(per_day=1.0)) for place in (store, other) for _ in range(5)]
        grants = await asyncio.gather(*(ledger.reserve(0.1, 0.3) for ledger in ledgers))
    assert 0.7 <= sum(grant.amount for grant in grants) <= 1.0 + 1e-9
    assert any("1 a day (budget.per_day)" in grant.cap for grant in grants)


async def test_what_is_given_back_can_be_spent_by_others(store):
    first, second = (StoreLedger(store, "nightly", Caps(per_day=1.0)) for _ in range(2))
    assert (await first.reserve(0.1, 1.0)).amount == 1.0
    assert (await second.reserve(0.1, 0.1)).amount == 0.0
    await first.settle(0.4)
    assert (await second.reserve(0.1, 1.0)).amount == pytest.approx(0.6)
    assert await spent_on(store, NOW) == pytest.approx(1.0)


async def test_each_cap_counts_its_own(store):
    nightly = StoreLedger(store, "nightly", Caps(job_per_day=0.5, per_day=1.0))
    assert (await nightly.reserve(0.1, 9.0)).amount == 0.5
    assert "jobs.nightly.budget.per_day" in (await nightly.reserve(0.1, 9.0)).cap
    hourly = StoreLedger(store, "hourly", Caps(per_day=1.0, per_run=0.2))
    assert (await hourly.reserve(0.1, 9.0)).amount == pytest.approx(0.2)
    again = StoreLedger(store, "hourly", Caps(per_day=1.0, per_run=0.2))
    assert (await again.reserve(0.1, 9.0)).amount == pytest.approx(0.2)
    assert await spent_on(store, NOW, "hourly") == pytest.approx(0.4)


async def test_processes_that_work_on_one_run_share_its_cap(store):
    workers = [StoreLedger(store, "nightly", Caps(per_run=1.0), run="20261101-1") for _ in range(3)]
    for worker in workers:
        await worker.reserve(0.4, 0.4)
    assert (await workers[0].reserve(0.4, 0.4)).amount == 0
    await workers[1].settle(0.1)
    assert (await workers[0].reserve(0.4, 0.4)).amount == pytest.approx(0.4)


async def test_a_run_over_midnight_is_booked_on_both_days(store):
    now = [NOW]
    store.clock = lambda: now[0]
    ledger = StoreLedger(store, "nightly", Caps(per_day=1.0))
    await ledger.reserve(0.1, 1.0)
    now[0] += timedelta(hours=1)
    await ledger.reserve(0.1, 1.0)
    await ledger.settle(1.3)
    assert await spent_on(store, NOW) == pytest.approx(1.0)
    assert await spent_on(store, now[0]) == pytest.approx(0.3)


async def test_a_keepsake_is_the_same_for_all_processes(url, store):
    async with await Store.open(url) as other:
        made = await asyncio.gather(*(keepsake(place, "fence") for place in (store, other)))
    assert made[0] == made[1]
    assert len(made[0]) == 32
    assert await keepsake(store, "another") != made[0]


async def test_a_batch_is_recorded_step_by_step_and_its_answers_by_call(store):
    book = StoreBatchBook(store, "http://m")
    await book.add_batch("b1", {"k1": "t1", "k2": "t2"})
    await book.advance("b1", BatchState.UPLOADED, input_file="f1")
    await book.advance("b1", BatchState.SUBMITTED, remote_id="r1")
    [record] = await book.open_batches()
    assert (record.id, record.state, record.input_file, record.remote_id) == ("b1", BatchState.SUBMITTED, "f1", "r1")
    assert record.is_ours
    assert await StoreBatchBook(store, "http://elsewhere").open_batches() == []
    assert (await book.line("k1")).batch_id == "b1"
    await book.end_batch("b1", {"k1": (200, '{"a": 1}'), "foreign": (200, "{}")}, "expired")
    assert await book.open_batches() == []
    answered, left = await book.line("k1"), await book.line("k2")
    assert (answered.status, answered.body) == (200, '{"a": 1}')
    assert (left.status, left.batch_id, left.tries) == (None, None, 1)
    assert await book.line("foreign") is None


async def test_a_call_in_another_batch_counts_its_tries_and_keeps_when_it_was_first_asked(store):
    now = [NOW]
    store.clock = lambda: now[0]
    book = StoreBatchBook(store, "http://m")
    await book.add_batch("b1", {"k1": "t1"})
    await book.end_batch("b1", {}, "expired")
    now[0] += timedelta(hours=3)
    await book.add_batch("b2", {"k1": "t1"})
    line = await book.line("k1")
    assert (line.batch_id, line.tries, line.first_asked_at) == ("b2", 2, NOW)
    await book.advance("b1", BatchState.SUBMITTED)
    assert [record.id for record in await book.open_batches()] == ["b2"]


async def test_what_nobody_came_back_for_goes_after_a_month(store):
    now = [NOW]
    store.clock = lambda: now[0]
    book = StoreBatchBook(store, "http://m")
    await book.add_batch("b1", {"k1": "t1", "k2": "t2"})
    await book.end_batch("b1", {"k1": (200, "{}")}, "")
    await book.drop_lines(["k2"])
    assert await book.line("k2") is None
    now[0] += timedelta(days=31)
    await book.add_batch("b2", {"k3": "t3"})
    assert await book.line("k1") is None
