"""The open questions to people as the queue lists them, and who is at each."""

import json
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"

UTC = sa.String(27).with_variant(sa.DateTime(timezone=True), "postgresql")
_PAGE = 500


def upgrade() -> None:
    """Create the table and fill it with the questions that are open."""
    op.create_table(
        "queue",
        sa.Column("review_id", sa.String(), nullable=False),
        sa.Column("trace_id", sa.String(), nullable=False),
        sa.Column("job", sa.String(), nullable=False),
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("judge", sa.String(), nullable=False),
        sa.Column("reasons", sa.String(), nullable=False),
        sa.Column("label", sa.String(), nullable=False),
        sa.Column("score", sa.Float(), nullable=True),
        sa.Column("question", sa.String(), nullable=False),
        sa.Column("summary", sa.String(), nullable=False),
        sa.Column("created_at", UTC, nullable=False),
        sa.Column("assignee", sa.String(), nullable=True),
        sa.Column("assigned_until", UTC, nullable=True),
        sa.PrimaryKeyConstraint("review_id", name=op.f("pk_queue")),
        sa.ForeignKeyConstraint(
            ["review_id"], ["review_items.id"], name=op.f("fk_queue_review_id"), ondelete="CASCADE"
        ),
    )
    op.create_index("ix_queue_created_at", "queue", ["created_at", "review_id"])
    counted = ["job", "project", "judge", "reasons", "created_at", "assigned_until", "assignee", "trace_id"]
    op.create_index("ix_queue_facets", "queue", counted)
    op.create_index("ix_queue_trace_id", "queue", ["trace_id"])
    fill(op.get_bind())


def fill(connection: sa.Connection) -> None:
    """Add the open questions of a store that had no such table."""
    asked = sa.text(
        "SELECT r.id, r.trace_id, r.job, r.reasons, r.created_at, e.project, e.judge, e.status, e.score, e.verdict "
        "FROM review_items r JOIN evaluations e ON e.id = r.evaluation_id "
        "WHERE r.state = 'open' AND r.id > :after ORDER BY r.id LIMIT :page"
    )
    adding = sa.text(
        "INSERT INTO queue (review_id, trace_id, job, project, judge, reasons, label, score, question, summary, "
        "created_at) VALUES (:review_id, :trace_id, :job, :project, :judge, :reasons, :label, :score, '', :summary, "
        ":created_at)"
    )
    after = ""
    while rows := connection.execute(asked, {"after": after, "page": _PAGE}).all():
        connection.execute(adding, [_row(row) for row in rows])
        after = rows[-1].id


def _row(row: Any) -> dict[str, Any]:
    verdict = json.loads(row.verdict)
    summary = (verdict.get("result") or {}).get("summary") or verdict.get("failure") or ""
    return {
        "review_id": row.id,
        "trace_id": row.trace_id,
        "job": row.job,
        "project": row.project,
        "judge": row.judge,
        "reasons": row.reasons,
        # The word follows from the statements, and the question stands with the trace; newer lines have both.
        "label": "" if row.status == "OK" else row.status.lower(),
        "score": row.score,
        "summary": summary[:500],
        "created_at": row.created_at,
    }
