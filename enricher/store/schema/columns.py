"""The types of the columns, alike on SQLite and PostgreSQL, and the collection that every table joins."""

import json
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import DateTime, Dialect, MetaData, String
from sqlalchemy.types import TypeDecorator, TypeEngine


class Utc(TypeDecorator[datetime]):
    """An instant: `TIMESTAMPTZ` on PostgreSQL, fixed-width ISO text (which sorts by time) on SQLite."""

    impl = String(27)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Choose the column type of the engine."""
        native: TypeEngine[Any] = DateTime(timezone=True) if dialect.name == "postgresql" else String(27)
        return dialect.type_descriptor(native)

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        """Refuse naive times: they would be read as local time somewhere."""
        return (_utc if dialect.name == "postgresql" else _iso)(value)

    def bind_processor(self, dialect: Dialect) -> Any:
        """Give statements the function itself, which the base class would wrap: it is called for every value."""
        return _utc if dialect.name == "postgresql" else _iso

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        """Give aware UTC back."""
        if value is None:
            return None
        return value.astimezone(UTC) if isinstance(value, datetime) else datetime.fromisoformat(value)


def _utc(moment: datetime | None) -> datetime | None:
    if moment is None:
        return None
    if moment.tzinfo is None:
        raise ValueError(f"a naive datetime must not enter the store: {moment!r}")
    return moment.astimezone(UTC)


@lru_cache(maxsize=1024)  # the rows of a settlement share their moment
def _iso(moment: datetime | None) -> str | None:
    utc = _utc(moment)
    return None if utc is None else utc.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


class Words(TypeDecorator[str]):
    """Text from outside: NUL and lone surrogates, which databases refuse, become a replacement mark."""

    impl = String
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Replace only where something must be replaced."""
        return _storable(value)

    def bind_processor(self, dialect: Dialect) -> Any:
        """Give statements the function itself, which the base class would wrap: it is called for every value."""
        return _storable


def _storable(value: str | None) -> str | None:
    if value is None or (value.isascii() and "\0" not in value):
        return value
    return value.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")


_encode = json.JSONEncoder(separators=(",", ":")).encode


class Json(TypeDecorator[Any]):
    """A JSON value as escaped ASCII text: `jsonb` would refuse the NULs that traces do hold."""

    impl = String
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        """Write the value."""
        return None if value is None else _encode(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
        """Read the value back."""
        return None if value is None else json.loads(value)


metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(table_name)s_%(column_0_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)
