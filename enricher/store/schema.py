"""The tables, each with what it is for; migrations build the same schema step by step."""

import json
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Unicode,
    UniqueConstraint,
    text,
)
from sqlalchemy.types import TypeDecorator, TypeEngine

# The newest migration. Opening a store compares this with what the store says before Alembic is asked.
SCHEMA_VERSION = "0011"
# Not Alembic's own default, so that a database shared with another Alembic application keeps both apart.
VERSION_TABLE = "enricher_schema"


class Utc(TypeDecorator[datetime]):
    """An instant: `TIMESTAMPTZ` on PostgreSQL, fixed-width ISO text (which sorts by time) on SQLite."""

    impl = String(27)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Choose the column type of the engine."""
        native: TypeEngine[Any] = DateTime(timezone=True) if dialect.name == "postgresql" else String(27)
        return dialect.type_descriptor(native)

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        """Refuse naive times: they would be read as local time somewhere."""
        return (_utc if dialect.name == "postgresql" else _iso)(value)

    def bind_processor(self, dialect: Dialect) -> Any:
        """Give statements the function itself, which the base class would wrap: it is called for every value."""
        return _utc if dialect.name == "postgresql" else _iso

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        """Give aware UTC back."""
        if value is None:
            return None
        return value.astimezone(UTC) if isinstance(value, datetime) else datetime.fromisoformat(value)


def _utc(moment: datetime | None) -> datetime | None:
    if moment is None:
        return None
    if moment.tzinfo is None:
        raise ValueError(f"a naive datetime must not enter the store: {moment!r}")
    return moment.astimezone(UTC)


@lru_cache(maxsize=1024)  # the rows of a settlement share their moment
def _iso(moment: datetime | None) -> str | None:
    utc = _utc(moment)
    return None if utc is None else utc.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


class Words(TypeDecorator[str]):
    """Text from outside: NUL and lone surrogates, which databases refuse, become a replacement mark."""

    impl = String
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Replace only where something must be replaced."""
        return _storable(value)

    def bind_processor(self, dialect: Dialect) -> Any:
        """Give statements the function itself, which the base class would wrap: it is called for every value."""
        return _storable


def _storable(value: str | None) -> str | None:
    if value is None or (value.isascii() and "\0" not in value):
        return value
    return value.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")


_encode = json.JSONEncoder(separators=(",", ":")).encode


class Json(TypeDecorator[Any]):
    """A JSON value as escaped ASCII text: `jsonb` would refuse the NULs that traces do hold."""

    impl = String
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        """Write the value."""
        return None if value is None else _encode(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
        """Read the value back."""
        return None if value is None else json.loads(value)


metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(table_name)s_%(column_0_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)

# Conditions of partial indexes. Queries use the very same text: SQLite does not recognise them with bound values.
REF_IS_OPEN = text("state IN ('due', 'deferred')")
WRITE_BACK_IS_OPEN = text("state IN ('pending', 'retry', 'sent')")
WRITE_BACK_FAILED = text("state = 'failed'")

# One execution of a job over a window.
runs = Table(
    "runs",
    metadata,
    Column("id", String, primary_key=True),  # sorts by start
    Column("job", Words, nullable=False),
    Column("owner", Words, nullable=False),  # the process, as in `leases`
    Column("state", String, nullable=False),  # RunState
    Column("started_at", Utc, nullable=False),
    Column("finished_at", Utc),
    Column("window_start", Utc),
    Column("window_end", Utc),
    Column("counters", Json, nullable=False),
    Column("report", Json),
    Index("ix_runs_job_started_at", "job", "started_at"),
)

# What a job has chosen: one row a trace, kept from run to run, so that a crash resumes what was left.
refs = Table(
    "refs",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),  # order of arrival
    Column("job", Words, nullable=False),
    Column("connection", Words, nullable=False),
    Column("trace_id", Words, nullable=False),
    Column("project", Words, nullable=False),
    Column("start_time", Utc),
    Column("stratum", Words),
    Column("locator", Json, nullable=False),
    Column("rules", Json, nullable=False),  # every rule that ever chose it
    Column("reports", Json, nullable=False),  # every user report seen on it
    Column("priority", Integer, nullable=False),  # 0 with a user report, else 1: reported traces are taken first
    Column("state", String, nullable=False),  # RefState
    Column("reason", Words, nullable=False),  # why it is in that state
    Column("attempts", Integer, nullable=False),  # how many runs took it up
    Column("run_id", String, ForeignKey("runs.id")),  # the run that took it up last
    Column("first_seen_at", Utc, nullable=False),
    Column("updated_at", Utc, nullable=False),
    UniqueConstraint("job", "connection", "trace_id"),
    Index("ix_refs_trace_id", "trace_id"),
    Index("ix_refs_run_id", "run_id"),
    # The open ones in the order in which they are taken; done ones, which are most, are not in it.
    Index(
        "ix_refs_open",
        "job",
        "priority",
        "id",
        sqlite_where=REF_IS_OPEN,
        postgresql_where=REF_IS_OPEN,
    ),
)

