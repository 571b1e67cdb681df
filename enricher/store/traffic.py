"""The books of model traffic: what was spent, by day and job, and which calls travel in batches."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from secrets import token_hex

from sqlalchemy import ColumnElement, Connection, delete, func, insert, select, text, update

from enricher.store.owner import is_surely_gone, this_process
from enricher.store.schema import batch_lines, batches, keepsakes, spending
from enricher.store.store import Store
from enricher.store.upsert import insert_into
from enricher.traffic import ROUNDING, BatchRecord, BatchState, Grant, LineRecord

_PAGE = 500
_KEPT = timedelta(days=30)  # the longest that an answer is of use: its trace stays due for at most so long


async def keepsake(store: Store, name: str) -> bytes:
    """Return a random value that all processes with this store share, made when it is first asked for."""

    def work(connection: Connection) -> str:
        row = {"name": name, "value": token_hex(32)}
        connection.execute(insert_into(connection, keepsakes).on_conflict_do_nothing(), row)
        value: str = connection.execute(select(keepsakes.c.value).where(keepsakes.c.name == name)).scalar_one()
        return value

    return bytes.fromhex(await store.transact(work))


@dataclass(frozen=True, kw_only=True, slots=True)
class Caps:
    """What may be spent; None: no cap."""

    per_run: float | None = None
    per_day: float | None = None
    job_per_run: float | None = None
    job_per_day: float | None = None

    def __bool__(self) -> bool:
        return any(cap is not None for cap in (self.per_run, self.per_day, self.job_per_run, self.job_per_day))


class StoreLedger:
    """A ledger that all processes share. What is reserved counts as spent until it is given back."""

    def __init__(self, store: Store, job: str, caps: Caps, *, run: str | None = None) -> None:
        self._store = store
        self._job = job
        self._caps = caps
        self._run = run or token_hex(8)
        self._spender = f"{self._run}/{token_hex(8)}"  # one of those that work on the run
        self._reserved: dict[str, float] = {}  # by day

    async def reserve(self, least: float, most: float) -> Grant:
        """Reserve as much as the caps leave, between `least` and `most`, or nothing."""
        now = self._store.clock()
        grant = await self._store.transact(lambda connection: self._reserve(connection, least, most, now))
        day = _day(now)
        self._reserved[day] = self._reserved.get(day, 0.0) + grant.amount
        return grant

    async def settle(self, spent: float) -> None:
        """Give back what was reserved and not spent."""
        if not self._reserved:
            return
        amounts = {}
        for day, reserved in sorted(self._reserved.items()):
            amounts[day] = min(reserved, spent)
            spent -= amounts[day]
        amounts[max(amounts)] += max(0.0, spent)  # a reply dearer than any before it
        now = self._store.clock()
        await self._store.transact(lambda connection: self._settle(connection, amounts, now))
        self._reserved = amounts

    def _reserve(self, connection: Connection, least: float, most: float, now: datetime) -> Grant:
        if connection.dialect.name == "postgresql":
            # Two processes must not both take what is left. SQLite lets only one of them write.
            connection.execute(text("LOCK TABLE spending IN EXCLUSIVE MODE"))
        day, job, caps = _day(now), spending.c.job == self._job, self._caps
        of_run, of_day = spending.c.spender.startswith(f"{self._run}/", autoescape=True), spending.c.day == day
        rooms = [
            (_room(connection, caps.per_run, of_run), caps.per_run, "a run (budget.per_run)"),
            (_room(connection, caps.job_per_run, of_run), caps.job_per_run, f"a run (jobs.{self._job}.budget.per_run)"),
            (_room(connection, caps.per_day, of_day), caps.per_day, "a day (budget.per_day)"),
            (
                _room(connection, caps.job_per_day, of_day & job),
                caps.job_per_day,
                f"a day (jobs.{self._job}.budget.per_day)",
            ),
        ]
        room, cap, name = min(rooms, key=lambda entry: entry[0])
        if room < least - ROUNDING:
            return Grant(0.0, f"the budget of {cap:g} {name}")
        amount = min(most, room)
        row = {"day": day, "job": self._job, "spender": self._spender, "amount": amount, "updated_at": now}
        statement = insert_into(connection, spending)
        statement = statement.on_conflict_do_update(
            index_elements=[spending.c.day, spending.c.job, spending.c.spender],
            set_={"amount": spending.c.amount + amount, "updated_at": now},
        )
        connection.execute(statement, row)
        return Grant(amount)

    def _settle(self, connection: Connection, amounts: Mapping[str, float], now: datetime) -> None:
        for day, amount in amounts.items():
            row = update(spending).where(
                spending.c.day == day, spending.c.job == self._job, spending.c.spender == self._spender
            )
            connection.execute(row.values(amount=amount, updated_at=now))


async def spent_on(store: Store, day: datetime, job: str | None = None) -> float:
    """Return what is booked for a day (UTC), reservations of runs under way included."""
    condition = spending.c.day == _day(day)
    condition = condition & (spending.c.job == job) if job is not None else condition
    return await store.look(lambda connection: _sum(connection, condition))


def _day(moment: datetime) -> str:
    return moment.date().isoformat()


def _room(connection: Connection, cap: float | None, condition: ColumnElement[bool]) -> float:
    return float("inf") if cap is None else cap - _sum(connection, condition)


def _sum(connection: Connection, condition: ColumnElement[bool]) -> float:
    total = select(func.coalesce(func.sum(spending.c.amount), 0.0)).where(condition)
    return float(connection.execute(total).scalar_one())


class StoreBatchBook:
    """What is recorded about batches at one endpoint."""

    def __init__(self, store: Store, place: str) -> None:
        self._store = store
        self._place = place
        self._owner = this_process()

    def now(self) -> datetime:
        """Tell the time by which records are kept."""
        return self._store.clock()

    async def line(self, key: str) -> LineRecord | None:
        """Return a call, if it was ever part of a batch and not yet dropped."""

        def look(connection: Connection) -> LineRecord | None:
            row = connection.execute(select(batch_lines).where(batch_lines.c.key == key)).one_or_none()
            if row is None:
                return None
            reply = row.reply or {}
            return LineRecord(
                key=row.key,
                batch_id=row.batch_id,
                status=reply.get("status"),
                body=reply.get("body", ""),
                tries=row.tries,
                first_asked_at=row.first_asked_at,
            )

        return await self._store.look(look)

    async def open_batches(self) -> Sequence[BatchRecord]:
        """Return the batches that have not ended, oldest first."""
        query = select(batches).where(batches.c.place == self._place, batches.c.state != BatchState.ENDED.value)

        def look(connection: Connection) -> list[BatchRecord]:
            return [
                BatchRecord(
                    id=row.id,
                    state=BatchState(row.state),
                    is_ours=row.owner == self._owner,
                    is_orphan=row.owner != self._owner and is_surely_gone(row.owner),
                    input_file=row.input_file,
                    remote_id=row.remote_id,
                    created_at=row.created_at,
                )
                for row in connection.execute(query.order_by(batches.c.created_at, batches.c.id))
            ]

        return await self._store.look(look)

    async def add_batch(self, batch_id: str, lines: Mapping[str, str]) -> None:
        """Record a batch that is about to be uploaded, with the keys of its calls and the traces they are for."""
        now = self._store.clock()
        batch = {"id": batch_id, "place": self._place, "owner": self._owner, "state": BatchState.NEW.value}
        rows = [
            {"key": key, "trace_id": trace_id, "batch_id": batch_id, "tries": 1, "first_asked_at": now}
            for key, trace_id in sorted(lines.items())
        ]

        def work(connection: Connection) -> None:
            known = select(batches.c.id).where(batches.c.id == batch_id)
            if connection.execute(known).scalar() is not None:
                return  # this work may be done twice
            _purge(connection, now - _KEPT)
            connection.execute(insert(batches), {**batch, "reason": "", "created_at": now, "updated_at": now})
            statement = insert_into(connection, batch_lines)
            statement = statement.on_conflict_do_update(
                index_elements=[batch_lines.c.key],
                set_={
                    "batch_id": batch_id,
                    "reply": None,
                    "tries": batch_lines.c.tries + 1,
                    "updated_at": now,
                },
            )
            for start in range(0, len(rows), _PAGE):
                page = [{**row, "updated_at": now} for row in rows[start : start + _PAGE]]
                connection.execute(statement, page)

        await self._store.transact(work)

    async def advance(
        self, batch_id: str, state: BatchState, *, input_file: str | None = None, remote_id: str | None = None
    ) -> None:
        """Record how far a batch has come."""
        given = {"input_file": input_file, "remote_id": remote_id}
        values = {name: value for name, value in given.items() if value is not None}
        values |= {"state": state.value, "owner": self._owner}
        statement = update(batches).where(batches.c.id == batch_id, batches.c.state != BatchState.ENDED.value)
        now = self._store.clock()
        await self._store.transact(lambda connection: connection.execute(statement.values(**values, updated_at=now)))

    async def end_batch(self, batch_id: str, replies: Mapping[str, tuple[int, str]], reason: str) -> None:
        """Record the answers of a batch, status and body by key; its other calls are in no batch any more."""
        now = self._store.clock()

        def work(connection: Connection) -> None:
            own = batch_lines.c.batch_id == batch_id
            for key, (status, body) in replies.items():
                answered = update(batch_lines).where(own, batch_lines.c.key == key)
                connection.execute(answered.values(reply={"status": status, "body": body}, updated_at=now))
            connection.execute(update(batch_lines).where(own).values(batch_id=None, updated_at=now))
            ended = update(batches).where(batches.c.id == batch_id)
            connection.execute(ended.values(state=BatchState.ENDED.value, reason=reason[:500], updated_at=now))

        await self._store.transact(work)

    async def drop_lines(self, keys: Sequence[str]) -> None:
        """Forget calls whose traces are settled."""

        def work(connection: Connection) -> None:
            for start in range(0, len(keys), _PAGE):
                connection.execute(delete(batch_lines).where(batch_lines.c.key.in_(keys[start : start + _PAGE])))

        if keys:
            await self._store.transact(work)


def _purge(connection: Connection, before: datetime) -> None:
    """Delete what nobody came back for."""
    is_old = batch_lines.c.updated_at < before
    connection.execute(delete(batch_lines).where(is_old))
    still_used = select(batch_lines.c.batch_id).where(batch_lines.c.batch_id.is_not(None))
    ended = (batches.c.state == BatchState.ENDED.value) & (batches.c.updated_at < before)
    connection.execute(delete(batches).where(ended, batches.c.id.not_in(still_used)))
