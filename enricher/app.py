"""The composition root: the only module that knows implementations and puts them together."""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from typing import Self

from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_delay, wait_fixed

from enricher import __version__, logs
from enricher.choosing import Request
from enricher.conclusion import conclude
from enricher.connecting import connector_of
from enricher.delivery import deliver
from enricher.errors import BadReply, SetupError, TryAgain
from enricher.executors.local import LocalExecutor
from enricher.executors.processes import ProcessExecutor, kept_open
from enricher.handling import Handler
from enricher.interpreter import tune
from enricher.measure.standing import confirmation
from enricher.panel import Panel
from enricher.pipeline import Outcome, Pipeline, Recall
from enricher.privacy import guard, purge, redaction_rules
from enricher.progress import Reporter, Silent
from enricher.prompts import PromptFile, list_prompts
from enricher.prompts import load as load_prompt
from enricher.prompts import verify as released_problems
from enricher.report import RunReport
from enricher.reporting.gathering import full_report
from enricher.reporting.nouns import FullReport
from enricher.run import Done, Plan, Run, RunResult, handler_for
from enricher.seams import Connector, Executor, Unwatched
from enricher.settings import Job, Policy, Settings, with_secrets, without_secrets
from enricher.steps.decision import PolicyRule
from enricher.steps.extraction import ExtractionPaths
from enricher.steps.transfer import transfer
from enricher.store import EvaluationKey, Store, Story, Taken
from enricher.store.engine import StoreUnreachable, without_password
from enricher.store.sharing import same_input
from enricher.telemetry import Telemetry
from enricher.trace import Item, TraceRef
from enricher.verdict import Provenance, Route, Verdict
from enricher.wiring import is_local, wire

_SHARE = 50  # traces that a process of this machine takes up together
_STORE_AWAY_S = 60.0  # for which a process that joins a run waits for the store of that run


