"""Delivering: each write-back arrives once, whatever the platform does on the way."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import event

from enricher.delivery import Patience, deliver
from enricher.errors import BadReply, SetupError, TryAgain, Unavailable, Unwritable
from enricher.store import Store
from enricher.verdict import Annotation, Delivery, DeliveryState
from tests.store.samples import annotation, evaluation, ref, settlement

QUICK = Patience(
    first_wait_s=0.01,
    longest_wait_s=0.05,
    first_check_s=0.01,
    checks=3,
    longest_after_s=0.5,
    poll_s=0.01,
    batch_size=10,
)


class Platform:
    """A connector to a platform in memory; `answers` are taken one by one, then everything works."""

    name = "phoenix"

    def __init__(self, *answers: Any, queues: bool = True) -> None:
        self.answers = list(answers)
        self.held: dict[str, Annotation] = {}  # what a reader of the platform sees
        self.queued: dict[str, Annotation] = {}  # accepted, visible at the next look
        self.queues = queues
        self.batches: list[list[str]] = []
        self.looks: list[list[str]] = []
        self.broken: Callable[[Annotation], Exception | Delivery | None] = lambda _: None

    async def annotate(self, annotations: Sequence[Annotation]) -> Sequence[Delivery]:
        self.batches.append([a.trace_id for a in annotations])
        await asyncio.sleep(0)
        if self.answers and (answer := self.answers.pop(0)) is not None:
            raise answer
        return [self._take(a) for a in annotations]

    def _take(self, one: Annotation) -> Delivery:
        fate = self.broken(one)
        if isinstance(fate, Exception):
            raise fate
        if fate is not None:
            return fate
        (self.queued if self.queues else self.held)[one.key] = one
        return delivery(one, DeliveryState.SENT if self.queues else DeliveryState.CONFIRMED)

    async def confirm(self, annotations: Sequence[Annotation]) -> Sequence[Delivery]:
        self.looks.append([a.trace_id for a in annotations])
        found = [
            delivery(a, DeliveryState.CONFIRMED if self.held.get(a.key) == a else DeliveryState.RETRY)
            for a in annotations
        ]
        self.held |= self.queued
        self.queued.clear()
        return found


def delivery(one: Annotation, state: DeliveryState, reason: str = "") -> Delivery:
    return Delivery(key=one.key, state=state, reason=reason)


@pytest.fixture
async def store(tmp_path) -> AsyncIterator[Store]:
    async with await Store.open(f"sqlite:///{tmp_path}/store.db") as opened:
        yield opened


async def settled(store: Store, count: int) -> str:
    run = await store.start_run("nightly")
    await asyncio.gather(*(store.settle(settlement(run, number)) for number in range(count)))
    return run


async def states(store: Store, count: int) -> list[str]:
    return [(await store.explain(f"t{number}")).outbox[0].state.value for number in range(count)]


async def test_everything_is_sent_in_batches_looked_for_and_confirmed(store):
    await settled(store, 25)
    platform = Platform()

    done = await deliver(store, {"phoenix": platform}, patience=QUICK)

    assert (done.sent, done.confirmed, done.failed, done.left) == (25, 25, 0, 0)
    assert len(platform.held) == 25
    assert [len(batch) for batch in platform.batches] == [10, 10, 5]
    assert set(await states(store, 25)) == {"confirmed"}


async def test_a_platform_that_confirms_at_once_is_not_asked_again(store):
    await settled(store, 3)
    platform = Platform(queues=False)
    done = await deliver(store, {"phoenix": platform}, patience=QUICK)
    assert done.confirmed == 3
    assert platform.looks == []


async def test_a_second_delivery_sends_nothing_again(store):
    await settled(store, 3)
    platform = Platform()
    await deliver(store, {"phoenix": platform}, patience=QUICK)
    done = await deliver(store, {"phoenix": platform}, patience=QUICK)
    assert (done.sent, done.left) == (0, 0)
    assert len(platform.batches) == 1


async def test_one_write_back_that_can_never_succeed_costs_the_others_nothing(store):
    await settled(store, 4)
    platform = Platform()
    platform.broken = lambda one: delivery(one, DeliveryState.FAILED, "no such span") if one.trace_id == "t2" else None

    done = await deliver(store, {"phoenix": platform}, patience=QUICK)

    assert (done.confirmed, done.failed) == (3, 1)
    assert await states(store, 4) == ["confirmed", "confirmed", "failed", "confirmed"]
    assert (await store.explain("t2")).outbox[0].reason == "no such span"


@pytest.mark.parametrize("problem", [Unwritable("name reserved"), BadReply("HTML in place of JSON")])
async def test_a_batch_that_fails_as_a_whole_is_taken_apart_until_the_culprit_stands_alone(store, problem):
    await settled(store, 8)
    platform = Platform()
    platform.broken = lambda one: problem if one.trace_id == "t5" else None

    done = await deliver(store, {"phoenix": platform}, patience=QUICK)

    assert done.confirmed == 7
    assert len(platform.held) == 7
    assert (await store.explain("t5")).outbox[0].reason == str(problem)
    expected = "failed" if isinstance(problem, Unwritable) else "retry"
    assert (await states(store, 8))[5] == expected


async def test_a_platform_that_answers_everything_with_garbage_uses_up_no_attempts(store):
    await settled(store, 4)
    platform = Platform()
    platform.broken = lambda one: BadReply("login page")

    done = await deliver(store, {"phoenix": platform}, patience=QUICK)

    assert done.problems == {"phoenix": "login page"}
    assert (done.failed, done.left) == (0, 4)
    assert [(await store.explain("t1")).outbox[0].attempts] == [0]


async def test_a_run_that_is_not_there_yet_is_written_once_it_is(store):
    await settled(store, 1)
    platform = Platform()
    answers = iter([DeliveryState.RETRY, DeliveryState.RETRY])
    platform.broken = lambda one: delivery(one, state, "404") if (state := next(answers, None)) else None

    done = await deliver(store, {"phoenix": platform}, patience=QUICK)

    assert (done.sent, done.confirmed) == (1, 1)
    assert len(platform.batches) == 3
    assert (await store.explain("t0")).outbox[0].attempts == 3


async def test_retries_are_bounded_within_a_run_and_over_all_runs(store):
    await settled(store, 1)
    platform = Platform()
    platform.broken = lambda one: delivery(one, DeliveryState.RETRY, "404")
    patience = Patience(first_wait_s=0.001, longest_wait_s=0.01, tries_in_a_run=3, max_attempts=5, between_runs_s=1.0)

    first = await deliver(store, {"phoenix": platform}, patience=patience)
    assert (len(platform.batches), first.left, first.failed) == (3, 1, 0)

    await asyncio.sleep(1.1)
    last = await deliver(store, {"phoenix": platform}, patience=patience)
    assert (len(platform.batches), last.left, last.failed) == (5, 0, 1)
    assert (await store.explain("t0")).outbox[0].reason == "given up after 5 attempts: 404"


async def test_an_accepted_write_back_that_never_shows_is_sent_again(store):
    await settled(store, 1)
    platform = Platform()

    async def swallow_once(annotations):
        platform.annotate = original
        return [delivery(a, DeliveryState.SENT) for a in annotations]

    original, platform.annotate = platform.annotate, swallow_once

    done = await deliver(store, {"phoenix": platform}, patience=QUICK)

    assert (done.sent, done.confirmed) == (2, 1)
    assert len(platform.held) == 1


@pytest.mark.parametrize("silence", [TryAgain("429", after=0.2), Unavailable("connection refused")])
async def test_a_platform_that_is_away_for_a_while_is_waited_for(store, silence):
    await settled(store, 3)
    platform = Platform(silence, silence)
    loop = asyncio.get_running_loop()
    start = loop.time()

    done = await deliver(store, {"phoenix": platform}, patience=QUICK)

    assert (done.confirmed, done.left, done.problems) == (3, 0, {})
    if silence.after:
        assert loop.time() - start >= 0.4
    assert (await store.explain("t1")).outbox[0].attempts == 1


async def test_a_platform_that_stays_away_leaves_everything_due_with_the_reason(store):
    await settled(store, 3)
    platform = Platform(*[Unavailable("connection refused")] * 100)

    done = await deliver(store, {"phoenix": platform}, patience=QUICK)

    assert done.problems == {"phoenix": "connection refused"}
    assert (done.left, done.failed) == (3, 0)
    assert len(platform.batches) == QUICK.tries_in_a_run
    assert (await store.explain("t1")).outbox[0].reason == "connection refused"
    assert len(await store.claim_due("phoenix")) == 3


async def test_a_wait_longer_than_we_have_is_left_to_the_next_run(store):
    await settled(store, 1)
    platform = Platform(TryAgain("come back in an hour", after=3600))
    done = await asyncio.wait_for(deliver(store, {"phoenix": platform}, patience=QUICK), 5)
    assert (done.problems, done.left) == ({"phoenix": "come back in an hour"}, 1)


async def test_wrong_credentials_stop_that_connection_and_no_other(store):
    run = await settled(store, 2)
    other = annotation(9, connection="langsmith")
    await store.settle(settlement(run, 9, evaluation(9, annotations=(other,)), ref=ref(9, connection="langsmith")))
    refusing, willing = Platform(SetupError("401: set PHOENIX_API_KEY")), Platform()

    done = await deliver(store, {"phoenix": refusing, "langsmith": willing}, patience=QUICK)

    assert done.problems == {"phoenix": "401: set PHOENIX_API_KEY"}
    assert (done.confirmed, done.left) == (1, 2)
    assert len(willing.held) == 1


async def test_delivery_runs_beside_judging_until_no_more_comes(store):
    run = await store.start_run("nightly")
    platform, no_more = Platform(), asyncio.Event()
    delivering = asyncio.create_task(deliver(store, {"phoenix": platform}, no_more=no_more, patience=QUICK))
    for number in range(30):
        await store.settle(settlement(run, number))
        await asyncio.sleep(0.005)
    assert len(platform.batches) > 1
    no_more.set()

    done = await delivering

    assert (done.confirmed, done.left) == (30, 0)


async def test_a_short_outage_while_judging_goes_on_does_not_end_delivery(store):
    run = await settled(store, 1)
    platform, no_more = Platform(*[Unavailable("restarting")] * 12), asyncio.Event()
    delivering = asyncio.create_task(deliver(store, {"phoenix": platform}, no_more=no_more, patience=QUICK))
    while platform.answers:
        await asyncio.sleep(0.01)
    await store.settle(settlement(run, 1))
    no_more.set()
    done = await delivering
    assert (done.confirmed, done.problems) == (2, {})


async def test_what_a_crash_left_sent_is_looked_for_and_not_sent_again(store):
    await settled(store, 3)
    platform = Platform()

    async def die(annotations):
        raise RuntimeError("the process dies here")

    confirm, platform.confirm = platform.confirm, die
    with pytest.raises(RuntimeError, match="dies here"):
        await deliver(store, {"phoenix": platform}, patience=QUICK)
    platform.confirm = confirm

    done = await deliver(store, {"phoenix": platform}, patience=QUICK)

    assert (done.sent, done.confirmed) == (0, 3)
    assert len(platform.batches) == 1


async def test_what_a_crash_left_unrecorded_is_sent_again_and_replaces_itself(store):
    await settled(store, 3)
    platform = Platform(queues=False)

    async def die(annotations):
        await Platform.annotate(platform, annotations)
        raise RuntimeError("the process dies here")

    platform.annotate = die
    with pytest.raises(RuntimeError, match="dies here"):
        await deliver(store, {"phoenix": platform}, patience=QUICK)
    del platform.annotate

    assert (await deliver(store, {"phoenix": platform}, patience=QUICK)).confirmed == 3
    assert len(platform.held) == 3


async def test_stopping_gives_claims_back(store):
    await settled(store, 3)
    platform = Platform()

    async def hang(annotations):
        await asyncio.sleep(60)

    platform.annotate = hang
    delivering = asyncio.create_task(deliver(store, {"phoenix": platform}, patience=QUICK))
    await asyncio.sleep(0.1)
    delivering.cancel()
    with pytest.raises(asyncio.CancelledError):
        await delivering
    assert len(await store.claim_due("phoenix")) == 3


async def test_a_full_batch_shares_its_commit_with_the_claim_of_the_next(store):
    await settled(store, 4)
    commits: list[Any] = []
    event.listen(store.engine, "commit", commits.append)
    delivered = await deliver(store, {"phoenix": Platform(queues=False)}, patience=replace(QUICK, batch_size=2))
    assert delivered.confirmed == 4
    assert len(commits) == 3  # the first claim; its outcome with the second one; the outcome of that, and no more


async def test_stopping_between_two_batches_gives_the_next_claims_back(store, monkeypatch):
    await settled(store, 4)
    claimed = asyncio.Event()
    record = store.record

    async def hang(outcomes):
        await record(outcomes)
        claimed.set()
        await asyncio.sleep(60)

    monkeypatch.setattr(store, "record", hang)
    platform = Platform(queues=False)
    delivering = asyncio.create_task(deliver(store, {"phoenix": platform}, patience=replace(QUICK, batch_size=2)))
    await claimed.wait()
    delivering.cancel()
    with pytest.raises(asyncio.CancelledError):
        await delivering
    assert len(await store.claim_due("phoenix")) == 2


async def test_a_connector_that_forgets_an_answer_is_asked_again(store):
    await settled(store, 2)
    platform = Platform()
    forgetful = platform.annotate

    async def forget_one(annotations):
        platform.annotate = forgetful
        return (await forgetful(annotations))[:1]

    platform.annotate = forget_one
    assert (await deliver(store, {"phoenix": platform}, patience=QUICK)).confirmed == 2


async def test_the_same_job_twice_leaves_one_annotation_of_a_name(store):
    platform = Platform()
    for _ in range(2):
        await settled(store, 1)
        await deliver(store, {"phoenix": platform}, patience=QUICK)
    assert len(platform.held) == 1
    assert len(platform.batches) == 1


async def test_two_deliverers_at_once_send_nothing_twice(store, tmp_path):
    await settled(store, 60)
    one, two = Platform(), Platform()
    two.held, two.queued = one.held, one.queued
    async with await Store.open(f"sqlite:///{tmp_path}/store.db") as other:
        await asyncio.gather(
            deliver(store, {"phoenix": one}, patience=QUICK), deliver(other, {"phoenix": two}, patience=QUICK)
        )
    sent = [trace for platform in (one, two) for batch in platform.batches for trace in batch]
    assert len(sent) == len(set(sent)) == 60
