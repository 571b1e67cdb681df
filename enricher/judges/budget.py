"""Hard caps on money: a call is made only when what it may cost at most still fits."""

import asyncio
from collections.abc import Callable

from enricher.traffic import ROUNDING, Grant, Ledger

_TYPICAL_AFTER = 8  # replies; until then a reply is taken to be as long as it may be
_MARGIN = 1.1  # over the dearest reply so far
_GUESS = 0.25  # of the longest possible reply, while none has been seen and nothing else is under way
_AHEAD = 16  # calls whose cost is reserved at a time, so that not every call asks the ledger


class Permit:
    """The right to make one call; settle it with what the call cost."""

    def __init__(self, bound: float, settled: Callable[[float, float], None]) -> None:
        self._bound = bound
        self._settled = settled

    def settle(self, spent: float) -> None:
        """Say what the call cost."""
        self._settled(self._bound, spent)


class Spending:
    """What one run spends. Shared by all its judges.

    What a call may cost is bounded by its longest possible reply and, when some replies have been seen, by the dearest
    of them. Near a cap calls go one at a time, so that it is used up, and overrun at most by what a single reply is
    dearer than all before it.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._granted = 0.0
        self._spent = 0.0
        self._open = 0.0  # bounds of the calls under way
        self._under_way = 0
        self._replies = 0
        self._dearest = 0.0  # largest share of its bound that a reply cost
        self._queue = asyncio.Lock()
        self._returned = asyncio.Event()
        self._cap = ""
        self.used_up: str | None = None  # which cap no further call fits under

    async def admit(self, least: float, most: float) -> Permit | None:
        """Wait until a call fits under the caps; None when it can't.

        Args:
            least: what it costs with an empty reply.
            most: what it costs with the longest possible one.

        Raises:
            EnricherError: the books can't be reached.
        """
        async with self._queue:
            while not await self._fits(bound := most * self._share):
                if self._under_way:
                    self._returned.clear()
                    await self._returned.wait()
                    continue
                bound = most * self._dearest if self._replies else least + _GUESS * (most - least)
                if await self._fits(bound):
                    break
                self.used_up = f"{self._cap} does not cover another call; what is left stays due"
                return None
            self._open += bound
            self._under_way += 1
        return Permit(bound, lambda bound, spent: self._settle(most, bound, spent))

    async def aclose(self) -> None:
        """Close the books of this run."""
        await self._ledger.settle(self._spent)
        self._granted = self._spent

    async def _fits(self, bound: float) -> bool:
        missing = self._spent + self._open + bound - self._granted
        if missing <= ROUNDING:
            return True
        grant = await self._ledger.reserve(missing, max(missing, bound * _AHEAD))
        self._granted += grant.amount
        self._cap = grant.cap
        return bool(grant.amount)

    @property
    def _share(self) -> float:
        seen = _MARGIN * self._dearest
        return seen if self._replies >= _TYPICAL_AFTER else max(1.0, seen)

    def _settle(self, most: float, bound: float, spent: float) -> None:
        self._open -= bound
        self._under_way -= 1
        self._spent += spent
        if spent > 0 and most > 0:
            self._replies += 1
            self._dearest = max(self._dearest, spent / most)
        self._returned.set()


class RunLedger:
    """The books of one run alone, in memory."""

    def __init__(self, cap: float) -> None:
        self._cap = cap
        self._reserved = 0.0

    async def reserve(self, least: float, most: float) -> Grant:
        """Reserve under the cap of the run."""
        room = self._cap - self._reserved
        if room < least - ROUNDING:
            return Grant(0.0, f"the budget of {self._cap:g} a run (budget.per_run)")
        self._reserved += min(most, room)
        return Grant(min(most, room))

    async def settle(self, spent: float) -> None:
        """Give back the rest."""
        self._reserved = spent
