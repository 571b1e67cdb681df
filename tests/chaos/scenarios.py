"""Draw scenarios from a seed, play them, and hold what is left against the invariants."""

import asyncio
import random
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.acceptance.command import Process
from tests.chaos import invariants
from tests.chaos.faults import (
    ClockJump,
    DiskFull,
    Fault,
    Gone,
    Locked,
    Moment,
    Raving,
    Revoked,
    Signal,
    Troubled,
    can_mount,
    drawn_troubles,
    has_faketime,
)
from tests.chaos.world import Stage, World, made_world, until

Task = asyncio.Task[Any]

_SCHEDULED_S = 60.0  # how long a schedule is left alone
_MOST_RUNS = 6  # that may be needed once nothing goes wrong any more
_KINDS = (
    ("killed", 20),
    ("stopped", 6),
    ("platform", 22),
    ("model", 16),
    ("raving", 8),
    ("revoked", 8),
    ("locked", 6),
    ("gone", 8),
    ("disk", 8),
    ("clock", 8),
)


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """Everything that is drawn; the same seed and number give the same one."""

    seed: int
    number: int
    kind: str
    platform: str
    store: str
    engine: str
    runner: str
    traces: int
    rounds: tuple[tuple[Fault, ...], ...]  # the faults of each run; after the last one nothing goes wrong


@dataclass(kw_only=True)
class Played:
    """What came of a scenario."""

    scenario: Scenario
    seconds: float
    runs: int = 0
    peak_mb: float = 0.0
    struck: dict[str, int] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)
    skipped: str | None = None


def drawn(seed: int, number: int, kind: str | None = None) -> Scenario:
    """Draw a scenario."""
    chance = random.Random(f"{seed}:{number}")
    kinds, weights = zip(*_KINDS, strict=True)
    kind = kind or chance.choices(kinds, weights)[0]
    platform = chance.choices(("phoenix", "langsmith", "files"), (55, 30, 15))[0]
    store = chance.choices(("sqlite", "postgres"), (70, 30))[0]
    engine = chance.choices(("openai", "local"), (75, 25))[0]
    runner = chance.choices(("run", "schedule"), (85, 15))[0]
    if kind in ("model", "raving"):
        engine = "openai"
    if kind == "platform" and platform == "files":
        platform = "phoenix"
    if kind in ("disk",):
        store = "sqlite"
    if kind in ("disk", "revoked", "stopped", "clock"):
        runner = "run"
    traces = chance.randint(5, 14)
    rounds = tuple(
        _faults(kind, chance, platform, store, traces)
        for _ in range(1 if kind in ("clock", "locked", "gone", "disk") else chance.randint(1, 3))
    )
    return Scenario(
        seed=seed, number=number, kind=kind, platform=platform, store=store, engine=engine, runner=runner,
        traces=traces, rounds=rounds,
    )  # fmt: skip


def _faults(kind: str, chance: random.Random, platform: str, store: str, traces: int) -> tuple[Fault, ...]:
    at = Moment.drawn(chance, traces)
    late = Moment.drawn(chance, traces, late=True)
    made: tuple[Fault, ...]
    if kind == "killed":
        made = (Signal(at=at),)
        if chance.random() < 0.3:
            made = (*made, _troubled(chance, chance.choice(("platform", "model"))))
    elif kind == "stopped":
        made = (Signal(at=at, number=chance.choice((signal.SIGTERM, signal.SIGINT))),)
        if chance.random() < 0.3:
            made = (*made, Signal(at=Moment.drawn(chance, traces), number=signal.SIGINT))
    elif kind in ("platform", "model"):
        made = (_troubled(chance, kind),)
    elif kind == "raving":
        made = (Raving(share=chance.choice((0.3, 0.7, 1.0))),)
    elif kind == "revoked":
        made = (Revoked(whose=chance.choice(("platform", "model")), at=at),)
    elif kind == "locked":
        seconds = chance.choices((0.5, 3.0, 8.0, 36.0), (4, 4, 2, 1))[0]
        made = (Locked(at=late, seconds=seconds),)
    elif kind == "gone":
        how = chance.choice(("stopped", "frozen", "cut") if store == "postgres" else ("renamed", "deleted"))
        made = (Gone(at=late, how=how, seconds=chance.choices((0.5, 3.0, 8.0, 36.0), (4, 4, 2, 1))[0]),)
    elif kind == "disk":
        made = (DiskFull(at=Moment.drawn(chance, traces, late=True), how=chance.choice(("tmpfs", "limit"))),)
    else:
        jump = chance.choice((61, 90, 200, 4000, 100_000, -61, -200, -4000, -100_000))
        made = (ClockJump(at=at, seconds=jump, rival=chance.random() < 0.5),)
    return made


