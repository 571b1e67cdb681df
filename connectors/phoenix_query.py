"""Translate neutral queries to what Phoenix can be asked, and check on our side what it can't be asked."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from connectors.ordering import moment
from enricher.errors import SetupError
from enricher.trace import ReportFilter, Span, SpanFilter, SpanKind, UserReport

TAGS_ATTRIBUTE = "tag.tags"
OURS = "trace-enricher/"  # how the identifiers of our annotations begin
_TRACE_ID = re.compile(r"[0-9a-f]{32}")
_SPAN_ID = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Pointer:
    """What a person pasted: a trace or one of its spans, perhaps with its project."""

    trace_id: str | None = None
    span_id: str | None = None
    project_id: str | None = None


def pointer(text: str) -> Pointer:
    """Read a trace id, span id or Phoenix URL.

    Raises:
        SetupError: it is none of these.
    """
    cleaned = text.strip()
    if "/" not in cleaned:
        return _pointer_of_id(cleaned, project_id=None, said=text)
    url = urlsplit(cleaned)
    parts = [unquote(part) for part in url.path.split("/") if part]
    if "redirects" in parts[:-2] and parts[-2] in ("traces", "spans"):
        return _pointer_of_id(parts[-1], project_id=None, said=text)
    # The pages of a project: /projects/ID/traces/TRACE, and /projects/ID/spans/TRACE for a span in its trace.
    if "projects" in parts[:-3]:
        at = parts.index("projects")
        project_id, page, last = parts[at + 1], parts[at + 2], parts[at + 3]
        if page in ("traces", "spans"):
            return _pointer_of_id(last, project_id=project_id, said=text)
    for value in parse_qs(url.query).get("traceId", []):
        return _pointer_of_id(value, project_id=None, said=text)
    raise SetupError(f"'{text}' points to no trace of Phoenix; paste the URL of a trace or span, or a trace id")


def _pointer_of_id(text: str, *, project_id: str | None, said: str) -> Pointer:
    bare = text.lower().removeprefix("0x").replace("-", "")
    if _TRACE_ID.fullmatch(bare):
        return Pointer(trace_id=bare, project_id=project_id)
    if _SPAN_ID.fullmatch(bare):
        return Pointer(span_id=bare, project_id=project_id)
    raise SetupError(f"'{said}' holds no trace id; it has 32 hexadecimal digits (a span id has 16)")


def trace_condition(spans: SpanFilter, reports: Sequence[ReportFilter], trace_ids: Sequence[str] = ()) -> str | None:
    """Return a condition in Phoenix's trace filter language; it may let through too much, never too little."""
    parts: list[str] = []
    if trace_ids:
        parts.append(f"trace_id in {list(trace_ids)!r}")
    if condition := _span_condition(spans):
        parts.append(f"any({condition} for s in spans)")
    if spans.raw:
        parts.append(f"({spans.raw})")
    if reports:
        conditions = " or ".join(f"({_report_condition(report)})" for report in reports)
        parts.append(f"(any({conditions} for a in span_annotations) or any({conditions} for a in trace_annotations))")
    return " and ".join(parts) or None


def _span_condition(spans: SpanFilter) -> str:
    parts: list[str] = []
    if spans.kind is not None:
        if spans.kind is SpanKind.PARSER:
            raise SetupError("Phoenix knows no span kind PARSER; filter by the span's name instead")
        parts.append(f"s.span_kind == {spans.kind.value!r}")
    if spans.name is not None:
        parts.append(f"s.name == {spans.name!r}")
    if spans.status is not None:
        parts.append(f"s.status_code == {spans.status.upper()!r}")
    if spans.min_latency_s is not None:
        parts.append(f"s.latency_ms >= {spans.min_latency_s * 1000!r}")
    return " and ".join(parts)


def _report_condition(report: ReportFilter) -> str:
    parts: list[str] = []
    if report.name is not None:
        parts.append(f"a.name == {report.name!r}")
    if report.labels:
        parts.append(f"a.label in {list(report.labels)!r}")
    if report.max_score is not None:
        parts.append(f"a.score is not None and a.score <= {float(report.max_score)!r}")
    return " and ".join(parts) or "a.name != ''"


def needs_attributes(spans: SpanFilter) -> bool:
    """Tell whether the filter asks for what only whole spans can answer: attributes and tags of any span."""
    return bool(spans.attributes) or spans.tag is not None


def span_parameters(spans: SpanFilter) -> list[tuple[str, Any]]:
    """Return the parameters that narrow `GET /spans` to candidates for the filter."""
    parameters: list[tuple[str, Any]] = []
    if spans.kind is not None:
        parameters.append(("span_kind", spans.kind.value))
    if spans.name is not None:
        parameters.append(("name", spans.name))
    if spans.status is not None:
        parameters.append(("status_code", spans.status.upper()))
    for key, value in spans.attributes.items():
        # Lists can't be matched by the server. JSON keeps the text "12" apart from the number 12.
        if isinstance(value, str | int | float) and ":" not in key:
            parameters.append(("attribute", f"{key}:{json.dumps(value)}"))
    return parameters


def meets(span: Span, wanted: SpanFilter) -> bool:
    """Tell whether one span meets every neutral condition of the filter."""
    if wanted.kind is not None and span.kind is not wanted.kind:
        return False
    if wanted.name is not None and span.name != wanted.name:
        return False
    if wanted.status is not None and span.status != wanted.status.upper():
        return False
    if wanted.min_latency_s is not None:
        if span.start_time is None or span.end_time is None:
            return False
        if (span.end_time - span.start_time).total_seconds() < wanted.min_latency_s:
            return False
    if wanted.tag is not None and wanted.tag not in _tags(span):
        return False
    return all(span.attributes.get(key) == value for key, value in wanted.attributes.items())


def _tags(span: Span) -> Sequence[Any]:
    tags = span.attributes.get(TAGS_ATTRIBUTE)
    return tags if isinstance(tags, list) else ()


def report_from(annotation: Mapping[str, Any], authors: Mapping[str, str]) -> UserReport:
    """Convert an annotation as the REST interface lists it."""
    result = annotation.get("result") or {}
    user = annotation.get("user_id")
    return UserReport(
        name=annotation["name"],
        label=result.get("label"),
        score=result.get("score"),
        comment=result.get("explanation"),
        author=authors.get(user, user) if user else None,
        reported_at=moment(annotation.get("updated_at") or annotation.get("created_at")),
    )


def counts_as_report(annotation: Mapping[str, Any], wanted: Sequence[ReportFilter]) -> bool:
    """Tell whether an annotation meets one of the filters; one without conditions means: made by a person."""
    return any(_meets_report(annotation, report) for report in wanted)


def is_ours(annotation: Mapping[str, Any]) -> bool:
    """Tell whether an annotation was written by this product, be it for a person who decided in its review queue."""
    return str(annotation.get("identifier") or "").startswith(OURS)


def _meets_report(annotation: Mapping[str, Any], wanted: ReportFilter) -> bool:
    result = annotation.get("result") or {}
    score = result.get("score")
    if wanted == ReportFilter():
        return annotation.get("annotator_kind") == "HUMAN"
    if wanted.name is not None and annotation["name"] != wanted.name:
        return False
    if wanted.labels and result.get("label") not in wanted.labels:
        return False
    return wanted.max_score is None or (score is not None and score <= wanted.max_score)
