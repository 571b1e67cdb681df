"""How runs and feedback look on the wire: v1 lower-case dicts, v2 items of selected fields."""

import json
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from typing import Any, get_args

from langsmith.types.run_select_field import RunSelectField

from tests.servers.langsmith.filters import Facts
from tests.servers.langsmith.state import TENANT_ID, Run, State, moment

PREVIEW_CHARACTERS = 150
V2_FIELDS: frozenset[str] = frozenset(get_args(RunSelectField))
_THREAD_KEYS = ("session_id", "thread_id", "conversation_id")


def status_of(seen: Mapping[str, Any]) -> str:
    """Name a run's status: pending until it has an end."""
    if seen.get("error"):
        return "error"
    return "success" if seen.get("end_time") else "pending"


def metadata_of(seen: Mapping[str, Any]) -> dict[str, Any]:
    """Return a run's metadata."""
    return dict((seen.get("extra") or {}).get("metadata") or {})


def facts(state: State, run: Run, seen: Mapping[str, Any], feedback: Iterable[Mapping[str, Any]]) -> Facts:
    """Lay a run out for the filter language."""
    usage = _usage(seen)
    fields = {
        **{
            key: seen.get(key) for key in ("name", "run_type", "start_time", "end_time", "tags", "reference_example_id")
        },
        "id": run.id,
        "trace_id": seen["trace_id"],
        "status": status_of(seen),
        "error": seen.get("error"),
        "latency": _latency(seen),
        "is_root": is_root(seen),
        "thread_id": thread_of(seen),
        **usage,
    }

    def pairs(kind: str) -> Iterable[tuple[str, Any]]:
        held = {"metadata": metadata_of(seen), "input": seen.get("inputs"), "output": seen.get("outputs")}[kind]
        return _flat(held or {})

    text = "" if kind_has_no_text(seen) else _json([seen.get("name"), seen.get("inputs"), seen.get("outputs")])
    return Facts(fields=fields, feedback=feedback, text=text + str(seen.get("error") or ""), pairs=pairs)


def kind_has_no_text(seen: Mapping[str, Any]) -> bool:
    """Tell whether there is nothing for a full-text search."""
    return not (seen.get("inputs") or seen.get("outputs") or seen.get("name"))


def is_root(seen: Mapping[str, Any]) -> bool:
    """Tell whether a run has no parent."""
    return not seen.get("parent_run_id")


def ancestors(seen: Mapping[str, Any]) -> list[str]:
    """Return the ids from the root down to the direct parent, out of the dotted order."""
    return [segment.partition("Z")[2] for segment in str(seen.get("dotted_order") or "").split(".")[:-1]]


def thread_of(seen: Mapping[str, Any]) -> str | None:
    """Return the thread a run belongs to."""
    metadata = metadata_of(seen)
    return next((str(metadata[key]) for key in _THREAD_KEYS if metadata.get(key)), None)


def v1_run(state: State, run: Run, seen: Mapping[str, Any], base_url: str) -> dict[str, Any]:
    """Return a run as v1 endpoints and webhooks show it."""
    trace_id = str(seen["trace_id"])
    shown: dict[str, Any] = {
        "id": run.id,
        "trace_id": trace_id,
        "dotted_order": seen.get("dotted_order"),
        "parent_run_id": seen.get("parent_run_id"),
        "parent_run_ids": ancestors(seen),
        "name": seen.get("name"),
        "run_type": seen.get("run_type"),
        "inputs": seen.get("inputs"),
        "outputs": seen.get("outputs"),
        "inputs_s3_urls": None,
        "outputs_s3_urls": None,
        "s3_urls": None,
        "extra": seen.get("extra") or {},
        "start_time": seen.get("start_time"),
        "end_time": seen.get("end_time"),
        "error": seen.get("error"),
        "tags": seen.get("tags") or [],
        "events": seen.get("events") or [],
        "serialized": seen.get("serialized"),
        "session_id": run.project_id,
        "tenant_id": TENANT_ID,
        "status": status_of(seen),
        "is_root": is_root(seen),
        "feedback_stats": feedback_stats(state.feedback_of(run.id, counted_only=True)) or None,
        "first_token_time": None,
        "reference_example_id": seen.get("reference_example_id"),
        "app_path": _app_path(run, seen),
        "child_run_ids": None,
        "thread_id": thread_of(seen),
        "trace_tier": state.tier_of(trace_id),
        "ttl_seconds": int(state.retention_s(trace_id)),
        "in_dataset": False,
        "last_queued_at": run.last_queued_at.isoformat() if run.last_queued_at else None,
        **_usage(seen),
    }
    limit = state.switches.payload_url_bytes
    for name in ("inputs", "outputs"):
        if limit is not None and shown[name] and len(_json(shown[name])) >= limit:
            shown[f"{name}_s3_urls"] = {"ROOT": {"presigned_url": _presign(state, shown[name], base_url)}}
            shown[name] = None
    return shown


def v2_run(state: State, run: Run, seen: Mapping[str, Any], selects: Iterable[str]) -> dict[str, Any]:
    """Return only the selected fields of a run, as v2 does."""
    return {name.lower(): _V2[name](state, run, seen) for name in selects}


