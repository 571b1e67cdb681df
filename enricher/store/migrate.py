"""Bring a store to the present schema when it is opened, one process at a time."""

from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Engine, inspect, text

from enricher.errors import SetupError
from enricher.store.engine import WRITES, plain_errors
from enricher.store.schema import SCHEMA_VERSION, VERSION_TABLE, metadata

if TYPE_CHECKING:
    from alembic.config import Config

_SCRIPTS = Path(__file__).resolve().parent / "migrations"
# Any number will do, as long as every version of the product uses the same.
_LOCK = 7_305_841


def bring_up_to_date(engine: Engine) -> None:
    """Migrate the store unless it is up to date.

    Raises:
        SetupError: a newer version of the product wrote it, or the database belongs to something else.
    """
    with plain_errors(opening=True), engine.connect() as connection:
        if _version(connection) == SCHEMA_VERSION:
            return
    with plain_errors(opening=True), engine.execution_options(**{WRITES: True}).begin() as connection:
        # SQLite's BEGIN IMMEDIATE is the lock there.
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        _migrate(connection)


def alembic_config(connection: Connection) -> "Config":
    """Make the configuration under which Alembic finds the migrations of this installation."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def _migrate(connection: Connection) -> None:
    # Nearly every store is up to date, and need not wait for the package and all that it brings along.
    from alembic import command
    from alembic.util import CommandError

    version = _version(connection)
    if version is None:
        foreign = sorted(set(metadata.tables) & set(inspect(connection).get_table_names()))
        if foreign:
            raise SetupError(
                f"the store's database already holds other tables of the same name ({', '.join(foreign)}); "
                "name an empty database"
            )
    try:
        command.upgrade(alembic_config(connection), "head")
    except CommandError as problem:
        if version is None or "locate revision" not in str(problem):
            raise
        raise SetupError(
            f"the store was written by a newer trace-enricher (schema {version}, this one knows {SCHEMA_VERSION}); "
            "upgrade this installation or name another store"
        ) from problem


def _version(connection: Connection) -> str | None:
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    version: str | None = connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()
    return version
