"""A LangSmith stand-in for each test, filled through the real SDK."""

from collections.abc import Iterator

import pytest

from tests.servers.langsmith import StandIn
from tests.servers.langsmith.platform import LangSmithPlatform


@pytest.fixture
def service() -> Iterator[StandIn]:
    """Run a stand-in with default switches."""
    with StandIn() as running:
        yield running


@pytest.fixture
def langsmith_platform(service: StandIn) -> Iterator[LangSmithPlatform]:
    """Offer the stand-in with a project of this test's own and the SDK's client to fill it."""
    platform = LangSmithPlatform(service)
    yield platform
    platform.close()
