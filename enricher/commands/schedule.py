"""`enricher schedule`: keep the times of the jobs, or show them."""

import asyncio
import contextlib
import logging
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from enricher.commands.console import DONE, INCOMPLETE, AsJson, ConfigFile, end_with, print_json

if TYPE_CHECKING:
    from enricher.schedule import ConfigWatch, Standing
    from enricher.settings import Settings


def schedule(
    config: ConfigFile = None,
    host: Annotated[str | None, typer.Option(help="Address of the health checks; as configured if not given.")] = None,
    port: Annotated[int | None, typer.Option(help="Port of the health checks; 0 takes a free one.")] = None,
    listing: Annotated[bool, typer.Option("--list", help="Show when each job runs next and how it stands.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run the jobs of the config at their times; stays up until Ctrl-C or SIGTERM."""
    from enricher.settings import load

    settings = load(config)
    end_with(_list(settings, as_json) if listing else _keep(settings, config, host, port))


async def _keep(settings: "Settings", config: Path | None, host: str | None, port: int | None) -> int:
    from enricher.app import App, stop_on_signals
    from enricher.health import health_app
    from enricher.listening import answer, listener
    from enricher.metrics import metrics_route
    from enricher.schedule import Alerting, ConfigWatch, LiveApp, Schedule, check_entries, entries_of
    from enricher.store import Store

    logging.getLogger("enricher").setLevel(logging.INFO)  # who runs unattended leaves a trail
    stop, ended = asyncio.Event(), asyncio.Event()
    health = settings.health
    async with contextlib.AsyncExitStack() as stack:
        app = await App.open(settings)
        live = LiveApp(app)
        stack.push_async_callback(live.aclose)
        entries = entries_of(settings, live.run)
        await check_entries(app, [entry.name for entry in entries])
        store = await stack.enter_async_context(await Store.open(settings.store))
        alerting = Alerting(store, lambda: live.settings.alerts)
        kept = Schedule(store, entries, watchers=[alerting])
        watch = ConfigWatch(config, live, kept, store.clock) if config is not None else None
        on = stack.enter_context(listener(host or health.host, health.port if port is None else port))
        stack.enter_context(stop_on_signals(stop))
        stack.enter_context(_reread_on_hangup(watch))
        routes = [metrics_route(store, watch.metrics if watch else None)]
        telling = health_app(kept, routes, (lambda: watch.standing) if watch else None)
        answering = asyncio.create_task(
            answer(telling, on, ended, lambda url: print(f"health checks on {url}/health", flush=True))
        )
        watching = asyncio.create_task(watch.watch(stop)) if watch else None
        try:
            await kept.keep(stop)
            standings = await kept.standings()
        finally:
            ended.set()
            await answering
            if watching is not None:
                watching.cancel()
                await asyncio.wait([watching])
    return DONE if all(standing.is_well for standing in standings) else INCOMPLETE


@contextlib.contextmanager
def _reread_on_hangup(watch: "ConfigWatch | None") -> Iterator[None]:
    """Let SIGHUP have the config read anew; without a file it does nothing, and ends nothing."""
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGHUP, watch.told.set if watch else lambda: None)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGHUP)


async def _list(settings: "Settings", as_json: bool) -> int:
    from enricher.schedule import standings
    from enricher.store import Store

    async with await Store.open(settings.store) as store:
        found = await standings(settings, store)
    if as_json:
        print_json([standing.model_dump(mode="json") for standing in found])
    else:
        for standing in found:
            print("\n".join(_lines(standing)))
    return DONE if all(standing.is_well for standing in found) else INCOMPLETE


def _lines(standing: "Standing") -> list[str]:
    lines = [f"{standing.job} ({standing.schedule})"]
    facts = {
        "next run": standing.next_run,
        "due since": standing.due_since,
        "last success": standing.last_success_at or "never",
        "last outcome": standing.outcome and f"{standing.outcome} at {standing.outcome_at}",
        "because": standing.reason,
        "run": standing.run_id,
    }
    return lines + [f"  {name:<13} {fact}" for name, fact in facts.items() if fact]
