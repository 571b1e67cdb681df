"""Read LangSmith runs, as v1 and v2 show them, into neutral spans; tell whether a trace is whole."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from connectors.ordering import moment
from enricher.trace import Span, SpanEvent, SpanId, SpanKind, TraceId

# What a span is made of. METADATA is taken instead of EXTRA, which also carries the runtime and the whole invocation.
V2_SELECTS = (
    "ID", "TRACE_ID", "PARENT_RUN_IDS", "PROJECT_ID", "DOTTED_ORDER", "NAME", "RUN_TYPE", "STATUS", "ERROR",
    "START_TIME", "END_TIME", "METADATA", "TAGS", "THREAD_ID", "INPUTS", "OUTPUTS",
)  # fmt: skip
V1_SELECTS = (
    "id", "trace_id", "parent_run_id", "parent_run_ids", "session_id", "dotted_order", "name", "run_type", "status",
    "error", "start_time", "end_time", "extra", "tags", "thread_id", "inputs", "outputs", "inputs_s3_urls",
    "outputs_s3_urls",
)  # fmt: skip
_STATUSES = {"SUCCESS": "OK", "ERROR": "ERROR", "PENDING": "UNSET"}
# The tracer records its own settings as metadata of every run; they say nothing of the application.
_TRACER_SETTINGS = ("LANGSMITH_", "LANGCHAIN_")
_ENDED = ("OK", "ERROR")
_THREAD_KEYS = ("session_id", "thread_id", "conversation_id")  # of the metadata, where applications name the thread


def span_from_run(payload: Mapping[str, Any]) -> Span:
    """Convert one run of `POST /runs/query` (v1) or `POST /api/v2/runs/query`; unselected payloads stay None.

    Raises:
        KeyError: the run has no id, or neither a trace id nor a dotted order.
    """
    run_id = str(payload["id"])
    dotted = str(payload.get("dotted_order") or "")
    trace_id = str(payload.get("trace_id") or "") or _ids_in(dotted, required=True)[0]
    parent = _parent(payload, dotted)
    error = payload.get("error")
    return Span(
        trace_id=TraceId(trace_id),
        span_id=SpanId(run_id),
        parent_id=SpanId(parent) if parent else None,
        name=payload.get("name") or "",
        kind=kind_of(payload.get("run_type")),
        start_time=moment(payload.get("start_time")),
        end_time=moment(payload.get("end_time")),
        status=_status(payload),
        status_message=str(error) if error else "",
        attributes=_attributes(payload),
        events=tuple(
            SpanEvent(name=str(event.get("name") or ""), attributes=event.get("kwargs") or {})
            for event in payload.get("events") or ()
            if isinstance(event, Mapping)
        ),
        inputs=payload.get("inputs"),
        outputs=payload.get("outputs"),
    )


def kind_of(run_type: Any) -> SpanKind:
    """Map LangSmith's run type, in either case; what we don't know stays UNKNOWN."""
    try:
        return SpanKind(str(run_type or "").upper())
    except ValueError:
        return SpanKind.UNKNOWN


def metadata_of(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return a run's metadata without what the tracer records of its own settings."""
    found = payload.get("metadata") or (payload.get("extra") or {}).get("metadata") or {}
    if not isinstance(found, Mapping):
        return {}
    return {str(key): value for key, value in found.items() if not str(key).startswith(_TRACER_SETTINGS)}


def project_of(payload: Mapping[str, Any]) -> str:
    """Return the id of the project a run lies in."""
    return str(payload.get("project_id") or payload.get("session_id") or "")


def root_start(payload: Mapping[str, Any]) -> datetime | None:
    """Return when the trace of a run started: the first stamp of its dotted order, to the microsecond."""
    stamp = str(payload.get("dotted_order") or "").split(".")[0].partition("Z")[0]
    try:
        return datetime.strptime(stamp, "%Y%m%dT%H%M%S%f").replace(tzinfo=UTC)
    except ValueError:
        is_root = str(payload.get("id")) == str(payload.get("trace_id"))
        return moment(payload.get("start_time")) if is_root else None


def attribute(payload: Mapping[str, Any], key: str) -> Any:
    """Return what a dotted key means on a run: metadata, with or without that prefix, else a field of the run."""
    attributes = _attributes(payload)
    for name in (key, f"metadata.{key}"):
        if name in attributes:
            return attributes[name]
    return payload.get(key)


def is_still_running(spans: Sequence[Span], *, now: datetime, settle_s: float, open_run_s: float) -> bool:
    """Tell whether a trace is not whole yet.

    The root is missing or has no end: it runs. Another run has no end, or its parent is missing: it may still be on
    its way, until `open_run_s` after the newest sign of life; a lost `patch` must not hold a trace for ever. A trace
    also counts as running for `settle_s` after its root's end, since runs are ingested in batches.
    """
    root = next((span for span in spans if span.parent_id is None), None)
    if root is not None and root.end_time is None and root.status not in _ENDED:
        return True
    moments = [time for span in spans if (time := span.end_time or span.start_time)]
    age = now - max(moments, default=now)
    if root is not None and root.end_time is not None and abs(now - root.end_time) < timedelta(seconds=settle_s):
        return True
    known = {span.span_id for span in spans}
    is_open = root is None or any(
        (span.end_time is None and span.status not in _ENDED) or (span.parent_id and span.parent_id not in known)
        for span in spans
    )
    return is_open and age < timedelta(seconds=open_run_s)


def _status(payload: Mapping[str, Any]) -> str:
    word = str(payload.get("status") or "").upper()
    if word in _STATUSES:
        return _STATUSES[word]
    if payload.get("error"):
        return "ERROR"
    return "OK" if payload.get("end_time") else "UNSET"


def _parent(payload: Mapping[str, Any], dotted: str) -> str | None:
    if parent := payload.get("parent_run_id"):
        return str(parent)
    # v2 has no parent_run_id: the ancestors are listed from the root down to the direct parent.
    if ancestors := payload.get("parent_run_ids"):
        return str(ancestors[-1])
    ids = _ids_in(dotted)
    return ids[-2] if len(ids) > 1 else None


def _ids_in(dotted: str, *, required: bool = False) -> list[str]:
    ids = [segment.partition("Z")[2] for segment in dotted.split(".") if "Z" in segment]
    if required and not ids:
        raise KeyError("trace_id")
    return ids


def _attributes(payload: Mapping[str, Any]) -> dict[str, Any]:
    metadata = metadata_of(payload)
    attributes = dict(_flat(metadata, "metadata"))
    if tags := payload.get("tags"):
        attributes["tag.tags"] = list(tags)
    named = (metadata[key] for key in _THREAD_KEYS if metadata.get(key))
    if thread := payload.get("thread_id") or next(named, None):
        attributes["session.id"] = str(thread)
    return attributes


def _flat(value: Mapping[str, Any], path: str) -> Iterator[tuple[str, Any]]:
    for key, inner in value.items():
        if isinstance(inner, Mapping) and inner:
            yield from _flat(inner, f"{path}.{key}")
        else:
            yield f"{path}.{key}", inner


def by_trace(runs: Iterable[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Group runs by the trace they belong to."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for run in runs:
        groups.setdefault(str(run.get("trace_id") or ""), []).append(run)
    return groups
