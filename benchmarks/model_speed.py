"""Traces judged by a model that answers after 200 ms: a whole run against the least that a client can do.

    python benchmarks/model_speed.py --traces 500 --in-flight 32,128 --repeat 3 [--judge faithfulness] [--store DIR]
    python benchmarks/model_speed.py --traces 500 --in-flight 64 --bucket 20,50,200 [--burst 10] [--retry-after-ms]

The product does all of a run: extraction, prompt, call, reading and verifying the reply, the second check of what was
found, settling into SQLite, and delivery to a platform that accepts everything, where each trace gets one annotation
(as on LangSmith) or, with --document-annotations, six (as on Phoenix). The floor is a bare `aiohttp` client that sends
prompts of the same size to the same server and counts the supported sentences. Each measurement is a process of its
own, and of --repeat the best counts, because the machine may be shared. The last rows have faults: 5 % answered 429
with Retry-After, 2 % answered 500, 3 % cut off in the middle of their JSON. With --bucket the server instead answers so
many requests a second and refuses the others; the least is then the time in which it can answer one request a trace,
and every run is a row.
"""

import argparse
import asyncio
import json
import math
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.parts.model_server import Behaviour, ModelServer, running
from benchmarks.parts.workload import Case, cases, is_faithful

Verdicts = dict[str, bool]  # by tag: whether all is supported
Timed = Callable[[Callable[[], Awaitable[Any]]], Awaitable[Any]]  # does some work, and notes what it takes
FAULTS = {"refused": 0.05, "failed": 0.02, "cut": 0.03}
_RETRIES = 100  # under a limit most requests are refused


@dataclass
class Figures:
    """What one contestant took."""

    wall_s: float
    user_s: float
    system_s: float
    peak_mb: float
    right: int
    wrong: int
    lost: int
    calls: int = 0

    @property
    def cpu_ms(self) -> float:
        """Return the CPU time of one call, in milliseconds."""
        return 1000 * (self.user_s + self.system_s) / max(1, self.calls)

    def and_also(self, other: "Figures") -> "Figures":
        """Return the better costs and the worse results of both."""
        mine, others = asdict(self), asdict(other)
        better = {key: min(mine[key], others[key]) for key in ("wall_s", "user_s", "system_s", "right")}
        return Figures(**{**{key: max(mine[key], others[key]) for key in mine}, **better})


# the contestants; packages are imported by the one that needs them, so that its memory is its own


async def floor(options: argparse.Namespace, timed: Timed) -> Verdicts:
    """Ask with nothing but an HTTP client."""
    import aiohttp

    from enricher.prompts import load

    schema, in_flight = load(f"{options.judge}@v2").schema, int(options.in_flight)
    prepared = list(cases(options.traces))
    limit = asyncio.Semaphore(in_flight)

    async def all_of_them() -> Verdicts:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=in_flight)) as session:

            async def one(case: Case) -> tuple[str, bool] | None:
                body = _plain_body(case, options.judge, schema)
                for attempt in range(_RETRIES):
                    async with limit, session.post(f"{options.url}/chat/completions", json=body) as response:
                        if response.status == 200:
                            try:
                                said = json.loads((await response.json())["choices"][0]["message"]["content"])
                            except ValueError:
                                continue
                            entries = said["segments" if options.judge == "diff" else "claims"]
                            labels = {entry.get("status") or entry.get("verdict") for entry in entries}
                            return case.tag, "UNSUPPORTED" not in labels
                        pause = float(response.headers.get("retry-after", 0.1 * 2**attempt))
                        if milliseconds := response.headers.get("retry-after-ms"):
                            pause = float(milliseconds) / 1000
                    await asyncio.sleep(pause)
                return None

            return dict(filter(None, await asyncio.gather(*map(one, prepared))))

    verdicts: Verdicts = await timed(all_of_them)
    return verdicts


