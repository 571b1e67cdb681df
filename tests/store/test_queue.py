"""The queue as people work through it: pages by key, counts, claims that expire; on both engines."""

from datetime import UTC, datetime, timedelta

import pytest

from enricher.store import PersonsDecision, Store, queue
from enricher.store.migrations.versions import m0011_queue
from enricher.store.queue import NOBODY, Wanted
from enricher.store.schema import queue as table
from enricher.trace import Document, Item, SpanId, TraceId
from enricher.verdict import Status
from tests.store.samples import evaluation, ref, settlement, verdict

MORNING = datetime(2026, 11, 30, 7, tzinfo=UTC)
ALL = Wanted()
A_WHILE = timedelta(minutes=15)


class Clock:
    """A clock that is moved by hand."""

    now = MORNING

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
async def clocked(url):
    """Give an open store with seven questions, a minute apart."""
    clock = Clock()
    async with await Store.open(url, clock=clock) as store:
        run = await store.start_run("nightly")
        for number in range(1, 8):
            asked = item(number)
            reasons = ("contradicted",) if number % 2 else ("judge_failed:JUDGE_TRUNCATED", "policy")
            entry = evaluation(number, review=reasons, item=asked)
            project = "shop" if number < 6 else "bank"
            await store.settle(settlement(run, number, entry, ref=ref(number, project=project)))
            clock.now += timedelta(minutes=1)
        yield store


def item(number: int, question: str = "Why?") -> Item:
    documents = (Document(id="d1", text="60 days"),)
    trace = TraceId(f"t{number}")
    return Item(trace_id=trace, question=question, documents=documents, answer="30 days", annotate_span_id=SpanId("s"))


async def page(store, wanted=ALL, **place):
    found = await store.look(lambda c: queue.lines(c, wanted, store.clock(), **{"limit": 3, **place}))
    return [line.trace_id for line in found], found


async def take(store, ids, person, minutes=15):
    now = store.clock()
    return await store.transact(lambda c: queue.take(c, ids, person, now + timedelta(minutes=minutes), now))


async def test_pages_follow_one_another_by_key_in_both_directions(clocked):
    first, lines = await page(clocked)
    assert first == ["t1", "t2", "t3"]
    assert (lines[0].project, lines[0].judge, lines[0].label, lines[0].question) == (
        "shop",
        "diff",
        "contradicted",
        "Why?",
    )
    assert lines[0].score == 0.0
    second, more = await page(clocked, after=lines[-1].key)
    assert second == ["t4", "t5", "t6"]
    assert (await page(clocked, after=more[-1].key))[0] == ["t7"]
    assert (await page(clocked, until=more[0].key))[0] == first
    assert (await page(clocked, until=more[1].key))[0] == ["t2", "t3", "t4"]


@pytest.mark.parametrize(
    ("wanted", "traces"),
    [
        (Wanted(jobs=("nightly",)), ["t1", "t2", "t3"]),
        (Wanted(jobs=()), []),
        (Wanted(project="bank"), ["t6", "t7"]),
        (Wanted(judge="halves"), []),
        (Wanted(reason="contradicted"), ["t1", "t3", "t5"]),
        (Wanted(reason="judge_failed"), ["t2", "t4", "t6"]),
        (Wanted(reason="judge"), []),
        (Wanted(reason="%"), []),
        (Wanted(trace_id="t4"), ["t4"]),
        (Wanted(since=MORNING + timedelta(minutes=5)), ["t6", "t7"]),
        (Wanted(before=MORNING + timedelta(minutes=1)), ["t1"]),
        (Wanted(assignee="ada"), []),
        (Wanted(assignee=NOBODY, project="bank"), ["t6", "t7"]),
    ],
)
async def test_filters_and_counts_agree(clocked, wanted, traces):
    assert (await page(clocked, wanted))[0] == traces
    groups = await clocked.look(lambda c: queue.facets(c, wanted, clocked.clock()))
    counted = sum(group.count for group in groups if wanted.is_open_to(group))
    everything = await page(clocked, wanted, limit=100)
    assert counted == len(everything[0])


