"""Keep the times of the jobs, on any number of machines at once: each is done once, and whoever is alive does it.

APScheduler's timers, kept in the store, say what is due; that is written down before the clock goes on
(`enricher.store.timers`). From there on nothing depends on one process: whoever gets the lease of a job does what is
written down as due, and what a process leaves behind, because it was stopped or killed, is still written down.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from zoneinfo import ZoneInfo

from apscheduler.executors.base import BaseExecutor  # type: ignore[import-untyped]  # ships no type information
from apscheduler.job import Job as Timed  # type: ignore[import-untyped]
from apscheduler.schedulers.background import BackgroundScheduler  # type: ignore[import-untyped]
from apscheduler.triggers.base import BaseTrigger  # type: ignore[import-untyped]

from enricher.app import App
from enricher.choosing import Request
from enricher.errors import EnricherError, SetupError
from enricher.progress import Silent
from enricher.report import RunReport
from enricher.run import JobWatcher, RunResult
from enricher.settings import Schedule as Times
from enricher.settings import Settings
from enricher.store import ScheduleOutcome, ScheduleRecord, Store
from enricher.store.engine import patiently, plain_errors
from enricher.store.timers import Timers
from enricher.timetable import CronTimes, EveryTimes
from enricher.verdict import Noun

log = logging.getLogger(__name__)

LOOK_S = 20.0  # how often the clock and the store are looked at, since a clock may jump and a process may die
_START_S = 30.0  # how long a busy store is waited for at the start
_RETRY_S = 10.0  # after the store could not be asked
_ON_TIME = timedelta(minutes=1)  # a run that starts later than this is said to be late


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """Something to do at certain times. Jobs of the config are entries, and so is work of our own, such as a purge.

    `work` does it; it is given an event that asks it to stop early. It may raise EnricherError, and returns a report
    whose state is "finished" when it came to its end and "skipped" when somebody else is at it.
    """

    name: str
    times: Times
    work: Callable[[asyncio.Event], Awaitable[RunResult]]

    @property
    def trigger(self) -> BaseTrigger:
        """Return what says when it is due."""
        return trigger_of(self.times)


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
        return self.outcome not in (ScheduleOutcome.FAILED, ScheduleOutcome.MISSED)


def trigger_of(times: Times) -> BaseTrigger:
    """Make the APScheduler trigger for the schedule of a job."""
    if times.every is not None:
        return EveryTimes(times.every)
    assert times.cron is not None  # the settings see to it that one of the two is given
    return CronTimes(times.cron, ZoneInfo(times.timezone))


def entries_of(app: App) -> list[Entry]:
    """Return the jobs of the config that have a schedule.

    Raises:
        SetupError: none has.
    """

    def run(name: str) -> Callable[[asyncio.Event], Awaitable[RunResult]]:
        return lambda stop: app.run(name, Request(), Silent(), stop)

    jobs = app.settings.jobs.items()
    found = [Entry(name=name, times=job.schedule, work=run(name)) for name, job in jobs if job.schedule is not None]
    if not found:
        raise SetupError("no job has a schedule; write one, for example jobs.nightly.schedule.cron: '0 2 * * *'")
    return found


async def standings(settings: Settings, store: Store) -> list[Standing]:
    """Return how the scheduled jobs of a config stand, whichever process keeps them."""
    records, now = await store.schedules(), store.clock()
    return [
        _standing(name, job.schedule, records.get(name), now)
        for name, job in settings.jobs.items()
        if job.schedule is not None
    ]


def _standing(name: str, times: Times, record: ScheduleRecord | None, now: datetime) -> Standing:
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


class Schedule:
    """Keeps entries until told to stop.

    Args:
        store: where timers, leases and outcomes are kept, and the clock.
        entries: what is to be done when.
        watchers: who hears of runs that ended and of runs that were missed; what they raise is logged.
        look_s: how often the clock and the store are looked at.
    """

    def __init__(
        self, store: Store, entries: Sequence[Entry], *, watchers: Sequence[JobWatcher] = (), look_s: float = LOOK_S
    ) -> None:
        self._store = store
        self._entries = {entry.name: entry for entry in entries}
        self._watchers = watchers
        self._look_s = look_s
        self._bells = {name: asyncio.Event() for name in self._entries}
        self._running: set[str] = set()
        self._told: dict[str, str] = {}  # what was said about a job that waits, so that it is said once
        self._clock: _Clock | None = None
        self._is_stopping = False

    async def keep(self, stop: asyncio.Event) -> None:
        """Do what is due until `stop` is set; then what is under way is finished or given back.

        Raises:
            SetupError: the store can't be used at the start. Later troubles are logged, and are no end.
        """
        await self._log_beginning()
        async with self._ticking():
            tending = [asyncio.create_task(self._tend(entry, stop)) for entry in self._entries.values()]
            try:
                await asyncio.gather(*tending)
            finally:
                self._is_stopping = True
                for task in tending:
                    task.cancel()
                await asyncio.gather(*tending, return_exceptions=True)

    @property
    def is_alive(self) -> bool:
        """Tell whether the clock still ticks."""
        clock = self._clock
        return clock is not None and time.monotonic() - clock.looked_at < 3 * self._look_s + 2 * _RETRY_S

    @property
    def is_stopping(self) -> bool:
        """Tell whether nothing new is begun any more."""
        return self._is_stopping

    async def standings(self) -> list[Standing]:
        """Return how the entries stand."""
        records, now = await self._store.schedules(), self._store.clock()
        found = [_standing(entry.name, entry.times, records.get(entry.name), now) for entry in self._entries.values()]
        return [one.model_copy(update={"is_running": one.job in self._running}) for one in found]

    async def attend(self, name: str, stop: asyncio.Event) -> None:
        """Look once whether something is due for an entry, and do it unless another process is at it."""
        entry = self._entries[name]
        if await self._due(name) is None:
            return
        async with self._store.hold(f"schedule:{name}") as hold:
            if not hold.is_held:
                self._tell_once(name, f"lock held by {hold.grant.holder}")
                return
            # Between the look and the lease another process may have done it.
            record = await self._due(name)
            if record is None or record.due_at is None:
                return
            late = self._store.clock() - record.due_at
            if late > entry.times.grace:
                await self._give_up(entry, record, record.due_at, late)
                return
            _say_start(record, late)
            async with _any_of(stop, hold.lost) as ask_to_stop:
                result = await self._work(entry, ask_to_stop)
            if hold.lost.is_set():
                log.error("job %s: another process took over while this one was at it; this one stopped", name)
                return
            await self._conclude(record, result)

    async def _due(self, name: str) -> ScheduleRecord | None:
        record = (await self._store.schedules()).get(name)
        return record if record is not None and record.due_at is not None else None

    async def _work(self, entry: Entry, stop: asyncio.Event) -> RunResult:
        started = self._store.clock()
        self._running.add(entry.name)
        try:
            return await entry.work(stop)
        except EnricherError as error:
            problem = str(error)
        except Exception as error:
            log.exception("job %s ended by a bug", entry.name)
            problem = f"{type(error).__name__}: {error}"
        finally:
            self._running.discard(entry.name)
        report = RunReport(run_id="", job=entry.name, state="failed", started=started, problems=(problem,))
        return RunResult(report=report)

    async def _conclude(self, record: ScheduleRecord, result: RunResult) -> None:
        """Record what became of a run; one that did not get to work, or not to its end, stays due."""
        job, report = record.job, result.report
        if report.state == "skipped":
            self._tell_once(job, "; ".join(report.warnings))
            return
        if report.state == "interrupted":
            log.warning("job %s was stopped before its end; it stays due", job)
            return
        reason = "; ".join(report.problems)
        if report.is_clean:
            outcome, level = ScheduleOutcome.CLEAN, logging.INFO
        elif report.state == "finished":
            outcome, level = ScheduleOutcome.INCOMPLETE, logging.WARNING
        else:
            outcome, level = ScheduleOutcome.FAILED, logging.ERROR
        await self._store.close_schedule(record, outcome, reason=reason, run_id=report.run_id or None)
        self._told.pop(job, None)
        run = f" {report.run_id}" if report.run_id else ""
        log.log(level, "job %s: run%s is %s%s", job, run, outcome, f": {reason}" if reason else "")
        await self._tell([watcher.on_finished(job, result) for watcher in self._watchers])

    async def _give_up(self, entry: Entry, record: ScheduleRecord, due: datetime, late: timedelta) -> None:
        reason = f"{_hours(late)} late, and the grace is {_hours(entry.times.grace)}"
        await self._store.close_schedule(record, ScheduleOutcome.MISSED, reason=reason)
        self._told.pop(entry.name, None)
        log.error(
            "job %s missed %d of its runs, the last one due at %s: %s; the next run does their work",
            entry.name, record.waiting, due.isoformat(), reason,
        )  # fmt: skip
        await self._tell([watcher.on_missed(entry.name, due) for watcher in self._watchers])

    async def _tell(self, calls: Sequence[Awaitable[None]]) -> None:
        for problem in await asyncio.gather(*calls, return_exceptions=True):
            if isinstance(problem, Exception):
                log.error("a watcher of the schedule failed", exc_info=problem)

    def _tell_once(self, job: str, why: str) -> None:
        if self._told.get(job) != why:
            self._told[job] = why
            log.warning("job %s waits: %s", job, why)

    # the clock

    async def _tend(self, entry: Entry, stop: asyncio.Event) -> None:
        bell = self._bells[entry.name]
        while not stop.is_set():
            try:
                await self.attend(entry.name, stop)
            except EnricherError as error:
                log.error("job %s can't be looked after: %s; trying again", entry.name, error)
            except Exception:
                # One job's bug must not end the nights of the others; it is tried again, and shows each time.
                log.exception("job %s can't be looked after", entry.name)
            async with _any_of(bell, stop) as waking:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(waking.wait(), self._look_s)
            bell.clear()

    @contextlib.asynccontextmanager
    async def _ticking(self) -> AsyncIterator[None]:
        loop = asyncio.get_running_loop()

        def ring(name: str) -> None:
            loop.call_soon_threadsafe(self._bells[name].set)

        start = partial(_started_clock, self._store, list(self._entries.values()), ring, self._look_s)
        self._clock = clock = await asyncio.to_thread(lambda: patiently(start, _START_S))
        try:
            yield
        finally:
            await asyncio.to_thread(clock.shutdown)
            self._clock = None

    async def _log_beginning(self) -> None:
        for one in await self.standings():
            following = one.next_run.isoformat() if one.next_run else "never"
            last = one.last_success_at.isoformat() if one.last_success_at else "never"
            log.info("job %s (%s): next run %s, last success %s", one.job, one.schedule, following, last)


class _Clock(BackgroundScheduler):  # type: ignore[misc]
    """APScheduler in a thread that no trouble of the store ends, and that looks at the clock often.

    It waits by a clock that stands still while a machine sleeps, and a time server may set the other one.
    """

    def __init__(self, timers: Timers, ring: Callable[[str], None], look_s: float) -> None:
        super().__init__(jobstores={"default": timers}, executors={"default": _Bell(ring)}, timezone=UTC)
        self._look_s = look_s
        self.looked_at = time.monotonic()

    def _process_jobs(self) -> float:
        try:
            wait_s = super()._process_jobs()
        except Exception as problem:
            log.error("the timers can't be wound: %s; trying again", problem)
            wait_s = _RETRY_S
        self.looked_at = time.monotonic()
        return min(self._look_s, self._look_s if wait_s is None else wait_s)


class _Bell(BaseExecutor):  # type: ignore[misc]
    """Wakes whoever does the work; what is due is written down already."""

    def __init__(self, ring: Callable[[str], None]) -> None:
        super().__init__()
        self._ring = ring

    def submit_job(self, job: Timed, run_times: Sequence[datetime]) -> None:
        """Ring, and count nothing: leases see to it that a job runs once at a time."""
        self._do_submit_job(job, run_times)

    def _do_submit_job(self, job: Timed, run_times: Sequence[datetime]) -> None:
        self._ring(job.id)


def stand_for_work() -> None:
    """Stand in APScheduler's records for the work of a job, which is done elsewhere."""


