"""Run work on this machine, a bounded number at a time, in one event loop."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


class LocalExecutor:
    """Keeps at most `concurrency` values under way: it takes the next one only when there is room for it."""

    def __init__(self, *, concurrency: int) -> None:
        self._concurrency = concurrency

    async def map(self, work: Callable[[T], Awaitable[R]], values: AsyncIterator[T]) -> AsyncGenerator[R, None]:
        """Yield results as they finish; an exception of one ends the map and cancels the others."""

        async def start_next() -> asyncio.Task[R] | None:
            async for value in values:
                return asyncio.ensure_future(work(value))
            return None

        working: set[asyncio.Task[R]] = set()
        # Asking for a value is a task of its own: a slow source must not hold back results that are ready.
        fetching: asyncio.Task[asyncio.Task[R] | None] | None = asyncio.create_task(start_next())
        exhausted = False
        try:
            while working or fetching:
                waiting = {*working, *([fetching] if fetching else [])}
                done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                if fetching is not None and fetching in done:
                    started = fetching.result()
                    fetching, exhausted = None, started is None
                    if started is not None:
                        working.add(started)
                for task in working & done:
                    working.remove(task)
                    yield task.result()
                if fetching is None and not exhausted and len(working) < self._concurrency:
                    fetching = asyncio.create_task(start_next())
        finally:
            under_way = [*working, *([fetching] if fetching else [])]
            for left in under_way:
                left.cancel()
            await asyncio.gather(*under_way, return_exceptions=True)
