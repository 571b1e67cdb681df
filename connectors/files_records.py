"""Read plain records `{id, question, documents, answer}` as traces, and what people said of a trace as reports."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from connectors.langsmith_feedback import counts_as_report as counts_on_langsmith
from connectors.langsmith_feedback import label_of, report_from
from connectors.ordering import moment
from enricher.errors import BadReply
from enricher.trace import ReportFilter, Span, SpanId, SpanKind, TraceId

_TIMES = ("start_time", "timestamp", "time", "created_at")
_REPORTS = ("report", "feedback")
_USUAL_NAME = "user_feedback"  # of a report that names none; the default rules look for it

Entry = Mapping[str, Any]


def is_record(entry: Entry) -> bool:
    """Tell whether an entry is a plain record, which has at least documents or an answer."""
    return ("answer" in entry or "documents" in entry) and "run_type" not in entry and "context" not in entry


def record_spans(record: Entry) -> tuple[Span, Span]:
    """Return a record as a trace of its own: a root with question and answer, and a retrieval with the documents.

    Raises:
        BadReply: names the field that is missing or of the wrong type.
    """
    identity, started = _identity(record), _started(record)

    def span(span_id: str, name: str, kind: SpanKind, attributes: dict[str, Any], parent: SpanId | None) -> Span:
        return Span(
            trace_id=TraceId(identity),
            span_id=SpanId(span_id),
            parent_id=parent,
            name=name,
            kind=kind,
            start_time=started,
            status="OK",  # a record is written when all is over
            attributes={key: value for key, value in attributes.items() if value is not None},
        )

    root = {
        "input.value": _text(record, "question"),
        "output.value": _text(record, "answer"),
        "tag.tags": record.get("tags"),
        **_flat(record.get("metadata") or {}, "metadata"),
    }
    documents = _documents(record)
    return (
        span(identity, "record", SpanKind.CHAIN, root, None),
        span(f"{identity}:documents", "documents", SpanKind.RETRIEVER, documents, SpanId(identity)),
    )


def subjects_of(entry: Entry) -> tuple[str, ...]:
    """Return the ids of the trace and span that an entry reports on; () when it is no report.

    Reports are Phoenix's annotations, LangSmith's feedback, and records that carry what their user said.
    """
    if "annotator_kind" in entry and "name" in entry:
        return tuple(str(entry[key]) for key in ("trace_id", "span_id") if entry.get(key))
    if "key" in entry and "run_id" in entry:
        return tuple(str(entry[key]) for key in ("trace_id", "run_id") if entry.get(key))
    if is_record(entry) and any(entry.get(key) is not None for key in _REPORTS):
        return (_identity(entry),)
    return ()


def is_only_report(entry: Entry) -> bool:
    """Tell whether an entry is nothing but a report on a trace that lies elsewhere."""
    return bool(subjects_of(entry)) and not is_record(entry)


def annotations_in(entry: Entry) -> Iterator[Entry]:
    """Yield the reports of an entry in the shape of Phoenix's annotations."""
    if is_record(entry):
        given = [entry[key] for key in _REPORTS if entry.get(key) is not None]
        for said in (one for value in given for one in (value if isinstance(value, list) else [value])):
            yield _annotation(said if isinstance(said, dict) else {"label" if isinstance(said, str) else "score": said})
    elif "annotator_kind" in entry:
        yield entry
    else:
        read = report_from(entry)
        is_by_person = counts_on_langsmith(entry, [ReportFilter()])
        yield {
            "name": read.name,
            "annotator_kind": "HUMAN" if is_by_person else "LLM",
            "result": {"label": label_of(entry), "score": read.score, "explanation": read.comment},
            "user_id": read.author,
            "updated_at": entry.get("modified_at") or entry.get("created_at"),
        }


def _annotation(said: Entry) -> Entry:
    score = said.get("score")
    return {
        "name": str(said.get("name") or said.get("key") or _USUAL_NAME),
        "annotator_kind": "HUMAN",
        "result": {
            "label": said.get("label"),
            "score": float(score) if isinstance(score, bool | int | float) else None,
            "explanation": said.get("comment") or said.get("explanation"),
        },
        "user_id": said.get("author") or said.get("user"),
        "updated_at": next((said[key] for key in ("reported_at", *_TIMES) if said.get(key)), None),
    }


def _identity(record: Entry) -> str:
    identity = record.get("id")
    if isinstance(identity, bool) or not isinstance(identity, str | int) or identity == "":
        raise BadReply("a record needs an id, a text or a whole number")
    return str(identity)


def _started(record: Entry) -> datetime | None:
    given = next((record[key] for key in _TIMES if record.get(key)), None)
    try:
        return moment(given)
    except (TypeError, ValueError) as error:
        raise BadReply(f"the time of a record must be like 2026-11-01T12:00:00Z, not {given!r}") from error


def _text(record: Entry, key: str) -> str | None:
    value = record.get(key)
    if not isinstance(value, str | None):
        raise BadReply(f"the {key} of a record must be a text")
    return value


def _documents(record: Entry) -> dict[str, Any]:
    documents = record.get("documents")
    if not isinstance(documents, list | None):
        raise BadReply("the documents of a record must be a list of {id, text}")
    attributes: dict[str, Any] = {} if documents else {"retrieval.documents": "[]"}
    for place, given in enumerate(documents or ()):
        document = {"text": given} if isinstance(given, str) else given
        if not isinstance(document, dict) or not isinstance(document.get("text"), str | None):
            raise BadReply("the documents of a record must be a list of {id, text}, each text a text")
        prefix = f"retrieval.documents.{place}.document"
        attributes[f"{prefix}.id"] = str(document.get("id") or f"d{place + 1}")
        attributes[f"{prefix}.content"] = document.get("text") or ""
        attributes[f"{prefix}.score"] = document.get("score")
    return attributes


def _flat(values: Entry, path: str) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in values.items():
        flat |= _flat(value, f"{path}.{key}") if isinstance(value, dict) else {f"{path}.{key}": value}
    return flat
