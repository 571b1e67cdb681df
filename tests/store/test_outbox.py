"""Claiming write-backs and recording what became of them."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from enricher.store import Outcome, Store
from enricher.verdict import DeliveryState
from tests.store.samples import annotation, evaluation, settlement


class Clock:
    """A clock that a test moves."""

    def __init__(self):
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self):
        return self.now

    def forward(self, **parts):
        self.now += timedelta(**parts)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
async def store(url, clock):
    async with await Store.open(url, clock=clock) as opened:
        run = await opened.start_run("nightly")
        for number in range(3):
            await opened.settle(settlement(run, number))
        yield opened


def outcome(due, state, **parts):
    given = {"next_attempt_at": datetime(2026, 1, 1, tzinfo=UTC), "attempts": due.attempts + 1, "checks": 0}
    return Outcome(due=due, state=state, **{**given, **parts})


async def test_a_claimed_write_back_is_given_to_nobody_else(store):
    assert len(await store.claim_due("phoenix", limit=2)) == 2
    assert len(await store.claim_due("phoenix", limit=2)) == 1
    assert await store.claim_due("phoenix") == []


async def test_a_claim_that_is_given_back_can_be_claimed_again(store):
    claimed = await store.claim_due("phoenix")
    await store.release(claimed)
    assert await store.claim_due("phoenix") == claimed


async def test_a_claim_that_nobody_records_ends_by_itself(store, clock):
    claimed = await store.claim_due("phoenix")
    clock.forward(seconds=119)
    assert await store.claim_due("phoenix") == []
    clock.forward(seconds=2)
    assert await store.claim_due("phoenix") == claimed


async def test_only_the_named_connection_is_claimed(store):
    assert await store.claim_due("langsmith") == []
    assert await store.next_due("langsmith") is None


async def test_a_write_back_is_claimed_when_its_time_has_come(store, clock):
    first, *others = await store.claim_due("phoenix")
    later = clock.now + timedelta(seconds=10)
    await store.record([outcome(first, DeliveryState.RETRY, next_attempt_at=later, reason="429")])
    await store.record([outcome(other, DeliveryState.CONFIRMED) for other in others])

    assert await store.claim_due("phoenix") == []
    assert await store.next_due("phoenix") == later
    clock.forward(seconds=10)
    again = await store.claim_due("phoenix")
    assert [(due.annotation, due.attempts, due.state) for due in again] == [(first.annotation, 1, DeliveryState.RETRY)]


async def test_what_a_clock_that_was_ahead_put_off_or_claimed_is_due(store, clock):
    clock.forward(days=400)
    claimed, *others = await store.claim_due("phoenix")
    later = clock.now + timedelta(minutes=5)
    await store.record([outcome(other, DeliveryState.RETRY, next_attempt_at=later) for other in others])
    clock.forward(days=-400)

    assert await store.next_due("phoenix") == clock.now
    due = await store.claim_due("phoenix")
    assert {one.annotation.key for one in due} == {one.annotation.key for one in (claimed, *others)}


async def test_what_was_sent_is_claimed_to_be_looked_for(store, clock):
    sent_at = clock.now
    claimed = await store.claim_due("phoenix")
    await store.record([outcome(due, DeliveryState.SENT, remote_id="r1") for due in claimed])
    clock.forward(seconds=1)

    due = (await store.claim_due("phoenix"))[0]
    assert due.state is DeliveryState.SENT
    await store.record([outcome(due, DeliveryState.CONFIRMED, attempts=due.attempts)])

    record = (await store.explain(due.annotation.trace_id)).outbox[0]
    assert record.state is DeliveryState.CONFIRMED
    assert (record.sent_at, record.confirmed_at, record.remote_id) == (sent_at, clock.now, "r1")


async def test_confirmed_and_failed_write_backs_are_never_claimed_again(store, clock):
    one, two, three = await store.claim_due("phoenix")
    await store.record(
        [
            outcome(one, DeliveryState.CONFIRMED),
            outcome(two, DeliveryState.FAILED, reason="no such span"),
            outcome(three, DeliveryState.CONFIRMED),
        ]
    )
    clock.forward(days=30)
    assert await store.claim_due("phoenix") == []
    assert (await store.backlogs())["phoenix"].failed == 1
    assert (await store.backlogs())["phoenix"].open == 0


async def test_a_late_result_for_replaced_content_does_not_count_for_the_new_content(store):
    claimed = {due.annotation.trace_id: due for due in await store.claim_due("phoenix")}
    run = (await store.runs())[0].id
    newer = evaluation(1, input_hash="input-2", annotations=(annotation(1, label="faithful"),))
    await store.settle(settlement(run, 1, newer))
    # Still claimed for the older content: the newer one must not overtake it.
    assert await store.claim_due("phoenix") == []

    await store.record([outcome(claimed["t1"], DeliveryState.CONFIRMED)])

    due = await store.claim_due("phoenix")
    assert [(d.annotation.label, d.state, d.attempts) for d in due] == [("faithful", DeliveryState.PENDING, 0)]


async def test_a_late_failure_does_not_undo_a_confirmation(store):
    due = (await store.claim_due("phoenix"))[0]
    await store.record([outcome(due, DeliveryState.CONFIRMED)])
    await store.record([outcome(due, DeliveryState.RETRY, reason="time out")])
    assert (await store.explain(due.annotation.trace_id)).outbox[0].state is DeliveryState.CONFIRMED


async def test_the_backlog_counts_by_connection_and_state(store, clock):
    one, two, _ = await store.claim_due("phoenix")
    await store.record([outcome(one, DeliveryState.SENT), outcome(two, DeliveryState.RETRY)])
    backlog = (await store.backlogs())["phoenix"]
    assert (backlog.pending, backlog.sent, backlog.retry, backlog.open) == (1, 1, 1, 3)
    assert backlog.oldest == clock.now


async def test_processes_that_claim_at_once_get_different_write_backs(store, url):
    run = (await store.runs())[0].id
    for number in range(3, 60):
        await store.settle(settlement(run, number))
    others = [await Store.open(url, clock=store.clock) for _ in range(3)]
    claims = await asyncio.gather(*(other.claim_due("phoenix", limit=5) for other in others for _ in range(4)))
    keys = [due.annotation.key for claimed in claims for due in claimed]
    assert len(keys) == len(set(keys)) == 60
    for other in others:
        await other.aclose()
