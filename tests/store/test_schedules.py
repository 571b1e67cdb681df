"""What is due by the clock, noted once by however many processes, and closed once."""

from datetime import UTC, datetime, timedelta

import pytest

from enricher.store import ScheduleOutcome, Watermark
from enricher.store.engine import WRITES
from enricher.store.records import RunState
from enricher.store.schedules import note_due

NIGHT = datetime(2026, 11, 3, 2, tzinfo=UTC)
A_DAY = timedelta(days=1)


@pytest.fixture
def note(store):
    """Note moments as a process does whose clock shows `now`."""

    def noted(*due: datetime, now: datetime) -> None:
        with store.engine.execution_options(**{WRITES: True}).begin() as connection:
            note_due(connection, "nightly", due, now)

    return noted


async def test_two_processes_that_note_the_same_moment_note_it_once(store, note):
    for _ in range(2):
        note(NIGHT, now=NIGHT)
    record = (await store.schedules())["nightly"]
    assert (record.due_at, record.due_since, record.waiting) == (NIGHT, NIGHT, 1)


async def test_moments_of_a_downtime_wait_together(store, note):
    note(NIGHT - 2 * A_DAY, NIGHT - A_DAY, NIGHT, now=NIGHT)
    record = (await store.schedules())["nightly"]
    assert (record.due_at, record.due_since, record.waiting) == (NIGHT, NIGHT - 2 * A_DAY, 3)


async def test_what_is_done_is_not_due_again_for_a_process_whose_clock_is_late(store, note):
    note(NIGHT, now=NIGHT)
    await store.close_schedule((await store.schedules())["nightly"], ScheduleOutcome.CLEAN, run_id="r1")
    note(NIGHT, now=NIGHT - timedelta(seconds=20))
    record = (await store.schedules())["nightly"]
    assert (record.due_at, record.done_until, record.outcome) == (None, NIGHT, ScheduleOutcome.CLEAN)
    assert (record.run_id, record.last_success_at) == ("r1", record.outcome_at)


async def test_what_becomes_due_during_a_run_waits_for_the_next_one(store, note):
    note(NIGHT, now=NIGHT)
    running = (await store.schedules())["nightly"]
    note(NIGHT + A_DAY, now=NIGHT + A_DAY)
    for _ in range(2):  # a commit whose answer was lost is repeated
        await store.close_schedule(running, ScheduleOutcome.FAILED, reason="the key is wrong")
    record = (await store.schedules())["nightly"]
    assert (record.due_at, record.due_since, record.waiting) == (NIGHT + A_DAY, NIGHT + A_DAY, 1)
    assert (record.outcome, record.reason, record.last_success_at) == ("failed", "the key is wrong", None)


async def test_a_failure_keeps_the_time_of_the_last_success(store, note):
    note(NIGHT, now=NIGHT)
    await store.close_schedule((await store.schedules())["nightly"], ScheduleOutcome.INCOMPLETE)
    succeeded = (await store.schedules())["nightly"].last_success_at
    note(NIGHT + A_DAY, now=NIGHT + A_DAY)
    await store.close_schedule((await store.schedules())["nightly"], ScheduleOutcome.MISSED)
    assert (await store.schedules())["nightly"].last_success_at == succeeded


async def test_what_a_clock_noted_that_was_a_year_ahead_holds_nothing_back(store, note):
    ahead = NIGHT + 365 * A_DAY
    note(ahead, now=ahead)
    await store.close_schedule((await store.schedules())["nightly"], ScheduleOutcome.CLEAN)
    note(ahead + A_DAY, now=ahead + A_DAY)
    note(NIGHT, now=NIGHT)
    record = (await store.schedules())["nightly"]
    assert (record.due_at, record.due_since, record.waiting) == (NIGHT, NIGHT, 1)


async def test_a_watermark_goes_back_only_when_it_lies_ahead(store):
    async def complete(reached: datetime) -> datetime | None:
        run = await store.start_run("nightly")
        mark = Watermark(connection="files", rule="all", reached=reached)
        await store.finish_run(run, RunState.COMPLETED, counters={}, watermarks=[mark])
        return await store.watermark("nightly", "files", "all")

    now = store.clock()
    assert await complete(now - timedelta(hours=1)) == now - timedelta(hours=1)
    assert await complete(now - timedelta(hours=2)) == now - timedelta(hours=1)
    assert await complete(now + 365 * A_DAY) == now + 365 * A_DAY
    assert await complete(now) == now
