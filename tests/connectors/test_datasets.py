"""Examples of datasets: kept by their ids, added without a link where the run is gone, never doubled."""

import uuid

import pytest

from enricher.errors import BadReply
from enricher.seams import DatasetExample, DatasetKeeper, Kept
from tests.contracts.platforms import phoenix_at
from tests.servers.failing import FailingServer, reply_json


def example(number=1, **parts):
    given = {"id": str(uuid.UUID(int=number)), "inputs": {"question": "q"}, "outputs": {"label": "x"}, "metadata": {}}
    return DatasetExample(**{**given, **parts})


async def test_an_example_of_a_run_that_is_gone_is_kept_without_the_link(langsmith_platform):
    run = langsmith_platform.trace(documents=("30 days.",))
    gone = example(1, span_id=str(uuid.uuid4()))
    connector = langsmith_platform.connector()
    assert isinstance(connector, DatasetKeeper)
    try:
        assert await connector.keep_examples("d", [gone]) == Kept(added=1)
        assert await connector.keep_examples("d", [gone, example(2, span_id=str(run.id))]) == Kept(added=1, unchanged=1)
    finally:
        await connector.aclose()
    links = [one.get("source_run_id") for one in langsmith_platform.service.state.examples.values()]
    assert links == [None, str(run.id)]


async def test_more_examples_than_one_request_takes_are_kept_and_only_changed_ones_sent_again(langsmith_platform):
    connector = langsmith_platform.connector()
    many = [example(number) for number in range(1, 251)]
    try:
        assert await connector.keep_examples("d", many) == Kept(added=250)
        langsmith_platform.service.forget_requests()
        many[7] = example(8, outputs={"label": "y"}, metadata={"decided_by": "ada"})
        assert await connector.keep_examples("d", many) == Kept(changed=1, unchanged=249)
    finally:
        await connector.aclose()
    assert len(langsmith_platform.service.asked("/examples/bulk", "PATCH")) == 1
    assert langsmith_platform.service.asked("/examples/bulk", "POST") == []
    changed = langsmith_platform.service.state.examples[many[7].id]
    assert (changed["outputs"], changed["metadata"]["dataset_split"]) == ({"label": "y"}, ["base"])


async def test_a_phoenix_that_would_double_examples_is_refused():
    async with FailingServer(reply_json({"data": {"dataset_id": "d1", "version_id": "v1"}})) as old:
        connector = phoenix_at(old.base_url)
        try:
            with pytest.raises(BadReply, match="does not keep ids of examples"):
                await connector.keep_examples("d", [example()])
        finally:
            await connector.aclose()
    (asked,) = old.asked
    assert (asked.json()["action"], asked.json()["example_ids"]) == ("append", [example().id])
