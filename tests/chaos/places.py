"""The platforms that scenarios run against, each with traces whose outcome is known."""

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

from enricher.phoenix_server import PhoenixServer
from enricher.trace import SpanKind
from tests.acceptance.traces import FALSE, TRUE, answered, root
from tests.servers.langsmith import StandIn
from tests.servers.langsmith.platform import LangSmithPlatform
from tests.servers.phoenix import PhoenixPlatform

JUDGED, REJECTED, DEFERRED = "judged", "rejected", "deferred"
_LABELS = {TRUE: ("faithful", 1.0), FALSE: ("contradicted", 0.0)}
_A_MINUTE, _AN_HOUR = timedelta(minutes=1), timedelta(hours=1)


@dataclass(frozen=True, kw_only=True)
class Case:
    """One trace and what must come of it."""

    word: str  # stands in its documents and nowhere else, so that calls about it can be told
    ends: str
    answer: str = TRUE
    trace_id: str = ""
    span_id: str = ""

    @property
    def verdict(self) -> tuple[str, float]:
        """Return label and score of the right verdict."""
        return _LABELS[self.answer]

    @property
    def documents(self) -> tuple[str, str]:
        """Return what was retrieved."""
        return TRUE, f"Shipping of order {self.word} takes a week."


@dataclass(frozen=True, kw_only=True)
class Written:
    """One annotation of ours as the platform has it."""

    span_id: str
    name: str
    label: str | None
    score: float | None


class Place(Protocol):
    """A platform with a project of its own for one scenario."""

    base_url: str  # "" when it is no server
    key: str  # "" when it wants none
    pid: int | None  # of its process, when that is not ours

    async def seed(self, cases: Sequence[Case]) -> list[Case]:
        """Send the traces; return the cases with their ids."""
        ...

    async def written(self, cases: Sequence[Case]) -> list[Written]:
        """Return every annotation on these traces: nobody else writes any."""
        ...

    def connection(self, base_url: str, folder: Path) -> dict[str, Any]:
        """Return the connection of a config that reaches it at that address."""
        ...

    @property
    def project(self) -> str:
        """Name the project."""
        ...

    async def aclose(self) -> None:
        """Release what it holds."""
        ...


def made_cases(count: int) -> list[Case]:
    """Return so many traces to be judged, one that can't be and one that still runs."""
    judged = [Case(word=secrets.token_hex(6), ends=JUDGED, answer=(TRUE, FALSE)[number % 2]) for number in range(count)]
    return [*judged, *(Case(word=secrets.token_hex(6), ends=ends) for ends in (REJECTED, DEFERRED))]


class OnPhoenix:
    """A project in a real Phoenix."""

    key = ""

    def __init__(self, server: PhoenixServer) -> None:
        self._platform = PhoenixPlatform(server=server)
        self.base_url = server.base_url
        self.pid = server.process.pid
        self.project = self._platform.project

    async def seed(self, cases: Sequence[Case]) -> list[Case]:
        """Send the traces and wait until they show."""
        now, traces, seeded = datetime.now(UTC), [], []
        for number, case in enumerate(cases):
            ended = now - (_A_MINUTE if case.ends == DEFERRED else _AN_HOUR + number * _A_MINUTE)
            spans = answered(case.answer, ended=ended)
            if case.ends == REJECTED:
                spans = [span for span in spans if span.kind is not SpanKind.RETRIEVER]
            key = "retrieval.documents.1.document.content"
            spans = [
                replace(s, attributes={**s.attributes, key: case.documents[1]}) if key in s.attributes else s
                for s in spans
            ]
            top = root(spans)
            # A trace whose root has not arrived still runs.
            traces.append([span for span in spans if case.ends != DEFERRED or span is not top])
            seeded.append(replace(case, trace_id=top.trace_id, span_id=top.span_id))
        await self._platform.seed(*traces)
        return seeded

    async def written(self, cases: Sequence[Case]) -> list[Written]:
        """Ask for the annotations of all spans at once."""
        spans = [("span_ids", case.span_id) for case in cases]
        path = f"/v1/projects/{self.project}/span_annotations"
        reply = await self._platform.client.get(path, params=[*spans, ("limit", "1000")])
        return [
            Written(
                span_id=row["span_id"], name=row["name"], label=row["result"]["label"], score=row["result"]["score"]
            )
            for row in reply.raise_for_status().json()["data"]
        ]

    def connection(self, base_url: str, folder: Path) -> dict[str, Any]:
        """Return a connection of little patience."""
        return {"kind": "phoenix", "base_url": base_url, "timeout": "2s"}

    async def aclose(self) -> None:
        """Release connections."""
        await self._platform.aclose()


