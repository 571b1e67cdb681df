"""Which traces a job has chosen, from run to run."""

from datetime import UTC, datetime, timedelta

from enricher.store import RefState
from enricher.trace import RejectReason, UserReport
from tests.store.samples import ref, settlement

REPORT = UserReport(
    name="user_feedback",
    label="thumbs-down",
    score=0.0,
    comment="wrong fee",
    author="jo",
    reported_at=datetime(2026, 1, 5, 9, tzinfo=UTC),
)


async def test_a_trace_that_two_rules_choose_is_due_once_with_both_reasons(store):
    await store.take_in("nightly", [ref(1, rules=("sampled",)), ref(2, rules=("sampled",))])
    await store.take_in("nightly", [ref(2, rules=("reported",), reports=(REPORT,)), ref(3, rules=("reported",))])

    run = await store.start_run("nightly")
    taken = {t.ref.trace_id: t.ref for t in await store.take_due("nightly", run)}

    assert set(taken) == {"t1", "t2", "t3"}
    assert taken["t2"].rules == ("sampled", "reported")
    assert taken["t2"].reports == (REPORT,)


async def test_reported_traces_are_taken_first_then_the_oldest(store):
    await store.take_in("nightly", [ref(1), ref(2), ref(3, reports=(REPORT,))])
    run = await store.start_run("nightly")
    assert [t.ref.trace_id for t in await store.take_due("nightly", run, limit=2)] == ["t3", "t1"]
    assert [t.ref.trace_id for t in await store.take_due("nightly", run, limit=2)] == ["t2"]
    assert await store.take_due("nightly", run, limit=2) == []


async def test_a_ref_comes_back_as_it_was(store):
    given = ref(
        start_time=datetime(2026, 1, 1, 12, tzinfo=UTC),
        stratum="gold",
        reports=(REPORT,),
        locator={"session": "abc"},
    )
    await store.take_in("nightly", [given])
    run = await store.start_run("nightly")
    assert (await store.take_due("nightly", run))[0].ref == given


async def test_after_a_crash_the_next_run_takes_exactly_what_was_left(store):
    await store.take_in("nightly", [ref(number) for number in range(10)])
    crashed = await store.start_run("nightly")
    for taken in (await store.take_due("nightly", crashed))[:4]:
        await store.settle(settlement(crashed, int(taken.ref.trace_id[1:])))

    run = await store.start_run("nightly")

    left = await store.take_due("nightly", run)
    assert {t.ref.trace_id for t in left} == {f"t{number}" for number in range(4, 10)}
    assert {t.attempts for t in left} == {2}


async def test_a_trace_in_the_look_back_is_not_taken_twice(store):
    await store.take_in("nightly", [ref()])
    run = await store.start_run("nightly")
    await store.take_due("nightly", run)
    await store.settle(settlement(run))

    assert (await store.take_in("nightly", [ref()])).known == 1

    assert await store.take_due("nightly", await store.start_run("nightly")) == []


async def test_a_report_that_comes_days_later_makes_the_trace_due_again(store):
    await store.take_in("nightly", [ref()])
    run = await store.start_run("nightly")
    await store.settle(settlement(run))

    assert (await store.take_in("nightly", [ref(reports=(REPORT,))])).again == 1
    assert (await store.take_in("nightly", [ref(reports=(REPORT,))])).again == 0

    taken = await store.take_due("nightly", await store.start_run("nightly"))
    assert taken[0].ref.reports == (REPORT,)


async def test_an_explicit_wish_makes_a_trace_due_again(store):
    await store.take_in("nightly", [ref()])
    run = await store.start_run("nightly")
    await store.settle(settlement(run))
    assert (await store.take_in("nightly", [ref()], again=True)).again == 1
    assert len(await store.take_due("nightly", await store.start_run("nightly"))) == 1


async def test_a_deferred_trace_is_taken_again_by_the_next_run_only(store):
    await store.take_in("nightly", [ref()])
    run = await store.start_run("nightly")
    await store.take_due("nightly", run)
    await store.settle(settlement(run, evaluations=(), state=RefState.DEFERRED, reason="still_running"))

    assert await store.take_due("nightly", run) == []
    taken = await store.take_due("nightly", await store.start_run("nightly"))
    assert [(t.ref.trace_id, t.was_deferred) for t in taken] == [("t1", True)]


async def test_a_deferred_trace_is_given_up_after_its_age_with_a_recorded_reason(store):
    await store.take_in("nightly", [ref(1), ref(2)])
    run = await store.start_run("nightly")
    await store.settle(settlement(run, 1, evaluations=(), state=RefState.DEFERRED))
    await store.settle(settlement(run, 2))

    early = store.clock() - timedelta(hours=1)
    assert await store.give_up_deferred("nightly", run, first_seen_before=early) == []
    given_up = await store.give_up_deferred("nightly", run, first_seen_before=store.clock())

    assert [r.trace_id for r in given_up] == ["t1"]
    story = await store.explain("t1")
    assert (story.refs[0].state, story.refs[0].reason) == (RefState.REJECTED, "still_running")
    assert story.rejections[0].rejection.reason is RejectReason.STILL_RUNNING
    assert await store.take_due("nightly", await store.start_run("nightly")) == []


async def test_what_a_budget_left_over_is_due_in_the_next_run(store):
    await store.take_in("nightly", [ref(number) for number in range(5)])
    run = await store.start_run("nightly")
    for taken in await store.take_due("nightly", run):
        number = int(taken.ref.trace_id[1:])
        state = RefState.DONE if number < 2 else RefState.DUE
        await store.settle(settlement(run, number, evaluations=(), state=state, reason="BUDGET_EXCEEDED"))

    assert (await store.tally(run)).ref_reasons == {"BUDGET_EXCEEDED": 3}
    assert len(await store.take_due("nightly", await store.start_run("nightly"))) == 3


async def test_jobs_do_not_see_each_others_traces(store):
    await store.take_in("nightly", [ref()])
    assert await store.take_due("weekly", await store.start_run("weekly")) == []


async def test_a_large_intake_is_taken_in_whole(store):
    assert (await store.take_in("nightly", (ref(number) for number in range(1201)))).new == 1201
    run = await store.start_run("nightly")
    taken = []
    while page := await store.take_due("nightly", run, limit=500):
        taken += page
    assert len({t.ref.trace_id for t in taken}) == len(taken) == 1201


async def test_a_hint_waits_once_until_a_run_has_taken_it_in(store):
    assert await store.add_hint("langsmith", "shop", "t1", "thumbs-down")
    assert not await store.add_hint("langsmith", "shop", "t1", "thumbs-down")
    hints = await store.pending_hints("langsmith")
    assert [(h.project, h.trace_id, h.reason) for h in hints] == [("shop", "t1", "thumbs-down")]
    assert hints[0].received_at.tzinfo is not None
    assert await store.pending_hints("phoenix") == []

    await store.take_in("nightly", [ref()], hints=hints)

    assert await store.pending_hints("langsmith") == []
    assert await store.add_hint("langsmith", "shop", "t1", "thumbs-down")
