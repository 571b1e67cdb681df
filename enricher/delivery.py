"""Empty the outbox: send what is due, look for what was sent, and give up only what can never be written."""

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from enricher.errors import BadReply, SetupError, TryAgain, Unwritable
from enricher.seams import Connector
from enricher.store import Due, Outcome, Store
from enricher.verdict import Annotation, Delivery, DeliveryState

Call = Callable[[Sequence[Annotation]], Awaitable[Sequence[Delivery]]]
Step = Callable[[list[Due]], Awaitable[list[Outcome]]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Patience:
    """How often and how long a write-back is tried. Waits double from the first to the longest, with jitter."""

    batch_size: int = 100
    first_wait_s: float = 0.5
    longest_wait_s: float = 30.0
    tries_in_a_run: int = 5  # of one write-back, and of a connection that does not answer; the rest stays due
    max_attempts: int = 12  # over all runs; then the write-back has failed
    first_check_s: float = 0.2  # between sending and looking for it
    checks: int = 8  # looks before it is sent again
    longest_after_s: float = 120.0  # a platform that asks for more than this gets what is left in the next run
    between_runs_s: float = 300.0  # how long a write-back whose tries in this run are used up is left alone
    poll_s: float = 0.25  # how often new write-backs are looked for


@dataclass(kw_only=True, slots=True)
class Deliveries:
    """What one `deliver` did."""

    sent: int = 0  # accepted by a platform, repeats included
    confirmed: int = 0
    failed: int = 0  # given up for good; the reasons are in the store
    left: int = 0  # open on these connections at the end; due in the next run
    problems: dict[str, str] = field(default_factory=dict)  # by connection: why it was stopped early


async def deliver(
    store: Store,
    connectors: Mapping[str, Connector],
    *,
    no_more: asyncio.Event | None = None,
    patience: Patience = Patience(),
) -> Deliveries:
    """Deliver the write-backs for these connections (by name) until nothing is left that could be done now.

    Runs beside judging: give `no_more` and set it when nothing more will be settled. Without it, delivers what an
    earlier run left and returns. A connection that fails as a whole is reported in `problems`, not raised, so that
    the others and the judging go on; what it should have got stays due.
    """
    ended = no_more or asyncio.Event()
    if no_more is None:
        ended.set()
    done = Deliveries()
    try:
        async with asyncio.TaskGroup() as group:
            for name, connector in connectors.items():
                group.create_task(_Route(store, name, connector, ended, patience, done).empty())
    except BaseExceptionGroup as problems:
        # Callers sort errors by class; the store's own (disk full) arrive here once for each connection.
        raise problems.exceptions[0] from problems
    backlogs = await store.backlogs()
    done.left = sum(backlog.open for name, backlog in backlogs.items() if name in connectors)
    return done


class _Stop(Exception):
    """The connection gets nothing more in this run."""


class _Route:
    """The way from the outbox to one connection."""

    def __init__(
        self,
        store: Store,
        name: str,
        connector: Connector,
        ended: asyncio.Event,
        patience: Patience,
        done: Deliveries,
    ) -> None:
        self._store = store
        self._name = name
        self._connector = connector
        self._ended = ended
        self._patience = patience
        self._done = done
        self._tries: Counter[str] = Counter()  # of write-backs that had to be repeated in this run
        self._silences = 0  # calls in a row that the platform did not answer
        self._claiming: asyncio.Future[list[Due]] | None = None  # the next ones, under way or not taken up yet

    async def empty(self) -> None:
        """Deliver until no more comes and nothing can be done now."""
        try:
            while True:
                # Read before looking: what is settled after the look would otherwise be missed.
                has_ended = self._ended.is_set()
                due = await self._claim()
                if due:
                    await self._handle(due)
                elif not await self._has_to_wait(has_ended):
                    return
        except _Stop as stop:
            self._done.problems[self._name] = str(stop)
        finally:
            # What is claimed by the time we go would wait for the claim to run out.
            if self._claiming is not None:
                await self._store.release(await self._claiming)

    async def _claim(self) -> list[Due]:
        self._begin_claim()
        assert self._claiming is not None
        due = await asyncio.shield(self._claiming)
        self._claiming = None
        return due

    def _begin_claim(self) -> None:
        if self._claiming is None:
            claim = self._store.claim_due(self._name, self._patience.batch_size)
            self._claiming = asyncio.ensure_future(claim)

    async def _has_to_wait(self, has_ended: bool) -> bool:
        """Wait for the next thing to do; False when there will be none in this run."""
        if not has_ended:
            await self._wait_for_the_end(self._patience.poll_s)
            return True
        next_due = await self._store.next_due(self._name)
        now = self._store.clock()
        if next_due is None or next_due > now + timedelta(seconds=self._patience.longest_wait_s):
            return False
        await asyncio.sleep(min(max((next_due - now).total_seconds(), 0.01), 1.0))
        return True

    async def _handle(self, due: Sequence[Due]) -> None:
        open_ = {one.annotation.key: one for one in due}
        try:
            await self._step(open_, [one for one in due if one.state is DeliveryState.SENT], self._look)
            await self._step(open_, [one for one in due if one.state is not DeliveryState.SENT], self._send)
        except TryAgain as problem:
            await self._put_back(open_, str(problem))
            await self._wait_out(problem)
        except SetupError as problem:
            await self._put_back(open_, str(problem))
            raise _Stop(str(problem)) from problem
        except BaseException:
            await self._store.release(list(open_.values()))
            raise
        else:
            self._silences = 0

    async def _step(self, open_: dict[str, Due], batch: list[Due], step: Step) -> None:
        if not batch:
            return
        outcomes = await step(batch)
        if len(batch) == self._patience.batch_size:  # there will be more; to claim them shares the commit
            self._begin_claim()
        await self._store.record(outcomes)
        for outcome in outcomes:
            del open_[outcome.due.annotation.key]
            was_sent = outcome.attempts > outcome.due.attempts
            self._done.sent += was_sent and outcome.state in (DeliveryState.SENT, DeliveryState.CONFIRMED)
            self._done.confirmed += outcome.state is DeliveryState.CONFIRMED
            self._done.failed += outcome.state is DeliveryState.FAILED

    async def _put_back(self, open_: Mapping[str, Due], reason: str) -> None:
        # Nothing was wrong with these, so no attempt is counted and they are due at once.
        now = self._store.clock()
        await self._store.record(
            [
                Outcome(
                    due=one,
                    state=one.state,
                    next_attempt_at=now,
                    attempts=one.attempts,
                    checks=one.checks,
                    reason=reason,
                )
                for one in open_.values()
            ]
        )

    async def _send(self, batch: Sequence[Due]) -> list[Outcome]:
        results = await self._ask(self._connector.annotate, batch)
        outcomes = []
        for one in batch:
            result = results[one.annotation.key]
            attempts = one.attempts + 1
            if result.state is DeliveryState.SENT:
                outcomes.append(self._outcome(one, result, self._patience.first_check_s, attempts=attempts))
            elif result.state in (DeliveryState.CONFIRMED, DeliveryState.FAILED):
                outcomes.append(self._outcome(one, result, 0.0, attempts=attempts))
            else:
                outcomes.append(self._again(one, attempts, result.reason))
        return outcomes

    async def _look(self, batch: Sequence[Due]) -> list[Outcome]:
        results = await self._ask(self._connector.confirm, batch)
        outcomes = []
        for one in batch:
            result = results[one.annotation.key]
            checks = one.checks + 1
            if result.state in (DeliveryState.CONFIRMED, DeliveryState.FAILED):
                outcomes.append(self._outcome(one, result, 0.0, attempts=one.attempts, checks=checks))
            elif checks < self._patience.checks:
                wait = min(self._patience.first_check_s * 2.0**checks, self._patience.longest_wait_s)
                unseen = result.model_copy(update={"state": DeliveryState.SENT})
                outcomes.append(self._outcome(one, unseen, wait, attempts=one.attempts, checks=checks))
            else:
                reason = f"accepted, but not seen on the platform in {checks} looks: {result.reason}".rstrip(": ")
                outcomes.append(self._again(one, one.attempts, reason))
        return outcomes

    def _again(self, one: Due, attempts: int, reason: str) -> Outcome:
        key = one.annotation.key
        if attempts >= self._patience.max_attempts:
            given_up = f"given up after {attempts} attempts: {reason}"
            return self._outcome(one, Delivery(key=key, state=DeliveryState.FAILED, reason=given_up), 0.0, attempts)
        self._tries[key] += 1
        is_spent = self._tries[key] >= self._patience.tries_in_a_run
        wait = self._patience.between_runs_s if is_spent else self._backoff(self._tries[key])
        return self._outcome(one, Delivery(key=key, state=DeliveryState.RETRY, reason=reason), wait, attempts)

    def _outcome(self, one: Due, result: Delivery, wait_s: float, attempts: int, checks: int = 0) -> Outcome:
        return Outcome(
            due=one,
            state=result.state,
            next_attempt_at=self._store.clock() + timedelta(seconds=wait_s),
            attempts=attempts,
            checks=checks,
            reason=result.reason,
            remote_id=result.remote_id,
        )

    async def _ask(self, call: Call, batch: Sequence[Due]) -> dict[str, Delivery]:
        garbled: set[str] = set()
        results = await self._call(call, [one.annotation for one in batch], garbled)
        if len(batch) > 1 and len(garbled) == len(batch):
            # Not one of them is at fault but the platform, or something in front of it.
            raise TryAgain(next(iter(results.values())).reason)
        silent = "the connector gave no result for it"
        for one in batch:
            key = one.annotation.key
            results.setdefault(key, Delivery(key=key, state=DeliveryState.RETRY, reason=silent))
        return results

    async def _call(self, call: Call, batch: list[Annotation], garbled: set[str]) -> dict[str, Delivery]:
        """Call with a batch; one that fails as a whole is halved until the culprit stands alone."""
        try:
            return {result.key: result for result in await call(batch)}
        except (BadReply, Unwritable) as problem:
            if len(batch) == 1:
                is_final = isinstance(problem, Unwritable)
                if not is_final:
                    garbled.add(batch[0].key)
                state = DeliveryState.FAILED if is_final else DeliveryState.RETRY
                return {batch[0].key: Delivery(key=batch[0].key, state=state, reason=str(problem))}
        half = len(batch) // 2
        return {
            **await self._call(call, batch[:half], garbled),
            **await self._call(call, batch[half:], garbled),
        }

    async def _wait_out(self, silence: TryAgain) -> None:
        """Wait as long as the platform asks, or longer each time; stop when it does not come back."""
        # While judging goes on there is time; the last of the tries is kept for when it has ended.
        self._silences += 1
        if not self._ended.is_set():
            self._silences = min(self._silences, self._patience.tries_in_a_run - 1)
        loop = asyncio.get_running_loop()
        until = loop.time() + (self._backoff(self._silences) if silence.after is None else silence.after)
        if not self._ended.is_set():
            await self._wait_for_the_end(until - loop.time())
        left = max(until - loop.time(), 0.0)
        if self._ended.is_set() and (
            self._silences >= self._patience.tries_in_a_run or left > self._patience.longest_after_s
        ):
            raise _Stop(str(silence)) from silence
        await asyncio.sleep(left)

    async def _wait_for_the_end(self, timeout_s: float) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._ended.wait(), timeout_s)

    def _backoff(self, tries: int) -> float:
        longest = min(self._patience.first_wait_s * 2.0 ** (tries - 1), self._patience.longest_wait_s)
        return longest * random.uniform(0.5, 1.0)
