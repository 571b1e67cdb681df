"""Keep examples in a LangSmith dataset, each linked to its run; an example that is there is replaced, never doubled."""

from collections.abc import Mapping, Sequence
from typing import Any

from connectors.http import Declined
from connectors.langsmith_api import LangSmithApi
from enricher.seams import DatasetExample, Kept

_BATCH = 100  # examples a request
_NOT_FOUND = 404


async def keep_examples(api: LangSmithApi, name: str, examples: Sequence[DatasetExample]) -> Kept:
    """Add what is new and replace what has changed, by the ids of the examples; nothing else of the dataset is touched.

    The service refuses an id that it knows, so what is there is read first.
    """
    dataset_id = await _dataset(api, name)
    held = {str(row["id"]): row async for row in api.listing("/api/v1/examples", {"dataset": dataset_id})}
    new = [example for example in examples if example.id not in held]
    changed = [example for example in examples if example.id in held and not _is_same(example, held[example.id])]
    for start in range(0, len(new), _BATCH):
        await _create(api, dataset_id, new[start : start + _BATCH])
    for start in range(0, len(changed), _BATCH):
        await api.patch("/api/v1/examples/bulk", [_parts(one, dataset_id) for one in changed[start : start + _BATCH]])
    return Kept(added=len(new), changed=len(changed), unchanged=len(examples) - len(new) - len(changed))


async def _dataset(api: LangSmithApi, name: str) -> str:
    async for row in api.listing("/api/v1/datasets", {"name": name}):
        if row.get("name") == name:
            return str(row["id"])
    made: Mapping[str, Any] = await api.post(
        "/api/v1/datasets",
        {"name": name, "description": "Findings with people's labels, kept by Trace Enricher.", "data_type": "kv"},
        is_repeatable=False,
    )
    return str(made["id"])


async def _create(api: LangSmithApi, dataset_id: str, examples: Sequence[DatasetExample]) -> None:
    """Add examples with their runs; runs whose time is over are gone, and their examples are kept without the link."""
    linked = [
        {**_parts(one, dataset_id), **({} if one.span_id is None else {"source_run_id": one.span_id})}
        for one in examples
    ]
    try:
        # A repeat after a lost answer would be refused; the next export finds what arrived.
        await api.post("/api/v1/examples/bulk", linked, is_repeatable=False)
    except Declined as error:
        if error.status != _NOT_FOUND or all(one.span_id is None for one in examples):
            raise
        bare = [_parts(one, dataset_id) for one in examples]
        await api.post("/api/v1/examples/bulk", bare, is_repeatable=False)


def _parts(example: DatasetExample, dataset_id: str) -> dict[str, Any]:
    return {
        "id": example.id,
        "dataset_id": dataset_id,
        "inputs": dict(example.inputs),
        "outputs": dict(example.outputs),
        "metadata": dict(example.metadata),
    }


def _is_same(example: DatasetExample, held: Mapping[str, Any]) -> bool:
    # The service adds keys of its own to the metadata, such as the split.
    metadata = held.get("metadata") or {}
    return (
        held.get("inputs") == example.inputs
        and held.get("outputs") == example.outputs
        and all(metadata.get(key) == value for key, value in example.metadata.items())
    )
