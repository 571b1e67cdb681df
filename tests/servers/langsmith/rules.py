"""Run rules: filter, sampling, and the webhook sender with the service's delivery rules."""

import hashlib
import json
import uuid
from datetime import datetime
from typing import Any

import httpx
from starlette.requests import Request
from starlette.responses import Response

from tests.servers.langsmith import querying, shapes
from tests.servers.langsmith.replies import Refused, invalid, reply
from tests.servers.langsmith.state import TENANT_ID, State, moment

REPLY_WITHIN_S = 5.0
REPEATS = 2  # after a failed connection or a 5xx; a slow reply and a 4xx are final


async def create(state: State, request: Request) -> Response:
    """POST /runs/rules."""
    body = json.loads(await request.body())
    for name in ("display_name", "sampling_rate"):
        if body.get(name) is None:
            raise invalid(name, "field required")
    if not 0 <= body["sampling_rate"] <= 1:
        raise invalid("sampling_rate", "between 0 and 1")
    if bool(body.get("session_id")) == bool(body.get("dataset_id")):
        raise invalid("session_id", "exactly one of session_id and dataset_id is required")
    begun = body.get("backfill_from") or state.clock.now().isoformat()
    stored = {"is_enabled": True, "webhooks": [], **body, "id": str(uuid.uuid4()), "tenant_id": TENANT_ID}
    stored.update(last_applied=begun, logs=[])
    state.rules[stored["id"]] = stored
    return reply(_shown(stored))


async def listing(state: State, _request: Request) -> Response:
    """GET /runs/rules."""
    return reply([_shown(one) for one in state.rules.values()])


async def update(state: State, request: Request) -> Response:
    """PATCH /runs/rules/{id}."""
    rule = _held(state, request)
    rule.update(json.loads(await request.body()))
    return reply(_shown(rule))


async def delete(state: State, request: Request) -> Response:
    """DELETE /runs/rules/{id}."""
    del state.rules[_held(state, request)["id"]]
    return reply({})


async def trigger(state: State, request: Request) -> Response:
    """POST /runs/rules/{id}/trigger: apply the rule now to what came since it was last applied."""
    rule = _held(state, request)
    await apply(state, rule, str(request.base_url).rstrip("/"))
    return reply({"message": "Rule triggered"})


async def logs(state: State, request: Request) -> Response:
    """GET /runs/rules/{id}/logs."""
    return reply(_held(state, request)["logs"])


async def apply(state: State, rule: dict[str, Any], base_url: str) -> None:
    """Find the matching runs, then send each webhook; the in-rule order puts it before any evaluator."""
    until, since = state.clock.now(), moment(rule["last_applied"])
    query = querying.RunQuery(
        project_ids=frozenset({str(rule["session_id"])}),
        filter=rule.get("filter"),
        trace_filter=rule.get("trace_filter"),
        tree_filter=rule.get("tree_filter"),
        start=since,
        end=until,
        ascending=True,
    )
    ids = [run_id for run_id in querying.find(state, query) if _sampled(rule, run_id)]
    rule["last_applied"] = until.isoformat()
    if not rule["is_enabled"] or not ids:
        return
    payload = _payload(state, rule, ids, since, until, base_url)
    for webhook in rule["webhooks"]:
        await _deliver(rule, webhook, payload)


async def _deliver(rule: dict[str, Any], webhook: dict[str, Any], payload: bytes) -> None:
    headers = {"content-type": "application/json", **(webhook.get("headers") or {})}
    outcome: str | int = ""
    for _attempt in range(1 + REPEATS):
        try:
            async with httpx.AsyncClient(timeout=REPLY_WITHIN_S, trust_env=False) as client:
                outcome = (await client.post(webhook["url"], content=payload, headers=headers)).status_code
        except httpx.ConnectError:
            outcome = "connection failed"
            continue
        except httpx.HTTPError:
            outcome = "no reply in time"
            break
        if outcome < 500:
            break
    rule["logs"].append({"url": webhook["url"], "outcome": outcome, "attempts": _attempt + 1})


def _payload(
    state: State, rule: dict[str, Any], ids: list[str], since: datetime | None, until: datetime, base_url: str
) -> bytes:
    runs = []
    for run_id in ids:
        if (found := state.visible_run(run_id)) is not None:
            shown = shapes.v1_run(state, *found, base_url)
            # Webhooks carry times without a zone, unlike every other answer.
            runs.append({**shown, "modified_at": state.clock.now().replace(tzinfo=None).isoformat()})
    body = {
        "rule_id": rule["id"],
        "start_time": since.isoformat() if since else None,
        "end_time": until.isoformat(),
        "runs": runs,
    }
    return json.dumps(body, default=str).encode()


def _sampled(rule: dict[str, Any], run_id: str) -> bool:
    share = int(hashlib.sha256(f"{rule['id']}{run_id}".encode()).hexdigest()[:8], 16) / 0xFFFFFFFF
    return share <= float(rule["sampling_rate"])


def _shown(rule: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in rule.items() if name != "logs"}


def _held(state: State, request: Request) -> dict[str, Any]:
    rule = state.rules.get(request.path_params["rule_id"])
    if rule is None:
        raise Refused(404, "Rule not found")
    return rule
