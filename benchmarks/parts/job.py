"""One job over a platform in memory, run as `enricher run` does."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.parts.platform import MemoryPlatform
from enricher.app import App
from enricher.choosing import Request
from enricher.interpreter import tune
from enricher.progress import Silent
from enricher.report import RunReport
from enricher.settings import Settings, load
from enricher.store import Store

PLATFORM = "memory"
_JOB = "nightly"


def settings_for(folder: str, job: Mapping[str, Any], **sections: Any) -> Settings:
    """Return a config with one job, and its store in a folder."""
    document = {
        "store": f"sqlite:///{folder}/store.db",
        # In place of this connection the platform in memory is used.
        "connections": {
            PLATFORM: {"kind": "files", "paths": [f"{folder}/none.jsonl"], "output": f"{folder}/out.jsonl"}
        },
        "jobs": {_JOB: {"connection": PLATFORM, "projects": ["bench"], **job}},
        **sections,
    }
    path = Path(folder) / "enricher.yaml"
    path.write_text(json.dumps(document))
    return load(path, {})


@contextlib.asynccontextmanager
async def job_over(settings: Settings, platform: MemoryPlatform) -> AsyncIterator[Callable[[], Awaitable[RunReport]]]:
    """Open store and app, and give what runs the job once and returns its report."""
    tune()
    store = await Store.open(settings.store)
    async with App(settings=settings, store=store, connectors={PLATFORM: platform}) as app:

        async def run() -> RunReport:
            result = await app.run(_JOB, Request(), Silent(), asyncio.Event())
            report = result.report
            if report.problems or report.unwritten or report.confirmed != platform.confirmed:
                raise SystemExit(f"the run was not clean: {report.problems}, {report.unwritten} not written")
            return report

        yield run
