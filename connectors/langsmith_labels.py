"""Read what people say of runs on LangSmith, in its pages or through applications, under names of ours."""

from collections.abc import Mapping, Sequence
from typing import Any

from connectors.langsmith_api import LangSmithApi
from connectors.langsmith_feedback import counts_as_report, report_from
from enricher.trace import ReportFilter, UserReport

RUNS_PER_LISTING = 50  # run ids in one URL


async def peoples_feedback(
    api: LangSmithApi, run_ids: Sequence[str], keys: Sequence[str]
) -> dict[str, list[UserReport]]:
    """Return people's feedback by run, oldest first; never what evaluators or this product gave."""
    rows: list[Mapping[str, Any]] = []
    for at in range(0, len(run_ids), RUNS_PER_LISTING):
        params = {"run": list(run_ids[at : at + RUNS_PER_LISTING]), "key": sorted(keys)}
        rows += [row async for row in api.listing("/api/v1/feedback", params)]
    found: dict[str, list[UserReport]] = {}
    for row in sorted(rows, key=lambda row: str(row.get("modified_at") or row.get("created_at") or "")):
        if counts_as_report(row, [ReportFilter()]):
            found.setdefault(str(row["run_id"]), []).append(report_from(row))
    return found
