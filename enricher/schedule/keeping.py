"""Do what is due, once, over all processes."""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from apscheduler.triggers.base import BaseTrigger  # type: ignore[import-untyped]  # ships no type information

from enricher.errors import EnricherError, SetupError
from enricher.report import RunReport
from enricher.run import JobWatcher, RunResult
from enricher.schedule.clock import RETRY_S, Clock, started_clock
from enricher.schedule.standing import Standing, standing_of, trigger_of
from enricher.settings import Schedule as Times
from enricher.settings import Settings
from enricher.store import ScheduleOutcome, ScheduleRecord, Store
from enricher.store.engine import patiently

log = logging.getLogger("enricher.schedule")

LOOK_S = 20.0  # how often the clock and the store are looked at, since a clock may jump and a process may die
_START_S = 30.0  # how long a busy store is waited for at the start
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


def entries_of(settings: Settings, run: Callable[[str, asyncio.Event], Awaitable[RunResult]]) -> list[Entry]:
    """Return the jobs of the config that have a schedule; `run` does the one of a name.

    Raises:
        SetupError: none has.
    """
    found = [
        Entry(name=name, times=job.schedule, work=partial(run, name))
        for name, job in settings.jobs.items()
        if job.schedule is not None
    ]
    if not found:
        raise SetupError("no job has a schedule; write one, for example jobs.nightly.schedule.cron: '0 2 * * *'")
    return found


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
        self._tending: dict[str, asyncio.Task[None]] = {}
        self._leaving: set[asyncio.Task[None]] = set()  # at their last work for an entry that is gone
        self._stop = asyncio.Event()
        self._running: set[str] = set()
        self._told: dict[str, str] = {}  # what was said about a job that waits, so that it is said once
        self._clock: Clock | None = None
        self._is_stopping = False

    async def keep(self, stop: asyncio.Event) -> None:
        """Do what is due until `stop` is set; then what is under way is finished or given back.

        Raises:
            SetupError: the store can't be used at the start. Later troubles are logged, and are no end.
        """
        self._stop = stop
        await self._log_beginning()
        async with self._ticking():
            self._tend_all()
            try:
                await stop.wait()
                await asyncio.gather(*self._tending.values(), *self._leaving)
            finally:
                self._is_stopping = True
                left = [*self._tending.values(), *self._leaving]
                for task in left:
                    task.cancel()
                await asyncio.gather(*left, return_exceptions=True)

    async def adopt(self, entries: Sequence[Entry]) -> None:
        """Go on with these entries in place of those there were; what is under way goes on to its end.

        Raises:
            EnricherError: the store does not answer; nothing is changed then.
        """
        if self._clock is not None:
            await asyncio.to_thread(self._clock.follow, {entry.name: entry.trigger for entry in entries})
        gone = self._entries.keys() - {entry.name for entry in entries}
        self._entries = {entry.name: entry for entry in entries}
        for name in gone:
            if (task := self._tending.pop(name, None)) is not None:
                self._leaving.add(task)
                task.add_done_callback(self._leaving.discard)
            self._bells.pop(name).set()
        for name in self._entries:
            self._bells.setdefault(name, asyncio.Event()).set()
        if self._clock is not None:
            self._tend_all()
        await self._log_beginning()

    @property
    def is_alive(self) -> bool:
        """Tell whether the clock still ticks."""
        clock = self._clock
        return clock is not None and time.monotonic() - clock.looked_at < 3 * self._look_s + 2 * RETRY_S

    @property
    def is_stopping(self) -> bool:
        """Tell whether nothing new is begun any more."""
        return self._is_stopping

    async def standings(self) -> list[Standing]:
        """Return how the entries stand."""
        records, now = await self._store.schedules(), self._store.clock()
        found = [standing_of(entry.name, entry.times, records.get(entry.name), now) for entry in self._entries.values()]
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
            async with any_of(stop, hold.lost) as ask_to_stop:
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

    def _tend_all(self) -> None:
        for name in self._entries.keys() - self._tending.keys():
            self._tending[name] = asyncio.create_task(self._tend(name, self._bells[name], self._stop))

    async def _tend(self, name: str, bell: asyncio.Event, stop: asyncio.Event) -> None:
        while not stop.is_set() and self._bells.get(name) is bell:  # else the entry is gone, or came back anew
            try:
                await self.attend(name, stop)
            except EnricherError as error:
                log.error("job %s can't be looked after: %s; trying again", name, error)
            except Exception:
                # One job's bug must not end the nights of the others; it is tried again, and shows each time.
                log.exception("job %s can't be looked after", name)
            async with any_of(bell, stop) as waking:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(waking.wait(), self._look_s)
            bell.clear()

    @contextlib.asynccontextmanager
    async def _ticking(self) -> AsyncIterator[None]:
        loop = asyncio.get_running_loop()

        def ring(name: str) -> None:
            if (bell := self._bells.get(name)) is not None:
                loop.call_soon_threadsafe(bell.set)

        triggers = {entry.name: entry.trigger for entry in self._entries.values()}
        start = partial(started_clock, self._store, triggers, ring, self._look_s)
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


@contextlib.asynccontextmanager
async def any_of(*events: asyncio.Event) -> AsyncIterator[asyncio.Event]:
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
