"""`StandIn`: the server in a thread of its own, and everything a test may ask of it."""

import asyncio
import socket
import threading
import time
from types import TracebackType
from typing import Any, Self

import uvicorn
from starlette.applications import Starlette
from starlette.routing import Route

from tests.servers.langsmith import feedback, ingest, projects, queues, rules, runs
from tests.servers.langsmith.gate import Gate, Logged
from tests.servers.langsmith.state import Clock, State
from tests.servers.langsmith.switches import Fault, Switches

START_WITHIN_S = 20.0


class StandIn:
    """A LangSmith service on a free loopback port.

    Keyword arguments are switches (see `Switches`); `turn` sets them later, `fail` scripts failures, `advance` moves
    the service's time, `requests` is what came in.
    """

    def __init__(self, *, port: int = 0, **switches: Any) -> None:
        self.switches = Switches()
        self.switches.turn(switches)
        self.state = State(self.switches, Clock())
        self.gate = Gate(self.state)
        self._port = port
        self._socket: socket.socket | None = None
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """The base URL, to be used bare, with `/api` or with `/api/v1`."""
        if self._socket is None:
            raise RuntimeError("the stand-in is not running")
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    @property
    def key(self) -> str:
        """A key with all rights."""
        return next(key for key, rights in self.switches.keys.items() if "write" in rights)

    @property
    def requests(self) -> list[Logged]:
        """Every request since the start or the last `forget_requests`."""
        return self.gate.requests

    def start(self) -> Self:
        """Serve; returns when requests are answered."""
        self._socket = socket.create_server(("127.0.0.1", self._port))
        config = uvicorn.Config(
            _application(self.gate), log_level="critical", lifespan="off", access_log=False, timeout_graceful_shutdown=1
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._serve, name="langsmith-stand-in", daemon=True)
        self._thread.start()
        ends = time.monotonic() + START_WITHIN_S
        while not self._server.started:
            if time.monotonic() > ends or not self._thread.is_alive():
                raise RuntimeError("the stand-in did not start")
            time.sleep(0.005)
        return self

    def stop(self) -> None:
        """Stop serving and free the port."""
        if self._server is not None and self._thread is not None:
            self._server.should_exit = True
            self._thread.join(timeout=10)
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def turn(self, **switches: Any) -> None:
        """Set switches while running."""
        self.switches.turn(switches)

    def fail(self, **fault: Any) -> Fault:
        """Script a failure; see `Fault`."""
        scripted = Fault(**fault)
        self.gate.faults.append(scripted)
        return scripted

    def advance(self, seconds: float) -> None:
        """Move the service's time forward."""
        self.state.clock.advance(seconds)

    def asked(self, path: str, method: str = "") -> list[Logged]:
        """Return the requests whose path contains `path`."""
        return [one for one in self.requests if path in one.path and method in ("", one.method)]

    def forget_requests(self) -> None:
        """Empty the request log."""
        self.gate.requests.clear()

    def load(self, run_dicts: list[dict[str, Any]]) -> None:
        """Take whole runs past the wire, for benchmarks only."""
        ingest.load(self.state, run_dicts)

    def delete_trace(self, trace_id: str) -> None:
        """Remove a trace, as a person does in the pages."""
        for run_id in self.state.trace_runs.pop(trace_id, []):
            del self.state.runs[run_id]

    def feedback_of(self, run_id: str) -> list[dict[str, Any]]:
        """Return what is stored as feedback on a run."""
        return self.state.feedback_of(run_id)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _where: TracebackType | None
    ) -> None:
        self.stop()

    def _serve(self) -> None:
        assert self._server is not None
        assert self._socket is not None
        asyncio.run(self._server.serve(sockets=[self._socket]))


def _application(gate: Gate) -> Starlette:
    table = [
        ("GET", "/info", projects.info),
        ("GET", "/sessions", projects.sessions),
        ("POST", "/sessions", projects.create_session),
        ("GET", "/sessions/{project_id}", projects.session),
        ("POST", "/runs/multipart", ingest.multipart),
        ("POST", "/runs/batch", ingest.batch),
        ("POST", "/runs/query", runs.v1_query),
        ("POST", "/runs/query/validate", runs.validate_filter),
        ("POST", "/runs/rules", rules.create),
        ("GET", "/runs/rules", rules.listing),
        ("PATCH", "/runs/rules/{rule_id}", rules.update),
        ("DELETE", "/runs/rules/{rule_id}", rules.delete),
        ("POST", "/runs/rules/{rule_id}/trigger", rules.trigger),
        ("GET", "/runs/rules/{rule_id}/logs", rules.logs),
        ("POST", "/runs", ingest.create),
        ("PATCH", "/runs/{run_id}", ingest.update),
        ("GET", "/runs/{run_id}", runs.v1_retrieve),
        ("POST", "/feedback/tokens", feedback.create_token),
        ("POST", "/feedback/tokens/{token}", feedback.use_token),
        ("POST", "/feedback", feedback.create),
        ("GET", "/feedback", feedback.listing),
        ("GET", "/feedback/{feedback_id}", feedback.retrieve),
        ("PATCH", "/feedback/{feedback_id}", feedback.update),
        ("DELETE", "/feedback/{feedback_id}", feedback.delete),
        ("POST", "/feedback-configs", feedback.create_config),
        ("GET", "/feedback-configs", feedback.list_configs),
        ("PATCH", "/feedback-configs", feedback.update_config),
        ("POST", "/annotation-queues", queues.create),
        ("GET", "/annotation-queues", queues.listing),
        ("GET", "/annotation-queues/{queue_id}", queues.retrieve),
        ("PATCH", "/annotation-queues/{queue_id}", queues.update),
        ("POST", "/annotation-queues/{queue_id}/runs", queues.add_runs),
        ("POST", "/annotation-queues/{queue_id}/runs/by-key", queues.add_runs),
        ("GET", "/annotation-queues/{queue_id}/runs", queues.list_runs),
        ("POST", "/datasets", projects.create_dataset),
        ("GET", "/datasets", projects.datasets),
        ("POST", "/examples/bulk", projects.create_examples),
        ("PATCH", "/examples/bulk", projects.update_examples),
        ("GET", "/examples", projects.examples),
    ]
    newer = [
        ("POST", "/api/v2/runs/query", runs.v2_query),
        ("GET", "/api/v2/runs/{run_id}/url", runs.v2_url),
        ("GET", "/api/v2/runs/{run_id}", runs.v2_retrieve),
        ("POST", "/api/v2/traces/query", runs.v2_traces),
        ("GET", "/api/v2/traces/{trace_id}/runs", runs.v2_trace_runs),
        ("POST", "/api/v1/platform/annotation-queues/{queue_id}/items", queues.create_items),
        ("GET", "/api/v1/platform/annotation-queues/{queue_id}/items", queues.list_items),
        ("GET", "/api/v1/platform/annotation-queues/{queue_id}/items/count", queues.count_items),
        ("POST", "/api/v1/platform/annotation-queues/{queue_id}/items/delete", queues.delete_items),
        ("POST", "/api/v1/platform/annotation-queues/items/{item_id}/status", queues.item_status),
        ("GET", "/_payloads/{token}", runs.payload),
    ]
    # The older paths are served bare, as on the public service, and below /api/v1, as on self-hosted ones.
    everything = [*table, *((m, f"/api/v1{path}", e) for m, path, e in table), *newer]
    routes = [Route(path, gate.guard(endpoint), methods=[method]) for method, path, endpoint in everything]
    control = Route("/_standin/{what}", gate.control, methods=["GET", "POST"])
    return Starlette(routes=[*routes, control])
