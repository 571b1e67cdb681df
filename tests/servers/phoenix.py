"""Fill a real Phoenix with traces and reports, and read what is on it, the way a person or another program would."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx

from connectors.formats import read_file
from connectors.otlp import send, shifted, wait_until_visible
from connectors.phoenix import PhoenixConnector
from enricher.phoenix_server import PhoenixServer
from enricher.trace import Span, SpanId, SpanKind, TraceId

CORPUS = Path(__file__).parents[1] / "traces" / "otel"
AN_HOUR_AGO = timedelta(hours=1)


@dataclass
class PhoenixPlatform:
    """A real Phoenix with a project of its own for one test."""

    server: PhoenixServer
    project: str = field(default_factory=lambda: f"test-{secrets.token_hex(4)}")

    def __post_init__(self) -> None:
        headers = {"authorization": f"Bearer {self.server.api_key}"} if self.server.api_key else {}
        self.client = httpx.AsyncClient(base_url=self.server.base_url, headers=headers, timeout=60.0)

    def connector(self, **options: Any) -> PhoenixConnector:
        """Return a connector that sees only this test's project unless told otherwise."""
        settings = {"projects": (self.project,), "api_key": self.server.api_key, **options}
        return PhoenixConnector(name="phoenix", base_url=self.server.base_url, **settings)

    async def seed(self, *traces: Sequence[Span], project: str | None = None) -> None:
        """Send the traces and wait until all of their spans show."""
        spans = [span for trace in traces for span in trace]
        where = {"base_url": self.server.base_url, "project": project or self.project, "api_key": self.server.api_key}
        await send(spans, **where)
        await wait_until_visible(spans, **where, within_s=300.0)

    async def annotate_span(self, span_id: str, **annotation: Any) -> None:
        """Annotate a span as a person does, unless told otherwise."""
        await self._annotate("span", {"span_id": span_id, **annotation})

    async def annotate_trace(self, trace_id: str, **annotation: Any) -> None:
        """Annotate a whole trace as a person does, unless told otherwise."""
        await self._annotate("trace", {"trace_id": trace_id, **annotation})

    async def _annotate(self, target: str, annotation: dict[str, Any]) -> None:
        body = {"annotator_kind": "HUMAN", "identifier": "", **annotation}
        path = f"/v1/{target}_annotations"
        (await self.client.post(path, params={"sync": "true"}, json={"data": [body]})).raise_for_status()

    async def annotations_on(self, span_id: str) -> list[dict[str, Any]]:
        """Return all annotations on a span."""
        path = f"/v1/projects/{self.project}/span_annotations"
        reply = await self.client.get(path, params={"span_ids": span_id, "limit": 1000})
        return list(reply.raise_for_status().json()["data"])

    async def document_annotations_on(self, span_id: str) -> list[dict[str, Any]]:
        """Return the annotations on a span's documents, which only the UI's own interface shows."""
        fields = "documentEvaluations { name label score documentPosition }"
        query = f"query($id: String!) {{ getSpanByOtelId(spanId: $id) {{ {fields} }} }}"
        reply = await self.client.post("/graphql", json={"query": query, "variables": {"id": span_id}})
        return list(reply.raise_for_status().json()["data"]["getSpanByOtelId"]["documentEvaluations"])

    async def delete_trace(self, trace_id: str) -> None:
        """Delete a trace."""
        (await self.client.delete(f"/v1/traces/{trace_id}")).raise_for_status()

    async def aclose(self) -> None:
        """Release connections."""
        await self.client.aclose()


def rag_trace(
    *, ended: datetime | None = None, root: dict[str, Any] | None = None, child: dict[str, Any] | None = None
) -> list[Span]:
    """Return a trace of three spans: chain, retriever with two documents, model; it took two seconds."""
    end = ended or datetime.now(UTC) - AN_HOUR_AGO
    start = end - timedelta(seconds=2)
    trace_id, root_id = TraceId(secrets.token_hex(16)), new_span_id()
    documents = {
        f"retrieval.documents.{place}.document.{key}": value
        for place, text in enumerate(("Refunds are paid within 30 days.", "Shipping takes a week."))
        for key, value in (("id", f"kb-{place}"), ("content", text))
    }
    question = {"input.value": "When are refunds paid?", **(root or {})}
    return [
        Span(
            trace_id=trace_id,
            span_id=new_span_id(),
            parent_id=root_id,
            name="retrieve",
            kind=SpanKind.RETRIEVER,
            start_time=start,
            end_time=start + timedelta(seconds=0.5),
            attributes={"input.value": "When are refunds paid?", **documents},
        ),
        Span(
            trace_id=trace_id,
            span_id=new_span_id(),
            parent_id=root_id,
            name="generate",
            kind=SpanKind.LLM,
            start_time=start + timedelta(seconds=0.6),
            end_time=end,
            attributes={"output.value": "Within 90 days.", **(child or {})},
        ),
        Span(
            trace_id=trace_id,
            span_id=root_id,
            name="answer",
            kind=SpanKind.CHAIN,
            start_time=start,
            end_time=end,
            status="OK",
            attributes={**question, "output.value": "Within 90 days."},
        ),
    ]


def new_span_id() -> SpanId:
    """Return a fresh span id."""
    return SpanId(secrets.token_hex(8))


def recorded(name: str, *, ended: datetime | None = None) -> list[Span]:
    """Return a recorded trace of the corpus, moved in time to end an hour ago."""
    (spans,) = read_file(next(CORPUS.glob(f"{name}.json*")))
    return shifted(spans, newest=ended or datetime.now(UTC) - AN_HOUR_AGO)
