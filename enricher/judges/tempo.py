"""Find out how many calls a second a server bears that refuses many, and space them out."""

import asyncio
import math
from collections.abc import Awaitable, Callable

_MANY = 4  # refusals in short succession show a limit; fewer among answers are noise
_AGAIN = 3  # of them are enough once a limit is known
_FORGOTTEN = 1 / 6  # of a refusal, with each answer
_BELOW = 0.9  # of the rate that was borne: what is saved by it pays for the growth until the next refusals
_LEAST = 0.2  # calls a second, to notice that a server which refused all of them is well again
_LATE_S = 0.05  # how late a busy event loop may wake a call without losing its turn
# The rate doubles in so many seconds: fewer while little is known, more where it is measured to be the same again.
_SOON_S, _SLOWLY_S, _STEP = 1.5, 16.0, 4.0
_ALIKE = 3.0  # times what was borne: refusals between that and this confirm it, others come as a surprise
_SLOW = 4.0  # calls a second; at fewer it takes longer to learn something, and the rate doubles later in proportion


class Tempo:
    """Calls start as they come until many are refused, and from then on at a rate that is measured.

    What a server lets through between two times at which it refuses is what its limit allows, however it counts. The
    rate begins a little below that, and grows until the server refuses again.
    """

    def __init__(self, *, sleep: Callable[[float], Awaitable[None]], clock: Callable[[], float]) -> None:
        self.rate = math.inf  # starts a second
        self._base = math.inf  # the rate from which it grows
        self._grows_from = 0.0
        self._doubles_s = self._grows_s = _SOON_S
        self._next = 0.0
        self._since = clock()  # when it was measured, or the run began
        self._passed = 0  # calls started since and, as far as is known, let through
        self._counted = 0  # those of the last measurement
        self._refusals = 0.0
        self._queue = asyncio.Lock()
        self._sleep = sleep
        self._clock = clock

    async def start(self) -> float:
        """Wait until a call may start, and return the time."""
        if self.rate < math.inf:
            async with self._queue:
                if (wait := self._next - self._clock()) > 0:
                    await self._sleep(wait)
                now = self._clock()
                self.rate = self._base * (1 + (max(0.0, now - self._grows_from) / self._grows_s) ** 2)
                self._next = max(self._next, now - _LATE_S) + 1 / self.rate
        self._passed += 1
        return self._clock()

    def answered(self) -> None:
        """Note that a call was answered."""
        self._refusals = max(0.0, self._refusals - _FORGOTTEN)

    def refused(self, started: float, after_s: float) -> bool:
        """Note that a call is to come again after so many seconds; tell whether it shows a limit unknown before."""
        if started < self._since:
            self._take_back()
            return False
        self._passed -= 1
        self._refusals += 1
        is_known = self.rate < math.inf
        if self._refusals >= (_AGAIN if is_known else _MANY):
            # What the server had saved up until the first time it lets through at once; the rest that it asks for, in
            # which it would have done so, is counted for that.
            self._measure(0.0 if is_known else after_s)
            return not is_known
        return False

    def _measure(self, rest_s: float) -> None:
        now = self._clock()
        if self.rate < math.inf:
            is_alike = self._passed > 0 and self._base <= _BELOW * self.rate <= _ALIKE * self._base
            doubles_s = self._doubles_s * _STEP if is_alike else self._doubles_s / _STEP
            self._doubles_s = min(_SLOWLY_S, max(_SOON_S, doubles_s))
        self._counted = max(1, self._passed)
        borne = self._counted / max(0.001, now - self._since + rest_s)
        self._base = self.rate = max(_LEAST, min(self.rate, _BELOW * borne))
        self._grows_s = self._doubles_s * (max(1.0, _SLOW / self._base) if self._passed else 1.0)
        self._since, self._passed, self._refusals = now, 0, 0.0
        self._next = self._grows_from = now + rest_s

    def _take_back(self) -> None:
        """Correct the last measurement: a call that it took to be let through was refused."""
        if self._counted > 1:
            self._base = self.rate = max(_LEAST, self._base * (1 - 1 / self._counted))
            self._counted -= 1
