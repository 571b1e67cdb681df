"""Measure the connector over many stand-in traces: `python -m tests.servers.langsmith.measure [--traces N]`."""

import argparse
import asyncio
import json
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from connectors.langsmith import LangSmithConnector
from enricher.trace import RawTrace, TraceQuery
from enricher.verdict import Annotation
from tests.servers.langsmith.server import StandIn

RUNS_PER_TRACE = 7
WRITE_BATCH = 100


def main() -> None:
    """Print requests a trace, wall time and the client's CPU time by step, as JSON."""
    parser = argparse.ArgumentParser(prog="python -m tests.servers.langsmith.measure", description=__doc__)
    parser.add_argument("--traces", type=int, default=10_000)
    parser.add_argument("--generation", choices=("both", "v1", "v2"), default="both")
    options = parser.parse_args()
    with StandIn(generation=options.generation) as service:
        for some in _batches(options.traces):
            service.load(some)
        print(json.dumps(asyncio.run(_measured(service, options.traces)), indent=1))


async def _measured(service: StandIn, count: int) -> dict[str, Any]:
    connector = LangSmithConnector(
        name="langsmith", base_url=service.url, api_key=service.key, queries_per_s=1e6, calls_per_s=1e6
    )
    figures: dict[str, Any] = {"traces": count, "runs": count * RUNS_PER_TRACE}
    begun = _clocks()
    refs = [ref async for ref in connector.find(TraceQuery(rule="all", projects=("bench",)))]
    figures["find"] = _step(service, begun, count)
    begun = _clocks()
    annotations, spans = [], 0
    async for trace in connector.pull(refs):
        assert isinstance(trace, RawTrace)
        spans += len(trace.spans)
        annotations.append(_annotation(trace))
    figures["pull"] = _step(service, begun, count)
    begun = _clocks()
    for at in range(0, len(annotations), WRITE_BATCH):
        await connector.annotate(annotations[at : at + WRITE_BATCH])
    figures["annotate"] = _step(service, begun, count)
    begun = _clocks()
    states: Counter[str] = Counter()
    for at in range(0, len(annotations), WRITE_BATCH):
        states.update(str(one.state) for one in await connector.confirm(annotations[at : at + WRITE_BATCH]))
    figures["confirm"] = _step(service, begun, count)
    await connector.aclose()
    assert spans == count * RUNS_PER_TRACE
    return {**figures, "states": dict(states)}


def _step(service: StandIn, begun: tuple[float, float], count: int) -> dict[str, float]:
    requests = len(service.requests)
    service.forget_requests()
    wall, cpu = (now - then for now, then in zip(_clocks(), begun, strict=True))
    # The stand-in runs in a thread of the same process: its work is in the wall time, not in the client's CPU time.
    figures = {"requests": requests, "requests_per_trace": requests / count, "wall_s": wall, "client_cpu_s": cpu}
    return {name: round(value, 3) for name, value in figures.items()}


def _clocks() -> tuple[float, float]:
    return time.perf_counter(), time.thread_time()


def _annotation(trace: RawTrace) -> Annotation:
    return Annotation(
        connection="langsmith",
        project="bench",
        trace_id=trace.ref.trace_id,
        span_id=trace.ref.trace_id,
        name="context_diff",
        label="faithful",
        score=1.0,
        explanation="All 3 segments are supported by the context.",
        metadata={"segments": [{"segment_id": f"s{n}", "generated_text": "words " * 10} for n in range(3)]},
        identifier="trace-enricher/diff/local",
        locator=dict(trace.ref.locator),
    )


def _batches(traces: int) -> Iterator[list[dict[str, Any]]]:
    begin = datetime.now(UTC) - timedelta(hours=20)
    for place in range(traces):
        yield list(_runs(begin + timedelta(seconds=place * 5), place))


def _runs(begin: datetime, place: int) -> Iterator[dict[str, Any]]:
    trace_id = str(uuid.UUID(int=(place + 1) << 8, version=4))
    root_order = f"{begin:%Y%m%dT%H%M%S%f}Z{trace_id}"
    documents = [{"page_content": "a passage of the manual " * 25, "metadata": {"id": f"d{n}"}} for n in range(5)]
    for number in range(RUNS_PER_TRACE):
        started = begin + timedelta(milliseconds=number * 100)
        id_ = trace_id if number == 0 else str(uuid.UUID(int=((place + 1) << 8) + number, version=4))
        order = root_order if number == 0 else f"{root_order}.{started:%Y%m%dT%H%M%S%f}Z{id_}"
        yield {
            "id": id_,
            "trace_id": trace_id,
            "parent_run_id": None if number == 0 else trace_id,
            "dotted_order": order,
            "name": "answer" if number == 0 else f"step {number}",
            "run_type": "chain" if number != 1 else "retriever",
            "session_name": "bench",
            "start_time": started.isoformat(),
            "end_time": (started + timedelta(milliseconds=90)).isoformat(),
            "inputs": {"question": "How long is the notice period?"},
            "outputs": {"output": documents} if number == 1 else {"answer": "The notice period is 30 days."},
            "extra": {"metadata": {"env": "prod", "tier": "gold"}},
        }


if __name__ == "__main__":
    main()
