"""Fill a stand-in with traces and reports through the real SDK, as applications and their users do."""

import secrets
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import langsmith
from langsmith.run_trees import RunTree

from connectors.langsmith import LangSmithConnector
from enricher.verdict import Annotation
from tests.servers.langsmith.server import StandIn

Kind = Literal["retriever", "llm"]
AN_HOUR_AGO = timedelta(hours=1)
DOCUMENTS = ("Refunds are paid within 30 days.", "Shipping takes a week.")


@dataclass
class LangSmithPlatform:
    """A stand-in with a project of its own for one test."""

    service: StandIn
    project: str = field(default_factory=lambda: f"test-{secrets.token_hex(4)}")

    def __post_init__(self) -> None:
        # One explicit sampling rate: the environment's must not decide what a test sends.
        self.client = langsmith.Client(api_url=self.service.url, api_key=self.service.key, tracing_sampling_rate=1.0)

    def connector(self, **options: Any) -> LangSmithConnector:
        """Return a connector at full speed, which takes a trace for finished as soon as its root has ended."""
        settings = {"api_key": self.service.key, "queries_per_s": 1000.0, "calls_per_s": 1000.0, "settle_s": 0.0}
        return LangSmithConnector(name="langsmith", base_url=self.service.url, **{**settings, **options})

    def trace(
        self,
        *,
        started: datetime | None = None,
        documents: Sequence[str] | None = DOCUMENTS,
        answer: str | None = "Within 90 days.",
        error: str | None = None,
        retriever_error: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        tags: Sequence[str] = (),
        seconds: float = 2.0,
        ends: bool = True,
        project: str | None = None,
        example: str | None = None,
    ) -> RunTree:
        """Send a trace of a chain with a retriever and a model, and return its root."""
        begin = started or datetime.now(UTC) - AN_HOUR_AGO
        end = begin + timedelta(seconds=seconds)
        root = RunTree(
            name="answer",
            run_type="chain",
            inputs={"question": "When are refunds paid?"},
            start_time=begin,
            project_name=project or self.project,
            ls_client=self.client,
            tags=list(tags),
            extra={"metadata": dict(metadata or {})},
            reference_example_id=uuid.UUID(example) if example else None,
        )
        root.post()
        if documents is not None:
            found = [
                {"page_content": text, "type": "Document", "metadata": {"id": f"kb-{place}"}}
                for place, text in enumerate(documents)
            ]
            self._child(root, "retrieve", "retriever", begin, {"output": found}, retriever_error)
        if answer is not None:
            self._child(root, "generate", "llm", begin + timedelta(seconds=0.5), {"output": answer}, None)
        if ends:
            root.end(outputs={"answer": answer} if answer is not None else None, error=error, end_time=end)
            root.patch()
        self.client.flush()
        return root

    def report(self, run_id: Any, key: str = "user_score", **feedback: Any) -> str:
        """Give feedback as an application does on behalf of its user, and return its id."""
        where = {"session_id": self.project_id(), "stop_after_attempt": 1}
        return str(self.client.create_feedback(run_id, key, **{**where, **feedback}).id)

    def project_id(self, name: str | None = None) -> str:
        """Return the id of a project."""
        return self.service.state.project_named(name or self.project).id

    def annotation(self, root: RunTree, **fields: Any) -> Annotation:
        """Return an annotation of a trace's root as the pipeline makes it."""
        base: dict[str, Any] = {
            "connection": "langsmith",
            "project": self.project,
            "trace_id": str(root.trace_id),
            "span_id": str(root.id),
            "name": "context_diff",
            "label": "contradicted",
            "score": 0.5,
            "explanation": "1 of 2 segments contradicted.",
            "metadata": {"status": "OK", "segments": [{"segment_id": "s1"}], "flags": [], "judge": {"judge": "diff"}},
            "identifier": "trace-enricher/diff/local",
            "locator": {"project_id": self.project_id(), "start_time": _stamp(root)},
        }
        return Annotation(**{**base, **fields})

    def close(self) -> None:
        """Release connections."""
        self.client.close()

    def _child(
        self, root: RunTree, name: str, kind: Kind, begin: datetime, outputs: dict[str, Any], error: str | None
    ) -> None:
        child = root.create_child(name=name, run_type=kind, inputs={"query": root.inputs["question"]}, start_time=begin)
        child.post()
        child.end(outputs=None if error else outputs, error=error, end_time=begin + timedelta(seconds=0.3))
        child.patch()


def _stamp(root: RunTree) -> str:
    return root.start_time.astimezone(UTC).isoformat()
