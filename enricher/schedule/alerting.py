"""Tell the webhooks of jobs that fail or are missed: what does not run raises no alert of its own."""

from collections.abc import Callable
from datetime import datetime

from enricher.alerts import follow_schedule
from enricher.report import RunReport
from enricher.run import RunResult
from enricher.settings import Alerts
from enricher.store import Store


class Alerting:
    """A watcher of the schedule. An alert is told once, and again only after a run came to its end.

    Args:
        store: which all processes of the schedule share.
        section: returns whom to tell by the config that counts now.
    """

    def __init__(self, store: Store, section: Callable[[], Alerts]) -> None:
        self._store = store
        self._section = section

    async def on_finished(self, job: str, result: RunResult) -> None:
        """Raise the alert when the run failed, lower it when it came to its end."""
        report = result.report
        problem = f"the job failed: {'; '.join(report.problems)}" if report.state == "failed" else None
        await follow_schedule(self._store, self._section(), report, problem)

    async def on_missed(self, job: str, due: datetime) -> None:
        """Raise the alert of a run that could not start within its grace."""
        report = RunReport(run_id="", job=job, state="failed", started=due)
        problem = f"the run that was due at {due.isoformat()} was missed: it could not start within its grace"
        await follow_schedule(self._store, self._section(), report, problem)
