"""How often second checks share findings, counted by day, judge, kind of finding and checker, on both engines."""

from datetime import UTC, date, datetime, timedelta

import pytest

from enricher.store import Store
from enricher.verdict import Certainty, DiffResult, Opinion, Segment, Standing
from tests.store.samples import evaluation, settlement, verdict

# An hour before midnight UTC: a server in another time zone must not move it to another day.
NIGHT = datetime(2026, 11, 1, 23, 0, tzinfo=UTC)


@pytest.fixture
async def store(url):
    async with await Store.open(url, clock=lambda: NIGHT) as opened:
        yield opened


def checked(number, *, agrees, status="CONTRADICTED", certainty=None):
    opinion = Opinion(by="grounding-2", standing=Standing.CONTRADICTED if agrees else Standing.SUPPORTED, agrees=agrees)
    segment = Segment(
        segment_id="s1",
        generated_text="30 days",
        alignment_status=status,
        issue_type="CONTRADICTED" if status == "CONTRADICTED" else "ADDED",
        opinions=(opinion,),
        certainty=certainty or (Certainty.CONFIRMED if agrees else Certainty.DISPUTED),
    )
    return evaluation(number, verdict=verdict(number, result=DiffResult(segments=(segment,))))


async def settle(store, job, *evaluations):
    run_id = await store.start_run(job)
    for number, one in enumerate(evaluations, 1):
        await store.settle(settlement(run_id, number, one, job=job))


async def test_agreement_is_counted_by_day_judge_and_kind_of_finding(store):
    await settle(
        store,
        "nightly",
        checked(1, agrees=True),
        checked(2, agrees=False),
        checked(3, agrees=True),
        checked(4, agrees=False, status="UNSUPPORTED"),
    )
    rates = await store.agreement("nightly", NIGHT - timedelta(days=30))
    assert [(r.day, r.judge, r.standing, r.second_by, r.checked, r.agreed) for r in rates] == [
        (date(2026, 11, 1), "diff", "contradicted", "grounding-2", 3, 2),
        (date(2026, 11, 1), "diff", "unsupported", "grounding-2", 1, 0),
    ]
    assert rates[0].rate == pytest.approx(2 / 3)


async def test_other_jobs_and_older_days_do_not_count(store):
    await settle(store, "nightly", checked(1, agrees=True))
    assert await store.agreement("weekly", NIGHT - timedelta(days=30)) == []
    assert await store.agreement("nightly", NIGHT + timedelta(seconds=1)) == []


async def test_a_verdict_that_is_settled_again_is_counted_once(store):
    run_id = await store.start_run("nightly")
    for _ in range(2):
        await store.settle(settlement(run_id, 1, checked(1, agrees=True)))
    (rate,) = await store.agreement("nightly", NIGHT - timedelta(days=30))
    assert (rate.checked, rate.agreed) == (1, 1)


async def test_a_forgotten_trace_leaves_no_opinion(store):
    await settle(store, "nightly", checked(1, agrees=True))
    await store.forget("t1")
    assert await store.agreement("nightly", NIGHT - timedelta(days=30)) == []
