"""Figures of all runs in the text form that Prometheus reads; they come from the store, whatever process asks."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from enricher.errors import EnricherError
from enricher.metering import BUCKETS
from enricher.store import RunState, Store
from enricher.store.gauges import FinishedRun, Queues

_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_OVERLAP = timedelta(hours=1)  # clocks of machines differ; what was counted before is not counted again
Labels = tuple[tuple[str, str], ...]
Row = tuple[str, Labels, float]  # name of the figure, its labels, its value

# name, what it counts, type; in the order in which they are written
_FAMILIES = (
    ("enricher_runs_total", "Runs that have ended, by state.", "counter"),
    ("enricher_traces_pulled_total", "Traces read from the platform.", "counter"),
    ("enricher_rejected_total", "Traces and items that were not judged, by reason.", "counter"),
    ("enricher_judged_total", "Verdicts by judge and status; failures are no verdicts.", "counter"),
    ("enricher_recalled_total", "Verdicts that were known already, so that nobody was asked.", "counter"),
    ("enricher_findings_total", "Findings by issue type.", "counter"),
    ("enricher_second_check_total", "Opinions of the second check: agrees or disagrees.", "counter"),
    ("enricher_score", "Scores by judge.", "histogram"),
    ("enricher_tokens_total", "Tokens of models, by kind.", "counter"),
    ("enricher_model_calls_total", "Calls to models.", "counter"),
    ("enricher_cost_total", "Money spent on models.", "counter"),
    ("enricher_annotations_total", "Write-backs: written, confirmed, refused.", "counter"),
    ("enricher_queue", "What waits: traces, write-backs, reviews, hints.", "gauge"),
    ("enricher_delivery_oldest_seconds", "Age of the oldest write-back that is not confirmed.", "gauge"),
    ("enricher_delivery_lag_seconds", "From verdict to confirmation in the last run: mean and max.", "gauge"),
    ("enricher_last_run_timestamp_seconds", "When the last run ended.", "gauge"),
    ("enricher_last_success_timestamp_seconds", "When the last complete run ended.", "gauge"),
    ("enricher_job_well", "1 unless the last run that was due failed or was missed.", "gauge"),
    ("enricher_config_current", "1 while the config file counts as it is, 0 while a change of it is refused.", "gauge"),
    ("enricher_config_loaded_timestamp_seconds", "When the config that counts was read.", "gauge"),
)


@dataclass(slots=True)
class _Sums:
    """What the runs of one job have counted together."""

    counts: dict[tuple[str, Labels], float] = field(default_factory=dict)
    last_run: FinishedRun | None = None
    last_success: datetime | None = None

    def add(self, run: FinishedRun) -> None:
        if self.last_run is None or run.finished_at > self.last_run.finished_at:
            self.last_run = run
        if run.state is RunState.COMPLETED and (self.last_success is None or run.finished_at > self.last_success):
            self.last_success = run.finished_at
        for name, labels, value in _counted(run):
            self.counts[name, labels] = self.counts.get((name, labels), 0.0) + value


class Metrics:
    """Sums up finished runs; each is read once, however often the figures are asked for."""

    def __init__(self, store: Store, more: Callable[[], Iterable[Row]] | None = None) -> None:
        self._store = store
        self._more = more  # what this process alone knows
        self._jobs: dict[str, _Sums] = {}
        self._seen: dict[str, datetime] = {}
        self._until: datetime | None = None

    async def text(self) -> str:
        """Return all figures in Prometheus's text form."""
        await self._catch_up()
        families: dict[str, list[str]] = {}
        for name, labels, value in [*self._sums(), *await self._gauges(), *(self._more() if self._more else ())]:
            families.setdefault(_family(name), []).append(f"{name}{_braced(labels)} {_number(value)}")
        lines = []
        for name, about, kind in _FAMILIES:
            if name in families:
                lines += [f"# HELP {name} {about}", f"# TYPE {name} {kind}", *families[name]]
        return "\n".join(lines) + "\n"

    async def _catch_up(self) -> None:
        since = None if self._until is None else self._until - _OVERLAP
        for run in reversed(await self._store.finished_runs(since=since)):
            if run.id not in self._seen:
                self._jobs.setdefault(run.job, _Sums()).add(run)
                self._until = run.finished_at if self._until is None else max(self._until, run.finished_at)
            self._seen[run.id] = run.finished_at
        if self._until is not None:
            self._seen = {id_: at for id_, at in self._seen.items() if at >= self._until - _OVERLAP}

    def _sums(self) -> Iterator[Row]:
        for job, sums in sorted(self._jobs.items()):
            for (name, labels), value in sorted(sums.counts.items(), key=_in_order):
                yield name, (("job", job), *labels), value

    async def _gauges(self) -> list[Row]:
        now, rows = self._store.clock(), list(_waiting(await self._store.queues(), self._store.clock()))
        for job, sums in sorted(self._jobs.items()):
            at: Labels = (("job", job),)
            if sums.last_run is not None:
                rows.append(("enricher_last_run_timestamp_seconds", at, sums.last_run.finished_at.timestamp()))
                lags = await self._store.delivery_lags(sums.last_run.id)
                if lags:
                    rows.append(("enricher_delivery_lag_seconds", (*at, ("of", "mean")), sum(lags) / len(lags)))
                    rows.append(("enricher_delivery_lag_seconds", (*at, ("of", "max")), max(lags)))
            if sums.last_success is not None:
                rows.append(("enricher_last_success_timestamp_seconds", at, min(sums.last_success, now).timestamp()))
        for job, record in sorted((await self._store.schedules()).items()):
            if record.outcome is not None:
                rows.append(("enricher_job_well", (("job", job),), float(record.outcome.is_well)))
        return rows


