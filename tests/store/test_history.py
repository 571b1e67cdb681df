"""Runs, watermarks, counts, the story of a trace, and forgetting it."""

import sqlite3
from datetime import UTC, datetime, timedelta, timezone

import pytest

from enricher.store import RefState, RunState, Store, Story, Watermark
from enricher.trace import Rejection, RejectReason
from enricher.verdict import Status, Usage
from tests.store.samples import annotation, evaluation, ref, settlement, verdict

START = datetime(2026, 1, 1, 2, tzinfo=UTC)


def mark(reached):
    return Watermark(connection="phoenix", rule="sampled", reached=reached)


async def test_a_run_is_found_again_with_its_window_counters_and_report(store):
    run = await store.start_run("nightly", window_start=START, window_end=START + timedelta(days=1))
    await store.note_progress(run, {"pulled": 3})
    assert (await store.run(run)).counters == {"pulled": 3}
    await store.finish_run(run, RunState.COMPLETED, counters={"pulled": 5}, report={"headline": "none"})

    found = await store.run(run)
    assert (found.state, found.counters, found.report) == (RunState.COMPLETED, {"pulled": 5}, {"headline": "none"})
    assert (found.window_start, found.window_end) == (START, START + timedelta(days=1))
    assert found.finished_at >= found.started_at
    assert await store.run("nothing") is None


async def test_runs_are_listed_newest_first(store):
    first = await store.start_run("nightly")
    other = await store.start_run("weekly")
    last = await store.start_run("nightly")
    assert [r.id for r in await store.runs()] == [last, other, first]
    assert [r.id for r in await store.runs("nightly", limit=1)] == [last]


async def test_a_run_whose_process_went_away_is_recorded_as_interrupted(store):
    first = await store.start_run("nightly")
    other = await store.start_run("weekly")
    await store.start_run("nightly")
    assert (await store.run(first)).state is RunState.INTERRUPTED
    assert (await store.run(other)).state is RunState.RUNNING


async def test_a_watermark_moves_only_when_a_run_completes_and_only_forward(store):
    assert await store.watermark("nightly", "phoenix", "sampled") is None
    run = await store.start_run("nightly")
    with pytest.raises(ValueError, match="must not move watermarks"):
        await store.finish_run(run, RunState.FAILED, counters={}, watermarks=[mark(START)])
    assert await store.watermark("nightly", "phoenix", "sampled") is None

    await store.finish_run(run, RunState.COMPLETED, counters={}, watermarks=[mark(START)])
    await store.finish_run(run, RunState.COMPLETED, counters={}, watermarks=[mark(START - timedelta(hours=5))])
    assert await store.watermark("nightly", "phoenix", "sampled") == START
    assert await store.watermark("nightly", "phoenix", "reported") is None
    assert await store.watermark("weekly", "phoenix", "sampled") is None


async def test_times_go_in_aware_and_come_out_in_utc(store):
    run = await store.start_run("nightly", window_start=START.astimezone(timezone(timedelta(hours=5, minutes=30))))
    found = (await store.run(run)).window_start
    assert found == START
    assert found.utcoffset() == timedelta(0)


async def test_a_naive_time_is_refused(store):
    with pytest.raises(Exception, match="naive datetime"):
        await store.start_run("nightly", window_start=datetime(2026, 1, 1))


async def test_the_tally_keeps_statuses_states_and_reasons_apart(store):
    await store.take_in("nightly", [ref(number) for number in range(4)])
    run = await store.start_run("nightly")
    priced = verdict(0, usage=Usage(cost=0.25))
    await store.settle(settlement(run, 0, evaluation(0, verdict=priced, review=("contradicted",))))
    await store.settle(settlement(run, 1, evaluation(1, verdict=verdict(1, status=Status.NO_CLAIMS))))
    failed = verdict(2, status=Status.JUDGE_REFUSED, usage=Usage(cost=0.5))
    await store.settle(settlement(run, 2, evaluation(2, verdict=failed, annotations=())))
    rejection = Rejection(trace_id=ref(3).trace_id, reason=RejectReason.NO_CONTEXT)
    await store.settle(
        settlement(run, 3, evaluations=(), rejections=(rejection,), state=RefState.REJECTED, reason="no_context")
    )

    tally = await store.tally(run)

    assert tally.evaluations == {"diff": {Status.OK: 1, Status.NO_CLAIMS: 1, Status.JUDGE_REFUSED: 1}}
    assert tally.refs == {"done": 3, "rejected": 1}
    assert tally.rejections == {"no_context": 1}
    assert tally.outbox == {"pending": 2}
    assert tally.review == {"open": 1}
    assert tally.cost == pytest.approx(0.75)
    assert (await store.tally("another run")).evaluations == {}


async def test_evaluations_of_a_run_are_streamed_completely(store):
    run = await store.start_run("nightly")
    many = tuple(evaluation(number, annotations=()) for number in range(1100))
    await store.settle(settlement(run, 1, *many))
    assert len({record.id async for record in store.evaluations(run)}) == 1100


async def test_raw_replies_are_purged_by_age_and_verdicts_stay(store):
    run = await store.start_run("nightly")
    await store.settle(settlement(run, 1))
    between = store.clock()
    await store.settle(settlement(run, 2))

    assert await store.purge_raw_replies(between) == 1

    assert (await store.explain("t1")).raw_replies == {}
    assert len((await store.explain("t1")).evaluations) == 1
    assert len((await store.explain("t2")).raw_replies) == 1


async def test_forgetting_a_trace_leaves_nothing_of_it_and_everything_else(store):
    run = await store.start_run("nightly")
    await store.take_in("nightly", [ref(1), ref(2)])
    await store.add_hint("phoenix", "shop", "t1")
    for number in (1, 2):
        rejection = Rejection(trace_id=ref(number).trace_id, reason=RejectReason.NO_CONTEXT)
        judged = evaluation(number, review=("contradicted",))
        await store.settle(settlement(run, number, judged, rejections=(rejection,)))
    findings = [{"trace_id": "t1", "text": "30 days"}, {"trace_id": "t2", "text": "30 days"}]
    await store.finish_run(run, RunState.COMPLETED, counters={}, report={"findings": findings, "ids": ["t1", "t2"]})

    assert await store.forget("t1") > 0

    story = await store.explain("t1")
    assert story == Story(trace_id="t1")
    assert await store.pending_hints("phoenix") == []
    assert (await store.run(run)).report == {"findings": findings[1:], "ids": ["t2"]}
    kept = await store.explain("t2")
    assert all((kept.refs, kept.rejections, kept.evaluations, kept.raw_replies, kept.outbox, kept.review))


async def test_on_sqlite_a_forgotten_text_is_not_left_in_the_files(tmp_path):
    path = tmp_path / "store.db"
    async with await Store.open(f"sqlite:///{path}") as store:
        run = await store.start_run("nightly")
        secret = evaluation(
            verdict=verdict(raw_replies=("Jana Beispiel",)), annotations=(annotation(explanation="Jana"),)
        )
        await store.settle(settlement(run, 1, secret))
        await store.settle(settlement(run, 2))
        await store.forget("t1")
        left = b"".join(file.read_bytes() for file in tmp_path.iterdir())
        assert b"Jana" not in left
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
