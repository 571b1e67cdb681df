"""Opening a store of any age: created, migrated, or refused with a sentence."""

import asyncio
import os
import sqlite3
import subprocess
import sys

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, inspect, text

from enricher.errors import SetupError
from enricher.store import Store
from enricher.store.engine import connect, parse_url
from enricher.store.migrate import alembic_config
from enricher.store.schema import SCHEMA_VERSION, VERSION_TABLE, metadata


async def test_a_migrated_schema_is_the_fresh_schema(url):
    async with await Store.open(url):
        pass
    engine = connect(parse_url(url))
    with engine.connect() as connection:
        options = {"target_metadata": metadata, "version_table": VERSION_TABLE, "compare_type": True}
        assert compare_metadata(MigrationContext.configure(connection, opts=options), metadata) == []
    engine.dispose()


async def test_on_sqlite_migrated_and_fresh_tables_are_the_same_to_the_letter(tmp_path):
    async with await Store.open(f"sqlite:///{tmp_path}/migrated.db"):
        pass
    fresh = create_engine(f"sqlite:///{tmp_path}/fresh.db")
    metadata.create_all(fresh)
    fresh.dispose()

    assert _tables(tmp_path / "migrated.db") == _tables(tmp_path / "fresh.db")


def test_the_schema_version_is_the_newest_migration():
    engine = create_engine("sqlite://")
    with engine.connect() as connection:
        script = ScriptDirectory.from_config(alembic_config(connection))
    engine.dispose()
    assert script.get_current_head() == SCHEMA_VERSION


async def test_an_up_to_date_store_keeps_its_data_when_it_is_opened_again(url):
    async with await Store.open(url) as store:
        run = await store.start_run("nightly")
    async with await Store.open(url) as store:
        assert (await store.run(run)).job == "nightly"


async def test_many_processes_may_open_a_new_store_at_once(url):
    program = (
        "import asyncio, sys\n"
        "from enricher.store import Store\n"
        "async def main():\n"
        "    async with await Store.open(sys.argv[1]) as store:\n"
        "        await store.start_run('nightly')\n"
        "asyncio.run(main())\n"
    )
    processes = [
        await asyncio.create_subprocess_exec(sys.executable, "-c", program, url, stderr=subprocess.PIPE)
        for _ in range(4)
    ]
    for process in processes:
        _, complaint = await process.communicate()
        assert process.returncode == 0, complaint.decode()
    async with await Store.open(url) as store:
        assert len(await store.runs()) == 4


async def test_a_store_of_a_newer_version_is_refused_and_left_alone(url):
    async with await Store.open(url):
        pass
    engine = connect(parse_url(url))
    with engine.connect() as connection:
        connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '9999'"))
        connection.commit()
    with pytest.raises(SetupError, match=r"newer trace-enricher \(schema 9999"):
        await Store.open(url)
    with engine.connect() as connection:
        assert connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar() == "9999"
    engine.dispose()


async def test_a_database_of_something_else_is_refused_and_left_alone(url):
    engine = connect(parse_url(url))
    with engine.connect() as connection:
        connection.execute(text("CREATE TABLE runs (anything INTEGER)"))
        connection.commit()
    with pytest.raises(SetupError, match="already holds other tables of the same name"):
        await Store.open(url)
    assert inspect(engine).get_table_names() == ["runs"]
    engine.dispose()


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
async def test_a_new_sqlite_store_is_readable_by_its_owner_only(tmp_path):
    async with await Store.open(f"sqlite:///{tmp_path}/folder/store.db") as store:
        await store.start_run("nightly")
        modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "folder").iterdir()}
    assert modes == {"store.db": 0o600, "store.db-wal": 0o600, "store.db-shm": 0o600}


def _tables(path):
    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE ?", ["%schema%"])
        found = {(kind, name): " ".join((sql or "").split()) for kind, name, sql in rows}
    connection.close()
    return found
