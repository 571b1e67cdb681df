"""Judged traces for the pages: an answer with one of everything, and what waits for people."""

from collections.abc import Sequence

from enricher.store import Evaluation, QueueFilter, RefState, Settlement, Store
from enricher.trace import Document, Item, SpanId, TraceId, TraceRef, UserReport
from enricher.verdict import (
    Annotation,
    Certainty,
    Claim,
    ClaimVerdict,
    ConsistencyResult,
    DiffResult,
    Opinion,
    Probabilities,
    Provenance,
    Quote,
    QuoteCheck,
    Segment,
    SourceConflict,
    Stance,
    Standing,
    Status,
    Verdict,
)

ANSWER = "Notice is 90 days. Fees are refunded. Refunds take a week."
MSA = "Notice is sixty (60) days. Prepaid fees are refunded pro rata. Interest is 2%."
OLD = "Version 1, 2019. Notice is thirty (30) days."


def quote(document_id: str, text: str, body: str, **parts: object) -> Quote:
    """Make a verified quote."""
    start = body.index(text)
    given = {"document_id": document_id, "text": text, "start": start, "end": start + len(text)}
    return Quote(**{**given, "check": QuoteCheck.VERIFIED, **parts})


def segment(key: str, text: str | None, status: str, issue: str, *evidence: Quote, **parts: object) -> Segment:
    """Make a segment that stands in the answer, unless it was left out of it."""
    start = ANSWER.index(text) if text else None
    return Segment(
        segment_id=key,
        start=start,
        end=start + len(text) if text and start is not None else None,
        generated_text=text,
        alignment_status=status,
        issue_type=issue,
        evidence=evidence,
        **parts,
    )


def diff() -> DiffResult:
    """Return a result of the diff judge with one of everything."""
    second = Opinion(
        by="faithfulness/local", standing=Standing.UNSUPPORTED, agrees=False, explanation="no document says a week",
        evidence=(quote("old", "Notice is thirty (30) days.", OLD),),
    )  # fmt: skip
    segments = (
        segment(
            "s1", "Notice is 90 days.", "CONTRADICTED", "CONTRADICTED",
            quote("msa-12", "Notice is sixty (60) days.", MSA),
            explanation="answer says 90 days, msa-12 says sixty (60) days", certainty=Certainty.CONFIRMED,
            score=0.12,
            probabilities=Probabilities(supported=0.12, partial=0.1, unsupported=0.28, contradicted=0.5),
        ),
        segment(
            "s2", "Fees are refunded.", "FULLY_SUPPORTED", "NONE",
            quote("msa-12", "Prepaid fees are refunded pro rata.", MSA),
        ),
        segment("s3", "Refunds take a week.", "UNSUPPORTED", "ADDED", opinions=(second,), certainty=Certainty.DISPUTED),
        segment("s4", None, "UNSUPPORTED", "OMITTED", quote("msa-12", "Interest is 2%.", MSA)),
    )  # fmt: skip
    return DiffResult(segments=segments).with_parts(segments)


def consistency() -> ConsistencyResult:
    """Return a result of the consistency judge with a conflict between the documents."""
    for_it, against = (
        quote("msa-12", "Notice is sixty (60) days.", MSA),
        quote("old", "Notice is thirty (30) days.", OLD),
    )
    sides = (
        for_it.model_copy(update={"stance": Stance.SUPPORTS}),
        against.model_copy(update={"stance": Stance.CONTRADICTS}),
    )
    claim = Claim(
        claim_id="c1", text="Notice is 90 days.", verdict=ClaimVerdict.SOURCE_CONFLICT, evidence=sides, start=0, end=18
    )
    conflict = SourceConflict(
        description="how long the notice is",
        passages=sides,
        dates={"old": "2019"},
        recommendation="Ask which one holds.",
    )
    return ConsistencyResult(claims=(claim,), conflicts=(conflict,)).with_parts((claim,))


def item(trace_id: str = "t1", **parts: object) -> Item:
    """Make the item that the results are about."""
    documents = (
        Document(id="msa-12", text=MSA, metadata={"effective_date": "2025-03-01"}, score=0.9),
        Document(id="old", text=OLD),
        Document(id="unused", text="The office is closed on Sundays."),
    )
    given = {
        "trace_id": TraceId(trace_id), "question": "How much notice?", "documents": documents, "answer": ANSWER,
        "annotate_span_id": SpanId(f"span-{trace_id}"), "metadata": {"model": "gpt-x"},
    }  # fmt: skip
    return Item(**{**given, **parts})


def verdict(trace_id: str, judge: str, result: object, status: Status = Status.OK, **parts: object) -> Verdict:
    """Make a verdict."""
    given = {
        "trace_id": trace_id, "span_id": f"span-{trace_id}", "status": status, "result": result,
        "provenance": Provenance(judge=judge, engine="openai", prompt=f"{judge}@v2", model="m-1"),
        "raw_replies": (f"<b>raw</b> of {judge}",),
    }  # fmt: skip
    return Verdict(**{**given, **parts})


def evaluation(found: Verdict, its_item: Item, *reasons: str) -> Evaluation:
    """Make an evaluation with its write-backs."""
    shared = {
        "connection": "phoenix", "project": "shop", "trace_id": found.trace_id, "span_id": found.span_id,
        "identifier": f"trace-enricher/{found.provenance.version}",
    }  # fmt: skip
    calls = [Annotation(name="needs_review", label=reasons[0], **shared)] if reasons else []
    return Evaluation(
        item_key=its_item.key,
        input_hash="h",
        verdict=found,
        item=its_item,
        annotations=tuple(calls),
        review=reasons,
    )


async def settle(
    store: Store, trace_id: str, *evaluations: Evaluation, job: str = "nightly", project: str = "shop",
    reports: Sequence[UserReport] = (),
) -> None:  # fmt: skip
    """Settle a trace as a run does."""
    run = await store.start_run(job)
    ref = TraceRef(
        connection="phoenix", project=project, trace_id=TraceId(trace_id), rules=("reported",), reports=tuple(reports)
    )
    await store.take_in(job, [ref])
    await store.settle(Settlement(run_id=run, job=job, ref=ref, evaluations=evaluations, state=RefState.DONE))


async def settle_everything(store: Store, trace_id: str = "t1") -> str:
    """Settle a trace with one of everything; return the id of the question about its diff."""
    its_item = item(trace_id)
    report = UserReport(name="user_feedback", label="thumbs-down", comment="It was 60 days!", author="kim")
    await settle(
        store,
        trace_id,
        evaluation(verdict(trace_id, "diff", diff()), its_item, "contradicted", "score_below_threshold"),
        evaluation(verdict(trace_id, "consistency", consistency()), its_item, "source_conflict"),
        evaluation(
            verdict(trace_id, "halves", None, Status.JUDGE_TRUNCATED, failure="The reply was cut."), its_item,
            "judge_failed:JUDGE_TRUNCATED",
        ),
        reports=[report],
    )  # fmt: skip
    questions = await store.questions(QueueFilter(trace_id=trace_id))
    return next(one.review.id for one in questions if one.evaluation.verdict.provenance.judge == "diff")
