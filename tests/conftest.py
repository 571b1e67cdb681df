"""What every test gets: a clean environment, no way off this machine, and a real Phoenix when it asks for one."""

import asyncio
import os
import socket
from collections.abc import Iterator

import pytest

from enricher.phoenix_server import PhoenixServer, start_phoenix
from tests.acceptance.command import Starter
from tests.servers.phoenix import PhoenixPlatform
from tests.servers.postgres import Postgres

ADMIN_SECRET = "a-secret-of-the-test-suite-with-1-digit"
_FOREIGN = ("OPENAI_", "AZURE_", "ANTHROPIC_", "LANGSMITH_", "LANGCHAIN_", "PHOENIX_", "OTEL_", "ENRICHER_", "HF_")
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


class OutsideWorld(AssertionError):
    """A test tried to reach something that is not on this machine."""


def pytest_configure() -> None:
    """Scrub the environment before any module of the product is imported and reads it."""
    for name in list(os.environ):
        if name.upper().startswith(_FOREIGN) or name.upper() in _PROXIES:
            del os.environ[name]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep all tests of one shared server in one worker: a second start would cost more than it saves."""
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        if "phoenix_server" in fixtures or "phoenix_server_with_auth" in fixtures:
            item.add_marker(pytest.mark.xdist_group("phoenix"))
        else:
            item.add_marker(pytest.mark.xdist_group(str(item.path)))


@pytest.fixture(scope="session", autouse=True)
def _only_loopback() -> Iterator[None]:
    connect, connect_ex = socket.socket.connect, socket.socket.connect_ex

    def guarded_connect(self: socket.socket, address: object) -> None:
        _refuse_outside(self, address)
        connect(self, address)  # type: ignore[arg-type]

    def guarded_connect_ex(self: socket.socket, address: object) -> int:
        _refuse_outside(self, address)
        return connect_ex(self, address)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded_connect)
        patch.setattr(socket.socket, "connect_ex", guarded_connect_ex)
        yield


def _refuse_outside(sock: socket.socket, address: object) -> None:
    if sock.family not in (socket.AF_INET, socket.AF_INET6) or not isinstance(address, tuple):
        return
    host = str(address[0])
    if host not in ("localhost", "::1") and not host.startswith("127."):
        raise OutsideWorld(f"a test tried to connect to {address}")


@pytest.fixture(scope="session")
def phoenix_server() -> Iterator[PhoenixServer]:
    """Run one real Phoenix for the whole test session; its start costs 20 to 40 CPU-seconds."""
    server = asyncio.run(start_phoenix())
    yield server
    asyncio.run(server.stop())


@pytest.fixture(scope="session")
def phoenix_server_with_auth() -> Iterator[PhoenixServer]:
    """Run a second real Phoenix that asks for an API key; only the few tests on credentials want it."""
    server = asyncio.run(start_phoenix(admin_secret=ADMIN_SECRET))
    yield server
    asyncio.run(server.stop())


@pytest.fixture
async def phoenix(phoenix_server: PhoenixServer, request: pytest.FixtureRequest) -> Iterator[PhoenixPlatform]:
    """Offer the real Phoenix with a project of this test's own."""
    platform = PhoenixPlatform(server=phoenix_server)
    yield platform
    await platform.aclose()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """Run one real PostgreSQL for the whole test session."""
    if missing := Postgres.what_lacks():
        pytest.skip(f"{missing} is not installed")
    server = Postgres()
    try:
        server.start()
        yield server
    finally:
        server.close()


@pytest.fixture(scope="session")
def starter() -> Iterator[Starter]:
    """Start commands without importing everything each time."""
    starter = Starter()
    yield starter
    starter.close()
