"""A store of the test's own."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from enricher.store import Store


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    """Give an open, empty store."""
    async with await Store.open(f"sqlite:///{tmp_path / 'store.db'}") as opened:
        yield opened
