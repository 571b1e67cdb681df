"""Find the examples that the traces of a LangSmith experiment were made for."""

from datetime import datetime
from typing import Any

from connectors.langsmith_api import LangSmithApi
from connectors.langsmith_query import RUNS_PAGE, RunQuery
from enricher.errors import SetupError
from enricher.seams import Examples


async def examples_of(api: LangSmithApi, name: str, *, start: datetime, is_experiment: bool) -> Examples:
    """Return the examples of an experiment; of a project that is none, only its name.

    On LangSmith an experiment is a project whose root runs name examples of a dataset.

    Raises:
        SetupError: there is no such project, or it is to be an experiment and none of its runs names an example.
    """
    project_ids = list(await api.projects([name]))
    if not is_experiment and not await _has_dataset(api, name):
        return Examples(project=name)  # a project of an application may hold millions of runs
    query = RunQuery(
        project_ids=project_ids,
        start=start,
        is_root=True,
        selects=("ID", "TRACE_ID", "REFERENCE_EXAMPLE_ID"),
        page_size=RUNS_PAGE,
    )
    by_trace: dict[str, str] = {}
    async for page in api.runs(query):
        by_trace |= {
            _trace_of(run): str(run["reference_example_id"]) for run in page if run.get("reference_example_id")
        }
    if is_experiment and not by_trace:
        raise SetupError(f"no run of the LangSmith project '{name}' names an example; is it an experiment?")
    return Examples(project=name, by_trace=by_trace)


async def _has_dataset(api: LangSmithApi, name: str) -> bool:
    rows = [row async for row in api.listing("/api/v1/sessions", {"name": name})]
    return any(row.get("reference_dataset_id") for row in rows if row.get("name") == name)


def _trace_of(run: dict[str, Any]) -> str:
    return str(run.get("trace_id") or run["id"])
