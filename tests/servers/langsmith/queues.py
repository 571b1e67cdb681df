"""Endpoints for annotation queues: the queues, items of the newer API, and runs of the older one."""

import json
import uuid
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from tests.servers.langsmith.replies import Refused, invalid, reply
from tests.servers.langsmith.state import TENANT_ID, State, moment

PAGE_LIMIT = 100
_SECTIONS = ("needs_my_review", "needs_others_review", "archived")


async def create(state: State, request: Request) -> Response:
    """POST /annotation-queues."""
    body = json.loads(await request.body())
    if not body.get("name"):
        raise invalid("name", "a name is needed")
    if any(one["name"] == body["name"] for one in state.queues.values()):
        raise Refused(409, "Annotation queue already exists")
    now = state.clock.now().isoformat()
    stored = {
        "description": None,
        "rubric_instructions": None,
        "rubric_items": [],
        "num_reviewers_per_item": 1,
        "enable_reservations": True,
        "reservation_minutes": 1,
        "default_dataset": None,
        "metadata": None,
        **body,
        "id": str(body.get("id") or uuid.uuid4()),
        "queue_type": "single",
        "tenant_id": TENANT_ID,
        "created_at": now,
        "updated_at": now,
    }
    state.queues[stored["id"]] = stored
    return reply(stored)


async def listing(state: State, request: Request) -> Response:
    """GET /annotation-queues."""
    asked = request.query_params
    held = [
        one
        for one in state.queues.values()
        if ("name" not in asked or one["name"] == asked["name"])
        and asked.get("name_contains", "") in one["name"]
        and (not asked.getlist("ids") or one["id"] in asked.getlist("ids"))
    ]
    offset, limit = int(asked.get("offset", 0)), int(asked.get("limit", PAGE_LIMIT))
    return reply(held[offset : offset + limit])


async def retrieve(state: State, request: Request) -> Response:
    """GET /annotation-queues/{id}."""
    return reply(_queue(state, request))


async def update(state: State, request: Request) -> Response:
    """PATCH /annotation-queues/{id}."""
    queue = _queue(state, request)
    queue.update(json.loads(await request.body()), updated_at=state.clock.now().isoformat())
    return reply(queue)


async def create_items(state: State, request: Request) -> Response:
    """POST /api/v1/platform/annotation-queues/{id}/items."""
    queue = _queue(state, request)
    body = json.loads(await request.body())
    made = []
    for wanted in body.get("items") or []:
        if wanted.get("item_type") != "RUN":
            raise invalid("item_type", "this stand-in takes RUN items only")
        project = wanted.get("project_id") or wanted.get("session_id")
        if not project:
            raise invalid("project_id", "a RUN item needs project_id")
        made.append(_add(state, queue, str(wanted.get("run_id")), str(project)))
        if request.query_params.get("extend_trace_retention") == "true":
            state.extended_traces.add(str(state.runs[made[-1]["run_id"]].revisions[0][1]["trace_id"]))
    return reply({"items": made}, 201)


async def list_items(state: State, request: Request) -> Response:
    """GET /api/v1/platform/annotation-queues/{id}/items."""
    queue, asked = _queue(state, request), request.query_params
    if asked.get("status") not in _SECTIONS:
        raise invalid("status", f"one of {', '.join(_SECTIONS)}")
    size = int(asked.get("page_size", PAGE_LIMIT))
    if not 1 <= size <= PAGE_LIMIT:
        raise invalid("page_size", f"at most {PAGE_LIMIT}")
    held = [one for one in state.queue_items[queue["id"]] if _section(one) == asked["status"]]
    start = int(asked.get("cursor") or 0)
    following = str(start + size) if start + size < len(held) else None
    return reply({"items": held[start : start + size], "next_cursor": following})


async def count_items(state: State, request: Request) -> Response:
    """GET /api/v1/platform/annotation-queues/{id}/items/count."""
    queue, wanted = _queue(state, request), request.query_params.get("status")
    return reply({"count": sum(wanted in ("all", _section(one)) for one in state.queue_items[queue["id"]])})


async def delete_items(state: State, request: Request) -> Response:
    """POST /api/v1/platform/annotation-queues/{id}/items/delete."""
    queue = _queue(state, request)
    gone = set(json.loads(await request.body()).get("item_ids") or [])
    state.queue_items[queue["id"]] = [one for one in state.queue_items[queue["id"]] if one["id"] not in gone]
    return reply({"message": "Items deleted"})


async def item_status(state: State, request: Request) -> Response:
    """POST /api/v1/platform/annotation-queues/items/{item}/status: a reviewer is done with an item."""
    item_id, status = request.path_params["item_id"], json.loads(await request.body()).get("status")
    for items in state.queue_items.values():
        for one in items:
            if one["id"] == item_id:
                one["last_reviewed_time"] = state.clock.now().isoformat()
                one["completed_by"] = ["reviewer"] if status == "completed" else []
                return reply({"queue_item_id": item_id, "status": status, "is_archived": status == "completed"})
    raise Refused(404, "Queue item not found")


async def add_runs(state: State, request: Request) -> Response:
    """POST /annotation-queues/{id}/runs and /runs/by-key of the older API."""
    if state.switches.generation == "v2":
        raise Refused(state.switches.removed_status, "this endpoint was removed; use queue items")
    queue = _queue(state, request)
    made = []
    for one in json.loads(await request.body()):
        run_id = str(one["run_id"] if isinstance(one, dict) else one)
        held = state.runs.get(run_id)
        made.append(_add(state, queue, run_id, held.project_id if held else ""))
    return reply(made)


async def list_runs(state: State, request: Request) -> Response:
    """GET /annotation-queues/{id}/runs of the older API."""
    if state.switches.generation == "v2":
        raise Refused(state.switches.removed_status, "this endpoint was removed; use queue items")
    held = state.queue_items[_queue(state, request)["id"]]
    offset, limit = int(request.query_params.get("offset", 0)), int(request.query_params.get("limit", PAGE_LIMIT))
    return reply([{**one, "id": one["run_id"], "queue_run_id": one["id"]} for one in held[offset : offset + limit]])


def _add(state: State, queue: dict[str, Any], run_id: str, project_id: str) -> dict[str, Any]:
    found = state.visible_run(run_id)
    if found is None or found[0].project_id != project_id:
        raise Refused(404, f"Run {run_id} not found")
    now = state.clock.now()
    item = {
        "id": str(uuid.uuid4()),
        "item_type": "RUN",
        "run_id": run_id,
        "project_id": project_id,
        "start_time": found[1]["start_time"],
        "added_at": now.isoformat(),
        "last_reviewed_time": None,
        "queue_id": queue["id"],
        "thread_id": None,
        "completed_by": [],
    }
    # The service was not seen to refuse a run that is queued already; a client that adds twice has it twice.
    state.queue_items[queue["id"]].append(item)
    found[0].last_queued_at = moment(now)
    return item


def _section(item: dict[str, Any]) -> str:
    return "archived" if item["completed_by"] else "needs_my_review"


def _queue(state: State, request: Request) -> dict[str, Any]:
    queue = state.queues.get(request.path_params["queue_id"])
    if queue is None:
        raise Refused(404, "Annotation queue not found")
    return queue
