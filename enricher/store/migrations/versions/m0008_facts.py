"""What trends and reports count of each evaluation, and the same of those that are there already."""

import json
from typing import Any

import sqlalchemy as sa
from alembic import op

from enricher.store.facts import facts_of
from enricher.verdict import Verdict

revision = "0008"
down_revision = "0007"

UTC = sa.String(27).with_variant(sa.DateTime(timezone=True), "postgresql")
_PAGE = 500


def upgrade() -> None:
    """Create the table and fill it."""
    table = op.create_table(
        "facts",
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("evaluation_id", sa.String(), nullable=False),
        sa.Column("job", sa.String(), nullable=False),
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("trace_id", sa.String(), nullable=False),
        sa.Column("judge", sa.String(), nullable=False),
        sa.Column("judge_model", sa.String(), nullable=True),
        sa.Column("judge_prompt", sa.String(), nullable=True),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("label", sa.String(), nullable=True),
        sa.Column("score", sa.Float(), nullable=True),
        sa.Column("bucket", sa.Integer(), nullable=True),
        sa.Column("probability", sa.Float(), nullable=True),
        sa.Column("worst", sa.String(), nullable=True),
        sa.Column("contradicted", sa.Integer(), nullable=False),
        sa.Column("source_conflict", sa.Integer(), nullable=False),
        sa.Column("unsupported", sa.Integer(), nullable=False),
        sa.Column("added", sa.Integer(), nullable=False),
        sa.Column("distorted", sa.Integer(), nullable=False),
        sa.Column("partial", sa.Integer(), nullable=False),
        sa.Column("omitted", sa.Integer(), nullable=False),
        sa.Column("checked", sa.Integer(), nullable=False),
        sa.Column("agreed", sa.Integer(), nullable=False),
        sa.Column("is_reported", sa.Boolean(), nullable=False),
        sa.Column("is_recalled", sa.Boolean(), nullable=False),
        sa.Column("cost", sa.Float(), nullable=False),
        sa.Column("prompt_tokens", sa.Integer(), nullable=False),
        sa.Column("cached_tokens", sa.Integer(), nullable=False),
        sa.Column("completion_tokens", sa.Integer(), nullable=False),
        sa.Column("calls", sa.Integer(), nullable=False),
        sa.Column("metadata", sa.String(), nullable=False),
        sa.Column("settled_at", UTC, nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_facts_run_id")),
        sa.ForeignKeyConstraint(
            ["evaluation_id"], ["evaluations.id"], name=op.f("fk_facts_evaluation_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("run_id", "evaluation_id", name=op.f("pk_facts")),
    )
    op.create_index("ix_facts_evaluation_id", "facts", ["evaluation_id"])
    op.create_index("ix_facts_trace_id", "facts", ["trace_id"])
    _fill(op.get_bind(), table)


def _fill(connection: sa.Connection, table: sa.Table) -> None:
    kept = "id, run_id, job, connection, project, trace_id, verdict, settled_at"
    page = sa.text(f"SELECT {kept} FROM evaluations WHERE id > :after ORDER BY id LIMIT {_PAGE}")
    after = ""
    while rows := connection.execute(page, {"after": after}).all():
        connection.execute(table.insert(), [_row(row, _is_reported(connection, row)) for row in rows])
        after = rows[-1].id


def _row(row: Any, is_reported: bool) -> dict[str, Any]:
    # Items were kept without what could group them.
    facts = facts_of(Verdict.model_validate_json(row.verdict), None, is_reported=is_reported, is_recalled=False)
    shared = {name: getattr(row, name) for name in ("run_id", "job", "project", "trace_id", "settled_at")}
    return {**facts, **shared, "evaluation_id": row.id, "metadata": json.dumps(facts["metadata"])}


def _is_reported(connection: sa.Connection, row: Any) -> bool:
    query = sa.text("SELECT reports FROM refs WHERE job = :job AND connection = :connection AND trace_id = :trace_id")
    found = connection.execute(
        query, {"job": row.job, "connection": row.connection, "trace_id": row.trace_id}
    ).scalar()  # fmt: skip
    return bool(found and json.loads(found))
