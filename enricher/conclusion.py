"""What follows a run: its alerts, its report, and the figures that are sent where somebody watches."""

from enricher import alerts
from enricher.report import RunReport
from enricher.reporting import sending
from enricher.settings import Settings
from enricher.store import RefState, Store
from enricher.telemetry import Telemetry


async def conclude(settings: Settings, store: Store, telemetry: Telemetry | None, report: RunReport) -> RunReport:
    """Follow the alerts of the job, send its report and its figures; return the report with what came of that."""
    report = await alerts.follow(store, settings.alerts, report)
    report = await sending.send(store, settings, report)
    if telemetry is not None:
        telemetry.ran(report.job, await _figures(store, report), await _gauges(store, report))
    return report


async def _figures(store: Store, report: RunReport) -> dict[str, object]:
    run = await store.run(report.run_id)
    return dict(run.counters) if run is not None else {}


async def _gauges(store: Store, report: RunReport) -> dict[str, float]:
    """Say how the queues stand, how late deliveries came, and when the job was last done."""
    queues = await store.queues()
    lags = await store.delivery_lags(report.run_id)
    found = {
        "queue_traces": float(sum(queues.traces.get((report.job, state.value), 0) for state in RefState)),
        "queue_write_backs": float(sum(count for (_, state), count in queues.write_backs.items() if state != "failed")),
        "queue_reviews": float(queues.reviews),
    }
    if lags:
        found["delivery_lag_seconds"] = sum(lags) / len(lags)
    if report.state == "finished" and report.finished is not None:
        found["last_success_timestamp_seconds"] = report.finished.timestamp()
    return found
