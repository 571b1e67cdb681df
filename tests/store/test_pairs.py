"""Judged pairs: kept once a version and input, exported newest first, forgotten with either of their traces."""

from datetime import timedelta

import pytest

from enricher.store.pairs import PairBook, PairRecord, pair_record_id
from enricher.trace import Document, Item, Pair, SpanId, TraceId
from enricher.verdict import PairwiseResult, Preference, Provenance, Status, Verdict


def item(trace, answer):
    return Item(
        trace_id=TraceId(trace),
        question="What?\0\ud800",
        documents=(Document(id="d1", text="A text."),),
        answer=answer,
        annotate_span_id=SpanId(f"{trace}-root"),
    )


def record(preferred=Preference.A, *, pair_id="p1", comparison="one|two", model="m1", **more):
    pair = Pair(id=pair_id, a=item("ta", "Yes."), b=item("tb", "No."))
    verdict = Verdict(
        trace_id="ta",
        span_id="ta-root",
        status=Status.OK,
        result=PairwiseResult(preferred=preferred, confidence=0.9),
        provenance=Provenance(judge="pairwise", engine="openai", model=model),
        raw_replies=("a reply",),
    )
    base = {"comparison": comparison, "champion": "one", "challenger": "two", "input_hash": "h"}
    return PairRecord(pair=pair, verdict=verdict, **{**base, **more})


@pytest.fixture
def book(store):
    return PairBook(store)


async def test_a_pair_comes_back_as_it_was_kept(book):
    kept = record(review=("low_confidence",))
    assert await book.keep(kept)
    found = await book.known(kept.id)
    assert found.pair.a.documents == kept.pair.a.documents
    assert found.verdict == kept.verdict.model_copy(update={"raw_replies": ()})
    assert found.review == ("low_confidence",)
    assert found.written_at is None
    assert await book.known(pair_record_id("one|two", "p1", "other", "h")) is None


async def test_the_same_pair_replaces_itself_and_is_to_be_written_again(book):
    await book.keep(record())
    await book.note_written([record().id])
    assert (await book.known(record().id)).written_at is not None
    await book.keep(record(Preference.B))
    found = await book.known(record().id)
    assert (found.verdict.result.preferred, found.written_at) == (Preference.B, None)


async def test_the_newest_version_of_each_pair_is_given(book):
    await book.keep(record())
    await book.keep(record(pair_id="p2"))
    await book.keep(record(Preference.TIE, model="m2"))
    await book.keep(record(comparison="three|four"))
    found = {r.pair.id: r.verdict.result.preferred for r in await book.of("one|two")}
    assert found == {"p1": Preference.TIE, "p2": Preference.A}
    assert len(await book.of()) == 3
    assert await book.comparisons() == ["one|two", "three|four"]


@pytest.mark.parametrize("trace", ["ta", "tb"])
async def test_forgetting_either_trace_forgets_the_pair_for_good(store, book, trace):
    await book.keep(record())
    assert await store.forget(trace) == 1
    assert await book.known(record().id) is None
    assert not await book.keep(record())
    assert await book.of() == []


async def test_old_replies_are_purged_and_the_verdict_stays(store, book):
    await book.keep(record())
    assert await store.purge_raw_replies(store.clock() + timedelta(seconds=1)) == 1
    assert await store.purge_raw_replies(store.clock() + timedelta(seconds=1)) == 0
    assert (await book.known(record().id)).verdict.result is not None
