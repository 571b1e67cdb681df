"""Which traces a run takes: rules become queries, what the platform finds is sampled."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from enricher.progress import Reporter
from enricher.report import RuleCount
from enricher.seams import Connector
from enricher.settings import Job, Rule
from enricher.steps.selection import sample
from enricher.store import Store
from enricher.trace import ReportFilter, SpanFilter, SpanKind, TraceQuery, TraceRef

_MOST_COUNTED = 10_000  # traces of the window that are counted when none of them matches
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
    """What one rule took, and how far it has looked."""

    count: RuleCount
    refs: tuple[TraceRef, ...]
    reached: datetime


class Chooser:
    """Asks the platform what the rules of a job match."""

    def __init__(self, *, name: str, job: Job, connector: Connector, store: Store, request: Request) -> None:
        self._name = name
        self._job = job
        self._connector = connector
        self._store = store
        self._request = request
        self._now = store.clock()

    @property
    def rules(self) -> Sequence[Rule]:
        """Return the rules of the job, or the one rule that takes the traces named by hand."""
        return (Rule(name=_EXPLICIT),) if self._request.trace_ids else self._job.rules

    async def choose(self, rule: Rule, progress: Reporter) -> Choice:
        """Find and sample; stores nothing.

        Raises:
            SetupError: a project or filter is wrong.
            TryAgain: the platform does not answer; asking again from the start is safe.
        """
        query = await self._query(rule)
        refs: list[TraceRef] = []
        async for ref in self._connector.find(query):
            refs.append(ref)
            progress.advance()
        taken = tuple(sample(refs, rate=rule.rate, max_per_stratum=rule.max_per_stratum))
        in_window = 0 if refs else await self._in_window(query)
        count = RuleCount(rule=rule.name, found=len(refs), taken=len(taken), in_window=in_window)
        return Choice(count=count, refs=taken, reached=query.end or self._now)

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
            mark = await self._store.watermark(self._name, self._connector.name, rule.name)
            start = end - self._job.first_window if mark is None else mark - self._job.look_back
        return TraceQuery(
            rule=rule.name,
            projects=None if self._job.projects == "all" else self._job.projects,
            start=start,
            end=end,
            trace_ids=self._request.trace_ids,
            reports=tuple(ReportFilter(name=r.name, labels=r.labels, max_score=r.max_score) for r in rule.reports),
            # A report counts when it is new, however old its trace is.
            reports_since=start if rule.reports else None,
            spans=_span_filter(rule),
            stratum=rule.stratum,
        )


def _span_filter(rule: Rule) -> SpanFilter:
    where = rule.where
    return SpanFilter(
        kind=SpanKind(where.kind) if where.kind else None,
        name=where.name,
        status=where.status,
        attributes=where.attributes,
        min_latency_s=where.min_latency.total_seconds() if where.min_latency else None,
        tag=where.tag,
        raw=where.filter,
    )
