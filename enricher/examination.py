"""Examine everything that a run would need, one check a thing; what can't be looked at fails alone."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from enricher.app import App
from enricher.choosing import Request
from enricher.connecting import connector_of
from enricher.doctor import (
    Check,
    check_clock,
    check_config,
    check_connection,
    check_disk,
    check_extras,
    check_jobs,
    check_models,
    check_prompts,
    check_rules,
    check_secrets,
    check_store,
    check_trust,
    check_webhooks,
)
from enricher.errors import EnricherError
from enricher.executors.local import LocalExecutor
from enricher.measure.standing import standings
from enricher.privacy import guard
from enricher.progress import Silent
from enricher.run import Run
from enricher.seams import Connector
from enricher.settings import Connection, FilesConnection, Settings
from enricher.store import Store
from enricher.store.engine import without_password


async def examine(
    settings: Settings, path: Path | None, environment: Mapping[str, str], *, with_model: bool = False
) -> list[Check]:
    """Check config, machine, platforms, store and jobs.

    Args:
        settings: what is examined.
        path: the file it was read from.
        environment: what was read beside it.
        with_model: ask each model one short question as well, which costs a few tokens.
    """
    guard(settings)
    checks = [
        check_config(settings, path, environment),
        check_secrets(settings),
        check_prompts(settings),
        check_webhooks(settings),
        check_extras(settings),
        check_disk(settings),
    ]
    connectors: dict[str, Connector] = {}
    try:
        for name, section in settings.connections.items():
            checks += await _platform(name, section, connectors)
        try:
            async with await Store.open(settings.store) as store:
                checks.append(await check_store(store, without_password(settings.store)))
                checks.append(check_jobs(settings, await store.schedules(), await store.lease_holders()))
                checks += [check async for check in _jobs(App(settings=settings, store=store, connectors=connectors))]
        except EnricherError as error:
            checks.append(Check(name=f"store {without_password(settings.store)}", ok=False, problems=(str(error),)))
    finally:
        for connector in connectors.values():
            await connector.aclose()
    if with_model:
        checks += await check_models(settings)
    return checks


async def _platform(name: str, section: Connection, connectors: dict[str, Connector]) -> list[Check]:
    """Look at one connection, and keep its connector when it is fit for use."""
    try:
        connector = connector_of(name, section)
    except EnricherError as error:
        return [Check(name=f"connection {name}", ok=False, problems=(str(error),))]
    checks = [await check_connection(connector)]
    if not checks[0].ok:
        await connector.aclose()
        return checks
    connectors[name] = connector
    if not isinstance(section, FilesConnection):
        seconds = section.timeout.total_seconds()
        checks.append(await check_clock(name, section.base_url, partial(datetime.now, UTC), seconds))
    return checks


async def _jobs(app: App) -> AsyncIterator[Check]:
    for name, job in app.settings.jobs.items():
        if job.connection not in app.connectors:
            yield Check(
                name=f"job {name}", ok=False, problems=(f"mend connection {job.connection} first, which is told above",)
            )
            continue
        try:
            async with app.plan(name) as plan:
                provenances = [judging.judge.provenance for judging in plan.pipeline.judges]
                versions = ", ".join(provenance.version for provenance in provenances)
                yield Check(name=f"judges of job {name}", ok=True, facts={"versions": versions})
                yield check_trust(name, await standings(app.store, plan.pipeline.confirmation, provenances))
                run = Run(plan, app.store, LocalExecutor(concurrency=1), Request(), Silent(), asyncio.Event())
                yield await check_rules(run, plan)
        except EnricherError as error:
            yield Check(name=f"job {name}", ok=False, problems=(str(error),))
