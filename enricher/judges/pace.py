"""Keep within so many requests and tokens a minute."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

_MINUTE = 60.0


class Slot:
    """What one call takes of the minute; corrected when its reply has said how much it really was."""

    def __init__(self, at: float, amount: int) -> None:
        self.at = at
        self.amount = amount


class Pace:
    """Let a call start only when the minute before it leaves room; calls start in the order in which they ask.

    A sliding window and not a bucket that refills: no minute, wherever it begins, holds more than the limit.
    """

    def __init__(
        self,
        *,
        requests: int | None,
        tokens: int | None,
        sleep: Callable[[float], Awaitable[None]],
        clock: Callable[[], float],
    ) -> None:
        self._limits = (requests, tokens)
        self._sleep = sleep
        self._clock = clock
        self._queue = asyncio.Lock()
        self._requests: deque[Slot] = deque()
        self._tokens: deque[Slot] = deque()
        # Spread over the minute: a server may count by the second what it promises by the minute.
        self._share = max(1, min(12, requests)) if requests else 1

    async def start(self, tokens: int) -> Slot:
        """Wait for room for one request of so many tokens, and take it."""
        slot = Slot(self._clock(), tokens)
        requests, most_tokens = self._limits
        if requests is None and most_tokens is None:
            return slot
        async with self._queue:
            if requests is not None:
                part = Slot(slot.at, 1)
                await self._room(self._requests, requests // self._share, _MINUTE / self._share, 1)
                part.at = self._clock()
                self._requests.append(part)
            if most_tokens is not None:
                await self._room(self._tokens, most_tokens, _MINUTE, tokens)
                slot.at = self._clock()
                self._tokens.append(slot)
        return slot

    async def _room(self, taken: deque[Slot], limit: int, seconds: float, amount: int) -> None:
        """Wait until `amount` fits under `limit`; what alone is larger than the limit waits for an empty window."""
        while True:
            now = self._clock()
            while taken and taken[0].at <= now - seconds:
                taken.popleft()
            used = sum(slot.amount for slot in taken)
            if not taken or used + amount <= limit:
                return
            await self._sleep(max(0.0, taken[0].at + seconds - now) + 0.001)
