"""How the contract suite handles a platform: what it must be able to do besides being a Connector.

A platform joins the suite with one class here, a fixture that yields it and a line in each of the two tables.
"""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

from connectors.files import FilesConnector
from connectors.langsmith import LangSmithConnector
from connectors.phoenix import PhoenixConnector
from enricher.seams import Connector
from enricher.trace import Span, TraceQuery, TraceRef
from enricher.verdict import Annotation
from tests.servers.langsmith.platform import LangSmithPlatform
from tests.servers.phoenix import PhoenixPlatform, rag_trace


@dataclass(frozen=True, kw_only=True)
class Seeded:
    """A trace that is on the platform, and the span that verdicts go to."""

    trace_id: str
    span_id: str


@dataclass(frozen=True, kw_only=True)
class Written:
    """An annotation as the platform shows it."""

    name: str
    label: str | None
    score: float | None
    by_person: bool


class Platform(Protocol):
    """A platform under test, holding the traces of one test."""

    project: str

    def connector(self, *, small_pages: bool = False) -> Connector:
        """Return a connector to the platform; with small pages, listings take several requests."""
        ...

    async def seed(self, count: int) -> Sequence[Seeded]:
        """Put finished traces on the platform, a minute apart, oldest first."""
        ...

    async def annotate_as_person(self, seeded: Seeded, *, name: str, label: str, score: float) -> None:
        """Annotate the trace as a person does in the platform's own pages."""
        ...

    async def annotations_on(self, seeded: Seeded) -> Sequence[Written]:
        """Return what is written on the trace, by whoever."""
        ...

    async def delete(self, seeded: Seeded) -> None:
        """Remove the trace."""
        ...


@dataclass
class PhoenixInContract:
    """A real Phoenix under the contract."""

    phoenix: PhoenixPlatform

    @property
    def project(self) -> str:
        """Name the project of this test."""
        return self.phoenix.project

    def connector(self, *, small_pages: bool = False) -> Connector:
        """Return a connector to this test's project."""
        return self.phoenix.connector(page_size=2 if small_pages else 1000)

    async def seed(self, count: int) -> Sequence[Seeded]:
        """Send traces of three spans."""
        traces = [rag_trace(ended=datetime.now(UTC) - timedelta(minutes=60 + count - n)) for n in range(count)]
        await self.phoenix.seed(*traces)
        return [Seeded(trace_id=spans[-1].trace_id, span_id=spans[-1].span_id) for spans in traces]

    async def annotate_as_person(self, seeded: Seeded, *, name: str, label: str, score: float) -> None:
        """Annotate the root span."""
        await self.phoenix.annotate_span(seeded.span_id, name=name, result={"label": label, "score": score})

    async def annotations_on(self, seeded: Seeded) -> Sequence[Written]:
        """Return the annotations of the root span."""
        return [
            Written(
                name=row["name"],
                label=row["result"]["label"],
                score=row["result"]["score"],
                by_person=row["annotator_kind"] == "HUMAN",
            )
            for row in await self.phoenix.annotations_on(seeded.span_id)
        ]

    async def delete(self, seeded: Seeded) -> None:
        """Delete the trace."""
        await self.phoenix.delete_trace(seeded.trace_id)


@dataclass
class LangSmithInContract:
    """The LangSmith stand-in under the contract, filled through the real SDK."""

    langsmith: LangSmithPlatform

    @property
    def project(self) -> str:
        """Name the project of this test."""
        return self.langsmith.project

    def connector(self, *, small_pages: bool = False) -> Connector:
        """Return a connector to the stand-in."""
        return self.langsmith.connector(page_size=2 if small_pages else 1000)

    async def seed(self, count: int) -> Sequence[Seeded]:
        """Send traces of three runs."""
        starts = [datetime.now(UTC) - timedelta(minutes=60 + count - n) for n in range(count)]
        roots = [await asyncio.to_thread(self.langsmith.trace, started=started) for started in starts]
        return [Seeded(trace_id=str(root.trace_id), span_id=str(root.id)) for root in roots]

    async def annotate_as_person(self, seeded: Seeded, *, name: str, label: str, score: float) -> None:
        """Give feedback on the root run."""
        await asyncio.to_thread(self.langsmith.report, seeded.span_id, name, value=label, score=score)

    async def annotations_on(self, seeded: Seeded) -> Sequence[Written]:
        """Return the feedback on the root run."""
        return [
            Written(
                name=one["key"],
                label=one["value"]["label"] if isinstance(one["value"], dict) else one["value"],
                score=one["score"],
                by_person=one["feedback_source"]["metadata"].get("product") != "trace-enricher",
            )
            for one in self.langsmith.service.feedback_of(seeded.span_id)
        ]

    async def delete(self, seeded: Seeded) -> None:
        """Delete the trace."""
        self.langsmith.service.delete_trace(seeded.trace_id)