def _troubled(chance: random.Random, whose: str) -> Troubled:
    return Troubled(
        whose=whose,
        troubles=drawn_troubles(chance),
        share=chance.choice((0.1, 0.3, 0.6, 1.0)),
        most=chance.choice((1, 3, 10, 40)),
        seed=chance.randrange(2**32),
    )


async def play(scenario: Scenario, stage: Stage, folder: Path) -> Played:
    """Play one."""
    began = time.monotonic()
    played = Played(scenario=scenario, seconds=0.0)
    if reason := _why_impossible(scenario):
        played.skipped = reason
        return played
    chance = random.Random(f"{scenario.seed}:{scenario.number}:played")
    options = {name: getattr(scenario, name) for name in ("platform", "store", "engine", "runner", "traces")}
    has_small_disk = any(isinstance(f, DiskFull) and f.how == "tmpfs" for faults in scenario.rounds for f in faults)
    async with made_world(
        stage, folder, chance, **options, has_clock=scenario.kind == "clock", has_small_disk=has_small_disk
    ) as world:
        for faults in scenario.rounds:
            await _round(world, faults)
        await _finish(world)
        world.violations += await invariants.broken(world, is_raving=scenario.kind == "raving")
        played.violations, played.peak_mb, played.runs = world.violations, world.peak_mb, len(world.ended)
        for wire in (world.platform_wire, world.model_wire):
            for trouble in wire.met if wire is not None else ():
                played.struck[trouble] = played.struck.get(trouble, 0) + 1
    played.seconds = time.monotonic() - began
    return played


def _why_impossible(scenario: Scenario) -> str | None:
    faults = [fault for faults in scenario.rounds for fault in faults]
    if any(isinstance(fault, ClockJump) for fault in faults) and not has_faketime():
        return "libfaketime is not installed"
    if any(isinstance(fault, DiskFull) and fault.how == "tmpfs" for fault in faults) and not can_mount():
        return "only root can mount a small file system"
    return None


async def _round(world: World, faults: tuple[Fault, ...]) -> None:
    command = "schedule" if world.runner == "schedule" else "run"
    process = world.start(command, *(("--port", "0") if command == "schedule" else ()))
    striking = [asyncio.create_task(fault.strike(world, process)) for fault in faults]
    ending = asyncio.create_task(world.ending(process))
    if command == "schedule":
        await _until_scheduled(world, process, ending, striking, faults)
    await ending
    for task in striking:
        task.cancel()
    for problem in await asyncio.gather(*striking, return_exceptions=True):
        if isinstance(problem, Exception):
            raise problem
    for fault in faults:
        await fault.mend(world)
    await asyncio.gather(*world.beside)
    world.note_settled()


async def _until_scheduled(
    world: World, process: Process, ending: Task, striking: list[Task], faults: tuple[Fault, ...]
) -> None:
    """Let the schedule go on until the faults are over and its work is done, unless it ended; then stop it."""
    struck = asyncio.gather(*striking, return_exceptions=True)
    await asyncio.wait([ending, struck], return_when=asyncio.FIRST_COMPLETED, timeout=_SCHEDULED_S)
    if not ending.done():
        for fault in faults:
            await fault.mend(world)
        await until(lambda: ending.done() or _is_done(world), _SCHEDULED_S)
        process.send(signal.SIGTERM)


def _is_done(world: World) -> bool:
    is_open = "state IN ('due', 'deferred')"
    open_write_backs = world.ledger.count("outbox", "state NOT IN ('confirmed', 'failed')")
    still = sum(case.ends == "deferred" and world.place.base_url != "" for case in world.cases)
    return world.progress("settled") > 0 and not open_write_backs and world.ledger.count("refs", is_open) <= still


async def _finish(world: World) -> None:
    """Run until a run is content, as a night follows the other."""
    for _ in range(_MOST_RUNS):
        # Hours pass between two nights: what was put off by minutes is due.
        invariants.let_time_pass(world)
        finished = await world.ending(world.start())
        world.note_settled()
        if finished.code == 0 or (finished.code == 1 and finished.out and _only_failed(finished.json)):
            return
    world.violations.append(f"no run of {_MOST_RUNS} came to its end: {finished.err[-300:]} {finished.out[-600:]}")


def _only_failed(report: dict[str, Any]) -> bool:
    unfinished = ("unwritten", "undelivered", "left", "problems")
    if report["state"] != "finished" or any(report[name] for name in unfinished):
        return False
    # On a busy machine the model is too slow for the patience of a scenario; such a trace stays due.
    return "JUDGE_UNAVAILABLE" not in report["judged"]
