"""Settlements a second, against bare sqlite3 inserts in the same run: `python benchmarks/store_speed.py [URL]`.

CPU time decides, because wall time depends on the disk and on who else uses the machine. The raw side does the least
that keeps the same promise: the same number of rows in the same kind of tables, one transaction a group, synchronous.
"""

import asyncio
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from enricher.store import Evaluation, RefState, Settlement, Store
from enricher.trace import TraceId, TraceRef
from enricher.verdict import Annotation, DiffResult, Provenance, Quote, Segment, Status, Verdict

COUNT = 10_000
IN_FLIGHT = 500
PASSAGE = "Claims must be filed within 30 days of the incident, in writing, with the original receipt attached."


def settlement(run_id: str, number: int) -> Settlement:
    """Make a settlement of ordinary size: six segments with evidence, one raw reply, one write-back, one in review."""
    segments = tuple(
        Segment(
            segment_id=f"s{n}",
            start=100 * n,
            end=100 * n + 90,
            generated_text="You can file a claim within 90 days after the incident has happened to you.",
            alignment_status="CONTRADICTED" if n == 0 else "FULLY_SUPPORTED",
            issue_type="CONTRADICTED" if n == 0 else "NONE",
            evidence=(Quote(document_id=f"d{n}", text=PASSAGE, start=0, end=len(PASSAGE), check="VERIFIED"),),
            explanation="answer says 90 days, d0 says 30 days",
        )
        for n in range(6)
    )
    verdict = Verdict(
        trace_id=f"{number:032x}",
        span_id=f"{number:016x}",
        status=Status.OK,
        result=DiffResult(segments=segments),
        provenance=Provenance(judge="diff", engine="openai", prompt="diff@v2", model="m-2026-01-01"),
        raw_replies=('{"segments": [1, 2, 3]}' * 20,),
    )
    annotation = Annotation(
        connection="phoenix",
        project="default",
        trace_id=verdict.trace_id,
        span_id=verdict.span_id,
        name="context_diff",
        label="contradicted",
        score=verdict.score,
        metadata={"segments": [segment.model_dump(mode="json") for segment in segments]},
        identifier="diff-v2",
    )
    evaluation = Evaluation(
        item_key=f"{verdict.trace_id}:{verdict.span_id}",
        input_hash="0" * 64,
        verdict=verdict,
        annotations=(annotation,),
        review=("contradicted",),
    )
    ref = TraceRef(connection="phoenix", project="default", trace_id=TraceId(verdict.trace_id))
    return Settlement(run_id=run_id, job="nightly", ref=ref, evaluations=(evaluation,), state=RefState.DONE)


async def settle_all(store: Store, settlements: list[Settlement]) -> None:
    """Settle with a bounded number in flight, as a run does."""
    remaining = iter(settlements)

    async def work() -> None:
        for one in remaining:
            await store.settle(one)

    await asyncio.gather(*(work() for _ in range(IN_FLIGHT)))


def insert_raw(path: Path, settlements: list[Settlement]) -> None:
    """Insert rows of the same size with nothing but sqlite3."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    for table in ("evaluations", "raw_replies", "outbox", "review_items", "refs"):
        connection.execute(f"CREATE TABLE {table} (id TEXT PRIMARY KEY, trace_id TEXT, content TEXT)")
    for start in range(0, len(settlements), IN_FLIGHT):
        connection.execute("BEGIN IMMEDIATE")
        for one in settlements[start : start + IN_FLIGHT]:
            evaluation, trace_id = one.evaluations[0], one.ref.trace_id
            contents = {
                "evaluations": evaluation.verdict.model_dump_json(exclude={"raw_replies"}),
                "raw_replies": evaluation.verdict.raw_replies[0],
                "outbox": evaluation.annotations[0].model_dump_json(),
                "review_items": evaluation.review[0],
                "refs": "done",
            }
            for table, content in contents.items():
                connection.execute(f"INSERT INTO {table} VALUES (?, ?, ?)", (trace_id, trace_id, content))
        connection.execute("COMMIT")
    connection.close()


def measured(what: str, work: Callable[[], None]) -> float:
    """Print and return the CPU seconds of some work."""
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    print(f"{what:24} {COUNT / cpu:8.0f} a CPU-second {COUNT / wall:8.0f} a second")
    return cpu


async def main(url: str | None) -> None:
    """Measure both sides and print the ratio."""
    with tempfile.TemporaryDirectory() as folder:
        async with await Store.open(url or f"sqlite:///{folder}/store.db") as store:
            run_id = await store.start_run("nightly")
            settlements = [settlement(run_id, number) for number in range(COUNT)]
            await store.take_in("nightly", [one.ref for one in settlements])
            cpu, wall = time.process_time(), time.perf_counter()
            await settle_all(store, settlements)
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
            print(f"{'store.settle':24} {COUNT / cpu:8.0f} a CPU-second {COUNT / wall:8.0f} a second")
            raw = measured("bare sqlite3 inserts", lambda: insert_raw(Path(folder) / "raw.db", settlements))
            print(f"{'ratio of CPU time':24} {cpu / raw:8.2f}")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else None))