class OnLangSmith:
    """A stand-in of LangSmith of its own."""

    def __init__(self) -> None:
        self._service = StandIn()
        self._service.start()
        self._platform = LangSmithPlatform(self._service)
        self.base_url, self.key, self.pid = self._service.url, self._service.key, None
        self.project = self._platform.project

    async def seed(self, cases: Sequence[Case]) -> list[Case]:
        """Send the traces through the SDK."""
        now, seeded = datetime.now(UTC), []
        for number, case in enumerate(cases):
            is_running = case.ends == DEFERRED
            sent = self._platform.trace(
                started=now - (_A_MINUTE if is_running else _AN_HOUR + number * _A_MINUTE),
                documents=None if case.ends == REJECTED else case.documents,
                answer=case.answer,
                ends=not is_running,
            )
            seeded.append(replace(case, trace_id=str(sent.trace_id), span_id=str(sent.id)))
        return seeded

    async def written(self, cases: Sequence[Case]) -> list[Written]:
        """Look at the feedback of each root."""
        return [
            Written(span_id=case.span_id, name=row["key"], label=_label(row.get("value")), score=row["score"])
            for case in cases
            for row in self._service.feedback_of(case.span_id)
        ]

    def connection(self, base_url: str, folder: Path) -> dict[str, Any]:
        """Return a connection of little patience that is not slowed down."""
        pace = {"queries_per_second": 1000, "calls_per_second": 1000, "settle": "0s", "timeout": "2s"}
        return {"kind": "langsmith", "base_url": base_url, **pace}

    async def aclose(self) -> None:
        """End the stand-in."""
        self._platform.close()
        self._service.stop()


class InFiles:
    """A folder of records."""

    base_url = key = ""
    pid = None
    project = "default"

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def seed(self, cases: Sequence[Case]) -> list[Case]:
        """Write one line a trace; what still runs is a record of a moment ago."""
        now, lines, seeded = datetime.now(UTC), [], []
        for number, case in enumerate(cases):
            at = now + _A_MINUTE if case.ends == DEFERRED else now - _AN_HOUR - number * _A_MINUTE
            documents = [{"id": f"d{place}", "text": text} for place, text in enumerate(case.documents)]
            record = {
                "id": case.word,
                "timestamp": at.isoformat(),
                "question": "When are refunds paid?",
                "documents": [] if case.ends == REJECTED else documents,
                "answer": case.answer,
            }
            # A record has an end at once; only the other platforms know traces that still run.
            lines += [] if case.ends == DEFERRED else [json.dumps(record)]
            seeded += [] if case.ends == DEFERRED else [replace(case, trace_id=case.word)]
        (self._folder / "in.jsonl").write_text("\n".join(lines) + "\n")
        return seeded

    async def written(self, cases: Sequence[Case]) -> list[Written]:
        """Read the file of annotations; every line counts, and a line that is none is an error."""
        place = self._folder / "out.jsonl"
        by_id = {case.trace_id: case for case in cases}
        rows = [json.loads(line) for line in place.read_text().splitlines()] if place.exists() else []
        return [
            Written(
                span_id=by_id[row["trace_id"]].span_id or row["trace_id"],
                name=row["name"],
                label=row["label"],
                score=row["score"],
            )
            for row in rows
            if row.get("document_position") is None
        ]

    def connection(self, base_url: str, folder: Path) -> dict[str, Any]:
        """Return the connection."""
        return {"kind": "files", "paths": ["in.jsonl"], "output": "out.jsonl", "settle": "0s"}

    async def aclose(self) -> None:
        """Do nothing: the folder belongs to the scenario."""


def _label(value: Any) -> str | None:
    return value.get("label") if isinstance(value, dict) else value
