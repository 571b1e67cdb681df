"""Nouns of judging on one page: what a judge says, how far it is verified, and what is written back."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field

from enricher.results.claims import Claim, ClaimVerdict, ConsistencyResult, FaithfulnessResult, Outcome, SourceConflict
from enricher.results.diff import (
    AlignmentStatus,
    DiffResult,
    IssueType,
    Segment,
    Stretch,
    summary_of,
    supported_share,
)
from enricher.results.evidence import (
    Certainty,
    Citation,
    CitationIssue,
    Noun,
    Opinion,
    Part,
    Probabilities,
    Quote,
    QuoteCheck,
    Stance,
    Standing,
)
from enricher.results.halves import Axis, FailingHalf, HalvesResult
from enricher.results.pairwise import Dimension, Hallucination, Order, PairwiseResult, Preference, Severity, Side

__all__ = [
    "AlignmentStatus",
    "Annotation",
    "Axis",
    "Certainty",
    "Citation",
    "CitationIssue",
    "Claim",
    "ClaimVerdict",
    "ConsistencyResult",
    "Decision",
    "Delivery",
    "DeliveryState",
    "DiffResult",
    "Dimension",
    "FailingHalf",
    "FaithfulnessResult",
    "Hallucination",
    "HalvesResult",
    "IssueType",
    "Noun",
    "Opinion",
    "Order",
    "Outcome",
    "PairwiseResult",
    "Part",
    "Preference",
    "Probabilities",
    "Provenance",
    "Quote",
    "QuoteCheck",
    "Result",
    "Route",
    "Segment",
    "Severity",
    "Side",
    "SourceConflict",
    "Stance",
    "Standing",
    "Status",
    "Stretch",
    "Usage",
    "Verdict",
    "kinds_of_findings",
    "summary_of",
    "supported_share",
]


class Status(StrEnum):
    """How judging one item ended. Only OK carries a score; every other status is counted apart."""

    OK = "OK"
    NO_CLAIMS = "NO_CLAIMS"
    SKIPPED = "SKIPPED"
    INVALID_TRACE = "INVALID_TRACE"
    JUDGE_PARSE_ERROR = "JUDGE_PARSE_ERROR"
    JUDGE_INVALID = "JUDGE_INVALID"
    JUDGE_INCOMPLETE = "JUDGE_INCOMPLETE"
    JUDGE_TRUNCATED = "JUDGE_TRUNCATED"
    JUDGE_EMPTY = "JUDGE_EMPTY"
    JUDGE_REFUSED = "JUDGE_REFUSED"
    JUDGE_AMBIGUOUS = "JUDGE_AMBIGUOUS"
    JUDGE_CONTEXT_TOO_LONG = "JUDGE_CONTEXT_TOO_LONG"
    JUDGE_UNAVAILABLE = "JUDGE_UNAVAILABLE"
    BUDGET_EXCEEDED = "BUDGET_EXCEEDED"

    @property
    def is_verdict(self) -> bool:
        """Tell whether the judge reached an outcome (a score, or that nothing was checkable)."""
        return self in (Status.OK, Status.NO_CLAIMS)


Result = Annotated[
    DiffResult | FaithfulnessResult | HalvesResult | ConsistencyResult | PairwiseResult, Field(discriminator="kind")
]


class Provenance(Noun):
    """What produced a verdict; together the version under which verdicts may be compared."""

    judge: str  # diff, faithfulness, halves, consistency, pairwise
    engine: str  # local, openai, hub
    prompt: str | None = None  # "diff@v2"
    prompt_hash: str | None = None
    model: str | None = None  # as configured, or the version of the embedded engine
    model_snapshot: str | None = None  # as the server reported it
    settings_hash: str = ""
    second: str | None = None  # what checks its findings

    @property
    def version(self) -> str:
        """Name the judge version that keys evaluations and annotation identifiers."""
        named = (self.judge, self.engine, self.prompt, self.model, self.settings_hash, self.second)
        return "/".join(part for part in named if part)


class Usage(Noun):
    """What a verdict cost."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cost: float = 0.0  # in the currency of the price table
    latency_s: float = 0.0
    calls: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        """Return what both cost together."""
        return self.model_copy(
            update={
                "prompt_tokens": self.prompt_tokens + other.prompt_tokens,
                "completion_tokens": self.completion_tokens + other.completion_tokens,
                "cached_tokens": self.cached_tokens + other.cached_tokens,
                "cost": self.cost + other.cost,
                "latency_s": self.latency_s + other.latency_s,
                "calls": self.calls + other.calls,
            }
        )


class Verdict(Noun):
    """The outcome of one judge on one item, whatever it was."""

    trace_id: str
    span_id: str  # the annotated span
    status: Status
    result: Result | None = None  # None unless the status is OK or NO_CLAIMS
    failure: str | None = None  # one sentence, when the status is a failure
    flags: tuple[str, ...] = ()
    provenance: Provenance
    usage: Usage = Usage()
    raw_replies: tuple[str, ...] = ()  # stored, never written back

    @property
    def score(self) -> float | None:
        """Return the score computed from the labels; None unless the status is OK."""
        return self.result.score if self.result is not None and self.status is Status.OK else None


def kinds_of_findings(verdict: Verdict) -> tuple[str, ...]:
    """Name the issue type of each finding; judges that have none name how the statement stands."""
    if verdict.result is None:
        return ()
    if isinstance(verdict.result, DiffResult):
        return tuple(str(segment.issue_type) for segment in verdict.result.segments if segment.is_finding)
    return tuple(str(part.standing).upper() for part in verdict.result.parts if part.is_finding)


class Route(StrEnum):
    """What the policy does with a verdict."""

    WRITE = "write"
    REVIEW = "review"
    BOTH = "both"
    DROP = "drop"


class Decision(Noun):
    """Where a verdict goes, and why people are asked, if they are."""

    route: Route
    reasons: tuple[str, ...] = ()  # reason codes for review


class Annotation(Noun):
    """One write-back. `identifier` is derived from (span, judge, version), so that a repeat replaces itself."""

    connection: str
    project: str
    trace_id: str
    span_id: str
    name: str
    label: str | None = None
    score: float | None = None
    explanation: str = ""
    metadata: dict[str, Any] = Field(default_factory=dict)
    identifier: str
    annotator_kind: Literal["LLM", "CODE", "HUMAN"] = "LLM"
    document_position: int | None = None  # set for an annotation of one document of the span
    locator: dict[str, str] = Field(default_factory=dict)  # TraceRef.locator, for platforms that need it

    @property
    def key(self) -> str:
        """Identify the write-back in the outbox; the same key is sent again only to replace itself."""
        place = "" if self.document_position is None else f"#{self.document_position}"
        return f"{self.connection}:{self.span_id}{place}:{self.name}:{self.identifier}"


class DeliveryState(StrEnum):
    """What became of one write-back."""

    PENDING = "pending"
    SENT = "sent"  # accepted, not yet read back
    CONFIRMED = "confirmed"
    FAILED = "failed"  # can never succeed; recorded and reported
    RETRY = "retry"  # may succeed later


class Delivery(Noun):
    """The result for one annotation of a batch, in the order of the batch."""

    key: str
    state: DeliveryState
    reason: str = ""
    remote_id: str | None = None
    at: datetime | None = None
