"""What says when something is due: APScheduler's timers, kept in the store."""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from apscheduler.executors.base import BaseExecutor  # type: ignore[import-untyped]  # ships no type information
from apscheduler.job import Job as Timed  # type: ignore[import-untyped]
from apscheduler.schedulers.background import BackgroundScheduler  # type: ignore[import-untyped]
from apscheduler.triggers.base import BaseTrigger  # type: ignore[import-untyped]

from enricher.store import Store
from enricher.store.engine import plain_errors
from enricher.store.timers import Timers

log = logging.getLogger("enricher.schedule")

RETRY_S = 10.0  # after the store could not be asked


def started_clock(
    store: Store, triggers: Mapping[str, BaseTrigger], ring: Callable[[str], None], look_s: float
) -> "Clock":
    """Start a clock that rings for each name when its trigger says so."""
    clock = Clock(store, ring, look_s)
    with plain_errors():
        clock.follow(triggers)
        clock.start()
    return clock


class Clock(BackgroundScheduler):  # type: ignore[misc]
    """APScheduler in a thread that no trouble of the store ends, and that looks at the clock often.

    It waits by a clock that stands still while a machine sleeps, and a time server may set the other one.
    """

    def __init__(self, store: Store, ring: Callable[[str], None], look_s: float) -> None:
        self._store = store
        self._timers = Timers(store.engine)
        super().__init__(jobstores={"default": self._timers}, executors={"default": _Bell(ring)}, timezone=UTC)
        self._look_s = look_s
        self.looked_at = time.monotonic()

    def follow(self, triggers: Mapping[str, BaseTrigger]) -> None:
        """Ring for these from now on, and for no others."""
        with plain_errors(), self._jobstores_lock:  # nobody looks at the timers while half of them are old
            stored, now = self._timers.moments(), self._store.clock()
            jobs = {}
            for name, trigger in triggers.items():
                # What became due while nobody kept the schedule is due; what lies ahead follows the config of today.
                moment = stored.get(name)
                if moment is None or moment > now:
                    moment = trigger.get_next_fire_time(None, now)
                jobs[name] = self.add_job(
                    stand_for_work, trigger, id=name, next_run_time=moment, misfire_grace_time=None, coalesce=False,
                    replace_existing=True,
                )  # fmt: skip
            self._timers.adopt(jobs)

    def _process_jobs(self) -> float:
        try:
            wait_s = super()._process_jobs()
        except Exception as problem:
            log.error("the timers can't be wound: %s; trying again", problem)
            wait_s = RETRY_S
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
