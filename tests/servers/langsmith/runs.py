"""Endpoints that read runs: v1 queries, v2 runs and traces, presigned payloads."""

import json
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from tests.servers.langsmith import querying, shapes
from tests.servers.langsmith.filters import FilterError, parse
from tests.servers.langsmith.replies import Refused, invalid, reply
from tests.servers.langsmith.state import Run, State, moment

V1_LIMIT = 100
V2_RUNS_LIMIT = 1000
V2_TRACES_LIMIT = 100
V2_TRACES_DEFAULT = 20
RUNS_PER_TRACE = 25_000
_AGGREGATES = frozenset({"TOTAL_TOKENS", "TOTAL_COST", "FIRST_TOKEN_TIME"})
_V1_ALWAYS = frozenset({"id", "trace_id", "dotted_order", "name", "run_type", "status", "session_id", "app_path"})


async def v1_query(state: State, request: Request) -> Response:
    """POST /runs/query."""
    _v1_only(state)
    body = json.loads(await request.body())
    size = body.get("limit") or V1_LIMIT
    if not 1 <= size <= V1_LIMIT:
        raise Refused(400, f"Limit exceeds maximum allowed value of {V1_LIMIT}")
    if not any(body.get(name) for name in ("session", "id", "trace", "parent_run", "reference_example")):
        raise Refused(400, "At least one of 'session', 'id', 'parent_run', 'trace' or 'reference_example' is required")
    error = body.get("error")
    query = querying.RunQuery(
        project_ids=_ids(body.get("session")),
        filter=body.get("filter"),
        trace_filter=body.get("trace_filter"),
        tree_filter=body.get("tree_filter"),
        is_root=body.get("is_root"),
        has_error=error,
        ids=_ids(body.get("id")),
        run_type=body.get("run_type"),
        trace_ids=_ids([body["trace"]]) if body.get("trace") else None,
        parent_run=body.get("parent_run"),
        start=moment(body.get("start_time")),
        end=moment(body.get("end_time")),
        ascending=body.get("order") == "asc",
    )
    found, following = querying.page(state, body, body.get("cursor"), size, lambda: querying.find(state, query))
    select = body.get("select")
    shown = [_v1(state, request, *seen, select) for run_id in found if (seen := state.visible_run(run_id))]
    return reply({"runs": shown, "cursors": {"next": following, "prev": None}, "search_cursors": None})


async def v1_retrieve(state: State, request: Request) -> Response:
    """GET /runs/{id}."""
    _v1_only(state)
    return reply(_v1(state, request, *_visible(state, request), None))


async def validate_filter(state: State, request: Request) -> Response:
    """POST /runs/query/validate."""
    body = json.loads(await request.body())
    errors = []
    for name in ("filter", "trace_filter", "tree_filter"):
        try:
            if body.get(name):
                parse(body[name])
        except FilterError as error:
            errors.append({"field": name, "message": str(error)})
    return reply({"valid": not errors, "errors": errors})


async def v2_query(state: State, request: Request) -> Response:
    """POST /api/v2/runs/query."""
    body = json.loads(await request.body())
    if bool(body.get("project_ids")) == bool(body.get("reference_dataset_id")):
        raise Refused(422, "exactly one of project_ids and reference_dataset_id is required")
    size = _size(body, 100, V2_RUNS_LIMIT)
    selects = querying.selected(body.get("selects"))
    start, end = querying.window(body.get("min_start_time"), body.get("max_start_time"), state.clock.now())
    query = querying.RunQuery(
        project_ids=_ids(body.get("project_ids")),
        filter=body.get("filter"),
        trace_filter=body.get("trace_filter"),
        tree_filter=body.get("tree_filter"),
        is_root=body.get("is_root"),
        has_error=body.get("has_error"),
        ids=_ids(body.get("ids")),
        run_type=str(body["run_type"]).lower() if body.get("run_type") else None,
        trace_ids=_ids([body["trace_id"]]) if body.get("trace_id") else None,
        start=start,
        end=end,
        **_feedback_times(state, body),
    )
    found, following = querying.page(state, body, body.get("cursor"), size, lambda: querying.find(state, query))
    items = [shapes.v2_run(state, *seen, selects) for run_id in found if (seen := state.visible_run(run_id))]
    return reply({"items": items, "next_cursor": following, "has_more": following is not None})


async def v2_retrieve(state: State, request: Request) -> Response:
    """GET /api/v2/runs/{id}."""
    run, seen = _visible(state, request)
    project = request.query_params.get("project_id")
    if not project:
        raise Refused(422, "project_id is required")
    started = request.query_params.get("start_time")
    if project != run.project_id or (started and moment(started) != moment(seen["start_time"])):
        raise Refused(404, "run not found: resource not found")
    return reply(shapes.v2_run(state, run, seen, querying.selected(request.query_params.getlist("selects"))))


