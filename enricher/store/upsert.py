"""`INSERT ... ON CONFLICT` in the dialect of the connection."""

from functools import lru_cache

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite

# SQLite's and PostgreSQL's statements differ in class only; SQLite's stands for both in annotations.
Upsert = sqlite.Insert


def insert_into(connection: Connection, table: Table) -> Upsert:
    """Begin an insert that can say what happens on a conflict."""
    return insert_for(connection.dialect.name, table)


@lru_cache  # with the columns of `excluded`, which cost more to put together than a group of rows to write
def insert_for(dialect: str, table: Table) -> Upsert:
    """Begin an insert in the dialect of that name."""
    if dialect == "postgresql":
        return postgresql.insert(table)  # type: ignore[return-value]
    return sqlite.insert(table)
