"""Bound the time that one trace may take, whatever its judges ask of a model."""

import contextlib
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import NamedTuple


class Deadline:
    """An instant that waits of our own making, such as for a place in the queue, put off."""

    def __init__(
        self, seconds: float, clock: Callable[[], float] = time.monotonic, *, within: "Deadline | None" = None
    ) -> None:
        self._clock = clock
        self._ends = clock() + seconds
        self._within = within

    @property
    def left(self) -> float:
        """Return how many seconds are left; not less than 0."""
        own = max(0.0, self._ends - self._clock())
        return min(own, self._within.left) if self._within else own

    def put_off(self, seconds: float) -> None:
        """Give back time that passed without anything being tried."""
        self._ends += seconds
        if self._within:
            self._within.put_off(seconds)


class _Trace(NamedTuple):
    trace_id: str
    deadline: Deadline | None


_current: ContextVar[_Trace | None] = ContextVar("trace", default=None)


@contextlib.contextmanager
def one_trace(trace_id: str, seconds: float | None = None) -> Iterator[None]:
    """Say which trace the calls in this block, and in tasks begun in it, are for, and how long they may take."""
    token = _current.set(_Trace(trace_id, Deadline(seconds) if seconds is not None else None))
    try:
        yield
    finally:
        _current.reset(token)


def deadline_of_this_trace() -> Deadline | None:
    """Return the deadline of the trace that is being judged, if it has one."""
    current = _current.get()
    return current.deadline if current else None


def id_of_this_trace() -> str:
    """Return the id of the trace that is being judged; empty for a plain record."""
    current = _current.get()
    return current.trace_id if current else ""
