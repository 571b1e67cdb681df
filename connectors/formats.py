"""Read exported traces into neutral spans: OTLP JSON, Phoenix spans, LangSmith runs, and plain span lists."""

import gzip
import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from enricher.errors import BadReply
from enricher.trace import RawTrace, Span, SpanEvent, SpanId, SpanKind, TraceId, TraceRef

_KIND_ATTRIBUTE = "openinference.span.kind"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_STATUS = {"0": "UNSET", "1": "OK", "2": "ERROR", "success": "OK", "error": "ERROR", "ok": "OK"}
_GZIP = b"\x1f\x8b"


def read_file(path: Path) -> list[tuple[Span, ...]]:
    """Read one exported file (.json, .jsonl, either gzipped) into groups of spans that belong together.

    Raises:
        BadReply: the file is not JSON, or none of the known formats.
    """
    raw = path.read_bytes()
    if raw[:2] == _GZIP:
        raw = gzip.decompress(raw)
    text = raw.decode("utf-8-sig")
    try:
        payload = json.loads(text)
    except ValueError:
        try:
            payload = [json.loads(line) for line in text.splitlines() if line.strip()]
        except ValueError as error:
            raise BadReply(f"{path} is neither JSON nor JSON lines: {error}") from error
    return groups_of(payload)


def groups_of(payload: Any) -> list[tuple[Span, ...]]:
    """Return the spans of an export by trace; a file that was recorded as one request stays one group."""
    spans = spans_of(payload)
    if isinstance(payload, dict) and "spans" in payload:
        return [spans] if spans else []
    groups: dict[TraceId, list[Span]] = {}
    for span in spans:
        groups.setdefault(span.trace_id, []).append(span)
    return [tuple(group) for group in groups.values()]


def raw_trace(spans: tuple[Span, ...], *, connection: str = "files", project: str = "files") -> RawTrace:
    """Wrap a group of spans as a pulled trace, named after its first span's trace."""
    started = [span.start_time for span in spans if span.start_time]
    ref = TraceRef(
        connection=connection,
        project=project,
        trace_id=spans[0].trace_id,
        start_time=min(started, default=None),
    )
    return RawTrace(ref=ref, spans=spans)


def spans_of(payload: Any) -> tuple[Span, ...]:
    """Detect the format of a decoded export and return its spans.

    Raises:
        BadReply: it is none of the known formats.
    """
    if isinstance(payload, dict):
        if "resourceSpans" in payload or "resource_spans" in payload:
            return otlp_spans(payload)
        for key in ("spans", "data", "runs", "items"):
            if isinstance(payload.get(key), list):
                return spans_of(payload[key])
        payload = [payload]
    if not isinstance(payload, list):
        raise BadReply("this is no export of traces: a JSON object or list is expected")
    return tuple(span for entry in payload for span in _spans_of_entry(entry))


def _spans_of_entry(entry: Any) -> Iterable[Span]:
    if not isinstance(entry, dict):
        raise BadReply("this is no export of traces: its entries are no JSON objects")
    if "resourceSpans" in entry or "resource_spans" in entry or isinstance(entry.get("spans"), list):
        return spans_of(entry)
    if "run_type" in entry:
        return (langsmith_span(entry),)
    if isinstance(entry.get("context"), dict):
        return (phoenix_span(entry),)
    if isinstance(entry.get("attributes"), list) or "spanId" in entry:
        return (otlp_span(entry),)
    if "span_id" in entry:
        return (recorded_span(entry),)
    raise BadReply("this is no export of traces: its entries are neither spans nor runs")


def recorded_span(raw: Mapping[str, Any]) -> Span:
    """Read a span as OpenTelemetry SDKs hold it: flat attributes, times in nanoseconds."""
    status = raw.get("status") or {}
    return _span(
        raw,
        trace_id=raw.get("trace_id"),
        span_id=raw["span_id"],
        parent_id=raw.get("parent_id"),
        start=_from_nanoseconds(raw.get("start_time_unix_nano")),
        end=_from_nanoseconds(raw.get("end_time_unix_nano")),
        status=status.get("code"),
        message=status.get("message"),
        attributes=raw.get("attributes") or {},
        dropped=raw.get("dropped_attributes_count"),
    )


def phoenix_span(raw: Mapping[str, Any]) -> Span:
    """Read a span of Phoenix's REST API."""
    context = raw["context"]
    return _span(
        raw,
        trace_id=context.get("trace_id"),
        span_id=context["span_id"],
        parent_id=raw.get("parent_id"),
        start=_from_text(raw.get("start_time")),
        end=_from_text(raw.get("end_time")),
        status=raw.get("status_code"),
        message=raw.get("status_message"),
        attributes=_flat(raw.get("attributes") or {}),
        kind=raw.get("span_kind"),
    )


def otlp_spans(payload: Mapping[str, Any]) -> tuple[Span, ...]:
    """Read an OTLP JSON export, as collectors write it."""
    found = []
    for resource in payload.get("resourceSpans", payload.get("resource_spans")) or ():
        for scope in resource.get("scopeSpans", resource.get("scope_spans")) or ():
            found += [otlp_span(raw) for raw in scope.get("spans") or ()]
    return tuple(found)


