"""What is chosen, judged, written back and counted of each trace."""

from sqlalchemy import Boolean, Column, Float, ForeignKey, Index, Integer, String, Table, UniqueConstraint, text

from enricher.store.schema.columns import Json, Utc, Words, metadata

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

# Traces that were deleted on request and must not come back; only a digest of the id is kept.
forgotten = Table(
    "forgotten",
    metadata,
    Column("digest", String, primary_key=True),
    Column("forgotten_at", Utc, nullable=False),
)
