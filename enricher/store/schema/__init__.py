"""The tables, each with what it is for; migrations build the same schema step by step."""

from enricher.store.schema.columns import Json, Utc, Words, metadata
from enricher.store.schema.judging import (
    REF_IS_OPEN,
    WRITE_BACK_FAILED,
    WRITE_BACK_IS_OPEN,
    evaluations,
    facts,
    forgotten,
    items,
    opinions,
    outbox,
    raw_replies,
    refs,
    rejections,
    runs,
    watermarks,
)
from enricher.store.schema.people import (
    calibrations,
    compared_pairs,
    comparisons,
    decisions,
    pairs,
    queue,
    review_items,
)
from enricher.store.schema.upkeep import (
    alerts,
    batch_lines,
    batches,
    hints,
    keepsakes,
    leases,
    schedule_timers,
    schedules,
    spending,
)

# The newest migration. Opening a store compares this with what the store says before Alembic is asked.
SCHEMA_VERSION = "0011"
# Not Alembic's own default, so that a database shared with another Alembic application keeps both apart.
VERSION_TABLE = "enricher_schema"

__all__ = [
    "REF_IS_OPEN",
    "SCHEMA_VERSION",
    "VERSION_TABLE",
    "WRITE_BACK_FAILED",
    "WRITE_BACK_IS_OPEN",
    "Json",
    "Utc",
    "Words",
    "alerts",
    "batch_lines",
    "batches",
    "calibrations",
    "compared_pairs",
    "comparisons",
    "decisions",
    "evaluations",
    "facts",
    "forgotten",
    "hints",
    "items",
    "keepsakes",
    "leases",
    "metadata",
    "opinions",
    "outbox",
    "pairs",
    "queue",
    "raw_replies",
    "refs",
    "rejections",
    "review_items",
    "runs",
    "schedule_timers",
    "schedules",
    "spending",
    "watermarks",
]