# The outcome of one judge version on one item with one input. `id` is the digest of exactly (connection, item_key,
# judge_version, input_hash), so the primary key is the rule that the four are unique together.
evaluations = Table(
    "evaluations",
    metadata,
    Column("id", String, primary_key=True),
    Column("run_id", String, ForeignKey("runs.id"), nullable=False),
    Column("job", Words, nullable=False),
    Column("connection", Words, nullable=False),
    Column("project", Words, nullable=False),
    Column("trace_id", Words, nullable=False),
    Column("span_id", Words, nullable=False),  # the annotated span
    Column("item_key", Words, nullable=False),
    Column("judge", String, nullable=False),
    Column("judge_version", Words, nullable=False),  # verdicts are comparable only within one
    Column("input_hash", String, nullable=False),
    Column("status", String, nullable=False),  # verdict.Status
    Column("is_verdict", Boolean, nullable=False),  # a verdict is final; a failure is replaced by a later outcome
    Column("score", Float),  # null unless the status is OK; failures are never a low score
    Column("verdict", Words, nullable=False),  # verdict.Verdict as JSON, without raw replies
    Column("cost", Float, nullable=False),
    Column("settled_at", Utc, nullable=False),
    Index("ix_evaluations_trace_id", "trace_id"),
    Index("ix_evaluations_run_id", "run_id", "id"),
    Index("ix_evaluations_input_hash", "input_hash"),  # the same input on another trace
)

# What was judged: question, documents, answer. Once for all judges of the same input, found by the digest of
# (connection, item_key, input_hash), so that people can see beside a verdict what the judge saw.
items = Table(
    "items",
    metadata,
    Column("id", String, primary_key=True),
    Column("trace_id", Words, nullable=False),
    Column("item", Words, nullable=False),  # trace.Item as JSON, without its sentences
    Column("settled_at", Utc, nullable=False),
    Index("ix_items_trace_id", "trace_id"),
)

