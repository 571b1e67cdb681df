"""Pairs of answers that were compared, with their verdicts."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

UTC = sa.String(27).with_variant(sa.DateTime(timezone=True), "postgresql")


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "pairs",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("comparison", sa.String(), nullable=False),
        sa.Column("champion", sa.String(), nullable=False),
        sa.Column("challenger", sa.String(), nullable=False),
        sa.Column("pair_id", sa.String(), nullable=False),
        sa.Column("champion_trace_id", sa.String(), nullable=False),
        sa.Column("challenger_trace_id", sa.String(), nullable=False),
        sa.Column("judge_version", sa.String(), nullable=False),
        sa.Column("input_hash", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("pair", sa.String(), nullable=False),
        sa.Column("verdict", sa.String(), nullable=False),
        sa.Column("replies", sa.String(), nullable=True),
        sa.Column("review", sa.String(), nullable=False),
        sa.Column("cost", sa.Float(), nullable=False),
        sa.Column("settled_at", UTC, nullable=False),
        sa.Column("written_at", UTC, nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pairs")),
    )
    op.create_index("ix_pairs_comparison", "pairs", ["comparison", "settled_at"])
    op.create_index("ix_pairs_champion_trace_id", "pairs", ["champion_trace_id"])
    op.create_index("ix_pairs_challenger_trace_id", "pairs", ["challenger_trace_id"])