@dataclass
class FilesInContract:
    """A folder of exports under the contract: spans as lines, those of one trace apart from each other."""

    folder: Path
    project: str = "default"

    @property
    def spans(self) -> Path:
        """Name the file of spans."""
        return self.folder / "spans.jsonl"

    @property
    def output(self) -> Path:
        """Name the file of annotations."""
        return self.folder / "annotations.jsonl"

    def connector(self, *, small_pages: bool = False) -> Connector:
        """Return a connector to the folder."""
        paths = [str(self.folder / "*.jsonl")]
        return FilesConnector(name="files", paths=paths, output=self.output, page_size=2 if small_pages else 500)

    async def seed(self, count: int) -> Sequence[Seeded]:
        """Write traces of three spans: first all children, then all roots."""
        traces = [rag_trace(ended=datetime.now(UTC) - timedelta(minutes=60 + count - n)) for n in range(count)]
        with self.spans.open("a", encoding="utf-8") as lines:
            for place in range(3):
                lines.writelines(json.dumps(_recorded(spans[place])) + "\n" for spans in traces)
        return [Seeded(trace_id=spans[-1].trace_id, span_id=spans[-1].span_id) for spans in traces]

    async def annotate_as_person(self, seeded: Seeded, *, name: str, label: str, score: float) -> None:
        """Add a line to the output, as a person does with an editor."""
        line = {"span_id": seeded.span_id, "name": name, "label": label, "score": score, "annotator_kind": "HUMAN"}
        with self.output.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(line) + "\n")

    async def annotations_on(self, seeded: Seeded) -> Sequence[Written]:
        """Return the lines about the root span."""
        lines = [json.loads(line) for line in self.output.read_text(encoding="utf-8").splitlines()]
        return [
            Written(
                name=one["name"], label=one["label"], score=one["score"], by_person=one["annotator_kind"] == "HUMAN"
            )
            for one in lines
            if one["span_id"] == seeded.span_id
        ]

    async def delete(self, seeded: Seeded) -> None:
        """Write the file without the trace."""
        lines = self.spans.read_text(encoding="utf-8").splitlines(keepends=True)
        self.spans.write_text("".join(line for line in lines if seeded.trace_id not in line), encoding="utf-8")


def _recorded(span: Span) -> dict[str, Any]:
    start, end = (int(at.timestamp() * 1_000_000) * 1000 if at else None for at in (span.start_time, span.end_time))
    return {
        "trace_id": span.trace_id,
        "span_id": span.span_id,
        "parent_id": span.parent_id,
        "name": span.name,
        "start_time_unix_nano": start,
        "end_time_unix_nano": end,
        "attributes": {"openinference.span.kind": span.kind.value, **span.attributes},
        "status": {"code": span.status},
    }


def langsmith_at(base_url: str) -> Connector:
    """Return a LangSmith connector to a server that fails."""
    return LangSmithConnector(name="platform", base_url=base_url, api_key="k", timeout_s=2.0)


def phoenix_at(base_url: str) -> Connector:
    """Return a Phoenix connector to a server that fails."""
    return PhoenixConnector(name="platform", base_url=base_url, timeout_s=2.0)


def annotation(platform: str, seeded: Seeded, **changes: Any) -> Annotation:
    """Return a write-back for the trace."""
    given = {
        "connection": "platform",
        "project": platform,
        "trace_id": seeded.trace_id,
        "span_id": seeded.span_id,
        "name": "context_diff",
        "label": "contradicted",
        "score": 0.5,
        "explanation": "1 of 2 segments contradicted",
        "identifier": "enricher:diff:v1",
    }
    return Annotation.model_validate(given | changes)


def annotation_for(ref: TraceRef, seeded: Seeded, **changes: Any) -> Annotation:
    """Return a write-back for the trace as the pipeline makes it: with the ref's locator."""
    return annotation(ref.project, seeded, connection=ref.connection, locator=dict(ref.locator), **changes)


def everything(**changes: Any) -> TraceQuery:
    """Return a query for all traces of the test's project."""
    return TraceQuery(rule="contract", **changes)
