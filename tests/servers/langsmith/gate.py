"""What stands before every endpoint: the request log, scripted faults, keys, rate limits; and the control endpoints."""

import asyncio
import json
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tests.servers.langsmith.replies import Refused, reply
from tests.servers.langsmith.state import State
from tests.servers.langsmith.switches import Fault

Endpoint = Callable[[State, Request], Awaitable[Response]]
_OPEN = ("/info", "/feedback/tokens/", "/_payloads/")
_READING_POSTS = ("/query", "/validate")


@dataclass(frozen=True, kw_only=True)
class Logged:
    """One request as it came."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes
    at: float  # the service's time, in seconds

    def json(self) -> Any:
        """Return the body as JSON."""
        return json.loads(self.body)


class BrokenOff(Response):
    """An answer that ends in the middle, after which the connection is closed."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Announce more than is sent."""
        head = [(b"content-length", b"1000"), (b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        await send({"type": "http.response.body", "body": b"{", "more_body": True})


class Gate:
    """Guards the endpoints of one stand-in."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.faults: list[Fault] = []
        self.requests: list[Logged] = []
        self.keeps_log = True
        self._windows: dict[str, tuple[float, int]] = {}

    def guard(self, endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
        """Return the endpoint behind the gate."""

        async def guarded(request: Request) -> Response:
            path = request.url.path
            try:
                await self._log(request)
                if (answer := await self._fault(request.method, path)) is not None:
                    return answer
                self._admit(request, path)
                return await endpoint(self.state, request)
            except Refused as refused:
                return refused.response(path)
            except (json.JSONDecodeError, UnicodeDecodeError):
                return Refused(422, "the body is not JSON").response(path)

        return guarded

    async def control(self, request: Request) -> Response:
        """Take `POST /_standin/{switches,faults,clock}` and `GET /_standin/requests`, for use from other processes."""
        what = request.path_params["what"]
        if what == "requests":
            return reply([f"{one.method} {one.path}" for one in self.requests])
        body = json.loads(await request.body())
        if what == "switches":
            self.state.switches.turn(body)
        elif what == "faults":
            self.faults.append(Fault(**body))
        elif what == "clock":
            self.state.clock.advance(float(body["seconds"]))
        else:
            return reply({"detail": "control switches, faults, clock or requests"}, 404)
        return reply({"now": self.state.clock.now().isoformat()})

    async def _log(self, request: Request) -> None:
        if self.keeps_log:
            url, body = request.url, await request.body()
            at = self.state.clock.now().timestamp()
            self.requests.append(
                Logged(
                    method=request.method,
                    path=url.path,
                    query=url.query,
                    headers=dict(request.headers),
                    body=body,
                    at=at,
                )
            )

    async def _fault(self, method: str, path: str) -> Response | None:
        fault = next((one for one in self.faults if one.fits(method, path)), None)
        if fault is None:
            return None
        if fault.hang_s:
            await asyncio.sleep(fault.hang_s)
        if fault.drop:
            return BrokenOff()
        if fault.malformed:
            return Response('{"items": [{"id": "', media_type="application/json")
        if not fault.status:
            return None
        headers = {} if fault.retry_after is None else {"Retry-After": f"{fault.retry_after:g}"}
        return Refused(fault.status, fault.detail, headers=headers).response(path)

    def _admit(self, request: Request, path: str) -> None:
        if any(part in path for part in _OPEN):
            return
        switches = self.state.switches
        rights = switches.keys.get(request.headers.get("x-api-key", ""))
        if rights is None:
            raise Refused(401, "Invalid token", error="Unauthorized")
        if switches.is_org_scoped and not request.headers.get("x-tenant-id"):
            raise Refused(403, "the key spans workspaces", error="org_scoped_key_requires_workspace")
        needed = "read" if request.method == "GET" or path.endswith(_READING_POSTS) else "write"
        if needed not in rights:
            raise Refused(403, f"the key may not {needed}", error="Forbidden")
        if switches.generation == "v1" and ("/api/v2/" in path or "/platform/annotation-queues" in path):
            raise Refused(404, "Not Found")
        self._count(group_of(request.method, path))

    def _count(self, group: str) -> None:
        switches, now = self.state.switches, self.state.clock.now().timestamp()
        for name in (group, "everything"):
            limit = switches.limits.get(name)
            if limit is None:
                continue
            begun, used = self._windows.get(name, (now, 0))
            if now - begun >= limit.seconds:
                begun, used = now, 0
            self._windows[name] = (begun, used + 1)
            if used + 1 > limit.requests:
                wait = max(1, math.ceil(begun + limit.seconds - now))
                headers = {"Retry-After": str(wait)} if switches.tells_retry_after else {}
                raise Refused(429, "Rate limit exceeded", headers=headers)


def group_of(method: str, path: str) -> str:
    """Name the rate limit group of a request: runs_ingest, runs_query, run_retrieve, feedback_write or other."""
    if "/feedback" in path and method in ("POST", "PATCH"):
        return "feedback_write"
    if path.endswith("/query"):
        return "runs_query"
    if "/runs" in path and "/rules" not in path and "queues" not in path:
        return "run_retrieve" if method == "GET" else "runs_ingest"
    return "other"
