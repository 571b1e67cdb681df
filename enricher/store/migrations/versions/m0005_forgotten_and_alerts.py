"""Which traces stay forgotten, and which alerts have been raised."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

UTC = sa.String(27).with_variant(sa.DateTime(timezone=True), "postgresql")


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "forgotten",
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("forgotten_at", UTC, nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_forgotten")),
    )
    op.create_table(
        "alerts",
        sa.Column("job", sa.String(), nullable=False),
        sa.Column("rule", sa.String(), nullable=False),
        sa.Column("raised_at", UTC, nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("told", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("job", "rule", name=op.f("pk_alerts")),
    )
