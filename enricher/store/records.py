"""What goes into the store and comes out of it: frozen values, no rows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from typing import Any, NamedTuple

from enricher.store.owner import describe
from enricher.trace import Item, Rejection, TraceRef
from enricher.verdict import Annotation, DeliveryState, Status, Verdict

CALL_FOR_REVIEW = "needs_review"  # the annotation by which people are asked, after its prefix
CLOSED = "closed"  # its label once nobody is asked any more: platforms delete nothing


def closed_call(annotation: Annotation, why: str) -> Annotation:
    """Return what a call for review becomes when it is answered."""
    return annotation.model_copy(update={"label": CLOSED, "explanation": why, "metadata": {}})


class RunState(StrEnum):
    """How a run stands."""

    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"  # it ended early and said why
    INTERRUPTED = "interrupted"  # its process went away


class RefState(StrEnum):
    """How a chosen trace stands."""

    DUE = "due"  # to be judged; also what a budget or an outage left over
    DEFERRED = "deferred"  # still running when last looked at
    DONE = "done"
    REJECTED = "rejected"


class ReviewState(StrEnum):
    """How a question to people stands."""

    OPEN = "open"
    DECIDED = "decided"
    SUPERSEDED = "superseded"  # a later outcome no longer asks


class EvaluationKey(NamedTuple):
    """What makes an evaluation the same: judging it again could say nothing new."""

    connection: str
    item_key: str
    judge_version: str
    input_hash: str

    @property
    def id(self) -> str:
        """Return the digest that identifies the evaluation in the store."""
        return digest(*self)


def item_id(connection: str, item_key: str, input_hash: str) -> str:
    """Return the digest under which what was judged is kept, for all judges."""
    return digest(connection, item_key, input_hash)


def digest(*parts: str) -> str:
    """Return a short, unambiguous digest of some texts."""
    # Lengths keep ("ab", "c") and ("a", "bc") apart.
    text = "".join(f"{len(part)}:{part}" for part in parts)
    return sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


@dataclass(frozen=True, kw_only=True, slots=True)
class Evaluation:
    """The outcome of one judge on one item, with everything that follows from it."""

    item_key: str
    input_hash: str  # of everything the judge saw
    verdict: Verdict  # raw replies included; they are kept apart
    annotations: tuple[Annotation, ...] = ()
    review: tuple[str, ...] = ()  # reason codes; empty asks nobody
    item: Item | None = None  # what was judged, kept for whoever looks at the verdict
    is_cached: bool = False  # the verdict was known already: only missing annotations are added

    def key(self, connection: str) -> EvaluationKey:
        """Return what makes it the same evaluation as another one on that connection."""
        return EvaluationKey(connection, self.item_key, self.verdict.provenance.version, self.input_hash)


@dataclass(frozen=True, kw_only=True, slots=True)
class Settlement:
    """What one trace has come to, recorded as a whole or not at all. May be given in parts, judge by judge."""

    run_id: str
    job: str
    ref: TraceRef
    evaluations: tuple[Evaluation, ...] = ()
    rejections: tuple[Rejection, ...] = ()
    state: RefState | None = None  # None leaves the ref as it is, because more will come
    reason: str = ""  # why it is in that state


@dataclass(frozen=True, kw_only=True, slots=True)
class Intake:
    """What became of the refs that a rule chose."""

    new: int = 0
    again: int = 0  # known, and due once more because of a new rule, a new report or an explicit wish
    known: int = 0  # due already, or dealt with
    forgotten: int = 0  # deleted on request; they stay out

    def __add__(self, other: "Intake") -> "Intake":
        """Sum up."""
        return Intake(
            new=self.new + other.new,
            again=self.again + other.again,
            known=self.known + other.known,
            forgotten=self.forgotten + other.forgotten,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Taken:
    """A trace that a run takes up."""

    ref: TraceRef  # with every rule and report known of it
    attempts: int  # runs that took it up, this one included
    was_deferred: bool
    first_seen_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Watermark:
    """How far a rule of a job has looked."""

    connection: str
    rule: str
    reached: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class RunRecord:
    """A run as the store knows it."""

    id: str
    job: str
    owner: str
    state: RunState
    started_at: datetime
    finished_at: datetime | None
    window_start: datetime | None
    window_end: datetime | None
    counters: Mapping[str, Any]
    report: Any


class ScheduleOutcome(StrEnum):
    """What became of a scheduled run."""

    CLEAN = "clean"  # everything that was due is judged and written
    INCOMPLETE = "incomplete"  # it came to its end, but not everything could be judged or written
    FAILED = "failed"  # it did not come to its end
    MISSED = "missed"  # it could not start within its grace

    @property
    def is_well(self) -> bool:
        """Tell whether the run came to its end."""
        return self not in (ScheduleOutcome.FAILED, ScheduleOutcome.MISSED)


@dataclass(frozen=True, kw_only=True, slots=True)
class ScheduleRecord:
    """How a scheduled job stands."""

    job: str
    due_at: datetime | None = None  # the newest moment that waits to be done
    due_since: datetime | None = None  # the oldest that waits with it
    waiting: int = 0  # how many they are
    done_until: datetime | None = None
    outcome: ScheduleOutcome | None = None  # of the last one
    outcome_at: datetime | None = None
    reason: str = ""
    run_id: str | None = None
    last_success_at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Due:
    """A write-back that this process has claimed, and how far it is."""

    annotation: Annotation
    revision: int
    state: DeliveryState  # SENT: look for it; otherwise send it
    attempts: int
    checks: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What became of a claimed write-back; releases the claim."""

    due: Due
    state: DeliveryState
    next_attempt_at: datetime
    attempts: int
    checks: int
    reason: str = ""
    remote_id: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Backlog:
    """What one connection still has to deliver, and what failed for good."""

    pending: int = 0
    retry: int = 0
    sent: int = 0  # not yet read back
    failed: int = 0
    oldest: datetime | None = None  # creation of the oldest open one

    @property
    def open(self) -> int:
        """Count what is not confirmed and not given up."""
        return self.pending + self.retry + self.sent


