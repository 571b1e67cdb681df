"""What models cost, calls that travel in batches, and verdicts that are found by their input."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

UTC = sa.String(27).with_variant(sa.DateTime(timezone=True), "postgresql")


def upgrade() -> None:
    """Create the tables and the index."""
    op.create_table(
        "spending",
        sa.Column("day", sa.String(), nullable=False),
        sa.Column("job", sa.String(), nullable=False),
        sa.Column("spender", sa.String(), nullable=False),
        sa.Column("amount", sa.Float(), nullable=False),
        sa.Column("updated_at", UTC, nullable=False),
        sa.PrimaryKeyConstraint("day", "job", "spender", name=op.f("pk_spending")),
    )
    op.create_table(
        "keepsakes",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("value", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_keepsakes")),
    )
    _create_batches()
    op.create_index("ix_evaluations_input_hash", "evaluations", ["input_hash"], unique=False)


def _create_batches() -> None:
    op.create_table(
        "batches",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("place", sa.String(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("input_file", sa.String(), nullable=True),
        sa.Column("remote_id", sa.String(), nullable=True),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("created_at", UTC, nullable=False),
        sa.Column("updated_at", UTC, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_batches")),
    )
    op.create_index("ix_batches_state", "batches", ["state"], unique=False)
    op.create_table(
        "batch_lines",
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("trace_id", sa.String(), nullable=False),
        sa.Column("batch_id", sa.String(), nullable=True),
        sa.Column("reply", sa.String(), nullable=True),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("first_asked_at", UTC, nullable=False),
        sa.Column("updated_at", UTC, nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_batch_lines")),
        sa.ForeignKeyConstraint(["batch_id"], ["batches.id"], name=op.f("fk_batch_lines_batch_id")),
    )
    op.create_index("ix_batch_lines_batch_id", "batch_lines", ["batch_id"], unique=False)
    op.create_index("ix_batch_lines_trace_id", "batch_lines", ["trace_id"], unique=False)