def otlp_span(raw: Mapping[str, Any]) -> Span:
    """Read one OTLP JSON span; its ids are hexadecimal, its numbers may be strings."""
    status = raw.get("status") or {}
    return _span(
        raw,
        trace_id=raw.get("traceId", raw.get("trace_id")),
        span_id=raw.get("spanId", raw.get("span_id")),
        parent_id=raw.get("parentSpanId", raw.get("parent_span_id")),
        start=_from_nanoseconds(raw.get("startTimeUnixNano", raw.get("start_time_unix_nano"))),
        end=_from_nanoseconds(raw.get("endTimeUnixNano", raw.get("end_time_unix_nano"))),
        status=status.get("code"),
        message=status.get("message"),
        attributes=_key_values(raw.get("attributes")),
        dropped=raw.get("droppedAttributesCount", raw.get("dropped_attributes_count")),
    )


def langsmith_span(run: Mapping[str, Any]) -> Span:
    """Read a LangSmith run of either API version; v2 names the parent last among its ancestors."""
    ancestors = run.get("parent_run_ids") or ()
    error = run.get("error")
    status = str(run.get("status") or "").lower()
    return Span(
        trace_id=TraceId(str(run.get("trace_id") or run["id"])),
        span_id=SpanId(str(run["id"])),
        parent_id=_parent(run.get("parent_run_id") or (ancestors[-1] if ancestors else None)),
        name=str(run.get("name") or ""),
        kind=_kind(run.get("run_type")),
        start_time=_from_text(run.get("start_time")),
        end_time=_from_text(run.get("end_time")),
        status="ERROR" if error or status == "error" else _STATUS.get(status, "UNSET"),
        status_message=str(error or ""),
        attributes=_run_attributes(run),
        inputs=run.get("inputs") if run.get("inputs") is not None else {},
        outputs=run.get("outputs") if run.get("outputs") is not None else {},
    )


def _run_attributes(run: Mapping[str, Any]) -> dict[str, Any]:
    """Keep the thread; the rest of a run's metadata holds the producer's environment and stays there."""
    extra = run.get("extra")
    metadata = run.get("metadata") or (extra.get("metadata") if isinstance(extra, dict) else None) or {}
    named = (metadata.get(key) for key in ("session_id", "thread_id", "conversation_id"))
    thread = run.get("thread_id") or next((value for value in named if value), None)
    return {"session.id": str(thread)} if thread else {}


def _span(
    raw: Mapping[str, Any],
    *,
    trace_id: Any,
    span_id: Any,
    parent_id: Any,
    start: datetime | None,
    end: datetime | None,
    status: Any,
    message: Any,
    attributes: Mapping[str, Any],
    kind: Any = None,
    dropped: Any = None,
) -> Span:
    return Span(
        trace_id=TraceId(str(trace_id or "")),
        span_id=SpanId(str(span_id)),
        parent_id=_parent(parent_id),
        name=str(raw.get("name") or ""),
        kind=_kind(kind or attributes.get(_KIND_ATTRIBUTE)),
        start_time=start,
        end_time=end,
        status=_status(status),
        status_message=str(message or ""),
        attributes=attributes,
        events=tuple(_event(event) for event in raw.get("events") or ()),
        dropped_attributes=int(dropped or 0),
    )


def _event(raw: Mapping[str, Any]) -> SpanEvent:
    attributes = raw.get("attributes")
    decoded = _key_values(attributes) if isinstance(attributes, list) else _flat(attributes or {})
    return SpanEvent(name=str(raw.get("name") or ""), attributes=decoded)


def _parent(value: Any) -> SpanId | None:
    return SpanId(str(value)) if value and str(value).strip("0") else None


def _kind(word: Any) -> SpanKind:
    if isinstance(word, str) and word.upper() in SpanKind.__members__:
        return SpanKind[word.upper()]
    return SpanKind.UNKNOWN


def _status(code: Any) -> str:
    word = str(code if code is not None else "UNSET").removeprefix("STATUS_CODE_")
    return _STATUS.get(word.lower(), word if word in ("OK", "ERROR", "UNSET") else "UNSET")


def _from_nanoseconds(value: Any) -> datetime | None:
    return _EPOCH + timedelta(microseconds=int(value) // 1000) if value else None


def _from_text(value: Any) -> datetime | None:
    if not isinstance(value, str) or not value:
        return None
    moment = datetime.fromisoformat(value)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _flat(attributes: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Flatten nested attributes to dotted keys; lists of objects get numbers, lists of scalars stay."""
    flat: dict[str, Any] = {}
    for key, value in attributes.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict) and value:
            flat.update(_flat(value, f"{name}."))
        elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
            flat.update(_flat({str(index): item for index, item in enumerate(value)}, f"{name}."))
        else:
            flat[name] = value
    return flat


def _key_values(pairs: Any) -> dict[str, Any]:
    return {str(pair["key"]): _any_value(pair.get("value")) for pair in pairs or ()}


def _any_value(value: Any) -> Any:
    """Decode OTLP's tagged values; 64-bit integers travel as strings."""
    if not isinstance(value, dict) or not value:
        return None
    (tag, content), *_ = value.items()
    if tag in ("intValue", "int_value"):
        return int(content)
    if tag in ("arrayValue", "array_value"):
        return [_any_value(item) for item in content.get("values") or ()]
    if tag in ("kvlistValue", "kvlist_value"):
        return _key_values(content.get("values"))
    return content