@dataclass(frozen=True, kw_only=True, slots=True)
class LeaseGrant:
    """The answer to a wish for a lease: who holds it now, until when."""

    name: str
    granted: bool
    owner: str
    expires_at: datetime
    heartbeat_at: datetime
    watch_s: float | None = None  # it has ended by the clock alone: so long its owner must be seen not to breathe

    @property
    def holder(self) -> str:
        """Name the process that holds it, for a log line."""
        return describe(self.owner)


@dataclass(frozen=True, kw_only=True, slots=True)
class Hint:
    """A trace that a webhook named."""

    id: int
    platform: str
    project: str
    trace_id: str
    reason: str
    received_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class EvaluationRecord:
    """An evaluation as stored."""

    id: str
    run_id: str
    job: str
    connection: str
    project: str
    item_key: str
    input_hash: str
    verdict: Verdict  # without raw replies
    settled_at: datetime
    item: Item | None  # what was judged, without its sentences


@dataclass(frozen=True, kw_only=True, slots=True)
class OutboxRecord:
    """A write-back as stored."""

    annotation: Annotation
    run_id: str
    state: DeliveryState
    reason: str
    attempts: int
    next_attempt_at: datetime
    remote_id: str | None
    sent_at: datetime | None
    confirmed_at: datetime | None


@dataclass(frozen=True, kw_only=True, slots=True)
class ReviewRecord:
    """A question to people as stored."""

    id: str
    evaluation_id: str
    run_id: str
    job: str
    connection: str
    trace_id: str
    item_key: str
    judge_version: str
    reasons: tuple[str, ...]
    state: ReviewState
    created_at: datetime
    decided_at: datetime | None


@dataclass(frozen=True, kw_only=True, slots=True)
class RejectionRecord:
    """A rejection as stored."""

    run_id: str
    job: str
    connection: str
    rejection: Rejection
    rejected_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class RefRecord:
    """A chosen trace as stored."""

    job: str
    ref: TraceRef
    state: RefState
    reason: str
    attempts: int
    run_id: str | None
    first_seen_at: datetime
    updated_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Story:
    """Everything recorded about one trace, oldest first."""

    trace_id: str
    refs: tuple[RefRecord, ...] = ()
    rejections: tuple[RejectionRecord, ...] = ()
    evaluations: tuple[EvaluationRecord, ...] = ()
    raw_replies: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # by evaluation id
    outbox: tuple[OutboxRecord, ...] = ()
    review: tuple[ReviewRecord, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Tally:
    """Counts of what one run did; a status, state or reason that did not occur is absent."""

    evaluations: Mapping[str, Mapping[Status, int]] = field(default_factory=dict)  # by judge
    refs: Mapping[RefState, int] = field(default_factory=dict)
    ref_reasons: Mapping[str, int] = field(default_factory=dict)  # of refs that are not done
    rejections: Mapping[str, int] = field(default_factory=dict)  # by RejectReason; several items of a trace count each
    outbox: Mapping[DeliveryState, int] = field(default_factory=dict)
    review: Mapping[ReviewState, int] = field(default_factory=dict)
    cost: float = 0.0
