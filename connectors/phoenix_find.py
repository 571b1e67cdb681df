"""Select traces in Phoenix: by window, reports, span conditions, or by ids and URLs that a person gives."""

import heapq
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from connectors.ordering import moment
from connectors.phoenix_query import (
    Pointer,
    counts_as_report,
    meets,
    needs_attributes,
    pointer,
    report_from,
    span_parameters,
    trace_condition,
)
from connectors.phoenix_reads import IDS_PER_REQUEST, LARGEST_PAGE, Parameters, PhoenixReads, Project
from enricher.errors import SetupError
from enricher.trace import ReportFilter, TraceId, TraceQuery, TraceRef, UserReport

EXPLICIT = "explicit"  # marks refs that a person asked for, in their locator
_BY_PEOPLE = (ReportFilter(),)
_SPANS_PER_REQUEST = 250

_Row = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Finder:
    """Runs one query after another over the listings of a server."""

    reads: PhoenixReads
    connection: str
    report_lookback_days: float | None

    async def find(self, query: TraceQuery, projects: Sequence[Project]) -> AsyncIterator[TraceRef]:
        """Yield the traces that match, each once, oldest first."""
        if query.trace_ids:
            streams = await self._explicit(query, projects)
        else:
            streams = [self._in_project(project, query) for project in projects]
        seen: set[str] = set()
        async for ref in oldest_first(streams):
            if ref.trace_id not in seen:
                seen.add(ref.trace_id)
                yield ref

    def _in_project(self, project: Project, query: TraceQuery) -> AsyncIterator[TraceRef]:
        start = query.start
        if query.reports and query.reports_since is not None:
            days = self.report_lookback_days
            start = None if days is None else query.reports_since - timedelta(days=days)
            if start is not None and query.start is not None:
                start = min(start, query.start)
        window = {"start_time": start, "end_time": query.end}
        parameters = [(name, time.isoformat()) for name, time in window.items() if time is not None]
        return self._listed(project, query, parameters, trace_condition(query.spans, query.reports))

    async def _listed(
        self, project: Project, query: TraceQuery, parameters: Parameters, condition: str | None
    ) -> AsyncIterator[TraceRef]:
        """Page through the traces that meet the condition; `_matching` checks what can't be put in one."""
        asked = [*parameters, ("sort", "start_time"), ("order", "asc")]
        if condition is not None:
            await self.reads.ensure_filters(project)
            asked.append(("filter", condition))
        if query.reports or query.trace_ids:
            asked.append(("include_spans", "true"))  # their ids, needed to read the reports
        path = f"v1/projects/{project.id}/traces"
        async for page in self.reads.pages(path, asked, limit=self.reads.page_size):
            for batch in batched(page, IDS_PER_REQUEST):
                for ref in await self._matching(project, query, batch):
                    yield ref

    async def _matching(self, project: Project, query: TraceQuery, traces: Sequence[_Row]) -> list[TraceRef]:
        if needs_attributes(query.spans):
            spans = self.reads.spans(project.id, _ids(traces), span_parameters(query.spans))
            wanted = {span.trace_id async for span in spans if meets(span, query.spans)}
            traces = [trace for trace in traces if trace["trace_id"] in wanted]
        reports: Mapping[str, Sequence[UserReport]] = {}
        if query.reports or query.trace_ids:
            reports = await self._reports(project, traces, query.reports or _BY_PEOPLE)
        if query.reports:
            traces = [trace for trace in traces if _counts(trace, reports.get(trace["trace_id"], ()), query)]
        strata = await self._strata(project, traces, query.stratum) if query.stratum else {}
        explicit = {EXPLICIT: "yes"} if query.trace_ids else {}
        return [
            TraceRef(
                connection=self.connection,
                project=project.name,
                trace_id=TraceId(trace["trace_id"]),
                rules=(query.rule,),
                start_time=moment(trace["start_time"]),
                stratum=strata.get(trace["trace_id"]),
                reports=tuple(reports.get(trace["trace_id"], ())),
                locator={"project_id": project.id, **explicit},
            )
            for trace in traces
        ]

    async def _strata(self, project: Project, traces: Sequence[_Row], attribute: str) -> dict[str, str]:
        roots = self.reads.spans(project.id, _ids(traces), [("parent_id", "null")])
        return {root.trace_id: str(root.attributes[attribute]) async for root in roots if attribute in root.attributes}

    async def _reports(
        self, project: Project, traces: Sequence[_Row], wanted: Sequence[ReportFilter]
    ) -> dict[str, list[UserReport]]:
        """Return the matching annotations on each trace and its spans, oldest first."""
        trace_of = {span["span_id"]: trace["trace_id"] for trace in traces for span in trace.get("spans") or ()}
        names = [("include_annotation_names", r.name) for r in wanted] if all(r.name for r in wanted) else []
        path = f"v1/projects/{project.id}"
        on_spans = self._annotations(f"{path}/span_annotations", "span_ids", list(trace_of), names)
        on_traces = self._annotations(f"{path}/trace_annotations", "trace_ids", _ids(traces), names)
        found = [(trace_of[row["span_id"]], row) async for row in on_spans if row["span_id"] in trace_of]
        found += [(row["trace_id"], row) async for row in on_traces]
        found = [(trace_id, row) for trace_id, row in found if counts_as_report(row, wanted)]
        authors = await self.reads.author_names() if any(row.get("user_id") for _, row in found) else {}
        reports: defaultdict[str, list[UserReport]] = defaultdict(list)
        for trace_id, row in sorted(found, key=lambda pair: pair[1].get("updated_at") or ""):
            reports[trace_id].append(report_from(row, authors))
        return reports

    async def _annotations(
        self, path: str, parameter: str, ids: Sequence[str], names: Parameters
    ) -> AsyncIterator[_Row]:
        for batch in batched(ids, _SPANS_PER_REQUEST):
            asked = [*((parameter, id_) for id_ in batch), *names]
            async for page in self.reads.pages(path, asked, limit=LARGEST_PAGE):
                for row in page:
                    yield row

    async def _explicit(self, query: TraceQuery, projects: Sequence[Project]) -> list[AsyncIterator[TraceRef]]:
        """Look ids and URLs up in the projects they may be in; what is nowhere becomes a ref that can't be pulled."""
        by_project: dict[Project, list[str]] = {project: [] for project in projects}
        wanted: list[str] = []
        for target in dict.fromkeys(pointer(text) for text in query.trace_ids):
            places = await self._places(target, projects)
            trace_id = target.trace_id or await self._trace_of_span(places, target.span_id or "")
            wanted.append(trace_id or target.span_id or "")
            if trace_id is not None:
                for place in places:
                    by_project.setdefault(place, []).append(trace_id)
        refs: dict[str, TraceRef] = {}
        for project, ids in by_project.items():
            for batch in batched(list(dict.fromkeys(ids)), IDS_PER_REQUEST):
                condition = trace_condition(query.spans, (), batch)
                async for ref in self._listed(project, query, (), condition):
                    refs.setdefault(ref.trace_id, ref)
        missing = [
            TraceRef(connection=self.connection, project="", trace_id=TraceId(trace_id), rules=(query.rule,))
            for trace_id in dict.fromkeys(wanted)
            if trace_id not in refs
        ]
        return [_stream(sorted(refs.values(), key=_age)), _stream(missing)]

    async def _places(self, target: Pointer, projects: Sequence[Project]) -> Sequence[Project]:
        """Return the projects where the target may be: that of its URL, else all that were asked for."""
        if target.project_id is None:
            return projects
        for project in projects:
            if project.id == target.project_id:
                return [project]
        reply = await self.reads.calls.get_or_none(f"v1/projects/{target.project_id}")
        if reply is None:
            raise SetupError(f"Phoenix has no project '{target.project_id}', which the URL names")
        return [Project(name=reply["data"]["name"], id=reply["data"]["id"])]

    async def _trace_of_span(self, places: Sequence[Project], span_id: str) -> str | None:
        for place in places:
            async for page in self.reads.pages(f"v1/projects/{place.id}/spans", [("span_id", span_id)], limit=1):
                for payload in page:
                    return str(payload["context"]["trace_id"])
        return None


