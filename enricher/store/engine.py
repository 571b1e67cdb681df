"""Connect to SQLite or PostgreSQL, and say in one sentence what is wrong when that fails."""

import os
import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, TimeoutError

from enricher.errors import EnricherError, SetupError, TryAgain, Unavailable

T = TypeVar("T")

# How long one statement waits for another process's write before the store itself decides about another try.
BUSY_TIMEOUT_S = 5.0
CONNECT_TIMEOUT_S = 10
# A host of PostgreSQL that vanishes without a word is noticed within a minute; the system's own limits are hours.
_NOTICE_SILENCE = {
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,  # milliseconds
}

# Marks connections whose transactions write.
WRITES = "enricher_writes"

_POSTGRES_DRIVERS = ("postgres", "postgresql", "postgresql+psycopg")


def parse_url(url: str) -> URL:
    """Read a store URL.

    Raises:
        SetupError: it is no URL, or names an engine that is not supported.
    """
    try:
        parsed = make_url(url)
    except ArgumentError:
        # The text itself may hold a password, so it is not repeated.
        raise SetupError(
            "the store URL can't be read; write sqlite:///FILE or postgresql://USER:PASSWORD@HOST/DATABASE"
        ) from None
    if parsed.drivername in _POSTGRES_DRIVERS:
        return parsed.set(drivername="postgresql+psycopg")
    if parsed.drivername not in ("sqlite", "sqlite+pysqlite"):
        raise SetupError(f"the store can't be kept in '{parsed.drivername}'; use sqlite:///FILE or postgresql://...")
    if not parsed.database or parsed.database.startswith((":memory:", "file:")):
        raise SetupError("the store must outlive the process; name a file: sqlite:///trace-enricher.db")
    return parsed.set(database=str(Path(parsed.database).expanduser()))


def connect(url: URL) -> Engine:
    """Make an engine for a URL of `parse_url`; nothing is opened yet, but a new SQLite file is private.

    Parameters are hidden: they are people's texts, and a traceback or log must not carry them.

    Raises:
        SetupError: the folder of the file can't be used, or the PostgreSQL driver is missing.
    """
    if url.get_backend_name() == "sqlite":
        _make_private_file(Path(url.database or ""))
        engine = create_engine(url, connect_args={"timeout": BUSY_TIMEOUT_S}, pool_size=4, hide_parameters=True)
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    try:
        return create_engine(
            url,
            pool_size=4,
            pool_pre_ping=True,
            hide_parameters=True,
            connect_args={
                "connect_timeout": CONNECT_TIMEOUT_S,
                "application_name": "trace-enricher",
                **_NOTICE_SILENCE,
            },
        )
    except (ModuleNotFoundError, NoSuchModuleError):
        raise SetupError("PostgreSQL needs a driver; run: pip install 'trace-enricher[postgres]'") from None


