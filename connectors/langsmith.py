"""LangSmith as a connection: traces from its run queries, write-back as feedback, review by annotation queues."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from connectors.http import Declined, Failing
from connectors.langsmith_api import LangSmithApi
from connectors.langsmith_datasets import keep_examples
from connectors.langsmith_experiments import examples_of
from connectors.langsmith_find import OLDEST, Finder
from connectors.langsmith_labels import peoples_feedback
from connectors.langsmith_query import RUNS_PAGE, RunQuery, in_traces
from connectors.langsmith_runs import V2_SELECTS, by_trace, is_still_running, span_from_run
from connectors.langsmith_write import Writer
from connectors.ordering import tree_order
from enricher.errors import BadReply, SetupError, TryAgain
from enricher.seams import DatasetExample, Examples, Health, Kept
from enricher.trace import RawTrace, Rejection, RejectReason, TraceQuery, TraceRef, UserReport
from enricher.verdict import Annotation, Delivery, DeliveryState

_EARLIER = timedelta(hours=1)  # a run may start before its root when clocks differ
_NO_FEEDBACK = "00000000-0000-0000-0000-000000000000"
REVIEW_QUEUE = "trace-enricher"
_ANSWERED = "closed"  # its label once somebody has decided
_CALL_FOR_REVIEW = "needs_review"  # the annotation by which people are asked, whatever its prefix
REVIEW_INSTRUCTIONS = "Compare the answer with its context; the feedback on the run says where they part."


def _now() -> datetime:
    return datetime.now(UTC)


class LangSmithConnector:
    """A LangSmith workspace. See `enricher.seams.Connector`; `add_to_queue` comes on top."""

    def __init__(
        self,
        *,
        name: str,
        base_url: str,
        api_key: str,
        workspace_id: str | None = None,
        timeout_s: float = 60.0,
        queries_per_s: float = 1.0,
        calls_per_s: float = 20.0,
        write_concurrency: int = 8,
        page_size: int = RUNS_PAGE,
        traces_per_pull: int = 50,
        runs_per_page: int = 100,
        settle_s: float = 10.0,
        open_run_s: float = 3600.0,
        ingest_grace_s: float = 3600.0,
        extend_trace_retention: bool = False,
        max_value_bytes: int = 200_000,
        review_queue: str | None = None,
        now: Callable[[], datetime] = _now,
    ) -> None:
        """Connect lazily: nothing is sent before the first call.

        Args:
            queries_per_s: pace of run queries; LangSmith's documents disagree on what it allows.
            calls_per_s: pace of everything else, feedback above all.
            page_size: traces in one answer, at most 1000 (100 on v1).
            traces_per_pull: traces that are asked for and held in memory together.
            runs_per_page: runs with payloads in one answer, at most 1000 (100 on v1).
            settle_s: a trace counts as running for so long after its root has ended.
            open_run_s: how long a run without an end, or without its parent, holds its trace back.
            ingest_grace_s: age of a trace up to which "run not found" means "not ingested yet".
            review_queue: annotation queue that runs with a call for review are added to; None for none.
            extend_trace_retention: whether feedback upgrades a trace to the long retention, which is billed.
        """
        self.name = name
        self._review_queue = review_queue
        self._api = LangSmithApi(
            base_url=base_url,
            api_key=api_key,
            workspace_id=workspace_id,
            timeout_s=timeout_s,
            query_rate=queries_per_s,
            call_rate=calls_per_s,
        )
        self._finder = Finder(self._api, connection=name, page_size=page_size, now=now)
        self._writer = Writer(
            self._api,
            extend_trace_retention=extend_trace_retention,
            max_value_bytes=max_value_bytes,
            concurrency=write_concurrency,
            ingest_grace_s=ingest_grace_s,
            now=now,
        )
        self._per_pull = traces_per_pull
        self._per_page = runs_per_page
        self._settle_s = settle_s
        self._open_run_s = open_run_s
        self._extends = extend_trace_retention
        self._takes_batches = True
        self._now = now

    def find(self, query: TraceQuery) -> AsyncIterator[TraceRef]:
        """Yield the traces that match, each once, oldest first."""
        return self._finder.find(query)

    async def pull(self, refs: Sequence[TraceRef]) -> AsyncIterator[RawTrace | Rejection]:
        """Yield one value a ref; many traces come in one query."""
        for at in range(0, len(refs), self._per_pull):
            some = [await self._located(ref) for ref in refs[at : at + self._per_pull]]
            runs: dict[str, list[Mapping[str, Any]]] = {}
            for project_id in dict.fromkeys(ref.locator.get("project_id", "") for ref in some):
                if project_id:
                    of_project = [ref for ref in some if ref.locator.get("project_id") == project_id]
                    runs.update(await self._runs_of(of_project, project_id))
            for ref in some:
                yield await self._raw(ref, runs.get(ref.trace_id, []))

    async def _located(self, ref: TraceRef) -> TraceRef:
        if ref.locator.get("project_id") or not ref.project:
            return ref
        project_id = next(iter(await self._api.projects([ref.project])))
        return replace(ref, locator={**ref.locator, "project_id": project_id})

    async def _runs_of(self, refs: Sequence[TraceRef], project_id: str) -> dict[str, list[Mapping[str, Any]]]:
        """Return the runs of some traces of one project: in one query, else in two halves, else one by one."""
        if self._takes_batches and len(refs) > 1:
            try:
                found = await self._batch(refs, project_id)
            except Failing:
                # Too much for the server or for the time; a smaller question may pass.
                half = len(refs) // 2
                return {
                    **await self._runs_of(refs[:half], project_id),
                    **await self._runs_of(refs[half:], project_id),
                }
            except Declined as error:
                if error.status not in (400, 422):
                    raise
                self._takes_batches = False
                return await self._runs_of(refs, project_id)
            # Where a trace's time was wrong or unknown, the trace itself is asked for.
            lost = [ref for ref in refs if ref.trace_id not in found]
            return {**found, **{ref.trace_id: await self._single(ref, project_id) for ref in lost}}
        return {ref.trace_id: await self._single(ref, project_id) for ref in refs}

    async def _batch(self, refs: Sequence[TraceRef], project_id: str) -> dict[str, list[Mapping[str, Any]]]:
        starts = [ref.start_time for ref in refs]
        known = [start for start in starts if start is not None]
        query = RunQuery(
            project_ids=[project_id],
            start=min(known) - _EARLIER if len(known) == len(starts) else self._now() - OLDEST,
            filter=in_traces([ref.trace_id for ref in refs]),
            selects=V2_SELECTS,
            page_size=self._per_page,
        )
        return by_trace([run async for page in self._api.runs(query) for run in page])

    async def _single(self, ref: TraceRef, project_id: str) -> list[Mapping[str, Any]]:
        return list(await self._api.runs_of_trace(ref.trace_id, project_id, V2_SELECTS))

    async def _raw(self, ref: TraceRef, runs: Sequence[Mapping[str, Any]]) -> RawTrace | Rejection:
        if not runs:
            detail = "LangSmith has no such trace (any more); it may be deleted or past its retention"
            return Rejection(trace_id=ref.trace_id, reason=RejectReason.TRACE_GONE, detail=detail)
        try:
            spans = tree_order([span_from_run(await self._filled(run)) for run in runs])
        except Declined:
            detail = "a payload of this trace lies outside LangSmith's store and is gone"
            return Rejection(trace_id=ref.trace_id, reason=RejectReason.CONTENT_NOT_CAPTURED, detail=detail)
        except (KeyError, ValueError) as error:
            detail = f"LangSmith sent a run of this trace without its ids, or with a broken time: {error}"
            return Rejection(trace_id=ref.trace_id, reason=RejectReason.MISSING_IDS, detail=detail)
        running = is_still_running(spans, now=self._now(), settle_s=self._settle_s, open_run_s=self._open_run_s)
        root = next((span for span in spans if span.parent_id is None), None)
        if root is not None and root.start_time is not None:
            located = {**ref.locator, "start_time": root.start_time.isoformat()}
            ref = replace(ref, start_time=root.start_time, locator=located)
        return RawTrace(ref=ref, spans=spans, still_running=running)

    async def _filled(self, run: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the run with the payloads that only a presigned URL leads to."""
        filled = dict(run)
        for name in ("inputs", "outputs"):
            urls = run.get(f"{name}_s3_urls") or {}
            if run.get(name) is None and isinstance(urls, Mapping):
                parts = {key: await self._api.payload(str(at["presigned_url"])) for key, at in urls.items()}
                if parts:
                    filled[name] = parts.get("ROOT", parts)
        return filled

    async def annotate(self, annotations: Sequence[Annotation]) -> Sequence[Delivery]:
        """Write a batch of feedback; one Delivery each, in order.

        A call for review also puts its run into the review queue, if there is one; it counts as written only then.
        """
        deliveries = await self._writer.annotate(annotations)
        if self._review_queue is None:
            return deliveries
        written = (DeliveryState.SENT, DeliveryState.CONFIRMED)
        calls = [
            annotation
            for annotation, delivery in zip(annotations, deliveries, strict=True)
            if annotation.name.endswith(_CALL_FOR_REVIEW)
            and annotation.label != _ANSWERED
            and delivery.state in written
        ]
        queued = await self.add_to_queue(calls, queue=self._review_queue) if calls else ()
        failed = {delivery.key: delivery for delivery in queued if delivery.state not in written}
        return [failed.get(delivery.key, delivery) for delivery in deliveries]

    async def confirm(self, annotations: Sequence[Annotation]) -> Sequence[Delivery]:
        """Read written feedback back."""
        return await self._writer.confirm(annotations)

    async def keep_examples(self, name: str, examples: Sequence[DatasetExample]) -> Kept:
        """Put examples into a dataset, by their ids."""
        return await keep_examples(self._api, name, examples)

    async def examples(self, name: str, *, is_experiment: bool) -> Examples:
        """Return the examples that the runs of an experiment were made for."""
        return await examples_of(self._api, name, start=self._now() - OLDEST, is_experiment=is_experiment)

    async def peoples_labels(
        self, project: str, span_ids: Sequence[str], names: Sequence[str]
    ) -> Mapping[str, Sequence[UserReport]]:
        """Return what people gave on runs as feedback under these keys, oldest first."""
        return await peoples_feedback(self._api, span_ids, names)

    async def prepare(self, names: Mapping[str, Sequence[str]]) -> None:
        """Create feedback configs."""
        await self._writer.prepare(names)

    async def add_to_queue(
        self,
        annotations: Sequence[Annotation],
        *,
        queue: str = REVIEW_QUEUE,
        instructions: str = REVIEW_INSTRUCTIONS,
        keys: Iterable[str] = ("context_diff",),
    ) -> Sequence[Delivery]:
        """Put the annotated runs before reviewers, each once; the queue is created with its rubric when missing.

        Queue items hold no text, so write the annotations too: the diff is read from the run's feedback.
        """
        return await self._writer.add_to_queue(annotations, queue=queue, instructions=instructions, keys=keys)

    async def check(self) -> Health:
        """Report the server, what the key may do, the projects, and whether feedback is billed."""
        facts: dict[str, str] = {"url": self._api.base_url, "retention": self._retention()}
        problems: list[str] = []
        try:
            info = await self._api.info()
            facts["version"] = str(info.get("version") or "unknown")
            projects = await self._api.projects(None)
            facts["projects"] = ", ".join(sorted(projects.values())) or "none"
            if projects:
                facts["run queries"] = await self._generations(list(projects), info)
            await self._api.get("/api/v1/feedback", {"limit": 1})
            facts["key"] = "may read"
            if await self._may_write():
                facts["key"] = "may read and write feedback"
            else:
                problems.append("the LangSmith key may not write feedback; use one with write access")
        except (SetupError, TryAgain, BadReply) as error:
            problems.append(str(error))
        if notes := self._writer.notes:
            facts["feedback configs"] = "; ".join(notes)
        return Health(ok=not problems, facts=facts, problems=tuple(problems))

    async def _generations(self, project_ids: Sequence[str], info: Mapping[str, Any]) -> str:
        generation = await self._api.generation(project_ids)
        flags = info.get("instance_flags") or {}
        if flags.get("ch_query_enabled") is False:
            return "v2; v1 is removed"
        if str(generation) == "v1":
            return "v1 only; reports that were changed later are not seen again"
        return "v2; v1 still answers"

    async def _may_write(self) -> bool:
        """Tell whether the key may write, by an edit of a feedback that can't exist."""
        try:
            await self._api.patch(f"/api/v1/feedback/{_NO_FEEDBACK}", {})
        except Declined:
            return True
        except SetupError:
            return False
        return True

    def _retention(self) -> str:
        if self._extends:
            return "feedback upgrades its trace to extended retention, which is billed"
        return "feedback leaves the retention of traces as it is; nothing is billed for it"

    async def aclose(self) -> None:
        """Release connections."""
        await self._api.aclose()
