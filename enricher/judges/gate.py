"""Limit how many calls are in flight, and adapt the limit to what the server bears."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

_SLOW = 2.0  # times the best mean latency of a round: more means that calls wait in the server's queue
_UNHURRIED_S = 1.0  # below this no latency is a reason to slow down


class Turn:
    """A place in the gate; its latency counts from `begin`, so that waits of our own stay out of it."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.is_overloaded = False  # set it when the server said so, or gave no answer in time

    def begin(self) -> None:
        """Count from now on."""
        self.began = time.monotonic()


class Gate:
    """Let at most `limit` calls through.

    The limit is halved when many fail for load or time, shrinks while latency is bad, and grows while it holds.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.limit = most
        self.active = 0
        self._waiting: asyncio.Condition | None = None
        self._seen = 0  # in this round, which is as many calls as the limit allows at a time
        self._overloads = 0
        self._total = 0.0
        self._best = float("inf")

    @asynccontextmanager
    async def enter(self) -> AsyncIterator[Turn]:
        """Wait for a place and hold it for the length of the block."""
        if self._waiting is None:
            self._waiting = asyncio.Condition()
        if self.active >= self.limit:
            async with self._waiting:
                await self._waiting.wait_for(lambda: self.active < self.limit)
                self.active += 1
        else:
            self.active += 1
        turn = Turn()
        try:
            yield turn
        finally:
            self.active -= 1
            self._record(time.monotonic() - turn.began, turn.is_overloaded)
            if self.active < self.limit:
                async with self._waiting:
                    self._waiting.notify(self.limit - self.active)

    def _record(self, latency: float, is_overloaded: bool) -> None:
        self._seen += 1
        if is_overloaded:
            self._overloads += 1
            # A few refusals among many calls are noise; a share of them is a limit.
            if self._overloads >= max(2, self.limit // 8):
                self.limit = max(1, self.limit // 2)
                self._begin_round()
            return
        self._total += latency
        if self._seen >= self.limit:
            mean = self._total / (self._seen - self._overloads)
            step = max(1, self.limit // 8)
            # Forgets slowly: the answers of this hour may be longer than those of the last.
            self._best = min(1.02 * self._best, mean)
            is_slow = mean > _SLOW * self._best and mean > _UNHURRIED_S
            self.limit = max(1, self.limit - step) if is_slow else min(self.most, self.limit + step)
            self._begin_round()

    def _begin_round(self) -> None:
        self._seen = self._overloads = 0
        self._total = 0.0
