"""Settling: verdict, replies, write-backs, review and ref state stand or fall together."""

import asyncio

import pytest
from sqlalchemy.exc import IntegrityError

from enricher.store import EvaluationKey, RefState, ReviewState
from enricher.trace import Rejection, RejectReason
from enricher.verdict import DeliveryState, Status
from tests.store.samples import annotation, evaluation, ref, settlement, verdict

KEY = EvaluationKey("phoenix", "t1:s1", "diff/local/diff@v1", "input-1")


async def test_a_settlement_is_found_again_in_all_its_parts(store):
    run = await store.start_run("nightly")
    await store.take_in("nightly", [ref()])

    assert await store.settle(settlement(run, 1, evaluation(review=("contradicted",)))) == 1

    story = await store.explain("t1")
    assert story.evaluations[0].verdict == verdict(raw_replies=())
    assert story.raw_replies == {story.evaluations[0].id: ("reply to t1",)}
    assert [record.annotation for record in story.outbox] == [annotation()]
    assert story.outbox[0].state is DeliveryState.PENDING
    assert story.review[0].reasons == ("contradicted",)
    assert story.review[0].state is ReviewState.OPEN
    assert story.refs[0].state is RefState.DONE


async def test_the_same_evaluation_again_replaces_nothing_and_writes_back_nothing_twice(store):
    run = await store.start_run("nightly")
    await store.settle(settlement(run))
    other_words = evaluation(verdict=verdict(failure="another outcome"), annotations=(annotation(label="faithful"),))

    assert await store.settle(settlement(run)) == 0
    assert await store.settle(settlement(run, 1, other_words)) == 0

    story = await store.explain("t1")
    assert len(story.evaluations) == 1
    assert story.evaluations[0].verdict.failure is None
    assert [record.annotation.label for record in story.outbox] == ["contradicted"]


async def test_the_same_evaluation_twice_in_one_group_is_recorded_once(store):
    run = await store.start_run("nightly")
    assert sorted(await asyncio.gather(*(store.settle(settlement(run)) for _ in range(5)))) == [0, 0, 0, 0, 1]
    assert len((await store.explain("t1")).outbox) == 1


async def test_a_failure_is_replaced_by_a_later_verdict_with_its_replies_and_write_backs(store):
    run = await store.start_run("nightly")
    failed = verdict(status=Status.JUDGE_PARSE_ERROR, raw_replies=("{", "[", "<"))
    await store.settle(settlement(run, 1, evaluation(verdict=failed, annotations=(), review=("judge_failed",))))
    assert await store.known_evaluation(KEY) is None

    assert await store.settle(settlement(run)) == 1

    story = await store.explain("t1")
    assert [record.verdict.status for record in story.evaluations] == [Status.OK]
    assert story.raw_replies == {story.evaluations[0].id: ("reply to t1",)}
    assert len(story.outbox) == 1
    assert [item.state for item in story.review] == [ReviewState.SUPERSEDED]


async def test_a_failure_never_replaces_a_verdict(store):
    run = await store.start_run("nightly")
    await store.settle(settlement(run))
    failed = evaluation(verdict=verdict(status=Status.JUDGE_UNAVAILABLE), annotations=())
    assert await store.settle(settlement(run, 1, failed)) == 0
    assert (await store.known_evaluation(KEY)).status is Status.OK


async def test_a_changed_input_is_judged_anew_and_replaces_the_content_under_the_same_identifier(store):
    run = await store.start_run("nightly")
    await store.settle(settlement(run))
    changed = evaluation(input_hash="input-2", annotations=(annotation(label="faithful", score=1.0),))

    assert await store.settle(settlement(run, 1, changed)) == 1

    story = await store.explain("t1")
    assert len(story.evaluations) == 2
    assert [record.annotation.label for record in story.outbox] == ["faithful"]
    assert story.outbox[0].state is DeliveryState.PENDING


async def test_a_new_judge_version_stands_beside_the_old_one_under_its_own_identifier(store):
    run = await store.start_run("nightly")
    await store.settle(settlement(run))
    newer = evaluation(verdict=verdict(prompt="diff@v2"), annotations=(annotation(identifier="v2", score=1.0),))

    assert await store.settle(settlement(run, 1, newer)) == 1

    story = await store.explain("t1")
    assert {e.verdict.provenance.version for e in story.evaluations} == {"diff/local/diff@v1", "diff/local/diff@v2"}
    assert {(r.annotation.identifier, r.annotation.score) for r in story.outbox} == {("v1", 0.0), ("v2", 1.0)}


