"""What happens to a run: each fault strikes a process under way, and can be mended afterwards."""

import asyncio
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tests.acceptance.command import Process
from tests.chaos.world import World, faked, set_clock, until
from tests.servers.troubled import Trouble, TroubledProxy

WORDS = ("chosen", "settled", "confirmed")
_REQUESTS = ("platform asked", "platform answered", "model asked", "model answered")


@dataclass(frozen=True, kw_only=True)
class Moment:
    """When a fault strikes: after some seconds, when a run has come so far, or at its n-th request."""

    what: str  # "time", one of WORDS, or of the requests
    number: float

    @classmethod
    def drawn(cls, chance: random.Random, traces: int, *, late: bool = False) -> "Moment":
        """Draw one; a late one is not before something was settled."""
        what = chance.choice(("settled", "confirmed") if late else ("time", *WORDS, *_REQUESTS))
        if what == "time":
            return cls(what=what, number=round(chance.uniform(0.0, 1.5), 2))
        most = {"chosen": 1, "confirmed": max(1, traces // 2)}.get(what, traces if what in WORDS else 2 * traces)
        return cls(what=what, number=chance.randint(1, most))

    async def comes(self, world: World, act: Callable[[], None]) -> None:
        """Call `act` at that moment, at once when it is passed; wait until then."""
        if self.what == "time":
            await asyncio.sleep(self.number)
            act()
        elif self.what in WORDS:
            before = world.progress(self.what)
            await until(lambda: world.progress(self.what) >= before + self.number, 600)
            act()
        else:
            await self._request(world, act)

    async def _request(self, world: World, act: Callable[[], None]) -> None:
        whose, moment = self.what.split()
        wire = world.platform_wire if whose == "platform" else world.model_wire
        done, seen = asyncio.Event(), 0

        def watch(then: str, request: str) -> None:
            nonlocal seen
            seen += then == moment
            if seen >= self.number and not done.is_set():
                act()
                done.set()

        if wire is None:
            act()
            return
        wire.watch = watch
        try:
            await done.wait()
        finally:
            wire.watch = lambda moment, request: None


class Fault(Protocol):
    """Something that goes wrong; a frozen dataclass, so that its text tells how to do it again."""

    async def strike(self, world: World, process: Process) -> None:
        """Do it to a process under way; cancelled when the process has ended."""
        ...

    async def mend(self, world: World) -> None:
        """End it, whether or not it came to strike."""
        ...


class _MendsItself:
    async def mend(self, world: World) -> None:
        """Do nothing."""


@dataclass(frozen=True, kw_only=True)
class Signal(_MendsItself):
    """The process is sent a signal."""

    at: Moment
    number: signal.Signals = signal.SIGKILL

    async def strike(self, world: World, process: Process) -> None:
        """Send it."""
        await self.at.comes(world, lambda: process.send(self.number))


@dataclass(frozen=True, kw_only=True)
class Troubled:
    """A server behind a wire fails some requests in one way, or in several."""

    whose: str  # platform, model
    troubles: tuple[Trouble, ...]
    share: float  # of the requests
    most: int  # then it is over
    seed: int

    async def strike(self, world: World, process: Process) -> None:
        """Begin at once."""
        wire = self._wire(world)
        if wire is None:
            return
        chance, left = random.Random(self.seed), self.most

        def choose(request: str) -> Trouble | None:
            nonlocal left
            if left <= 0 or chance.random() >= self.share:
                return None
            left -= 1
            return chance.choice(self.troubles)

        wire.choose = choose

    async def mend(self, world: World) -> None:
        """Let everything pass."""
        if (wire := self._wire(world)) is not None:
            wire.choose = lambda request: None

    def _wire(self, world: World) -> TroubledProxy | None:
        return world.platform_wire if self.whose == "platform" else world.model_wire


@dataclass(frozen=True, kw_only=True)
class Revoked:
    """A key is not accepted any more from some moment on, until people mend it."""

    whose: str
    at: Moment

    async def strike(self, world: World, process: Process) -> None:
        """Refuse everything from then on."""
        wire = world.platform_wire if self.whose == "platform" else world.model_wire

        def refuse() -> None:
            if wire is not None:
                wire.choose = lambda request: Trouble.REVOKED

        await self.at.comes(world, refuse)

    async def mend(self, world: World) -> None:
        """Accept it again."""
        for wire in (world.platform_wire, world.model_wire):
            if wire is not None:
                wire.choose = lambda request: None


@dataclass(frozen=True, kw_only=True)
class Raving:
    """A share of the model's answers are no verdicts."""

    share: float

    async def strike(self, world: World, process: Process) -> None:
        """Begin at once."""
        world.model.raves = self.share

    async def mend(self, world: World) -> None:
        """Let it answer."""
        world.model.raves = 0.0


@dataclass(frozen=True, kw_only=True)
class Locked(_MendsItself):
    """Somebody else locks the store for some seconds."""

    at: Moment
    seconds: float

    async def strike(self, world: World, process: Process) -> None:
        """Hold the lock of SQLite's writers, or of the tables in PostgreSQL."""
        ready = asyncio.Event()
        await self.at.comes(world, ready.set)
        holding = threading.Thread(target=self._hold, args=(world, letting_go := threading.Event()))
        holding.start()
        try:
            await asyncio.sleep(self.seconds)
        finally:
            letting_go.set()
            await asyncio.to_thread(holding.join)

    def _hold(self, world: World, letting_go: threading.Event) -> None:
        ledger = world.ledger
        if ledger.postgres is not None and ledger.schema is not None:
            with ledger.postgres.connect(ledger.schema) as connection, connection.transaction():
                connection.execute("LOCK TABLE evaluations, outbox, refs, leases, runs IN ACCESS EXCLUSIVE MODE")
                ledger.is_away = True
                letting_go.wait()
                ledger.is_away = False
            return
        with suppress(sqlite3.Error):
            connection = sqlite3.connect(ledger.place, timeout=10, isolation_level=None)
            connection.execute("BEGIN EXCLUSIVE")
            letting_go.wait()
            connection.execute("ROLLBACK")
            connection.close()


@dataclass(frozen=True, kw_only=True)
class Gone:
    """The store goes away: PostgreSQL is stopped, hangs or loses its sessions; the file is renamed or deleted."""

    at: Moment
    how: str  # stopped, frozen, cut; renamed, deleted
    seconds: float

    async def strike(self, world: World, process: Process) -> None:
        """Take it away; a server comes back after some seconds, a file when it is mended."""
        ready = asyncio.Event()
        await self.at.comes(world, ready.set)
        ledger = world.ledger
        if self.how in ("renamed", "deleted"):
            self._take_file(world)
            return
        assert ledger.postgres is not None
        if self.how == "cut":
            with ledger.postgres.connect() as connection:
                connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE application_name = 'trace-enricher' AND pid <> pg_backend_pid()"
                )
            return
        ledger.forget()
        ledger.is_away = True
        try:
            if self.how == "stopped":
                await asyncio.to_thread(ledger.postgres.stop)
            else:
                ledger.postgres.freeze()
            await asyncio.sleep(self.seconds)
        finally:
            await self.mend(world)

    async def mend(self, world: World) -> None:
        """Bring it back."""
        ledger = world.ledger
        if ledger.postgres is not None:
            if ledger.is_away and self.how == "stopped":
                await asyncio.to_thread(ledger.postgres.start)
            if ledger.is_away and self.how == "frozen":
                ledger.postgres.thaw()
            ledger.is_away = False
            return
        away = world.folder / "away"
        if away.exists() and self.how == "renamed":
            ledger.forget()
            for file in away.iterdir():
                file.replace(ledger.place.parent / file.name)
            away.rmdir()

    def _take_file(self, world: World) -> None:
        away = world.folder / "away"
        away.mkdir(exist_ok=True)
        for file in list(world.ledger.place.parent.glob("store.db*")):
            with suppress(FileNotFoundError):
                file.replace(away / file.name)
        world.ledger.forget()
        if self.how == "deleted":
            shutil.rmtree(away)
            # What was settled is gone with it; what is on the platform must still be there once.
            world.settled.clear()


@dataclass(frozen=True, kw_only=True)
class DiskFull:
    """No byte more can be written where the store is: a full file system, or a file that may not grow."""

    at: Moment
    how: str  # tmpfs, limit

    async def strike(self, world: World, process: Process) -> None:
        """Fill it up."""
        ready = asyncio.Event()
        await self.at.comes(world, ready.set)
        if self.how == "limit":
            largest = max((file.stat().st_size for file in world.ledger.place.parent.glob("store.db*")), default=0)
            with suppress(ProcessLookupError):
                resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (largest, largest))
            return
        filler = world.ledger.place.parent / "filler"
        with suppress(OSError), filler.open("wb", buffering=0) as stream:
            while True:
                stream.write(b"\0" * 4096)

    async def mend(self, world: World) -> None:
        """Make room."""
        (world.ledger.place.parent / "filler").unlink(missing_ok=True)