def _plain_body(case: Case, judge: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    documents = "\n".join(
        f"[d{number}.s{at}] {sentence}"
        for number, text in enumerate(case.documents, 1)
        for at, sentence in enumerate(re.split(r"(?<=\.) ", text), 1)
    )
    answer = "\n".join(f"[s{at}] {text}" for at, text in enumerate(re.split(r"(?<=\.) (?=REF)", case.answer), 1))
    key = '"segments"' if judge == "diff" else '"claims"'
    text = f"Judge each sentence.\n{documents}\n{case.question}\n{answer}\nReply with {key}."
    asked = {"type": "json_schema", "json_schema": {"name": judge, "strict": True, "schema": schema}}
    message = {"role": "user", "content": text}
    return {"model": "m", "messages": [message], "temperature": 0, "max_tokens": 2048, "response_format": asked}


async def product(options: argparse.Namespace, timed: Timed) -> Verdicts:
    """Run a job."""
    from benchmarks.parts.job import PLATFORM, job_over, settings_for
    from benchmarks.parts.platform import MemoryPlatform, spans_of
    from enricher.judges import transport  # noqa: F401  # the HTTP client is imported before, as it is for the floor
    from enricher.verdict import Annotation

    in_flight = int(options.in_flight)
    made = [spans_of(case, has_document_list=options.document_annotations) for case in cases(options.traces)]
    verdicts: Verdicts = {}

    def heard(annotation: Annotation) -> None:
        if annotation.score is not None and annotation.document_position is None:
            verdicts[annotation.trace_id] = annotation.label in ("faithful", "pass")

    with tempfile.TemporaryDirectory(dir=options.store) as folder:
        settings = settings_for(
            folder,
            {"judges": [options.judge]},
            engine="openai",
            # More traces than calls: while some are read and settled, others are asked about.
            concurrency=64 + 2 * in_flight,
            openai={"model": "m", "base_url": options.url, "concurrency": in_flight, "context_window": 32_000},
        )
        platform = MemoryPlatform(PLATFORM, len(made), made.__getitem__, heard=heard)
        async with job_over(settings, platform) as run:
            await timed(run)
    return verdicts


CONTESTANTS = {"floor": floor, "product": product}


# measuring


def measure(name: str, options: argparse.Namespace) -> Figures:
    """Let one contestant work in this process and return what it took."""
    took: dict[str, float] = {}

    async def timed(work: Callable[[], Awaitable[Any]]) -> Any:
        before, began = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
        done = await work()
        after = resource.getrusage(resource.RUSAGE_SELF)
        took["wall_s"] = time.perf_counter() - began
        took["user_s"] = after.ru_utime - before.ru_utime
        took["system_s"] = after.ru_stime - before.ru_stime
        return done

    verdicts = asyncio.run(CONTESTANTS[name](options, timed))
    right = sum(verdict == is_faithful(tag) for tag, verdict in verdicts.items())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Figures(
        **took, peak_mb=peak, right=right, wrong=len(verdicts) - right, lost=options.traces - len(verdicts)
    )  # fmt: skip


def measured_apart(name: str, server: ModelServer, options: argparse.Namespace, in_flight: int) -> Figures:
    """Measure in a process of its own."""
    command = [sys.executable, __file__, "--contestant", name, "--url", server.url]
    command += ["--traces", str(options.traces), "--in-flight", str(in_flight), "--judge", options.judge]
    command += ["--store", options.store] if options.store else []
    command += ["--document-annotations"] if options.document_annotations else []
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return Figures(**{**json.loads(done.stdout), "calls": server.counts().requests})


def compare(server: ModelServer, options: argparse.Namespace, in_flight: int, faults: Mapping[str, float]) -> None:
    """Measure all contestants in turn and print the best figures of each."""
    best: dict[str, Figures] = {}
    for _ in range(options.repeat):
        for name in CONTESTANTS:
            server.reset(Behaviour(latency_s=options.latency, **faults))
            found = measured_apart(name, server, options, in_flight)
            best[name] = found.and_also(best.get(name, found))
    for name, one in best.items():
        limit = options.latency * math.ceil(one.calls / in_flight)
        row = (name, in_flight, "yes" if faults else "no", one.calls, f"{one.wall_s:.2f}", f"{one.wall_s / limit:.2f}")
        row += (f"{one.wall_s / best['floor'].wall_s:.2f}", f"{one.cpu_ms:.2f}", f"{one.user_s:.2f}")
        print(_line(*row, f"{one.system_s:.2f}", f"{one.peak_mb:.0f}", one.right, one.wrong, one.lost), flush=True)


def under_limit(server: ModelServer, options: argparse.Namespace, in_flight: int, rate: float) -> None:
    """Measure all contestants in turn under a limit that the server keeps."""
    burst = options.burst or rate
    least = max(0.0, options.traces - burst) / rate + options.latency
    for _ in range(options.repeat):
        for name in CONTESTANTS:
            server.reset(Behaviour(options.latency, rate=rate, burst=burst, says_ms=options.retry_after_ms))
            one, refused = measured_apart(name, server, options, in_flight), server.counts().refused
            row = (name, in_flight, f"{rate:g}", f"{burst:g}", one.calls, refused, f"{one.wall_s:.2f}", f"{least:.2f}")
            print(_line(*row, f"{one.wall_s / least:.2f}", one.right, one.wrong, one.lost), flush=True)


def _line(*cells: object) -> str:
    return " ".join(f"{cell!s:>11}" for cell in cells)


def main() -> None:
    """Run the benchmark and print its table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", type=int, default=200)
    parser.add_argument("--in-flight", default="32,128", help="calls at a time, one or more")
    parser.add_argument("--judge", choices=("diff", "faithfulness"), default="diff")
    parser.add_argument("--document-annotations", action="store_true", help="each document is annotated too")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--latency", type=float, default=0.2, help="seconds until the model answers")
    parser.add_argument(
        "--bucket", help="requests a second that the server answers, one or more; it refuses the others"
    )
    parser.add_argument(
        "--burst", type=float, help="requests that it answers at once before; a second's worth if not given"
    )
    parser.add_argument("--retry-after-ms", action="store_true", help="it says in milliseconds too how long to wait")
    parser.add_argument("--store", help="folder for the store, such as /dev/shm where disks are slow or shared")
    parser.add_argument("--contestant", choices=CONTESTANTS, help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.contestant:
        print(json.dumps(asdict(measure(options.contestant, options))))
        return
    levels = [int(level) for level in options.in_flight.split(",")]
    if options.bucket:
        heads = ("", "in flight", "a second", "burst", "requests", "refused", "wall s", "least s", "wall/least")
        print(_line(*heads, "right", "wrong", "lost"))
        with running() as server:
            for rate in options.bucket.split(","):
                under_limit(server, options, levels[0], float(rate))
        return
    heads = ("", "in flight", "faults", "calls", "wall s", "wall/limit", "wall/floor", "CPU ms/call", "user s")
    print(_line(*heads, "system s", "peak MB", "right", "wrong", "lost"))
    with running() as server:
        for in_flight in levels:
            compare(server, options, in_flight, {})
        compare(server, options, levels[0], FAULTS)


if __name__ == "__main__":
    main()
