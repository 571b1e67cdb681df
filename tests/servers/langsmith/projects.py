"""Endpoints for the service itself, projects (sessions), and a minimum of datasets."""

import json
import uuid
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from tests.servers.langsmith.ingest import BATCH_BYTES, BATCH_OPERATIONS
from tests.servers.langsmith.replies import Refused, invalid, reply
from tests.servers.langsmith.state import TENANT_ID, Project, State

PAGE_LIMIT = 100


async def info(state: State, _request: Request) -> Response:
    """GET /info: the version, and which run store and ingest the instance has; no key is needed."""
    switches = state.switches
    if switches.is_info_broken:
        raise Refused(500, "info is broken")
    flags = {
        "zstd_compression_enabled": switches.zstd,
        "dataset_examples_multipart_enabled": False,
        "ch_query_enabled": switches.generation != "v2",
        "sdb_query_enabled": switches.generation != "v1",
    }
    config = {
        "use_multipart_endpoint": switches.multipart,
        "scale_up_qsize_trigger": 1000,
        "scale_up_nthreads_limit": 16,
        "scale_down_nempty_trigger": 4,
        "size_limit": BATCH_OPERATIONS,
        "size_limit_bytes": BATCH_BYTES,
    }
    return reply({"version": switches.version, "instance_flags": flags, "batch_ingest_config": config})


async def sessions(state: State, request: Request) -> Response:
    """GET /sessions."""
    asked = request.query_params
    limit, offset = int(asked.get("limit", PAGE_LIMIT)), int(asked.get("offset", 0))
    if not 1 <= limit <= PAGE_LIMIT:
        raise invalid("limit", f"at most {PAGE_LIMIT}")
    part, ids = asked.get("name_contains", "").lower(), asked.getlist("id")
    held = [
        one
        for one in state.projects.values()
        if ("name" not in asked or one.name == asked["name"])
        and part in one.name.lower()
        and (not ids or one.id in ids)
    ]
    return reply([_shown(one) for one in held[offset : offset + limit]])


async def session(state: State, request: Request) -> Response:
    """GET /sessions/{id}."""
    held = state.projects.get(request.path_params["project_id"])
    if held is None:
        raise Refused(404, "Session not found")
    return reply(_shown(held))


async def create_session(state: State, request: Request) -> Response:
    """POST /sessions."""
    body = json.loads(await request.body())
    if any(one.name == body.get("name") for one in state.projects.values()):
        raise Refused(409, "Session already exists")
    project = Project(id=str(body.get("id") or uuid.uuid4()), name=body["name"], created_at=state.clock.now())
    state.projects[project.id] = project
    return reply(_shown(project))


async def create_dataset(state: State, request: Request) -> Response:
    """POST /datasets."""
    body = json.loads(await request.body())
    if any(one["name"] == body.get("name") for one in state.datasets.values()):
        raise Refused(409, "Dataset with this name already exists.")
    now = state.clock.now().isoformat()
    stored = {"data_type": "kv", "description": None, **body, "id": str(body.get("id") or uuid.uuid4())}
    stored.update(tenant_id=TENANT_ID, created_at=now, modified_at=now, example_count=0, session_count=0)
    state.datasets[stored["id"]] = stored
    return reply(stored)


async def datasets(state: State, request: Request) -> Response:
    """GET /datasets."""
    asked = request.query_params
    held = [one for one in state.datasets.values() if "name" not in asked or one["name"] == asked["name"]]
    return reply(_page(held, request))


async def create_examples(state: State, request: Request) -> Response:
    """POST /examples/bulk."""
    made = []
    bodies = json.loads(await request.body())
    for body in bodies:
        if str(body.get("dataset_id")) not in state.datasets:
            raise Refused(404, "Dataset not found")
        # All of them or none: an id that is known is no update.
        if str(body.get("id")) in state.examples:
            raise Refused(409, f"Example {body['id']} already exists")
        if (run := body.get("source_run_id")) is not None and str(run) not in state.runs:
            raise Refused(404, f"Run {run} not found")
    for body in bodies:
        now = state.clock.now().isoformat()
        stored: dict[str, Any] = {
            **body,
            "id": str(body.get("id") or uuid.uuid4()),
            "created_at": now,
            "modified_at": now,
            # The service notes the split there.
            "metadata": {"dataset_split": ["base"], **(body.get("metadata") or {})},
        }
        state.examples[stored["id"]] = stored
        made.append(stored)
    return reply(made)


async def update_examples(state: State, request: Request) -> Response:
    """PATCH /examples/bulk: the parts that are given replace those that are there."""
    bodies = json.loads(await request.body())
    for body in bodies:
        if str(body.get("id")) not in state.examples:
            raise Refused(404, f"Example {body.get('id')} not found")
    for body in bodies:
        held = state.examples[str(body["id"])]
        given = {key: value for key, value in body.items() if value is not None}
        if "metadata" in given:
            given["metadata"] = {"dataset_split": held["metadata"].get("dataset_split"), **given["metadata"]}
        held.update(given, modified_at=state.clock.now().isoformat())
    return reply({"message": f"{len(bodies)} examples updated", "count": len(bodies)})


async def examples(state: State, request: Request) -> Response:
    """GET /examples."""
    dataset = request.query_params.get("dataset")
    held = [one for one in state.examples.values() if dataset is None or one["dataset_id"] == dataset]
    return reply(_page(held, request))


def _page(held: list[dict[str, Any]], request: Request) -> list[dict[str, Any]]:
    offset, limit = int(request.query_params.get("offset", 0)), int(request.query_params.get("limit", PAGE_LIMIT))
    if not 1 <= limit <= PAGE_LIMIT:
        raise invalid("limit", f"at most {PAGE_LIMIT}")
    return held[offset : offset + limit]


def _shown(project: Project) -> dict[str, Any]:
    return {
        "id": project.id,
        "name": project.name,
        "tenant_id": TENANT_ID,
        "start_time": project.created_at.isoformat(),
        "end_time": None,
        "description": None,
        "extra": None,
        "reference_dataset_id": None,
        "trace_tier": "shortlived",
    }
