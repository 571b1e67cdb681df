"""The demo on the stand-in: recorded LangSmith run trees, sent through the real SDK, some with a thumbs-down."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import langsmith
from pydantic import SecretStr
from rich.console import Console

from enricher.demo.stage import PROJECT
from enricher.progress import Reporter
from enricher.settings import Connection, LangSmithConnection, ReportRule
from tests.servers.langsmith.server import StandIn
from tests.trace_files import LANGSMITH, load

_SENT = ("id", "trace_id", "dotted_order", "parent_run_id", "name", "run_type", "inputs", "outputs", "error", "tags")
_COMPLAINTS = {
    "lcel_contract_contradiction": "Legal says the notice period is wrong.",
    "traceable_documented_medical": "My doctor says six hours.",
    "traceable_arbitrary_contract": "The warranty in my contract is longer.",
}


class LangSmithStage:
    """A stand-in of LangSmith's service in this process."""

    connection: Connection
    report = ReportRule(name="user_score", max_score=0)

    def __init__(self) -> None:
        self._service = StandIn()

    async def start(self, progress: Reporter, console: Console) -> None:
        """Start the stand-in."""
        progress.stage("starting the LangSmith stand-in")
        self._service.start()
        self.connection = LangSmithConnection(
            kind="langsmith",
            base_url=self._service.url,
            api_key=SecretStr(self._service.key),
            queries_per_second=100,
            calls_per_second=1000,
        )
        console.print(f"A stand-in of LangSmith is up at {self._service.url}", style="dim")

    async def fill(self, progress: Reporter) -> None:
        """Send the recorded trees as if they had just happened, and the thumbs-down of their users."""
        trees = [path for path in LANGSMITH if ".v2." not in path.name]
        progress.stage("sending sample traces", len(trees))
        # Everything is explicit: the environment of whoever shows the demo decides nothing.
        client = langsmith.Client(api_url=self._service.url, api_key=self._service.key, tracing_sampling_rate=1.0)
        try:
            for number, path in enumerate(trees):
                recorded = load(path)
                ended = datetime.now(UTC) - timedelta(minutes=1 + 2 * number)
                root = self._send(client, recorded["runs"], ended)
                if complaint := _COMPLAINTS.get(recorded["case"]):
                    project_id = self._service.state.project_named(PROJECT).id
                    client.create_feedback(
                        root, self.report.name, score=0, comment=complaint, session_id=project_id, stop_after_attempt=1
                    )
                progress.advance()
        finally:
            client.close()

    def _send(self, client: langsmith.Client, runs: Sequence[Mapping[str, Any]], ended: datetime) -> str:
        newest = max(datetime.fromisoformat(run["end_time"]) for run in runs if run.get("end_time"))
        offset = ended - newest
        moved = [
            {
                **{name: run[name] for name in _SENT if run.get(name) is not None},
                **{name: datetime.fromisoformat(run[name]) + offset for name in ("start_time", "end_time")},
                "session_name": PROJECT,
            }
            for run in runs
        ]
        client.multipart_ingest(create=moved)
        client.flush()
        return str(next(run["id"] for run in runs if not run.get("parent_run_id")))

    def say_where(self, console: Console) -> None:
        """Say that there are no pages here."""
        console.print("The stand-in has no pages. The feedback is there for the SDK:", style="bold")
        console.print(f"  LANGSMITH_ENDPOINT={self._service.url} LANGSMITH_API_KEY={self._service.key}")

    async def stop(self) -> None:
        """End the stand-in."""
        self._service.stop()