async def metrics_text(store: Store) -> str:
    """Return the figures of all runs in Prometheus's text form."""
    return await Metrics(store).text()


def metrics_route(store: Store, more: Callable[[], Iterable[Row]] | None = None) -> Route:
    """Return the route GET /metrics, for any application that has the store open; `more` are figures of its own."""
    metrics = Metrics(store, more)

    async def tell(_request: Request) -> Response:
        try:
            return PlainTextResponse(await metrics.text(), media_type=_CONTENT_TYPE)
        except EnricherError as error:
            return PlainTextResponse(f"the store does not answer: {error}\n", 503)

    return Route("/metrics", tell)


def _counted(run: FinishedRun) -> Iterator[Row]:
    figures: Mapping[str, Any] = run.counters
    yield "enricher_runs_total", (("state", run.state.value),), 1
    for name, key in (
        ("enricher_traces_pulled_total", "pulled"),
        ("enricher_recalled_total", "recalled"),
        ("enricher_model_calls_total", "calls"),
        ("enricher_cost_total", "cost"),
    ):
        yield name, (), figures.get(key, 0)
    for name, key, label in (
        ("enricher_rejected_total", "rejected", "reason"),
        ("enricher_findings_total", "findings", "issue_type"),
        ("enricher_second_check_total", "second_check", "opinion"),
        ("enricher_tokens_total", "tokens", "kind"),
    ):
        for value, count in figures.get(key, {}).items():
            yield name, ((label, value),), count
    for judge, statuses in figures.get("judged", {}).items():
        for status, count in statuses.items():
            yield "enricher_judged_total", (("judge", judge), ("status", status)), count
    for key, state in (("written", "written"), ("confirmed", "confirmed"), ("unwritten", "refused")):
        yield "enricher_annotations_total", (("state", state),), figures.get(key, 0)
    for judge, counts in figures.get("scores", {}).items():
        yield from _histogram(judge, counts)


def _histogram(judge: str, counts: list[float]) -> Iterator[Row]:
    at: Labels = (("judge", judge),)
    *buckets, total = counts
    below = 0.0
    for bound, count in zip(BUCKETS, buckets, strict=True):
        below += count
        yield "enricher_score_bucket", (*at, ("le", f"{bound:g}")), below
    yield "enricher_score_bucket", (*at, ("le", "+Inf")), below
    yield "enricher_score_sum", at, total
    yield "enricher_score_count", at, below


def _waiting(queues: Queues, now: datetime) -> Iterator[Row]:
    for (job, state), count in sorted(queues.traces.items()):
        yield "enricher_queue", (("queue", "traces"), ("job", job), ("state", state)), count
    for (name, state), count in sorted(queues.write_backs.items()):
        yield "enricher_queue", (("queue", "write_backs"), ("connection", name), ("state", state)), count
    yield "enricher_queue", (("queue", "reviews"),), queues.reviews
    yield "enricher_queue", (("queue", "hints"),), queues.hints
    for name, created in sorted(queues.oldest.items()):
        age = max(0.0, (now - created).total_seconds())
        yield "enricher_delivery_oldest_seconds", (("connection", name),), age


def _family(name: str) -> str:
    return "enricher_score" if name.startswith("enricher_score_") else name


def _in_order(entry: tuple[tuple[str, Labels], float]) -> tuple[str, list[tuple[str, float | str]]]:
    (name, labels), _ = entry
    return name, [(label, float(value) if label == "le" else value) for label, value in labels]


def _braced(labels: Labels) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels) + "}" if labels else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))