def _started_clock(store: Store, entries: Sequence[Entry], ring: Callable[[str], None], look_s: float) -> _Clock:
    timers = Timers(store.engine)
    clock = _Clock(timers, ring, look_s)
    with plain_errors():
        stored, now = timers.moments(), store.clock()
        jobs = {}
        for entry in entries:
            # What became due while nobody kept the schedule is due; what lies ahead follows the config of today.
            moment = stored.get(entry.name)
            if moment is None or moment > now:
                moment = entry.trigger.get_next_fire_time(None, now)
            jobs[entry.name] = clock.add_job(
                stand_for_work, entry.trigger, id=entry.name, next_run_time=moment, misfire_grace_time=None,
                coalesce=False, replace_existing=True,
            )  # fmt: skip
        timers.adopt(jobs)
        clock.start()
    return clock


@contextlib.asynccontextmanager
async def _any_of(*events: asyncio.Event) -> AsyncIterator[asyncio.Event]:
    """Offer an event that is set when one of others is."""
    found = asyncio.Event()

    async def pass_on(event: asyncio.Event) -> None:
        await event.wait()
        found.set()

    waiting = [asyncio.create_task(pass_on(event)) for event in events]
    try:
        yield found
    finally:
        for task in waiting:
            task.cancel()


def _say_start(record: ScheduleRecord, late: timedelta) -> None:
    remarks = [f"run was late by {_hours(late)}"] if late > _ON_TIME else []
    remarks += [f"one run for {record.waiting}"] if record.waiting > 1 else []
    level = logging.WARNING if remarks else logging.INFO
    log.log(level, "job %s begins%s", record.job, f": {'; '.join(remarks)}" if remarks else "")


def _hours(time_: timedelta) -> str:
    minutes = int(time_.total_seconds() // 60)
    return f"{minutes // 60}:{minutes % 60:02}"
