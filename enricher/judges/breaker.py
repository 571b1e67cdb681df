"""Stop asking an endpoint that is down, try it with one call now and then, and go on when it answers."""

import asyncio
from collections.abc import Callable, Hashable
from enum import Enum

_FAILURES = 5  # in a row, and
_QUESTIONS = 3  # of so many different questions: one question that kills the server says nothing about the others
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 1.0, 30.0


class Entry(Enum):
    """Whether a call may be made."""

    PASS = "pass"
    PROBE = "probe"  # the one call that finds out whether the endpoint is back
    DOWN = "down"


class Breaker:
    """Closed: calls pass. Open: they wait, and one probe passes after each pause. Down: they fail without a call.

    An endpoint counts as down when it was open for longer than `patience_s`; a probe may still bring it back.
    """

    def __init__(self, *, patience_s: float, clock: Callable[[], float]) -> None:
        self._patience_s = patience_s
        self._clock = clock
        self._failures = 0
        self._questions: set[Hashable] = set()
        self._opened_at: float | None = None
        self._next_probe = 0.0
        self._pause = _FIRST_PAUSE_S
        self._is_probing = False
        self._changed: asyncio.Event = asyncio.Event()

    @property
    def is_open(self) -> bool:
        """Tell whether calls are held back."""
        return self._opened_at is not None

    @property
    def is_down(self) -> bool:
        """Tell whether calls fail at once."""
        return self._opened_at is not None and self._clock() - self._opened_at >= self._patience_s

    async def enter(self) -> Entry:
        """Wait until a call may be tried, or the endpoint counts as down."""
        while self._opened_at is not None:
            now = self._clock()
            if not self._is_probing and now >= self._next_probe:
                self._is_probing = True
                return Entry.PROBE
            if self.is_down:
                return Entry.DOWN
            until = min(self._next_probe if not self._is_probing else now + self._pause, self._end())
            try:
                async with asyncio.timeout(max(0.01, until - now)):
                    await self._changed.wait()
            except TimeoutError:
                continue
        return Entry.PASS

    def succeeded(self) -> None:
        """Note that the endpoint answered, whatever it said."""
        self._failures = 0
        if self._questions:
            self._questions.clear()
        if self._opened_at is not None:
            self._opened_at = None
            self._pause = _FIRST_PAUSE_S
            self._is_probing = False
            self._wake()

    def failed(self, question: Hashable, entry: Entry) -> None:
        """Note that the endpoint gave no answer to a question, or only a server error."""
        self._failures += 1
        self._questions.add(question)
        now = self._clock()
        if self._opened_at is None:
            if self._failures >= _FAILURES and len(self._questions) >= _QUESTIONS:
                self._opened_at = now
                self._next_probe = now + self._pause
        elif entry is Entry.PROBE:
            self._pause = min(_LONGEST_PAUSE_S, 2 * self._pause)
            self._next_probe = now + self._pause
            self._is_probing = False
            self._wake()

    def abandoned(self, entry: Entry) -> None:
        """Note that a call ended without telling anything, such as by being cancelled."""
        if entry is Entry.PROBE:
            self._is_probing = False
            self._wake()

    def _end(self) -> float:
        return (self._opened_at or 0.0) + self._patience_s

    def _wake(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
