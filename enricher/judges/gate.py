"""Limit how many calls are in flight, and adapt the limit to what the server bears."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Overloaded(Exception):
    """Raised inside a gate to tell it that the server was overloaded; the gate passes it on."""


class Gate:
    """Let at most `limit` calls through: halved when many fail for load, grown again while latency holds."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.limit = most
        self.active = 0
        self._waiting: asyncio.Condition | None = None
        self._seen = 0
        self._overloads = 0
        self._quickest = float("inf")
        self._latency = 0.0

    @asynccontextmanager
    async def enter(self) -> AsyncIterator[None]:
        """Wait for a place and hold it for the length of the block."""
        if self._waiting is None:
            self._waiting = asyncio.Condition()
        async with self._waiting:
            await self._waiting.wait_for(lambda: self.active < self.limit)
            self.active += 1
        started = time.monotonic()
        is_overloaded = False
        try:
            yield
        except Overloaded:
            is_overloaded = True
            raise
        finally:
            self.active -= 1
            self._record(time.monotonic() - started, is_overloaded)
            async with self._waiting:
                self._waiting.notify(max(1, self.limit - self.active))

    def _record(self, latency: float, is_overloaded: bool) -> None:
        self._seen += 1
        if is_overloaded:
            self._overloads += 1
            # A few refusals among many calls are noise; a share of them is a limit.
            if self._overloads >= max(2, self.limit // 8):
                self.limit = max(1, self.limit // 2)
                self._seen = self._overloads = 0
            return
        self._quickest = min(self._quickest, latency)
        self._latency = latency if not self._latency else 0.8 * self._latency + 0.2 * latency
        if self._seen >= self.limit:
            if self._latency <= 3 * self._quickest or self._latency < 1.0:
                self.limit = min(self.most, self.limit + max(1, self.limit // 8))
            self._seen = self._overloads = 0
