"""Read exported traces into neutral spans: OTLP JSON, Phoenix spans, LangSmith runs, and plain span lists."""

import gzip
import json
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from connectors.langsmith_runs import span_from_run
from connectors.phoenix_spans import span_from_rest, span_kind
from enricher.errors import BadReply
from enricher.trace import RawTrace, Span, SpanEvent, SpanId, TraceId, TraceRef

_KIND_ATTRIBUTE = "openinference.span.kind"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_STATUS = {"0": "UNSET", "1": "OK", "2": "ERROR"}
_GZIP = b"\x1f\x8b"
# What holds others: OTLP's envelopes, the pages of Phoenix and LangSmith, recorded requests.
_ENVELOPES = ("resourceSpans", "resource_spans", "scopeSpans", "scope_spans", "spans", "data", "runs", "items")

Reader = Callable[[Mapping[str, Any]], Span]


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
            payload = [json.loads(line) for line in text.split("\n") if line.strip()]
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
    return tuple(map(span_of, entries_of(payload)))


def entries_of(payload: Any) -> Iterator[Any]:
    """Yield what a decoded export lists, each span or run as it stands there; nothing is checked here."""
    if isinstance(payload, list):
        for entry in payload:
            yield from entries_of(entry)
        return
    held = None
    if isinstance(payload, dict) and _reader_of(payload) is None:
        held = next((payload[key] for key in _ENVELOPES if isinstance(payload.get(key), list)), None)
    yield from (payload,) if held is None else entries_of(held)


def span_of(entry: Any) -> Span:
    """Read one span or run of any known format.

    Raises:
        BadReply: it is none, or a part of it is missing or broken.
    """
    reader = _reader_of(entry) if isinstance(entry, dict) else None
    if reader is None:
        raise BadReply("this is no export of traces: there is something that is neither a span nor a run")
    try:
        return reader(entry)
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise BadReply(f"a span or run in this export is broken: {type(error).__name__}: {error}") from error


def _reader_of(entry: Mapping[str, Any]) -> Reader | None:
    if "run_type" in entry:
        return span_from_run
    if isinstance(entry.get("context"), dict):
        return phoenix_span
    if "context.span_id" in entry:
        return phoenix_row
    if isinstance(entry.get("attributes"), list) or "spanId" in entry:
        return otlp_span
    return recorded_span if "span_id" in entry else None


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
    """Read a span as Phoenix exports it; some exports nest the attributes that its REST interface gives flat."""
    events = [{**event, "attributes": _flat(event.get("attributes") or {})} for event in raw.get("events") or ()]
    return span_from_rest({**raw, "attributes": _flat(raw.get("attributes") or {}), "events": events})


def phoenix_row(row: Mapping[str, Any]) -> Span:
    """Read a row of Phoenix's dataframe of spans: dotted columns, null for what other spans have, times in ms."""
    columns = {key.removeprefix("attributes."): value for key, value in row.items() if key.startswith("attributes.")}
    context = {"trace_id": row["context.trace_id"], "span_id": row["context.span_id"]}
    times = {key: _iso(row.get(key)) for key in ("start_time", "end_time")}
    filled = {key: value for key, value in columns.items() if value is not None}
    return phoenix_span({**row, **times, "context": context, "attributes": filled})


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
    dropped: Any,
) -> Span:
    return Span(
        trace_id=TraceId(str(trace_id or "")),
        span_id=SpanId(str(span_id)),
        parent_id=_parent(parent_id),
        name=str(raw.get("name") or ""),
        kind=span_kind(str(attributes.get(_KIND_ATTRIBUTE) or "")),
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


def _status(code: Any) -> str:
    word = str(code if code is not None else "UNSET").removeprefix("STATUS_CODE_")
    return _STATUS.get(word.lower(), word if word in ("OK", "ERROR", "UNSET") else "UNSET")


def _from_nanoseconds(value: Any) -> datetime | None:
    return _EPOCH + timedelta(microseconds=int(value) // 1000) if value else None


def _iso(value: Any) -> Any:
    return (_EPOCH + timedelta(milliseconds=value)).isoformat() if isinstance(value, int | float) else value


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
