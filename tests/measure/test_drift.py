"""Drift: what has moved beyond chance against comparable runs, and what only looks so."""

from datetime import UTC, datetime, timedelta

import pytest

from enricher.measure.calibration import Period
from enricher.measure.drift import DriftReport, drift_of, labelled_drift
from enricher.measure.drift_view import as_text
from enricher.measuring import drift
from enricher.rates import Rate
from enricher.report import show
from enricher.settings import Settings
from enricher.store import RunState, Store
from enricher.store.figures import JudgeNight, Night
from enricher.store.gauges import FinishedRun
from enricher.verdict import DiffResult, Segment, Status
from tests.store.samples import evaluation, settlement, verdict

MONDAY = datetime(2026, 11, 2, tzinfo=UTC)


def night(number, good=100, bad=0, *, refused=0, failed=0, left=0, checked=40, agreed=40):
    statuses = {"OK": good + bad, "JUDGE_REFUSED": refused, "JUDGE_TRUNCATED": failed, "BUDGET_EXCEEDED": left}
    judge = JudgeNight(
        statuses={name: count for name, count in statuses.items() if count},
        labels={"faithful": good, "contradicted": bad},
        buckets=(bad, *[0] * 8, good),
        score_sum=float(good),
        checked=checked,
        agreed=agreed,
    )
    when = MONDAY + timedelta(days=number)
    return Night(
        run_id=f"r{number}", job="nightly", state="completed", started_at=when, finished_at=when, judges={"diff": judge}
    )


def run(number, version="diff/v1"):
    when = MONDAY + timedelta(days=number)
    return FinishedRun(
        id=f"r{number}", job="nightly", state=RunState.COMPLETED, started_at=when, finished_at=when,
        counters={"versions": [version]},
    )  # fmt: skip


def found(*nights, versions=None, window=1, min_items=20):
    runs = [run(number, (versions or {}).get(number, "diff/v1")) for number in range(len(nights))]
    return drift_of(
        "nightly", nights, runs, window=window, before=14, min_items=min_items, stability=0.2
    )  # fmt: skip


def test_nothing_has_moved_where_all_nights_are_alike():
    one = found(night(0, 90, 10), night(1, 92, 8), night(2, 89, 11))
    assert (one.runs, one.before, one.moved) == (1, 2, ())
    (judge,) = one.judges
    assert (judge.mean_now, judge.mean_before) == (0.89, pytest.approx(182 / 200))
    assert judge.scores.now == {"0.1": 11, **{f"0.{n}": 0 for n in range(2, 10)}, "1.0": 89}


def test_scores_and_labels_that_spread_otherwise_have_moved():
    one = found(night(0, 95, 5), night(1, 95, 5), night(2, 60, 40))
    assert one.moved == ("diff: scores, labels",)
    assert one.judges[0].scores.gap == pytest.approx(0.35)
    # 60.5 / 101 and 190.5 / 201 of two labels; by chance 3.841 x (1/100 + 1/200)
    assert one.judges[0].labels.by_chance == pytest.approx(0.0576, abs=1e-4)


def test_small_nights_do_not_look_moved_by_chance():
    one = found(night(0, 20, 1), night(1, 18, 4), min_items=10)
    labels = one.judges[0].labels
    assert 0.1 < labels.stability < labels.by_chance
    assert one.moved == ()
    assert found(night(0, 9), night(1, 0, 9)).judges[0].scores is None


@pytest.mark.parametrize(
    ("changed", "moved"),
    [
        ({"refused": 30}, ("refused", "failed")),
        ({"failed": 30}, ("failed",)),
        ({"left": 90}, ()),  # what a budget left stays due
        ({"agreed": 15}, ("disputed",)),
        ({"checked": 4, "agreed": 0}, ()),
    ],
)
def test_rates_that_chance_does_not_explain_have_moved(changed, moved):
    one = found(night(0), night(1), night(2, **changed))
    assert one.judges[0].moved == moved


def test_runs_of_other_judge_versions_are_counted_and_not_compared():
    one = found(night(0, 0, 100), night(1, 95, 5), night(2, 95, 5), versions={0: "diff/v0"})
    assert (one.before, one.other_versions, one.moved) == (1, 1, ())


def test_a_job_without_runs_before_says_so(capsys):
    for nights, sentence in (((), "no run has judged anything yet"), ((night(0),), "nothing to compare with")):
        show(as_text(DriftReport(jobs=(found(*nights),))))
        assert sentence in capsys.readouterr().out


def test_agreement_that_falls_beyond_chance_has_moved():
    good, bad = Rate.of_count(48, 50), Rate.of_count(20, 50)
    weeks = [Period(week=f"2026-11-0{n}", agreement=rate) for n, rate in enumerate((good, good, bad), 1)]
    assert labelled_drift("x", weeks).moved
    assert not labelled_drift("x", weeks[:2]).moved
    assert not labelled_drift("x", weeks[::-1]).moved  # better than before is no reason to worry
    assert not labelled_drift("x", weeks[2:]).moved


async def judged_night(store, name, *, supported):
    run_id = await store.start_run("nightly")
    status = "FULLY_SUPPORTED" if supported else "CONTRADICTED"
    segment = Segment(segment_id="s1", generated_text="x", alignment_status=status, issue_type="NONE")
    said = verdict(1, status=Status.OK, result=DiffResult(segments=(segment,)))
    made = [evaluation(1, verdict=said, item_key=f"{name}-{number}", annotations=()) for number in range(30)]
    await store.settle(settlement(run_id, 1, *made))
    await store.finish_run(run_id, RunState.COMPLETED, counters={"versions": ["diff/local"]})


async def test_the_figures_are_those_that_runs_left_in_the_store(tmp_path):
    moments = iter(MONDAY + timedelta(minutes=n) for n in range(100_000))
    settings = Settings(store=f"sqlite:///{tmp_path / 'store.db'}")
    async with await Store.open(settings.store, clock=lambda: next(moments)) as store:
        for name in ("mon", "tue"):
            await judged_night(store, name, supported=True)
    alike = await drift(settings, ["nightly"])
    assert [(job.runs, job.before, job.moved) for job in alike.jobs] == [(1, 1, ())]
    async with await Store.open(settings.store, clock=lambda: next(moments)) as store:
        await judged_night(store, "wed", supported=False)
    report = await drift(settings, [])
    assert report.has_moved
    assert report.jobs[0].moved == ("diff: scores, labels",)
    assert (report.jobs[0].judges[0].mean_now, report.jobs[0].judges[0].mean_before) == (0.0, 1.0)
