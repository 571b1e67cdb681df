"""The demo on a real Phoenix: sample traces of many frameworks, some with a thumbs-down."""

import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from typing import Any

from rich.console import Console

from connectors.formats import recorded_span
from connectors.http import HttpCalls
from connectors.otlp import send, shifted, wait_until_visible
from enricher.demo.stage import PROJECT
from enricher.phoenix_server import PhoenixServer, start_phoenix
from enricher.progress import Reporter
from enricher.settings import Connection, PhoenixConnection, ReportRule
from enricher.trace import Span


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """One sample trace; `complaint` is what a user said of it, if anybody did."""

    name: str
    spans: tuple[Span, ...]
    annotate_span_id: str
    complaint: str | None


def samples() -> list[Sample]:
    """Read the shipped traces: real spans of many frameworks around invented contents."""
    text = gzip.decompress((files("enricher.demo") / "traces.jsonl.gz").read_bytes()).decode()
    return [_sample(json.loads(line)) for line in text.splitlines()]


def _sample(row: dict[str, Any]) -> Sample:
    return Sample(
        name=row["name"],
        spans=tuple(recorded_span(span) for span in row["spans"]),
        annotate_span_id=row["annotate_span_id"],
        complaint=row["report"],
    )


class PhoenixStage:
    """A Phoenix server in a temporary folder."""

    connection: Connection
    report = ReportRule(name="user_feedback", labels=("thumbs-down",))

    def __init__(self) -> None:
        self._server: PhoenixServer | None = None

    @property
    def base_url(self) -> str:
        """Return where the server answers; only after `start`."""
        assert self._server is not None
        return self._server.base_url

    async def start(self, progress: Reporter, console: Console) -> None:
        """Start Phoenix, which takes 20 to 40 seconds of CPU."""
        progress.stage("starting Phoenix, which takes about half a minute", 60)
        waited = 0.0

        def on_wait(seconds: float) -> None:
            nonlocal waited
            progress.advance(int(seconds) - int(waited))
            waited = seconds

        self._server = await start_phoenix(on_wait=on_wait)
        self.connection = PhoenixConnection(kind="phoenix", base_url=self.base_url)
        console.print(f"Phoenix is up at {self.base_url} after {waited:.0f} s", style="dim")

    async def fill(self, progress: Reporter) -> None:
        """Send the samples as if they had just happened, and the thumbs-down of their users."""
        sent = samples()
        progress.stage("sending sample traces", len(sent))
        now = datetime.now(UTC)
        spans: list[Span] = []
        for number, sample in enumerate(sent):
            # One every two minutes, ending a minute ago: old enough to be finished, young enough for the window.
            spans += shifted(sample.spans, newest=now - timedelta(minutes=1 + 2 * number))
            progress.advance()
        await send(spans, base_url=self.base_url, project=PROJECT)
        await wait_until_visible(spans, base_url=self.base_url, project=PROJECT)
        await self._complain([sample for sample in sent if sample.complaint])

    async def _complain(self, reported: Sequence[Sample]) -> None:
        calls = HttpCalls(base_url=self.base_url, api_key=None, timeout_s=30.0)
        body = [
            {
                "span_id": sample.annotate_span_id,
                "name": self.report.name,
                "annotator_kind": "HUMAN",
                "identifier": "demo-user",
                "result": {"label": self.report.labels[0], "score": 0.0, "explanation": sample.complaint},
            }
            for sample in reported
        ]
        try:
            await calls.post("v1/span_annotations?sync=true", {"data": body})
        finally:
            await calls.aclose()

    def say_where(self, console: Console) -> None:
        """Name the page, and a filter worth typing."""
        console.print("Open it in Phoenix:", style="bold")
        console.print(
            f"  {self.base_url}/projects  then project {PROJECT}; open a trace and its Annotations card.",
            soft_wrap=True,
        )
        console.print("  Filter the spans with  annotations['context_diff'].label == 'contradicted'")

    async def stop(self) -> None:
        """End the server and remove its folder."""
        if self._server is not None:
            await self._server.stop()
