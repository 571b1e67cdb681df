"""What each comparison counted, and the pairs that it counted."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

UTC = sa.String(27).with_variant(sa.DateTime(timezone=True), "postgresql")


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "comparisons",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("champion", sa.String(), nullable=False),
        sa.Column("challenger", sa.String(), nullable=False),
        sa.Column("judge_version", sa.String(), nullable=False),
        sa.Column("started_at", UTC, nullable=False),
        sa.Column("finished_at", UTC, nullable=False),
        sa.Column("gate", sa.String(), nullable=True),
        sa.Column("gate_passed", sa.Boolean(), nullable=True),
        sa.Column("figures", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_comparisons")),
    )
    op.create_table(
        "compared_pairs",
        sa.Column("comparison_id", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("pair_record_id", sa.String(), nullable=False),
        sa.Column("outcome", sa.String(), nullable=False),
        sa.Column("is_accepted", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["comparison_id"],
            ["comparisons.id"],
            name=op.f("fk_compared_pairs_comparison_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["pair_record_id"], ["pairs.id"], name=op.f("fk_compared_pairs_pair_record_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("comparison_id", "number", name=op.f("pk_compared_pairs")),
    )
    op.create_index("ix_compared_pairs_pair_record_id", "compared_pairs", ["pair_record_id"])
