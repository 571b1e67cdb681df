"""`enricher schedule` as real processes: beside others on one store, killed, stopped, and asked how it is."""

import asyncio
import itertools
import json
import signal
import socket
import sqlite3
import time
from collections import Counter
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from tests.acceptance.command import Process, until
from tests.acceptance.model import HeldBack

A_MINUTE = timedelta(minutes=1)


async def was_due(shop: "Shop") -> None:
    """Let the hour have passed while nobody kept the schedule."""
    assert (await shop.user.enricher("schedule", "-c", "enricher.yaml", "--list")).code == 0  # makes the store
    with closing(sqlite3.connect(shop.user.folder / "store.db", timeout=10)) as connection, connection:
        connection.execute("INSERT INTO schedule_timers VALUES ('nightly', ?, x'')", (time.time() - 60,))


class Shop:
    """A user with a folder of records, and processes that keep the schedule over it."""

    def __init__(self, user) -> None:
        self.user = user
        self.port = free_port()
        self.started: list[Process] = []
        (user.folder / "in").mkdir()

    def configure(self, *, every: str = "1s", projects=("default",), **settings) -> None:
        files = {"kind": "files", "paths": ["in/*.jsonl"], "output": "out.jsonl", "settle": "0s"}
        job = {
            "connection": "files",
            "projects": list(projects),
            "rules": [{"name": "all"}],
            "schedule": {"every": every},
        }
        self.user.configure(connections={"files": files}, jobs={"nightly": job}, **settings)

    def add(self, *names: str) -> None:
        at = (datetime.now(UTC) - A_MINUTE).isoformat()
        for name in names:
            record = {
                "id": name, "timestamp": at, "question": "How long is the notice period?",
                "documents": [{"id": "d1", "text": "The notice period is sixty days."}],
                "answer": f"The notice period is sixty days. Case {name} is closed.",
            }  # fmt: skip
            (self.user.folder / "in" / f"{name}.jsonl").write_text(json.dumps(record) + "\n")

    def keep(self, port: int = 0) -> Process:
        return self.start("schedule", "--port", str(port))

    def start(self, command: str, *options: str) -> Process:
        process = self.user.start(command, "-c", "enricher.yaml", *options, is_fresh=True, TZ="Asia/Kolkata")
        self.started.append(process)
        return process

    def diffs(self) -> dict[str, int]:
        with suppress(FileNotFoundError):
            lines = (self.user.folder / "out.jsonl").read_text().splitlines()
            return Counter(line["trace_id"] for line in map(json.loads, lines) if line["name"] == "context_diff")
        return {}

    def runs(self) -> list[tuple[str, str, str, str]]:
        return self.user.query("SELECT state, started_at, finished_at, owner FROM runs ORDER BY started_at")

    async def health(self, path: str = "health") -> tuple[int, dict]:
        async with httpx.AsyncClient() as client:
            with suppress(httpx.ConnectError):
                reply = await client.get(f"http://127.0.0.1:{self.port}/{path}")
                return reply.status_code, reply.json()
        return 0, {}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


async def stopped(process: Process):
    process.send(signal.SIGTERM)
    return await process.wait(within_s=60)


@pytest.fixture
def shop(user):
    shop = Shop(user)
    yield shop
    for process in shop.started:  # left over from a test that failed
        process.send(signal.SIGKILL)
        process.exit_code(20)


async def test_schedules_a_server_and_a_run_by_hand_share_one_store(shop):
    """What SQLite must bear on one machine: nothing is judged twice, nothing is locked for good, nothing is lost."""
    shop.configure()
    names = [f"t{number:02}" for number in range(40)]
    shop.add(*names[:10])
    processes = [shop.keep(shop.port), shop.keep()]
    serving = shop.start("serve", "--port", "0")
    try:
        await until(lambda: len(shop.diffs()) == 10)
        for start in range(10, 40, 10):
            shop.add(*names[start : start + 10])
            by_hand = await shop.user.run("--json")
            assert by_hand.code == 0, by_hand.err
        await until(lambda: len(shop.diffs()) == 40)
        code, body = await shop.health()
        assert (code, body["status"]) == (200, "ok")
        assert body["jobs"][0]["last_success_at"] is not None
        assert (await shop.health("ready"))[0] == 200
    finally:
        ended = [await stopped(process) for process in processes]
        served = await stopped(serving)
    assert [end.code for end in (*ended, served)] == [0, 0, 0], [end.err for end in (*ended, served)]
    assert not any("Traceback" in end.err for end in (*ended, served))
    assert shop.diffs() == dict.fromkeys(names, 1)
    assert shop.user.count("evaluations") == 40
    assert shop.user.count("leases") == 0
    runs = shop.runs()
    assert {run[0] for run in runs} == {"completed"}
    for before, after in itertools.pairwise(runs):
        assert before[2] <= after[1], "two runs of a job at the same time"


