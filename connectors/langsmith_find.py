"""Find the traces that a rule wants on LangSmith: by window and filter, by user reports, by what a person pasted."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from connectors.langsmith_api import Generation, LangSmithApi
from connectors.langsmith_feedback import counts_as_report, report_from
from connectors.langsmith_labels import RUNS_PER_LISTING
from connectors.langsmith_query import PAGE, Pointer, RunQuery, pointer, report_expression, span_expression
from connectors.langsmith_runs import attribute, project_of, root_start
from enricher.trace import ReportFilter, TraceId, TraceQuery, TraceRef, UserReport

# LangSmith keeps a trace for 400 days at most, and refuses windows of more than 401.
OLDEST = timedelta(days=400)
_FIELDS = ("ID", "TRACE_ID", "PROJECT_ID", "START_TIME", "DOTTED_ORDER")
_NEVER = datetime.max.replace(tzinfo=UTC)

Run = Mapping[str, Any]


class Finder:
    """Turns queries into refs, each trace once, oldest first."""

    def __init__(self, api: LangSmithApi, *, connection: str, page_size: int, now: Callable[[], datetime]) -> None:
        self._api = api
        self._page_size = page_size
        self._connection = connection
        self._now = now

    async def find(self, query: TraceQuery) -> AsyncIterator[TraceRef]:
        """Yield what matches. v2 knows no order, so the refs of a query are gathered and sorted first."""
        if query.trace_ids:
            refs = await self._pasted(query)
        elif query.reports:
            refs = await self._reported(query)
        else:
            refs = await self._in_window(query)
        for ref in sorted(refs, key=lambda ref: (ref.start_time or _NEVER, ref.trace_id)):
            yield ref

    async def _in_window(self, query: TraceQuery) -> Iterable[TraceRef]:
        projects = await self._api.projects(query.projects)
        wanted = span_expression(query.spans)
        refs: dict[str, TraceRef] = {}
        for start, end in self._windows(query.start, query.end):
            runs = self._query(query, projects, start, end, is_root=True, tree_filter=wanted)
            async for page in self._api.runs(runs):
                for run in page:
                    ref = self._ref(run, projects, query)
                    if _is_within(ref.start_time, query):
                        refs[ref.trace_id] = ref
        return refs.values()

    async def _reported(self, query: TraceQuery) -> Iterable[TraceRef]:
        """Find runs with matching feedback, then read that feedback: statistics hold no comments."""
        projects = await self._api.projects(query.projects)
        runs: dict[str, Run] = {}
        for report in query.reports:
            async for run in self._candidates(query, report, projects):
                runs[str(run["id"])] = run
        trace_of = {run_id: str(run["trace_id"]) for run_id, run in runs.items()}
        reports = await self._reports(trace_of, query.reports)
        # The root comes last, so that a trace is described by its root where that was found.
        ordered = sorted(runs.values(), key=lambda run: str(run["id"]) == str(run["trace_id"]))
        refs = {str(run["trace_id"]): self._ref(run, projects, query) for run in ordered}
        return [
            _with_reports(ref, reports[trace])
            for trace, ref in refs.items()
            if trace in reports and _is_due(ref, reports[trace], query)
        ]

    async def _candidates(
        self, query: TraceQuery, report: ReportFilter, projects: Mapping[str, str]
    ) -> AsyncIterator[Run]:
        """Yield runs that may carry the report: those of the window, and those reported since, whatever their age."""
        if query.start is not None or query.reports_since is None:
            async for run in self._carrying(query, report, projects, query.start, None):
                yield run
        if query.reports_since is not None:
            async for run in self._carrying(query, report, projects, None, query.reports_since):
                yield run

    async def _carrying(
        self,
        query: TraceQuery,
        report: ReportFilter,
        projects: Mapping[str, str],
        start: datetime | None,
        since: datetime | None,
    ) -> AsyncIterator[Run]:
        """Yield runs of a window with such feedback, given since a time if that is told.

        v2 is asked by `min_feedback_modified_at`, so that a thumbs-down counts however old its trace is. A server that
        doesn't know this field ignores it and yields more, which the check of each feedback's time takes out again.
        v1 has no such field: there the feedback itself is listed by `min_created_at`. That misses reports that were
        only changed since (the same person turning a thumbs-up into a thumbs-down).
        """
        wanted, spans = report_expression(report), span_expression(query.spans)
        is_v2 = bool(projects) and await self._api.generation(list(projects)) is Generation.V2
        conditions: list[dict[str, Any]]
        if wanted is not None and (is_v2 or since is None):
            conditions = [{"filter": wanted, "feedback_since": since}]
        else:
            ids = [one async for one in self._runs_with_feedback(report, list(projects), since or start)]
            conditions = [{"ids": ids[at : at + PAGE]} for at in range(0, len(ids), PAGE)]
        for condition in conditions:
            for begin, end in self._windows(start, query.end):
                async for page in self._api.runs(
                    self._query(query, projects, begin, end, tree_filter=spans, **condition)
                ):
                    for run in page:
                        yield run

    async def _runs_with_feedback(
        self, report: ReportFilter, project_ids: Sequence[str], since: datetime | None
    ) -> AsyncIterator[str]:
        params: dict[str, Any] = {"session": list(project_ids), "level": "run"}
        if report.name is not None:
            params["key"] = [report.name]
        if since is not None:
            params["min_created_at"] = since.isoformat()
        seen: set[str] = set()
        async for row in self._api.listing("/api/v1/feedback", params):
            run_id = str(row.get("run_id") or "")
            if run_id and run_id not in seen and counts_as_report(row, [report]):
                seen.add(run_id)
                yield run_id

    async def _reports(
        self, trace_of: Mapping[str, str], wanted: Sequence[ReportFilter]
    ) -> dict[str, list[UserReport]]:
        """Return the matching reports on some runs, by trace."""
        names = [report.name for report in wanted]
        keys = {} if None in names else {"key": sorted({str(name) for name in names})}
        run_ids = list(trace_of)
        reports: dict[str, list[UserReport]] = {}
        for at in range(0, len(run_ids), RUNS_PER_LISTING):
            params = {"run": run_ids[at : at + RUNS_PER_LISTING], **keys}
            async for feedback in self._api.listing("/api/v1/feedback", params):
                if counts_as_report(feedback, wanted):
                    reports.setdefault(trace_of[str(feedback["run_id"])], []).append(report_from(feedback))
        return reports

    async def _pasted(self, query: TraceQuery) -> Iterable[TraceRef]:
        pointers = [pointer(text) for text in query.trace_ids]
        projects = await self._api.projects(query.projects)
        strange = {one.project_id for one in pointers if one.project_id} - projects.keys()
        if strange:  # a URL names its project, wherever that is
            projects = {**projects, **{i: n for i, n in (await self._api.projects(None)).items() if i in strange}}
        found: dict[str, Run] = {}
        wanted = list(dict.fromkeys(one.run_id for one in pointers))
        for at in range(0, len(wanted) if projects else 0, PAGE):
            for start, end in self._windows(None, None):
                runs = self._query(query, projects, start, end, ids=wanted[at : at + PAGE])
                async for page in self._api.runs(runs):
                    found.update((str(run["id"]), run) for run in page)
        refs: dict[str, TraceRef] = {}
        for one in pointers:
            run = found.get(one.run_id)
            ref = self._missing(one, query, projects) if run is None else self._ref(run, projects, query)
            refs.setdefault(ref.trace_id, ref)
        trace_of = {run_id: str(run["trace_id"]) for run_id, run in found.items()}
        trace_of.update({trace: trace for trace in trace_of.values()})
        reports = await self._reports(trace_of, query.reports or (ReportFilter(),))
        return [_with_reports(ref, reports.get(trace, [])) for trace, ref in refs.items()]

    def _missing(self, one: Pointer, query: TraceQuery, projects: Mapping[str, str]) -> TraceRef:
        """Name a trace that isn't there, so that pulling it says that it is gone instead of nothing."""
        project_id = one.project_id or next(iter(projects), "")
        return TraceRef(
            connection=self._connection,
            project=projects.get(project_id, ""),
            trace_id=TraceId(one.run_id),
            rules=(query.rule,),
            locator={"project_id": project_id} if project_id else {},
        )

    def _query(
        self, query: TraceQuery, projects: Mapping[str, str], start: datetime, end: datetime, **conditions: Any
    ) -> RunQuery:
        selects = (*_FIELDS, "METADATA", "TAGS", "NAME") if query.stratum else _FIELDS
        return RunQuery(
            project_ids=list(projects), start=start, end=end, selects=selects, page_size=self._page_size, **conditions
        )

    def _windows(self, start: datetime | None, end: datetime | None) -> Iterable[tuple[datetime, datetime]]:
        """Cut a time range into windows that LangSmith accepts; without a start it reaches back as far as traces do."""
        until = end or self._now() + timedelta(minutes=5)  # a little ahead, for clocks that are
        since = start or until - OLDEST
        while since < until:
            yield since, min(until, since + OLDEST)
            since += OLDEST

    def _ref(self, run: Run, projects: Mapping[str, str], query: TraceQuery) -> TraceRef:
        started = root_start(run)
        project_id = project_of(run)
        stratum = attribute(run, query.stratum) if query.stratum else None
        return TraceRef(
            connection=self._connection,
            project=projects.get(project_id, project_id),
            trace_id=TraceId(str(run["trace_id"])),
            rules=(query.rule,),
            start_time=started,
            stratum=None if stratum is None else str(stratum),
            locator={"project_id": project_id, **({"start_time": started.isoformat()} if started else {})},
        )


def _is_within(started: datetime | None, query: TraceQuery) -> bool:
    if started is None:
        return True
    return (query.start is None or started >= query.start) and (query.end is None or started < query.end)


def _is_due(ref: TraceRef, reports: Sequence[UserReport], query: TraceQuery) -> bool:
    """Tell whether a reported trace counts: it lies in the window, or it was reported since."""
    since = query.reports_since
    if (query.start is not None or since is None) and _is_within(ref.start_time, query):
        return True
    return since is not None and any(one.reported_at is not None and one.reported_at >= since for one in reports)


def _with_reports(ref: TraceRef, reports: Sequence[UserReport]) -> TraceRef:
    ordered = sorted(dict.fromkeys(reports), key=lambda one: (one.reported_at or _NEVER, one.name))
    return replace(ref, reports=tuple(ordered))