async def test_a_cached_verdict_adds_only_write_backs_that_are_missing(store):
    run = await store.start_run("nightly")
    await store.settle(settlement(run))
    renamed = annotation(name="team_context_diff")
    again = evaluation(annotations=(annotation(label="changed"), renamed), is_cached=True)

    assert await store.settle(settlement(run, 1, again)) == 0

    assert {r.annotation.name: r.annotation.label for r in (await store.explain("t1")).outbox} == {
        "context_diff": "contradicted",
        "team_context_diff": "contradicted",
    }


async def test_a_verdict_is_known_only_for_its_own_input_and_judge_version(store):
    run = await store.start_run("nightly")
    await store.settle(settlement(run))
    others = [
        KEY._replace(input_hash="input-2"),
        KEY._replace(judge_version="diff/local/diff@v2"),
        KEY._replace(connection="langsmith"),
        KEY._replace(item_key="t1:s2"),
    ]
    known = await asyncio.gather(*map(store.known_evaluation, [KEY, *others]))
    assert [found is not None for found in known] == [True, False, False, False, False]


async def test_no_claims_is_a_known_verdict_without_a_score(store):
    run = await store.start_run("nightly")
    await store.settle(settlement(run, 1, evaluation(verdict=verdict(status=Status.NO_CLAIMS))))
    known = await store.known_evaluation(KEY)
    assert known.status is Status.NO_CLAIMS
    assert known.score is None


async def test_one_impossible_settlement_costs_the_others_of_its_group_nothing(store):
    run = await store.start_run("nightly")
    results = await asyncio.gather(
        *(store.settle(settlement("no such run" if number == 3 else run, number)) for number in range(6)),
        return_exceptions=True,
    )
    assert isinstance(results[3], IntegrityError)
    assert [result for number, result in enumerate(results) if number != 3] == [1] * 5
    assert (await store.explain("t3")).evaluations == ()
    assert len((await store.explain("t4")).outbox) == 1


async def test_a_traceback_of_the_store_carries_no_text_of_a_trace(store):
    with pytest.raises(IntegrityError) as caught:
        await store.settle(settlement("no such run", 1, evaluation(verdict=verdict(raw_replies=("Jana Beispiel",)))))
    assert "30 days" not in str(caught.value)
    assert "Jana Beispiel" not in str(caught.value)


async def test_rejections_are_recorded_once_however_often_they_are_settled(store):
    run = await store.start_run("nightly")
    await store.take_in("nightly", [ref()])
    rejection = Rejection(trace_id=ref().trace_id, reason=RejectReason.NO_CONTEXT, detail="no retriever span")
    rejected = settlement(run, evaluations=(), rejections=(rejection,), state=RefState.REJECTED, reason="no_context")

    await store.settle(rejected)
    await store.settle(rejected)

    story = await store.explain("t1")
    assert [record.rejection for record in story.rejections] == [rejection]
    assert (story.refs[0].state, story.refs[0].reason) == (RefState.REJECTED, "no_context")


async def test_what_people_decided_stays_until_the_input_changes(store):
    run = await store.start_run("nightly")
    await store.settle(settlement(run, 1, evaluation(review=("contradicted",))))
    await store.settle(settlement(run, 1, evaluation(review=("low_score",))))
    assert [item.reasons for item in await store.reviews()] == [("contradicted",)]

    await store.settle(settlement(run, 1, evaluation(input_hash="input-2", review=("low_score",))))
    assert [item.reasons for item in await store.reviews()] == [("low_score",)]


async def test_texts_that_databases_refuse_are_kept_or_made_acceptable(store):
    run = await store.start_run("nightly")
    hostile = "a\0b \ud800 c"
    odd = evaluation(
        verdict=verdict(failure=hostile, raw_replies=(hostile,)),
        annotations=(annotation(explanation=hostile, metadata={"text": hostile}),),
    )
    await store.settle(settlement(run, 1, odd, reason=hostile))

    story = await store.explain("t1")
    assert story.raw_replies[story.evaluations[0].id] == (hostile,)
    assert story.evaluations[0].verdict.failure == "a\0b ? c"
    assert story.outbox[0].annotation.metadata == {"text": "a\0b ? c"}