async def test_two_people_never_get_the_same_item_and_a_claim_ends_by_itself(clocked):
    _, lines = await page(clocked)
    ids = [line.review_id for line in lines]
    assert await take(clocked, ids[:2], "ada") == set(ids[:2])
    assert await take(clocked, ids, "bob") == {ids[2]}
    assert await take(clocked, ids[:1], "ada") == {ids[0]}
    now = clocked.clock()
    assert await clocked.look(lambda c: queue.assignees(c, now)) == {"ada": 2, "bob": 1}
    assert (await page(clocked, Wanted(assignee="ada")))[0] == ["t1", "t2"]
    assert (await page(clocked, Wanted(assignee=NOBODY)))[0] == ["t4", "t5", "t6"]
    await clocked.transact(lambda c: queue.give_back(c, ids, "ada"))
    assert (await page(clocked, Wanted(assignee="bob")))[0] == ["t3"]
    clocked.clock.now += A_WHILE
    assert await take(clocked, ids, "ada") == set(ids)


async def test_whoever_asks_for_the_next_one_gets_what_nobody_is_at(clocked):
    now = clocked.clock()

    async def next_for(person, wanted=ALL):
        found = await clocked.transact(lambda c: queue.take_next(c, wanted, person, now + A_WHILE, now))
        line = await clocked.look(lambda c: queue.line(c, found))
        return (line.trace_id, line.assignee) if line else None

    assert await next_for("ada") == ("t1", "ada")
    assert await next_for("bob") == ("t2", "bob")
    assert await next_for("bob", Wanted(project="bank")) == ("t6", "bob")
    assert await next_for("bob", Wanted(judge="halves")) is None


async def test_what_is_decided_superseded_or_forgotten_leaves_the_queue(clocked):
    _, (first, second, _third) = await page(clocked)
    decision = PersonsDecision(review_id=first.review_id, person="ada", outcome="confirm", label="contradicted")
    await clocked.decide(decision, [])
    await clocked.forget(second.trace_id)
    assert (await page(clocked))[0] == ["t3", "t4", "t5"]


async def test_a_question_that_is_asked_again_keeps_whoever_is_at_it(url):
    async with await Store.open(url) as store:
        run = await store.start_run("nightly")
        failed = verdict(1, status=Status.JUDGE_TRUNCATED)
        await store.settle(settlement(run, 1, evaluation(1, verdict=failed, review=("judge_failed:JUDGE_TRUNCATED",))))
        _, (line,) = await page(store)
        assert (line.label, line.score, line.summary) == ("judge_truncated", None, "no JSON in the reply")
        await take(store, [line.review_id], "ada")
        await store.settle(settlement(run, 1, evaluation(1, review=("contradicted",), item=item(1, "x" * 1000))))
        _, (again,) = await page(store)
        assert (again.review_id, again.assignee, again.reasons) == (line.review_id, "ada", ("contradicted",))
        assert again.question == "x" * 300
        await store.settle(
            settlement(run, 2, evaluation(2, verdict=verdict(2, status=Status.JUDGE_EMPTY), review=("a",)))
        )
        await store.settle(settlement(run, 2, evaluation(2)))
        assert (await page(store))[0] == ["t1"]


async def test_an_older_store_gets_the_queue_of_its_open_questions(clocked):
    _, before = await page(clocked, limit=100)
    await clocked.decide(PersonsDecision(review_id=before[0].review_id, person="a", outcome="confirm", label="x"), [])

    def rebuild(connection):
        connection.execute(table.delete())
        m0011_queue.fill(connection)

    await clocked.transact(rebuild)
    _, after = await page(clocked, limit=100)
    told = [(line.review_id, line.project, line.judge, line.reasons, line.score, line.created_at) for line in before]
    assert [
        (line.review_id, line.project, line.judge, line.reasons, line.score, line.created_at) for line in after
    ] == told[1:]
