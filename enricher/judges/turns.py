"""Judging on this machine without holding up the event loop: what is pure computation takes turns with the rest."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from enricher.trace import Item

T = TypeVar("T")

# Characters of answer and documents; judging so many takes about 25 ms. Smaller items are not worth the way to a thread
# and back, which costs a judgment of usual size 5 to 9 %.
_LARGE = 20_000


async def in_turn(verdict: Callable[[Item], T], item: Item, *, large: int = _LARGE) -> T:
    """Compute a verdict, or opinions on one: at once, or in a thread where the item is `large` (characters)."""
    if len(item.answer) + sum(len(document.text) for document in item.documents) > large:
        return await asyncio.to_thread(verdict, item)
    await asyncio.sleep(0)  # between two judgments everybody else gets a turn
    return verdict(item)
