"""Nights, runs and comparisons for the pages, made on the product's own path: files, rules, judges, store."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

from connectors.files import FilesConnector
from enricher.app import App
from enricher.choosing import Request
from enricher.progress import Silent
from enricher.run import RunResult
from enricher.settings import Settings
from enricher.store import Store

FIRST_NIGHT = datetime(2026, 11, 2, 2, 30, tzinfo=UTC)
HOSTILE = "<script>alert(1)</script><b onmouseover=x()>\u202egnp.exe\x07</b>"
NOTICE = "The notice period is sixty (60) days. Prepaid fees are refunded pro rata."


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One question to the application, as it is traced."""

    question: str
    answer: str
    documents: Sequence[str] = (NOTICE,)
    model: str = "gpt-4o-mini"
    metadata: dict[str, Any] = field(default_factory=dict)
    is_broken: bool = False  # without any document

    def spans(self, number: int, start: datetime) -> list[dict[str, Any]]:
        """Return the spans of its trace as Phoenix exports them."""
        trace_id = sha256(f"{number}{self.question}{start}".encode()).hexdigest()[:32]
        found = {f"retrieval.documents.{n}.document.{part}": value for n, text in enumerate(self.documents)
                 for part, value in (("id", f"d{n + 1}"), ("content", text))}  # fmt: skip
        root = {"input.value": self.question, "output.value": self.answer, "metadata": json.dumps(self.metadata)}
        retriever = {"input.value": self.question, **({} if self.is_broken else found)}
        llm = {"llm.model_name": self.model, "output.value": self.answer}
        parts = (("CHAIN", "rag", root), ("RETRIEVER", "retriever", retriever), ("LLM", "llm", llm))
        end = start + timedelta(seconds=2)
        return [
            {
                "name": name,
                "span_kind": kind,
                "context": {"trace_id": trace_id, "span_id": f"{trace_id[:15]}{at}"},
                "parent_id": f"{trace_id[:15]}0" if at else None,
                "start_time": start.isoformat(),
                "end_time": end.isoformat(),
                "status_code": "OK",
                "attributes": {**attributes, "openinference.span.kind": kind},
                "events": [],
            }
            for at, (kind, name, attributes) in enumerate(parts)
        ]


@dataclass(kw_only=True)
class World:
    """An application that is asked and judged night after night, with a clock of its own."""

    folder: Path
    store: Store
    job: dict[str, Any] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)
    now: datetime = FIRST_NIGHT
    numbers: int = 0

    def __post_init__(self) -> None:
        self.store.clock = lambda: self.now

    @property
    def settings(self) -> Settings:
        """Return the config: one job over the traces of a file."""
        traces, output = str(self.folder / "traces.jsonl"), self.folder / "annotations.jsonl"
        files = {"kind": "files", "paths": [traces], "output": output, "project": "support-rag"}
        job = {"connection": "files", "projects": ["support-rag"], "rules": [{"name": "all"}], **self.job}
        job = {"judges": ["diff", "halves"], **job}
        return Settings.model_validate(
            {"connections": {"files": files}, "jobs": {"nightly": job}, "store": "sqlite:///unused.db", **self.config}
        )

    def trace(self, *asked: Asked) -> None:
        """Trace answers of the hour before the night."""
        with (self.folder / "traces.jsonl").open("a", encoding="utf-8") as file:
            for one in asked:
                self.numbers += 1
                start = self.now - timedelta(minutes=60 - self.numbers % 50)
                for span in one.spans(self.numbers, start):
                    print(json.dumps(span), file=file)

    async def night(self, *asked: Asked) -> RunResult:
        """Trace answers, let the night's run judge them, and go on to the next day."""
        self.trace(*asked)
        result = await self.run()
        self.now += timedelta(days=1)
        return result

    async def run(self, make: type[FilesConnector] = FilesConnector) -> RunResult:
        """Run the job now."""
        app = self.app(make)
        try:
            return await app.run("nightly", Request(), Silent(), asyncio.Event())
        finally:
            await app.connectors["files"].aclose()

    def app(self, make: type[FilesConnector]) -> App:
        """Compose the product over this world's store and clock."""
        section = self.settings.connections["files"]
        connector = make(
            name="files", paths=section.paths, output=section.output, project=section.project, now=lambda: self.now
        )
        return App(settings=self.settings, store=self.store, connectors={"files": connector})


ASKED = "How long is the notice period?"


def good(name: str, **more: Any) -> Asked:
    """Ask what is answered from the document."""
    return Asked(question=f"{name}: {ASKED}", answer="The notice period is sixty (60) days.", **more)


def contradicted(name: str, **more: Any) -> Asked:
    """Ask what is answered against the document."""
    answer = "The notice period is 90 days. Prepaid fees are refunded pro rata."
    return Asked(question=f"{name}: {ASKED}", answer=answer, **more)


def invented(name: str, **more: Any) -> Asked:
    """Ask what is answered with more than the document holds."""
    answer = "The notice period is sixty (60) days. A manager in Lisbon approves every request."
    return Asked(question=f"{name}: {ASKED}", answer=answer, **more)


def pair(name: str, answer_a: str, answer_b: str, **more: Any) -> dict[str, Any]:
    """Return a record of two answers to one question from the same document."""
    documents = [{"id": "d1", "text": NOTICE}]
    question = "How long is the notice period?"
    return {
        "id": name,
        "question": question,
        "documents": documents,
        "answer_a": answer_a,
        "answer_b": answer_b,
        **more,
    }
