"""The one door to the store: async methods, each a transaction of its own."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice
from secrets import token_hex
from typing import Any, Self, TypeVar

from sqlalchemy import Connection, Engine, select

from enricher.errors import EnricherError, TryAgain
from enricher.store import alarms, forgetting, gauges, history, intake, leases, outbox, reviews, schedules, settlement
from enricher.store.agreement import Agreement, agreement
from enricher.store.alarms import Alarm
from enricher.store.drafts import draft_of
from enricher.store.engine import connect, parse_url, patiently, plain_errors
from enricher.store.gauges import FinishedRun, Queues
from enricher.store.migrate import bring_up_to_date
from enricher.store.owner import this_process
from enricher.store.records import (
    Backlog,
    Due,
    EvaluationKey,
    EvaluationRecord,
    Hint,
    Intake,
    LeaseGrant,
    Outcome,
    ReviewRecord,
    ReviewState,
    RunRecord,
    RunState,
    ScheduleOutcome,
    ScheduleRecord,
    Settlement,
    Story,
    Taken,
    Tally,
    Watermark,
)
from enricher.store.reviews import PersonsDecision, Question, QueueFilter
from enricher.store.schema import review_items, runs
from enricher.store.writer import Batch, Grouped, Writer
from enricher.trace import TraceRef
from enricher.verdict import Annotation, Verdict

T = TypeVar("T")
V = TypeVar("V")

_PAGE = 500  # values in one statement: below every engine's limit of parameters
_CLAIM = timedelta(minutes=2)  # longer than any batch should take to send


def utc_now() -> datetime:
    """Tell the time."""
    return datetime.now(UTC)


@dataclass(kw_only=True, slots=True)
class Hold:
    """A lease while it is held. `lost` is set when another owner took it over: then stop."""

    grant: LeaseGrant
    lost: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def is_held(self) -> bool:
        """Tell whether the lease is ours."""
        return self.grant.granted and not self.lost.is_set()


class Store:
    """State that outlives the process. Open with `Store.open`, close with `aclose` or by leaving `async with`.

    Every method may raise SetupError (disk full, no right, server refuses) and Unavailable (locked or away for longer
    than the patience given). What a method returned from is committed.
    """

    def __init__(
        self, engine: Engine, writer: Writer, lookups: Grouped, *, patience_s: float, clock: Callable[[], datetime]
    ) -> None:
        self._engine = engine
        self._writer = writer
        self._lookups = lookups
        self._patience_s = patience_s
        self._readers = ThreadPoolExecutor(max_workers=2, thread_name_prefix="store-reader")
        self._owner = this_process()
        self.clock = clock

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        patience_s: float = 30.0,
        window_s: float = 0.002,
        clock: Callable[[], datetime] = utc_now,
    ) -> Self:
        """Open the store at a URL, creating or migrating it as needed.

        Args:
            url: `sqlite:///FILE` or `postgresql://USER:PASSWORD@HOST/DATABASE`.
            patience_s: how long a locked or absent store is waited for before Unavailable is raised.
            window_s: how long the first of a group waits for others to share its transaction.
            clock: tells the time, in aware UTC.

        Raises:
            SetupError: one sentence on what the operator must do.
            TryAgain: another process keeps the store locked.
        """
        engine = await asyncio.to_thread(_open_engine, url, patience_s)
        grouping: Mapping[str, Any] = {"window_s": window_s, "largest_group": _PAGE, "patience_s": patience_s}
        # A call to a model waits for what is looked up: so never long.
        lookups = Grouped(engine, name="store-lookup", longest_pause_s=0.02, **grouping)
        return cls(engine, Writer(engine, **grouping), lookups, patience_s=patience_s, clock=clock)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_problem: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Commit what is queued and release connections."""
        await self._writer.aclose()
        await self._lookups.aclose()
        self._readers.shutdown(wait=True)
        self._engine.dispose()

    # runs and watermarks

    async def start_run(
        self, job: str, *, window_start: datetime | None = None, window_end: datetime | None = None
    ) -> str:
        """Open a run and return its id; hold the job's lease first."""
        now = self.clock()
        run_id = history.new_run_id(now)
        window = (window_start, window_end)
        await self._writer.write(lambda c: history.start_run(c, run_id, job, self._owner, window, now))
        return run_id

    async def note_progress(self, run_id: str, counters: Mapping[str, Any]) -> None:
        """Keep the counters of a run that is under way, for whoever watches."""
        await self._writer.write(lambda c: history.note_progress(c, run_id, counters))

    async def finish_run(
        self,
        run_id: str,
        state: RunState,
        *,
        counters: Mapping[str, Any],
        report: Any = None,
        watermarks: Iterable[Watermark] = (),
    ) -> None:
        """Close a run; move its watermarks forward, which only a completed run may do."""
        now, reached = self.clock(), list(watermarks)
        await self._writer.write(lambda c: history.finish_run(c, run_id, state, counters, report, reached, now))

    async def amend_report(self, run_id: str, report: Any) -> None:
        """Replace the report of a run that has ended."""
        await self._writer.write(lambda c: history.amend_report(c, run_id, report))

    async def watermark(self, job: str, connection: str, rule: str) -> datetime | None:
        """Return how far a rule has looked; None when it never has."""
        return await self._read(lambda c: history.watermark(c, job, connection, rule))

    async def run(self, run_id: str) -> RunRecord | None:
        """Return a run."""
        found = await self._read(lambda c: history.run_records(c, runs.c.id == run_id, limit=1))
        return found[0] if found else None

    async def runs(self, job: str | None = None, limit: int = 20) -> list[RunRecord]:
        """Return the latest runs, newest first."""
        conditions = [] if job is None else [runs.c.job == job]
        return await self._read(lambda c: history.run_records(c, *conditions, limit=limit))

    # which traces

    async def take_in(
        self, job: str, refs: Iterable[TraceRef], *, again: bool = False, hints: Sequence[Hint] = ()
    ) -> Intake:
        """Add the traces that rules chose; drop the hints that led to them.

        A known trace gains the new rules and reports. If it gained any, or `again` is set, it becomes due once more.
        """
        total = Intake()
        remaining = iter(refs)
        while page := list(islice(remaining, _PAGE)):
            got = await self._writer.write(partial(intake.take_in, job=job, chosen=page, again=again, now=self.clock()))
            total = total + got
        if hints:
            await self._writer.write(lambda c: intake.drop_hints(c, [hint.id for hint in hints]))
        return total

    async def take_due(
        self, job: str, run_id: str, limit: int = 100, *, only: Collection[str] | None = None
    ) -> list[Taken]:
        """Return the next open traces for a run, reported ones first, earlier leftovers included; [] at the end.

        Each is handed out once a run. What the run leaves DUE or DEFERRED is handed out to the next one. With `only`,
        no other trace ids are handed out.
        """
        return await self._writer.write(lambda c: intake.take_due(c, job, run_id, limit, only, self.clock()))

    async def count_due(self, job: str, *, not_of: str | None = None, only: Collection[str] | None = None) -> int:
        """Count the due traces: all, those that a run has not taken, or those among some ids."""
        return await self._read(lambda c: intake.count_due(c, job, not_of, only))

    async def give_up_deferred(self, job: str, run_id: str, *, first_seen_before: datetime) -> list[TraceRef]:
        """Reject, as still_running, deferred traces first seen before a moment; return them for the log."""
        return await self._writer.write(lambda c: intake.give_up(c, job, run_id, first_seen_before, self.clock()))

    async def add_hint(self, platform: str, project: str, trace_id: str, reason: str = "") -> bool:
        """Keep a trace that a webhook named; False when it is waiting already."""
        return await self._writer.write(lambda c: intake.add_hint(c, platform, project, trace_id, reason, self.clock()))

    async def pending_hints(self, platform: str, limit: int = 1000) -> list[Hint]:
        """Return the oldest hints for a platform; give them to `take_in` together with the refs they led to."""
        return await self._read(lambda c: intake.pending_hints(c, platform, limit))

    # verdicts

    async def settle(self, settlement_: Settlement) -> int:
        """Record what a trace has come to in one transaction; return how many of its evaluations were new.

        Safe to repeat: a verdict that is there stays, with its write-backs; only a failure is replaced.
        """
        return await self._writer.join(settlement.settle_all, draft_of(settlement_, self.clock()))

    async def known_evaluation(self, key: EvaluationKey) -> Verdict | None:
        """Return the verdict (OK or NO_CLAIMS) that is known for this key."""
        return await self.look_up(settlement.known_evaluations, key)

    async def evaluations(self, run_id: str) -> AsyncIterator[EvaluationRecord]:
        """Yield what a run judged, a page at a time."""
        after = ""
        while page := await self._read(partial(history.evaluations_page, run_id=run_id, after=after, limit=_PAGE)):
            for record in page:
                yield record
            after = page[-1].id

    async def questions(self, wanted: QueueFilter, limit: int = 100, offset: int = 0) -> list[Question]:
        """Return a page of the review queue, oldest first."""
        return await self._read(lambda c: reviews.questions(c, wanted, limit, offset))

    async def count_questions(self, wanted: QueueFilter) -> int:
        """Count the questions to people that match."""
        return await self._read(lambda c: reviews.count_questions(c, wanted))

    async def question_like(self, beginning: str) -> list[Question]:
        """Return the questions whose id begins with a text, at most two."""
        return await self._read(lambda c: reviews.question_like(c, beginning))

    async def decide(self, decision: PersonsDecision, annotations: Sequence[Annotation]) -> None:
        """Record a person's decision and queue what is written back."""
        now = self.clock()
        await self._writer.write(lambda c: reviews.decide(c, decision, annotations, now))

    async def persons_decisions(self) -> list[Question]:
        """Return every question that somebody decided."""
        return await self._read(reviews.persons_decisions)

    async def reviews(self, state: ReviewState = ReviewState.OPEN, limit: int = 100) -> list[ReviewRecord]:
        """Return questions to people, oldest first."""
        query = select(review_items).where(review_items.c.state == state.value)
        query = query.order_by(review_items.c.created_at, review_items.c.id).limit(limit)
        return await self._read(lambda c: history.review_records(c, query))

    # write-backs

    async def claim_due(self, connection: str, limit: int = 100) -> list[Due]:
        """Claim write-backs whose time has come; a claim that is not recorded ends after two minutes."""
        return await self._writer.write(
            lambda c: outbox.claim_due(c, connection, limit, self._owner, _CLAIM, self.clock())
        )

    async def record(self, outcomes: Sequence[Outcome]) -> None:
        """Record what became of claimed write-backs and release them."""
        await self._writer.write(lambda c: outbox.record(c, outcomes, self._owner, self.clock()))

    async def release(self, claimed: Sequence[Due]) -> None:
        """Give claims back unused."""
        keys = [due.annotation.key for due in claimed]
        await self._writer.write(lambda c: outbox.release(c, keys, self._owner))

    async def next_due(self, connection: str) -> datetime | None:
        """Return when the next open write-back can be claimed; None when nothing is open."""
        return await self._read(lambda c: outbox.next_due(c, connection, self.clock()))

    async def backlogs(self) -> dict[str, Backlog]:
        """Count, by connection, what is not delivered."""
        return await self._read(outbox.backlogs)

    # leases

    @contextlib.asynccontextmanager
    async def hold(self, name: str, *, ttl_s: float = 60.0) -> AsyncIterator[Hold]:
        """Try to hold a lease and keep it alive; look at `Hold.grant` to see whether it was granted, and to whom.

        Waits for a beat and a half, 22 s unless told otherwise, when it is only the clock that says its holder is gone.
        """
        owner, ttl = f"{self._owner}/{token_hex(4)}", timedelta(seconds=ttl_s)
        acquire = partial(leases.acquire, name=name, owner=owner, ttl=ttl)
        grant = await self._writer.write(lambda c: acquire(c, now=self.clock()))
        if grant.watch_s is not None:
            await asyncio.sleep(grant.watch_s)
            since = grant.heartbeat_at
            grant = await self._writer.write(lambda c: acquire(c, now=self.clock(), silent_since=since))
        hold = Hold(grant=grant)
        if not grant.granted:
            yield hold
            return
        beat = asyncio.create_task(self._keep_alive(hold, owner, ttl))
        try:
            yield hold
        finally:
            beat.cancel()
            await asyncio.wait([beat])
            with contextlib.suppress(TryAgain):  # then it expires by itself
                await self._writer.write(lambda c: leases.release(c, name, owner))

    async def lease_holders(self) -> dict[str, str]:
        """Return who holds each lease now, named for a person."""
        return await self._read(lambda c: leases.holders(c, self.clock()))

    # the schedule

    @property
    def engine(self) -> Engine:
        """Return the connections, for a library that keeps a table of its own here."""
        return self._engine

    async def schedules(self) -> dict[str, ScheduleRecord]:
        """Return how each scheduled job stands."""
        return await self._read(schedules.records)

    async def close_schedule(
        self, record: ScheduleRecord, outcome: ScheduleOutcome, *, reason: str = "", run_id: str | None = None
    ) -> None:
        """Record what became of what was due in a record; hold the job's lease."""
        await self._writer.write(lambda c: schedules.close(c, record, outcome, reason, run_id, self.clock()))

    async def _keep_alive(self, hold: Hold, owner: str, ttl: timedelta) -> None:
        name = hold.grant.name
        good_until = asyncio.get_running_loop().time() + ttl.total_seconds()
        while not hold.lost.is_set():
            await asyncio.sleep(ttl.total_seconds() / leases.BEATS)
            now = asyncio.get_running_loop().time()
            try:
                kept = await self._writer.write(lambda c: leases.renew(c, name, owner, ttl, self.clock()))
            except EnricherError:
                # Away for a while: the lease still stands until it would have expired for others.
                kept = now < good_until
            else:
                good_until = now + ttl.total_seconds()
            if not kept:
                hold.lost.set()

    # looking back, and forgetting

    async def tally(self, run_id: str) -> Tally:
        """Count what a run did, by status, state and reason."""
        return await self._read(lambda c: history.tally(c, run_id))

    async def agreement(self, job: str, since: datetime) -> list[Agreement]:
        """Return how often second checks shared the findings of a job since a moment, day by day."""
        return await self._read(lambda c: agreement(c, job, since))

    async def explain(self, trace_id: str) -> Story:
        """Return everything recorded about a trace."""
        return await self._read(lambda c: history.explain(c, trace_id))

    async def traces_like(self, beginning: str, limit: int = 10) -> list[str]:
        """Return the ids of chosen traces that begin with a text, in order."""
        return await self._read(lambda c: history.traces_like(c, beginning, limit))

    async def purge_raw_replies(self, before: datetime) -> int:
        """Delete raw replies settled before a moment; return how many."""
        count = await self._writer.write(lambda c: history.purge_raw_replies(c, before))
        await self._overwrite_deleted()
        return count

    async def forget(self, trace_id: str) -> int:
        """Delete everything about a trace id, stored reports included; return how many rows went.

        It is not taken in again, and what a run under way still settles of it is not kept.
        """
        count = await self._writer.write(lambda c: forgetting.forget(c, trace_id, self.clock()))
        await self._overwrite_deleted()
        return count

    # figures

    async def finished_runs(
        self, job: str | None = None, *, since: datetime | None = None, limit: int | None = None
    ) -> list[FinishedRun]:
        """Return runs that have ended, with what they counted and without their reports, newest first."""
        return await self._read(lambda c: gauges.finished_runs(c, job, since, limit))

    async def queues(self) -> Queues:
        """Count what waits."""
        return await self._read(gauges.queues)

    async def delivery_lags(self, run_id: str) -> list[float]:
        """Return how many seconds confirmed write-backs of a run took."""
        return await self._read(lambda c: gauges.delivery_lags(c, run_id))

    # alerts

    async def follow_alerts(
        self, job: str, breached: Collection[str], checked: Collection[str], run_id: str
    ) -> dict[str, Alarm]:
        """Raise the alerts that are breached and lower those that were checked and are not; return those that hold."""
        now = self.clock()
        return await self._writer.write(lambda c: alarms.follow(c, job, breached, checked, run_id, now))

    async def note_alerts_told(self, job: str, told: Mapping[str, Collection[str]]) -> None:
        """Keep, by alert, the digests of the webhooks that took it."""
        await self._writer.write(lambda c: alarms.note_told(c, job, told))

    async def _overwrite_deleted(self) -> None:
        if self._engine.dialect.name == "sqlite":
            # The write-ahead log still holds the old pages until it is emptied.
            await self._read(lambda c: c.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)"))

    # for the rooms of the store that have a door of their own

    async def transact(self, work: Callable[[Connection], T]) -> T:
        """Do some work in a transaction, together with what others write; it must be safe to repeat."""
        return await self._writer.write(work)

    async def look(self, look: Callable[[Connection], T]) -> T:
        """Read something."""
        return await self._read(look)

    async def look_up(self, look: Batch[V, T], value: V) -> T:
        """Read what is known of a value; what many tasks look up at a time is asked for together."""
        return await self._lookups.join(look, value)

    async def _read(self, look: Callable[[Connection], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._look, look)

    def _look(self, look: Callable[[Connection], T]) -> T:
        return patiently(lambda: self._look_once(look), self._patience_s)

    def _look_once(self, look: Callable[[Connection], T]) -> T:
        with plain_errors(), self._engine.connect() as connection:
            return look(connection)


def _open_engine(url: str, patience_s: float) -> Engine:
    engine = connect(parse_url(url))
    try:
        patiently(lambda: bring_up_to_date(engine), patience_s)
    except BaseException:
        engine.dispose()
        raise
    return engine
