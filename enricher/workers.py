"""Judge plain records on several cores: the embedded engine computes all the time, and one process uses one core."""

import gc
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import aclosing
from functools import partial
from itertools import islice
from typing import Any

from enricher import logs
from enricher.executors.processes import ProcessExecutor, WorkerLost
from enricher.interpreter import tune
from enricher.panel import panel_for
from enricher.privacy import guard, rules_without_store
from enricher.records import judge_records
from enricher.seams import Judge
from enricher.settings import Settings
from enricher.steps.redaction import RedactionRules

_CHUNK = 16  # records that travel together: enough to make the way cheap, few enough to share out evenly

Line = tuple[int, str]
Row = dict[str, Any]
_ours: dict[str, tuple[Judge, RedactionRules]] = {}  # of this process, when it is a worker


async def judge_on_cores(
    lines: Iterable[Line], settings: Settings, name: str, *, workers: int
) -> AsyncGenerator[Row, None]:
    """Yield one row a record, in the order of the input; a bounded number of records is held at a time.

    Raises:
        WorkerLost: a worker process was ended from outside; the rows before are right.
    """
    executor = ProcessExecutor(workers=workers, begin=_begin, given=(settings, name), in_order=True)
    done = 0
    try:
        async with aclosing(executor.map(partial(_judged, name), _chunks(lines))) as chunks:
            async for rows in chunks:
                for row in rows:
                    done += 1
                    yield row
    except WorkerLost as error:
        raise WorkerLost(f"{error}: {done} records are judged, the rest is not; try fewer --workers") from error


async def _chunks(lines: Iterable[Line]) -> AsyncIterator[list[Line]]:
    remaining = iter(lines)
    while chunk := list(islice(remaining, _CHUNK)):
        yield chunk


def _begin(settings: Settings, name: str) -> None:
    """Make the judge of a worker process, once."""
    logs.configure(form=settings.logs, level=settings.log_level, texts=settings.log_texts)
    guard(settings)
    tune()
    _ours[name] = (panel_for(settings, name, "local").judges[0].judge, rules_without_store(settings))
    gc.freeze()


async def _judged(name: str, chunk: list[Line]) -> list[Row]:
    judge, redaction = _ours[name]
    return [row async for row in judge_records(chunk, judge, redaction=redaction)]
