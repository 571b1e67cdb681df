"""Nights in a store, written as short as tests need them."""

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from enricher.report import RunReport, Tally
from enricher.reporting.gathering import full_report
from enricher.reporting.nouns import FullReport
from enricher.settings import PhoenixConnection
from enricher.store import Evaluation, RefState, RunState, Settlement, Store
from enricher.trace import Document, Item, Rejection, RejectReason, SpanId, TraceId, TraceRef, UserReport
from enricher.verdict import (
    Axis,
    DiffResult,
    HalvesResult,
    Provenance,
    Quote,
    QuoteCheck,
    Segment,
    Status,
    Usage,
    Verdict,
)

START = datetime(2026, 11, 1, 2, 0, tzinfo=UTC)
DOWN = UserReport(name="user_feedback", label="thumbs-down", score=0.0, comment="wrong period")
_ISSUES = {"CONTRADICTED": "CONTRADICTED", "UNSUPPORTED": "ADDED", "PARTIALLY_SUPPORTED": "DISTORTED"}
PHOENIX = {"phoenix": PhoenixConnection(kind="phoenix", base_url="http://phoenix.test:6006")}


@dataclass(kw_only=True)
class Clock:
    """Tells the time that it was set to."""

    now: datetime = START

    def __call__(self) -> datetime:
        return self.now


@dataclass(frozen=True, kw_only=True)
class Case:
    """One answer with what a night finds on it."""

    trace: str
    status: str = "FULLY_SUPPORTED"  # of its one segment; or a verdict.Status that is no OK
    answer: str = "Refunds are paid within 90 days."
    question: str | None = "What is the refund period?"
    passage: str = "Refunds are paid within 30 days."
    document: str = "policy"
    axes: tuple[int, int, int] | None = None  # of the halves judge
    fix_note: str = ""
    reports: tuple[UserReport, ...] = ()
    metadata: dict[str, Any] = field(default_factory=dict)
    segment: dict[str, Any] = field(default_factory=dict)  # more of the segment
    probability: float | None = None
    retrieval_score: float | None = None
    cost: float = 0.0

    def item(self) -> Item:
        """Return what was judged."""
        return Item(
            trace_id=TraceId(self.trace),
            question=self.question,
            documents=(Document(id=self.document, text=self.passage, score=self.retrieval_score),),
            answer=self.answer,
            annotate_span_id=SpanId(f"{self.trace}-root"),
            metadata=self.metadata,
        )

    def verdicts(self) -> list[Verdict]:
        """Return what the judges say."""
        found = [self._verdict("diff", self._diff())]
        if self.axes is not None:
            names = ("context_relevance", "faithfulness", "answer_relevance")
            axes = {name: Axis(value=value) for name, value in zip(names, self.axes, strict=True)}
            found.append(self._verdict("halves", HalvesResult(**axes, fix_note=self.fix_note)))
        return found

    def _diff(self) -> DiffResult | None:
        if self.status == Status.NO_CLAIMS:
            return DiffResult(segments=())
        if self.status in set(Status):
            return None
        quote = Quote(document_id=self.document, text=self.passage, check=QuoteCheck.VERIFIED)
        segment = Segment(
            segment_id="s1",
            generated_text=self.answer,
            alignment_status=self.status,
            issue_type=_ISSUES.get(self.status, "NONE"),
            **{"evidence": () if self.status == "UNSUPPORTED" else (quote,), **self.segment},
        )
        return DiffResult(segments=(segment,), faithful_probability=self.probability)

    def _verdict(self, judge: str, result: Any) -> Verdict:
        status = Status(self.status) if self.status in set(Status) else Status.OK
        return Verdict(
            trace_id=self.trace,
            span_id=f"{self.trace}-root",
            status=status,
            result=result,
            failure=None if status.is_verdict else "the reply is no JSON",
            provenance=Provenance(judge=judge, engine="local", prompt=f"{judge}@v1", model="m-1"),
            usage=Usage(cost=self.cost, calls=1),
        )


async def night(
    store: Store, clock: Clock, *cases: Case, rejected: int = 0, project: str = "shop", **report: Any
) -> RunReport:
    """Run a night of the job `nightly` and return its report as the run leaves it."""
    run_id = await store.start_run("nightly")
    settled = [_settled(run_id, case, project) for case in cases]
    settled += [_rejected(run_id, f"rejected-{run_id}-{number}", project) for number in range(rejected)]
    await store.take_in("nightly", [settlement.ref for settlement in settled])
    # Together, so that they share a commit.
    await asyncio.gather(*map(store.settle, settled))
    started = clock.now
    finished = RunReport(
        **{
            "run_id": run_id,
            "job": "nightly",
            "state": "finished",
            "started": started,
            "finished": started,
            "judges": {"diff": Tally()},
            **report,
        }
    )
    await store.finish_run(run_id, RunState.COMPLETED, counters={}, report=finished.model_dump(mode="json"))
    clock.now += timedelta(days=1)
    return finished


def _settled(run_id: str, case: Case, project: str) -> Settlement:
    ref = TraceRef(connection="phoenix", project=project, trace_id=TraceId(case.trace), reports=case.reports)
    evaluations = tuple(
        Evaluation(item_key=f"{case.trace}:root", input_hash=case.trace, verdict=verdict, item=case.item())
        for verdict in case.verdicts()
    )
    return Settlement(run_id=run_id, job="nightly", ref=ref, evaluations=evaluations, state=RefState.DONE)


def _rejected(run_id: str, trace_id: str, project: str) -> Settlement:
    ref = TraceRef(connection="phoenix", project=project, trace_id=TraceId(trace_id))
    rejection = Rejection(trace_id=ref.trace_id, reason=RejectReason.EMPTY_RETRIEVAL, detail="it found nothing")
    return Settlement(run_id=run_id, job="nightly", ref=ref, rejections=(rejection,), state=RefState.REJECTED)


async def report_of(store: Store, clock: Clock, *cases: Case, **more: Any) -> FullReport:
    """Run a night and return its full report."""
    return await full_report(store, await night(store, clock, *cases, **more), PHOENIX)
