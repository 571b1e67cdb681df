"""What reports and exports read of a run, on both engines."""

from dataclasses import replace

from enricher.store import PersonsDecision, QueueFilter, RefState, RunState, Settlement
from enricher.store.judged import decisions_on, records_of, refs_of, rejections_in
from enricher.store.nights import Wanted, traces_of
from enricher.trace import Rejection, RejectReason, UserReport
from enricher.verdict import Status
from tests.store.samples import evaluation, ref, settlement, verdict


async def test_judgements_come_with_verdict_ref_and_decisions(store):
    run_id = await store.start_run("nightly")
    reported = ref(1, reports=(UserReport(name="down", score=0.0),), locator={"project_id": "p"})
    await store.take_in("nightly", [reported, ref(2), ref(3)])
    asked = replace(evaluation(1), review=("contradicted",))
    failed = evaluation(2, verdict=verdict(2, status=Status.JUDGE_EMPTY))
    await store.settle(settlement(run_id, 1, asked, ref=reported))
    await store.settle(settlement(run_id, 2, failed))
    for number, reason in ((3, RejectReason.NO_ANSWER), (4, RejectReason.NO_CONTEXT), (5, RejectReason.NO_CONTEXT)):
        rejection = Rejection(trace_id=ref(number).trace_id, reason=reason, detail=f"detail {number}")
        rejected = {"ref": ref(number), "rejections": (rejection,), "state": RefState.REJECTED}
        await store.settle(Settlement(run_id=run_id, job="nightly", **rejected))
    await store.finish_run(run_id, RunState.COMPLETED, counters={})
    (question,) = await store.questions(QueueFilter())
    for person, outcome in (("ada", "confirm"), ("bob", "reject")):
        decision = PersonsDecision(review_id=question.review.id, person=person, outcome=outcome, label="contradicted")
        await store.decide(decision, [])

    judged = await traces_of(store, Wanted(run_ids=(run_id,)))
    found = [(one.trace_id, record.verdict.status) async for one, record in records_of(store, judged)]
    assert found == [("t1", Status.OK), ("t2", Status.JUDGE_EMPTY)]
    refs = await refs_of(store, "nightly", {"t1", "t2", "gone"})
    assert set(refs) == {"t1", "t2"}
    assert (refs["t1"].reports[0].name, refs["t1"].locator) == ("down", {"project_id": "p"})
    decided = await decisions_on(store, {one.evaluation_id for one in judged})
    assert [d.person for d in decided[judged[0].evaluation_id]] == ["ada", "bob"]
    assert [(one.reason, one.count, one.detail) for one in await rejections_in(store, run_id)] == [
        ("no_context", 2, "detail 4"),
        ("no_answer", 1, "detail 3"),
    ]


async def test_a_failure_that_was_replaced_since_is_not_told_as_what_the_run_came_to(store):
    first = await store.start_run("nightly")
    await store.settle(settlement(first, 1, evaluation(1, verdict=verdict(1, status=Status.JUDGE_EMPTY))))
    await store.finish_run(first, RunState.COMPLETED, counters={})
    second = await store.start_run("nightly")
    await store.settle(settlement(second, 1, evaluation(1)))
    await store.finish_run(second, RunState.COMPLETED, counters={})
    for run_id, found in ((first, []), (second, [Status.OK])):
        judged = await traces_of(store, Wanted(run_ids=(run_id,)))
        assert [record.verdict.status async for _, record in records_of(store, judged)] == found
