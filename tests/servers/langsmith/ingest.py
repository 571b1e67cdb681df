"""Endpoints that take runs: multipart (zstd and plain), batch, and single POST and PATCH."""

import json
import uuid
from collections.abc import Iterator
from typing import Any

import zstandard
from starlette.requests import Request
from starlette.responses import Response

from tests.servers.langsmith.feedback import store_feedback
from tests.servers.langsmith.replies import Refused, reply
from tests.servers.langsmith.state import State

BATCH_BYTES = 20_971_520
BATCH_OPERATIONS = 100
RUN_TYPES = frozenset({"tool", "chain", "llm", "retriever", "embedding", "prompt", "parser"})
_PAYLOADS = frozenset({"inputs", "outputs", "events", "extra", "error", "serialized"})


async def multipart(state: State, request: Request) -> Response:
    """POST /runs/multipart."""
    if not state.switches.multipart:
        raise Refused(404, "Not Found")
    body = await request.body()
    if request.headers.get("content-encoding") == "zstd":
        if not state.switches.zstd:
            raise Refused(415, "unsupported content encoding", error="Unsupported Media Type")
        body = zstandard.ZstdDecompressor().decompressobj().decompress(body)
    if len(body) > BATCH_BYTES:
        raise Refused(413, "payload too large", error="Payload Too Large")
    posts: dict[str, dict[str, Any]] = {}
    patches: dict[str, dict[str, Any]] = {}
    feedback = []
    for name, content in _parts(body, request.headers.get("content-type", "")):
        event, _, rest = name.partition(".")
        if event == "attachment":
            continue
        if event == "feedback":
            feedback.append(_decoded(name, content))
            continue
        if event not in ("post", "patch"):
            raise Refused(422, f"unknown part {name!r}", error="Unprocessable Entity")
        run_id, _, field = rest.partition(".")
        target = (posts if event == "post" else patches).setdefault(run_id, {"id": run_id})
        if field and field not in _PAYLOADS:
            raise Refused(422, f"unknown part {name!r}", error="Unprocessable Entity")
        target.update({field: _decoded(name, content)} if field else _decoded(name, content))
    _take(state, list(posts.values()), list(patches.values()))
    for one in feedback:
        store_feedback(state, one, run_must_exist=False)
    return reply({"message": "Runs batch ingested"}, 202)


async def batch(state: State, request: Request) -> Response:
    """POST /runs/batch."""
    body = json.loads(await request.body())
    posts, patches = body.get("post") or [], body.get("patch") or []
    if len(posts) + len(patches) > BATCH_OPERATIONS:
        raise Refused(422, f"more than {BATCH_OPERATIONS} operations", error="Unprocessable Entity")
    _take(state, posts, patches)
    return reply({"message": "Runs batch ingested"}, 202)


async def create(state: State, request: Request) -> Response:
    """POST /runs."""
    fields = json.loads(await request.body())
    fields.setdefault("id", str(uuid.uuid4()))
    if not fields.get("dotted_order"):
        if fields.get("parent_run_id"):
            raise Refused(422, "dotted_order is required for a child run")
        stamp = str(fields["start_time"]).replace("-", "").replace(":", "").replace(".", "").replace("+0000", "")
        fields.update(trace_id=fields["id"], dotted_order=f"{stamp}Z{fields['id']}")
    _check(fields)
    if not state.take_run(fields, is_post=True):
        raise Refused(409, f"Run {fields['id']} already exists")
    return reply({"message": "Run created"}, 202)


async def update(state: State, request: Request) -> Response:
    """PATCH /runs/{id}."""
    fields = {**json.loads(await request.body()), "id": request.path_params["run_id"]}
    held = state.runs.get(fields["id"])
    if held is None and not fields.get("trace_id"):
        raise Refused(404, "Run not found")
    fields.setdefault("trace_id", fields["id"] if held is None else held.revisions[0][1]["trace_id"])
    state.take_run(fields, is_post=False)
    return reply({"message": "Run updated"}, 202)


def load(state: State, runs: list[dict[str, Any]]) -> None:
    """Take whole runs at once, for benchmarks; tests of behaviour send theirs through the SDK."""
    _take(state, runs, [])


def _take(state: State, posts: list[dict[str, Any]], patches: list[dict[str, Any]]) -> None:
    for fields in (*posts, *patches):
        _check(fields)
    taken = [state.take_run(fields, is_post=True) for fields in posts]
    for fields in patches:
        state.take_run(fields, is_post=False)
    if posts and not patches and not any(taken):
        raise Refused(409, "all runs exist already", error="Conflict")


def _check(fields: dict[str, Any]) -> None:
    for name in ("id", "trace_id", "dotted_order"):
        if not fields.get(name):
            raise Refused(422, f"{name} is required", error="Unprocessable Entity")
    segments = [segment.partition("Z")[2] for segment in str(fields["dotted_order"]).split(".")]
    if segments[-1] != str(fields["id"]) or segments[0] != str(fields["trace_id"]):
        raise Refused(422, f"dotted_order does not fit run {fields['id']}", error="Unprocessable Entity")
    if fields.get("run_type") is not None and fields["run_type"] not in RUN_TYPES:
        raise Refused(422, f"run_type {fields['run_type']!r} is not known", error="Unprocessable Entity")


def _parts(body: bytes, content_type: str) -> Iterator[tuple[str, bytes]]:
    boundary = content_type.partition("boundary=")[2].strip('"')
    if not boundary:
        raise Refused(422, "no multipart boundary", error="Unprocessable Entity")
    for chunk in body.split(b"--" + boundary.encode())[1:]:
        if chunk.startswith(b"--"):
            return
        head, _, content = chunk.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        headers = {k.strip().lower(): v.strip() for k, _, v in (h.partition(":") for h in head.decode().split("\r\n"))}
        name = headers.get("content-disposition", "").partition('name="')[2].partition('"')[0]
        content = content.removesuffix(b"\r\n")
        if not headers.get("content-type") or headers.get("content-length") != str(len(content)):
            raise Refused(422, f"part {name!r} lacks a Content-Type or a right Content-Length", error="Unprocessable")
        yield name, content
    raise Refused(422, "the multipart body has no end", error="Unprocessable Entity")


def _decoded(name: str, content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError as error:
        raise Refused(422, f"part {name!r} is not JSON", error="Unprocessable Entity") from error
