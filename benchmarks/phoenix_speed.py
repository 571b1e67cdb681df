"""Traces pulled from and annotations confirmed by a real Phoenix, against bare requests to the same server.

    python benchmarks/phoenix_speed.py [--traces 200] [--repeat 3]

A Phoenix is started on this machine and filled with traces of three spans. The floor reads them with plain `httpx`,
page by page, which is the fastest way the server has, and posts ready-made annotations in batches of 100. The product
finds the traces by a query, pulls them by their ids as whole trees, and writes annotations of the usual size through
its connector. Both wait for the server's commit. Of --repeat the best counts; the server's CPU time stands beside it,
because most of the time is the server's. Needs `pip install 'trace-enricher[demo]'`.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from enricher.phoenix_server import start_phoenix
from enricher.trace import RawTrace, Span, TraceQuery
from enricher.verdict import Annotation, DeliveryState
from tests.servers.phoenix import PhoenixPlatform, rag_trace

_BATCH = 100
_METADATA = {"status": "OK", "segments": [{"segment_id": f"s{n}", "generated_text": "x" * 120} for n in range(6)]}


@dataclass
class Took:
    """What some work took."""

    count: int
    wall_s: float
    client_s: float  # of CPU
    server_s: float  # of CPU; 0 where the system does not tell


async def measured(pid: int, work: Callable[[], Awaitable[int]]) -> Took:
    """Do some work and say what it took here and in the server."""
    server, cpu, wall = _cpu_of(pid), time.process_time(), time.perf_counter()
    count = await work()
    return Took(count, time.perf_counter() - wall, time.process_time() - cpu, _cpu_of(pid) - server)


def _cpu_of(pid: int) -> float:
    stat = Path(f"/proc/{pid}/stat")
    if not stat.exists():
        return 0.0
    user, system = stat.read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / 100


async def read_plainly(platform: PhoenixPlatform) -> int:
    """Read all spans of the project with nothing but an HTTP client; return how many traces they make."""
    seen: set[str] = set()
    cursor: str | None = None
    while True:
        asked = {"limit": 1000, **({"cursor": cursor} if cursor else {})}
        page = (await platform.client.get(f"/v1/projects/{platform.project}/spans", params=asked)).json()
        seen |= {span["context"]["trace_id"] for span in page["data"]}
        cursor = page.get("next_cursor")
        if not cursor:
            return len(seen)


async def write_plainly(platform: PhoenixPlatform, spans: Sequence[Span], turn: int) -> int:
    """Post ready-made annotations with nothing but an HTTP client."""
    for start in range(0, len(spans), _BATCH):
        rows = [
            {
                "span_id": span.span_id,
                "name": "context_diff",
                "annotator_kind": "LLM",
                "identifier": f"plain-{turn}",
                "result": {"label": "unsupported", "score": 0.5, "explanation": "1 of 6 segments is unsupported."},
                "metadata": _METADATA,
            }
            for span in spans[start : start + _BATCH]
        ]
        reply = await platform.client.post("/v1/span_annotations", params={"sync": "true"}, json={"data": rows})
        reply.raise_for_status()
    return len(spans)


async def pull(platform: PhoenixPlatform) -> int:
    """Find the traces and pull them, as a run does."""
    connector = platform.connector()
    refs = [ref async for ref in connector.find(TraceQuery(rule="all", projects=(platform.project,)))]
    pulled = [got async for got in connector.pull(refs)]
    await connector.aclose()
    return sum(isinstance(got, RawTrace) and len(got.spans) == 3 for got in pulled)


async def annotate(platform: PhoenixPlatform, spans: Sequence[Span], turn: int) -> int:
    """Write annotations as delivery does; return how many are confirmed."""
    connector = platform.connector()
    annotations = [
        Annotation(
            connection="phoenix",
            project=platform.project,
            trace_id=span.trace_id,
            span_id=span.span_id,
            name="context_diff",
            label="unsupported",
            score=0.5,
            explanation="1 of 6 segments is unsupported.",
            metadata=_METADATA,
            identifier=f"product-{turn}",
        )
        for span in spans
    ]
    confirmed = 0
    for start in range(0, len(annotations), _BATCH):
        deliveries = await connector.annotate(annotations[start : start + _BATCH])
        confirmed += sum(delivery.state is DeliveryState.CONFIRMED for delivery in deliveries)
    await connector.aclose()
    return confirmed


@asynccontextmanager
async def filled(count: int) -> AsyncIterator[tuple[PhoenixPlatform, list[Span]]]:
    """Start a Phoenix with so many traces; yield it with the spans that are annotated."""
    server = await start_phoenix()
    try:
        platform = PhoenixPlatform(server)
        traces = [rag_trace() for _ in range(count)]
        await platform.seed(*traces)
        yield platform, [trace[-1] for trace in traces]
        await platform.aclose()
    finally:
        await server.stop()


async def measure(count: int, repeat: int) -> None:
    """Measure both ways in turn and print the best of each."""
    best: dict[str, Took] = {}
    async with filled(count) as (platform, spans):
        pid = platform.server.process.pid
        for turn in range(repeat):
            works: dict[str, Callable[[], Awaitable[int]]] = {
                "pull, floor": lambda: read_plainly(platform),
                "pull, product": lambda: pull(platform),
                "annotate, floor": lambda turn=turn: write_plainly(platform, spans, turn),  # type: ignore[misc]
                "annotate, product": lambda turn=turn: annotate(platform, spans, turn),  # type: ignore[misc]
            }
            for name, work in works.items():
                took = await measured(pid, work)
                if took.count != count:
                    raise SystemExit(f"{name}: {took.count} of {count}")
                if name not in best or took.wall_s < best[name].wall_s:
                    best[name] = took
    print(_line("", "a second", "wall/floor", "server CPU ms", "client CPU ms"))
    for name, took in best.items():
        floor = best[f"{name.partition(',')[0]}, floor"]
        each = 1000 / took.count
        ratio = f"{took.wall_s / floor.wall_s:.2f}"
        rate = f"{took.count / took.wall_s:.0f}"
        print(_line(name, rate, ratio, f"{each * took.server_s:.2f}", f"{each * took.client_s:.2f}"))


def _line(*cells: Any) -> str:
    return f"{cells[0]:<20}" + "".join(f"{cell!s:>15}" for cell in cells[1:])


def main() -> None:
    """Run the benchmark and print its table: each a trace or an annotation."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", type=int, default=200)
    parser.add_argument("--repeat", type=int, default=2)
    options = parser.parse_args()
    asyncio.run(measure(options.traces, options.repeat))


if __name__ == "__main__":
    main()
