"""What monitors ask of the web application: does it answer, and how do the scheduled jobs of the store stand."""

import asyncio
from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Route

from enricher.errors import EnricherError
from enricher.schedule import Standing, standings
from enricher.serve.site import Site

_STORE_WITHIN_S = 5.0


def health_routes(site: Site) -> Sequence[BaseRoute]:
    """Return GET /health (always 200: no restart would help) and GET /ready (503 while the store does not answer)."""
    config = site.config

    def told(status: str, store: str, jobs: Sequence[Standing] = ()) -> JSONResponse:
        body = {"status": status, "store": store, "jobs": [job.model_dump(mode="json") for job in jobs]}
        return JSONResponse(body | ({"config": config.standing()} if config else {}))

    async def standing() -> list[Standing]:
        async with asyncio.timeout(_STORE_WITHIN_S):
            return await standings(site.settings, site.store)

    async def health(_request: Request) -> JSONResponse:
        try:
            jobs = await standing()
        except (EnricherError, TimeoutError) as error:
            return told("degraded", str(error) or "too slow")
        return told("ok" if all(job.is_well for job in jobs) else "degraded", "ok", jobs)

    async def ready(_request: Request) -> JSONResponse:
        try:
            await standing()
        except (EnricherError, TimeoutError) as error:
            return JSONResponse({"ready": False, "reason": str(error) or "the store is too slow"}, 503)
        return JSONResponse({"ready": True, "reason": ""})

    return [Route("/health", health), Route("/ready", ready)]
