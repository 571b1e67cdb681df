"""Nights over time, on both engines: each run with its counts, whole and by group, and the traces behind a figure."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import text

from enricher.errors import SetupError
from enricher.store import PersonsDecision, QueueFilter, RefState, RunState, Settlement, Store
from enricher.store.engine import WRITES, connect, parse_url
from enricher.store.migrations.versions import m0008_facts
from enricher.store.nights import Wanted, groupings, nights, traces_of
from enricher.trace import Document, Item, Rejection, RejectReason, SpanId, TraceId, UserReport
from enricher.verdict import (
    Axis,
    Certainty,
    DiffResult,
    HalvesResult,
    Opinion,
    Provenance,
    Segment,
    Standing,
    Status,
    Usage,
)
from tests.store.samples import evaluation, ref, settlement, verdict

FIRST = datetime(2026, 11, 1, 2, 0, tzinfo=UTC)


class Clock:
    """Tells the time that it was set to."""

    def __init__(self):
        self.now = FIRST

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
async def store(url, clock):
    async with await Store.open(url, clock=clock) as opened:
        yield opened


def segments(*statuses, **parts):
    issues = {"CONTRADICTED": "CONTRADICTED", "UNSUPPORTED": "ADDED", "PARTIALLY_SUPPORTED": "DISTORTED"}
    return DiffResult(
        segments=tuple(
            Segment(
                segment_id=f"s{number}",
                generated_text=f"sentence {number}",
                alignment_status=status,
                issue_type=issues.get(status, "NONE"),
                **(parts if status in issues else {}),
            )
            for number, status in enumerate(statuses, 1)
        )
    )


def judged(number, *statuses, metadata=None, parts=None, cached=False, **more):
    item = Item(
        trace_id=TraceId(f"t{number}"),
        question="How long?",
        documents=(Document(id="d1", text="30 days."),),
        answer="90 days.",
        annotate_span_id=SpanId(f"s{number}"),
        metadata=metadata or {},
    )
    found = verdict(number, result=segments(*statuses, **(parts or {})), **more)
    return evaluation(number, verdict=found, item=item, is_cached=cached)


def halves(number, context, faithful, relevant):
    axes = {"context_relevance": context, "faithfulness": faithful, "answer_relevance": relevant}
    result = HalvesResult(**{name: Axis(value=value) for name, value in axes.items()})
    return evaluation(
        number, verdict=verdict(number, result=result, provenance=Provenance(judge="halves", engine="local"))
    )


async def night(store, clock, *settled, job="nightly", state=RunState.COMPLETED):
    """Run one night: each of `settled` is (evaluations, ref parts)."""
    run_id = await store.start_run(job)
    for evaluations, chosen in settled:
        number = int(evaluations[0].verdict.trace_id[1:])
        await store.take_in(job, [ref(number, **chosen)])
        await store.settle(settlement(run_id, number, *evaluations, job=job, ref=ref(number, **chosen)))
    await store.finish_run(run_id, state, counters={})
    clock.now += timedelta(days=1)
    return run_id


async def test_a_night_has_the_counts_of_each_judge_and_a_failure_is_no_score(store, clock):
    usage = Usage(prompt_tokens=100, completion_tokens=20, cached_tokens=40, cost=0.25, calls=1)
    run_id = await night(
        store,
        clock,
        ((judged(1, "FULLY_SUPPORTED", "CONTRADICTED", usage=usage), halves(1, 2, 0, 2)), {}),
        ((judged(2, "FULLY_SUPPORTED", "UNSUPPORTED", "PARTIALLY_SUPPORTED", usage=usage),), {}),
        ((judged(3, "FULLY_SUPPORTED"), halves(3, 0, 2, 1)), {}),
        ((evaluation(4, verdict=verdict(4, status=Status.JUDGE_REFUSED)),), {}),
        ((evaluation(5, verdict=verdict(5, status=Status.NO_CLAIMS, result=DiffResult(segments=()))),), {}),
    )
    [found] = await nights(store, Wanted())
    assert (found.run_id, found.job, found.state, found.started_at) == (run_id, "nightly", "completed", FIRST)
    diff = found.judges["diff"]
    assert diff.statuses == {"OK": 3, "JUDGE_REFUSED": 1, "NO_CLAIMS": 1}
    assert (diff.judged, diff.scored, diff.no_claims, diff.failed) == (5, 3, 1, {"JUDGE_REFUSED": 1})
    assert diff.mean_score == pytest.approx((0.5 + 1 / 3 + 1) / 3)
    assert diff.buckets == (0, 0, 0, 1, 1, 0, 0, 0, 0, 1)
    assert diff.labels == {"contradicted": 1, "unsupported": 1, "faithful": 1, "no_claims": 1}
    assert list(diff.issues.items()) == [("CONTRADICTED", 1), ("ADDED", 1), ("DISTORTED", 1)]
    assert found.halves == {"generation": 1, "retrieval": 1}
    assert found.failed == {"JUDGE_REFUSED": 1}
    assert found.judged == 7
    assert (found.cost, found.prompt_tokens, found.cached_tokens, found.completion_tokens, found.calls) == (
        0.5, 200, 80, 40, 2,
    )  # fmt: skip


async def test_nights_come_oldest_first_and_only_concluded_ones(store, clock):
    first = await night(store, clock, ((judged(1, "FULLY_SUPPORTED"),), {}))
    empty = await night(store, clock, state=RunState.FAILED)
    third = await night(store, clock, ((judged(2, "CONTRADICTED"),), {}), job="weekly")
    await store.start_run("nightly")
    assert [found.run_id for found in await nights(store, Wanted())] == [first, empty, third]
    assert [found.judged for found in await nights(store, Wanted(job="nightly"))] == [1, 0]
    assert [found.run_id for found in await nights(store, Wanted(runs=2))] == [empty, third]
    assert [found.run_id for found in await nights(store, Wanted(before=third))] == [first, empty]
    assert [found.run_id for found in await nights(store, Wanted(run_ids=(first,)))] == [first]
    since = Wanted(since=FIRST + timedelta(hours=1), until=FIRST + timedelta(days=2))
    assert [found.run_id for found in await nights(store, since)] == [empty]


async def test_nights_are_split_by_project_job_prompt_and_any_key_of_the_metadata(store, clock):
    old = Provenance(judge="diff", engine="openai", prompt="diff@v1", model="m", model_snapshot="m-0718")
    await night(
        store,
        clock,
        (
            (judged(1, "CONTRADICTED", metadata={"model": "gpt-x", "tier": "gold", "nested": {"a": 1}}),),
            {"project": "shop"},
        ),
        ((judged(2, "FULLY_SUPPORTED", metadata={"model": "gpt-y", "tier": "gold"}),), {"project": "shop"}),
        ((judged(3, "FULLY_SUPPORTED", provenance=old, metadata={"flag": True}),), {"project": "legal"}),
    )

    async def split(by):
        found = await nights(store, Wanted(), by=by)
        return {one.group: one.judges["diff"].labels for one in found}

    assert await split("project") == {"legal": {"faithful": 1}, "shop": {"contradicted": 1, "faithful": 1}}
    assert await split("model") == {"": {"faithful": 1}, "gpt-x": {"contradicted": 1}, "gpt-y": {"faithful": 1}}
    assert await split("metadata.tier") == {"": {"faithful": 1}, "gold": {"contradicted": 1, "faithful": 1}}
    assert await split("metadata.nested.a") == {"": {"faithful": 2}, "1": {"contradicted": 1}}
    assert await split("judge_model") == {"": {"contradicted": 1, "faithful": 1}, "m-0718": {"faithful": 1}}
    assert set(await split("judge_prompt")) == {"diff@v1"}
    assert set(await split("job")) == {"nightly"}
    [gold] = await nights(store, Wanted(metadata={"tier": "gold"}, model="gpt-x"))
    assert gold.judged == 1
    what = await groupings(store, Wanted())
    assert (what.projects, what.judges, what.judge_models) == (("legal", "shop"), ("diff",), ("m-0718",))
    assert what.metadata == ("flag", "model", "nested.a", "tier")
    for wrong in ("colour", "metadata.", 'metadata.a"b'):
        with pytest.raises(SetupError, match="use job, project"):
            await nights(store, Wanted(), by=wrong)


async def test_rejections_are_counted_by_reason_and_project(store, clock):
    run_id = await store.start_run("nightly")
    for number, project in ((1, "shop"), (2, "shop"), (3, "legal")):
        chosen = ref(number, project=project)
        await store.take_in("nightly", [chosen])
        reason = RejectReason.NO_CONTEXT if number < 3 else RejectReason.NO_ANSWER
        rejection = Rejection(trace_id=chosen.trace_id, reason=reason)
        await store.settle(
            Settlement(run_id=run_id, job="nightly", ref=chosen, rejections=(rejection,), state=RefState.REJECTED)
        )
    await store.finish_run(run_id, RunState.COMPLETED, counters={})
    [whole] = await nights(store, Wanted())
    assert whole.rejected == {"no_context": 2, "no_answer": 1}
    split = {found.group: found.rejected for found in await nights(store, Wanted(), by="project")}
    assert split == {"shop": {"no_context": 2}, "legal": {"no_answer": 1}}
    [shop] = await nights(store, Wanted(project="shop"))
    assert shop.rejected == {"no_context": 2}


async def test_user_reports_are_set_against_what_was_found_trace_by_trace(store, clock):
    thumbs_down = {"reports": (UserReport(name="user_feedback", label="thumbs-down"),)}
    refuted = {"certainty": Certainty.REFUTED}
    await night(
        store,
        clock,
        ((judged(1, "CONTRADICTED"), halves(1, 2, 0, 2)), thumbs_down),
        ((judged(2, "FULLY_SUPPORTED"),), thumbs_down),
        ((judged(3, "CONTRADICTED"), halves(3, 2, 0, 2)), {}),
        ((judged(4, "UNSUPPORTED"),), {}),
        ((judged(5, "CONTRADICTED", parts=refuted),), {}),
        ((evaluation(6, verdict=verdict(6, status=Status.JUDGE_EMPTY)),), thumbs_down),
    )
    [found] = await nights(store, Wanted())
    reports = found.reports
    assert (reports.with_finding, reports.without_finding, reports.unreported_critical, reports.traces) == (1, 1, 1, 5)


async def test_agreement_of_second_checks_and_of_people(store, clock):
    def opinion(agrees):
        return Opinion(by="local", standing=Standing.CONTRADICTED if agrees else Standing.SUPPORTED, agrees=agrees)

    agreed = {"opinions": (opinion(True),), "certainty": Certainty.CONFIRMED}
    disputed = {"opinions": (opinion(False),), "certainty": Certainty.DISPUTED}
    asked = [replace(judged(n, "CONTRADICTED", parts=agreed if n < 3 else disputed), review=("x",)) for n in (1, 2, 3)]
    await night(store, clock, *(((one,), {}) for one in asked))
    for question, outcome in zip(await store.questions(QueueFilter()), ("confirm", "reject", "confirm"), strict=True):
        decision = PersonsDecision(review_id=question.review.id, person="ada", outcome=outcome, label="contradicted")
        await store.decide(decision, [])
    [found] = await nights(store, Wanted())
    assert (found.checked, found.agreed, found.decided, found.confirmed) == (3, 2, 3, 2)


async def test_a_failure_that_a_later_night_mends_stays_in_the_night_that_failed(store, clock):
    failed = evaluation(1, verdict=verdict(1, status=Status.JUDGE_UNAVAILABLE))
    await night(store, clock, ((failed,), {}))
    await night(store, clock, ((judged(1, "FULLY_SUPPORTED"),), {}))
    first, second = await nights(store, Wanted())
    assert first.failed == {"JUDGE_UNAVAILABLE": 1}
    assert second.judges["diff"].labels == {"faithful": 1}


async def test_a_verdict_that_was_known_counts_but_costs_nothing(store, clock):
    usage = Usage(cost=1.0, calls=1, prompt_tokens=10)
    await night(store, clock, ((judged(1, "CONTRADICTED", usage=usage),), {}))
    await night(store, clock, ((judged(1, "CONTRADICTED", usage=usage, cached=True),), {}))
    first, second = await nights(store, Wanted())
    assert (first.cost, second.cost, second.calls) == (1.0, 0.0, 0)
    assert first.judges["diff"].labels == second.judges["diff"].labels == {"contradicted": 1}


async def test_the_traces_behind_a_figure_come_most_dangerous_first(store, clock):
    run_id = await night(
        store,
        clock,
        ((judged(1, "FULLY_SUPPORTED", metadata={"tier": "gold"}),), {}),
        ((judged(2, "UNSUPPORTED", "FULLY_SUPPORTED"),), {}),
        ((judged(3, "CONTRADICTED", "FULLY_SUPPORTED"),), {"reports": (UserReport(name="down"),)}),
        ((judged(4, "CONTRADICTED"),), {}),
        ((evaluation(5, verdict=verdict(5, status=Status.JUDGE_EMPTY)),), {}),
    )
    wanted = Wanted(run_ids=(run_id,))

    async def ids(**narrowed):
        return [row.trace_id for row in await traces_of(store, wanted, **narrowed)]

    assert await ids() == ["t4", "t3", "t2", "t1", "t5"]
    assert await ids(labels=["contradicted"]) == ["t4", "t3"]
    assert await ids(critical=True, reported=False) == ["t4"]
    assert await ids(issue="ADDED") == ["t2"]
    assert await ids(status="JUDGE_EMPTY") == ["t5"]
    assert await ids(buckets=[9]) == ["t1"]
    assert await ids(by="metadata.tier", group="gold") == ["t1"]
    assert await ids(limit=2, offset=1) == ["t3", "t2"]
    with pytest.raises(SetupError, match="no kind of finding 'ODD'"):
        await ids(issue="ODD")


async def test_a_forgotten_trace_is_in_no_figure(store, clock):
    await night(store, clock, ((judged(1, "CONTRADICTED"),), {}), ((judged(2, "CONTRADICTED"),), {}))
    await store.forget("t1")
    [found] = await nights(store, Wanted())
    assert found.judges["diff"].labels == {"contradicted": 1}


async def test_hostile_metadata_can_be_grouped_by(store, clock):
    odd = {"nul": "a\0b", "lone": "x\ud800y", 'quo"te': "1", "long": "z" * 5000, "list": ["a", 2], "none": None}
    await night(store, clock, ((judged(1, "CONTRADICTED", metadata=odd),), {}))
    what = await groupings(store, Wanted())
    assert what.metadata == ("list", "lone", "long", "nul")
    for key, value in (("nul", "a\ufffdb"), ("lone", "x?y"), ("list", "a, 2"), ("long", "z" * 200)):
        [found] = await nights(store, Wanted(), by=f"metadata.{key}")
        assert found.group == value


async def test_the_migration_counts_what_was_judged_before(url, clock):
    async with await Store.open(url, clock=clock) as store:
        await night(store, clock, ((judged(1, "CONTRADICTED"),), {"reports": (UserReport(name="down"),)}))
        [before] = await nights(store, Wanted())
    engine = connect(parse_url(url))
    with engine.execution_options(**{WRITES: True}).begin() as connection:
        connection.execute(text("DROP TABLE facts"))
        with Operations.context(MigrationContext.configure(connection)):
            m0008_facts.upgrade()
    engine.dispose()
    async with await Store.open(url, clock=clock) as store:
        assert await nights(store, Wanted()) == [before]
