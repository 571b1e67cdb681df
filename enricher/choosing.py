"""Which traces a run takes: rules become queries, what the platform finds is sampled and recorded."""

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime, timedelta

from enricher.errors import SetupError
from enricher.progress import Reporter
from enricher.report import RuleCount
from enricher.seams import Connector
from enricher.settings import Job, Rule
from enricher.steps.redaction import RedactionRules, redact_ref
from enricher.steps.selection import sample
from enricher.store import Hint, RunState, Store
from enricher.trace import ReportFilter, SpanFilter, TraceId, TraceQuery, TraceRef

log = logging.getLogger(__name__)

HINTED = Rule(name="hinted")  # the rule under which traces that webhooks named are recorded
_HINT_LIVES = timedelta(days=7)  # then a hint whose trace no job finds is dropped
_MOST_COUNTED = 10_000  # traces of the window that are counted when none of them matches
_RUNS_LOOKED_AT = 200  # for the last one before a clock went wrong
_BATCH = 500  # refs that are handed on together
_EXPLICIT = "explicit"  # the rule under which traces named on the command line are recorded


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What the caller wants of a run beyond what the job says; times are aware UTC."""

    start: datetime | None = None
    end: datetime | None = None
    trace_ids: tuple[str, ...] = ()  # ids or URLs
    limit: int | None = None
    dry_run: bool = False

    @property
    def is_by_watermark(self) -> bool:
        """Tell whether the run goes on from where the last one ended."""
        return self.start is None and self.end is None and not self.trace_ids


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """How many traces one rule took, and how far it has looked."""

    count: RuleCount
    reached: datetime
    hints: tuple[Hint, ...] = ()  # done with once the refs are taken in


# Is handed the refs that a rule takes, batch by batch: a night may have more of them than memory should hold.
Into = Callable[[Sequence[TraceRef]], Awaitable[None]]


class Chooser:
    """Asks the platform what the rules of a job match."""

    def __init__(
        self, *, name: str, job: Job, connector: Connector, store: Store, request: Request, platform: str = ""
    ) -> None:
        self._name = name
        self._job = job
        self._connector = connector
        self._store = store
        self._request = request
        self._now = store.clock()
        self._platform = platform
        self._waiting: Sequence[Hint] = ()

    @property
    def rules(self) -> Sequence[Rule]:
        """Return the rules of the job, or the one rule that takes the traces named by hand."""
        return (Rule(name=_EXPLICIT),) if self._request.trace_ids else self._job.rules

    async def rules_and_hints(self) -> Sequence[Rule]:
        """Return the rules, after the one for traces that webhooks named when any are waiting."""
        if self._platform and self._request.is_by_watermark:
            self._waiting = await self._store.pending_hints(self._platform)
        return (HINTED, *self.rules) if self._waiting else self.rules

    async def choose(self, rule: Rule, progress: Reporter, into: Into) -> Choice:
        """Find and sample; hand on what is taken as it is found.

        Raises:
            SetupError: a project or filter is wrong.
            TryAgain: the platform does not answer; asking again from the start is safe.
        """
        if rule is HINTED:
            return await self._hinted(progress, into)
        query = await self._query(rule)
        found = taken = 0

        async def counted() -> AsyncGenerator[TraceRef, None]:
            nonlocal found
            async for ref in self._connector.find(query):
                found += 1
                progress.advance()
                yield ref

        batch: list[TraceRef] = []
        async with aclosing(sample(counted(), rate=rule.rate, max_per_stratum=rule.max_per_stratum)) as sampled:
            async for ref in sampled:
                taken += 1
                batch.append(ref)
                if len(batch) == _BATCH:
                    await into(batch)
                    batch = []
        await into(batch)
        in_window = 0 if found else await self._in_window(query)
        count = RuleCount(rule=rule.name, found=found, taken=taken, in_window=in_window)
        return Choice(count=count, reached=query.end or self._now)

    async def _hinted(self, progress: Reporter, into: Into) -> Choice:
        """Look up the traces that webhooks named; those of other projects wait for the jobs of these projects."""
        named = tuple(dict.fromkeys(hint.trace_id for hint in self._waiting))
        query = TraceQuery(rule=HINTED.name, projects=self._projects, trace_ids=named)
        found: dict[str, TraceRef] = {}
        try:
            async for ref in self._connector.find(query):
                found[ref.trace_id] = ref
                progress.advance()
        except SetupError as error:  # the rules will say it too, unless it is about a hint; and a hint stops no run
            log.warning("job %s: hinted traces can't be looked up: %s", self._name, error)
        taken = [hint for hint in self._waiting if _is_of(hint, found.get(hint.trace_id))]
        stale = [h for h in self._waiting if h not in taken and h.received_at < self._now - _HINT_LIVES]
        for hint in stale:
            log.warning("the hint for trace %s of project '%s' is dropped: not found", hint.trace_id, hint.project)
        refs = tuple(found[trace_id] for trace_id in dict.fromkeys(hint.trace_id for hint in taken))
        await into(refs)
        count = RuleCount(rule=HINTED.name, found=len(refs), taken=len(refs))
        return Choice(count=count, reached=self._now, hints=(*taken, *stale))

    @property
    def _projects(self) -> tuple[str, ...] | None:
        return None if self._job.projects == "all" else self._job.projects

    async def _in_window(self, query: TraceQuery) -> int:
        """Count the traces of the window, so that "none matches" can be told from "there is none"."""
        if query.trace_ids or (not query.reports and query.spans.is_empty()):
            return 0
        count = 0
        everything = TraceQuery(rule=query.rule, projects=query.projects, start=query.start, end=query.end)
        async for _ in self._connector.find(everything):
            count += 1
            if count == _MOST_COUNTED:
                break
        return count

    async def _query(self, rule: Rule) -> TraceQuery:
        end = self._request.end or self._now
        start = self._request.start
        if start is None:
            mark = await self._watermark(rule, end)
            start = end - self._job.first_window if mark is None else mark - self._job.look_back
        return TraceQuery(
            rule=rule.name,
            projects=self._projects,
            start=start,
            end=end,
            trace_ids=self._request.trace_ids,
            reports=tuple(ReportFilter(name=r.name, labels=r.labels, max_score=r.max_score) for r in rule.reports),
            # A report counts when it is new, however old its trace is.
            reports_since=start if rule.reports else None,
            spans=_span_filter(rule),
            stratum=rule.stratum,
        )

    async def _watermark(self, rule: Rule, end: datetime) -> datetime | None:
        mark = await self._store.watermark(self._name, self._connector.name, rule.name)
        if mark is None or mark <= self._now:
            return mark
        # The clock was ahead then, or has gone back since: what happens until it is there must not be passed over.
        sane = [
            run.window_end
            for run in await self._store.runs(self._name, limit=_RUNS_LOOKED_AT)
            if run.state is RunState.COMPLETED and run.window_start is None and run.window_end and run.window_end <= end
        ]
        mark = min([end - self._job.first_window, *sane[:1]])
        log.warning("job %s, rule %s: the clock has gone back; looking again from %s", self._name, rule.name, mark)
        return mark


class TakingIn:
    """Takes what one rule finds into the store, and counts what was known before this run."""

    def __init__(
        self, store: Store, job: str, redaction: RedactionRules, seen: set[TraceId] | None, *, again: bool
    ) -> None:
        self._store = store
        self._job = job
        self._redaction = redaction
        self._seen = seen  # what the rules before have taken, if that is kept
        self.own: set[TraceId] = set()  # what this one has taken, if that is kept
        self._again = again  # traces named by hand or window are judged again if anything about them has changed
        self._added = 0
        self._known = 0

    @property
    def known(self) -> int:
        """Return how many were known."""
        return max(self._known, 0)

    def begin(self) -> None:
        """Begin, again where an attempt broke off: what that one added will be known, and was not known before."""
        self._known = -self._added

    async def take(self, refs: Sequence[TraceRef]) -> None:
        """Take a batch in."""
        redacted = [redact_ref(ref, self._redaction) for ref in refs]
        intake = await self._store.take_in(self._job, redacted, again=self._again)
        if intake.forgotten:
            log.warning("job %s: %d forgotten traces stay out", self._job, intake.forgotten)
        self._added += intake.new + intake.again
        self._known += intake.known
        if self._seen is not None:
            self._known -= sum(ref.trace_id in self._seen for ref in refs)
            self.own.update(ref.trace_id for ref in refs)


def _is_of(hint: Hint, ref: TraceRef | None) -> bool:
    """Tell whether a ref is the trace of a hint; platforms name its project by name or by id."""
    return ref is not None and hint.project in (ref.project, ref.locator.get("project_id"))


def _span_filter(rule: Rule) -> SpanFilter:
    where = rule.where
    return SpanFilter(
        kind=where.kind,
        name=where.name,
        status=where.status,
        attributes=where.attributes,
        min_latency_s=where.min_latency.total_seconds() if where.min_latency else None,
        tag=where.tag,
        raw=where.filter,
    )
