"""What monitors ask of a schedule that is kept: does it live, can it work, how does each job stand."""

from collections.abc import Callable, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Route

from enricher.errors import EnricherError
from enricher.schedule import ConfigStanding, Schedule, Standing


def health_app(
    schedule: Schedule, more: Sequence[BaseRoute] = (), config: Callable[[], ConfigStanding] | None = None
) -> Starlette:
    """Build the application that answers GET /health and GET /ready.

    Args:
        schedule: what is asked about.
        more: further routes, such as one for metrics.
        config: says which config counts, where one is watched.
    """

    def whole(body: dict[str, Any]) -> dict[str, Any]:
        return {**body, "config": config().model_dump(mode="json")} if config else body

    async def health(_request: Request) -> JSONResponse:
        """Answer 503 only when a restart would help: a failed job is told, and is no reason to end the process."""
        alive = schedule.is_alive
        try:
            jobs = await schedule.standings()
        except EnricherError as error:
            return JSONResponse(whole({"status": "degraded", "store": str(error), "jobs": []}), 200 if alive else 503)
        well = all(job.is_well for job in jobs) and (config is None or config().state == "current")
        status = ("ok" if well else "degraded") if alive else "stalled"
        return JSONResponse(whole({"status": status, "store": "ok", "jobs": _rows(jobs)}), 200 if alive else 503)

    async def ready(_request: Request) -> JSONResponse:
        """Answer 200 while runs can be begun."""
        try:
            jobs = await schedule.standings()
        except EnricherError as error:
            return JSONResponse(whole({"ready": False, "reason": str(error)}), 503)
        reason = _not_ready(schedule)
        body = whole({"ready": not reason, "reason": reason, "jobs": _rows(jobs)})
        return JSONResponse(body, 503 if reason else 200)

    return Starlette(routes=[Route("/health", health), Route("/ready", ready), *more])


def _not_ready(schedule: Schedule) -> str:
    if schedule.is_stopping:
        return "stopping"
    return "" if schedule.is_alive else "the clock does not tick"


def _rows(jobs: Sequence[Standing]) -> list[dict[str, Any]]:
    return [job.model_dump(mode="json") for job in jobs]
