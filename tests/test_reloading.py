"""A config that changes while the schedule is kept: taken up for the next run, or refused and told."""

import asyncio
import json

import httpx
import pytest
import yaml

from enricher.app import App
from enricher.health import health_app
from enricher.metrics import Metrics
from enricher.report import RunReport
from enricher.run import RunResult
from enricher.schedule import ConfigWatch, LiveApp, Schedule, entries_of
from enricher.settings import load
from enricher.store import Store


class Keeper:
    """A schedule that follows a config file; its runs say by which config they go."""

    def __init__(self, folder, store: Store, app: App, path) -> None:
        self.folder, self.store, self.path = folder, store, path
        self.live = LiveApp(app)
        self.schedule = Schedule(store, entries_of(app.settings, self.live.run), look_s=0.05)
        self.watch = ConfigWatch(path, self.live, self.schedule, store.clock)
        self.stop = asyncio.Event()

    async def __aenter__(self) -> "Keeper":
        self.keeping = asyncio.create_task(self.schedule.keep(self.stop))
        await until(lambda: self.schedule._clock is not None)
        return self

    async def __aexit__(self, *_problem: object) -> None:
        self.stop.set()
        await self.keeping
        await self.live.aclose()

    async def told(self) -> None:
        """Let the file be read, as SIGHUP does."""
        self.watch.told.set()
        await self.watch.look()

    async def jobs(self) -> dict[str, str]:
        return {one.job: one.schedule for one in await self.schedule.standings()}


class Runs:
    """What happens in place of runs: each notes the rate of its config, and may be held."""

    def __init__(self) -> None:
        self.begun: list[tuple[str, float]] = []
        self.ended: list[tuple[str, float]] = []
        self.closed: list[float] = []
        self.go_on = asyncio.Event()
        self.go_on.set()

    async def run(self, app: App, name: str) -> RunResult:
        rate = app.settings.jobs[name].rules[0].rate
        self.begun.append((name, rate))
        await self.go_on.wait()
        assert app.settings.jobs[name].rules[0].rate == rate
        await app.store.schedules()  # the app is open to the end of the run
        self.ended.append((name, rate))
        report = RunReport(run_id="", job=name, state="finished", started=app.store.clock())
        return RunResult(report=report)


def write(path, *, rate=1.0, jobs=("nightly",), every="1s", **more) -> None:
    """Write a config; what is particular to it is the rate of its rule."""
    job = {"connection": "files", "rules": [{"name": "all", "rate": rate}], "schedule": {"every": every}}
    config = {
        "store": f"sqlite:///{path.parent / 'store.db'}",
        "connections": {"files": {"kind": "files", "paths": [str(path.parent / "in/*.jsonl")]}},
        "jobs": {name: job for name in jobs},
        **more,
    }
    path.write_text(yaml.safe_dump(json.loads(json.dumps(config)), sort_keys=False))


async def until(condition) -> None:
    """Wait for something that other tasks bring about."""
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.01)


@pytest.fixture
def runs(monkeypatch):
    runs = Runs()
    close = App.aclose

    async def closing(app: App) -> None:
        runs.closed.append(next(iter(app.settings.jobs.values())).rules[0].rate)
        await close(app)

    monkeypatch.setattr(App, "run", lambda app, name, *_: runs.run(app, name))
    monkeypatch.setattr(App, "aclose", closing)
    return runs


@pytest.fixture
async def keeper(tmp_path, runs):
    path = tmp_path / "enricher.yaml"
    write(path, rate=0.1)
    settings = load(path, {})
    app = await App.open(settings)
    async with await Store.open(settings.store) as store, Keeper(tmp_path, store, app, path) as keeper:
        yield keeper
        runs.go_on.set()


async def test_the_next_run_goes_by_the_changed_config(keeper, runs):
    await until(lambda: ("nightly", 0.1) in runs.ended)
    write(keeper.path, rate=0.2)
    await keeper.watch.look()  # as at the next tick
    await until(lambda: ("nightly", 0.2) in runs.ended)
    assert keeper.watch.standing.state == "current"
    assert 0.1 in runs.closed


