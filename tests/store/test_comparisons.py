"""What comparisons counted: kept newest first, paged by outcome, and without the pairs of forgotten traces."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from enricher.store.comparisons import ComparisonBook, CountedPair
from enricher.store.pairs import PairBook
from enricher.trace import TraceId
from tests.store.test_pairs import record

START = datetime(2026, 11, 30, 2, 30, tzinfo=UTC)


def figures(**more):
    return {"champion": "one", "challenger": "two", "judge": "v1", "gate": None, "gate_passed": None, **more}


def paired(number):
    found = record(pair_id=f"p{number}", input_hash=f"h{number}")
    a = replace(found.pair.a, trace_id=TraceId(f"ta{number}"))
    return replace(found, pair=replace(found.pair, a=a))


@pytest.fixture
def book(store):
    return ComparisonBook(store)


async def kept(store, book, count=3, start=START, **more):
    """Keep pairs that won, lost, won, ... and a comparison of them."""
    records = [paired(number) for number in range(count)]
    for one in records:
        await PairBook(store).keep(one)
    counted = [
        CountedPair(record_id=one.id, outcome=("win", "loss")[at % 2], is_accepted=at != 0)
        for at, one in enumerate(records)
    ]
    return await book.keep("one | two", figures(**more), counted, start), records


async def test_a_comparison_is_kept_with_its_figures_and_its_pairs_in_order(store, book):
    its_id, records = await kept(store, book, gate="gate held: wins >= 0", gate_passed=True, pairs=3)
    (found,) = await book.latest()
    assert (found.id, found.name, found.champion, found.challenger) == (its_id, "one | two", "one", "two")
    assert (found.gate_passed, found.figures["pairs"], found.started_at) == (True, 3, START)
    page = await book.pairs_of(its_id)
    assert [pair.record_id for pair, _ in page.pairs] == [one.id for one in records]
    assert [its.pair.id for _, its in page.pairs] == ["p0", "p1", "p2"]
    assert (page.total, page.outcomes) == (3, {"win": 2, "loss": 1})
    assert await book.replies_to(records[0].id) == ["a reply"]


async def test_pairs_are_paged_and_narrowed_by_outcome_and_acceptance(store, book):
    its_id, _ = await kept(store, book, count=5)

    async def names(**wanted):
        page = await book.pairs_of(its_id, **wanted)
        return [its.pair.id for _, its in page.pairs], page.total

    assert await names(limit=2, offset=2) == (["p2", "p3"], 5)
    assert await names(outcome="loss") == (["p1", "p3"], 2)
    assert await names(outcome="win", is_accepted=False) == (["p0"], 1)
    assert await names(outcome="tie") == ([], 0)


async def test_comparisons_come_newest_first_page_by_page(store, book):
    ids = [(await kept(store, book, start=START + timedelta(days=day)))[0] for day in range(3)]
    assert [one.id for one in await book.latest(2)] == [ids[2], ids[1]]
    assert [one.id for one in await book.latest(2, before=ids[1])] == [ids[0]]
    assert (await book.get(ids[0])).started_at == START
    assert await book.get("nosuch") is None


async def test_a_forgotten_trace_takes_its_pair_and_its_name_out_of_comparisons(store, book):
    left = [{"side": "champion", "reason": "unmatched", "where": "ta1", "detail": ""}]
    its_id, records = await kept(store, book, leftovers=left)
    await store.forget("ta1")
    page = await book.pairs_of(its_id)
    assert [its.pair.id for _, its in page.pairs] == ["p0", "p2"]
    assert await book.pair_of(its_id, records[1].id) is None
    assert "ta1" not in str((await book.get(its_id)).figures)


async def test_a_pair_that_is_not_kept_is_left_out_of_the_comparison(store, book):
    counted = [CountedPair(record_id="nosuch", outcome="win", is_accepted=True)]
    its_id = await book.keep("one | two", figures(), counted, START)
    assert (await book.pairs_of(its_id)).total == 0
