"""Run work on this machine, a bounded number at a time, in one event loop."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class LocalExecutor:
    """Keeps at most `concurrency` values under way: it takes the next one only when there is room for it."""

    def __init__(self, *, concurrency: int) -> None:
        self._concurrency = concurrency

    async def map(self, work: Callable[[T], Awaitable[R]], values: AsyncIterator[T]) -> AsyncGenerator[R, None]:
        """Yield results as they finish; an exception of one ends the map and cancels the others."""

        async def start_next() -> bool:
            async for value in values:
                task = asyncio.ensure_future(work(value))
                task.add_done_callback(finished.put_nowait)
                working.add(task)
                return True
            return False

        # Each task announces its own end: to look through all of them at every end costs more than the work itself.
        finished: asyncio.Queue[asyncio.Future[Any]] = asyncio.Queue()
        working: set[asyncio.Future[R]] = set()
        # Asking for a value is a task of its own: a slow source must not hold back results that are ready.
        fetching: asyncio.Task[bool] | None = None
        exhausted = False
        try:
            while True:
                if fetching is None and not exhausted and len(working) < self._concurrency:
                    fetching = asyncio.create_task(start_next())
                    fetching.add_done_callback(finished.put_nowait)
                if not working and fetching is None:
                    return
                done = await finished.get()
                if done is fetching:
                    exhausted, fetching = not fetching.result(), None
                else:
                    working.remove(done)
                    yield done.result()
        finally:
            under_way: list[asyncio.Future[Any]] = [*working, *([fetching] if fetching else [])]
            for left in under_way:
                left.cancel()
            await asyncio.gather(*under_way, return_exceptions=True)
