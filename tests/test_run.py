"""A run: what it chooses, how often it judges, what it leaves for the next one, and what it reports."""

import asyncio
from datetime import timedelta

import pytest

from enricher.choosing import Request
from enricher.errors import SetupError
from enricher.executors.local import LocalExecutor
from enricher.pipeline import Judging, Pipeline
from enricher.progress import Silent
from enricher.run import Plan, Run, RunResult
from enricher.settings import Job, ReportRule, Rule
from enricher.store import EvaluationKey, Store
from enricher.trace import UserReport
from enricher.verdict import Status
from tests.doubles import START, FailsTimes, MemoryConnector, ScriptedJudge

THUMBS_DOWN = UserReport(name="user_feedback", label="thumbs-down", score=0, comment="wrong", reported_at=START)
ALL = Rule(name="all")
REPORTED = Rule(name="reported", reports=(ReportRule(name="user_feedback", labels=("thumbs-down",)),))


class World:
    """A platform, a judge and a store, and runs of one job over them at a clock that the test sets."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.platform = MemoryConnector()
        self.judge = ScriptedJudge()
        self.stop = asyncio.Event()
        self.now = START + timedelta(hours=1)
        store.clock = lambda: self.now

    def new_run(self, *rules: Rule, **request) -> Run:
        async def recall(ref, item, digest, provenance):
            key = EvaluationKey(ref.connection, item.key, provenance.version, digest)
            return await self.store.known_evaluation(key)

        plan = Plan(
            name="nightly",
            job=Job(connection="memory", rules=rules or (ALL,)),
            connector=self.platform,
            pipeline=Pipeline(judges=[Judging(judge=self.judge)], recall=recall),
        )
        return Run(plan, self.store, LocalExecutor(concurrency=4), Request(**request), Silent(), self.stop)

    async def run(self, *rules: Rule, **request) -> RunResult:
        return await self.new_run(*rules, **request).execute()


@pytest.fixture
async def world(tmp_path):
    async with await Store.open(f"sqlite:///{tmp_path / 'store.db'}") as store:
        yield World(store)


async def test_every_trace_in_the_window_is_judged_written_and_counted(world):
    world.platform.add("t1")
    world.platform.add("t2", answer="The notice period is ninety days.")
    report = (await world.run()).report
    assert report.is_clean
    assert (report.pulled, report.scored, report.mean_score) == (2, 2, 0.5)
    assert report.labels == {"faithful": 1, "contradicted": 1}
    assert report.written == report.confirmed == len(world.platform.annotations)
    assert world.platform.named("context_diff")["t2"].score == 0.0
    assert report.findings[0].trace_id == "t2"


async def test_a_second_run_judges_nothing_again(world):
    world.platform.add("t1", at=world.now - timedelta(minutes=5))
    await world.run()
    world.now += timedelta(minutes=10)
    report = (await world.run()).report
    assert world.judge.judged == ["t1"]
    assert (report.chosen, report.already_judged, report.written) == (0, 1, 0)


async def test_a_trace_that_arrives_late_is_judged_once_by_the_next_run(world):
    world.platform.add("t1")
    await world.run()
    world.platform.add("late", at=world.now - timedelta(minutes=2))  # before the watermark
    world.now += timedelta(hours=1)
    await world.run()
    await world.run()
    assert world.judge.judged == ["t1", "late"]


async def test_a_trace_chosen_by_two_rules_is_judged_once_and_keeps_both_reasons(world):
    world.platform.add("t1")
    world.platform.add("t2", report=THUMBS_DOWN)
    await world.run(ALL, REPORTED)
    assert sorted(world.judge.judged) == ["t1", "t2"]
    story = await world.store.explain("t2")
    assert story.refs[0].ref.rules == ("all", "reported")


async def test_reported_traces_are_judged_first(world):
    for number in range(5):
        world.platform.add(f"t{number}")
    world.platform.add("reported", report=THUMBS_DOWN)
    await world.run(ALL, REPORTED, limit=1)
    assert world.judge.judged == ["reported"]


async def test_a_thumbs_down_that_comes_days_later_brings_an_old_trace_in(world):
    world.platform.add("old", at=START - timedelta(days=6))
    await world.run(REPORTED)
    assert world.judge.judged == []
    world.now += timedelta(days=1)
    late = UserReport(name="user_feedback", label="thumbs-down", reported_at=world.now - timedelta(hours=1))
    world.platform.reports["old"] = (late,)
    await world.run(REPORTED)
    assert world.judge.judged == ["old"]


async def test_a_rate_of_zero_judges_only_reported_traces(world):
    for number in range(20):
        world.platform.add(f"t{number}")
    world.platform.add("reported", report=THUMBS_DOWN)
    report = (await world.run(Rule(name="sampled", rate=0), REPORTED)).report
    assert world.judge.judged == ["reported"]
    assert report.warnings == ("0 of 21 traces matched rule sampled: its sampling took none",)


async def test_a_rule_that_matches_nothing_is_said_loudly(world):
    report = (await world.run()).report
    assert report.warnings == ("0 of 0 traces matched rule all: there is none in the window",)
    assert report.is_clean


async def test_a_running_trace_is_deferred_judged_later_and_given_up_in_the_end(world):
    world.platform.add("slow")
    world.platform.add("stuck")
    world.platform.running |= {"slow", "stuck"}
    report = (await world.run()).report
    assert (report.deferred, world.judge.judged) == (2, [])
    world.platform.running.remove("slow")
    world.now += timedelta(hours=1)
    await world.run()
    assert world.judge.judged == ["slow"]
    world.now += timedelta(days=2)
    await world.run()
    story = await world.store.explain("stuck")
    assert story.rejections[0].rejection.reason == "still_running"


async def test_failures_are_counted_apart_and_never_averaged(world):
    for number in range(5):
        world.platform.add(f"t{number}")
    world.platform.add("t1", answer="The notice period is ninety days.")
    world.judge.script = {
        "t2": Status.JUDGE_PARSE_ERROR,
        "t3": Status.JUDGE_REFUSED,
        "t4": Status.NO_CLAIMS,
    }
    report = (await world.run()).report
    assert (report.mean_score, report.scored, report.no_claims) == (0.5, 2, 1)
    assert report.failed == {"JUDGE_PARSE_ERROR": 1, "JUDGE_REFUSED": 1}
    assert not report.is_clean
    assert set(world.platform.named("context_diff")) == {"t0", "t1", "t4"}
    assert set(world.platform.named("needs_review")) == {"t2", "t3"}
    assert world.platform.named("context_diff")["t4"].score is None


async def test_a_trace_whose_judge_was_unavailable_is_tried_again_by_the_next_run(world):
    world.platform.add("t1")
    world.judge.script = {"t1": Status.JUDGE_UNAVAILABLE}
    assert (await world.run()).report.failed == {"JUDGE_UNAVAILABLE": 1}
    world.judge.script = {}
    world.now += timedelta(hours=1)
    assert (await world.run()).report.scored == 1
    assert world.platform.named("context_diff")["t1"].label == "faithful"


async def test_a_bug_on_one_trace_costs_the_others_nothing(world):
    for number in range(5):
        world.platform.add(f"t{number}")
    world.judge.script = {"t3": RuntimeError("boom")}
    report = (await world.run()).report
    assert (report.scored, report.failed) == (4, {"BUG": 1})
    (problem,) = report.problems
    assert problem.startswith("trace t3: RuntimeError at tests/doubles.py:")
    assert "boom" not in problem
    assert not report.is_clean


async def test_what_only_the_operator_can_mend_stops_the_run(world):
    for number in range(9):
        world.platform.add(f"t{number}")
    world.judge.script = {f"t{n}": SetupError("the key is wrong") for n in range(9)}
    with pytest.raises(SetupError, match="the key is wrong"):
        await world.run()
    world.judge.script = {}
    assert (await world.run()).report.scored == 9


async def test_a_passing_outage_of_the_platform_is_waited_out(world):
    for number in range(3):
        world.platform.add(f"t{number}")
    world.platform.hooks = {"find": FailsTimes(2), "pull": FailsTimes(2), "annotate": FailsTimes(1)}
    report = (await world.run()).report
    assert report.is_clean
    assert report.scored == 3
    assert sorted(world.judge.judged) == ["t0", "t1", "t2"]


async def test_after_a_lasting_outage_the_watermark_stays_and_the_next_run_takes_what_is_left(world):
    for number in range(3):
        world.platform.add(f"t{number}")
    world.platform.hooks = {"pull": FailsTimes(99)}
    report = (await world.run()).report
    assert (report.state, report.left) == ("failed", 3)
    assert "stay due" in report.problems[0]
    assert await world.store.watermark("nightly", "memory", "all") is None
    world.platform.hooks = {}
    assert (await world.run()).report.scored == 3


async def test_the_watermark_moves_with_a_complete_run_and_the_next_window_reaches_behind_it(world):
    await world.run()
    assert await world.store.watermark("nightly", "memory", "all") == world.now
    first = world.now
    world.now += timedelta(days=1)
    await world.run()
    assert world.platform.queries[-1].start == first - timedelta(minutes=30)
    assert world.platform.queries[-1].end == world.now


async def test_an_explicit_window_leaves_the_watermark_alone(world):
    world.platform.add("t1")
    await world.run(start=START - timedelta(hours=1))
    assert await world.store.watermark("nightly", "memory", "all") is None
    assert world.judge.judged == ["t1"]


async def test_a_limit_leaves_the_rest_due(world):
    for number in range(5):
        world.platform.add(f"t{number}")
    assert (await world.run(limit=2)).report.scored == 2
    assert (await world.run()).report.scored == 3
    assert len(world.judge.judged) == 5


async def test_a_named_trace_is_judged_and_shown_whatever_its_age(world):
    world.platform.add("old", at=START - timedelta(days=400))
    result = await world.run(trace_ids=("old",))
    assert [j.verdict.trace_id for j in result.shown] == ["old"]
    assert result.report.scored == 1


async def test_asking_for_one_trace_leaves_what_else_is_due_alone(world):
    for number in range(3):
        world.platform.add(f"t{number}")
    await world.run(limit=1)
    result = await world.run(trace_ids=("t2",))
    assert [j.verdict.trace_id for j in result.shown] == ["t2"]
    assert len(world.judge.judged) == 2


async def test_a_named_trace_is_judged_again_only_by_another_judge_version(world):
    world.platform.add("t1")
    await world.run()
    result = await world.run(trace_ids=("t1",))
    assert (len(world.judge.judged), result.shown[0].is_recalled) == (1, True)
    world.judge = ScriptedJudge(version="2")
    await world.run(trace_ids=("t1",))
    assert world.judge.judged == ["t1"]
    identifiers = {a.identifier for a in world.platform.annotations.values() if a.name == "context_diff"}
    assert identifiers == {"trace-enricher/diff/scripted/1", "trace-enricher/diff/scripted/2"}


async def test_a_trace_that_is_gone_is_rejected_with_its_reason(world):
    world.platform.add("t1")
    run = world.new_run(ALL)
    world.platform.hooks = {"pull": lambda: world.platform.traces.clear()}
    report = (await run.execute()).report
    assert report.rejected == {"trace_gone": 1}
    assert report.pulled == 0
    assert report.is_clean


async def test_a_dry_run_changes_nothing_and_calls_no_judge(world):
    for number in range(3):
        world.platform.add(f"t{number}")
    report = (await world.new_run(ALL).rehearse()).report
    assert (report.state, report.chosen, report.pulled) == ("dry_run", 3, 3)
    assert [f.status for f in report.findings] == ["WOULD_JUDGE"] * 3
    assert (world.judge.judged, world.platform.writes) == ([], [])
    assert await world.store.runs() == []
    assert await world.store.watermark("nightly", "memory", "all") is None
    assert (await world.store.explain("t1")).refs == ()


async def test_stopping_finishes_what_is_under_way_and_leaves_the_rest_due(world):
    for number in range(50):
        world.platform.add(f"t{number}")
    world.platform.hooks = {"pull": lambda: len(world.judge.judged) >= 10 and world.stop.set()}
    report = (await world.run()).report
    assert report.state == "interrupted"
    assert not report.is_clean
    assert 10 <= report.scored < 50
    assert len(world.platform.named("context_diff")) == report.scored
    assert await world.store.watermark("nightly", "memory", "all") is None
    world.platform.hooks = {}
    world.stop.clear()
    await world.run()
    assert sorted(world.judge.judged) == sorted(world.platform.traces)


async def test_a_stop_when_nothing_is_left_to_do_changes_nothing(world):
    for number in range(5):
        world.platform.add(f"t{number}")
    world.platform.hooks = {"annotate": world.stop.set}
    report = (await world.run()).report
    assert (report.state, report.scored, report.is_clean) == ("finished", 5, True)
    assert await world.store.watermark("nightly", "memory", "all") == world.now


async def test_a_search_that_ends_soon_after_the_stop_is_heeded(world):
    world.platform.add("t1", at=START - timedelta(days=9))
    world.platform.hooks = {"find": world.stop.set}
    report = (await world.run()).report
    assert (report.state, report.chosen) == ("finished", 0)
    assert await world.store.watermark("nightly", "memory", "all") == world.now


async def test_a_stop_ends_a_search_that_goes_on_and_on(world, monkeypatch):
    monkeypatch.setattr("enricher.run._LAST_LOOK_S", 0.1)
    for number in range(700):
        world.platform.add(f"t{number}")
    find = world.platform.find

    async def endless(query):
        async for ref in find(query):
            yield ref
        world.stop.set()
        await asyncio.Event().wait()

    world.platform.find = endless
    report = (await asyncio.wait_for(world.run(), 30)).report
    assert (report.state, report.scored, world.platform.writes) == ("interrupted", 0, [])
    assert await world.store.watermark("nightly", "memory", "all") is None
    assert await world.store.count_due("nightly") == 500  # a batch that was found
    world.platform.find = find
    world.stop.clear()
    assert (await world.run()).report.scored == 700


async def test_cancelling_at_once_loses_and_repeats_nothing(world):
    for number in range(30):
        world.platform.add(f"t{number}")
    running = asyncio.create_task(world.run())
    while len(world.judge.judged) < 8:
        await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (await world.store.runs())[0].state == "interrupted"
    await world.run()
    assert sorted(world.platform.named("context_diff")) == sorted(world.platform.traces)


async def test_a_rule_that_matches_none_of_many_traces_says_of_how_many(world):
    for number in range(12):
        world.platform.add(f"t{number}")
    report = (await world.run(REPORTED)).report
    assert report.warnings == ("0 of 12 traces matched rule reported: none in the window meets its conditions",)
    assert report.is_clean