async def test_a_run_under_way_keeps_its_config_to_its_end(keeper, runs):
    runs.go_on.clear()
    await until(lambda: runs.begun)
    write(keeper.path, rate=0.2)
    await keeper.told()
    assert keeper.watch.standing.state == "current"
    assert (runs.ended, runs.closed) == ([], [])
    runs.go_on.set()
    await until(lambda: ("nightly", 0.2) in runs.ended)
    assert runs.ended[0] == ("nightly", 0.1)
    assert runs.closed == [0.1]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"engin": "local"}, "engin: unknown key; did you mean 'engine'?"),
        ({"store": "sqlite:///other.db"}, "store can't change while the schedule is kept; restart it"),
        ({"jobs": {}}, "no job has a schedule"),
        ({"prompt_folders": ["nowhere"], "engine": "openai", "openai": {"model": "m", "prompts": {"diff": "diff@v9"}}},
         "diff@v9"),
    ],
)  # fmt: skip
async def test_a_wrong_config_is_told_loudly_and_the_old_one_still_counts(keeper, runs, caplog, change, told):
    write(keeper.path, rate=0.2)
    text = yaml.safe_load(keeper.path.read_text()) | change
    keeper.path.write_text(yaml.safe_dump(text))
    await keeper.told()
    standing = keeper.watch.standing
    assert standing.state == "refused"
    assert told in standing.problem
    assert any(record.levelname == "ERROR" and told in record.getMessage() for record in caplog.records)
    assert "enricher_config_current 0\n" in await Metrics(keeper.store, keeper.watch.metrics).text()
    transport = httpx.ASGITransport(health_app(keeper.schedule, config=lambda: keeper.watch.standing))
    async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
        reply, ready = await client.get("/health"), await client.get("/ready")
    assert (reply.status_code, reply.json()["status"]) == (200, "degraded")
    assert told in reply.json()["config"]["problem"]
    assert (ready.status_code, ready.json()["config"]["state"]) == (200, "refused"), "runs go on by the old config"
    before = len(runs.ended)
    await until(lambda: len(runs.ended) > before)
    assert {rate for _, rate in runs.ended} == {0.1}
    write(keeper.path, rate=0.3)
    await keeper.told()
    assert keeper.watch.standing.state == "current"
    assert "enricher_config_current 1\n" in await Metrics(keeper.store, keeper.watch.metrics).text()
    await until(lambda: ("nightly", 0.3) in runs.ended)


async def test_jobs_come_go_and_change_their_times(keeper, runs):
    await until(lambda: ("nightly", 0.1) in runs.ended)
    write(keeper.path, rate=0.2, jobs=("hourly", "often"), every="1s")
    await keeper.told()
    assert (await keeper.jobs()).keys() == {"hourly", "often"}
    await until(lambda: {("hourly", 0.2), ("often", 0.2)} <= set(runs.ended))
    count = len([run for run in runs.begun if run[0] == "nightly"])
    write(keeper.path, rate=0.3, jobs=("nightly", "often"), every="365d")
    await keeper.told()
    assert await keeper.jobs() == {"nightly": "every 365 days, 0:00:00", "often": "every 365 days, 0:00:00"}
    timers = await asyncio.to_thread(keeper.schedule._clock._timers.moments)
    assert (timers["often"] - keeper.store.clock()).days > 0, "the old interval must not wind the new timer back"
    assert len([run for run in runs.begun if run == ("nightly", 0.2)]) == 0
    assert count == len([run for run in runs.begun if run == ("nightly", 0.1)])


async def test_a_file_that_is_gone_is_refused_and_one_that_comes_back_counts(keeper):
    text = keeper.path.read_text()
    keeper.path.unlink()
    await keeper.watch.look()
    assert "can't be read" in keeper.watch.standing.problem
    keeper.path.write_text(text)
    await keeper.watch.look()
    assert keeper.watch.standing.state == "current"


async def test_a_file_that_did_not_change_is_not_read_again(keeper):
    before = keeper.watch.standing.loaded_at
    await keeper.watch.look()
    assert keeper.watch.standing.loaded_at == before
    await keeper.told()
    assert keeper.watch.standing.loaded_at > before
