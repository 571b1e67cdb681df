"""How scheduled jobs stand, whichever process keeps them."""

from datetime import datetime
from zoneinfo import ZoneInfo

from apscheduler.triggers.base import BaseTrigger  # type: ignore[import-untyped]  # ships no type information

from enricher.settings import Schedule as Times
from enricher.settings import Settings
from enricher.store import ScheduleOutcome, ScheduleRecord, Store
from enricher.timetable import CronTimes, EveryTimes
from enricher.verdict import Noun


class Standing(Noun):
    """How a scheduled job stands, for people, health checks and monitors."""

    job: str
    schedule: str
    next_run: datetime | None
    is_running: bool = False  # in this process
    due_since: datetime | None = None  # something waits to be done since then
    outcome: ScheduleOutcome | None = None  # of the last one
    outcome_at: datetime | None = None
    reason: str = ""
    run_id: str | None = None
    last_success_at: datetime | None = None

    @property
    def is_well(self) -> bool:
        """Tell whether the last one came to its end."""
        return self.outcome is None or self.outcome.is_well


def trigger_of(times: Times) -> BaseTrigger:
    """Make the APScheduler trigger for the schedule of a job."""
    if times.every is not None:
        return EveryTimes(times.every)
    assert times.cron is not None  # the settings see to it that one of the two is given
    return CronTimes(times.cron, ZoneInfo(times.timezone))


async def standings(settings: Settings, store: Store) -> list[Standing]:
    """Return how the scheduled jobs of a config stand, whichever process keeps them."""
    records, now = await store.schedules(), store.clock()
    return [
        standing_of(name, job.schedule, records.get(name), now)
        for name, job in settings.jobs.items()
        if job.schedule is not None
    ]


def standing_of(name: str, times: Times, record: ScheduleRecord | None, now: datetime) -> Standing:
    """Return how a job stands by its schedule and by what is recorded of it."""
    known = record or ScheduleRecord(job=name)
    trigger = trigger_of(times)
    return Standing(
        job=name,
        schedule=str(trigger),
        next_run=trigger.get_next_fire_time(None, now),
        due_since=known.due_since,
        outcome=known.outcome,
        outcome_at=known.outcome_at,
        reason=known.reason,
        run_id=known.run_id,
        last_success_at=known.last_success_at,
    )