def feedback_stats(feedback: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return statistics by feedback key."""
    by_key: dict[str, list[Mapping[str, Any]]] = {}
    for one in feedback:
        by_key.setdefault(str(one["key"]), []).append(one)
    stats = {}
    for key, ones in by_key.items():
        scores = [float(one["score"]) for one in ones if one.get("score") is not None]
        stats[key] = {
            "n": len(ones),
            "avg": statistics.fmean(scores) if scores else None,
            "min": min(scores, default=None),
            "max": max(scores, default=None),
            "stdev": statistics.stdev(scores) if len(scores) > 1 else None,
            "errors": 0,
            "values": dict(Counter(one["value"] for one in ones if isinstance(one.get("value"), str))),
            "comments": [],  # statistics hold no comments; they are read per run
            "sources": sorted({str((one.get("feedback_source") or {}).get("type")) for one in ones}),
            "contains_thread_feedback": False,
        }
    return stats


def _latency(seen: Mapping[str, Any]) -> float | None:
    start, end = moment(seen.get("start_time")), moment(seen.get("end_time"))
    return (end - start).total_seconds() if start and end else None


def _usage(seen: Mapping[str, Any]) -> dict[str, Any]:
    usage = metadata_of(seen).get("usage_metadata") or (seen.get("outputs") or {}).get("usage_metadata") or {}
    usage = usage if isinstance(usage, dict) else {}
    prompt, completion = usage.get("input_tokens") or 0, usage.get("output_tokens") or 0
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": usage.get("total_tokens") or prompt + completion,
        "prompt_cost": None,
        "completion_cost": None,
        "total_cost": None,
    }


def _app_path(run: Run, seen: Mapping[str, Any]) -> str:
    return (
        f"/o/{TENANT_ID}/projects/p/{run.project_id}/r/{run.id}"
        f"?trace_id={seen['trace_id']}&start_time={seen.get('start_time')}"
    )


def _presign(state: State, payload: Any, base_url: str) -> str:
    token = state.token("payload")
    ends = state.clock.now() + timedelta(seconds=state.switches.payload_url_life_s)
    state.payload_urls[token] = (ends, payload)
    return f"{base_url}/_payloads/{token}?X-Amz-Expires={state.switches.payload_url_life_s:.0f}"


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(inner, f"{path}.{key}" if path else str(key))
    else:
        yield path, value


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _preview(value: Any) -> str | None:
    return _json(value)[:PREVIEW_CHARACTERS] if value else None


_V2: dict[str, Any] = {
    **dict.fromkeys(V2_FIELDS, lambda _s, _r, _seen: None),
    "ID": lambda _s, run, _seen: run.id,
    "NAME": lambda _s, _r, seen: seen.get("name"),
    "RUN_TYPE": lambda _s, _r, seen: str(seen.get("run_type") or "").upper() or None,
    "STATUS": lambda _s, _r, seen: status_of(seen).upper(),
    "START_TIME": lambda _s, _r, seen: seen.get("start_time"),
    "END_TIME": lambda _s, _r, seen: seen.get("end_time"),
    "LATENCY_SECONDS": lambda _s, _r, seen: _latency(seen),
    "ERROR": lambda _s, _r, seen: seen.get("error"),
    "ERROR_PREVIEW": lambda _s, _r, seen: str(seen["error"])[:PREVIEW_CHARACTERS] if seen.get("error") else None,
    "EXTRA": lambda _s, _r, seen: seen.get("extra") or {},
    "METADATA": lambda _s, _r, seen: metadata_of(seen),
    "EVENTS": lambda _s, _r, seen: seen.get("events") or [],
    "INPUTS": lambda _s, _r, seen: seen.get("inputs"),
    "INPUTS_PREVIEW": lambda _s, _r, seen: _preview(seen.get("inputs")),
    "OUTPUTS": lambda _s, _r, seen: seen.get("outputs"),
    "OUTPUTS_PREVIEW": lambda _s, _r, seen: _preview(seen.get("outputs")),
    "MANIFEST": lambda _s, _r, seen: seen.get("serialized"),
    "PARENT_RUN_IDS": lambda _s, _r, seen: ancestors(seen),
    "PROJECT_ID": lambda _s, run, _seen: run.project_id,
    "TRACE_ID": lambda _s, _r, seen: seen["trace_id"],
    "THREAD_ID": lambda _s, _r, seen: thread_of(seen),
    "DOTTED_ORDER": lambda _s, _r, seen: seen.get("dotted_order"),
    "IS_ROOT": lambda _s, _r, seen: is_root(seen),
    "REFERENCE_EXAMPLE_ID": lambda _s, _r, seen: seen.get("reference_example_id"),
    "TOTAL_TOKENS": lambda _s, _r, seen: _usage(seen)["total_tokens"],
    "PROMPT_TOKENS": lambda _s, _r, seen: _usage(seen)["prompt_tokens"],
    "COMPLETION_TOKENS": lambda _s, _r, seen: _usage(seen)["completion_tokens"],
    "TAGS": lambda _s, _r, seen: seen.get("tags") or [],
    "APP_PATH": lambda _s, run, seen: _app_path(run, seen),
    "IS_IN_DATASET": lambda _s, _r, _seen: False,
    "LAST_QUEUED_AT": lambda _s, run, _seen: run.last_queued_at.isoformat() if run.last_queued_at else None,
    "FEEDBACK_STATS": lambda state, run, _seen: feedback_stats(state.feedback_of(run.id, counted_only=True)),
}
