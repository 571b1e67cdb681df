"""Find the traces of a Phoenix experiment, and the examples that they were made for."""

from collections.abc import AsyncIterator, Mapping
from difflib import get_close_matches
from typing import Any

from connectors.http import Declined
from connectors.phoenix_reads import LARGEST_PAGE, PhoenixReads
from enricher.errors import SetupError
from enricher.seams import Examples

_NO_SUCH = (404, 422)  # 422: not an id, so it may be a name


async def examples_of(reads: PhoenixReads, name: str) -> Examples:
    """Return the project of an experiment, given by id or name, and the example of each of its traces.

    Raises:
        SetupError: there is no such experiment, more than one, or it was run without tracing.
    """
    experiment = await _experiment(reads, name)
    by_trace: dict[str, str] = {}
    async for page in reads.pages(f"v1/experiments/{experiment['id']}/runs", (), limit=LARGEST_PAGE):
        by_trace |= {str(run["trace_id"]): str(run["dataset_example_id"]) for run in page if run.get("trace_id")}
    project = experiment.get("project_name")
    if not project or not by_trace:
        raise SetupError(f"the experiment '{name}' has no traces, so that its context is not known; run it traced")
    return Examples(project=str(project), by_trace=by_trace)


async def _experiment(reads: PhoenixReads, name: str) -> Mapping[str, Any]:
    if "/" not in name and name.strip():
        try:
            found: Mapping[str, Any] = (await reads.calls.get(f"v1/experiments/{name}"))["data"]
            return found
        except Declined as error:
            if error.status not in _NO_SUCH:
                raise
    listed = [experiment async for experiment in _all(reads)]
    named = [experiment for experiment in listed if experiment["name"] == name]
    if len(named) > 1:
        ids = ", ".join(str(experiment["id"]) for experiment in named)
        raise SetupError(f"Phoenix has {len(named)} experiments '{name}'; give an id: {ids}")
    if named:
        return named[0]
    known = [str(experiment["name"]) for experiment in listed]
    close = get_close_matches(name, known, n=3, cutoff=0.5) or known[:10]
    raise SetupError(f"Phoenix has no experiment '{name}'" + (f"; there is {', '.join(close)}" if close else ""))


async def _all(reads: PhoenixReads) -> AsyncIterator[Mapping[str, Any]]:
    async for datasets in reads.pages("v1/datasets", (), limit=LARGEST_PAGE):
        for dataset in datasets:
            async for page in reads.pages(f"v1/datasets/{dataset['id']}/experiments", (), limit=LARGEST_PAGE):
                for experiment in page:
                    yield experiment
