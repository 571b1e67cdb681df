"""Start Phoenix, send it the sample traces with user reports, run the job, and show what was found."""

import asyncio
import contextlib
import gzip
import json
import signal
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from pathlib import Path
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.text import Text

from connectors.formats import recorded_span
from connectors.http import HttpCalls
from connectors.otlp import send, shifted, wait_until_visible
from enricher.app import run_jobs
from enricher.choosing import Request
from enricher.phoenix_server import PhoenixServer, start_phoenix
from enricher.progress import Reporter, progress_bar
from enricher.report import as_text, diff_view, show, to_json
from enricher.run import RunResult
from enricher.settings import Job, PhoenixConnection, ReportRule, Rule, Settings
from enricher.trace import Span

PROJECT = "rag-demo"
REPORT = "user_feedback"


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """One sample trace; `report` is what a user complained of, if anybody did."""

    name: str
    framework: str
    spans: tuple[Span, ...]
    annotate_span_id: str
    report: str | None


def samples() -> list[Sample]:
    """Read the shipped traces: real spans of many frameworks around invented contents."""
    text = gzip.decompress((files("enricher.demo") / "traces.jsonl.gz").read_bytes()).decode()
    return [_sample(json.loads(line)) for line in text.splitlines()]


def _sample(row: dict[str, Any]) -> Sample:
    return Sample(
        name=row["name"],
        framework=row["framework"],
        spans=tuple(recorded_span(span) for span in row["spans"]),
        annotate_span_id=row["annotate_span_id"],
        report=row["report"],
    )


async def run_demo(*, once: bool, as_json: bool) -> int:
    """Run the demo and return the exit code; with `once` it ends when done, else it stays up until Ctrl-C."""
    console = Console(stderr=as_json)
    with _cancelled_by_signals(), progress_bar() as progress:
        server = await _started(progress, console)
        try:
            sent = samples()
            await _send(server, sent, progress)
            result = await _enrich(server, progress)
        except BaseException:
            await server.stop()
            raise
    try:
        if as_json:
            print(json.dumps(to_json(result.report), ensure_ascii=False, indent=2))
        else:
            show(as_text(result.report))
            show(_closer_look(result))
        if not once and result.report.state != "interrupted":
            _say_where(console, server)
            await _until_interrupted()
    finally:
        await server.stop()
    return 0 if result.report.is_clean else 1


async def _started(progress: Reporter, console: Console) -> PhoenixServer:
    progress.stage("starting Phoenix, which takes about half a minute", 60)
    waited = 0.0

    def on_wait(seconds: float) -> None:
        nonlocal waited
        progress.advance(int(seconds) - int(waited))
        waited = seconds

    server = await start_phoenix(on_wait=on_wait)
    console.print(f"Phoenix is up at {server.base_url} after {waited:.0f} s", style="dim")
    return server


async def _send(server: PhoenixServer, sent: Sequence[Sample], progress: Reporter) -> None:
    progress.stage("sending sample traces", len(sent))
    now = datetime.now(UTC)
    spans: list[Span] = []
    for number, sample in enumerate(sent):
        # One every two minutes, ending a minute ago: old enough to be finished, young enough for the first window.
        spans += shifted(sample.spans, newest=now - timedelta(minutes=1 + 2 * number))
        progress.advance()
    await send(spans, base_url=server.base_url, project=PROJECT)
    await wait_until_visible(spans, base_url=server.base_url, project=PROJECT)
    await _report_as_users(server, [sample for sample in sent if sample.report])


async def _report_as_users(server: PhoenixServer, reported: Sequence[Sample]) -> None:
    calls = HttpCalls(base_url=server.base_url, api_key=None, timeout_s=30.0)
    result = {"label": "thumbs-down", "score": 0.0}
    body = [
        {
            "span_id": sample.annotate_span_id,
            "name": REPORT,
            "annotator_kind": "HUMAN",
            "identifier": "demo-user",
            "result": {**result, "explanation": sample.report},
        }
        for sample in reported
    ]
    try:
        await calls.post("v1/span_annotations?sync=true", {"data": body})
    finally:
        await calls.aclose()


async def _enrich(server: PhoenixServer, progress: Reporter) -> RunResult:
    with tempfile.TemporaryDirectory(prefix="trace-enricher-demo-") as folder:
        settings = Settings(
            store=f"sqlite:///{Path(folder) / 'demo.db'}",
            connections={"phoenix": PhoenixConnection(kind="phoenix", base_url=server.base_url)},
            jobs={
                "demo": Job(
                    projects=(PROJECT,),
                    rules=(
                        Rule(name="reported", reports=(ReportRule(name=REPORT, labels=("thumbs-down",)),)),
                        Rule(name="all", rate=1.0),
                    ),
                )
            },
        )
        return (await run_jobs(settings, (), Request(), progress))[0]


def _closer_look(result: RunResult) -> RenderableType:
    worst = result.worst
    if worst is None:
        return Text("No trace could be judged.", style="red")
    title = Text(f"\nThe worst one, trace {worst.verdict.trace_id}\n", style="bold")
    return Group(title, diff_view(worst.verdict, worst.item.question, worst.item.answer), Text(""))


def _say_where(console: Console, server: PhoenixServer) -> None:
    console.print("Open it in Phoenix:", style="bold")
    console.print(f"  {server.base_url}/projects  then project {PROJECT}; open a trace and its Annotations card.")
    console.print("  Filter the spans with  annotations['context_diff'].label == 'contradicted'")
    console.print("Ctrl-C ends the demo and removes everything it made.", style="dim")


async def _until_interrupted() -> None:
    # The run has had handlers of its own and left none behind.
    with _cancelled_by_signals(), contextlib.suppress(asyncio.CancelledError):
        await asyncio.Event().wait()


@contextlib.contextmanager
def _cancelled_by_signals() -> Iterator[None]:
    """Let SIGINT and SIGTERM cancel this task, so that no Phoenix is left behind."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, task.cancel)
    try:
        yield
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
