"""The embedded Phoenix when it can't start; that it starts, serves and stops is shown by every test that uses one."""

import sys
from importlib.metadata import PackageNotFoundError

import pytest

from enricher import phoenix_server
from enricher.errors import SetupError
from enricher.phoenix_server import start_phoenix


def pretend_python(tmp_path, monkeypatch, script: str) -> None:
    fake = tmp_path / "python"
    fake.write_text(f"#!/bin/sh\n{script}\n")
    fake.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(fake))


async def test_without_the_package_the_install_command_is_told(monkeypatch):
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(phoenix_server, "version", missing)
    with pytest.raises(SetupError, match=r"pip install 'trace-enricher\[demo\]'"):
        await start_phoenix()


async def test_a_server_that_ends_by_itself_is_told_with_its_last_words(tmp_path, monkeypatch):
    pretend_python(tmp_path, monkeypatch, "echo no space left on device; exit 3")
    with pytest.raises(SetupError, match=r"code 3.*no space left"):
        await start_phoenix(folder=tmp_path / "data")
    assert (tmp_path / "data" / "phoenix.log").exists()


async def test_a_server_that_never_gets_ready_is_ended(tmp_path, monkeypatch):
    pretend_python(tmp_path, monkeypatch, "echo $$; exec sleep 60")
    waited: list[float] = []
    with pytest.raises(SetupError, match=r"not ready after 1\.5 s"):
        await start_phoenix(folder=tmp_path / "data", ready_within_s=1.5, on_wait=waited.append)
    assert waited == sorted(waited)
    assert len(waited) >= 2


async def test_nothing_of_the_users_phoenix_reaches_the_child(tmp_path, monkeypatch):
    monkeypatch.setenv("PHOENIX_SQL_DATABASE_URL", "postgresql://a-real-database")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    pretend_python(tmp_path, monkeypatch, "env | grep -v ^PATH= | sort; exit 3")
    with pytest.raises(SetupError):
        await start_phoenix(folder=tmp_path / "data")
    log = (tmp_path / "data" / "phoenix.log").read_text()
    assert "a-real-database" not in log
    assert "PYTHONDONTWRITEBYTECODE" not in log
    assert f"PYTHONPYCACHEPREFIX={tmp_path}/cache/trace-enricher/bytecode" in log
    assert "PHOENIX_HOST=127.0.0.1" in log
    assert "PHOENIX_ENABLE_AUTH" not in log
