"""The schedule under a clock that the test sets: what is due is done once, late or not, by whoever is alive."""

import asyncio
import json
import logging
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import apscheduler.schedulers.base
import httpx
import pytest

from connectors.files import FilesConnector
from enricher.app import App
from enricher.choosing import Request
from enricher.errors import SetupError, Unavailable
from enricher.health import health_app
from enricher.progress import Silent
from enricher.report import RunReport
from enricher.run import RunResult
from enricher.schedule import Entry, Schedule, entries_of, standings, started_clock
from enricher.settings import Schedule as Times
from enricher.settings import Settings
from enricher.store import ScheduleOutcome, Store
from tests.test_timetable import CASES

NIGHT = datetime(2026, 11, 3, 2, tzinfo=UTC)
A_DAY, AN_HOUR, A_MINUTE = timedelta(days=1), timedelta(hours=1), timedelta(minutes=1)
RULES = (
    {"name": "reported", "reports": [{"name": "user_feedback", "labels": ["thumbs-down"]}]},
    {"name": "all", "where": {"attributes": {"metadata.chosen": "yes"}}},
)


class Heard:
    """A watcher that keeps what it is told."""

    def __init__(self) -> None:
        self.finished: list[RunReport] = []
        self.missed: list[datetime] = []

    async def on_finished(self, job: str, result: RunResult) -> None:
        self.finished.append(result.report)

    async def on_missed(self, job: str, due: datetime) -> None:
        self.missed.append(due)


class Process:
    """One process that keeps the schedule; its clock looks when the test says so."""

    def __init__(self, world: "World", app: App, entries: list[Entry]) -> None:
        self.app = app
        self.entries = entries
        self.heard = Heard()
        self.stop = asyncio.Event()
        self.schedule = Schedule(app.store, entries, watchers=[self.heard])
        self._clock = None
        self._world = world

    async def look(self) -> None:
        """Look at the clock."""
        if self._clock is None:
            triggers = {entry.name: entry.trigger for entry in self.entries}
            start = (started_clock, self.app.store, triggers, lambda name: None, 3600.0)
            self._clock = self.schedule._clock = await asyncio.to_thread(*start)
        await asyncio.to_thread(self._clock._process_jobs)

    async def at(self, moment: datetime) -> list[RunReport]:
        """Let it be a moment; return the runs that ended then."""
        self._world.now = moment
        before = len(self.heard.finished)
        await self.look()
        for entry in self.entries:
            await self.schedule.attend(entry.name, self.stop)
        return self.heard.finished[before:]

    async def end(self) -> None:
        """Go away; what is kept in the store stays."""
        if self._clock is not None:
            await asyncio.to_thread(self._clock.shutdown)
            self._clock = None


