"""Keep to a platform's request rate, and stay away while it asks to be left alone."""

import asyncio
import time

from enricher.errors import TryAgain


class TokenBucket:
    """At most `rate` requests a second on average, `burst` at once."""

    def __init__(self, *, rate: float, burst: int) -> None:
        self._rate = rate
        self._burst = float(burst)
        self._tokens = float(burst)
        self._filled_at = time.monotonic()
        self._closed_until = 0.0

    async def take(self) -> None:
        """Wait for a turn.

        Raises:
            TryAgain: the platform asked for a pause that isn't over; the run decides whether to wait so long.
        """
        self._refuse_while_closed()
        now = time.monotonic()
        self._tokens = min(self._burst, self._tokens + (now - self._filled_at) * self._rate)
        self._filled_at = now
        # Tokens may go below zero: each waiter reserves its own turn, so that they come out in order.
        self._tokens -= 1
        if self._tokens < 0:
            await asyncio.sleep(-self._tokens / self._rate)
            self._refuse_while_closed()

    def close(self, seconds: float) -> None:
        """Let nobody through for so long, as the platform asked."""
        self._closed_until = max(self._closed_until, time.monotonic() + seconds)

    def _refuse_while_closed(self) -> None:
        left = self._closed_until - time.monotonic()
        if left > 0:
            raise TryAgain(f"the platform asked for a pause of {left:.0f} s more", after=left)
