"""What a scenario plays in: a platform and a model behind troubled wires, a store, and processes that are watched."""

import asyncio
import json
import os
import random
import signal
import sqlite3
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.acceptance.command import Finished, Process, Starter, User
from tests.chaos.places import JUDGED, Case, InFiles, OnLangSmith, OnPhoenix, Place, made_cases
from tests.servers.openai import Answer, OpenAIServer, Raw, Request, Say
from tests.servers.oracle import answer as fair_answer
from tests.servers.postgres import Postgres
from tests.servers.troubled import TroubledProxy

RUN_WITHIN_S = 150.0  # of one process, whatever happens to it
MOST_RSS_MB = 350
_POLL_S = 0.005
_DISK = "4m"
_OWN_KEY = "sk-of-the-scenario"


@dataclass(kw_only=True)
class Ledger:
    """The store of a scenario, looked into without the product's code."""

    place: Path
    schema: str | None = None
    postgres: Postgres | None = None
    is_away: bool = False  # then nothing is asked, because nothing would answer
    _connection: Any = None

    @property
    def url(self) -> str:
        """Return what the config says."""
        if self.postgres is not None and self.schema is not None:
            return self.postgres.url(self.schema)
        return f"sqlite:///{self.place.relative_to(self.place.parents[1])}"

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """Return rows; none while the store or its tables are not there."""
        if self.is_away:
            return []
        try:
            if self._connection is None:
                self._connection = self._opened()
            return [tuple(row) for row in self._connection.execute(sql).fetchall()] if self._connection else []
        except Exception as error:
            self.forget()
            if isinstance(error, sqlite3.Error) or type(error).__module__.startswith("psycopg"):
                return []
            raise

    def count(self, table: str, condition: str = "1 = 1") -> int:
        """Count rows."""
        return next((row[0] for row in self.query(f"SELECT count(*) FROM {table} WHERE {condition}")), 0)

    def change(self, sql: str) -> None:
        """Change something as the passing of time would."""
        if self.postgres is not None and self.schema is not None:
            with self.postgres.connect(self.schema) as connection:
                connection.execute(sql)
            return
        with sqlite3.connect(self.place, timeout=30) as connection:
            connection.execute(sql)
        connection.close()

    def forget(self) -> None:
        """Close the connection; the next question opens another one."""
        if self._connection is not None:
            with suppress(Exception):
                self._connection.close()
        self._connection = None

    def _opened(self) -> Any:
        if self.postgres is not None and self.schema is not None:
            return self.postgres.connect(self.schema)
        return sqlite3.connect(f"file:{self.place}?mode=ro", uri=True) if self.place.exists() else None


