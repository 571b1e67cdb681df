"""What the processes keep for themselves: who runs what, when, for how much, and who was told."""

from sqlalchemy import (
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    Table,
    Unicode,
    UniqueConstraint,
)

from enricher.store.schema.columns import Json, Utc, Words, metadata

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
