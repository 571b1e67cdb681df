"""`enricher judge`: judge plain records of a file, without any platform."""

import contextlib
import gc
import json
from contextlib import aclosing
from pathlib import Path
from typing import IO

from enricher import logs
from enricher.errors import SetupError
from enricher.panel import panel_for
from enricher.privacy import guard, rules_without_store
from enricher.progress import Reporter
from enricher.records import judge_records, read_lines
from enricher.settings import Settings
from enricher.store import Store
from enricher.wiring import Wiring, wire_records
from enricher.workers import judge_on_cores


async def judge_file(
    settings: Settings,
    source: Path,
    output: Path | None,
    name: str,
    engine: str | None,
    progress: Reporter,
    *,
    workers: int = 1,
) -> int:
    """Judge the records of a file, by the embedded engine on as many cores as there are workers.

    Returns:
        How many of the records failed.
    """
    if output is not None and output.resolve() == source.resolve():
        raise SetupError(f"{output} is the input; name another file for the output")
    logs.configure(form=settings.logs, level=settings.log_level, texts=settings.log_texts)
    guard(settings)
    redaction = rules_without_store(settings)
    lines = read_lines(source)
    failed = 0
    async with contextlib.AsyncExitStack() as stack:
        wiring = Wiring()
        if (engine or settings.engine) == "openai":
            is_shared = settings.budget.per_day is not None
            store = await stack.enter_async_context(await Store.open(settings.store)) if is_shared else None
            wiring = wire_records(settings, store)
        panel = panel_for(settings, name, engine, wiring)
        judge = panel.judges[0].judge
        gc.freeze()  # the tables of the judge stay; looking through them at every collection is wasted
        try:
            out = stack.enter_context(_opened_for_writing(output)) if output else None
            progress.stage("judging records")
            is_local = judge.provenance.engine == "local"
            at_once = 1 if is_local else settings.concurrency
            if workers > 1 and not is_local:
                raise SetupError("--workers is for the engine local; calls to a model overlap as concurrency says")
            rows = (
                judge_on_cores(lines, settings, name, workers=workers)
                if workers > 1
                else judge_records(lines, judge, panel.second, concurrency=at_once, redaction=redaction)
            )
            async with aclosing(rows):
                async for row in rows:
                    failed += str(row["status"]).startswith(("JUDGE_", "INVALID", "BUG", "BUDGET"))
                    print(json.dumps(row, ensure_ascii=False), file=out)
                    progress.advance()
        finally:
            await panel.aclose()
    return failed


def _opened_for_writing(path: Path) -> IO[str]:
    try:
        # A lone surrogate, which UTF-8 can't hold, is written as its JSON escape.
        return path.open("w", encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise SetupError(f"{path} can't be written: {error.strerror}") from error