async def v2_url(state: State, request: Request) -> Response:
    """GET /api/v2/runs/{id}/url."""
    run, seen = _visible(state, request)
    return reply({"url": str(request.base_url).rstrip("/") + shapes.v2_run(state, run, seen, ["APP_PATH"])["app_path"]})


async def v2_traces(state: State, request: Request) -> Response:
    """POST /api/v2/traces/query."""
    body = json.loads(await request.body())
    if not body.get("project_id"):
        raise Refused(422, "project_id is required")
    size = _size(body, V2_TRACES_DEFAULT, V2_TRACES_LIMIT)
    selects = querying.selected(body.get("selects"))
    start, end = querying.window(body.get("min_start_time"), body.get("max_start_time"), state.clock.now())
    query = querying.RunQuery(
        project_ids=_ids([body["project_id"]]),
        filter=body.get("trace_filter"),
        tree_filter=body.get("tree_filter"),
        trace_ids=_ids(body.get("trace_ids")),
        is_root=True,
        start=start,
        end=end,
        **_feedback_times(state, body),
    )
    found, following = querying.page(state, body, body.get("cursor"), size, lambda: querying.find(state, query))
    items = [_trace(state, *seen, selects) for run_id in found if (seen := state.visible_run(run_id))]
    return reply({"items": items, "next_cursor": following})


async def v2_trace_runs(state: State, request: Request) -> Response:
    """GET /api/v2/traces/{id}/runs: the whole trace, without a cursor."""
    asked, trace_id = request.query_params, request.path_params["trace_id"]
    if not asked.get("project_id"):
        raise Refused(422, "project_id is required")
    if bool(asked.get("min_start_time")) != bool(asked.get("max_start_time")):
        raise Refused(422, "min_start_time and max_start_time must be given together")
    selects = querying.selected(asked.getlist("selects"))
    query = querying.RunQuery(
        project_ids=_ids([asked["project_id"]]),
        filter=asked.get("filter"),
        trace_ids=frozenset({trace_id}),
        start=moment(asked.get("min_start_time")),
        end=moment(asked.get("max_start_time")),
        ascending=True,
    )
    found = querying.find(state, query)[:RUNS_PER_TRACE]
    if not found and not any(state.visible_runs(traces=[trace_id])):
        raise Refused(404, "trace not found: resource not found")
    items = [shapes.v2_run(state, *seen, selects) for run_id in found if (seen := state.visible_run(run_id))]
    return reply({"items": items})


async def payload(state: State, request: Request) -> Response:
    """GET a presigned payload: no key is needed, and the URL runs out."""
    held = state.payload_urls.get(request.path_params["token"])
    if held is None:
        raise Refused(404, "NoSuchKey")
    if held[0] < state.clock.now():
        raise Refused(403, "Request has expired")
    return reply(held[1])


def _v1_only(state: State) -> None:
    if state.switches.generation == "v2":
        raise Refused(state.switches.removed_status, "this endpoint was removed; use /api/v2")


def _visible(state: State, request: Request) -> tuple[Run, dict[str, Any]]:
    found = state.visible_run(request.path_params["run_id"])
    if found is None:
        v2 = "/api/v2/" in request.url.path
        raise Refused(404, "run not found: resource not found" if v2 else "Run not found")
    return found


def _v1(state: State, request: Request, run: Run, seen: dict[str, Any], select: list[str] | None) -> dict[str, Any]:
    whole = shapes.v1_run(state, run, seen, str(request.base_url).rstrip("/"))
    if select is None:
        return whole
    return {name: value for name, value in whole.items() if name in _V1_ALWAYS or name in select}


def _trace(state: State, run: Run, seen: dict[str, Any], selects: list[str]) -> dict[str, Any]:
    item: dict[str, Any] = {
        "root_run": shapes.v2_run(state, run, seen, [name for name in selects if name not in _AGGREGATES])
    }
    wanted = [name for name in selects if name in _AGGREGATES]
    if wanted:
        whole = [shapes.v2_run(state, *one, ["TOTAL_TOKENS"]) for one in state.visible_runs(traces=[seen["trace_id"]])]
        totals = {"total_tokens": sum(one["total_tokens"] for one in whole), "total_cost": None}
        item["trace_aggregates"] = {name.lower(): totals.get(name.lower()) for name in wanted}
    return item


def _feedback_times(state: State, body: dict[str, Any]) -> dict[str, Any]:
    if not state.switches.knows_feedback_times:
        return {}
    return {
        "feedback_start": moment(body.get("min_feedback_modified_at")),
        "feedback_end": moment(body.get("max_feedback_modified_at")),
    }


def _size(body: dict[str, Any], default: int, most: int) -> int:
    size = body.get("page_size", default)
    if not isinstance(size, int) or not 1 <= size <= most:
        raise invalid("page_size", f"page_size must be between 1 and {most}")
    return size


def _ids(values: Any) -> frozenset[str] | None:
    return frozenset(str(value) for value in values) if values else None
