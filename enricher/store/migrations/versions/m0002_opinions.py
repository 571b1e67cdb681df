"""Keep what second checks say of findings."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

UTC = sa.String(27).with_variant(sa.DateTime(timezone=True), "postgresql")


def upgrade() -> None:
    """Create the table of opinions."""
    op.create_table(
        "opinions",
        sa.Column("evaluation_id", sa.String(), nullable=False),
        sa.Column("part", sa.String(), nullable=False),
        sa.Column("second_by", sa.String(), nullable=False),
        sa.Column("judge", sa.String(), nullable=False),
        sa.Column("trace_id", sa.String(), nullable=False),
        sa.Column("statement", sa.String(), nullable=False),
        sa.Column("standing", sa.String(), nullable=False),
        sa.Column("second_standing", sa.String(), nullable=False),
        sa.Column("agrees", sa.Boolean(), nullable=False),
        sa.Column("certainty", sa.String(), nullable=True),
        sa.Column("opinion", sa.String(), nullable=False),
        sa.Column("settled_at", UTC, nullable=False),
        sa.PrimaryKeyConstraint("evaluation_id", "part", "second_by", name=op.f("pk_opinions")),
        sa.ForeignKeyConstraint(
            ["evaluation_id"],
            ["evaluations.id"],
            name=op.f("fk_opinions_evaluation_id"),
            ondelete="CASCADE",
        ),
    )
    op.create_index("ix_opinions_trace_id", "opinions", ["trace_id"])
    op.create_index("ix_opinions_settled_at", "opinions", ["settled_at", "judge"])