@dataclass(kw_only=True, slots=True)
class App:
    """Everything a command needs, open. Use `async with await App.open(settings)`."""

    settings: Settings
    store: Store
    connectors: Mapping[str, Connector]
    telemetry: Telemetry | None = None

    @classmethod
    async def open(cls, settings: Settings) -> Self:
        """Open store and connections.

        Raises:
            SetupError: the store can't be opened, or a connection is configured wrongly.
        """
        logs.configure(form=settings.logs, level=settings.log_level, texts=settings.log_texts)
        guard(settings)
        connectors = {name: connector_of(name, section) for name, section in settings.connections.items()}
        wanted = settings.telemetry
        telemetry = Telemetry(wanted, version=version("trace-enricher")) if wanted.endpoint else None
        store = await Store.open(settings.store)
        return cls(settings=settings, store=store, connectors=connectors, telemetry=telemetry)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_problem: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Release connections and the store."""
        for connector in self.connectors.values():
            await connector.aclose()
        if self.telemetry is not None:
            await self.telemetry.aclose()
        await self.store.aclose()

    @contextlib.asynccontextmanager
    async def plan(self, name: str, *, dry_run: bool = False, spender: str | None = None) -> AsyncIterator[Plan]:
        """Compose a job with its judges, which are closed at the end; in a dry run they ask no model."""
        job = self.settings.jobs.get(name)
        if job is None:
            raise SetupError(f"there is no job '{name}'; the config has {', '.join(self.settings.jobs)}")
        trace_deadline = self.settings.openai.deadline_per_trace
        wiring = await wire(self.settings, name, self.store, dry_run=dry_run, spender=spender)
        watch = self.telemetry or Unwatched()
        panel = Panel.of(self.settings, job, replace(wiring, watch=watch.called if self.telemetry else None))
        try:
            yield Plan(
                name=name,
                job=job,
                connector=self.connectors[job.connection],
                platform=self.settings.connections[job.connection].kind,
                halt=panel.halt,
                release=panel.release,
                traces=wiring.traces or self.settings.concurrency,
                remote=self._remote(name),
                pipeline=Pipeline(
                    judges=panel.judges,
                    second=panel.second,
                    recall=_recall(self.store),
                    confirmation=await confirmation(self.settings, self.store),
                    policy=_policy(job.policy, job.risk_level),
                    rule_policies={
                        rule.name: _policy(rule.policy, job.risk_level) for rule in job.rules if rule.policy
                    },
                    paths=ExtractionPaths(**job.paths.model_dump()),
                    redaction=await redaction_rules(self.settings, self.store),
                    watch=watch,
                    annotation_prefix=job.annotation_prefix,
                    report_url=self.settings.report_url,
                    citation_base=job.citation_base,
                    deadline_s=trace_deadline.total_seconds() if trace_deadline else None,
                ),
            )
        finally:
            await panel.aclose()

    async def run(self, name: str, request: Request, progress: Reporter, stop: asyncio.Event) -> RunResult:
        """Run one job now, unless another process is running it."""
        async with self.plan(name, dry_run=request.dry_run) as plan, contextlib.AsyncExitStack() as stack:
            executor = self._executor(plan)
            run = Run(plan, self.store, executor, request, progress, stop)
            if request.dry_run:
                return await run.rehearse()
            hold = await stack.enter_async_context(self.store.hold(f"job:{name}"))
            if not hold.is_held:
                return _skipped(self.store, name, hold.grant.holder)
            for watching in (_stop_when(hold.lost, stop), _release_when(stop, plan)):
                stack.callback(asyncio.create_task(watching).cancel)
            await purge(self.settings, self.store)
            result = await run.execute()
            report = await conclude(self.settings, self.store, self.telemetry, result.report)
            return replace(result, report=report)

    async def deliver_now(self, connection: str) -> int:
        """Send what is queued for a connection; return how many write-backs are left for the next run."""
        if connection not in self.connectors:
            return 0
        no_more = asyncio.Event()
        no_more.set()
        found = await deliver(self.store, {connection: self.connectors[connection]}, no_more=no_more)
        return found.left

    def _executor(self, plan: Plan) -> Executor:
        if self.settings.executor == "local":
            if self._has_workers(plan.job):
                return ProcessExecutor(workers=self.settings.workers, begin=tune)
            return LocalExecutor(concurrency=plan.traces)
        if self.settings.openai.transport == "batch":
            raise SetupError("batches are collected by one process: set executor to local, or openai.transport to live")
        # The package is an extra.
        from enricher.executors.dask import DaskExecutor

        return DaskExecutor(
            self.settings.dask.scheduler, lost_after_s=self.settings.dask.lost_after.total_seconds()
        )  # fmt: skip

    def _has_workers(self, job: Job) -> bool:
        """Tell whether processes of this machine share the traces; calls to a model overlap in one."""
        return self.settings.workers > 1 and is_local(self.settings, job)

    def _remote(self, name: str) -> "RemoteShards | None":
        if self.settings.executor == "local":
            if not self._has_workers(self.settings.jobs[name]):
                return None
            alone = without_secrets(self.settings).model_copy(update={"workers": 1})
            return RemoteShards(settings=alone, job=name, shard_size=_SHARE, stays_open=True)
        if not self.settings.dask.scheduler:
            raise SetupError("dask.scheduler: name the address of the scheduler, such as tcp://scheduler:8786")
        if self.settings.store.startswith("sqlite"):
            raise SetupError("executor dask needs a store that all workers reach: set store to a PostgreSQL URL")
        settings = without_secrets(self.settings).model_copy(update={"executor": "local"})
        return RemoteShards(settings=settings, job=name, shard_size=self.settings.dask.shard_size)


@dataclass(frozen=True, kw_only=True, slots=True)
class RemoteShards:
    """How the workers of a cluster do a job's pages: by its config, the store, and secrets of their own environment."""

    settings: Settings
    job: str
    shard_size: int
    stays_open: bool = False  # a worker keeps store and connections open from page to page
    version: str = __version__

    def of_run(self, run_id: str) -> Callable[[Sequence[Taken]], Awaitable[Done]]:
        """Return what a worker is sent for each page."""
        return partial(handle_shard_here if self.stays_open else handle_shard, self, run_id)


