"""Nouns of intake: what is asked of a platform, what it holds, and what can be judged of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, NewType

TraceId = NewType("TraceId", str)
SpanId = NewType("SpanId", str)


class SpanKind(StrEnum):
    """What a span did; connectors map their platform's word, extraction refines UNKNOWN."""

    CHAIN = "CHAIN"
    AGENT = "AGENT"
    LLM = "LLM"
    RETRIEVER = "RETRIEVER"
    RERANKER = "RERANKER"
    TOOL = "TOOL"
    EMBEDDING = "EMBEDDING"
    GUARDRAIL = "GUARDRAIL"
    EVALUATOR = "EVALUATOR"
    PROMPT = "PROMPT"
    PARSER = "PARSER"
    UNKNOWN = "UNKNOWN"


@dataclass(frozen=True, kw_only=True, slots=True)
class UserReport:
    """What a person said of a trace on its platform: context for people, never evidence."""

    name: str  # annotation name or feedback key
    label: str | None = None
    score: float | None = None
    comment: str | None = None
    author: str | None = None
    reported_at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class TraceRef:
    """A trace that a rule chose, not yet read."""

    connection: str  # name of the connection in the config
    project: str
    trace_id: TraceId
    rules: tuple[str, ...] = ()  # the rules that chose it; more than one after merging
    start_time: datetime | None = None
    stratum: str | None = None  # value of the query's stratum key, for sampling per stratum
    reports: tuple[UserReport, ...] = ()
    locator: Mapping[str, str] = field(default_factory=dict)  # what the platform needs to find it again

    def joined_with(self, newer: "TraceRef") -> "TraceRef":
        """Return one ref for both: the trace is judged once, and carries every rule and report that named it."""
        return replace(
            self,
            project=newer.project or self.project,
            rules=tuple(dict.fromkeys((*self.rules, *newer.rules))),
            start_time=newer.start_time or self.start_time,
            stratum=newer.stratum or self.stratum,
            reports=tuple(dict.fromkeys((*self.reports, *newer.reports))),
            locator={**self.locator, **newer.locator},
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportFilter:
    """Which user reports count: all given conditions must hold."""

    name: str | None = None  # annotation name or feedback key
    labels: tuple[str, ...] = ()
    max_score: float | None = None  # 0 matches a thumbs-down; a missing score never matches


@dataclass(frozen=True, kw_only=True, slots=True)
class SpanFilter:
    """Which traces count by their spans: some span of the trace must meet all given conditions."""

    kind: SpanKind | None = None
    name: str | None = None
    status: str | None = None  # OK, ERROR or UNSET
    attributes: Mapping[str, Any] = field(default_factory=dict)  # equal values, dotted keys
    min_latency_s: float | None = None
    tag: str | None = None
    raw: str | None = None  # the platform's own filter language, passed through

    def is_empty(self) -> bool:
        """Tell whether the filter lets everything through."""
        return self == SpanFilter()


@dataclass(frozen=True, kw_only=True, slots=True)
class TraceQuery:
    """What `Connector.find` is asked for; times are aware UTC, `start` inclusive, `end` exclusive."""

    rule: str
    projects: tuple[str, ...] | None = None  # None means every project
    start: datetime | None = None
    end: datetime | None = None
    trace_ids: tuple[str, ...] = ()  # explicit ids or URLs; then the window is ignored
    reports: tuple[ReportFilter, ...] = ()  # non-empty: only traces with a matching report
    reports_since: datetime | None = None  # reports given since then count, whatever the age of the trace
    spans: SpanFilter = SpanFilter()
    stratum: str | None = None  # dotted attribute of the root whose value fills `TraceRef.stratum`


@dataclass(frozen=True, kw_only=True, slots=True)
class SpanEvent:
    """A timed event on a span, such as `exception` or `db.query.result`."""

    name: str
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """One step of a traced request, free of its platform.

    OpenTelemetry platforms fill `attributes` (flat, dotted keys). Platforms with native payloads (LangSmith) fill
    `inputs` and `outputs` with decoded JSON; extraction reads either.
    """

    trace_id: TraceId
    span_id: SpanId
    parent_id: SpanId | None = None
    name: str = ""
    kind: SpanKind = SpanKind.UNKNOWN
    start_time: datetime | None = None
    end_time: datetime | None = None
    status: str = "UNSET"  # OK, ERROR or UNSET
    status_message: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    events: tuple[SpanEvent, ...] = ()
    inputs: Any = None
    outputs: Any = None
    dropped_attributes: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class RawTrace:
    """A whole trace as pulled. `still_running` traces are deferred, never judged half."""

    ref: TraceRef
    spans: tuple[Span, ...]
    still_running: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Sentence:
    """A stretch of text with character offsets into the text it was cut from; `text` is exactly that slice."""

    id: str  # "s1" in an answer, "d2.s4" in a document
    start: int
    end: int
    text: str
    is_checkable: bool = True  # False for greetings, headings, questions, code fences, table headers


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """One retrieved text as it reached the answer."""

    id: str  # unique within its item; made unique when the trace repeats an id for another text
    text: str
    span_id: SpanId | None = None  # the span that holds the text
    position: int | None = None  # index in that span's list of documents, as the platform counts it
    citation_numbers: tuple[int, ...] = ()  # 1-based places in the raw list, before duplicates were removed
    aliases: tuple[str, ...] = ()  # ids of removed duplicates
    score: float | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    sentences: tuple[Sentence, ...] = ()  # filled by steps.segmentation


@dataclass(frozen=True, kw_only=True, slots=True)
class Item:
    """One question with its context and answer: what a judge judges. A trace can hold several."""

    trace_id: TraceId
    question: str | None
    documents: tuple[Document, ...]
    answer: str
    annotate_span_id: SpanId  # where verdicts are written
    answer_span_id: SpanId | None = None
    question_span_id: SpanId | None = None
    history: tuple[str, ...] = ()  # earlier turns, oldest first; never evidence
    standalone_question: str | None = None
    flags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    sentences: tuple[Sentence, ...] = ()  # of the answer; filled by steps.segmentation

    @property
    def key(self) -> str:
        """Identify the item within its connection: trace and annotated span."""
        return f"{self.trace_id}:{self.annotate_span_id}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair:
    """Two answers to one question, generated from the same documents: what a pairwise judge compares."""

    id: str  # the same whenever these two are compared; decides the order in which a model sees them
    a: Item  # champion
    b: Item  # challenger


class RejectReason(StrEnum):
    """Why a trace is not judged. A rejected trace is never "unfaithful"."""

    NO_CONTEXT = "no_context"
    EMPTY_RETRIEVAL = "empty_retrieval"
    RETRIEVAL_ERROR = "retrieval_error"
    TOOL_ERROR = "tool_error"
    CONTEXT_NOT_RECORDED = "context_not_recorded"
    CONTENT_NOT_CAPTURED = "content_not_captured"
    REDACTED = "redacted"
    TRUNCATED_ATTRIBUTES = "truncated_attributes"
    NO_ANSWER = "no_answer"
    ERROR = "error"
    NOT_RAG = "not_rag"
    UNKNOWN_SPAN_ID = "unknown_span_id"
    MISSING_IDS = "missing_ids"
    UNREADABLE = "unreadable"
    TRACE_GONE = "trace_gone"
    STILL_RUNNING = "still_running"


@dataclass(frozen=True, kw_only=True, slots=True)
class Rejection:
    """A trace, or one item of it, that must not be judged, and why."""

    trace_id: TraceId
    reason: RejectReason
    detail: str = ""  # one sentence for a person
    span_id: SpanId | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """Where a part was read: `field` is an attribute key or a path such as `output.value#/answer`."""

    part: str  # question, answer, documents, history ...
    span_id: SpanId | None
    field: str
    item: int = 0  # index of the item it belongs to


@dataclass(frozen=True, kw_only=True, slots=True)
class Extraction:
    """What extraction made of a trace: items, rejections, and where each part came from."""

    items: tuple[Item, ...] = ()
    rejections: tuple[Rejection, ...] = ()
    found_in: tuple[Source, ...] = ()
