"""Traces that webhooks named: taken in by the job of their project, once, and never in the way of a run."""

import asyncio
from datetime import timedelta

import pytest

from enricher.choosing import Request
from enricher.errors import SetupError, TryAgain
from enricher.executors.local import LocalExecutor
from enricher.pipeline import Judging, Pipeline
from enricher.progress import Silent
from enricher.run import Plan, Run, RunResult
from enricher.settings import Job, Rule
from enricher.store import Store
from tests.doubles import START, FailsTimes, MemoryConnector, ScriptedJudge

NONE = Rule(name="none", rate=0)
OLD = START - timedelta(days=300)


class World:
    """A platform with one old trace, which only a hint leads to."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.platform = MemoryConnector()
        self.platform.add("old", at=OLD)
        self.judge = ScriptedJudge()
        self.now = START
        store.clock = lambda: self.now

    def new_run(self, *, platform: str = "phoenix", rule: Rule = NONE, **request) -> Run:
        async def recall(*_):
            return None

        plan = Plan(
            name="nightly",
            job=Job(connection="memory", projects=("p", "q"), rules=(rule,)),
            connector=self.platform,
            pipeline=Pipeline(judges=[Judging(judge=self.judge)], recall=recall),
            platform=platform,
        )
        return Run(plan, self.store, LocalExecutor(concurrency=2), Request(**request), Silent(), asyncio.Event())

    async def run(self, **options) -> RunResult:
        return await self.new_run(**options).execute()

    async def waiting(self) -> list[str]:
        return [hint.trace_id for hint in await self.store.pending_hints("phoenix")]


@pytest.fixture
async def world(tmp_path):
    async with await Store.open(f"sqlite:///{tmp_path / 'store.db'}") as store:
        yield World(store)


async def test_the_next_run_takes_a_hinted_trace_in_whatever_its_age(world):
    await world.store.add_hint("phoenix", "p", "old", "the user called")
    report = (await world.run()).report
    assert world.judge.judged == ["old"]
    assert (report.rules[0].rule, report.rules[0].found, report.rules[0].taken) == ("hinted", 1, 1)
    (asked,) = [query for query in world.platform.queries if query.trace_ids]
    assert (asked.trace_ids, asked.projects) == (("old",), ("p", "q"))
    assert (await world.store.explain("old")).refs[0].ref.rules == ("hinted",)
    assert await world.waiting() == []
    assert await world.store.watermark("nightly", "memory", "hinted") is None


async def test_a_hint_that_comes_again_for_a_judged_trace_changes_nothing(world):
    for _ in range(2):
        await world.store.add_hint("phoenix", "p", "old", "")
        await world.run()
    assert world.judge.judged == ["old"]
    assert await world.waiting() == []


async def test_without_hints_nothing_is_asked_or_reported(world):
    report = (await world.run()).report
    assert [count.rule for count in report.rules] == ["none"]
    assert not any(query.trace_ids for query in world.platform.queries)


@pytest.mark.parametrize(
    ("project", "platform", "trace"), [("other", "phoenix", "old"), ("p", "langsmith", "old"), ("p", "phoenix", "gone")]
)
async def test_a_hint_for_something_else_waits_for_a_week_and_no_longer(world, caplog, project, platform, trace):
    await world.store.add_hint(platform, project, trace, "")
    for _ in range(2):
        report = (await world.run()).report
        assert [count.rule for count in report.rules] == ["none"]
        assert report.is_clean
        world.now += timedelta(days=4)
    assert world.judge.judged == []
    assert len(await world.store.pending_hints(platform)) == 1
    await world.run()
    left = await world.store.pending_hints(platform)
    if platform == "phoenix":
        assert left == []
        assert f"the hint for trace {trace} of project '{project}' is dropped" in caplog.text
    else:
        assert len(left) == 1  # it is another connection's


async def test_a_project_may_be_named_by_its_id(world, monkeypatch):
    find = world.platform.find

    async def located(query):
        async for ref in find(query):
            ref.locator["project_id"] = "UHJvamVjdDoy"
            yield ref

    monkeypatch.setattr(world.platform, "find", located)
    await world.store.add_hint("phoenix", "UHJvamVjdDoy", "old", "")
    await world.run()
    assert world.judge.judged == ["old"]


async def test_a_hint_waits_while_the_platform_is_away(world):
    await world.store.add_hint("phoenix", "p", "old", "")
    world.platform.hooks = {"find": FailsTimes(99)}
    assert not (await world.run()).report.is_clean
    assert await world.waiting() == ["old"]
    world.platform.hooks = {}
    await world.run()
    assert world.judge.judged == ["old"]


async def test_a_hint_that_cant_be_looked_up_stops_no_run(world, caplog):
    world.platform.add("new", at=START - timedelta(hours=1))
    await world.store.add_hint("phoenix", "p", "old", "")

    def refuse() -> None:
        world.platform.hooks = {}
        raise SetupError("'old' holds no trace id")

    world.platform.hooks = {"find": refuse}
    await world.run(rule=Rule(name="all"))
    assert world.judge.judged == ["new"]
    assert "hinted traces can't be looked up: 'old' holds no trace id" in caplog.text
    assert await world.waiting() == ["old"]


async def test_a_rehearsal_shows_hinted_traces_and_leaves_the_hints(world):
    await world.store.add_hint("phoenix", "p", "old", "")
    report = (await world.new_run().rehearse()).report
    assert [finding.trace_id for finding in report.findings] == ["old"]
    assert await world.waiting() == ["old"]


@pytest.mark.parametrize("request_", [{"trace_ids": ("old",)}, {"start": OLD}])
async def test_a_run_of_named_traces_or_a_named_window_leaves_the_hints(world, request_):
    await world.store.add_hint("phoenix", "p", "old", "")
    await world.run(**request_)
    assert await world.waiting() == ["old"]


async def test_what_an_attempt_took_in_before_it_broke_off_was_not_known_before(world):
    for number in range(1200):
        world.platform.add(f"t{number}", at=START - timedelta(hours=1))
    find = world.platform.find
    attempts = 0

    async def breaks_off_once(query):
        nonlocal attempts
        attempts += 1
        count = 0
        async for ref in find(query):
            count += 1
            if attempts == 1 and count == 800:
                raise TryAgain("gone", after=0.0)
            yield ref

    world.platform.find = breaks_off_once
    report = (await world.run(rule=Rule(name="all"))).report
    assert attempts == 2
    assert (report.rules[0].found, report.rules[0].taken, report.already_judged) == (1200, 1200, 0)
    assert sorted(set(world.judge.judged)) == sorted(f"t{number}" for number in range(1200))
    assert len(world.judge.judged) == 1200


async def test_a_long_list_is_taken_in_while_it_is_found(world):
    for number in range(1200):
        world.platform.add(f"t{number}", at=START - timedelta(hours=1))
    find, recorded = world.platform.find, []

    async def watched(query):
        count = 0
        async for ref in find(query):
            count += 1
            if count % 600 == 0:
                recorded.append(await world.store.count_due("nightly"))
            yield ref

    world.platform.find = watched
    await world.run(rule=Rule(name="all"))
    assert recorded == [500, 1000]
