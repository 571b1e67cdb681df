"""What the stand-in remembers: projects, runs in their revisions, feedback, and when each part becomes visible."""

import hashlib
import itertools
import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.servers.langsmith.switches import Switches

TENANT_ID = "00000000-0000-0000-0000-000000000007"


class Clock:
    """The service's own time, which a test may move forward."""

    def __init__(self) -> None:
        self._ahead = timedelta()

    def now(self) -> datetime:
        """Return the service's time."""
        return datetime.now(UTC) + self._ahead

    def advance(self, seconds: float) -> None:
        """Move the service's time forward."""
        self._ahead += timedelta(seconds=seconds)


@dataclass(kw_only=True)
class Project:
    """A tracing project, called session on the wire."""

    id: str
    name: str
    created_at: datetime


@dataclass(kw_only=True)
class Run:
    """A run as it was sent: one `post` and later `patch`es, each visible from its own time on."""

    id: str
    project_id: str
    revisions: list[tuple[datetime, dict[str, Any]]] = field(default_factory=list)
    has_post: bool = False
    last_queued_at: datetime | None = None
    _merged: dict[str, Any] | None = None

    def add(self, visible_at: datetime, fields: dict[str, Any]) -> None:
        """Take a post or patch."""
        self.revisions.append((visible_at, fields))
        self._merged = None

    def seen_at(self, now: datetime) -> dict[str, Any] | None:
        """Return the run's fields as far as they are visible, or None."""
        if self._merged is not None:
            return self._merged
        visible = [fields for at, fields in self.revisions if at <= now]
        if not visible or not self.has_post:
            return None
        merged: dict[str, Any] = {}
        for fields in visible:
            merged.update({key: value for key, value in fields.items() if value is not None or key not in merged})
        if "name" not in merged:
            return None  # only a patch is visible so far
        if len(visible) == len(self.revisions):
            self._merged = merged
        return merged


@dataclass(kw_only=True)
class Feedback:
    """One feedback with the time from which statistics and filters know it."""

    fields: dict[str, Any]
    known_from: datetime


class State:
    """Everything stored, behind the questions that endpoints ask."""

    def __init__(self, switches: Switches, clock: Clock) -> None:
        self.switches = switches
        self.clock = clock
        self.projects: dict[str, Project] = {}
        self.runs: dict[str, Run] = {}
        self.trace_runs: dict[str, list[str]] = defaultdict(list)
        self.feedback: dict[str, Feedback] = {}
        self.run_feedback: dict[str, list[str]] = defaultdict(list)
        self.extended_traces: set[str] = set()
        self.feedback_configs: dict[str, dict[str, Any]] = {}
        self.feedback_tokens: dict[str, dict[str, Any]] = {}
        self.queues: dict[str, dict[str, Any]] = {}
        self.queue_items: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self.rules: dict[str, dict[str, Any]] = {}
        self.datasets: dict[str, dict[str, Any]] = {}
        self.examples: dict[str, dict[str, Any]] = {}
        self.payload_urls: dict[str, tuple[datetime, Any]] = {}
        self.cursors: dict[str, tuple[str, list[Any]]] = {}
        self._counter = itertools.count()

    def project_named(self, name: str) -> Project:
        """Return the project, made on first use as ingest does."""
        for project in self.projects.values():
            if project.name == name:
                return project
        project = Project(id=str(uuid.uuid4()), name=name, created_at=self.clock.now())
        self.projects[project.id] = project
        return project

    def take_run(self, fields: dict[str, Any], *, is_post: bool) -> bool:
        """Store a post or patch; False when that run was posted before."""
        run_id = str(fields["id"])
        run = self.runs.get(run_id)
        if run is None:
            project = fields.get("session_id") or self.project_named(fields.get("session_name") or "default").id
            run = self.runs[run_id] = Run(id=run_id, project_id=str(project))
            self.trace_runs[str(fields["trace_id"])].append(run_id)
        if is_post and run.has_post:
            return False
        if is_post and fields.get("session_id") is None:
            run.project_id = self.project_named(fields.get("session_name") or "default").id
        run.has_post = run.has_post or is_post
        run.add(self.clock.now() + timedelta(seconds=self.switches.ingest_delay_s), fields)
        return True

    def visible_run(self, run_id: str) -> tuple[Run, dict[str, Any]] | None:
        """Return a run with its visible fields, unless it isn't ingested yet or its retention is over."""
        run = self.runs.get(run_id)
        seen = run.seen_at(self.clock.now()) if run is not None else None
        if run is None or seen is None or self._is_expired(seen):
            return None
        return run, seen

    def visible_runs(self, *, traces: Iterable[str] | None = None) -> Iterator[tuple[Run, dict[str, Any]]]:
        """Yield visible runs, of some traces or all."""
        ids = self.runs if traces is None else [r for trace in traces for r in self.trace_runs.get(trace, ())]
        for run_id in list(ids):
            if (found := self.visible_run(run_id)) is not None:
                yield found

    def feedback_of(self, run_id: str, *, counted_only: bool = False) -> list[dict[str, Any]]:
        """Return a run's feedback; `counted_only` leaves out what statistics don't know yet."""
        now = self.clock.now()
        held = (self.feedback[one] for one in self.run_feedback.get(run_id, ()))
        return [one.fields for one in held if not counted_only or one.known_from <= now]

    def tier_of(self, trace_id: str) -> str:
        """Name the retention tier of a trace."""
        return "longlived" if trace_id in self.extended_traces else "shortlived"

    def retention_s(self, trace_id: str) -> float:
        """Return how long a trace is kept."""
        is_extended = trace_id in self.extended_traces
        days = self.switches.extended_retention_days if is_extended else self.switches.base_retention_days
        return days * 86_400.0

    def token(self, *parts: object) -> str:
        """Make an opaque token."""
        return hashlib.sha256(repr((next(self._counter), *parts)).encode()).hexdigest()[:40]

    def _is_expired(self, seen: dict[str, Any]) -> bool:
        started = moment(seen.get("start_time"))
        return started is not None and (self.clock.now() - started).total_seconds() > self.retention_s(
            str(seen["trace_id"])
        )


def moment(value: Any) -> datetime | None:
    """Read an ISO time; times without a zone are UTC, as everywhere in this service."""
    if not value:
        return None
    found = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    return found if found.tzinfo else found.replace(tzinfo=UTC)
