"""Read what people say of runs on LangSmith, in its pages or through applications, under names of ours."""

from collections.abc import Mapping, Sequence
from typing import Any

from connectors.langsmith_api import LangSmithApi
from connectors.langsmith_feedback import correction_of, counts_as_report, report_from
from enricher.trace import ReportFilter, UserReport

RUNS_PER_LISTING = 50  # run ids in one URL


async def peoples_feedback(
    api: LangSmithApi, run_ids: Sequence[str], keys: Sequence[str]
) -> dict[str, list[UserReport]]:
    """Return people's feedback by run, oldest first; never what evaluators or this product gave.

    A correction is a person's whoever gave what it corrects, this product too, and counts in the place of that.
    """
    rows: list[Mapping[str, Any]] = []
    for at in range(0, len(run_ids), RUNS_PER_LISTING):
        params = {"run": list(run_ids[at : at + RUNS_PER_LISTING]), "key": sorted(keys)}
        rows += [row async for row in api.listing("/api/v1/feedback", params)]
    found: dict[str, list[UserReport]] = {}
    for row in sorted(rows, key=lambda row: str(row.get("modified_at") or row.get("created_at") or "")):
        said = correction_of(row) or (report_from(row) if counts_as_report(row, [ReportFilter()]) else None)
        if said is not None and row.get("run_id") is not None:
            found.setdefault(str(row["run_id"]), []).append(said)
    return found
