"""When jobs are due, and what became of them."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

UTC = sa.String(27).with_variant(sa.DateTime(timezone=True), "postgresql")


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "schedules",
        sa.Column("job", sa.String(), nullable=False),
        sa.Column("due_at", UTC, nullable=True),
        sa.Column("due_since", UTC, nullable=True),
        sa.Column("waiting", sa.Integer(), nullable=False),
        sa.Column("done_until", UTC, nullable=True),
        sa.Column("outcome", sa.String(), nullable=True),
        sa.Column("outcome_at", UTC, nullable=True),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=True),
        sa.Column("last_success_at", UTC, nullable=True),
        sa.PrimaryKeyConstraint("job", name=op.f("pk_schedules")),
    )
    op.create_table(
        "schedule_timers",
        sa.Column("id", sa.Unicode(191), nullable=False),
        sa.Column("next_run_time", sa.Float(25), nullable=True),
        sa.Column("job_state", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_schedule_timers")),
    )
