"""How fast pages come: the queue with 50,000 items on SQLite, and a trace of 60 documents of 400 words.

The floor is what the same server needs for a page without anything on it, the login.
"""

import asyncio
import statistics
import sys
import tempfile
import time
from datetime import timedelta

import httpx
from sqlalchemy import Connection, insert

from enricher.serve.app import serve_app
from enricher.serve.site import Site
from enricher.settings import Job, Settings
from enricher.store import Evaluation, RefState, Settlement, Store
from enricher.store.schema import evaluations, queue, review_items
from enricher.trace import Document, Item, SpanId, TraceId, TraceRef
from enricher.verdict import DiffResult, Provenance, Quote, QuoteCheck, Segment, Status, Verdict

ITEMS = 50_000
DOCUMENTS, WORDS, SEGMENTS = 60, 400, 30
TRIES = 9
WORD = ("notice", "period", "refunded", "customer", "within", "thirty", "days", "shall", "supplier", "agreement")


def document(number: int) -> Document:
    """Make a document of its own."""
    text = " ".join(WORD[(number * 7 + place * 3) % len(WORD)] for place in range(WORDS - 1)) + f" d{number}."
    return Document(id=f"doc-{number}", text=text)


def judged(trace_id: str) -> Settlement:
    """Judge one large item: each segment has passages in two documents."""
    documents = tuple(document(number) for number in range(DOCUMENTS))
    answer, segments = "", []
    for number in range(SEGMENTS):
        text = f"Statement {number} about the notice period of the agreement."
        start, answer = len(answer), f"{answer}{text} "
        quotes = tuple(
            Quote(document_id=d.id, text=d.text[50:120], start=50, end=120, check=QuoteCheck.VERIFIED)
            for d in (documents[(2 * number) % DOCUMENTS], documents[(2 * number + 1) % DOCUMENTS])
        )
        status, issue = ("CONTRADICTED", "CONTRADICTED") if number % 3 == 0 else ("FULLY_SUPPORTED", "NONE")
        segments.append(
            Segment(
                segment_id=f"s{number}", start=start, end=start + len(text), generated_text=text,
                alignment_status=status, issue_type=issue, evidence=quotes,
            )
        )  # fmt: skip
    item = Item(
        trace_id=TraceId(trace_id), question="How long?", documents=documents, answer=answer,
        annotate_span_id=SpanId("s"),
    )  # fmt: skip
    found = []
    for judge in ("diff", "faithfulness", "consistency", "halves"):
        verdict = Verdict(
            trace_id=trace_id, span_id="s", status=Status.OK,
            result=DiffResult(segments=tuple(segments)).with_parts(segments),
            provenance=Provenance(judge=judge, engine="local"),
        )  # fmt: skip
        found.append(
            Evaluation(item_key=item.key, input_hash="h", verdict=verdict, item=item, review=("contradicted",))
        )
    ref = TraceRef(connection="phoenix", project="shop", trace_id=TraceId(trace_id), rules=("all",))
    return Settlement(run_id="", job="nightly", ref=ref, evaluations=tuple(found), state=RefState.DONE)


async def fill(store: Store) -> None:
    """Put a large trace and many items into the store; the items by their rows, which is what a page reads."""
    run = await store.start_run("nightly")
    large = judged("large")
    await store.take_in("nightly", [large.ref])
    await store.settle(Settlement(**{name: getattr(large, name) for name in large.__slots__} | {"run_id": run}))
    now = store.clock()
    words = "The answer says 90 days, msa-12 says sixty (60) days, and nothing else speaks for it. " * 3

    def rows(connection: Connection) -> None:
        for start in range(0, ITEMS, 5000):
            numbers = range(start, start + 5000)
            shared = [
                {"trace_id": f"t{n}", "job": f"job-{n % 5}", "reasons": REASONS[n % len(REASONS)],
                 "created_at": now - timedelta(seconds=ITEMS - n)}
                for n in numbers
            ]  # fmt: skip
            connection.execute(insert(evaluations), [
                {"id": f"e{n}", "run_id": run, "job": "nightly", "connection": "phoenix", "project": "p",
                 "trace_id": f"t{n}",
                 "span_id": "s", "item_key": f"t{n}:s", "judge": "diff", "judge_version": "v", "input_hash": "h",
                 "status": "OK", "is_verdict": True, "score": 0.5, "verdict": "{}", "cost": 0.0, "settled_at": now}
                for n in numbers
            ])  # fmt: skip
            connection.execute(insert(review_items), [
                {**row, "id": f"r{n}", "evaluation_id": f"e{n}", "run_id": run, "connection": "phoenix",
                 "state": "open",
                 "item_key": f"t{n}:s", "judge_version": "v", "updated_at": now}
                for n, row in zip(numbers, shared, strict=True)
            ])  # fmt: skip
            connection.execute(insert(queue), [
                {**row, "review_id": f"r{n}", "project": f"p{n % 7}", "judge": JUDGES[n % 4], "label": "contradicted",
                 "score": 0.5, "question": f"How long is notice {n}?" * 3, "summary": words}
                for n, row in zip(numbers, shared, strict=True)
            ])  # fmt: skip

    await store.transact(rows)


JUDGES = ("diff", "faithfulness", "consistency", "halves")
REASONS = (
    ["contradicted"],
    ["contradicted", "score_below_threshold"],
    ["source_conflict"],
    ["judge_failed:JUDGE_TRUNCATED"],
)
PAGES = {
    "login (floor)": "/login",
    "queue, first page": "/queue",
    "queue, page in the middle": "/queue?after={middle}~r25000",
    "queue, common filter": "/queue?judge=diff&reason=contradicted",
    "queue, rare filter": "/queue?trace=t49999",
    "queue, nothing matches": "/queue?judge=diff&job=job-9",
    "queue, free items": "/queue?assignee=nobody&age=1d",
    "trace, 60 documents of 400 words": "/trace/large",
}


async def main() -> int:
    """Print the median and the slowest of each page; return 1 when a measure is missed."""
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        async with await Store.open(f"sqlite:///{folder}/store.db") as store:
            await fill(store)
            settings = Settings(jobs={f"job-{n}": Job(risk_level="high" if n % 2 else "normal") for n in range(5)})
            app = await serve_app(Site.of(store, settings), host="127.0.0.1")
            middle = (store.clock() - timedelta(seconds=ITEMS // 2)).isoformat().replace("+", "%2B")
            transport = httpx.ASGITransport(app=app)
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=120) as client:
                for name, address in PAGES.items():
                    limit = 1.0 if name.startswith("trace") else 0.2
                    walls, cpus, size = [], [], 0
                    for _ in range(TRIES):
                        wall, cpu = time.perf_counter(), time.process_time()
                        answer = await client.get(address.replace("{middle}", middle))
                        walls.append(time.perf_counter() - wall)
                        cpus.append(time.process_time() - cpu)
                        assert answer.status_code == 200, (address, answer.status_code)
                        size = len(answer.content)
                    told = f"{statistics.median(walls) * 1000:7.0f} ms  fastest {min(walls) * 1000:6.0f} ms"
                    print(
                        f"{name:34} median {told}  CPU {statistics.median(cpus) * 1000:6.0f} ms  {size // 1024:5d} kB"
                    )
                    missed += statistics.median(cpus) > limit
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
