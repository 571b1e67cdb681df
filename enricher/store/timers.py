"""APScheduler's job store in our store: when each job is due next, known to all processes and through downtime."""

import logging
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from apscheduler.job import Job  # type: ignore[import-untyped]  # ships no type information
from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore  # type: ignore[import-untyped]
from sqlalchemy import Connection, Engine, select, update

from enricher.store import schedules
from enricher.store.engine import WRITES, plain_errors
from enricher.store.schema import schedule_timers

log = logging.getLogger(__name__)


class Timers(SQLAlchemyJobStore):  # type: ignore[misc]
    """Holds the next moment of each job; everything else about a job comes from the config of this process.

    APScheduler's own store unpickles whole jobs: whoever could write to the database could run code here, and a job
    that another version of the product had written would be thrown away. It also lets the clock go on before anybody
    has taken note. Here a moment is first written down as due, and only then does the clock go on.
    """

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine=engine.execution_options(**{WRITES: True}), tablename=schedule_timers.name)
        self._known: Mapping[str, Job] = {}

    def adopt(self, jobs: Mapping[str, Job]) -> None:
        """Take the jobs of the config: others in the database belong to other configs and are left alone."""
        self._known = jobs

    def moments(self) -> dict[str, datetime]:
        """Return when each job is due next, as it was left."""
        with plain_errors(), self.engine.begin() as connection:
            rows = connection.execute(select(schedule_timers.c.id, schedule_timers.c.next_run_time))
            return {name: datetime.fromtimestamp(moment, UTC) for name, moment in rows if moment is not None}

    def start(self, scheduler: Any, alias: str) -> None:
        """Know the scheduler; the table is there already."""
        super(SQLAlchemyJobStore, self).start(scheduler, alias)

    def shutdown(self) -> None:
        """Leave the connections to the store, whose they are."""

    def lookup_job(self, job_id: str) -> Job | None:
        """Return a job with its stored moment."""
        with plain_errors(), self.engine.begin() as connection:
            return next(iter(self._stored(connection, schedule_timers.c.id == job_id)), None)

    def get_due_jobs(self, now: datetime) -> list[Job]:
        """Write down what is due, and return it; wind clocks back that were wound by a wrong time."""
        due = []
        with plain_errors(), self.engine.begin() as connection:
            for job in self._stored(connection):
                if job.next_run_time <= now:
                    schedules.note_due(connection, job.id, [t.astimezone(UTC) for t in job._get_run_times(now)], now)
                    due.append(job)
                elif job.next_run_time > job.trigger.get_next_fire_time(None, now + schedules.SKEW):
                    moment = job.trigger.get_next_fire_time(None, now)
                    log.warning("the clock went back: job %s is next due at %s", job.id, moment.isoformat())
                    row = update(schedule_timers).where(schedule_timers.c.id == job.id)
                    connection.execute(row.values(next_run_time=moment.timestamp()))
                    schedules.wind_back(connection, job.id, now)
        return due

    def get_next_run_time(self) -> datetime | None:
        """Return when the first job is due."""
        with plain_errors(), self.engine.begin() as connection:
            return min((job.next_run_time for job in self._stored(connection)), default=None)

    def get_all_jobs(self) -> list[Job]:
        """Return all jobs."""
        with plain_errors(), self.engine.begin() as connection:
            return list(self._stored(connection))

    def _stored(self, connection: Connection, *conditions: Any) -> Sequence[Job]:
        query = select(schedule_timers.c.id, schedule_timers.c.next_run_time).where(*conditions)
        found = []
        for name, moment in connection.execute(query):
            if (job := self._known.get(name)) is not None and moment is not None:
                job.next_run_time = datetime.fromtimestamp(moment, UTC)
                job._jobstore_alias = self._alias
                found.append(job)
        return found