async def handle_shard(shards: RemoteShards, run_id: str, page: Sequence[Taken]) -> Done:
    """Do one page of a run in whatever process this is; what was settled before a loss is known and not judged again.

    Raises:
        SetupError: this process runs another version, or lacks what the job needs.
    """
    async with _desk(shards, run_id) as desk:
        return await desk.do(page)


async def handle_shard_here(shards: RemoteShards, run_id: str, page: Sequence[Taken]) -> Done:
    """Do one page of a run in a worker process of this machine, and keep what it needs open for the next one."""
    if run_id not in _desks:
        _desks[run_id] = await kept_open(_desk(shards, run_id))
    return await _desks[run_id].do(page)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Desk:
    """Where a worker does pages: everything is open."""

    handler: Handler
    concurrency: int

    async def do(self, page: Sequence[Taken]) -> Done:
        waiting = {taken.ref.trace_id: taken for taken in page}
        executor = LocalExecutor(concurrency=self.concurrency)
        outcomes: list[Outcome] = []
        try:
            async with aclosing(executor.map(self.handler.handle, self.handler.pull(waiting))) as handled:
                outcomes += [outcome async for outcome in handled]
        except (TryAgain, BadReply) as error:
            problem = f"{len(waiting)} traces could not be pulled and stay due: {error}"
            return Done(outcomes=tuple(outcomes), problem=problem)
        return Done(outcomes=tuple(outcomes))


_desks: dict[str, _Desk] = {}  # of this process, when it is a worker, by run


@contextlib.asynccontextmanager
async def _desk(shards: RemoteShards, run_id: str) -> AsyncIterator[_Desk]:
    if shards.version != __version__:
        raise SetupError(f"a worker runs trace-enricher {__version__}, this run {shards.version}; install the same")
    async with (
        await _opened(with_secrets(shards.settings, os.environ)) as app,
        app.plan(shards.job, spender=run_id) as plan,
    ):
        yield _Desk(handler=handler_for(plan, app.store, run_id), concurrency=app.settings.concurrency)


async def _opened(settings: Settings) -> App:
    """Open what a page needs. The run has had its store, so that one which is away now is waited for."""
    patience = AsyncRetrying(
        retry=retry_if_exception_type(StoreUnreachable),
        stop=stop_after_delay(_STORE_AWAY_S),
        wait=wait_fixed(1),
        reraise=True,
    )
    return await patience(App.open, settings)


async def _release_when(stop: asyncio.Event, plan: Plan) -> None:
    await stop.wait()
    plan.release()


async def _stop_when(lost: asyncio.Event, stop: asyncio.Event) -> None:
    await lost.wait()
    stop.set()


def _policy(section: Policy, risk_level: str) -> PolicyRule:
    return PolicyRule(
        route=Route(section.route),
        risk_level=risk_level,
        review_below=section.review_below,
        review_failures=section.review_failures,
    )


def _skipped(store: Store, name: str, owner: str) -> RunResult:
    warning = f"job {name} is being run by {owner}; this run did nothing"
    report = RunReport(run_id="", job=name, state="skipped", started=store.clock(), warnings=(warning,))
    return RunResult(report=report)


def _recall(store: Store) -> Recall:
    async def recall(ref: TraceRef, item: Item, digest: str, provenance: Provenance) -> Verdict | None:
        key = EvaluationKey(ref.connection, item.key, provenance.version, digest)
        if provenance.engine != "openai":
            return await store.known_evaluation(key)
        # A model's verdict is paid for once, whichever trace it was reached on.
        known = await same_input(store, key)
        if isinstance(known, Verdict):
            return known
        return next((carried for verdict, old in known if (carried := transfer(verdict, old, item))), None)

    return recall