def _counts(trace: _Row, given: Sequence[UserReport], query: TraceQuery) -> bool:
    """Tell whether a reported trace is in the window, or one of its reports was given since the query's moment."""
    if not given:
        return False
    if query.reports_since is None:
        return True
    started = moment(trace["start_time"])
    if query.start is not None and started is not None and started >= query.start:
        return True
    return any(report.reported_at is not None and report.reported_at >= query.reports_since for report in given)


def batched(values: Sequence[Any], size: int) -> Iterable[Sequence[Any]]:
    """Cut a sequence into pieces of at most `size`."""
    return (values[start : start + size] for start in range(0, len(values), size))


async def oldest_first(streams: Sequence[AsyncIterator[TraceRef]]) -> AsyncIterator[TraceRef]:
    """Merge streams that are each in order of age; refs without a start come last."""
    tie = count()
    heap: list[tuple[tuple[bool, datetime], int, TraceRef, AsyncIterator[TraceRef]]] = []
    for stream in streams:
        if (first := await anext(stream, None)) is not None:
            heap.append((_age(first), next(tie), first, stream))
    heapq.heapify(heap)
    while heap:
        _, _, ref, stream = heapq.heappop(heap)
        yield ref
        if (following := await anext(stream, None)) is not None:
            heapq.heappush(heap, (_age(following), next(tie), following, stream))


def _ids(traces: Sequence[_Row]) -> list[str]:
    return [trace["trace_id"] for trace in traces]


def _age(ref: TraceRef) -> tuple[bool, datetime]:
    return ref.start_time is None, ref.start_time or datetime.max.replace(tzinfo=UTC)


async def _stream(refs: Iterable[TraceRef]) -> AsyncIterator[TraceRef]:
    for ref in refs:
        yield ref
