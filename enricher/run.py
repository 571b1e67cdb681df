"""One run of one job: find, pull, judge and settle under an executor, deliver beside it, report."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Protocol, TypeVar

from enricher.choosing import HINTED, Choice, Chooser, Into, Request, TakingIn
from enricher.counting import Counts
from enricher.delivery import Deliveries, deliver
from enricher.errors import BadReply, TryAgain
from enricher.handling import Handler, patiently
from enricher.logs import about
from enricher.metering import Meter
from enricher.pipeline import Judgement, Outcome, Pipeline
from enricher.progress import Reporter
from enricher.report import AgreementRate, Finding, RuleCount, RunReport
from enricher.seams import Connector, Executor
from enricher.settings import Job, Rule
from enricher.steps.rendering import names
from enricher.store import RunState, Store, Taken, Watermark
from enricher.trace import Item, RawTrace, Rejection, TraceId, TraceRef

T = TypeVar("T")
log = logging.getLogger(__name__)

_PAGE = 100  # traces pulled together
_LAST_LOOK_S = 5.0  # that a search under way still has when the run is stopped; service managers kill after 30 and more
_AGREEMENT = timedelta(days=30)  # how far back the report shows it
_CAPPED = "the limit of {} traces a run (jobs.{}.budget.max_traces) is reached"
_STATES = {RunState.COMPLETED: "finished", RunState.INTERRUPTED: "interrupted", RunState.FAILED: "failed"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """A job with everything it needs, composed by the app."""

    name: str
    job: Job
    connector: Connector
    pipeline: Pipeline
    platform: str = ""  # kind of the connection; hints for it are taken in
    release: Callable[[], None] = lambda: None  # called when the run is stopped: wait no more for what takes hours
    traces: int = 32  # under way at a time
    halt: Callable[[], str | None] = lambda: None  # why no further trace should be begun: over budget, model down
    remote: "Remote | None" = None  # how workers of a cluster do it; None: it is done here


@dataclass(frozen=True, kw_only=True, slots=True)
class RunResult:
    """The report; the judgements of traces that were asked for by name; and the worst one of all."""

    report: RunReport
    shown: tuple[Judgement, ...] = ()
    worst: Judgement | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Done:
    """What a worker of a cluster did of a page; what it did not do stays due."""

    outcomes: tuple[Outcome, ...] = ()
    problem: str | None = None  # an outage of the platform, as the report says it


class Remote(Protocol):
    """Does the pages of a run elsewhere."""

    @property
    def shard_size(self) -> int:
        """Return how many traces a page has."""
        ...

    def of_run(self, run_id: str) -> Callable[[Sequence[Taken]], Awaitable[Done]]:
        """Return a function that can be sent to another process, which needs nothing but config and environment."""
        ...


def handler_for(plan: Plan, store: Store, run_id: str) -> Handler:
    """Make what handles the traces of a run."""
    return Handler(run_id=run_id, job=plan.name, connector=plan.connector, pipeline=plan.pipeline, store=store)


async def _nowhere(refs: Sequence[TraceRef]) -> None:
    """Take nothing in."""


class JobWatcher(Protocol):
    """Whoever wants to know what becomes of scheduled jobs: metrics, alerts."""

    async def on_finished(self, job: str, result: RunResult) -> None:
        """Hear of a run that ended; `result.report.state` and `problems` say how, also when it could not begin."""
        ...

    async def on_missed(self, job: str, due: datetime) -> None:
        """Hear of a run that could not start within its grace; the next one does its work."""
        ...


class Run:
    """One run under way. `stop` may be set at any time: what is in flight is finished, the rest stays due."""

    def __init__(
        self, plan: Plan, store: Store, executor: Executor, request: Request, progress: Reporter, stop: asyncio.Event
    ) -> None:
        self._plan = plan
        self._store = store
        self._executor = executor
        self._request = request
        self._progress = progress
        self._stop = stop
        self._chooser = Chooser(
            name=plan.name,
            job=plan.job,
            connector=plan.connector,
            store=store,
            request=request,
            platform=plan.platform,
        )
        self._counts = Counts()
        self._meter = Meter()
        self._shown: list[Judgement] = []
        self._named: set[TraceId] | None = None  # traces asked for by name; the leftovers of others wait
        self._run_id = ""
        self._handler = handler_for(plan, store, "")
        self._started = store.clock()
        self._has_outage = False
        self._is_left = False  # the report says already why traces were left

    async def execute(self) -> RunResult:
        """Do all of it; an outage of the platform is in the report, and what it left is due in the next run.

        Raises:
            SetupError: the operator must mend something; what was settled before stays settled.
        """
        window = {"window_start": self._request.start, "window_end": self._request.end or self._started}
        self._run_id = await self._store.start_run(self._plan.name, **window)
        with about(run_id=self._run_id):
            return await self._execute()

    async def _execute(self) -> RunResult:
        self._handler = handler_for(self._plan, self._store, self._run_id)
        state, deliveries = RunState.FAILED, Deliveries()
        reached: list[Watermark] | None = None
        try:
            reached = await self._soon(self._choose())
            if reached is not None:
                deliveries = await self._judge_and_deliver()
            if await self._is_cut_short(reached):
                state = RunState.INTERRUPTED
            elif not self._has_outage:
                state = RunState.COMPLETED
        except asyncio.CancelledError:
            state = RunState.INTERRUPTED
            raise
        finally:
            report = self._report(_STATES[state], deliveries, await self._agreement())
            finishing = self._store.finish_run(
                self._run_id,
                state,
                counters=self._meter.figures(report),
                report=report.model_dump(mode="json"),
                # Only a complete run moves on: after any other one the next run looks at the same window again.
                watermarks=reached if reached and state is RunState.COMPLETED else (),
            )
            await asyncio.shield(finishing)
        return RunResult(report=report, shown=tuple(self._shown), worst=self._counts.worst_judgement)

    async def _soon(self, work: Awaitable[T]) -> T | None:
        """Return what comes of some work; None where the run is stopped long before. What it stored stays stored."""
        working, stopping = asyncio.ensure_future(work), asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait((working, stopping), return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait((working,), timeout=_LAST_LOOK_S)
            return await working if working.done() else None
        finally:
            working.cancel()
            stopping.cancel()
            await asyncio.gather(working, stopping, return_exceptions=True)

    async def _is_cut_short(self, reached: list[Watermark] | None) -> bool:
        """Tell whether a stop has left anything undone; one that comes when all is done changes nothing."""
        if not self._stop.is_set():
            return False
        return reached is None or await self._store.count_due(self._plan.name, only=self._named) > 0

    async def match(self) -> list[RuleCount]:
        """Find and sample without storing anything, and return what each rule takes."""
        return [(await self._ask(rule, _nowhere)).count for rule in self._chooser.rules]

    async def rehearse(self) -> RunResult:
        """Find and read what would be judged; store nothing, write nothing, call no model."""
        chosen: dict[str, TraceRef] = {}

        async def join(refs: Sequence[TraceRef]) -> None:
            for ref in refs:
                chosen[ref.trace_id] = chosen[ref.trace_id].joined_with(ref) if ref.trace_id in chosen else ref

        for rule in await self._chooser.rules_and_hints():
            await self._ask(rule, join)
        refs = sorted(chosen.values(), key=lambda ref: not ref.reports)[: self._request.limit]
        self._counts.chosen = len(refs)
        self._progress.stage("reading traces", len(refs))
        async for got in self._plan.connector.pull(refs):
            self._progress.advance()
            if isinstance(got, Rejection):
                self._counts.add(Outcome(ref=chosen[got.trace_id], rejections=(got,)))
            elif got.still_running:
                self._counts.add_read(is_deferred=True)
            else:
                extraction = self._plan.pipeline.read(got)
                self._counts.add_read(extraction.rejections)
                for item in extraction.items:
                    self._counts.list(self._would_judge(item, got.ref))
                    self._counts.spend(await self._plan.pipeline.estimate(item, got.ref))
        return RunResult(report=self._report("dry_run", Deliveries()))

    def _would_judge(self, item: Item, ref: TraceRef) -> Finding:
        judges = ", ".join(judging.judge.provenance.judge for judging in self._plan.pipeline.judges)
        return Finding(
            trace_id=item.trace_id,
            span_id=item.annotate_span_id,
            project=ref.project,
            judge=judges,
            status="WOULD_JUDGE",
            question=item.question,
            summary=f"{judges} of {len(item.documents)} documents, written to span {item.annotate_span_id}",
            reported=bool(ref.reports),
        )

    # select

    async def _choose(self) -> list[Watermark]:
        """Record in the store every trace that the rules take, and return how far each rule has looked."""
        reached = []
        rules = await self._chooser.rules_and_hints()
        # The ids of a night are many: they are kept only where one can come twice, or is asked for by name.
        seen: set[TraceId] | None = set() if len(rules) > 1 or self._request.trace_ids else None
        for rule in rules:
            taking = TakingIn(
                self._store,
                self._plan.name,
                self._plan.pipeline.redaction,
                seen,
                again=not self._request.is_by_watermark,
            )
            try:
                choice = await self._ask(rule, taking.take, begin=taking.begin)
            except (TryAgain, BadReply) as error:
                self._outage(f"rule '{rule.name}' could not be asked: {error}")
                continue
            finally:
                if seen is not None:
                    seen |= taking.own
            await self._store.take_in(self._plan.name, (), hints=choice.hints)
            self._counts.already_judged += taking.known
            if self._request.is_by_watermark and rule is not HINTED:
                reached.append(
                    Watermark(connection=self._plan.connector.name, rule=rule.name, reached=choice.reached)
                )  # fmt: skip
        self._named = seen if self._request.trace_ids else None
        return reached

    async def _ask(self, rule: Rule, into: Into, *, begin: Callable[[], None] = lambda: None) -> Choice:
        async def attempt() -> Choice:
            begin()
            return await self._chooser.choose(rule, self._progress, into)

        self._progress.stage(f"finding traces: {rule.name}")
        choice = await patiently(attempt)
        if choice.count.taken or rule is not HINTED:
            self._counts.rules.append(choice.count)
        return choice

    # pull, judge, settle, deliver

    async def _judge_and_deliver(self) -> Deliveries:
        try:
            await patiently(partial(self._plan.connector.prepare, names(self._plan.job.annotation_prefix)))
        except (TryAgain, BadReply) as error:
            self._counts.problems.append(f"the platform was not told the names and labels: {error}")
        no_more = asyncio.Event()
        connectors = {self._plan.connector.name: self._plan.connector}
        delivering = asyncio.create_task(deliver(self._store, connectors, no_more=no_more))
        try:
            self._progress.stage("judging traces")
            async with aclosing(self._outcomes()) as outcomes:
                async for outcome in outcomes:
                    self._counts.add(outcome)
                    self._meter.add(outcome)
                    self._progress.advance()
                    if self._request.trace_ids:
                        self._shown += outcome.judgements
            await self._is_halted()
            self._progress.stage("delivering annotations")
            await self._store.give_up_deferred(
                self._plan.name, self._run_id, first_seen_before=self._started - self._plan.job.give_up_after
            )
            no_more.set()
            deliveries = await delivering
        finally:
            delivering.cancel()
            await asyncio.gather(delivering, return_exceptions=True)
        self._counts.problems += [f"{name}: {problem}" for name, problem in deliveries.problems.items()]
        return deliveries

    async def _outcomes(self) -> AsyncGenerator[Outcome, None]:
        """Yield what comes of each trace: here, or on the workers of a cluster."""
        remote = self._plan.remote
        if remote is None:
            async with aclosing(self._executor.map(self._handler.handle, self._pulled())) as handled:
                async for outcome in handled:
                    yield outcome
            return
        try:
            pages = self._pages(remote.shard_size)
            async with aclosing(self._executor.map(remote.of_run(self._run_id), pages)) as finished:
                async for done in finished:
                    if done.problem:
                        self._outage(done.problem)
                    for outcome in done.outcomes:
                        yield outcome
        except TryAgain as error:
            self._outage(f"the workers are out, and what they had not settled stays due: {error}")

    async def _pulled(self) -> AsyncGenerator[tuple[Taken, RawTrace | Rejection], None]:
        """Yield the due traces, pulled page by page."""
        async for page in self._pages(_PAGE):
            waiting = {taken.ref.trace_id: taken for taken in page}
            try:
                async for taken, got in self._handler.pull(waiting):
                    if self._stop.is_set() or await self._is_halted():
                        return
                    yield taken, got
            except (TryAgain, BadReply) as error:
                self._outage(f"{len(waiting)} traces could not be pulled and stay due: {error}")
                return

    async def _pages(self, size: int) -> AsyncGenerator[list[Taken], None]:
        """Take up the due traces page by page, reported ones first, as far as cap, budget and patience go."""
        cap = self._plan.job.budget.max_traces
        left = cap if self._request.limit is None else min(self._request.limit, cap or self._request.limit)
        while not self._stop.is_set() and left != 0:
            if await self._is_halted():
                return
            page = await self._store.take_due(
                self._plan.name, self._run_id, min(size, left or size), only=self._named
            )  # fmt: skip
            if not page:
                return
            left = None if left is None else left - len(page)
            self._counts.chosen += len(page)
            yield page
            if self._has_outage:
                return
        if left == 0 and cap is not None and (self._request.limit is None or cap < self._request.limit):
            await self._leave_rest(_CAPPED.format(cap, self._plan.name), unless_none=True)

    async def _is_halted(self) -> bool:
        """Tell whether no further trace should be begun; what is not begun stays due, and the report says why."""
        reason = self._plan.halt()
        if reason is not None and not self._is_left:
            self._is_left = True
            await self._leave_rest(reason)
        return reason is not None

    async def _leave_rest(self, reason: str, *, unless_none: bool = False) -> None:
        rest = await self._store.count_due(self._plan.name, not_of=self._run_id) if self._named is None else 0
        if not rest and unless_none:
            return
        self._counts.chosen += rest
        self._counts.problems.append(reason)
        log.error("job %s: %s", self._plan.name, reason)

    # report

    def _outage(self, problem: str) -> None:
        self._has_outage = True
        self._counts.problems.append(problem)
        log.error("job %s: %s", self._plan.name, problem)

    async def _agreement(self) -> list[AgreementRate]:
        rates = await self._store.agreement(self._plan.name, self._store.clock() - _AGREEMENT)
        return [
            AgreementRate(
                day=rate.day.isoformat(),
                judge=rate.judge,
                standing=rate.standing,
                second_by=rate.second_by,
                checked=rate.checked,
                agreed=rate.agreed,
            )
            for rate in rates
        ]

    def _report(self, state: str, deliveries: Deliveries, agreement: Sequence[AgreementRate] = ()) -> RunReport:
        return self._counts.report(
            run_id=self._run_id,
            job=self._plan.name,
            state=state,
            started=self._started,
            finished=self._store.clock(),
            window=(self._request.start, self._request.end or self._started),
            deliveries=deliveries,
            agreement=agreement,
        )
