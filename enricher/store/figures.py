"""Nouns of nights over time: what is asked for, and the figures that answer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from enricher.errors import SetupError
from enricher.rates import summed
from enricher.store.facts import BUCKETS
from enricher.verdict import Status

METADATA = "metadata."
# What a night can be split by, besides `metadata.KEY`; model and prompt are the application's, as its traces say.
GROUPINGS = ("job", "project", "model", "prompt", "retriever", "judge_model", "judge_prompt")


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """Which runs, and what of them; None lets everything through. Runs under way are never among them."""

    job: str | None = None
    project: str | None = None
    judge: str | None = None
    model: str | None = None
    prompt: str | None = None
    judge_model: str | None = None
    judge_prompt: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)  # key to value, all of which must hold
    since: datetime | None = None  # of the start of the run
    until: datetime | None = None  # exclusive
    run_ids: tuple[str, ...] = ()
    before: str | None = None  # only runs that started before this one
    runs: int = 60  # the latest so many


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeNight:
    """What one judge said in one night. Failures are counted apart and never part of a score."""

    statuses: Mapping[str, int] = field(default_factory=dict)  # verdict.Status to how many judgements
    labels: Mapping[str, int] = field(default_factory=dict)  # of `halves`, the failing half
    buckets: tuple[int, ...] = (0,) * BUCKETS  # scores: bucket n holds those up to (n + 1) / 10
    score_sum: float = 0.0
    issues: Mapping[str, int] = field(default_factory=dict)  # kind of finding to how many, the most dangerous first
    checked: int = 0  # findings that a second check looked at
    agreed: int = 0

    @property
    def judged(self) -> int:
        """Count the judgements, failures included."""
        return sum(self.statuses.values())

    @property
    def scored(self) -> int:
        """Count the judgements with a score."""
        return sum(self.buckets)

    @property
    def no_claims(self) -> int:
        """Count the answers in which nothing was checkable."""
        return self.statuses.get(Status.NO_CLAIMS, 0)

    @property
    def failed(self) -> dict[str, int]:
        """Count the failures by name."""
        return {name: count for name, count in self.statuses.items() if is_failure(name)}

    @property
    def mean_score(self) -> float | None:
        """Return the mean of the scores; None without any."""
        return self.score_sum / self.scored if self.scored else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Reported:
    """Traces with a user report against what was found on them."""

    with_finding: int = 0
    without_finding: int = 0
    unreported_critical: int = 0  # a document says otherwise, and nobody has reported it
    traces: int = 0  # with a verdict, reported or not

    @property
    def reported(self) -> int:
        """Count the traces that users reported."""
        return self.with_finding + self.without_finding


@dataclass(frozen=True, kw_only=True, slots=True)
class Night:
    """What one concluded run came to, whole or in one group."""

    run_id: str
    job: str
    state: str  # records.RunState: completed, failed, interrupted
    started_at: datetime
    finished_at: datetime
    group: str = ""  # value of what the nights are split by
    judges: Mapping[str, JudgeNight] = field(default_factory=dict)  # by name
    rejected: Mapping[str, int] = field(default_factory=dict)  # by reason; only by job and project, else in group ""
    reports: Reported = Reported()
    decided: int = 0  # judgements that people decided about
    confirmed: int = 0  # of these, those that they let stand
    cost: float = 0.0
    prompt_tokens: int = 0
    cached_tokens: int = 0  # of the prompt tokens
    completion_tokens: int = 0
    calls: int = 0

    @property
    def judged(self) -> int:
        """Count the judgements of all judges, failures included."""
        return sum(judge.judged for judge in self.judges.values())

    @property
    def failed(self) -> dict[str, int]:
        """Count the failures of all judges by name."""
        return summed(judge.failed for judge in self.judges.values())

    @property
    def halves(self) -> Mapping[str, int]:
        """Count the items by the half that failed; empty when that was not judged."""
        return self.judges["halves"].labels if "halves" in self.judges else {}

    @property
    def checked(self) -> int:
        """Count the opinions of second checks on findings."""
        return sum(judge.checked for judge in self.judges.values())

    @property
    def agreed(self) -> int:
        """Count those that share the finding."""
        return sum(judge.agreed for judge in self.judges.values())


@dataclass(frozen=True, kw_only=True, slots=True)
class Groupings:
    """What there is to choose from and to group by, each in order."""

    jobs: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    judges: tuple[str, ...] = ()
    judge_models: tuple[str, ...] = ()
    judge_prompts: tuple[str, ...] = ()
    metadata: tuple[str, ...] = ()  # keys seen in the latest judgements; group by `metadata.KEY`


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgedTrace:
    """One judgement of a night, to be opened."""

    run_id: str
    evaluation_id: str
    trace_id: str
    project: str
    judge: str
    status: str
    label: str | None
    score: float | None
    worst: str | None  # verdict.Standing of the most dangerous finding that nothing refuted
    is_reported: bool
    settled_at: datetime


def is_failure(status: str) -> bool:
    """Tell whether a status is neither an outcome nor something that was never to be judged."""
    return not Status(status).is_verdict and status != Status.SKIPPED


def grouping(name: str) -> str:
    """Return the name of a grouping.

    Raises:
        SetupError: there is none of that name.
    """
    if name in GROUPINGS or (name.startswith(METADATA) and '"' not in name and len(name) > len(METADATA)):
        return name
    raise SetupError(f"nights can't be grouped by '{name}'; use {', '.join(GROUPINGS)} or metadata.KEY")
