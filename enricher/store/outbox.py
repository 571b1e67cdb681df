"""The outbox: claim what is due, record what became of it."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Integer, Select, bindparam, case, func, or_, select, update

from enricher.store.owner import is_surely_gone
from enricher.store.records import Backlog, Due, OutboxRecord, Outcome
from enricher.store.schema import WRITE_BACK_FAILED, WRITE_BACK_IS_OPEN, Utc, Words, outbox
from enricher.verdict import Annotation, DeliveryState

# Nothing is put off or claimed for so long: what lies further ahead was written by a clock that was set back since.
_FAR = timedelta(hours=1)

# Made once: to put a statement together costs more than to execute it.
_NOW, _LATER = bindparam("now", type_=Utc), bindparam("later", type_=Utc)
_WAITING = (
    select(outbox.c.key)
    .where(
        outbox.c.connection == bindparam("place"),
        WRITE_BACK_IS_OPEN,
        or_(outbox.c.next_attempt_at <= _NOW, outbox.c.next_attempt_at > _LATER),
        or_(outbox.c.claimed_by.is_(None), outbox.c.claimed_until <= _NOW, outbox.c.claimed_until > _LATER),
    )
    .order_by(outbox.c.next_attempt_at, outbox.c.key)
    .limit(bindparam("most", type_=Integer))
    .with_for_update(skip_locked=True)
)
_CLAIM = (
    update(outbox)
    .where(outbox.c.key.in_(bindparam("keys", expanding=True)))
    .values(claimed_by=bindparam("its_owner", type_=Words), claimed_until=bindparam("until", type_=Utc))
    .returning(*outbox.c)
)
_IS_OWN = outbox.c.claimed_by == bindparam("its_owner", type_=Words)
_RECORD = (
    update(outbox)
    .where(
        outbox.c.key == bindparam("its_key"),
        outbox.c.revision == bindparam("its_revision"),
        # Confirmed stays confirmed: a slower process may still report an earlier state.
        WRITE_BACK_IS_OPEN,
    )
    .values(
        # Kept where nothing newer is known.
        sent_at=func.coalesce(bindparam("sent", type_=Utc), outbox.c.sent_at),
        confirmed_at=func.coalesce(bindparam("confirmed", type_=Utc), outbox.c.confirmed_at),
        remote_id=func.coalesce(bindparam("remote", type_=Words), outbox.c.remote_id),
        # Released.
        claimed_by=case((_IS_OWN, None), else_=outbox.c.claimed_by),
        claimed_until=case((_IS_OWN, None), else_=outbox.c.claimed_until),
    )
)
_OTHER_CLAIMANTS = (
    select(outbox.c.claimed_by)
    .where(
        outbox.c.connection == bindparam("place"),
        WRITE_BACK_IS_OPEN,
        outbox.c.claimed_by.is_not(None),
        outbox.c.claimed_by != bindparam("owner"),
    )
    .distinct()
)


def claim_due(connection: Connection, place: str, limit: int, owner: str, claim: timedelta, now: datetime) -> list[Due]:
    """Claim write-backs of the connection `place` whose time has come; nobody else gets them until the claim ends."""
    _free_claims_of_the_dead(connection, place, owner)
    bound = {"place": place, "now": now, "later": now + _FAR, "most": limit}
    keys = list(connection.execute(_WAITING, bound).scalars())
    if not keys:
        return []
    rows = connection.execute(_CLAIM, {"keys": keys, "its_owner": owner, "until": now + claim}).all()
    order = {key: number for number, key in enumerate(keys)}
    return [
        Due(
            annotation=Annotation.model_validate_json(row.annotation),
            revision=row.revision,
            state=DeliveryState(row.state),
            attempts=row.attempts,
            checks=row.checks,
        )
        for row in sorted(rows, key=lambda row: order[row.key])
    ]


def record(connection: Connection, outcomes: Sequence[Outcome], owner: str, now: datetime) -> None:
    """Record outcomes and release their claims; an outcome for a content that was replaced only releases."""
    if not outcomes:
        return
    rows = [_outcome_row(outcome, now) for outcome in sorted(outcomes, key=lambda o: o.due.annotation.key)]
    done = connection.execute(_RECORD, [{**row, "its_owner": owner} for row in rows])
    if done.rowcount != len(rows):  # the claims on what was replaced or confirmed meanwhile are left
        release(connection, [row["its_key"] for row in rows], owner)


def release(connection: Connection, keys: Sequence[str], owner: str) -> None:
    """Give claims back."""
    statement = update(outbox).where(outbox.c.key.in_(keys), outbox.c.claimed_by == owner)
    connection.execute(statement.values(claimed_by=None, claimed_until=None))


def next_due(connection: Connection, place: str, now: datetime) -> datetime | None:
    """Tell when the next open write-back of a connection can be claimed; None when nothing is open."""
    is_free = or_(outbox.c.claimed_until.is_(None), outbox.c.claimed_until <= outbox.c.next_attempt_at)
    moment = case((is_free, outbox.c.next_attempt_at), else_=outbox.c.claimed_until)
    moment = case((moment > now + _FAR, bindparam("now", now, type_=Utc)), else_=moment)
    query = select(func.min(moment)).where(outbox.c.connection == place, WRITE_BACK_IS_OPEN)
    earliest: datetime | None = connection.execute(query).scalar()
    return earliest


def backlogs(connection: Connection) -> dict[str, Backlog]:
    """Count, for each connection, what is not delivered."""
    counts = select(outbox.c.connection, outbox.c.state, func.count(), func.min(outbox.c.created_at))
    counts = counts.group_by(outbox.c.connection, outbox.c.state)
    found: dict[str, Backlog] = {}
    # Two queries, so that each has its index and the confirmed ones, which are most, are not read.
    for place, state, count, oldest in connection.execute(counts.where(WRITE_BACK_IS_OPEN)):
        backlog = found.get(place, Backlog())
        found[place] = replace(backlog, **{state: count}, oldest=min(oldest, backlog.oldest or oldest))
    for place, _, count, _ in connection.execute(counts.where(WRITE_BACK_FAILED)):
        found[place] = replace(found.get(place, Backlog()), failed=count)
    return found


def outbox_records(connection: Connection, query: Select[Any]) -> list[OutboxRecord]:
    """Read write-backs as recorded."""
    return [
        OutboxRecord(
            annotation=Annotation.model_validate_json(row.annotation),
            run_id=row.run_id,
            state=DeliveryState(row.state),
            reason=row.reason,
            attempts=row.attempts,
            next_attempt_at=row.next_attempt_at,
            remote_id=row.remote_id,
            sent_at=row.sent_at,
            confirmed_at=row.confirmed_at,
        )
        for row in connection.execute(query)
    ]


def _free_claims_of_the_dead(connection: Connection, place: str, owner: str) -> None:
    claimants = connection.execute(_OTHER_CLAIMANTS, {"place": place, "owner": owner}).scalars()
    gone = [other for other in claimants if is_surely_gone(other)]
    if gone:
        statement = update(outbox).where(WRITE_BACK_IS_OPEN, outbox.c.claimed_by.in_(gone))
        connection.execute(statement.values(claimed_by=None, claimed_until=None))


def _outcome_row(outcome: Outcome, now: datetime) -> dict[str, Any]:
    is_accepted = outcome.state in (DeliveryState.SENT, DeliveryState.CONFIRMED)
    was_sent = is_accepted and outcome.attempts > outcome.due.attempts
    return {
        "its_key": outcome.due.annotation.key,
        "its_revision": outcome.due.revision,
        "state": outcome.state.value,
        "reason": outcome.reason,
        "attempts": outcome.attempts,
        "checks": outcome.checks,
        "next_attempt_at": outcome.next_attempt_at,
        "sent": now if was_sent else None,
        "confirmed": now if outcome.state is DeliveryState.CONFIRMED else None,
        "remote": outcome.remote_id,
    }
