"""A run that is held in the middle: one trace is judged, the others wait until the test lets it go on."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from connectors.files import FilesConnector
from enricher.run import RunResult
from enricher.store import RunRecord
from enricher.trace import RawTrace, Rejection, TraceRef
from tests.serve.seeded import World, contradicted, good


class Halted(FilesConnector):
    """Gives one trace and holds the others back."""

    released: asyncio.Event
    held: asyncio.Event

    async def pull(self, refs: Sequence[TraceRef]) -> AsyncIterator[RawTrace | Rejection]:
        """Yield the first trace at once."""
        pulled = [one async for one in super().pull(refs)]
        yield pulled[0]
        self.held.set()
        await self.released.wait()
        for one in pulled[1:]:
            yield one


@contextlib.asynccontextmanager
async def run_under_way(world: World) -> AsyncIterator[tuple[RunRecord, Callable[[], Awaitable[RunResult]]]]:
    """Start a run that has judged one trace of three and waits; give it, and what lets it come to its end."""
    world.trace(good("q1"), contradicted("q2"), good("q3", is_broken=True))
    Halted.released, Halted.held = asyncio.Event(), asyncio.Event()
    running = asyncio.create_task(world.run(Halted))

    async def finish() -> RunResult:
        Halted.released.set()
        return await running

    async with asyncio.timeout(60):
        await Halted.held.wait()
        (run,) = await world.store.runs(limit=1)
        while not (await world.store.tally(run.id)).evaluations:
            await asyncio.sleep(0.01)
    try:
        yield run, finish
    finally:
        await finish()
