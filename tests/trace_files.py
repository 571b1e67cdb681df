"""Recorded traces for tests: read them, change them as Phoenix or a careless tracer would."""

import copy
import gzip
import json
import random
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent / "traces"
OTEL = sorted(FOLDER.glob("otel/*.json*"))
LANGSMITH = sorted(FOLDER.glob("langsmith/*.json*"))
_OPTIONAL = re.compile(
    r"mime_type|token_count|usage|invocation_parameters|model_name|metadata$|tags|\.score$|session|user\.id"
    r"|finish_reason|tool\.description|tool\.parameters|traceloop\.association|gen_ai\.agent|llm\.(?:system|provider)"
)
_DERIVED = {
    "chat": "LLM", "generate_content": "LLM", "invoke_agent": "AGENT", "execute_tool": "TOOL",
    "retrieval": "RETRIEVER", "embeddings": "EMBEDDING",
}  # fmt: skip
_PARSED = ("metadata", "llm.prompt_template.variables", "tool.parameters")


def load(path: Path) -> dict[str, Any]:
    """Read a recorded file."""
    raw = path.read_bytes()
    return json.loads(gzip.decompress(raw) if path.suffix == ".gz" else raw)


def otel(name: str) -> dict[str, Any]:
    """Read a recorded OpenTelemetry trace by its name."""
    return load(next(path for path in OTEL if path.name.split(".json")[0] == name))


def shuffled(recorded: dict[str, Any]) -> dict[str, Any]:
    """Return the trace with its spans in another order."""
    changed = copy.deepcopy(recorded)
    random.Random(7).shuffle(changed["spans"])
    return changed


def bare(recorded: dict[str, Any]) -> dict[str, Any]:
    """Return the trace without attributes that instrumentors may leave out."""
    changed = copy.deepcopy(recorded)
    for span in changed["spans"]:
        span["attributes"] = {k: v for k, v in span["attributes"].items() if not _OPTIONAL.search(k)}
    return changed


def through_phoenix(recorded: dict[str, Any]) -> dict[str, Any]:
    """Return the trace as Phoenix gives it back through its REST API."""
    return {"data": [_phoenix_span(span) for span in recorded["spans"]], "next_cursor": None}


def as_otlp(recorded: dict[str, Any]) -> dict[str, Any]:
    """Return the trace as a collector writes it to a file."""
    spans = [
        {
            "traceId": s["trace_id"],
            "spanId": s["span_id"],
            "parentSpanId": s["parent_id"] or "",
            "name": s["name"],
            "kind": 1,
            "startTimeUnixNano": str(s["start_time_unix_nano"]),
            "endTimeUnixNano": str(s["end_time_unix_nano"]),
            "attributes": _otlp_pairs(s["attributes"]),
            "droppedAttributesCount": s["dropped_attributes_count"],
            "events": [{"name": e["name"], "attributes": _otlp_pairs(e["attributes"])} for e in s["events"]],
            "status": {"code": {"UNSET": 0, "OK": 1, "ERROR": 2}[s["status"]["code"]]},
        }
        for s in recorded["spans"]
    ]
    return {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [{"scope": {}, "spans": spans}]}]}


def _otlp_value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [_otlp_value(item) for item in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": _otlp_pairs(value)}}
    return {"stringValue": value}


def _otlp_pairs(attributes: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _otlp_value(value)} for key, value in attributes.items()]


def _phoenix_span(span: dict[str, Any]) -> dict[str, Any]:
    attributes = dict(span["attributes"])
    operation = attributes.get("gen_ai.operation.name")
    kind = attributes.pop("openinference.span.kind", None) or _DERIVED.get(operation)
    if kind is None and operation is None and "gen_ai.request.model" in attributes:
        kind = "LLM"
    return {
        "id": "U3BhbjoxNTk=",
        "name": span["name"],
        "context": {"trace_id": span["trace_id"], "span_id": span["span_id"]},
        "span_kind": kind or "UNKNOWN",
        "parent_id": span["parent_id"],
        "start_time": _moment(span["start_time_unix_nano"]),
        "end_time": _moment(span["end_time_unix_nano"]),
        "status_code": span["status"]["code"],
        "status_message": span["status"]["message"] or "",
        "attributes": _dense(_parsed({**attributes, **_gained(attributes, operation)})),
        "events": [{"name": e["name"], "attributes": e["attributes"], "timestamp": None} for e in span["events"]],
    }


def _moment(nanoseconds: int) -> str:
    return datetime.fromtimestamp(nanoseconds / 1e9, UTC).isoformat()


def _parsed(attributes: dict[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in attributes.items():
        if isinstance(value, str) and (key in _PARSED or key.endswith(".document.metadata")) and value[:1] == "{":
            _flatten(key, json.loads(value), flat)
        else:
            flat[key] = value
    return flat


def _flatten(prefix: str, value: Any, flat: dict[str, Any]) -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            _flatten(f"{prefix}.{key}", item, flat)
    elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
        for index, item in enumerate(value):
            _flatten(f"{prefix}.{index}", item, flat)
    else:
        flat[prefix] = value


def _gained(attributes: dict[str, Any], operation: str | None) -> dict[str, Any]:
    """Return the OpenInference attributes that Phoenix adds to GenAI spans."""
    gained: dict[str, Any] = {}
    if operation in ("chat", "generate_content"):
        for theirs, ours in (("input", "llm.input_messages"), ("output", "llm.output_messages")):
            for index, message in enumerate(json.loads(attributes.get(f"gen_ai.{theirs}.messages", "[]"))):
                _gained_message(f"{ours}.{index}.message", message, gained)
        if "output.value" not in attributes:
            gained["output.value"] = json.dumps({"id": attributes.get("gen_ai.response.id"), "model": "m"})
    if operation == "retrieval":
        gained["input.value"] = attributes["gen_ai.retrieval.query.text"]
        for index, document in enumerate(json.loads(attributes["gen_ai.retrieval.documents"])):
            gained[f"retrieval.documents.{index}.document.id"] = document["id"]
    return gained


def _gained_message(prefix: str, message: dict[str, Any], gained: dict[str, Any]) -> None:
    gained[f"{prefix}.role"] = message["role"]
    for index, part in enumerate(message["parts"]):
        if part["type"] == "text":
            gained[f"{prefix}.contents.{index}.message_content.text"] = part["content"]
        elif part["type"] == "tool_call_response":
            answer = part.get("response", part.get("result"))
            gained[f"{prefix}.content"] = answer if isinstance(answer, str) else json.dumps(answer)
            gained[f"{prefix}.tool_call_id"] = part["id"]


def _dense(attributes: dict[str, Any]) -> dict[str, Any]:
    """Number every list from 0 without gaps."""
    keys = {key: tuple(key.split(".")) for key in attributes}
    for depth in range(max(map(len, keys.values()), default=0)):
        found: dict[tuple[str, ...], set[int]] = {}
        for parts in keys.values():
            if depth < len(parts) and parts[depth].isdigit():
                found.setdefault(parts[:depth], set()).add(int(parts[depth]))
        places = {prefix: {n: i for i, n in enumerate(sorted(numbers))} for prefix, numbers in found.items()}
        keys = {
            key: (*parts[:depth], str(places[parts[:depth]][int(parts[depth])]), *parts[depth + 1 :])
            if depth < len(parts) and parts[depth].isdigit()
            else parts
            for key, parts in keys.items()
        }
    return {".".join(keys[key]): value for key, value in attributes.items()}
