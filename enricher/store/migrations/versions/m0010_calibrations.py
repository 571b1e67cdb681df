"""How far judges agreed with people when they were last compared with them."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"

UTC = sa.String(27).with_variant(sa.DateTime(timezone=True), "postgresql")


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "calibrations",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("judge", sa.String(), nullable=False),
        sa.Column("setting", sa.String(), nullable=False),
        sa.Column("made_at", UTC, nullable=False),
        sa.Column("labels", sa.Integer(), nullable=False),
        sa.Column("agreement", sa.Float(), nullable=False),
        sa.Column("kappa", sa.Float(), nullable=True),
        sa.Column("figures", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_calibrations")),
    )
    op.create_index("ix_calibrations_made_at", "calibrations", ["made_at", "id"])
