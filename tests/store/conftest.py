"""A store on each engine: SQLite in a temporary folder, and a real PostgreSQL that the suite starts itself."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from enricher.store import Store
from tests.servers.postgres import Postgres


@pytest.fixture
def postgres_url(postgres: Postgres) -> str:
    """Give the URL of a new, empty schema in PostgreSQL."""
    return postgres.url(postgres.new_schema())


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Give the URL of a store that does not exist yet, on each engine."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/store.db"
    found: str = request.getfixturevalue("postgres_url")
    return found


@pytest.fixture
async def store(url: str) -> AsyncIterator[Store]:
    """Give an open, empty store on each engine."""
    async with await Store.open(url) as opened:
        yield opened
