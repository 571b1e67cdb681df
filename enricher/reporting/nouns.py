"""What a report holds: plain figures and texts, ready to be shown as a page, as text or as JSON."""

from datetime import datetime
from typing import Any

from pydantic import Field

from enricher.rates import Rate
from enricher.report import RunReport
from enricher.verdict import Noun


class Headline(Noun):
    """What somebody should know who reads nothing else."""

    sentence: str
    is_bad: bool = False
    is_incomplete: bool = False  # something could not be judged, delivered or reached
    coverage: str = ""  # "238 of 250 judgements scored, 8 without claims, 4 failed"
    details: tuple[str, ...] = ()  # a sentence each
    moved: tuple[str, ...] = ()  # what changed most against the runs before


class PastRun(Noun):
    """One of the runs before, or this one, in a few figures of the leading judge."""

    run_id: str
    started: datetime
    state: str
    judged: int = 0  # failures included
    scored: int = 0
    mean_score: float | None = None
    flagged: Rate = Rate(count=0, of=0)  # answers with a label that is not sound
    contradicted: int = 0  # answers that a document contradicts
    failed: int = 0
    rejected: int = 0
    reported: int = 0
    cost: float = 0.0


class Change(Noun):
    """One figure of this run against the runs before."""

    name: str
    unit: str  # score, share, count or cost
    now: float | None
    before: float | None  # of all runs before taken together
    low: float | None = None  # the lowest of the runs before
    high: float | None = None
    runs: int = 0  # runs before that have the figure
    is_notable: bool = False  # beyond what the runs before had, and beyond chance where that can be told
    is_worse: bool | None = None  # None: neither better nor worse
    sentence: str = ""  # of a notable one


class Changes(Noun):
    """What changed against the latest runs of the same job."""

    runs: tuple[PastRun, ...] = ()  # oldest first, this one last
    figures: tuple[Change, ...] = ()
    notes: tuple[str, ...] = ()  # why figures may not be comparable


class Passage(Noun):
    """A passage of a document, word for word."""

    document_id: str
    document: str  # its title where it has one, else its id
    text: str
    is_verified: bool


class Statement(Noun):
    """One finding on an answer."""

    judge: str
    standing: str  # verdict.Standing
    issue: str  # kind of finding
    text: str  # what the answer says; of an omission, what it leaves out
    explanation: str = ""
    certainty: str | None = None  # what a second check made of it
    passages: tuple[Passage, ...] = ()
    others: tuple[str, ...] = ()  # what other judges say of the same words, where that differs


class RankedFinding(Noun):
    """One answer with everything found on it; answers that say the same wrong thing are told once."""

    rank: int
    trace_id: str
    span_id: str
    project: str
    standing: str  # of the worst statement
    question: str | None = None
    answer: str = ""
    score: float | None = None
    failing_half: str | None = None
    fix_note: str = ""
    reported: tuple[str, ...] = ()  # what users said
    decided: tuple[str, ...] = ()  # what people decided in review
    link: str | None = None  # to the trace on its platform
    statements: tuple[Statement, ...] = ()  # the most dangerous first
    same: tuple[str, ...] = ()  # other traces whose answers say the very same wrong thing


class Group(Noun):
    """Answers that have something in common, and how they fared."""

    name: str
    answers: int
    findings: int  # answers with a finding
    critical: int = 0  # of these, answers that a document contradicts, or on which documents disagree
    retrieval: int = 0  # of these, answers whose retrieval failed, alone or with generation
    generation: int = 0
    note: str = ""  # of a document: how it begins
    evidence: int = 0  # of a document: findings that rest on it
    traces: tuple[str, ...] = ()  # a few of those with a finding

    @property
    def share(self) -> float:
        """Return the share of the answers with a finding."""
        return self.findings / self.answers if self.answers else 0.0


class Fix(Noun):
    """A next step that several answers ask for."""

    note: str  # of one of them
    half: str
    count: int
    traces: tuple[str, ...] = ()


class Systemic(Noun):
    """Where the findings come from."""

    looked_at: int = 0  # answers
    left_out: int = 0  # judgements of a very large run that were not looked at
    halves: dict[str, int] = Field(default_factory=dict)  # failing half to answers
    documents: tuple[Group, ...] = ()
    retrievers: tuple[Group, ...] = ()
    prompts: tuple[Group, ...] = ()
    models: tuple[Group, ...] = ()
    projects: tuple[Group, ...] = ()
    topics: tuple[Group, ...] = ()  # questions that share a word
    fixes: tuple[Fix, ...] = ()


class RejectedFor(Noun):
    """Traces that could not be judged for one reason."""

    reason: str
    count: int
    example: str = ""
    trace_id: str = ""


class FailedAs(Noun):
    """Judgements that failed in one way."""

    status: str
    count: int
    example: str = ""
    trace_id: str = ""


class Relation(Noun):
    """How a score that was there already goes with what was found."""

    name: str
    of: int  # answers with both
    against: str  # what it is compared with
    correlation: float | None = None  # Spearman's, -1 to 1; None where it can't be told
    sentence: str = ""


class UserReports(Noun):
    """How reports of users and existing scores go with what was found."""

    with_finding: int = 0
    without_finding: int = 0
    unreported_critical: int = 0
    among_reported: Rate = Rate(count=0, of=0)  # with a finding
    among_others: Rate = Rate(count=0, of=0)
    without_finding_traces: tuple[str, ...] = ()  # a few
    unreported_critical_traces: tuple[str, ...] = ()
    scores: tuple[Relation, ...] = ()


class FullReport(Noun):
    """Everything that is told of a run."""

    run: RunReport
    headline: Headline
    changes: Changes
    ranked: tuple[RankedFinding, ...] = ()
    answers_with_findings: int = 0
    systemic: Systemic = Systemic()
    rejections: tuple[RejectedFor, ...] = ()
    failures: tuple[FailedAs, ...] = ()
    user_reports: UserReports = UserReports()


def to_json(report: FullReport) -> dict[str, Any]:
    """Return the machine-readable twin: what `enricher run --json` prints, and what was made of it since."""
    return {**report.run.model_dump(mode="json"), **report.model_dump(mode="json", exclude={"run"})}
