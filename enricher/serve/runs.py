"""Runs: the list of them, the report of one, and how far one that is under way has come."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from enricher.report import RunReport
from enricher.reporting.changes import shown
from enricher.reporting.gathering import full_report
from enricher.reporting.nouns import FullReport, Group, to_json
from enricher.reporting.page import as_html
from enricher.serve.charts import formatter
from enricher.serve.site import Refused, is_fragment, render, site_of
from enricher.serve.twins import address, wants_json
from enricher.store import RunRecord, RunState, Store
from enricher.store.figures import is_failure
from enricher.store.owner import describe
from enricher.store.watching import (
    RunProgress,
    RunRow,
    jobs_that_ran,
    latest_runs,
    rejections_in,
    run_progress,
)

router = APIRouter()
NAVIGATION = ("Runs", "/runs")

_PAGE = 30
_REJECTIONS = 100
_GROUPS = 5  # of each kind
_CRASHED = "BUG"  # how runs count a trace on which the product itself failed
# The report for sending on is one file with its own style, and nothing in it may run or be fetched.
_SEALED = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; sandbox"


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """A run as the list shows it; figures are None while it is under way."""

    run: RunRow
    pulled: int | None
    judged: int | None
    mean_score: float | None
    contradicted: int | None
    rejected: int | None
    failed: int | None
    written: int | None
    cost: float | None
    progress: RunProgress | None = None


@router.get("/runs")
async def show_runs(request: Request) -> Response:
    """List the runs, newest first."""
    store, given = site_of(request).store, request.query_params
    job, before = given.get("job") or None, given.get("before") or None
    found = await latest_runs(store, job=job, before=before, limit=_PAGE + 1)
    lines = [await _line(store, run) for run in found[:_PAGE]]
    older = address("/runs", [("job", job), ("before", lines[-1].run.id)]) if len(found) > _PAGE else None
    if wants_json(request):
        return JSONResponse({"runs": [_line_row(line) for line in lines], "older": older})
    values: dict[str, Any] = {
        "lines": lines,
        "is_live": any(line.progress is not None for line in lines),
        "here": address("/runs", [("job", job), ("before", before)]),
        "money": formatter("money"),
        "duration": duration,
    }
    if is_fragment(request):
        return render(request, "run_lines.html", **values)
    jobs = await jobs_that_ran(store)
    return render(request, "runs.html", **values, job=job or "", jobs=jobs, older=older, is_first=before is None)


@router.get("/runs/{run_id}")
async def show_run(request: Request, run_id: str) -> Response:
    """Show the report of a run, or how far it is."""
    store, run = site_of(request).store, await _run(request, run_id)
    report = _report(run)
    progress = await run_progress(store, run.id, run.job) if run.state is RunState.RUNNING else None
    if wants_json(request):
        return JSONResponse(_run_row(run, report, progress))
    rejected = await rejections_in(store, run.id, limit=_REJECTIONS + 1)
    return render(
        request,
        "run.html",
        run=run,
        report=report,
        rejected=rejected[:_REJECTIONS],
        has_more_rejected=len(rejected) > _REJECTIONS,
        owner=describe(run.owner),
        duration=duration(run.started_at, run.finished_at or store.clock()),
        money=formatter("money"),
        **_progress_values(run, progress, store.clock()),
    )


@router.get("/runs/{run_id}/progress")
async def show_progress(request: Request, run_id: str) -> Response:
    """Show how far a run is; when it has ended, htmx is told to load the page anew."""
    store, run = site_of(request).store, await _run(request, run_id)
    if run.state is not RunState.RUNNING:
        return Response(status_code=204, headers={"hx-refresh": "true"})
    progress = await run_progress(store, run.id, run.job)
    return render(request, "run_progress.html", run=run, **_progress_values(run, progress, store.clock()))


@router.get("/runs/{run_id}/causes")
async def show_causes(request: Request, run_id: str) -> Response:
    """Show what changed against the runs before, and what the findings have in common."""
    run = await _run(request, run_id)
    full = await _full(request, run)
    if wants_json(request):
        return JSONResponse(to_json(full))
    template = "run_causes.html" if is_fragment(request) else "causes.html"
    return render(request, template, run=run, full=full, figure=shown, groups=_groups(full))


@router.get("/runs/{run_id}/report.html")
async def send_report(request: Request, run_id: str) -> Response:
    """Give the report as one file that can be sent on."""
    page = as_html(await _full(request, await _run(request, run_id)))
    return HTMLResponse(page, headers={"content-security-policy": _SEALED})


async def _full(request: Request, run: RunRecord) -> FullReport:
    report, site = _report(run), site_of(request)
    if report is None:
        raise Refused(404, f"The run {run.id} has no report yet.")
    return await full_report(site.store, report, site.settings.connections)


def _groups(full: FullReport) -> list[tuple[str, Sequence[Group]]]:
    """Return what the findings can have in common, where something tells the answers apart."""
    systemic = full.systemic
    named = (
        ("Documents", systemic.documents),
        ("Question topics", systemic.topics),
        ("Models", systemic.models),
        ("Prompts", systemic.prompts),
        ("Retrievers", systemic.retrievers),
        ("Projects", systemic.projects),
    )
    told = [(name, groups) for name, groups in named if len(groups) > 1 or name == "Documents"]
    return [(name, groups[:_GROUPS]) for name, groups in told if any(group.findings for group in groups)]


async def _run(request: Request, run_id: str) -> RunRecord:
    run = await site_of(request).store.run(run_id)
    if run is None:
        raise Refused(404, f"There is no run {run_id[:60]}.")
    return run


def _report(run: RunRecord) -> RunReport | None:
    return RunReport.model_validate(run.report) if run.report is not None else None


async def _line(store: Store, run: RunRow) -> Line:
    if run.state is RunState.RUNNING:
        nothing = dict.fromkeys(("pulled", "judged", "mean_score", "contradicted", "rejected", "failed", "written"))
        progress = await run_progress(store, run.id, run.job)
        return Line(run=run, cost=None, progress=progress, **nothing)
    counted = run.counters
    judged: Mapping[str, Mapping[str, int]] = counted.get("judged", {})
    statuses = [(status, count) for statuses in judged.values() for status, count in statuses.items()]
    return Line(
        run=run,
        pulled=counted.get("pulled"),
        judged=counted.get("items"),
        mean_score=_mean(counted.get("scores", {})),
        contradicted=counted.get("answers", {}).get("contradicted", 0),
        rejected=sum(counted.get("rejected", {}).values()),
        failed=sum(count for status, count in statuses if status == _CRASHED or is_failure(status)),
        written=counted.get("written"),
        cost=counted.get("cost"),
    )


def _mean(scores: Mapping[str, list[float]]) -> float | None:
    """Return the mean of the leading judge: counts by tenth, then the sum."""
    counts = scores.get("diff") or next(iter(scores.values()), None)
    return counts[-1] / sum(counts[:-1]) if counts and sum(counts[:-1]) else None


def _progress_values(run: RunRecord, progress: RunProgress | None, now: datetime) -> dict[str, Any]:
    if progress is None:
        return {"progress": None}
    heartbeat = progress.heartbeat_at
    return {
        "progress": progress,
        "running_for": duration(run.started_at, now),
        "heard": None if heartbeat is None else max(0, int((now - heartbeat).total_seconds())),
        "statuses": {
            f"{judge}: {status}": count
            for judge, counts in progress.tally.evaluations.items()
            for status, count in counts.items()
        },
    }


def duration(start: datetime, end: datetime | None) -> str:
    """Say how long something took, in one or two units."""
    if end is None:
        return "–"
    seconds = max(0, int((end - start).total_seconds()))
    if seconds < 60:
        return f"{seconds} s"
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s"


def _line_row(line: Line) -> dict[str, Any]:
    found = {name: getattr(line, name) for name in Line.__dataclass_fields__ if name not in ("run", "progress")}
    return {**_plain(line.run), **found, "progress": _progress_row(line.progress)}


def _run_row(run: RunRecord, report: RunReport | None, progress: RunProgress | None) -> dict[str, Any]:
    found = {**_plain(run), "window_start": _iso(run.window_start), "window_end": _iso(run.window_end)}
    shown = None if report is None else report.model_dump(mode="json")
    return {**found, "report": shown, "progress": _progress_row(progress)}


def _plain(run: RunRow | RunRecord) -> dict[str, Any]:
    return {
        "run_id": run.id,
        "job": run.job,
        "state": str(run.state),
        "started_at": _iso(run.started_at),
        "finished_at": _iso(run.finished_at),
        "counters": dict(run.counters),
    }


def _progress_row(progress: RunProgress | None) -> dict[str, Any] | None:
    if progress is None:
        return None
    return asdict(progress) | {"total": progress.total, "heartbeat_at": _iso(progress.heartbeat_at)}


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None