async def test_what_a_killed_process_was_doing_is_taken_over_by_another(shop):
    names = [f"t{number}" for number in range(6)]
    shop.add(*names)
    async with HeldBack(2).running() as model:
        shop.configure(
            every="1h", engine="openai", openai={"base_url": model.url, "model": "judge-2026-01-01"}, concurrency=1
        )
        await was_due(shop)
        first = shop.keep()
        try:
            await until(lambda: shop.user.count("evaluations") == 2 and model.in_flight == 1)
            second = shop.keep(shop.port)
            await until(lambda: "lock held by process" in second.files[2].read_text())
            first.send(signal.SIGKILL)
            assert (await first.wait()).code == -signal.SIGKILL
            model.let_go.set()
            await until(lambda: len(shop.diffs()) == 6)
            await until(lambda: shop.user.query("SELECT outcome FROM schedules") == [("clean",)])
        finally:
            model.let_go.set()
        end = await stopped(second)
    assert end.code == 0, end.err
    assert shop.diffs() == dict.fromkeys(names, 1)
    assert len(model.requests) == 7  # the six, and the one that died with its process
    assert [run[0] for run in shop.runs()] == ["interrupted", "completed"]


async def test_a_stop_finishes_what_is_under_way_and_the_next_start_does_the_rest(shop):
    names = [f"t{number}" for number in range(5)]
    shop.add(*names)
    async with HeldBack(2).running() as model:
        shop.configure(
            every="1h", engine="openai", openai={"base_url": model.url, "model": "judge-2026-01-01"}, concurrency=1
        )
        await was_due(shop)
        process = shop.keep()
        await until(lambda: shop.user.count("evaluations") == 2 and model.in_flight == 1)
        process.send(signal.SIGTERM)
        await asyncio.sleep(0.3)
        model.let_go.set()
        end = await process.wait(within_s=60)
        assert end.code == 0, end.err
        assert "it stays due" in end.err
        assert (shop.user.count("evaluations"), shop.user.count("leases")) == (3, 0)
        again = shop.keep()
        await until(lambda: len(shop.diffs()) == 5)
        await until(lambda: shop.user.query("SELECT outcome FROM schedules") == [("clean",)])
        assert (await stopped(again)).code == 0
    assert len(model.requests) == 5


async def test_a_job_that_fails_is_in_the_log_the_health_check_the_list_and_the_exit_code(shop):
    shop.configure(every="1s", projects=["no-such"])
    process = shop.keep(shop.port)
    await until(lambda: shop.user.query("SELECT outcome FROM schedules") == [("failed",)])
    code, body = await shop.health()
    assert (code, body["status"], body["jobs"][0]["outcome"]) == (200, "degraded", "failed")
    end = await stopped(process)
    assert end.code == 1
    assert "ERROR enricher.schedule: job nightly" in end.err
    listed = await shop.user.enricher("schedule", "--config", "enricher.yaml", "--list", "--json")
    assert listed.code == 1
    (standing,) = listed.json
    assert (standing["job"], standing["outcome"], standing["last_success_at"]) == ("nightly", "failed", None)
    text = await shop.user.enricher("schedule", "--config", "enricher.yaml", "--list")
    assert "last success  never" in text.out


async def test_what_the_operator_must_mend_is_said_before_anything_waits(shop):
    shop.configure(every="1h")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = await shop.user.enricher("schedule", "--config", "enricher.yaml", "--port", str(port))
    assert f"port {port} on '127.0.0.1' can't be had" in refused.complaint
    (shop.user.folder / "enricher.yaml").write_text("jobs: {adhoc: {}}")
    assert "no job has a schedule" in (await shop.user.enricher("schedule", "--config", "enricher.yaml")).complaint


async def test_a_hangup_has_the_config_read_anew_and_a_wrong_one_refused(shop):
    shop.add("t0")
    shop.configure(every="1h")
    process = shop.keep(shop.port)
    await until(lambda: "health checks on" in process.files[1].read_text())
    config = shop.user.folder / "enricher.yaml"
    right = config.read_text()
    config.write_text(right.replace("every:", "evry:"))
    process.send(signal.SIGHUP)
    await until(lambda: "the changed config is refused" in process.files[2].read_text())
    code, body = await shop.health()
    assert (code, body["status"], body["config"]["state"]) == (200, "degraded", "refused")
    assert "did you mean 'every'?" in body["config"]["problem"]
    config.write_text(right.replace("1h", "1s"))
    process.send(signal.SIGHUP)
    await until(lambda: shop.diffs() == {"t0": 1})
    code, body = await shop.health()
    assert (body["status"], body["config"]["state"], body["jobs"][0]["schedule"]) == ("ok", "current", "every 0:00:01")
    ended = await stopped(process)
    assert ended.code == 0, ended.err
    assert "Traceback" not in ended.err
