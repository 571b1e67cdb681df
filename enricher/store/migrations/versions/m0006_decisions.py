"""Keep what people decide about the questions put to them."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

UTC = sa.String(27).with_variant(sa.DateTime(timezone=True), "postgresql")


def upgrade() -> None:
    """Create the table of decisions."""
    op.create_table(
        "decisions",
        sa.Column("review_id", sa.String(), nullable=False),
        sa.Column("person", sa.String(), nullable=False),
        sa.Column("outcome", sa.String(), nullable=False),
        sa.Column("label", sa.String(), nullable=False),
        sa.Column("labels", sa.String(), nullable=False),
        sa.Column("comment", sa.String(), nullable=False),
        sa.Column("decided_at", UTC, nullable=False),
        sa.PrimaryKeyConstraint("review_id", "person", name=op.f("pk_decisions")),
        sa.ForeignKeyConstraint(
            ["review_id"], ["review_items.id"], name=op.f("fk_decisions_review_id"), ondelete="CASCADE"
        ),
    )
