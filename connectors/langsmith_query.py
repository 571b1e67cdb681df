"""Write queries in the words of both API generations and of LangSmith's filter language; read a pasted trace."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

from enricher.errors import SetupError
from enricher.trace import ReportFilter, SpanFilter, SpanKind

PAGE = 100  # the most that v1 gives, for every listing
RUNS_PAGE = 1000  # the most that v2 gives

_RUN_TYPES = {
    SpanKind.CHAIN: "chain",
    SpanKind.LLM: "llm",
    SpanKind.RETRIEVER: "retriever",
    SpanKind.TOOL: "tool",
    SpanKind.EMBEDDING: "embedding",
    SpanKind.PROMPT: "prompt",
    SpanKind.PARSER: "parser",
}
_STATUSES = {"OK": "success", "ERROR": "error", "UNSET": "pending"}
_UUID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}")


@dataclass(frozen=True, kw_only=True, slots=True)
class RunQuery:
    """A query for runs that both generations can answer; times in UTC, `end` may be inclusive."""

    project_ids: Sequence[str]
    start: datetime
    end: datetime | None = None
    filter: str | None = None
    tree_filter: str | None = None
    is_root: bool | None = None
    ids: Sequence[str] = ()
    feedback_since: datetime | None = None  # v2 only
    selects: Sequence[str] = ("ID", "TRACE_ID", "PROJECT_ID", "START_TIME", "DOTTED_ORDER")
    page_size: int = RUNS_PAGE


@dataclass(frozen=True, kw_only=True, slots=True)
class Pointer:
    """What a person pasted: a run (the root run's id is the trace's), perhaps with its project."""

    run_id: str
    project_id: str | None = None


def pointer(text: str) -> Pointer:
    """Read a trace id, run id or LangSmith URL.

    Raises:
        SetupError: it is none of these, or a public share link, which holds no id of the run's own project.
    """
    cleaned = text.strip()
    if "/" not in cleaned:
        return Pointer(run_id=_uuid(cleaned, text))
    url = urlsplit(cleaned)
    parts = [part for part in url.path.split("/") if part]
    asked = parse_qs(url.query)
    project = _after("p", parts) or _after("sessions", parts)
    project_id = _uuid(project, text) if project else None
    # The trace is preferred; `peek` is the run that is open on the page of a project.
    for found in (*asked.get("peeked_trace", []), *asked.get("trace_id", []), *asked.get("peek", [])):
        return Pointer(run_id=_uuid(found, text), project_id=project_id)
    for word in ("r", "runs", "traces", "t"):
        if (place := _after(word, parts)) and "public" not in parts:
            return Pointer(run_id=_uuid(place, text), project_id=project_id)
    raise SetupError(f"'{text}' points to no trace of LangSmith; open the trace, and paste its URL or its run id")


def span_expression(spans: SpanFilter) -> str | None:
    """Return the filter that one run of the tree must meet, None when every trace counts.

    Raises:
        SetupError: a condition that LangSmith can't hold.
    """
    parts: list[str] = []
    if spans.kind is not None:
        if spans.kind not in _RUN_TYPES:
            known = ", ".join(kind.value for kind in _RUN_TYPES)
            raise SetupError(f"LangSmith knows no run type {spans.kind.value}; use one of {known}, or the run's name")
        parts.append(_clause("eq", "run_type", _RUN_TYPES[spans.kind]))
    if spans.name is not None:
        parts.append(_clause("eq", "name", spans.name))
    if spans.status is not None:
        if spans.status.upper() not in _STATUSES:
            raise SetupError(f"there is no status '{spans.status}'; use OK, ERROR or UNSET")
        parts.append(_clause("eq", "status", _STATUSES[spans.status.upper()]))
    if spans.min_latency_s is not None:
        parts.append(_clause("gte", "latency", spans.min_latency_s))
    if spans.tag is not None:
        parts.append(_clause("has", "tags", spans.tag))
    for key, value in spans.attributes.items():
        # Key and value are paired only inside one `and`, so each pair gets its own.
        text = value if isinstance(value, str) else json.dumps(value)
        pair = (_clause("eq", "metadata_key", key.removeprefix("metadata.")), _clause("eq", "metadata_value", text))
        parts.append(_all(pair))
    if spans.raw:
        parts.append(spans.raw.strip())
    return _all(parts) if parts else None


def report_expression(report: ReportFilter) -> str | None:
    """Return the filter for runs that may carry such a report; None when the language can't say it.

    Labels are checked on our side: the language has no documented field for a feedback's value.
    """
    parts: list[str] = []
    if report.name is not None:
        parts.append(_clause("eq", "feedback_key", report.name))
    if report.max_score is not None:
        parts.append(_clause("lte", "feedback_score", report.max_score))
    return _all(parts) if parts else None


def in_traces(trace_ids: Sequence[str]) -> str:
    """Return the filter for all runs of some traces."""
    return f"in(trace_id, {json.dumps(list(trace_ids))})"


def _clause(comparator: str, field: str, value: Any) -> str:
    return f"{comparator}({field}, {json.dumps(value, ensure_ascii=False)})"


def _all(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"and({', '.join(parts)})"


def _after(word: str, parts: Sequence[str]) -> str | None:
    return next((parts[at + 1] for at, part in enumerate(parts[:-1]) if part == word), None)


def _uuid(text: str, said: str) -> str:
    bare = text.strip().lower()
    if not _UUID.fullmatch(bare):
        raise SetupError(f"'{said}' holds no run id; LangSmith's ids look like 0192f0c4-7d5a-7c31-9e27-3d0f6a1b2c3d")
    digits = bare.replace("-", "")
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def v1_selects(selects: Sequence[str]) -> Sequence[str]:
    """Return v1's names for v2's fields."""
    renamed = {
        "PROJECT_ID": ("session_id",),
        "METADATA": ("extra",),
        "INPUTS": ("inputs", "inputs_s3_urls"),
        "OUTPUTS": ("outputs", "outputs_s3_urls"),
        "PARENT_RUN_IDS": ("parent_run_id", "parent_run_ids"),
    }
    return [name for field in selects for name in renamed.get(field, (field.lower(),))]


def v2_body(query: RunQuery, project_ids: Sequence[str]) -> dict[str, Any]:
    """Return the query as v2 takes it."""
    body = {
        "project_ids": list(project_ids),
        "min_start_time": query.start.isoformat(),  # without it, the last day only
        "max_start_time": query.end.isoformat() if query.end else None,
        "filter": query.filter,
        "tree_filter": query.tree_filter,
        "is_root": query.is_root,
        "ids": list(query.ids) or None,
        "min_feedback_modified_at": query.feedback_since.isoformat() if query.feedback_since else None,
        "selects": list(query.selects),  # without it, the id only
        "page_size": min(query.page_size, RUNS_PAGE),
    }
    return {name: value for name, value in body.items() if value is not None}


def v1_body(query: RunQuery, project_ids: Sequence[str]) -> dict[str, Any]:
    """Return the query as v1 takes it."""
    body = {
        "session": list(project_ids),
        "start_time": query.start.isoformat(),
        "end_time": query.end.isoformat() if query.end else None,
        "filter": query.filter,
        "tree_filter": query.tree_filter,
        "is_root": query.is_root,
        "id": list(query.ids) or None,
        "select": v1_selects(query.selects),
        "limit": min(query.page_size, PAGE),
        "order": "asc",
    }
    return {name: value for name, value in body.items() if value is not None}
