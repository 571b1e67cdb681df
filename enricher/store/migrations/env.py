"""Alembic's entry: run the migrations on the connection that `enricher.store.migrate` hands over, already locked."""

from alembic import context

from enricher.store.schema import VERSION_TABLE, metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    # SQLite can roll schema changes back too; the caller's transaction holds them all.
    transactional_ddl=True,
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
