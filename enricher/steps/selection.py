"""Choose among found traces: merged over rules, sampled by hash, so that every host and every night agree."""

import hashlib
import heapq
from collections.abc import AsyncGenerator, AsyncIterable

from enricher.trace import TraceRef


def position_of(trace_id: str) -> float:
    """Map a trace id to a fixed place in [0, 1), the same in every process and on every host."""
    digest = hashlib.blake2b(trace_id.encode(), digest_size=8).digest()
    # The upper 53 bits only: all 64 would round up to 1.0 for the highest ids, and a rate of 1 would lose them.
    return (int.from_bytes(digest, "big") >> 11) / 2**53


def is_sampled(trace_id: str, rate: float) -> bool:
    """Tell whether a rate between 0 (none) and 1 (all) takes this trace; a higher rate keeps all of a lower one."""
    return position_of(trace_id) < rate


async def sample(
    refs: AsyncIterable[TraceRef], *, rate: float = 1.0, max_per_stratum: int | None = None
) -> AsyncGenerator[TraceRef, None]:
    """Yield the refs that the rate takes, and of each stratum at most `max_per_stratum`, chosen by hash.

    Memory grows with what strata keep, not with what is found: without them each ref is yielded as it comes.
    """
    heaps: dict[str | None, list[tuple[float, str, TraceRef]]] = {}
    async for ref in refs:
        if not is_sampled(ref.trace_id, rate):
            continue
        if max_per_stratum is None:
            yield ref
            continue
        heap = heaps.setdefault(ref.stratum, [])
        entry = (-position_of(ref.trace_id), ref.trace_id, ref)
        if len(heap) < max_per_stratum:
            heapq.heappush(heap, entry)
        elif entry[:2] > heap[0][:2]:
            heapq.heapreplace(heap, entry)
    for heap in heaps.values():
        for _, _, ref in heap:
            yield ref
