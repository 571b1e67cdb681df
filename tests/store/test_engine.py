"""What a wrong, locked, full or absent store says."""

import sqlite3

import pytest
from sqlalchemy import event

from enricher.errors import SetupError, Unavailable
from enricher.store import Store
from enricher.store.engine import connect, parse_url
from tests.store.samples import evaluation, settlement, verdict


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("store.db", "can't be read"),
        ("mysql://u:secret@h/d", "can't be kept in 'mysql'"),
        ("sqlite://", "name a file"),
        ("sqlite:///:memory:", "name a file"),
    ],
)
def test_a_wrong_url_is_a_sentence_without_its_password(url, sentence):
    with pytest.raises(SetupError, match=sentence) as caught:
        parse_url(url)
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
def test_every_usual_spelling_of_a_postgresql_url_is_taken(scheme):
    assert parse_url(f"{scheme}://u:p@h/d").drivername == "postgresql+psycopg"


async def test_a_folder_that_can_not_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SetupError, match=r"file/store\.db can't be written"):
        await Store.open(f"sqlite:///{tmp_path}/file/store.db")


async def test_a_file_that_is_no_database_is_named_so(tmp_path):
    (tmp_path / "store.db").write_text("these are my notes " * 1000)
    with pytest.raises(SetupError, match="no SQLite database"):
        await Store.open(f"sqlite:///{tmp_path}/store.db")
    assert (tmp_path / "store.db").read_text().startswith("these are my notes")


async def test_a_postgresql_that_does_not_answer_is_a_sentence_without_its_password():
    pytest.importorskip("psycopg")
    with pytest.raises(SetupError, match="PostgreSQL can't be used") as caught:
        await Store.open("postgresql://me:secret@127.0.0.1:9/store")
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_host_of_postgresql_that_vanishes_is_noticed_within_a_minute(postgres_url):
    engine = connect(parse_url(postgres_url))
    with engine.connect() as connection:
        in_force = connection.connection.driver_connection.info.get_parameters()
    engine.dispose()
    assert in_force["tcp_user_timeout"] == "60000"
    assert in_force["keepalives_idle"] == "30"


async def test_a_missing_postgresql_database_is_a_sentence(postgres):
    with pytest.raises(SetupError, match=r"does not exist|can't be used"):
        await Store.open(f"postgresql://postgres@/nowhere?host={postgres.folder}")


async def test_a_lock_that_passes_is_waited_for(tmp_path):
    async with await Store.open(f"sqlite:///{tmp_path}/store.db") as store:
        rival = _lock(tmp_path / "store.db")
        run = store.start_run("nightly")
        rival.rollback()
        rival.close()
        assert await run


async def test_a_lock_that_stays_is_unavailable_and_nothing_is_half_done(tmp_path, monkeypatch):
    monkeypatch.setattr("enricher.store.engine.BUSY_TIMEOUT_S", 0.05)
    async with await Store.open(f"sqlite:///{tmp_path}/store.db", patience_s=0.2) as store:
        run = await store.start_run("nightly")
        rival = _lock(tmp_path / "store.db")
        with pytest.raises(Unavailable, match="locked by another process"):
            await store.settle(settlement(run))
        # Reading goes on beside the writer.
        assert (await store.explain("t1")).evaluations == ()
        rival.rollback()
        rival.close()
        assert await store.settle(settlement(run)) == 1


async def test_a_full_disk_is_a_sentence_and_what_was_settled_is_safe(tmp_path):
    url = f"sqlite:///{tmp_path}/store.db"
    async with await Store.open(url) as store:
        run = await store.start_run("nightly")
        await store.settle(settlement(run, 1))
        event.listen(store._engine, "begin", lambda c: c.exec_driver_sql("PRAGMA max_page_count = 1"))
        with pytest.raises(SetupError, match="full"):
            await store.settle(settlement(run, 2, evaluation(2, verdict=verdict(2, raw_replies=("x" * 10**6,)))))
    async with await Store.open(url) as store:
        assert len((await store.explain("t1")).outbox) == 1


async def test_a_postgresql_that_drops_its_connections_is_reconnected(postgres_url):
    import psycopg

    async with await Store.open(postgres_url) as store:
        run = await store.start_run("nightly")
        await store.explain("t1")
        with psycopg.connect(postgres_url, autocommit=True) as admin:
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        assert await store.settle(settlement(run)) == 1
        assert len((await store.explain("t1")).outbox) == 1


def _lock(path):
    rival = sqlite3.connect(path, isolation_level=None)
    rival.execute("BEGIN IMMEDIATE")
    return rival
