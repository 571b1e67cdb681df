"""A forgotten trace stays out: of the next run, of a run under way, and of webhooks."""

from enricher.store import RunState, Story
from tests.store.samples import evaluation, ref, settlement


async def test_a_forgotten_trace_is_not_taken_in_again(store):
    await store.take_in("nightly", [ref(1), ref(2)])
    await store.forget("t1")

    intake = await store.take_in("nightly", [ref(1), ref(2)], again=True)

    assert intake.forgotten == 1
    run = await store.start_run("nightly")
    assert [taken.ref.trace_id for taken in await store.take_due("nightly", run)] == ["t2"]


async def test_what_a_run_under_way_settles_of_it_is_not_kept(store):
    run = await store.start_run("nightly")
    await store.take_in("nightly", [ref(1), ref(2)])
    await store.take_due("nightly", run)
    await store.forget("t1")

    assert await store.settle(settlement(run, 1, evaluation(1))) == 0
    assert await store.settle(settlement(run, 2, evaluation(2))) == 1

    assert await store.explain("t1") == Story(trace_id="t1")


async def test_a_trace_that_was_never_seen_can_be_forgotten(store):
    assert await store.forget("t1") == 0
    assert (await store.take_in("nightly", [ref(1)])).forgotten == 1


async def test_sentences_of_reports_that_name_the_trace_go_and_others_stay(store):
    run = await store.start_run("nightly")
    problems = ["trace t1: ValueError", "trace t10: ValueError", "trace x-t1: KeyError"]
    await store.finish_run(run, RunState.COMPLETED, counters={}, report={"problems": problems})
    await store.forget("t1")
    record = await store.run(run)
    assert record is not None
    assert record.report == {"problems": problems[1:]}
