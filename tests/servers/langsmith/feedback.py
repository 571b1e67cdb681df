"""Endpoints for feedback, feedback configs and presigned feedback tokens."""

import json
import uuid
from datetime import timedelta
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from tests.servers.langsmith.replies import Refused, invalid, reply
from tests.servers.langsmith.state import TENANT_ID, Feedback, State, moment

KEY_CHARACTERS = 180
PAGE_LIMIT = 100
_CREATABLE = frozenset({"api", "model", "app", "auto_eval"})
_EDITABLE = ("score", "value", "comment", "correction")


async def create(state: State, request: Request) -> Response:
    """POST /feedback."""
    fields = json.loads(await request.body())
    run_id = fields.get("run_id")
    if state.switches.generation == "v2" and run_id and not fields.get("session_id"):
        raise Refused(501, "feedback on a run needs session_id")
    held = state.feedback.get(str(fields.get("id")))
    if held is not None and state.switches.repost == "conflict":
        raise Refused(409, f"Feedback {fields['id']} already exists")
    return reply(store_feedback(state, fields, run_must_exist=state.switches.feedback_to_unseen == "404"))


def store_feedback(state: State, fields: dict[str, Any], *, run_must_exist: bool) -> dict[str, Any]:
    """Check and store one feedback; its trace is kept longer unless the writer says otherwise."""
    now = state.clock.now()
    _check(state, fields)
    run_id = fields.get("run_id")
    if run_id and not _is_uuid(str(run_id)):
        raise invalid("run_id", "not a valid UUID")
    found = state.visible_run(str(run_id)) if run_id else None
    if run_id and found is None and run_must_exist:
        raise Refused(404, f"Run {run_id} not found")
    if found is not None and fields.get("session_id") and str(fields["session_id"]) != found[0].project_id:
        raise Refused(404, f"Run {run_id} not found in project {fields['session_id']}")
    trace_id = str(found[1]["trace_id"]) if found else fields.get("trace_id")
    if trace_id and fields.get("extend_trace_retention", True):
        _extend(state, str(trace_id))
    feedback_id = str(fields.get("id") or uuid.uuid4())
    earlier = state.feedback.get(feedback_id)
    stored = {
        "id": feedback_id,
        "created_at": earlier.fields["created_at"] if earlier else now.isoformat(),
        "modified_at": now.isoformat(),
        "run_id": run_id,
        "trace_id": trace_id,
        "session_id": fields.get("session_id") or (found[0].project_id if found else None),
        "start_time": found[1].get("start_time") if found else fields.get("start_time"),
        "is_root": found is not None and not found[1].get("parent_run_id"),
        "key": fields["key"],
        **{name: fields.get(name) for name in (*_EDITABLE, "feedback_group_id", "comparative_experiment_id")},
        "feedback_source": {"type": "api", "metadata": {}, "user_id": None, **(fields.get("feedback_source") or {})},
        "extra": None,
    }
    if fields.get("feedback_config") and fields["key"] not in state.feedback_configs:
        _store_config(state, fields["key"], fields["feedback_config"], None)
    known_from = now + timedelta(seconds=state.switches.stats_delay_s)
    if earlier is None and run_id:
        state.run_feedback[str(run_id)].append(feedback_id)
    state.feedback[feedback_id] = Feedback(fields=stored, known_from=known_from)
    return stored


async def listing(state: State, request: Request) -> Response:
    """GET /feedback."""
    asked = request.query_params
    limit, offset = int(asked.get("limit", PAGE_LIMIT)), int(asked.get("offset", 0))
    if not 1 <= limit <= PAGE_LIMIT:
        raise invalid("limit", f"Limit exceeds maximum allowed value of {PAGE_LIMIT}")
    sources = asked.getlist("source")
    if wrong := [one for one in sources if one not in _CREATABLE]:
        raise invalid("source", f"{wrong[0]!r} is not a valid source type")
    runs = asked.getlist("run")
    held = (
        [state.feedback[one] for run in runs for one in state.run_feedback.get(run, ())]
        if runs
        else list(state.feedback.values())
    )
    rows = [one.fields for one in held if _asked_for(one.fields, asked, sources)]
    rows.sort(key=lambda one: (str(one["created_at"]), str(one["id"])), reverse=True)
    return reply(rows[offset : offset + limit])


def _asked_for(one: dict[str, Any], asked: Any, sources: list[str]) -> bool:
    keys, sessions = asked.getlist("key"), asked.getlist("session")
    since, until = moment(asked.get("min_created_at")), moment(asked.get("max_created_at"))
    created = moment(one["created_at"])
    assert created is not None
    return (
        (not keys or one["key"] in keys)
        and (not sessions or one["session_id"] in sessions)
        and (not sources or one["feedback_source"]["type"] in sources)
        and (since is None or created >= since)
        and (until is None or created <= until)
        and ("has_score" not in asked or (asked["has_score"] == "true") == (one["score"] is not None))
        and ("has_comment" not in asked or (asked["has_comment"] == "true") == bool(one["comment"]))
        and (asked.get("level") != "run" or one["run_id"] is not None)
    )


async def retrieve(state: State, request: Request) -> Response:
    """GET /feedback/{id}."""
    return reply(_held(state, request).fields)


async def update(state: State, request: Request) -> Response:
    """PATCH /feedback/{id}: only what is given; null clears; key, source and extra can't be changed."""
    held = _held(state, request)
    changes = json.loads(await request.body())
    given = {name: changes[name] for name in _EDITABLE if name in changes}
    _check(state, {**held.fields, **given})
    held.fields.update(given, modified_at=state.clock.now().isoformat())
    return reply(held.fields)


