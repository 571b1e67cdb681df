"""One owner at a time, over all processes and hosts: leases that end when their owner stops breathing."""

from datetime import datetime, timedelta

from sqlalchemy import Connection, and_, delete, or_, select, update

from enricher.store.owner import describe, is_surely_gone
from enricher.store.records import LeaseGrant
from enricher.store.schema import leases
from enricher.store.upsert import insert_into

BEATS = 4  # how often an owner breathes within the time that its lease lives


def acquire(
    connection: Connection,
    name: str,
    owner: str,
    ttl: timedelta,
    now: datetime,
    *,
    silent_since: datetime | None = None,
) -> LeaseGrant:
    """Take or renew a lease unless another living owner holds it; say who holds it now.

    A lease that has ended by the clock alone may be that of an owner who lives: a clock may have jumped, or differ
    between hosts. It is taken by whoever has watched it for `watch_s` and comes back with the heartbeat it had before.
    """
    row = {"name": name, "owner": owner, "acquired_at": now, "heartbeat_at": now, "expires_at": now + ttl}
    statement = insert_into(connection, leases)
    holder = connection.execute(select(leases.c.owner).where(leases.c.name == name)).scalar()
    may_take = leases.c.owner == owner
    if holder is not None and is_surely_gone(holder):
        may_take = or_(may_take, leases.c.owner == holder)
    if silent_since is not None:
        may_take = or_(may_take, and_(leases.c.owner == holder, leases.c.heartbeat_at == silent_since))
    statement = statement.on_conflict_do_update(
        index_elements=[leases.c.name],
        set_={name: statement.excluded[name] for name in row if name != "name"},
        where=may_take,
    )
    connection.execute(statement, row)
    held = connection.execute(select(leases).where(leases.c.name == name)).one()
    life = held.expires_at - held.heartbeat_at
    # A heartbeat that lies ahead is one of a clock that was wrong: its lease might not end for years.
    is_doubtful = held.owner != owner and (held.expires_at <= now or held.heartbeat_at > now + life)
    return LeaseGrant(
        name=name,
        granted=held.owner == owner,
        owner=held.owner,
        expires_at=held.expires_at,
        heartbeat_at=held.heartbeat_at,
        # A beat and a half: its owner has breathed in that time if it lives.
        watch_s=1.5 * life.total_seconds() / BEATS if is_doubtful else None,
    )


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
