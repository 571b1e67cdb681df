"""A program that settles and delivers until it is killed: `python -m tests.store.crashing URL FILE COUNT`.

It prints a line for each step, so that it can be killed at a step instead of a time.

The platform it writes to is a file of JSON lines, which outlives the process: one line a write, the last one for a
key counts, as on a platform where an identifier replaces itself.
"""

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from enricher.delivery import Patience, deliver
from enricher.store import Store
from enricher.trace import TraceId, TraceRef
from enricher.verdict import Annotation, Delivery, DeliveryState
from tests.store.samples import ref, settlement


class FilePlatform:
    """A connector that appends to a file and reads it back."""

    name = "phoenix"

    def __init__(self, path: Path) -> None:
        self.path = path

    async def annotate(self, annotations: Sequence[Annotation]) -> Sequence[Delivery]:
        """Write in several goes, so that a kill can fall between them."""
        with self.path.open("ab", buffering=0) as file:
            for one in annotations:
                file.write(json.dumps({"key": one.key, "label": one.label}).encode() + b"\n")
                print("written", flush=True)
                await asyncio.sleep(0)
        return [Delivery(key=one.key, state=DeliveryState.SENT) for one in annotations]

    async def confirm(self, annotations: Sequence[Annotation]) -> Sequence[Delivery]:
        """Look into the file."""
        held = set(self.written())
        state = {True: DeliveryState.CONFIRMED, False: DeliveryState.RETRY}
        return [Delivery(key=one.key, state=state[one.key in held]) for one in annotations]

    def written(self) -> list[str]:
        """Return the key of every write, repeats included; a line that a kill cut short never arrived."""
        lines = self.path.read_bytes().split(b"\n")[:-1] if self.path.exists() else []
        return [json.loads(line)["key"] for line in lines]


def chosen(count: int) -> list[TraceRef]:
    """Return the traces of the job."""
    return [ref(number, trace_id=TraceId(f"t{number}")) for number in range(count)]


async def run_job(url: str, path: Path, count: int) -> None:
    """Take in, settle and deliver, as a run does."""
    async with await Store.open(url) as store, store.hold("nightly") as hold:
        assert hold.is_held, hold.grant.owner
        run = await store.start_run("nightly")
        await store.take_in("nightly", chosen(count))
        no_more = asyncio.Event()
        patience = Patience(batch_size=7, first_check_s=0.005, poll_s=0.005)
        delivering = asyncio.create_task(
            deliver(store, {"phoenix": FilePlatform(path)}, no_more=no_more, patience=patience)
        )
        while page := await store.take_due("nightly", run, limit=10):
            await asyncio.gather(*(store.settle(settlement(run, int(t.ref.trace_id[1:]))) for t in page))
            print("settled", flush=True)
        no_more.set()
        await delivering


if __name__ == "__main__":
    asyncio.run(run_job(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])))
    os._exit(0)
