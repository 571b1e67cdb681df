"""Keep examples in a Phoenix dataset, each linked to its span; an example that is there is replaced, never doubled."""

from collections.abc import Sequence

from connectors.http import HttpCalls
from connectors.phoenix_find import batched
from enricher.errors import BadReply
from enricher.seams import DatasetExample, Kept

_BATCH = 200  # examples a request


async def keep_examples(calls: HttpCalls, name: str, examples: Sequence[DatasetExample]) -> Kept:
    """Add what is new and replace what has changed, by the ids of the examples; nothing else of the dataset is touched.

    Raises:
        BadReply: the server is too old to know ids of examples; a repeat would double them.
    """
    added = changed = 0
    for batch in batched(examples, _BATCH):
        body = {
            "action": "append",
            "name": name,
            "inputs": [example.inputs for example in batch],
            "outputs": [example.outputs for example in batch],
            "metadata": [example.metadata for example in batch],
            "span_ids": [example.span_id for example in batch],
            "example_ids": [example.id for example in batch],
        }
        reply = await calls.post("v1/datasets/upload?sync=true", body)
        counts = reply.get("data") if isinstance(reply, dict) else None
        if not isinstance(counts, dict) or "num_created_examples" not in counts:
            raise BadReply("this Phoenix does not keep ids of examples, so that a repeat would double them; update it")
        added += int(counts["num_created_examples"])
        changed += int(counts["num_updated_examples"])
    return Kept(added=added, changed=changed, unchanged=len(examples) - added - changed)