class World:
    """A folder of traces, a store, a clock, and any number of processes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.now = NIGHT - AN_HOUR
        self.processes: list[Process] = []
        self._stores: list[Store] = []
        (folder / "in").mkdir()

    def add(self, name: str, at: datetime, *, reported_at: datetime | None = None) -> None:
        """Let a trace appear; what a user said of it can come at any time."""
        said = {"report": {"label": "thumbs-down", "reported_at": reported_at.isoformat()}} if reported_at else {}
        record = {
            "id": name, "timestamp": at.isoformat(), "question": "How long is the notice period?",
            "documents": [{"id": "d1", "text": "The notice period is sixty days."}],
            "answer": "The notice period is ninety days.", **said,
        }  # fmt: skip
        (self.folder / "in" / f"{name}.jsonl").write_text(json.dumps(record) + "\n")

    async def process(self, *, rules=({"name": "all"},), entries=None, job=None, **times) -> Process:
        """Start a process with one job."""
        times = times or {"cron": "0 2 * * *"}
        nightly = {"connection": "files", "rules": rules, "schedule": times, **(job or {})}
        connection = {"kind": "files", "paths": [str(self.folder / "in/*.jsonl")], "output": self.folder / "out.jsonl"}
        settings = Settings(connections={"files": connection}, jobs={"nightly": nightly})
        store = await Store.open(f"sqlite:///{self.folder / 'store.db'}", clock=lambda: self.now)
        self._stores.append(store)
        files = FilesConnector(name="files", paths=connection["paths"], output=connection["output"], now=store.clock)
        app = App(settings=settings, store=store, connectors={"files": files})
        process = Process(self, app, entries or entries_of(settings, runner_of(app)))
        self.processes.append(process)
        if len(self.processes) == 1:  # the others come later
            await process.look()
        return process

    def diffs(self) -> dict[str, int]:
        """Count the diffs that each trace carries."""
        lines = (self.folder / "out.jsonl").read_text().splitlines()
        return Counter(line["trace_id"] for line in map(json.loads, lines) if line["name"] == "context_diff")

    async def close(self) -> None:
        for process in self.processes:
            await process.end()
            for connector in process.app.connectors.values():
                await connector.aclose()
        for store in self._stores:
            await store.aclose()


@pytest.fixture
async def world(tmp_path, monkeypatch):
    world = World(tmp_path)

    class Clock(datetime):
        @classmethod
        def now(cls, tz=None):
            return world.now.astimezone(tz)

    monkeypatch.setattr(apscheduler.schedulers.base, "datetime", Clock)
    yield world
    await world.close()


def runner_of(app: App):
    """Return what runs a job of an app."""
    return lambda name, stop: app.run(name, Request(), Silent(), stop)


def idle(name: str = "idle", *, work=None, **times) -> Entry:
    """Return an entry whose work is nothing, or a function of the test."""

    async def nothing(stop: asyncio.Event) -> RunResult:
        return RunResult(report=RunReport(run_id="r", job=name, state="finished", started=NIGHT))

    return Entry(name=name, times=Times(**(times or {"cron": "0 2 * * *"})), work=work or nothing)


# when


async def test_a_job_runs_at_its_time_once(world):
    world.add("t1", NIGHT - AN_HOUR)
    process = await world.process()
    assert await process.at(NIGHT - A_MINUTE) == []
    (report,) = await process.at(NIGHT)
    assert report.scored == 1
    assert await process.at(NIGHT + A_MINUTE) == []
    (standing,) = await process.schedule.standings()
    assert (standing.outcome, standing.last_success_at) == (ScheduleOutcome.CLEAN, NIGHT)
    assert standing.next_run == NIGHT + A_DAY


@pytest.mark.parametrize("name", ["SC-01", "SC-02"])
async def test_the_night_of_a_clock_change_has_one_run(world, name):
    case = CASES[name]
    zone = ZoneInfo(case["input"]["timezone"])
    start, end = (datetime.fromisoformat(t) for t in case["input"]["simulate"].removesuffix(" local").split(" to "))
    hour, minute = case["input"]["schedule"].removeprefix("daily ").split(":")
    entry = idle(cron=f"{minute} {hour} * * *", timezone=zone.key)
    world.now = start.replace(tzinfo=zone).astimezone(UTC) - A_MINUTE
    process = await world.process(entries=[entry])
    ran = []
    while world.now < end.replace(tzinfo=zone).astimezone(UTC):
        if await process.at(world.now):
            ran.append(world.now.astimezone(zone))
        world.now += timedelta(minutes=10)
    per_day = Counter(moment.date().isoformat() for moment in ran)
    assert max(per_day.values()) == 1
    assert per_day == case["expected"]["runs_local_dates"]
    assert process.heard.missed == []


async def test_a_host_that_was_asleep_runs_late_and_misses_nothing(world, caplog):
    case = CASES["SC-05"]
    assert case["input"]["grace"] == "6h"
    world.now = NIGHT - A_DAY - AN_HOUR
    process = await world.process(cron="0 2 * * *", grace="6h")
    await process.at(NIGHT - A_DAY)  # the last watermark
    world.add("evening", NIGHT - A_DAY + timedelta(minutes=10))
    world.add("asleep", NIGHT + AN_HOUR)
    await process.at(NIGHT - AN_HOUR)
    await process.end()
    woken = await world.process(cron="0 2 * * *", grace="6h")
    reports = await woken.at(NIGHT + timedelta(hours=3, minutes=10))
    assert len(reports) == case["expected"]["runs"]
    assert reports[0].started == reports[0].window_end == NIGHT + timedelta(hours=3, minutes=10)
    assert world.diffs() == {"evening": 1, "asleep": 1}
    assert case["expected"]["logged"] in caplog.text
    assert await woken.at(NIGHT + timedelta(hours=4)) == []
    assert len(await woken.at(NIGHT + A_DAY)) == 1


async def test_nights_of_a_downtime_are_made_up_for_by_one_run(world, caplog):
    process = await world.process()
    await process.at(NIGHT)
    await process.end()
    for day in range(3):
        world.add(f"t{day}", NIGHT + day * A_DAY + AN_HOUR)
    back = await world.process()
    (report,) = await back.at(NIGHT + 3 * A_DAY + AN_HOUR)
    assert report.scored == 3
    assert "run was late by 1:00; one run for 3" in caplog.text


async def test_a_run_that_is_later_than_its_grace_is_missed_loudly_and_made_up_for_by_the_next(world, caplog):
    world.now = NIGHT - A_DAY - AN_HOUR
    process = await world.process(grace="6h")
    await process.at(NIGHT - A_DAY)
    await process.end()
    world.add("t1", NIGHT - AN_HOUR)
    back = await world.process(grace="6h")
    assert await back.at(NIGHT + timedelta(hours=7)) == []
    assert back.heard.missed == [NIGHT]
    (record,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert "missed 1 of its runs" in record.message
    (standing,) = await back.schedule.standings()
    assert (standing.outcome, standing.last_success_at) == (ScheduleOutcome.MISSED, NIGHT - A_DAY)
    assert not standing.is_well
    (report,) = await back.at(NIGHT + A_DAY)
    assert report.scored == 1
    assert (await back.schedule.standings())[0].is_well


async def test_an_interval_that_is_shorter_than_its_run_does_not_pile_up(world):
    began = []

    async def slow(stop):
        began.append(world.now)
        world.now += timedelta(minutes=50)
        await process.look()
        return RunResult(report=RunReport(run_id="r", job="often", state="finished", started=NIGHT))

    world.now = NIGHT - A_MINUTE
    process = await world.process(entries=[idle("often", work=slow, every="15m")])
    await process.at(NIGHT)
    await process.at(world.now)
    assert began == [NIGHT, NIGHT + timedelta(minutes=50)]


async def test_a_schedule_that_was_changed_while_nobody_kept_it_counts_from_now_on(world):
    process = await world.process()
    await process.at(NIGHT)
    await process.end()
    changed = await world.process(cron="0 5 * * *")
    await changed.at(NIGHT + AN_HOUR)
    assert (await changed.schedule.standings())[0].next_run == NIGHT + timedelta(hours=3)
    assert len(await changed.at(NIGHT + timedelta(hours=3))) == 1
    assert await changed.at(NIGHT + A_DAY) == []


async def test_timers_of_jobs_that_are_gone_are_left_alone(world):
    process = await world.process(entries=[idle("gone"), idle("kept")])
    await process.at(NIGHT)
    await process.end()
    later = await world.process(entries=[idle("kept")])
    await later.look()
    world.now = NIGHT + A_DAY + AN_HOUR
    await later.look()
    assert later._clock._process_jobs() > 100  # it does not spin over a timer that is nobody's


# clocks that are wrong


async def test_a_clock_that_goes_back_an_hour_neither_repeats_a_run_nor_loses_a_trace(world):
    world.now = NIGHT - A_DAY - AN_HOUR
    process = await world.process()
    await process.at(NIGHT - A_DAY)
    world.add("before", NIGHT - AN_HOUR)
    assert len(await process.at(NIGHT + timedelta(minutes=5))) == 1
    world.now = NIGHT - timedelta(minutes=55)  # an hour back
    world.add("again", NIGHT - timedelta(minutes=50))  # long before the watermark
    for minutes in range(-50, 60, 10):
        assert await process.at(NIGHT + timedelta(minutes=minutes)) == []
    (report,) = await process.at(NIGHT + A_DAY)
    assert process.heard.missed == []
    assert world.diffs() == {"before": 1, "again": 1}
    assert report.scored == 1


@pytest.mark.parametrize("times", [{"cron": "0 2 * * *"}, {"every": "15m"}])
async def test_a_clock_that_was_a_year_ahead_stops_nothing_once_it_is_right(world, times, caplog):
    process = await world.process(**times)
    await process.at(NIGHT)
    world.add("before", NIGHT + timedelta(minutes=10))
    await process.at(NIGHT + 365 * A_DAY)
    await process.at(NIGHT + 366 * A_DAY)
    world.add("after", NIGHT + timedelta(minutes=80))
    world.now = NIGHT + AN_HOUR
    await process.look()
    assert "the clock went back" in caplog.text
    (report,) = await process.at(NIGHT + 3 * A_DAY)
    assert (report.scored, report.already_judged) == (1, 1)
    assert world.diffs() == {"before": 1, "after": 1}
    assert await process.app.store.watermark("nightly", "files", "all") == NIGHT + 3 * A_DAY


async def test_a_clock_that_jumps_ahead_a_few_hours_runs_what_became_due(world):
    process = await world.process()
    await process.at(NIGHT - AN_HOUR)
    assert len(await process.at(NIGHT + timedelta(hours=5))) == 1


# late traces, late reports


async def test_a_trace_that_arrives_late_is_judged_once_by_the_next_run(world):
    case = CASES["SC-08"]
    assert case["input"]["lookback"] == "30m"
    process = await world.process(job={"look_back": case["input"]["lookback"]})
    world.add("early", NIGHT - timedelta(minutes=10))
    await process.at(NIGHT)
    world.add("late", NIGHT - timedelta(minutes=2))  # seen seven minutes after the run
    (second,) = await process.at(NIGHT + A_DAY)
    assert (second.scored, second.already_judged) == (1, 1)
    (third,) = await process.at(NIGHT + 2 * A_DAY)
    assert third.scored == 0
    assert world.diffs() == {"early": 1, "late": 1}


async def test_a_thumbs_down_that_comes_days_later_is_looked_at_once_by_the_next_run(world):
    process = await world.process(rules=RULES)
    world.add("old", NIGHT - timedelta(hours=3))
    (first,) = await process.at(NIGHT)
    assert first.scored == 0
    scored = []
    for day in range(1, 8):
        if day == 5:
            world.add("old", NIGHT - timedelta(hours=3), reported_at=NIGHT + 4 * A_DAY + AN_HOUR)
        scored += [report.scored for report in await process.at(NIGHT + day * A_DAY)]
    assert scored == [0, 0, 0, 0, 1, 0, 0]
    assert world.diffs() == {"old": 1}


async def test_a_thumbs_down_during_a_downtime_is_not_missed(world):
    process = await world.process(rules=RULES, grace="1h")
    world.add("old", NIGHT - timedelta(hours=3))
    await process.at(NIGHT)
    await process.end()
    world.add("old", NIGHT - timedelta(hours=3), reported_at=NIGHT + 2 * A_DAY)
    back = await world.process(rules=RULES, grace="1h")
    assert await back.at(NIGHT + 3 * A_DAY + timedelta(hours=9)) == []
    assert back.heard.missed == [NIGHT + 3 * A_DAY]
    (report,) = await back.at(NIGHT + 4 * A_DAY)
    assert report.scored == 1


# several processes


async def test_of_two_processes_one_runs_and_the_other_says_who_holds_the_lock(world, caplog):
    begun, let_go = asyncio.Event(), asyncio.Event()

    async def slow(stop):
        begun.set()
        await let_go.wait()
        return RunResult(report=RunReport(run_id="r", job="idle", state="finished", started=NIGHT))

    first, second = [await world.process(entries=[idle(work=slow)]) for _ in range(2)]
    for process in (first, second):
        await process.look()
    world.now = NIGHT
    running = asyncio.create_task(first.at(NIGHT))
    await begun.wait()
    assert await second.at(NIGHT) == []
    assert "job idle waits: lock held by process " in caplog.text
    let_go.set()
    assert len(await running) == 1
    assert await second.at(NIGHT + A_MINUTE) == []
    assert await first.at(NIGHT + 2 * A_MINUTE) == []


async def test_processes_that_look_at_the_same_instant_run_once(world):
    world.add("t1", NIGHT - AN_HOUR)
    processes = [await world.process() for _ in range(3)]
    for process in processes:
        await process.look()
    reports = await asyncio.gather(*(process.at(NIGHT) for process in processes))
    await asyncio.gather(*(process.at(NIGHT + A_MINUTE) for process in processes))
    assert sum(map(len, reports)) <= 1
    assert sum(len(process.heard.finished) for process in processes) == 1
    assert world.diffs() == {"t1": 1}


async def test_a_run_by_hand_is_waited_for(world, caplog):
    world.add("t1", NIGHT - AN_HOUR)
    process = await world.process()
    world.now = NIGHT
    async with process.app.store.hold("job:nightly"):
        assert await process.at(NIGHT) == []
        assert "job nightly waits: job nightly is being run by" in caplog.text
    (report,) = await process.at(NIGHT + A_MINUTE)
    assert report.scored == 1


async def test_what_a_process_was_stopped_in_is_finished_by_another(world, caplog):
    process = await world.process()
    for number in range(3):
        world.add(f"t{number}", NIGHT - AN_HOUR)
    process.stop.set()
    assert await process.at(NIGHT) == []
    assert "was stopped before its end; it stays due" in caplog.text
    other = await world.process()
    (report,) = await other.at(NIGHT + timedelta(minutes=2))
    assert report.scored == 3
    assert await process.at(NIGHT + timedelta(minutes=3)) == []


# trouble


async def test_a_job_that_fails_is_told_and_tried_again_the_next_night(world, caplog):
    async def failing(stop):
        raise SetupError("the key is wrong")

    process = await world.process(entries=[idle(work=failing)])
    (report,) = await process.at(NIGHT)
    assert (report.state, report.problems) == ("failed", ("the key is wrong",))
    assert [r.message for r in caplog.records if r.levelno == logging.ERROR] == [
        "job idle: run is failed: the key is wrong"
    ]
    (standing,) = await process.schedule.standings()
    assert (standing.outcome, standing.reason) == (ScheduleOutcome.FAILED, "the key is wrong")
    assert await process.at(NIGHT + AN_HOUR) == []
    assert len(await process.at(NIGHT + A_DAY)) == 1


async def test_a_bug_in_one_job_and_in_a_watcher_costs_the_others_nothing(world, caplog):
    async def buggy(stop):
        raise RuntimeError("boom")

    process = await world.process(entries=[idle("buggy", work=buggy), idle("sound")])

    async def deaf(job, result):
        raise RuntimeError("boom")

    process.heard.on_finished = deaf
    await process.at(NIGHT)
    outcomes = {standing.job: standing.outcome for standing in await process.schedule.standings()}
    assert outcomes == {"buggy": ScheduleOutcome.FAILED, "sound": ScheduleOutcome.CLEAN}
    assert "a watcher of the schedule failed" in caplog.text


async def test_a_store_that_is_away_for_a_while_delays_a_run_and_loses_none(world, monkeypatch):
    process = await world.process(entries=[idle()])
    await process.look()

    def away(*_):
        raise Unavailable("the store does not answer")

    with monkeypatch.context() as patch:
        patch.setattr("enricher.store.schedules.note_due", away)
        assert await process.at(NIGHT) == []
    with monkeypatch.context() as patch:
        patch.setattr(process._clock._lookup_jobstore("default"), "update_job", away)
        await asyncio.to_thread(process._clock._process_jobs)  # noted, but the timer could not be wound
    assert len(await process.at(NIGHT + A_MINUTE)) == 1
    assert await process.at(NIGHT + AN_HOUR) == []


async def test_a_run_with_failures_counts_as_come_to_its_end(world):
    async def incomplete(stop):
        report = RunReport(run_id="r", job="idle", state="finished", started=NIGHT, failed={"JUDGE_REFUSED": 1})
        return RunResult(report=report)

    process = await world.process(entries=[idle(work=incomplete)])
    await process.at(NIGHT)
    (standing,) = await process.schedule.standings()
    assert (standing.outcome, standing.last_success_at) == (ScheduleOutcome.INCOMPLETE, NIGHT)
    assert standing.is_well


def test_a_config_without_any_schedule_is_the_operators_to_mend():
    app = App(settings=Settings(jobs={"adhoc": {}}), store=None, connectors={})
    with pytest.raises(SetupError, match="no job has a schedule"):
        entries_of(app.settings, runner_of(app))


async def test_what_is_due_is_shown_without_keeping_the_schedule(world):
    process = await world.process()
    await process.at(NIGHT)
    (standing,) = await standings(process.app.settings, process.app.store)
    assert (standing.job, standing.schedule) == ("nightly", "0 2 * * * UTC")
    assert (standing.next_run, standing.last_success_at) == (NIGHT + A_DAY, NIGHT)


# staying up


async def test_it_runs_at_real_times_until_it_is_stopped_and_lets_a_run_end(world, monkeypatch):
    monkeypatch.undo()  # the clock of the machine
    begun, ended = asyncio.Event(), []

    async def until_asked(stop):
        begun.set()
        await stop.wait()
        ended.append(True)
        return RunResult(report=RunReport(run_id="r", job="idle", state="interrupted", started=NIGHT))

    async with await Store.open(f"sqlite:///{world.folder / 'real.db'}") as store:
        schedule, stop = Schedule(store, [idle(work=until_asked, every="1s")], look_s=0.2), asyncio.Event()
        keeping = asyncio.create_task(schedule.keep(stop))
        await asyncio.wait_for(begun.wait(), 20)
        assert schedule.is_alive
        assert [one.is_running for one in await schedule.standings()] == [True]
        stop.set()
        await asyncio.wait_for(keeping, 20)
        assert ended == [True]
        record = (await store.schedules())["idle"]
        assert record.due_at is not None  # given back, not lost
        async with store.hold("schedule:idle") as hold:
            assert hold.is_held


async def test_health_tells_life_from_well_being(world):
    async def failing(stop):
        raise SetupError("the key is wrong")

    process = await world.process(entries=[idle(work=failing)])
    transport = httpx.ASGITransport(health_app(process.schedule))
    async with httpx.AsyncClient(transport=transport, base_url="http://health") as client:

        async def ask(path: str) -> tuple[int, dict]:
            reply = await client.get(path)
            return reply.status_code, reply.json()

        code, body = await ask("/health")
        assert (code, body["status"], body["jobs"][0]["last_success_at"]) == (200, "ok", None)
        assert (await ask("/ready"))[0] == 200
        await process.at(NIGHT)
        code, body = await ask("/health")
        assert (code, body["status"], body["jobs"][0]["reason"]) == (200, "degraded", "the key is wrong")
        process._clock.looked_at -= 3600
        assert (await ask("/health"))[0] == (await ask("/ready"))[0] == 503


async def test_a_run_by_the_schedule_takes_up_what_a_run_by_hand_left(world):
    process = await world.process()
    for number in range(3):
        world.add(f"t{number}", NIGHT - 2 * AN_HOUR)
    await process.app.run("nightly", Request(limit=1), Silent(), asyncio.Event())
    (report,) = await process.at(NIGHT)
    assert report.scored == 2
    assert world.diffs() == {"t0": 1, "t1": 1, "t2": 1}