@contextlib.contextmanager
def stop_on_signals(stop: asyncio.Event) -> Iterator[None]:
    """Set `stop` at the first SIGINT or SIGTERM: what is under way is finished. The second one ends at once."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()

    def react() -> None:
        if stop.is_set() and task is not None:
            task.cancel()
        stop.set()

    signals = (signal.SIGINT, signal.SIGTERM)
    for number in signals:
        loop.add_signal_handler(number, react)
    try:
        yield
    finally:
        for number in signals:
            loop.remove_signal_handler(number)


async def run_jobs(
    settings: Settings, names: Sequence[str], request: Request, progress: Reporter | None = None
) -> list[RunResult]:
    """Run jobs one after the other; all of the config when none is named."""
    unknown = [name for name in names if name not in settings.jobs]
    if unknown:
        raise SetupError(f"there is no job {', '.join(unknown)}; the config has {', '.join(settings.jobs)}")
    stop = asyncio.Event()
    results: list[RunResult] = []
    async with await App.open(settings) as app:
        with stop_on_signals(stop):
            for name in names or settings.jobs:
                if not stop.is_set():
                    results.append(await app.run(name, request, progress or Silent(), stop))
    return results


async def tell(settings: Settings, trace_id: str) -> Story:
    """Return everything recorded about a trace; the beginning of its id is enough."""
    async with await Store.open(settings.store) as store:
        found = await store.traces_like(trace_id)
        if not found:
            where = without_password(settings.store)
            raise SetupError(f"nothing is recorded about trace {trace_id} in {where}; was it ever chosen?")
        if len(found) > 1 and trace_id not in found:
            raise SetupError(f"{trace_id} begins more than one trace: {', '.join(found)}; write more of it")
        return await store.explain(trace_id if trace_id in found else found[0])


async def past_report(settings: Settings, run_id: str | None, job: str | None = None) -> FullReport:
    """Return the report of a run; the newest, or the newest of a job, when none is named."""
    async with await Store.open(settings.store) as store:
        found = await store.run(run_id) if run_id else next(iter(await store.runs(job, limit=1)), None)
        where = without_password(settings.store)
        if found is None:
            missing = f"there is no run {run_id}" if run_id else f"no run of job {job} yet" if job else "no run yet"
            raise SetupError(f"{missing} in {where}")
        if found.report is None:
            raise SetupError(f"run {found.id} is {found.state} and has no report yet")
        return await full_report(store, RunReport.model_validate(found.report), settings.connections)


def prompt_rows(settings: Settings) -> list[dict[str, str]]:
    """List prompts for people and machines."""
    return [
        {
            "name": prompt.name,
            "hash": prompt.sha256,
            "state": "released" if prompt.is_released else "draft",
            "regression": _release_rests_on(prompt),
            "notes": prompt.notes,
        }
        for prompt in list_prompts(settings.prompt_folders)
    ]


def _release_rests_on(prompt: PromptFile) -> str:
    found = prompt.regression
    if found is None:
        return "no regression on record" if prompt.is_released else ""
    agreed = "" if found.get("agreement") is None else f", {found['agreement']:.1%} agreement"
    return f"{found.get('items')} items of {found.get('golden')}{agreed}, {found.get('at')}"


def prompt_text(settings: Settings, name: str) -> dict[str, str]:
    """Return one prompt, with its variables unfilled."""
    prompt = load_prompt(name, folders=settings.prompt_folders)
    text = "\n\n".join(part for part in (prompt.system, prompt.context, prompt.task) if part)
    return {"name": prompt.name, "fingerprint": prompt.fingerprint, "text": text}


def verify_prompts(settings: Settings) -> list[str]:
    """Return one sentence for each released prompt that was changed."""
    return list(released_problems(settings.prompt_folders))
