"""A store in a temporary folder, and the clock it reads."""

import shutil

import pytest
from sqlalchemy import event

from enricher.store import Store
from tests.reporting.samples import Clock


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory):
    """A migrated store, to be copied: migrating takes most of the time of a test."""
    return tmp_path_factory.mktemp("empty") / "store.db"


@pytest.fixture
async def store(tmp_path, clock, empty_store):
    if not empty_store.exists():
        async with await Store.open(f"sqlite:///{empty_store}"):
            pass
    shutil.copy(empty_store, tmp_path / "store.db")
    async with await Store.open(f"sqlite:///{tmp_path}/store.db", clock=clock) as opened:
        # Sixteen nights are some hundred commits; what a power cut would do to them is tested elsewhere.
        event.listen(opened.engine, "connect", lambda connection, _: connection.execute("PRAGMA synchronous=OFF"))
        opened.engine.dispose()
        yield opened
