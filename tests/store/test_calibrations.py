"""Calibrations: the newest one of each setting counts, on both engines; verdicts are found by their traces."""

from datetime import UTC, datetime, timedelta

from enricher.store.calibrations import CalibrationBook, JudgedPlace
from enricher.trust import Calibration, Setting
from tests.store.samples import evaluation, settlement, verdict

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)
SETTING = Setting(judge="diff", engine="openai", prompt="diff@v2", prompt_hash="p2", model="m", snapshot="m-june")


def measured(agreement, *, days=0, **changes):
    setting = SETTING.model_copy(update=changes)
    made_at = NOON + timedelta(days=days)
    return Calibration(
        setting=setting, made_at=made_at, labels=50, agreement=agreement, kappa=None, figures={"weeks": [1, 2]}
    )  # fmt: skip


async def test_the_newest_calibration_of_each_setting_counts(store):
    book = CalibrationBook(store)
    assert await book.newest() == []
    first, second, other = measured(0.7), measured(0.9, days=1), measured(0.8, days=2, snapshot="m-july")
    for one in (second, first, other, other):
        await book.keep(one)
    assert await book.newest() == [other, second]


async def test_verdicts_are_found_by_place_and_trace(store):
    run = await store.start_run("nightly")
    again = evaluation(1, verdict=verdict(1, prompt="diff@v2"))
    await store.settle(settlement(run, 1, evaluation(1), again))
    await store.settle(settlement(run, 2))
    book = CalibrationBook(store)
    hour = timedelta(hours=1)
    places = await book.places(store.clock() - hour)
    assert places == [
        JudgedPlace(connection="phoenix", project="shop", trace_id=f"t{n}", span_id=f"s{n}", judge="diff")
        for n in (1, 2)
    ]
    assert await book.places(store.clock() + hour) == []
    found = await book.verdicts(["t1", "t9"])
    assert sorted(record.verdict.provenance.prompt for record in found) == ["diff@v1", "diff@v2"]
    last = await book.last_setting("diff")
    assert (last.judge, last.engine, last.prompt) == ("diff", "local", "diff@v1")
    assert await book.last_setting("halves") is None