def _make_private_file(path: Path) -> None:
    # Traces and replies may hold personal data: only the owner may read the file, and its WAL inherits that.
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as problem:
        raise SetupError(f"the store {path} can't be written ({problem.strerror}); choose another place") from problem


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    # The driver's own transactions begin too late; `_begin_sqlite` begins them instead.
    connection.isolation_level = None
    cursor = connection.cursor()
    mode = cursor.execute("PRAGMA journal_mode=WAL").fetchone()[0]
    if mode != "wal":
        raise SetupError("the store's file system can't do SQLite's WAL; use a local disk or PostgreSQL")
    # FULL: with NORMAL a power cut may undo commits whose annotations are already on the platform, and nothing would
    # explain them any more. Commits are made for whole groups, so that the flush to disk is shared.
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.execute("PRAGMA foreign_keys=ON")
    # What is purged or forgotten must not stay readable in free pages.
    cursor.execute("PRAGMA secure_delete=ON")
    cursor.execute("PRAGMA journal_size_limit=67108864")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    # A transaction that reads first and writes later could not be promoted while another process writes.
    writes = connection.get_execution_options().get(WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


class StoreUnreachable(SetupError):
    """The server of the store does not answer a process that wants to open it."""


class StoreBusy(TryAgain):
    """Another process holds the store, or it is away for the moment; the same work may be tried again at once."""


def patiently(work: Callable[[], T], patience_s: float) -> T:
    """Do some work, again and again while the store is busy or away.

    Raises:
        Unavailable: it still was when the patience ended.
    """
    deadline = time.monotonic() + patience_s
    pause = 0.05
    while True:
        try:
            return work()
        except StoreBusy as problem:
            if time.monotonic() + pause > deadline:
                raise Unavailable(str(problem)) from problem
        time.sleep(pause * random.uniform(0.5, 1.0))
        pause = min(2 * pause, 2.0)


# SQLSTATE classes and codes after which the same transaction may well succeed.
_PASSING = ("08", "40", "57P", "55P03", "53300", "53400")
_SETUP = {
    "28": "PostgreSQL refuses the store's user or password; correct the store URL",
    "3D000": "the store's PostgreSQL database does not exist; create it or correct the store URL",
    "42501": "the store's PostgreSQL user lacks a right on its tables; grant it",
    "25006": "the store's PostgreSQL is read-only; use its primary server",
    "53100": "the disk of the store's PostgreSQL is full; free some space",
}
_SQLITE_SETUP = (
    (("full",), "the disk that holds the store is full; free some space, what is settled is safe"),
    (("readonly", "read-only"), "the store is read-only; give write permission to the file and its folder"),
    (("unable to open",), "the store can't be opened; check that its folder exists and may be written"),
    (("disk i/o error",), "the disk that holds the store fails to read or write; check its space and health"),
    (("malformed", "not a database"), "the store's file is damaged or no SQLite database; restore or move it away"),
)


@contextmanager
def plain_errors(*, opening: bool = False) -> Iterator[None]:
    """Turn what a driver raises into what a person or the run can act on; other errors are bugs and pass.

    Raises:
        SetupError: the operator must act; also when a server can't be reached while `opening`.
        StoreBusy: the same work may be tried again.
    """
    try:
        yield
    except sqlite3.Error as problem:  # while a connection is being prepared, before SQLAlchemy wraps it
        plain = _plain_sqlite(str(problem).lower())
        if plain is None:
            raise
        raise plain from problem
    except DBAPIError as problem:
        plain = _plain(problem, opening)
        if plain is None:
            raise
        raise plain from problem
    except TimeoutError as problem:  # SQLAlchemy's: no free connection in the pool
        raise StoreBusy("all connections to the store are in use") from problem


def _plain(problem: DBAPIError, opening: bool) -> EnricherError | None:
    original = problem.orig
    if isinstance(original, sqlite3.Error):
        return _plain_sqlite(str(original).lower())
    code = getattr(original, "sqlstate", None) or ""
    for prefix, sentence in _SETUP.items():
        if code.startswith(prefix):
            return SetupError(sentence)
    reason = " ".join(str(original).split())
    unreachable = not code and type(original).__name__ in ("OperationalError", "ConnectionTimeout")
    if opening and (unreachable or problem.connection_invalidated):
        # The driver names host, port, user and reason, never the password; credentials arrive here without a code.
        return StoreUnreachable(f"the store's PostgreSQL can't be used: {reason}")
    if unreachable or problem.connection_invalidated or code.startswith(_PASSING):
        return StoreBusy(f"the store's PostgreSQL does not answer: {reason}")
    return None


def _plain_sqlite(reason: str) -> EnricherError | None:
    if "locked" in reason or "busy" in reason:
        return StoreBusy("the store is locked by another process")
    for words, sentence in _SQLITE_SETUP:
        if any(word in reason for word in words):
            return SetupError(sentence)
    return None


def without_password(url: str) -> str:
    """Return the URL of a store as it may be shown."""
    head, at, tail = url.rpartition("@")
    return f"{head.partition('://')[0]}://***@{tail}" if at else url
