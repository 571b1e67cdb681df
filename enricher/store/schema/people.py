"""What people are asked and say, and how judges, champions and challengers fare by it."""

from sqlalchemy import Boolean, Column, Float, ForeignKey, Index, Integer, String, Table

from enricher.store.schema.columns import Json, Utc, Words, metadata

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
