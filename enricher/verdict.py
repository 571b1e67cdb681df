"""Nouns of judging: what a judge says, how far it is verified, and what is written back."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Noun(BaseModel):
    """A frozen value that refuses unknown fields; all nouns here can be stored as JSON and read back."""

    model_config = ConfigDict(frozen=True, extra="forbid")


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


class AlignmentStatus(StrEnum):
    """How a stretch of the answer stands to the context."""

    FULLY_SUPPORTED = "FULLY_SUPPORTED"
    PARTIALLY_SUPPORTED = "PARTIALLY_SUPPORTED"
    UNSUPPORTED = "UNSUPPORTED"
    CONTRADICTED = "CONTRADICTED"


class IssueType(StrEnum):
    """What is wrong with a stretch of the answer."""

    ADDED = "ADDED"
    OMITTED = "OMITTED"
    DISTORTED = "DISTORTED"
    CONTRADICTED = "CONTRADICTED"
    NONE = "NONE"


class QuoteCheck(StrEnum):
    """Whether a quote occurs in its document."""

    UNCHECKED = "UNCHECKED"
    VERIFIED = "VERIFIED"
    MISATTRIBUTED = "MISATTRIBUTED"
    NOT_VERIFIED = "NOT_VERIFIED"


class Quote(Noun):
    """A passage that a judge names as evidence; offsets count characters of the original document text."""

    document_id: str | None
    text: str
    start: int | None = None
    end: int | None = None
    check: QuoteCheck = QuoteCheck.UNCHECKED
    reason: str | None = None  # why it is not verified
    found_in: tuple[str, ...] = ()  # ids of the documents that do hold it
    occurrences: int = 0
    flags: tuple[str, ...] = ()
    span_id: str | None = None


class Segment(Noun):
    """One stretch of the answer with its status, or (without `generated_text`) something the answer left out."""

    segment_id: str
    start: int | None = None  # offsets into the answer
    end: int | None = None
    generated_text: str | None
    alignment_status: AlignmentStatus
    issue_type: IssueType
    evidence: tuple[Quote, ...] = ()  # best first
    explanation: str = ""
    score: float | None = None  # probability, 0 to 1, that the segment is fully supported
    trace_event_references: tuple[str, ...] = ()  # ids of the spans that hold the evidence and the answer
    flags: tuple[str, ...] = ()

    @property
    def is_omission(self) -> bool:
        """Tell whether this is something the answer left out; such entries are not in the denominator."""
        return self.generated_text is None

    @property
    def is_finding(self) -> bool:
        """Tell whether a person should look at it."""
        return self.is_omission or self.alignment_status is not AlignmentStatus.FULLY_SUPPORTED


class DiffResult(Noun):
    """Where the answer leaves its context."""

    kind: Literal["diff"] = "diff"
    segments: tuple[Segment, ...]
    summary: str = ""
    faithful_probability: float | None = None  # that the whole answer is faithful, if the engine knows one
    judge_score: float | None = None  # what the judge itself stated; recorded, never written

    @property
    def score(self) -> float | None:
        """Compute fully supported / checkable generated segments; None when nothing is checkable."""
        return supported_share(self.segments)

    @property
    def worst(self) -> Segment | None:
        """Return the worst finding: contradicted before unsupported before partial before omitted."""
        findings = [s for s in self.segments if s.is_finding]
        return min(findings, key=_severity, default=None)


def supported_share(segments: Sequence[Segment]) -> float | None:
    """Return the share of generated segments that are fully supported; None when there are none."""
    generated = [s for s in segments if not s.is_omission]
    if not generated:
        return None
    return sum(s.alignment_status is AlignmentStatus.FULLY_SUPPORTED for s in generated) / len(generated)


_SEVERITY = {
    AlignmentStatus.CONTRADICTED: 0,
    AlignmentStatus.UNSUPPORTED: 1,
    AlignmentStatus.PARTIALLY_SUPPORTED: 2,
    AlignmentStatus.FULLY_SUPPORTED: 3,
}


def _severity(segment: Segment) -> tuple[int, float]:
    return (9 if segment.is_omission else _SEVERITY[segment.alignment_status], segment.score or 0.0)


_FINDINGS = {
    AlignmentStatus.CONTRADICTED: "contradicted",
    AlignmentStatus.UNSUPPORTED: "unsupported",
    AlignmentStatus.PARTIALLY_SUPPORTED: "only partly supported",
}
_QUOTED = 120  # characters of a passage that the summary repeats


def summary_of(segments: Sequence[Segment]) -> str:
    """Say in one plain sentence how an answer stands to its context: the worst finding, with what both sides say."""
    generated = [segment for segment in segments if not segment.is_omission]
    if not generated:
        return f"Nothing in the answer can be checked against the context.{_left_out(segments)}"
    for status, word in _FINDINGS.items():
        found = [segment for segment in generated if segment.alignment_status is status]
        if found:
            return f"{len(found)} of {_counted(generated)} {word}: {_detail(found[0])}"
    all_of_them = f"All {_counted(generated)} are" if len(generated) > 1 else "The one segment is"
    return f"{all_of_them} supported by the context.{_left_out(segments)}"


def _detail(segment: Segment) -> str:
    # Of a contradiction people want to see both sides, which a model's explanation may not quote.
    is_contradicted = segment.alignment_status is AlignmentStatus.CONTRADICTED
    if segment.explanation and (not is_contradicted or segment.explanation.startswith("answer says ")):
        return _short(segment.explanation)
    passage = next((quote for quote in segment.evidence if quote.check is QuoteCheck.VERIFIED), None)
    beside = f", {passage.document_id} says '{_short(passage.text)}'" if passage else ""
    return f"answer says '{_short(segment.generated_text or '')}'{beside}"


def _left_out(segments: Sequence[Segment]) -> str:
    omission = next((segment for segment in segments if segment.is_omission), None)
    if omission is None:
        return ""
    return f" It leaves out: '{_short(omission.evidence[0].text if omission.evidence else omission.explanation)}'."


def _counted(segments: Sequence[Segment]) -> str:
    return f"{len(segments)} segment" if len(segments) == 1 else f"{len(segments)} segments"


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _QUOTED else text[: _QUOTED - 1].rsplit(" ", 1)[0] + "…"


Result = DiffResult  # widened to a discriminated union as judges are added


class Provenance(Noun):
    """What produced a verdict; together the version under which verdicts may be compared."""

    judge: str  # diff, faithfulness, halves, consistency, pairwise
    engine: str  # local, openai
    prompt: str | None = None  # "diff@v2"
    prompt_hash: str | None = None
    model: str | None = None  # as configured, or the version of the embedded engine
    model_snapshot: str | None = None  # as the server reported it
    settings_hash: str = ""

    @property
    def version(self) -> str:
        """Name the judge version that keys evaluations and annotation identifiers."""
        return "/".join(part for part in (self.judge, self.engine, self.prompt, self.model, self.settings_hash) if part)


class Usage(Noun):
    """What a verdict cost."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cost: float = 0.0  # in the currency of the price table
    latency_s: float = 0.0
    calls: int = 0


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
