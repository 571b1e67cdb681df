"""`enricher schedule`: keep the times of the jobs, or show them."""

import asyncio
import logging
from typing import TYPE_CHECKING, Annotated

import typer

from enricher.commands.console import DONE, INCOMPLETE, AsJson, ConfigFile, end_with, print_json

if TYPE_CHECKING:
    from enricher.schedule import Standing
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
    end_with(_list(settings, as_json) if listing else _keep(settings, host, port))


async def _keep(settings: "Settings", host: str | None, port: int | None) -> int:
    from enricher.app import App, stop_on_signals
    from enricher.health import health_app
    from enricher.listening import answer, listener
    from enricher.metrics import metrics_route
    from enricher.schedule import Schedule, entries_of

    logging.getLogger("enricher").setLevel(logging.INFO)  # who runs unattended leaves a trail
    stop = asyncio.Event()
    async with await App.open(settings) as app:
        entries = entries_of(app)
        for entry in entries:  # what is wrong with a job is said now and not at night
            async with app.plan(entry.name):
                pass
        kept = Schedule(app.store, entries)
        health = settings.health
        with listener(host or health.host, health.port if port is None else port) as on, stop_on_signals(stop):
            ended = asyncio.Event()
            answering = asyncio.create_task(
                answer(
                    health_app(kept, [metrics_route(app.store)]),
                    on,
                    ended,
                    lambda url: print(f"health checks on {url}/health", flush=True),
                )
            )
            try:
                await kept.keep(stop)
                standings = await kept.standings()
            finally:
                ended.set()
                await answering
    return DONE if all(standing.is_well for standing in standings) else INCOMPLETE


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
