"""Many traces through a whole run, pull to delivery: does memory stay flat, and how fast does it go?

    python benchmarks/flow.py --traces 100000 [--store DIR]

Traces are made when they are pulled, one short document and one short answer each, every fourth contradicted; the
embedded engine judges them, SQLite keeps them, and a platform in memory takes the annotations. Resident memory counts
what Python, SQLite and the allocator hold. Rates are a second of CPU, because the machine may be shared; those of the
clock stand beside them.
"""

import argparse
import asyncio
import re
import resource
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.parts.job import PLATFORM, job_over, settings_for
from benchmarks.parts.platform import MemoryPlatform, spans_of
from benchmarks.parts.workload import Case, tag_of
from enricher.trace import Span
from enricher.verdict import Annotation

MOST_MB = 350
_POLL_S = 0.2


def spans(number: int) -> tuple[Span, ...]:
    """Make the trace of a number; no two have the same texts."""
    tag = tag_of(number)
    days = number % 90 + 1
    document = f"The notice period of contract {tag} is {days} days. Fees of {tag} are refunded pro rata."
    claimed = days + 1 if number % 4 == 3 else days
    return spans_of(
        Case(tag, f"How long is the notice of {tag}?", (document,), f"The notice period of {tag} is {claimed} days.")
    )


def resident_mb() -> float:
    """Return the memory that this process holds now; the most it ever held where the system does not tell."""
    status = Path("/proc/self/status")
    found = re.search(r"VmRSS:\s+(\d+) kB", status.read_text()) if status.exists() else None
    return int(found[1]) / 1024 if found else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def watch(platform: "CountingPlatform", count: int) -> None:
    """Print a line for each tenth of the traces whose annotations have arrived."""
    began, cpu = time.perf_counter(), time.process_time()
    reported = 0
    while True:
        await asyncio.sleep(_POLL_S)
        if platform.traces * 10 // count > reported:
            reported = platform.traces * 10 // count
            per_cpu = platform.traces / (time.process_time() - cpu)
            per_second = platform.traces / (time.perf_counter() - began)
            print(f"{platform.traces:>10} {resident_mb():>8.0f} {per_cpu:>18.0f} {per_second:>12.0f}", flush=True)


class CountingPlatform(MemoryPlatform):
    """Counts the traces whose main annotation has arrived."""

    def __init__(self, count: int) -> None:
        self.traces = 0
        super().__init__(PLATFORM, count, spans, heard=self._hear)

    def _hear(self, annotation: Annotation) -> None:
        self.traces += annotation.score is not None and annotation.document_position is None


async def measure(count: int, folder: str) -> None:
    """Run the job once and say what came of it."""
    platform = CountingPlatform(count)
    async with job_over(settings_for(folder, {"judges": ["diff"]}), platform) as run:
        before = resident_mb()
        cpu, wall = time.process_time(), time.perf_counter()
        watching = asyncio.create_task(watch(platform, count))
        report = await run()
        watching.cancel()
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{count} traces, {report.confirmed} annotations confirmed in {cpu:.1f} s of CPU and {wall:.1f} s: "
        f"{count / cpu:.0f} traces a CPU second; memory {before:.0f} MB at first, {peak:.0f} MB at most"
    )
    if platform.traces != count or peak > MOST_MB:
        raise SystemExit(f"{count - platform.traces} traces lost, {peak:.0f} of {MOST_MB} MB used")


def main() -> None:
    """Run the benchmark and print its table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", type=int, default=1000)
    parser.add_argument("--store", help="folder for the store, such as /dev/shm where disks are slow or shared")
    options = parser.parse_args()
    print(f"{'traces':>10} {'RSS MB':>8} {'traces/CPU second':>18} {'a second':>12}")
    with tempfile.TemporaryDirectory(dir=options.store) as folder:
        asyncio.run(measure(options.traces, folder))


if __name__ == "__main__":
    main()
