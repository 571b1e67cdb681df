"""Run work in other processes of this machine, in order and a bounded number at a time: for what computes a lot."""

import asyncio
import contextlib
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from enricher.errors import EnricherError

T = TypeVar("T")
R = TypeVar("R")

_AHEAD = 1  # values a worker that wait for it, so that it never waits for this process


class WorkerLost(EnricherError):
    """A worker process ended by itself."""


class ProcessExecutor:
    """Keeps `workers` processes at work, each of which calls `begin` once; all of it must be such that pickle takes it.

    The processes are new ones, not copies of this one: they hold no connection, lock or thread of it.
    """

    def __init__(self, *, workers: int, begin: Callable[..., None], given: tuple[Any, ...] = ()) -> None:
        self._workers = workers
        self._begin = begin
        self._given = given

    async def map(self, work: Callable[[T], R], values: Iterable[T]) -> AsyncGenerator[R, None]:
        """Yield the results in the order of the values; at the end, however it comes, no process is left.

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
        under_way: deque[asyncio.Future[R]] = deque()
        try:
            for value in values:
                with _unheard(signal.SIGINT):
                    under_way.append(loop.run_in_executor(pool, work, value))
                if len(under_way) >= self._workers * (1 + _AHEAD):
                    yield await under_way.popleft()
            while under_way:
                yield await under_way.popleft()
        except BrokenProcessPool as error:
            raise WorkerLost("a worker process was ended from outside; it may have been short of memory") from error
        finally:
            for left in under_way:
                left.cancel()
            await asyncio.gather(*under_way, return_exceptions=True)
            pool.shutdown(wait=True, cancel_futures=True)


@contextlib.contextmanager
def _unheard(number: signal.Signals) -> Iterator[None]:
    """Let processes that are begun in this block never hear of a signal; this one hears of it afterwards.

    Ctrl-C reaches all processes of a terminal, from their first moment on; the others are told by this one.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {number})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin(begin: Callable[..., None], given: tuple[Any, ...]) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    begin(*given)


def _end_with_parent() -> None:
    """End this process when the one that began it was killed, and could tell nobody."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