# What the model said, word for word. Apart from `evaluations` so that it can be purged early.
raw_replies = Table(
    "raw_replies",
    metadata,
    Column("evaluation_id", String, ForeignKey("evaluations.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True),  # 0 is the first call
    Column("reply", Json, nullable=False),
    Column("settled_at", Utc, nullable=False),
    Index("ix_raw_replies_settled_at", "settled_at"),
)

# What second checks say of the findings of an evaluation: agreement over time, and the log of disagreements.
opinions = Table(
    "opinions",
    metadata,
    Column("evaluation_id", String, ForeignKey("evaluations.id", ondelete="CASCADE"), primary_key=True),
    Column("part", Words, primary_key=True),  # key of the statement within its result
    Column("second_by", Words, primary_key=True),  # version of what checked it
    Column("judge", String, nullable=False),
    Column("trace_id", Words, nullable=False),
    Column("statement", Words, nullable=False),
    Column("standing", String, nullable=False),  # verdict.Standing, as the first judge has it
    Column("second_standing", String, nullable=False),
    Column("agrees", Boolean, nullable=False),
    Column("certainty", String),  # verdict.Certainty of the finding; null when it is none
    Column("opinion", Words, nullable=False),  # verdict.Opinion as JSON: evidence and explanation
    Column("settled_at", Utc, nullable=False),
    Index("ix_opinions_trace_id", "trace_id"),
    Index("ix_opinions_settled_at", "settled_at", "judge"),
)

# Intended write-backs. A row is written with its verdict and stays until the platform has shown it back.
outbox = Table(
    "outbox",
    metadata,
    Column("key", Words, primary_key=True),  # Annotation.key: the same key replaces itself on the platform
    Column("evaluation_id", String, ForeignKey("evaluations.id", ondelete="CASCADE"), nullable=False),
    Column("run_id", String, ForeignKey("runs.id"), nullable=False),
    Column("connection", Words, nullable=False),
    Column("trace_id", Words, nullable=False),
    Column("annotation", Words, nullable=False),  # verdict.Annotation as JSON
    # What a new write-back begins with stands in the statement: bound values cost more than all else about a row.
    Column(
        "revision", Integer, nullable=False, default=text("0")
    ),  # counts replaced contents; a late result for an older one is void
    Column("state", String, nullable=False, default=text("'pending'")),  # verdict.DeliveryState
    Column("reason", Words, nullable=False, default=text("''")),  # of the last failure
    Column("attempts", Integer, nullable=False, default=text("0")),  # how often it was sent
    Column("checks", Integer, nullable=False, default=text("0")),  # how often it was looked for since it was last sent
    Column("next_attempt_at", Utc, nullable=False),
    Column("claimed_by", Words),  # the process that is sending it now
    Column("claimed_until", Utc),
    Column("remote_id", Words),  # the platform's own id
    Column("created_at", Utc, nullable=False),
    Column("sent_at", Utc),
    Column("confirmed_at", Utc),
    Index("ix_outbox_trace_id", "trace_id"),
    Index("ix_outbox_run_id", "run_id"),
    Index("ix_outbox_evaluation_id", "evaluation_id"),
    Index(
        "ix_outbox_open",
        "connection",
        "next_attempt_at",
        "key",
        sqlite_where=WRITE_BACK_IS_OPEN,
        postgresql_where=WRITE_BACK_IS_OPEN,
    ),
    Index("ix_outbox_failed", "connection", sqlite_where=WRITE_BACK_FAILED, postgresql_where=WRITE_BACK_FAILED),
)

# Traces, or single items, that a run must not judge, and why.
rejections = Table(
    "rejections",
    metadata,
    Column("run_id", String, ForeignKey("runs.id"), primary_key=True),
    Column("connection", Words, primary_key=True),
    Column("trace_id", Words, primary_key=True),
    Column("span_id", Words, primary_key=True),  # empty when the whole trace is meant
    Column("reason", String, primary_key=True),  # trace.RejectReason
    Column("job", Words, nullable=False),
    Column("detail", Words, nullable=False),
    Column("rejected_at", Utc, nullable=False),
    Index("ix_rejections_trace_id", "trace_id"),
)

# How far each rule of a job has looked. Moves forward only, and only when a run is complete.
watermarks = Table(
    "watermarks",
    metadata,
    Column("job", Words, primary_key=True),
    Column("connection", Words, primary_key=True),
    Column("rule", Words, primary_key=True),
    Column("reached", Utc, nullable=False),
    Column("run_id", String, ForeignKey("runs.id"), nullable=False),
)

# What people are asked to look at. `id` is the digest of (connection, item_key, judge_version): one item a version.
review_items = Table(
    "review_items",
    metadata,
    Column("id", String, primary_key=True),
    Column("evaluation_id", String, ForeignKey("evaluations.id", ondelete="CASCADE"), nullable=False),
    Column("run_id", String, ForeignKey("runs.id"), nullable=False),
    Column("job", Words, nullable=False),
    Column("connection", Words, nullable=False),
    Column("trace_id", Words, nullable=False),
    Column("item_key", Words, nullable=False),
    Column("judge_version", Words, nullable=False),
    Column("reasons", Json, nullable=False),  # reason codes
    Column("state", String, nullable=False),  # ReviewState
    Column("created_at", Utc, nullable=False),
    Column("updated_at", Utc, nullable=False),
    Column("decided_at", Utc),
    Index("ix_review_items_trace_id", "trace_id"),
    Index("ix_review_items_evaluation_id", "evaluation_id"),
    Index("ix_review_items_run_id", "run_id"),
    Index("ix_review_items_state", "state", "created_at", "id"),
)

# The open questions of `review_items` as the queue lists them, so that a page of it needs no other table.
queue = Table(
    "queue",
    metadata,
    Column("review_id", String, ForeignKey("review_items.id", ondelete="CASCADE"), primary_key=True),
    Column("trace_id", Words, nullable=False),
    Column("job", Words, nullable=False),
    Column("project", Words, nullable=False),
    Column("judge", String, nullable=False),
    Column("reasons", Json, nullable=False),
    Column("label", String, nullable=False),  # of the verdict; where there is none, its status
    Column("score", Float),
    Column("question", Words, nullable=False),  # cut
    Column("summary", Words, nullable=False),  # cut
    Column("created_at", Utc, nullable=False),
    Column("assignee", Words),  # who is at it
    Column("assigned_until", Utc),  # after that it is free again
    Index("ix_queue_created_at", "created_at", "review_id"),
    # Holds all that is counted and filtered by, so that counting reads no line.
    Index(
        "ix_queue_facets",
        *("job", "project", "judge", "reasons", "created_at", "assigned_until", "assignee", "trace_id"),
    ),
    Index("ix_queue_trace_id", "trace_id"),
)

# What people decided about a question: their labels. One row a person, so that nobody overwrites another.
decisions = Table(
    "decisions",
    metadata,
    Column("review_id", String, ForeignKey("review_items.id", ondelete="CASCADE"), primary_key=True),
    Column("person", Words, primary_key=True),
    Column("outcome", String, nullable=False),  # confirm, reject or correct
    Column("label", Words, nullable=False),  # of the whole verdict, as the person has it
    Column("labels", Json, nullable=False),  # statement to its corrected label
    Column("comment", Words, nullable=False),
    Column("decided_at", Utc, nullable=False),
)

# What trends and reports count of each evaluation, by the run that brought it: narrow, so that nights over time are
# quick to sum up. A failure that a later run replaces stays what it was in the run that failed.
facts = Table(
    "facts",
    metadata,
    Column("run_id", String, ForeignKey("runs.id"), primary_key=True),
    Column("evaluation_id", String, ForeignKey("evaluations.id", ondelete="CASCADE"), primary_key=True),
    Column("job", Words, nullable=False),
    Column("project", Words, nullable=False),
    Column("trace_id", Words, nullable=False),
    Column("judge", String, nullable=False),
    Column("judge_model", Words),  # the snapshot that the server reported, else as configured
    Column("judge_prompt", Words),  # name@version
    Column("status", String, nullable=False),  # verdict.Status
    Column("label", String),  # null unless the status is a verdict
    Column("score", Float),
    Column("bucket", Integer),  # tenth of 0 to 1 that holds the score
    Column("probability", Float),  # that the whole answer is faithful, where the judge knows one
    Column("worst", String),  # verdict.Standing of the most dangerous finding that nothing refuted
    Column("contradicted", Integer, nullable=False),  # this and the next: findings of that kind
    Column("source_conflict", Integer, nullable=False),
    Column("unsupported", Integer, nullable=False),
    Column("added", Integer, nullable=False),
    Column("distorted", Integer, nullable=False),
    Column("partial", Integer, nullable=False),
    Column("omitted", Integer, nullable=False),
    Column("checked", Integer, nullable=False),  # opinions of second checks on findings
    Column("agreed", Integer, nullable=False),
    Column("is_reported", Boolean, nullable=False),  # a user report was known of the trace
    Column("is_recalled", Boolean, nullable=False),  # the verdict was known; no judge was called
    Column("cost", Float, nullable=False),
    Column("prompt_tokens", Integer, nullable=False),
    Column("cached_tokens", Integer, nullable=False),
    Column("completion_tokens", Integer, nullable=False),
    Column("calls", Integer, nullable=False),
    Column("metadata", Json, nullable=False),  # what items can be grouped by: dotted key to text
    Column("settled_at", Utc, nullable=False),
    Index("ix_facts_evaluation_id", "evaluation_id"),
    Index("ix_facts_trace_id", "trace_id"),
)

# Who runs what now, over all processes and hosts; an expired lease may be taken over.
leases = Table(
    "leases",
    metadata,
    Column("name", Words, primary_key=True),
    Column("owner", Words, nullable=False),  # host, process namespace, process, its start
    Column("acquired_at", Utc, nullable=False),
    Column("heartbeat_at", Utc, nullable=False),
    Column("expires_at", Utc, nullable=False),
)

# Traces that a webhook named: a hint for the next run, never the truth. Deleted when a run has taken them in.
hints = Table(
    "hints",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("platform", Words, nullable=False),
    Column("project", Words, nullable=False),
    Column("trace_id", Words, nullable=False),
    Column("reason", Words, nullable=False),
    Column("received_at", Utc, nullable=False),
    UniqueConstraint("platform", "project", "trace_id"),
    CheckConstraint("trace_id <> ''", name="trace_id_given"),
)

# What models cost, by day (UTC), job and spender (one composed job). While a run is under way its row holds what it has
# reserved, so that a process which dies has spent rather too much than too little.
spending = Table(
    "spending",
    metadata,
    Column("day", String, primary_key=True),
    Column("job", Words, primary_key=True),
    Column("spender", String, primary_key=True),
    Column("amount", Float, nullable=False),
    Column("updated_at", Utc, nullable=False),
)

# Random values that must outlive the process, such as what the tags of prompts are derived from.
keepsakes = Table(
    "keepsakes",
    metadata,
    Column("name", String, primary_key=True),
    Column("value", String, nullable=False),
)

# Calls that were handed to a model server together, to be answered within hours.
batches = Table(
    "batches",
    metadata,
    Column("id", String, primary_key=True),  # ours; the uploaded file and the remote batch carry it
    Column("place", Words, nullable=False),  # the endpoint
    Column("owner", Words, nullable=False),  # the process that handed it in, as in `leases`
    Column("state", String, nullable=False),  # traffic.BatchState
    Column("input_file", Words),  # the server's id of the uploaded file
    Column("remote_id", Words),  # the server's id of the batch
    Column("reason", Words, nullable=False),  # why it ended as it did
    Column("created_at", Utc, nullable=False),
    Column("updated_at", Utc, nullable=False),
    Index("ix_batches_state", "state"),
)

# One call of a batch, found by the digest of what is sent, so that the same question after a crash meets its answer.
# Deleted when the trace that it was asked for is settled.
batch_lines = Table(
    "batch_lines",
    metadata,
    Column("key", String, primary_key=True),
    Column("trace_id", Words, nullable=False),  # empty for plain records
    Column("batch_id", String, ForeignKey("batches.id")),  # null: to be asked again
    Column("reply", Json),  # {"status", "body"}; null while there is none
    Column("tries", Integer, nullable=False),  # batches it was part of
    Column("first_asked_at", Utc, nullable=False),
    Column("updated_at", Utc, nullable=False),
    Index("ix_batch_lines_batch_id", "batch_id"),
    Index("ix_batch_lines_trace_id", "trace_id"),
)

# When a scheduled job is due and what became of it the last time, for all processes that keep the schedule.
schedules = Table(
    "schedules",
    metadata,
    Column("job", Words, primary_key=True),
    Column("due_at", Utc),  # the newest moment that waits to be done; null when nothing does
    Column("due_since", Utc),  # the oldest moment that waits with it
    Column("waiting", Integer, nullable=False),  # how many they are; one run does them all
    Column("done_until", Utc),  # the newest moment that is done, or given up
    Column("outcome", String),  # records.ScheduleOutcome of the last one
    Column("outcome_at", Utc),
    Column("reason", Words, nullable=False),  # why it was not clean
    Column("run_id", String),
    Column("last_success_at", Utc),
)

# APScheduler's own table, in its own shape: when each job is due next.
schedule_timers = Table(
    "schedule_timers",
    metadata,
    Column("id", Unicode(191), primary_key=True),
    Column("next_run_time", Float(25)),
    Column("job_state", LargeBinary, nullable=False),
)

# Traces that were deleted on request and must not come back; only a digest of the id is kept.
forgotten = Table(
    "forgotten",
    metadata,
    Column("digest", String, primary_key=True),
    Column("forgotten_at", Utc, nullable=False),
)

# Alerts that were raised and still hold: each is told once, and again only when it was lowered in between.
alerts = Table(
    "alerts",
    metadata,
    Column("job", Words, primary_key=True),
    Column("rule", String, primary_key=True),
    Column("raised_at", Utc, nullable=False),
    Column("run_id", String, nullable=False),  # the run that raised it
    Column("told", Json, nullable=False),  # digests of the webhooks that took it
)

# Two answers from the same context, and which is better. `id` is the digest of (comparison, pair_id, judge_version,
# input_hash).
pairs = Table(
    "pairs",
    metadata,
    Column("id", String, primary_key=True),
    Column("comparison", Words, nullable=False),  # what was compared with what
    Column("champion", Words, nullable=False),
    Column("challenger", Words, nullable=False),
    Column("pair_id", Words, nullable=False),
    Column("champion_trace_id", Words, nullable=False),  # empty for plain records
    Column("challenger_trace_id", Words, nullable=False),
    Column("judge_version", Words, nullable=False),
    Column("input_hash", String, nullable=False),  # of everything the judge saw
    Column("status", String, nullable=False),  # verdict.Status
    Column("pair", Json, nullable=False),  # trace.Pair, without sentences
    Column("verdict", Json, nullable=False),  # verdict.Verdict, without raw replies
    Column("replies", Json),  # what the model said, word for word; null once it is purged
    Column("review", Json, nullable=False),  # reason codes
    Column("cost", Float, nullable=False),
    Column("settled_at", Utc, nullable=False),
    Column("written_at", Utc),  # when the platforms had shown it
    Index("ix_pairs_comparison", "comparison", "settled_at"),
    Index("ix_pairs_champion_trace_id", "champion_trace_id"),
    Index("ix_pairs_challenger_trace_id", "challenger_trace_id"),
)

# What one call of `enricher compare` counted.
comparisons = Table(
    "comparisons",
    metadata,
    Column("id", String, primary_key=True),
    Column("name", Words, nullable=False),  # `pairs.comparison`
    Column("champion", Words, nullable=False),
    Column("challenger", Words, nullable=False),
    Column("judge_version", Words, nullable=False),
    Column("started_at", Utc, nullable=False),
    Column("finished_at", Utc, nullable=False),
    Column("gate", Words),  # how the gate ended, in a sentence; null without one
    Column("gate_passed", Boolean),
    Column("figures", Json, nullable=False),  # compare.tally.Comparison without texts of traces, and the connection
)

# The pairs that a comparison counted, in their order, and how each one counted then.
compared_pairs = Table(
    "compared_pairs",
    metadata,
    Column("comparison_id", String, ForeignKey("comparisons.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("pair_record_id", String, ForeignKey("pairs.id", ondelete="CASCADE"), nullable=False),
    Column("outcome", String, nullable=False),  # win, tie or loss of the challenger, else verdict.Status
    Column("is_accepted", Boolean, nullable=False),
    Index("ix_compared_pairs_pair_record_id", "pair_record_id"),
)

# How far a judge agreed with people under one setting (prompt, model, snapshot), each time that was measured. `id` is
# the digest of (setting, made_at).
calibrations = Table(
    "calibrations",
    metadata,
    Column("id", String, primary_key=True),
    Column("judge", String, nullable=False),
    Column("setting", Json, nullable=False),  # trust.Setting
    Column("made_at", Utc, nullable=False),
    Column("labels", Integer, nullable=False),
    Column("agreement", Float, nullable=False),
    Column("kappa", Float),  # null where it is not defined
    Column("figures", Json, nullable=False),  # numbers only, no texts and no ids of traces
    Index("ix_calibrations_made_at", "made_at", "id"),
)
