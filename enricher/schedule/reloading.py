"""Take up a config that was changed while the schedule is kept: for the runs that come, never for one under way."""

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Literal

from enricher.app import App
from enricher.choosing import Request
from enricher.errors import EnricherError, SetupError
from enricher.metrics import Row
from enricher.progress import Silent
from enricher.run import RunResult
from enricher.schedule.keeping import LOOK_S, Schedule, any_of, entries_of
from enricher.settings import Settings, fingerprint, load
from enricher.verdict import Noun

log = logging.getLogger("enricher.schedule")

_SETTLED_S = 0.5  # without a change; an editor may still be writing
_NEEDS_RESTART = ("store", "health", "local_only")  # what the process has once, from its start


class ConfigStanding(Noun):
    """Which config counts, for people, health checks and monitors."""

    path: str
    state: Literal["current", "refused"]  # refused: the file was changed, and the config before still counts
    loaded_at: datetime  # the config that counts
    refused_at: datetime | None = None
    problem: str = ""


class LiveApp:
    """The app of the config as it is now; a run keeps the one that it began with to its end."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._uses: Counter[int] = Counter()
        self._closing: set[asyncio.Task[None]] = set()

    @property
    def settings(self) -> Settings:
        """Return the config that counts."""
        return self._app.settings

    async def run(self, name: str, stop: asyncio.Event) -> RunResult:
        """Run a job now, by the config that counts now."""
        async with self._used() as app:
            return await app.run(name, Request(), Silent(), stop)

    def replace(self, app: App) -> None:
        """Let runs begin with this app from now on; the old one is closed when nothing uses it."""
        old, self._app = self._app, app
        self._close_unused(old)

    async def aclose(self) -> None:
        """Close the apps that are open."""
        await asyncio.gather(*self._closing)
        await self._app.aclose()

    @contextlib.asynccontextmanager
    async def _used(self) -> AsyncIterator[App]:
        app = self._app
        self._uses[id(app)] += 1
        try:
            yield app
        finally:
            self._uses[id(app)] -= 1
            if app is not self._app:
                self._close_unused(app)

    def _close_unused(self, app: App) -> None:
        if not self._uses[id(app)]:
            del self._uses[id(app)]
            task = asyncio.create_task(app.aclose())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)


class ConfigWatch:
    """Looks at the config file now and then, and when it is told to.

    Args:
        path: the file.
        live: whose app is replaced.
        schedule: whose entries are replaced.
        clock: tells the time.
    """

    def __init__(self, path: Path, live: LiveApp, schedule: Schedule, clock: Callable[[], datetime]) -> None:
        self._path = path
        self._live = live
        self._schedule = schedule
        self._clock = clock
        self._seen = fingerprint(self._path)
        self.told = asyncio.Event()  # set it to have the file read at once, changed or not
        self.standing = ConfigStanding(path=str(path), state="current", loaded_at=clock())

    async def watch(self, stop: asyncio.Event, look_s: float = LOOK_S) -> None:
        """Look until `stop` is set."""
        while not stop.is_set():
            async with any_of(stop, self.told) as waking:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(waking.wait(), look_s)
            if not stop.is_set():
                await self.look()

    async def look(self) -> None:
        """Take up the file if it was changed."""
        is_told = self.told.is_set()
        self.told.clear()
        if is_told or await self._has_changed():
            try:
                await self._reload()
            except EnricherError as error:
                self._refuse(str(error))
            except Exception as error:
                # A bug in what a new config asks for must not end the nights of the old one.
                log.exception("the config can't be taken up")
                self._refuse(f"{type(error).__name__}: {error}")

    def metrics(self) -> Iterator[Row]:
        """Yield how the config stands, for monitors."""
        yield "enricher_config_current", (), float(self.standing.state == "current")
        yield "enricher_config_loaded_timestamp_seconds", (), self.standing.loaded_at.timestamp()

    async def _has_changed(self) -> bool:
        now = fingerprint(self._path)
        while now != self._seen:
            await asyncio.sleep(_SETTLED_S)
            before, now = now, fingerprint(self._path)
            if before == now:
                return now != self._seen
        return False

    async def _reload(self) -> None:
        self._seen = fingerprint(self._path)
        settings = await asyncio.to_thread(load, self._path)
        self._require_same(settings)
        entries = entries_of(settings, self._live.run)
        app = await App.open(settings)
        try:
            await check_entries(app, [entry.name for entry in entries])
            await self._schedule.adopt(entries)
        except BaseException:
            await app.aclose()
            raise
        self._live.replace(app)
        self.standing = ConfigStanding(path=str(self._path), state="current", loaded_at=self._clock())
        names = ", ".join(entry.name for entry in entries)
        log.info("the config %s was read anew and counts from the next run on; jobs: %s", self._path, names)

    def _require_same(self, settings: Settings) -> None:
        changed = [name for name in _NEEDS_RESTART if getattr(settings, name) != getattr(self._live.settings, name)]
        if changed:
            raise SetupError(f"{' and '.join(changed)} can't change while the schedule is kept; restart it")

    def _refuse(self, problem: str) -> None:
        loaded_at = self.standing.loaded_at
        self.standing = ConfigStanding(
            path=str(self._path), state="refused", loaded_at=loaded_at, refused_at=self._clock(), problem=problem
        )
        log.error("the changed config is refused, and that of %s still counts: %s", loaded_at.isoformat(), problem)


async def check_entries(app: App, names: list[str]) -> None:
    """Say what is wrong with a job now and not at night.

    Raises:
        SetupError: a job can't be composed.
    """
    for name in names:
        async with app.plan(name):
            pass
