"""The first schema: everything that `enricher.store.schema` held at the first release."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

# As it was then: the present types of `enricher.store.schema` may change, this file may not.
UTC = sa.String(27).with_variant(sa.DateTime(timezone=True), "postgresql")


def upgrade() -> None:
    """Create the tables."""
    _create_hints()
    _create_leases()
    _create_runs()
    _create_items()
    _create_evaluations()
    _create_refs()
    _create_rejections()
    _create_watermarks()
    _create_outbox()
    _create_raw_replies()
    _create_review_items()


def _create_hints() -> None:
    op.create_table(
        "hints",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("platform", sa.String(), nullable=False),
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("trace_id", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("received_at", UTC, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_hints")),
        sa.UniqueConstraint("platform", "project", "trace_id", name=op.f("uq_hints_platform")),
        sa.CheckConstraint("trace_id <> ''", name=op.f("ck_hints_trace_id_given")),
    )


def _create_leases() -> None:
    op.create_table(
        "leases",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("acquired_at", UTC, nullable=False),
        sa.Column("heartbeat_at", UTC, nullable=False),
        sa.Column("expires_at", UTC, nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_leases")),
    )


def _create_runs() -> None:
    op.create_table(
        "runs",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("job", sa.String(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("started_at", UTC, nullable=False),
        sa.Column("finished_at", UTC, nullable=True),
        sa.Column("window_start", UTC, nullable=True),
        sa.Column("window_end", UTC, nullable=True),
        sa.Column("counters", sa.String(), nullable=False),
        sa.Column("report", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_runs")),
    )
    op.create_index("ix_runs_job_started_at", "runs", ["job", "started_at"], unique=False)


def _create_items() -> None:
    op.create_table(
        "items",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("trace_id", sa.String(), nullable=False),
        sa.Column("item", sa.String(), nullable=False),
        sa.Column("settled_at", UTC, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_items")),
    )
    op.create_index("ix_items_trace_id", "items", ["trace_id"])


def _create_evaluations() -> None:
    op.create_table(
        "evaluations",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("job", sa.String(), nullable=False),
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("trace_id", sa.String(), nullable=False),
        sa.Column("span_id", sa.String(), nullable=False),
        sa.Column("item_key", sa.String(), nullable=False),
        sa.Column("judge", sa.String(), nullable=False),
        sa.Column("judge_version", sa.String(), nullable=False),
        sa.Column("input_hash", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("is_verdict", sa.Boolean(), nullable=False),
        sa.Column("score", sa.Float(), nullable=True),
        sa.Column("verdict", sa.String(), nullable=False),
        sa.Column("cost", sa.Float(), nullable=False),
        sa.Column("settled_at", UTC, nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_evaluations_run_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_evaluations")),
    )
    op.create_index("ix_evaluations_run_id", "evaluations", ["run_id", "id"], unique=False)
    op.create_index("ix_evaluations_trace_id", "evaluations", ["trace_id"], unique=False)


def _create_refs() -> None:
    op.create_table(
        "refs",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("job", sa.String(), nullable=False),
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("trace_id", sa.String(), nullable=False),
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("start_time", UTC, nullable=True),
        sa.Column("stratum", sa.String(), nullable=True),
        sa.Column("locator", sa.String(), nullable=False),
        sa.Column("rules", sa.String(), nullable=False),
        sa.Column("reports", sa.String(), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=True),
        sa.Column("first_seen_at", UTC, nullable=False),
        sa.Column("updated_at", UTC, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_refs")),
        sa.UniqueConstraint("job", "connection", "trace_id", name=op.f("uq_refs_job")),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_refs_run_id")),
    )
    op.create_index(
        "ix_refs_open",
        "refs",
        ["job", "priority", "id"],
        unique=False,
        sqlite_where=sa.text("state IN ('due', 'deferred')"),
        postgresql_where=sa.text("state IN ('due', 'deferred')"),
    )
    op.create_index("ix_refs_run_id", "refs", ["run_id"], unique=False)
    op.create_index("ix_refs_trace_id", "refs", ["trace_id"], unique=False)


def _create_rejections() -> None:
    op.create_table(
        "rejections",
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("trace_id", sa.String(), nullable=False),
        sa.Column("span_id", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("job", sa.String(), nullable=False),
        sa.Column("detail", sa.String(), nullable=False),
        sa.Column("rejected_at", UTC, nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_rejections_run_id")),
        sa.PrimaryKeyConstraint("run_id", "connection", "trace_id", "span_id", "reason", name=op.f("pk_rejections")),
    )
    op.create_index("ix_rejections_trace_id", "rejections", ["trace_id"], unique=False)


def _create_watermarks() -> None:
    op.create_table(
        "watermarks",
        sa.Column("job", sa.String(), nullable=False),
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("rule", sa.String(), nullable=False),
        sa.Column("reached", UTC, nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_watermarks_run_id")),
        sa.PrimaryKeyConstraint("job", "connection", "rule", name=op.f("pk_watermarks")),
    )


def _create_outbox() -> None:
    op.create_table(
        "outbox",
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("evaluation_id", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("trace_id", sa.String(), nullable=False),
        sa.Column("annotation", sa.String(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("checks", sa.Integer(), nullable=False),
        sa.Column("next_attempt_at", UTC, nullable=False),
        sa.Column("claimed_by", sa.String(), nullable=True),
        sa.Column("claimed_until", UTC, nullable=True),
        sa.Column("remote_id", sa.String(), nullable=True),
        sa.Column("created_at", UTC, nullable=False),
        sa.Column("sent_at", UTC, nullable=True),
        sa.Column("confirmed_at", UTC, nullable=True),
        sa.ForeignKeyConstraint(
            ["evaluation_id"], ["evaluations.id"], name=op.f("fk_outbox_evaluation_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_outbox_run_id")),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_outbox")),
    )
    op.create_index("ix_outbox_evaluation_id", "outbox", ["evaluation_id"], unique=False)
    op.create_index(
        "ix_outbox_open",
        "outbox",
        ["connection", "next_attempt_at", "key"],
        unique=False,
        sqlite_where=sa.text("state IN ('pending', 'retry', 'sent')"),
        postgresql_where=sa.text("state IN ('pending', 'retry', 'sent')"),
    )
    op.create_index(
        "ix_outbox_failed",
        "outbox",
        ["connection"],
        unique=False,
        sqlite_where=sa.text("state = 'failed'"),
        postgresql_where=sa.text("state = 'failed'"),
    )
    op.create_index("ix_outbox_run_id", "outbox", ["run_id"], unique=False)
    op.create_index("ix_outbox_trace_id", "outbox", ["trace_id"], unique=False)


def _create_raw_replies() -> None:
    op.create_table(
        "raw_replies",
        sa.Column("evaluation_id", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("reply", sa.String(), nullable=False),
        sa.Column("settled_at", UTC, nullable=False),
        sa.ForeignKeyConstraint(
            ["evaluation_id"], ["evaluations.id"], name=op.f("fk_raw_replies_evaluation_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("evaluation_id", "number", name=op.f("pk_raw_replies")),
    )
    op.create_index("ix_raw_replies_settled_at", "raw_replies", ["settled_at"], unique=False)


def _create_review_items() -> None:
    op.create_table(
        "review_items",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("evaluation_id", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("job", sa.String(), nullable=False),
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("trace_id", sa.String(), nullable=False),
        sa.Column("item_key", sa.String(), nullable=False),
        sa.Column("judge_version", sa.String(), nullable=False),
        sa.Column("reasons", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("created_at", UTC, nullable=False),
        sa.Column("updated_at", UTC, nullable=False),
        sa.Column("decided_at", UTC, nullable=True),
        sa.ForeignKeyConstraint(
            ["evaluation_id"], ["evaluations.id"], name=op.f("fk_review_items_evaluation_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_review_items_run_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_review_items")),
    )
    op.create_index("ix_review_items_evaluation_id", "review_items", ["evaluation_id"], unique=False)
    op.create_index("ix_review_items_run_id", "review_items", ["run_id"], unique=False)
    op.create_index("ix_review_items_state", "review_items", ["state", "created_at", "id"], unique=False)
    op.create_index("ix_review_items_trace_id", "review_items", ["trace_id"], unique=False)
