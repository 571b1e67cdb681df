"""Alerts are raised once, told once, and lowered when the rate is back."""


async def test_an_alert_is_raised_by_the_first_run_and_holds_over_the_next(store):
    first = await store.follow_alerts("nightly", {"failed"}, {"failed", "drift"}, "r1")
    again = await store.follow_alerts("nightly", {"failed"}, {"failed", "drift"}, "r2")
    assert first == again
    assert again["failed"].run_id == "r1"


async def test_it_is_raised_anew_only_after_it_was_lowered(store):
    await store.follow_alerts("nightly", {"failed"}, {"failed"}, "r1")
    assert await store.follow_alerts("nightly", set(), {"failed"}, "r2") == {}
    assert (await store.follow_alerts("nightly", {"failed"}, {"failed"}, "r3"))["failed"].run_id == "r3"


async def test_what_could_not_be_checked_is_not_lowered(store):
    await store.follow_alerts("nightly", {"failed"}, {"failed"}, "r1")
    assert set(await store.follow_alerts("nightly", set(), set(), "r2")) == {"failed"}


async def test_alerts_belong_to_a_job(store):
    await store.follow_alerts("nightly", {"failed"}, {"failed"}, "r1")
    assert await store.follow_alerts("weekly", set(), {"failed"}, "r2") == {}


async def test_who_was_told_is_kept(store):
    await store.follow_alerts("nightly", {"failed"}, {"failed"}, "r1")
    await store.note_alerts_told("nightly", {"failed": {"b", "a"}})
    assert (await store.follow_alerts("nightly", {"failed"}, {"failed"}, "r2"))["failed"].told == ("a", "b")
