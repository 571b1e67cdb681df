"""One owner at a time, over all processes and hosts: leases that expire when their owner stops breathing."""

from datetime import datetime, timedelta

from sqlalchemy import Connection, delete, or_, select, update

from enricher.store.owner import describe, is_surely_gone
from enricher.store.records import LeaseGrant
from enricher.store.schema import leases
from enricher.store.upsert import insert_into


def acquire(connection: Connection, name: str, owner: str, ttl: timedelta, now: datetime) -> LeaseGrant:
    """Take or renew a lease unless another living owner holds it; say who holds it now."""
    row = {"name": name, "owner": owner, "acquired_at": now, "heartbeat_at": now, "expires_at": now + ttl}
    statement = insert_into(connection, leases)
    holder = connection.execute(select(leases.c.owner).where(leases.c.name == name)).scalar()
    may_take = or_(leases.c.owner == owner, leases.c.expires_at <= now)
    if holder is not None and is_surely_gone(holder):
        may_take = or_(may_take, leases.c.owner == holder)
    statement = statement.on_conflict_do_update(
        index_elements=[leases.c.name],
        set_={name: statement.excluded[name] for name in row if name != "name"},
        where=may_take,
    )
    connection.execute(statement, row)
    held = connection.execute(select(leases.c.owner, leases.c.expires_at).where(leases.c.name == name)).one()
    return LeaseGrant(name=name, granted=held.owner == owner, owner=held.owner, expires_at=held.expires_at)


def renew(connection: Connection, name: str, owner: str, ttl: timedelta, now: datetime) -> bool:
    """Prolong a lease; False when somebody else has it by now."""
    statement = update(leases).where(leases.c.name == name, leases.c.owner == owner)
    return connection.execute(statement.values(heartbeat_at=now, expires_at=now + ttl)).rowcount == 1


def release(connection: Connection, name: str, owner: str) -> None:
    """Give a lease back, if it is still held."""
    connection.execute(delete(leases).where(leases.c.name == name, leases.c.owner == owner))


def holders(connection: Connection, now: datetime) -> dict[str, str]:
    """Return who holds each lease now, named for a person."""
    query = select(leases.c.name, leases.c.owner).where(leases.c.expires_at > now).order_by(leases.c.name)
    return {name: describe(owner) for name, owner in connection.execute(query) if not is_surely_gone(owner)}