class Model(OpenAIServer):
    """A fair model; while it raves, some of its answers are no verdicts."""

    def __init__(self) -> None:
        super().__init__()
        self.raves = 0.0  # share of the answers
        self.chance = random.Random(0)
        self.default = self._answer
        self.spoilt: list[str] = []  # prompts that got no fair answer

    def _answer(self, request: Request) -> Answer:
        text = fair_answer(request.prompt)
        if self.chance.random() >= self.raves:
            return Say(text)
        self.spoilt.append(request.prompt)
        return self.chance.choice(
            [
                Say(text[: len(text) // 2]),
                Say(text + text),
                Say("I think it is fine."),
                Say(""),
                Say(None),
                Say(None, refusal="I can't help with that."),
                Say("{}"),
                Say('{"segments": []}'),
                Say(text[: len(text) // 3], finish_reason="length"),
                Say(text, finish_reason="content_filter"),
                Say("[" * 20_000),
                Raw("{}"),
                Raw('{"choices": []}'),
                Raw('{"choices": [{"message": null}]}'),
                Raw("<html>"),
            ]
        )


@dataclass(kw_only=True)
class Stage:
    """What scenarios share because it is expensive to start."""

    starter: Starter
    open_phoenix: Callable[[], Any]  # -> PhoenixServer
    open_postgres: Callable[[], Postgres]
    open_clock: Callable[[], tuple[Starter, Path]]  # a starter of processes whose clock a file moves


@dataclass(kw_only=True)
class World:
    """One scenario's surroundings."""

    folder: Path
    user: User
    place: Place
    ledger: Ledger
    model: Model
    platform_wire: TroubledProxy | None
    model_wire: TroubledProxy
    cases: list[Case]
    chance: random.Random
    runner: str
    within_s: float = RUN_WITHIN_S
    clock_file: Path | None = None
    env: dict[str, str] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)
    beside: list[asyncio.Task[Any]] = field(default_factory=list)  # other processes, which are waited for
    ahead_s: int = 0  # how far the clock was moved
    ended: list[Finished] = field(default_factory=list)
    settled: dict[str, tuple[Any, ...]] = field(default_factory=dict)  # evaluations that were settled when a run ended
    asked_before: int = 0  # requests to the model until then
    asked_again: set[str] = field(default_factory=set)  # words of cases that were judged after they were settled
    peak_mb: float = 0.0

    def judged(self) -> list[Case]:
        """Return the traces that must be judged."""
        return [case for case in self.cases if case.ends == JUDGED]

    def progress(self, what: str) -> int:
        """Count how far the run has come."""
        if what == "chosen":
            return self.ledger.count("refs")
        if what == "settled":
            return self.ledger.count("evaluations")
        return self.ledger.count("outbox", "state = 'confirmed'")

    def start(self, command: str = "run", *more: str) -> Process:
        """Start the product."""
        options = ["--json"] if command == "run" else []
        return self.user.start(command, "--config", "enricher.yaml", *options, *more, **self.env)

    async def ending(self, process: Process) -> Finished:
        """Wait for the end of a process, with an eye on its memory."""
        waiting = asyncio.create_task(self._end_of(process))
        while not waiting.done():
            self._look_at_memory(process.pid)
            await asyncio.wait([waiting], timeout=0.05)
        try:
            finished = waiting.result()
        except TimeoutError:
            self.violations.append(f"a process did not end within {self.within_s:g} s")
            process.send(signal.SIGKILL)
            finished = await process.wait()
        self.ended.append(finished)
        self._look_at(finished)
        return finished

    async def _end_of(self, process: Process) -> Finished:
        """Wait for the end; the limit leaves out for how long a busy machine had no core for those who were to work."""
        involved = [pid for pid in (process.pid, os.getpid(), self.place.pid) if pid is not None]
        before, left_s, given_s = sum(map(held_back_s, involved)), self.within_s, 0.0
        while True:
            try:
                return await process.wait(within_s=left_s)
            except TimeoutError:
                left_s = sum(map(held_back_s, involved)) - before - given_s
                if left_s < 1.0:
                    raise
                given_s += left_s

    def _look_at_memory(self, pid: int) -> None:
        with suppress(OSError, StopIteration):
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
            high = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
            self.peak_mb = max(self.peak_mb, high / 1024)

    def _look_at(self, finished: Finished) -> None:
        if "Traceback" in finished.err:
            self.violations.append(f"a traceback: {finished.err[-1500:]}")
        # A signal may come before the process listens to it, or when it listens no more.
        if finished.code not in (0, 1, 2, 130, -signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT):
            self.violations.append(f"exit code {finished.code}: {finished.err[-300:]}")
        if finished.code == 2 and not finished.err.startswith("enricher: "):
            self.violations.append(f"exit code 2 without a sentence: {finished.err[-300:]}")

    def note_settled(self) -> None:
        """Remember what is settled now: none of it may be judged again or change. See what the last run asked again."""
        done = {row[0] for row in self.settled.values()}
        cases = [case for case in self.cases if case.trace_id in done]
        self.asked_again |= words_in(self.model.requests[self.asked_before :], cases)
        for id_, row in self.verdicts().items():
            self.settled.setdefault(id_, row)
        self.asked_before = len(self.model.requests)

    def verdicts(self) -> dict[str, tuple[Any, ...]]:
        """Return the verdicts in the store by id."""
        sql = "SELECT id, trace_id, settled_at, status, verdict FROM evaluations WHERE is_verdict"
        return {row[0]: row[1:] for row in self.ledger.query(sql)}

    def reports(self) -> list[dict[str, Any]]:
        """Return the reports of all runs that have one."""
        rows = self.ledger.query("SELECT report FROM runs WHERE report IS NOT NULL ORDER BY started_at")
        found = [json.loads(row[0]) if isinstance(row[0], str) else row[0] for row in rows]
        return [report for report in found if report]


def held_back_s(pid: int) -> float:
    """Return for how many seconds the first thread of a process was ready and had to wait for a core."""
    with suppress(OSError):
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9
    return 0.0


def faked(file: Path) -> dict[str, str]:
    """Return the environment in which libfaketime shifts the wall clock by what a file says, and no other clock."""
    return {
        "LD_PRELOAD": "libfaketimeMT.so.1",
        "LD_LIBRARY_PATH": "/usr/lib/x86_64-linux-gnu/faketime",
        "FAKETIME_TIMESTAMP_FILE": str(file),
        "FAKETIME_CACHE_DURATION": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "DONT_FAKE_MONOTONIC": "1",
    }


def set_clock(file: Path, seconds: int) -> None:
    """Move the clock of the processes that look at this file; in one step, because they read it all the time."""
    new = file.with_name("new")
    new.write_text(f"{seconds:+d}\n")
    new.replace(file)


async def until(holds: Callable[[], Any], within_s: float) -> bool:
    """Wait until something holds; False when it did not in time."""
    deadline = time.monotonic() + within_s
    while not holds():
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(_POLL_S)
    return True


@asynccontextmanager
async def made_world(
    stage: Stage, folder: Path, chance: random.Random, *, platform: str, store: str, engine: str, runner: str,
    traces: int, has_clock: bool = False, has_small_disk: bool = False,
) -> AsyncIterator[World]:  # fmt: skip
    """Make the surroundings of one scenario, with its traces sent."""
    async with AsyncExitStack() as stack:
        place: Place = (
            OnPhoenix(stage.open_phoenix()) if platform == "phoenix"
            else OnLangSmith() if platform == "langsmith" else InFiles(folder)
        )  # fmt: skip
        stack.push_async_callback(place.aclose)
        model = await stack.enter_async_context(Model().running())
        model.chance = random.Random(chance.random())
        wires = [TroubledProxy(url) if url else None for url in (place.base_url, model.url)]
        for wire in wires:
            if wire is not None:
                await stack.enter_async_context(wire.running())
        postgres = stage.open_postgres() if store == "postgres" else None
        (folder / "store").mkdir()
        if has_small_disk:
            stack.enter_context(_mounted(folder / "store"))
        ledger = Ledger(
            place=folder / "store" / "store.db", postgres=postgres, schema=postgres.new_schema() if postgres else None
        )
        stack.callback(ledger.forget)
        starter, clock_file = stage.starter, None
        if has_clock:
            starter, clock_file = stage.open_clock()
            set_clock(clock_file, 0)
        user = User(folder, starter)
        stack.callback(user.close)
        assert wires[1] is not None
        world = World(
            folder=folder, user=user, place=place, ledger=ledger, model=model, platform_wire=wires[0],
            model_wire=wires[1], cases=await place.seed(made_cases(traces)), chance=chance, runner=runner,
            clock_file=clock_file, env={"OPENAI_API_KEY": _OWN_KEY, **(faked(clock_file) if clock_file else {})},
        )  # fmt: skip
        if place.key:
            world.env["LANGSMITH_API_KEY"] = place.key
        _configure(world, platform, engine)
        yield world


@contextmanager
def _mounted(place: Path) -> Iterator[None]:
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={_DISK}", "tmpfs", place], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", place], check=True)


def _configure(world: World, platform: str, engine: str) -> None:
    wire = world.platform_wire
    connection = world.place.connection(wire.base_url if wire else "", world.folder)
    job: dict[str, Any] = {"connection": platform, "projects": [world.place.project], "rules": [{"name": "all"}]}
    if world.runner == "schedule":
        job["schedule"] = {"every": "1s"}
    patience = {"timeout": "1s", "deadline": "8s", "patience": "3s", "attempts": 4}
    world.user.configure(
        store=world.ledger.url,
        engine=engine,
        openai={"base_url": world.model_wire.base_url, "model": "judge-2026-01-01", **patience},
        concurrency=4,  # so that one moment is not like another
        connections={platform: connection},
        jobs={"nightly": job},
    )


def words_in(requests: Sequence[Request], cases: Sequence[Case]) -> set[str]:
    """Return the words of the cases that requests are about."""
    prompts = [request.prompt for request in requests]
    return {case.word for case in cases if any(case.word in prompt for prompt in prompts)}