@dataclass(frozen=True, kw_only=True)
class ClockJump:
    """The machine's clock jumps; another process then asks for the same job."""

    at: Moment
    seconds: int
    rival: bool

    async def strike(self, world: World, process: Process) -> None:
        """Move the clock of every process of this scenario."""
        ready = asyncio.Event()
        await self.at.comes(world, ready.set)
        assert world.clock_file is not None
        set_clock(world.clock_file, self.seconds)
        world.ahead_s = self.seconds
        if self.rival:
            world.beside.append(asyncio.create_task(self._rival(world, process)))

    async def _rival(self, world: World, process: Process) -> None:
        was_under_way = not _has_ended(process)
        rival = world.user.start("run", "--config", "enricher.yaml", "--json", is_fresh=True, **world.env)
        finished = await world.ending(rival)
        if was_under_way and not _has_ended(process) and finished.code == 0 and finished.json["state"] != "skipped":
            world.violations.append("a lease was taken from a process that lives, because the clock jumped")

    async def mend(self, world: World) -> None:
        """Leave a clock that went forward where it is: the next runs go on from there."""
        if world.clock_file is not None and self.seconds < 0:
            set_clock(world.clock_file, 0)


def has_faketime() -> bool:
    """Tell whether libfaketime is installed."""
    env = {**faked(Path("/dev/null")), "FAKETIME": "1999-01-01 00:00:00"}
    del env["FAKETIME_TIMESTAMP_FILE"]
    asked = subprocess.run(["/bin/date", "+%Y"], env=env, capture_output=True, text=True, check=False)
    return asked.stdout.strip() == "1999"


def can_mount() -> bool:
    """Tell whether small file systems can be mounted here."""
    return os.geteuid() == 0 and shutil.which("mount") is not None


def _has_ended(process: Process) -> bool:
    try:
        with open(f"/proc/{process.pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def drawn_troubles(chance: random.Random, of: Sequence[Trouble] = tuple(Trouble)) -> tuple[Trouble, ...]:
    """Draw one kind of trouble, or a mixture."""
    kinds = [kind for kind in of if kind is not Trouble.REVOKED]
    return tuple(chance.sample(kinds, chance.choice((1, 1, 1, 2, len(kinds)))))
