"""An answer that comes a byte at a time is no answer: every call to a platform ends within its timeout."""

import asyncio

import pytest

from connectors.langsmith import LangSmithConnector
from connectors.phoenix import PhoenixConnector
from enricher.errors import TryAgain
from enricher.trace import TraceQuery
from tests.servers.failing import FailingServer, reply_json
from tests.servers.troubled import Trouble, TroubledProxy


@pytest.fixture
async def dripping():
    async with FailingServer(reply_json({"data": [], "items": []})) as server, _behind_wire(server) as proxy:
        proxy.choose = lambda request: Trouble.DRIP
        yield proxy


def _behind_wire(server):
    return TroubledProxy(server.base_url).running()


def _phoenix(base_url):
    return PhoenixConnector(name="platform", base_url=base_url, timeout_s=2.0)


def _langsmith(base_url):
    return LangSmithConnector(name="platform", base_url=base_url, api_key="k", timeout_s=2.0)


@pytest.mark.parametrize("made", [_phoenix, _langsmith], ids=["phoenix", "langsmith"])
async def test_a_platform_that_drips_its_answers_is_an_outage(dripping, made):
    connector = made(dripping.base_url)
    try:
        async with asyncio.timeout(30):
            with pytest.raises(TryAgain, match="in time"):
                _ = [ref async for ref in connector.find(TraceQuery(rule="all", projects=("support",)))]
    finally:
        await connector.aclose()
