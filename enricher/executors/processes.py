"""Run work in other processes of this machine, a bounded number at a time: for what computes a lot."""

import asyncio
import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.util import Finalize
from typing import Any, TypeVar

from enricher.errors import TryAgain

T = TypeVar("T")
R = TypeVar("R")

_AHEAD = 1  # values a worker that wait for it, so that it never waits for this process
_runner: asyncio.Runner | None = None  # the event loop of this process, if it is a worker
_kept = contextlib.AsyncExitStack()  # what stays open in it until it ends


class WorkerLost(TryAgain):
    """A worker process ended by itself."""


class ProcessExecutor:
    """Keeps `workers` processes at work, each of which calls `begin` once; all of it must be such that pickle takes it.

    The processes are new ones, not copies of this one: they hold no connection, lock or thread of it. All that one is
    given runs in one event loop, one value after the other.
    """

    def __init__(
        self, *, workers: int, begin: Callable[..., None], given: tuple[Any, ...] = (), in_order: bool = False
    ) -> None:
        self._workers = workers
        self._begin = begin
        self._given = given
        self._in_order = in_order

    async def map(self, work: Callable[[T], Awaitable[R]], values: AsyncIterator[T]) -> AsyncGenerator[R, None]:
        """Yield the results as they finish, or in the order of the values; however it ends, no process is left.

        Raises:
            WorkerLost: a process was killed, by whoever needed its memory perhaps.
        """
        pool = ProcessPoolExecutor(
            self._workers,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_begin,
            initargs=(self._begin, self._given),
        )
        loop = asyncio.get_running_loop()
        under_way: list[asyncio.Future[R]] = []
        try:
            async for value in values:
                with _unheard(signal.SIGINT, signal.SIGTERM):
                    under_way.append(loop.run_in_executor(pool, _run, work, value))
                if len(under_way) >= self._workers * (1 + _AHEAD):
                    yield await self._next(under_way)
            while under_way:
                yield await self._next(under_way)
        except BaseException as error:
            # Nobody waits for the others any more; and the one that was lost may hold a lock that they wait for.
            for process in list(pool._processes.values()):  # a pool has no word for this before Python 3.14
                process.kill()
            if isinstance(error, BrokenProcessPool):
                what = "a worker process was ended from outside; it may have been short of memory"
                raise WorkerLost(what) from error
            raise
        finally:
            for left in under_way:
                left.cancel()
            await asyncio.gather(*under_way, return_exceptions=True)
            pool.shutdown(wait=True, cancel_futures=True)

    async def _next(self, under_way: list[asyncio.Future[R]]) -> R:
        if not self._in_order:
            await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
            under_way.sort(key=lambda future: not future.done())
        return await under_way.pop(0)


async def kept_open(context: contextlib.AbstractAsyncContextManager[T]) -> T:
    """Enter a context in a worker process; it is left when the process ends."""
    return await _kept.enter_async_context(context)


@contextlib.contextmanager
def _unheard(*signals: signal.Signals) -> Iterator[None]:
    """Let processes that are begun in this block never hear of some signals; this one hears of them afterwards.

    Ctrl-C reaches all processes of a terminal and a service manager tells all of a service, from their first moment
    on; but the others finish what they have begun, and are told by this one when there is no more.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin(begin: Callable[..., None], given: tuple[Any, ...]) -> None:
    global _runner  # a pool gives its processes no other place
    threading.Thread(target=_end_with_parent, daemon=True).start()
    begin(*given)
    _runner = asyncio.Runner()
    Finalize(None, _end, exitpriority=10)


def _run(work: Callable[[T], Awaitable[R]], value: T) -> R:
    assert _runner is not None
    return _runner.run(_awaited(work, value))


async def _awaited(work: Callable[[T], Awaitable[R]], value: T) -> R:
    return await work(value)


def _end() -> None:
    if _runner is not None:
        _runner.run(_kept.aclose())
        _runner.close()


def _end_with_parent() -> None:
    """End this process when the one that began it was killed, and could tell nobody."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
