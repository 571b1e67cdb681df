"""`INSERT ... ON CONFLICT` in the dialect of the connection."""

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite

# SQLite's and PostgreSQL's statements differ in class only; SQLite's stands for both in annotations.
Upsert = sqlite.Insert


def insert_into(connection: Connection, table: Table) -> Upsert:
    """Begin an insert that can say what happens on a conflict."""
    if connection.dialect.name == "postgresql":
        return postgresql.insert(table)  # type: ignore[return-value]
    return sqlite.insert(table)
