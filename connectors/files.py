"""Read traces from exported files and write annotations beside them: no server, and the example for a new connector.

A connector answers the seven calls of `enricher.seams.Connector`. Here each is a few lines over two parts:
`files_index` finds and reads (a platform's queries), `files_output` writes and reads back (a platform's annotations).
"""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from math import isclose
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

from connectors.files_index import FilesIndex, Found
from connectors.files_output import AnnotationFile, encoded
from connectors.langsmith_runs import is_still_running
from connectors.ordering import tree_order
from connectors.phoenix_query import counts_as_report, meets, report_from
from enricher.errors import EnricherError, SetupError
from enricher.seams import Health
from enricher.trace import (
    RawTrace,
    Rejection,
    RejectReason,
    ReportFilter,
    Span,
    TraceId,
    TraceQuery,
    TraceRef,
    UserReport,
)
from enricher.verdict import Annotation, Delivery, DeliveryState

log = logging.getLogger(__name__)
T = TypeVar("T")

_BY_PEOPLE = (ReportFilter(),)
_NAMED = 3  # lines that can't be read are all counted, and the first of them named


class FilesConnector:
    """Files as a Connector: records, OTLP exports, Phoenix spans and LangSmith runs, as JSON or JSON lines, gzip too.

    Args:
        name: name of the connection in the config.
        paths: files, or patterns as a shell knows them; read anew when they change, read on when they grow.
        output: JSON Lines file for the annotations; its folder must exist. It is never read as input.
        project: the name under which a job asks for these traces.
        page_size: traces that are looked up together.
        settle_s: a trace is still running until its root has ended for so long.
        open_s: and while its root, or the parent of a span, is missing and its newest span is younger than this.
        now: tells the time, in aware UTC.
    """

    def __init__(
        self,
        *,
        name: str,
        paths: Sequence[str],
        output: Path,
        project: str = "default",
        page_size: int = 500,
        settle_s: float = 30.0,
        open_s: float = 900.0,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.name = name
        self._project = project
        self._output = AnnotationFile(output)
        self._index = FilesIndex(paths, excluded=self._output.files)
        self._page_size = page_size
        self._settle_s = settle_s
        self._open_s = open_s
        self._now = now
        # One thread, so that index and output are never used twice at a time.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="files")

    async def find(self, query: TraceQuery) -> AsyncIterator[TraceRef]:
        """Yield the traces that match, each once, oldest first; those without a time come last, in every window."""
        self._refuse_unknown(query)
        await self._refresh()
        if query.trace_ids:
            for ref in await self._call(partial(self._named, query)):
                yield ref
            return
        # A report counts however old its trace is, so then the window is looked at afterwards.
        ask = partial(
            self._index.page,
            start=None if query.reports else query.start,
            end=query.end,
            reported=bool(query.reports),
            limit=self._page_size,
        )
        last: Found | None = None
        while page := await self._call(partial(ask, last)):
            for ref in await self._call(partial(self._matching, query, page)):
                yield ref
            last = page[-1]

    async def pull(self, refs: Sequence[TraceRef]) -> AsyncIterator[RawTrace | Rejection]:
        """Yield the whole trace of each ref; a Rejection when it is in no file, or a line of it can't be read."""
        await self._refresh()
        for ref in refs:
            yield await self._call(partial(self._pulled, ref))

    async def annotate(self, annotations: Sequence[Annotation]) -> Sequence[Delivery]:
        """Write annotations as lines; CONFIRMED means that they are on the disk."""
        await self._refresh()
        return await self._call(partial(self._annotate, annotations))

    async def confirm(self, annotations: Sequence[Annotation]) -> Sequence[Delivery]:
        """Read annotations back from the file."""
        held = await self._call(partial(self._output.read, {annotation.key for annotation in annotations}))
        return [_compared(annotation, held.get(annotation.key)) for annotation in annotations]

    async def prepare(self, names: Mapping[str, Sequence[str]]) -> None:
        """Accept any names: a file needs no configs."""

    async def check(self) -> Health:
        """Report what the files hold, what can't be read of them, and whether the output can be written."""
        try:
            await self._refresh()
            counts = await self._call(self._index.counts)
            number, problems = await self._call(self._index.problems)
        except EnricherError as error:
            return Health(ok=False, problems=(str(error),))
        facts = {name: str(count) for name, count in counts.items()}
        facts |= {"output": str(self._output.path), "lines that can't be read": str(number)}
        if not counts["files"]:
            problems.append("no file matches the paths; check the patterns")
        folder = self._output.path.parent
        is_writable = os.access(self._output.path if self._output.path.exists() else folder, os.W_OK)
        if not is_writable:
            problems.append(f"{self._output.path} can't be written; create the folder, or choose another output")
        return Health(ok=is_writable, facts=facts, problems=tuple(problems))

    async def aclose(self) -> None:
        """Release temporary files."""
        await self._call(self._index.close)
        self._thread.shutdown()

    async def _call(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def _refresh(self) -> None:
        if await self._call(self._index.refresh):
            count, named = await self._call(partial(self._index.problems, _NAMED))
            log.warning("%s: lines that can't be read and are passed over: %d: %s", self.name, count, "; ".join(named))

    def _refuse_unknown(self, query: TraceQuery) -> None:
        if unknown := set(query.projects or ()) - {self._project}:
            raise SetupError(f"connection '{self.name}' has the project '{self._project}', not {sorted(unknown)}")
        if query.spans.raw:
            raise SetupError("files know no filter language; say it by kind, name, status, attributes, latency or tag")

    def _matching(self, query: TraceQuery, page: Sequence[Found]) -> list[TraceRef]:
        return [ref for found in page if (ref := self._ref(query, found)) is not None]

    def _ref(self, query: TraceQuery, found: Found) -> TraceRef | None:
        """Return the ref of a trace that meets all conditions of the query; spans are read only if they matter."""
        spans: Sequence[Span] = ()
        if query.stratum or not query.spans.is_empty():
            spans = self._index.spans(found.trace_id)
            if not query.spans.is_empty() and not any(meets(span, query.spans) for span in spans):
                return None
        reports: tuple[UserReport, ...] = ()
        if query.reports or query.trace_ids:
            reports = tuple(self._reports(found.trace_id, query.reports or _BY_PEOPLE))
        if query.reports and not query.trace_ids and not _counts(found, reports, query):
            return None
        return TraceRef(
            connection=self.name,
            project=self._project,
            trace_id=TraceId(found.trace_id),
            rules=(query.rule,),
            start_time=found.started,
            stratum=_stratum(spans, query.stratum) if query.stratum else None,
            reports=reports,
        )

    def _reports(self, trace_id: str, wanted: Sequence[ReportFilter]) -> Iterator[UserReport]:
        for annotation in self._index.annotations(trace_id):
            if counts_as_report(annotation, wanted):
                yield report_from(annotation, {})

    def _named(self, query: TraceQuery) -> list[TraceRef]:
        """Look up ids of traces and spans, or URLs that end in one; what is nowhere becomes a ref all the same."""
        refs: dict[str, TraceRef | None] = {}
        for text in query.trace_ids:
            last = unquote(urlsplit(text.strip()).path.rpartition("/")[2])
            found = self._index.trace(text.strip()) or self._index.trace(last)
            if found is not None:
                refs[found.trace_id] = self._ref(query, found)
            else:
                missing = TraceId(text.strip())
                refs[missing] = TraceRef(connection=self.name, project="", trace_id=missing, rules=(query.rule,))
        never = datetime.max.replace(tzinfo=UTC)
        return sorted((ref for ref in refs.values() if ref), key=lambda ref: ref.start_time or never)

    def _pulled(self, ref: TraceRef) -> RawTrace | Rejection:
        if damage := self._index.damage(ref.trace_id):
            return Rejection(trace_id=ref.trace_id, reason=RejectReason.UNREADABLE, detail=damage)
        spans = tree_order(self._index.spans(ref.trace_id))
        if not spans:
            detail = "No file holds a span of this trace."
            return Rejection(trace_id=ref.trace_id, reason=RejectReason.TRACE_GONE, detail=detail)
        running = any(span.start_time for span in spans) and is_still_running(
            spans, now=self._now(), settle_s=self._settle_s, open_run_s=self._open_s
        )
        return RawTrace(ref=ref, spans=spans, still_running=running)

    def _annotate(self, annotations: Sequence[Annotation]) -> list[Delivery]:
        lines: dict[str, bytes] = {}
        refused: dict[str, str] = {}
        written_at = self._now().isoformat()
        for annotation in annotations:
            if not self._index.has_span(annotation.trace_id, annotation.span_id):
                refused[annotation.key] = f"no file holds span {annotation.span_id} of trace {annotation.trace_id}"
                continue
            fields: dict[str, Any] = annotation.model_dump(mode="json", exclude={"locator"})
            try:
                lines[annotation.key] = encoded(annotation.key, {**fields, "written_at": written_at})
            except ValueError as error:
                refused[annotation.key] = f"JSON can't hold it: {error}"
        if lines:
            self._output.write(lines)
        return [
            Delivery(key=a.key, state=DeliveryState.FAILED, reason=refused[a.key])
            if a.key in refused
            else Delivery(key=a.key, state=DeliveryState.CONFIRMED)
            for a in annotations
        ]


def _counts(found: Found, reports: Sequence[UserReport], query: TraceQuery) -> bool:
    """Tell whether a reported trace is in the window, or one of its reports was given since the query's moment."""
    if not reports:
        return False
    if query.start is None or found.started is None or found.started >= query.start:
        return True
    since = query.reports_since
    return since is not None and any(one.reported_at is not None and one.reported_at >= since for one in reports)


def _stratum(spans: Sequence[Span], key: str) -> str | None:
    root = next((span for span in spans if span.parent_id is None), None)
    attributes = root.attributes if root else {}
    value = attributes.get(key, attributes.get(f"metadata.{key}"))
    return None if value is None else str(value)


def _compared(annotation: Annotation, held: Mapping[str, Any] | None) -> Delivery:
    reason = ""
    if held is None:
        reason = "it is not in the file"
    elif held.get("label") != annotation.label or not _same(held.get("score"), annotation.score):
        reason = "the file shows another label or score"
    state = DeliveryState.RETRY if reason else DeliveryState.CONFIRMED
    return Delivery(key=annotation.key, state=state, reason=reason)


def _same(score: Any, wanted: float | None) -> bool:
    return score is wanted if score is None or wanted is None else isclose(score, wanted, abs_tol=1e-12)
