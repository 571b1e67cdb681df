"""The smallest stand-ins for the seams, for tests of what lies between them."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from enricher.errors import TryAgain
from enricher.seams import Health
from enricher.trace import (
    Item,
    RawTrace,
    Rejection,
    RejectReason,
    Span,
    SpanId,
    SpanKind,
    TraceId,
    TraceQuery,
    TraceRef,
    UserReport,
)
from enricher.verdict import (
    AlignmentStatus,
    Annotation,
    Delivery,
    DeliveryState,
    DiffResult,
    IssueType,
    Provenance,
    Quote,
    Segment,
    Status,
    Usage,
    Verdict,
)

START = datetime(2026, 11, 1, 12, tzinfo=UTC)
DOCUMENT = "The notice period is sixty days."


def rag_spans(
    trace_id: str, *, answer: str = "The notice period is sixty days.", at: datetime = START
) -> tuple[Span, ...]:
    """Return a chain with a retriever and a model below it."""
    root = SpanId(f"{trace_id}-root")
    end = at + timedelta(seconds=2)
    question = "How long is the notice period?"

    def span(name: str, kind: SpanKind, attributes: Mapping[str, object], parent: SpanId | None = root) -> Span:
        return Span(
            trace_id=TraceId(trace_id),
            span_id=SpanId(f"{trace_id}-{name}"),
            parent_id=parent,
            name=name,
            kind=kind,
            start_time=at,
            end_time=end,
            status="OK",
            attributes=attributes,
        )

    documents = {"retrieval.documents.0.document.id": "d1", "retrieval.documents.0.document.content": DOCUMENT}
    return (
        span("root", SpanKind.CHAIN, {"input.value": question, "output.value": answer}, None),
        span("retrieve", SpanKind.RETRIEVER, {"input.value": question, **documents}),
        span("llm", SpanKind.LLM, {"llm.output_messages.0.message.content": answer}),
    )


class MemoryConnector:
    """A platform in memory. `hooks` may raise before find, pull or annotate do anything."""

    def __init__(self, name: str = "memory") -> None:
        self.name = name
        self.traces: dict[str, tuple[Span, ...]] = {}
        self.reports: dict[str, tuple[UserReport, ...]] = {}
        self.running: set[str] = set()
        self.annotations: dict[str, Annotation] = {}
        self.writes: list[str] = []
        self.queries: list[TraceQuery] = []
        self.hooks: dict[str, Callable[[], None]] = {}

    def add(self, trace_id: str, *, at: datetime = START, report: UserReport | None = None, **parts: str) -> None:
        """Put a trace on the platform."""
        self.traces[trace_id] = rag_spans(trace_id, at=at, **parts)
        if report:
            self.reports[trace_id] = (report,)

    async def find(self, query: TraceQuery) -> AsyncIterator[TraceRef]:
        """Yield by window, explicit id, or report."""
        self._hook("find")
        self.queries.append(query)
        for trace_id, spans in self.traces.items():
            at = spans[0].start_time
            reports = self.reports.get(trace_id, ())
            is_in_window = (query.start is None or at >= query.start) and (query.end is None or at < query.end)
            is_new_report = any(query.reports_since and r.reported_at >= query.reports_since for r in reports)
            if query.trace_ids:
                matches = trace_id in query.trace_ids
            elif query.reports:
                matches = bool(reports) and (is_in_window or is_new_report)
            else:
                matches = is_in_window
            if matches:
                yield TraceRef(
                    connection=self.name,
                    project="p",
                    trace_id=TraceId(trace_id),
                    rules=(query.rule,),
                    start_time=at,
                    reports=reports if query.reports else (),
                )

    async def pull(self, refs: Sequence[TraceRef]) -> AsyncIterator[RawTrace | Rejection]:
        """Yield each trace, or that it is gone."""
        for ref in refs:
            self._hook("pull")
            spans = self.traces.get(ref.trace_id)
            if spans is None:
                yield Rejection(trace_id=ref.trace_id, reason=RejectReason.TRACE_GONE)
            else:
                yield RawTrace(ref=ref, spans=spans, still_running=ref.trace_id in self.running)

    async def annotate(self, annotations: Sequence[Annotation]) -> Sequence[Delivery]:
        """Keep annotations by key, as platforms do."""
        self._hook("annotate")
        self.writes += [a.key for a in annotations]
        self.annotations |= {a.key: a for a in annotations}
        return [Delivery(key=a.key, state=DeliveryState.CONFIRMED) for a in annotations]

    async def confirm(self, annotations: Sequence[Annotation]) -> Sequence[Delivery]:
        """Say what is kept."""
        states = {True: DeliveryState.CONFIRMED, False: DeliveryState.RETRY}
        return [Delivery(key=a.key, state=states[a.key in self.annotations]) for a in annotations]

    async def prepare(self, names: Mapping[str, Sequence[str]]) -> None:
        """Accept any names."""

    async def check(self) -> Health:
        """Always be well."""
        return Health(ok=True)

    async def aclose(self) -> None:
        """Have nothing to release."""

    def named(self, name: str) -> dict[str, Annotation]:
        """Return the annotations of one name, by trace."""
        return {a.trace_id: a for a in self.annotations.values() if a.name == name}

    def _hook(self, place: str) -> None:
        if place in self.hooks:
            self.hooks[place]()


class FailsTimes:
    """A hook that raises TryAgain a given number of times."""

    def __init__(self, times: int, *, after: float = 0.0) -> None:
        self.left = times
        self._after = after

    def __call__(self) -> None:
        """Fail while there is something left."""
        if self.left > 0:
            self.left -= 1
            raise TryAgain("the platform is busy", after=self._after)


class ScriptedJudge:
    """Judges every item alike, or by the status that is scripted for its trace."""

    def __init__(self, *, version: str = "1", cost: float = 0.0) -> None:
        self.provenance = Provenance(judge="diff", engine="scripted", model=version)
        self.script: dict[str, Status | Exception] = {}
        self.judged: list[str] = []
        self._cost = cost

    async def judge(self, item: Item) -> Verdict:
        """Say what is scripted; fully supported if nothing is."""
        self.judged.append(item.trace_id)
        outcome = self.script.get(item.trace_id, Status.OK)
        if isinstance(outcome, Exception):
            raise outcome
        return Verdict(
            trace_id=item.trace_id,
            span_id=item.annotate_span_id,
            status=outcome,
            result=self._result(item, outcome) if outcome.is_verdict else None,
            failure=None if outcome.is_verdict else "as scripted",
            provenance=self.provenance,
            usage=Usage(cost=self._cost, calls=1),
        )

    def _result(self, item: Item, status: Status) -> DiffResult:
        if status is Status.NO_CLAIMS:
            return DiffResult(segments=())
        is_true = item.answer == DOCUMENT
        quote = Quote(document_id=item.documents[0].id, text=item.documents[0].text)
        return DiffResult(
            segments=tuple(
                Segment(
                    segment_id=s.id,
                    start=s.start,
                    end=s.end,
                    generated_text=s.text,
                    alignment_status=AlignmentStatus.FULLY_SUPPORTED if is_true else AlignmentStatus.CONTRADICTED,
                    issue_type=IssueType.NONE if is_true else IssueType.CONTRADICTED,
                    evidence=(quote,),
                )
                for s in item.sentences
                if s.is_checkable
            )
        )

    async def aclose(self) -> None:
        """Have nothing to release."""


class SleepersClock:
    """A clock that moves when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """Tell the time."""
        return self.now

    async def sleep(self, seconds: float) -> None:
        """Let the time pass at once."""
        self.now += seconds
        await asyncio.sleep(0)
