"""One thread that writes, or looks up; what is queued while it is at work is done together, in one transaction."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine

from enricher.errors import SetupError, Unavailable
from enricher.store.engine import WRITES, patiently, plain_errors

T = TypeVar("T")
V = TypeVar("V")

# A group costs nearly the same however large it is. So while several come at a time, the thread rests after a commit
# for so many times as long as that took, and the next group is larger. It rests no longer than others keep coming:
# once a quarter of the time has passed without one, those who wait are all there are.
_REST = 8.0
_LOOKS = 4
_LONGEST_PAUSE_S = 0.1  # of the writer
# Work on many values of a kind: all in one call, one result each.
Batch = Callable[[Connection, Sequence[V]], Sequence[T]]


@dataclass(kw_only=True, slots=True)
class _Entry:
    work: Batch[Any, Any]
    value: Any
    done: asyncio.Future[Any]


class Grouped:
    """Do what many tasks want of the store in transactions that they share; each caller waits for its own part.

    Work may be done twice (after a lost connection nobody knows whether the commit arrived, and a group that fails is
    repeated one by one), so whatever is given here must be safe to repeat.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        name: str,
        window_s: float,
        longest_pause_s: float,
        largest_group: int,
        patience_s: float,
    ) -> None:
        self._engine = engine
        self._window_s = window_s  # how long the first of a group waits for company
        self._longest_pause_s = longest_pause_s
        self._largest_group = largest_group
        self._patience_s = patience_s  # how long a busy or absent store is waited for
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)
        self._queue: list[_Entry] = []
        self._draining: asyncio.Task[None] | None = None
        self._pause_s = 0.0  # how much longer than the window the next group waits, since many write at present
        self._is_closed = False

    async def join(self, work: Batch[V, T], value: V) -> T:
        """Do some work on a value; values for the same `work` in the same group are handed to it in one call."""
        if self._is_closed:
            raise RuntimeError("the store is closed")
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._queue.append(_Entry(work=work, value=value, done=done))
        if self._draining is None or self._draining.done():
            self._draining = asyncio.create_task(self._drain())
        return await done

    async def aclose(self) -> None:
        """Commit what is queued and stop."""
        self._is_closed = True
        if self._draining is not None:
            await asyncio.wait([self._draining])
        self._thread.shutdown(wait=True)

    async def _drain(self) -> None:
        loop = asyncio.get_running_loop()
        while self._queue:
            await self._company()
            group, self._queue = self._queue[: self._largest_group], self._queue[self._largest_group :]
            began = loop.time()
            outcomes = await loop.run_in_executor(self._thread, self._commit, group)
            self._pause_s = min(self._longest_pause_s, _REST * (loop.time() - began)) if len(group) > 1 else 0.0
            for entry, outcome in zip(group, outcomes, strict=True):
                if entry.done.cancelled():
                    continue  # its caller has gone; what it wanted is written all the same
                if isinstance(outcome, BaseException):
                    entry.done.set_exception(outcome)
                else:
                    entry.done.set_result(outcome)

    async def _company(self) -> None:
        """Wait for others to join the group, while they come."""
        seen = 0
        for _ in range(_LOOKS):
            if not seen < len(self._queue) < self._largest_group:
                return
            seen = len(self._queue)
            await asyncio.sleep(max(self._window_s, self._pause_s) / _LOOKS)

    def _commit(self, group: list[_Entry]) -> list[Any]:
        try:
            return self._commit_patiently(group)
        except (SetupError, Unavailable) as problem:
            return [problem] * len(group)
        except BaseException as problem:  # handed to the caller whose work it was
            if len(group) == 1:
                return [problem]
        # One of them is at fault: the others must not suffer.
        return [outcome for entry in group for outcome in self._commit([entry])]

    def _commit_patiently(self, group: list[_Entry]) -> list[Any]:
        return patiently(lambda: self._commit_once(group), self._patience_s)

    def _commit_once(self, group: list[_Entry]) -> list[Any]:
        with plain_errors(), self._engine.begin() as connection:
            return _do(connection, group)


class Writer(Grouped):
    """Commit what many tasks want written; each caller waits until its own part is safe."""

    def __init__(self, engine: Engine, *, window_s: float, largest_group: int, patience_s: float) -> None:
        super().__init__(
            engine.execution_options(**{WRITES: True}),
            name="store-writer",
            window_s=window_s,
            longest_pause_s=_LONGEST_PAUSE_S,
            largest_group=largest_group,
            patience_s=patience_s,
        )

    async def write(self, work: Callable[[Connection], T]) -> T:
        """Do some work in a transaction; return its result once that is committed."""
        result: T = await self.join(_apply_each, work)
        return result


def _do(connection: Connection, group: list[_Entry]) -> list[Any]:
    results: list[Any] = []
    start = 0
    while start < len(group):
        end = start + 1
        while end < len(group) and group[end].work is group[start].work:
            end += 1
        results += group[start].work(connection, [entry.value for entry in group[start:end]])
        start = end
    return results


def _apply_each(connection: Connection, works: Sequence[Callable[[Connection], T]]) -> Sequence[T]:
    return [work(connection) for work in works]