async def delete(state: State, request: Request) -> Response:
    """DELETE /feedback/{id}."""
    fields = _held(state, request).fields
    del state.feedback[fields["id"]]
    if fields["run_id"]:
        state.run_feedback[fields["run_id"]].remove(fields["id"])
    return reply({})


async def create_config(state: State, request: Request) -> Response:
    """POST /feedback-configs: an identical one is returned, another one for the same key is refused."""
    body = json.loads(await request.body())
    key, config = body.get("feedback_key"), body.get("feedback_config") or {}
    if not key or config.get("type") not in ("continuous", "categorical", "freeform"):
        raise invalid("feedback_config", "a key and a type of continuous, categorical or freeform are needed")
    if config["type"] == "categorical":
        for category in config.get("categories") or [{}]:
            if not isinstance(category.get("value"), int | float):
                raise invalid("categories", "each category needs a numeric value")
    held = state.feedback_configs.get(key)
    if held is not None:
        if _bare(held["feedback_config"]) != _bare(config):
            raise Refused(400, "Feedback config already exists")
        return reply(held)
    return reply(_store_config(state, key, config, body.get("is_lower_score_better")))


async def list_configs(state: State, request: Request) -> Response:
    """GET /feedback-configs."""
    keys = request.query_params.getlist("key")
    held = [one for one in state.feedback_configs.values() if not keys or one["feedback_key"] in keys]
    offset, limit = int(request.query_params.get("offset", 0)), int(request.query_params.get("limit", 100))
    return reply(held[offset : offset + limit])


async def update_config(state: State, request: Request) -> Response:
    """PATCH /feedback-configs."""
    body = json.loads(await request.body())
    held = state.feedback_configs.get(body.get("feedback_key"))
    if held is None:
        raise Refused(404, "Feedback config not found")
    held.update({name: body[name] for name in ("feedback_config", "is_lower_score_better") if name in body})
    return reply(held)


async def create_token(state: State, request: Request) -> Response:
    """POST /feedback/tokens: URLs that take feedback without a key; a list makes several."""
    body = json.loads(await request.body())
    made = []
    for one in body if isinstance(body, list) else [body]:
        life = one.get("expires_in") or {"hours": 3}
        ends = state.clock.now() + timedelta(**{unit: life.get(unit) or 0 for unit in ("days", "hours", "minutes")})
        token = str(one.get("id") or uuid.uuid4())
        state.feedback_tokens[token] = {**one, "ends": ends}
        url = f"{str(request.base_url).rstrip('/')}/feedback/tokens/{token}"
        made.append({"id": token, "url": url, "expires_at": ends.isoformat()})
    return reply(made if isinstance(body, list) else made[0])


async def use_token(state: State, request: Request) -> Response:
    """POST /feedback/tokens/{token}: no key is needed."""
    token = state.feedback_tokens.get(request.path_params["token"])
    if token is None or token["ends"] < state.clock.now():
        raise Refused(404, "Token not found")
    body = json.loads(await request.body())
    fields = {name: body.get(name) for name in _EDITABLE}
    source = {"type": "app", "metadata": body.get("metadata") or {}}
    fields.update(run_id=token["run_id"], key=token["feedback_key"], feedback_source=source)
    return reply(store_feedback(state, fields, run_must_exist=True))


def _held(state: State, request: Request) -> Feedback:
    held = state.feedback.get(request.path_params["feedback_id"])
    if held is None:
        raise Refused(404, "Feedback not found")
    return held


def _check(state: State, fields: dict[str, Any]) -> None:
    key, score, value = fields.get("key"), fields.get("score"), fields.get("value")
    if not key or len(key) > KEY_CHARACTERS:
        raise invalid("key", f"a key of 1 to {KEY_CHARACTERS} characters is needed")
    if score is not None and not isinstance(score, int | float):
        raise invalid("score", "not a number")
    if score is not None and (score != score or round(float(score), 4) != float(score)):
        raise invalid("score", "a score has at most 4 decimal places")
    if isinstance(value, list):
        raise invalid("value", "a value is a number, a boolean, a string or an object")
    if (fields.get("feedback_source") or {}).get("type", "api") not in _CREATABLE:
        raise invalid("feedback_source", "unknown source type")
    config = (state.feedback_configs.get(key) or {}).get("feedback_config") or {}
    if score is None or not config:
        return
    low, high = config.get("min"), config.get("max")
    if (low is not None and score < low) or (high is not None and score > high):
        raise invalid("score", f"outside the bounds of {key}: {low} to {high}")
    if config["type"] == "categorical" and score not in [one["value"] for one in config.get("categories") or []]:
        raise invalid("score", f"not a category of {key}")


def _is_uuid(text: str) -> bool:
    try:
        uuid.UUID(text)
    except ValueError:
        return False
    return True


def _extend(state: State, trace_id: str) -> None:
    allowed = state.switches.extended_traces_allowed
    if trace_id in state.extended_traces:
        return
    if allowed is not None and len(state.extended_traces) >= allowed:
        raise Refused(403, "the organisation's limit of extended traces is reached")
    state.extended_traces.add(trace_id)


def _store_config(state: State, key: str, config: dict[str, Any], lower_is_better: bool | None) -> dict[str, Any]:
    stored = {
        "id": str(uuid.uuid4()),
        "feedback_key": key,
        "feedback_config": config,
        "tenant_id": TENANT_ID,
        "modified_at": state.clock.now().isoformat(),
        "is_lower_score_better": lower_is_better,
    }
    state.feedback_configs[key] = stored
    return stored


def _bare(config: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in config.items() if value is not None}
