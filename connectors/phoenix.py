"""Read traces from Arize Phoenix and write annotations back to their spans."""

from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime
from math import isclose
from typing import Any

from connectors.fitting import cleaned
from connectors.http import Declined, HttpCalls
from connectors.ordering import tree_order
from connectors.phoenix_datasets import keep_examples
from connectors.phoenix_experiments import examples_of
from connectors.phoenix_find import EXPLICIT, Finder, batched
from connectors.phoenix_payload import refuse_reserved
from connectors.phoenix_query import counts_as_report, is_ours, report_from
from connectors.phoenix_reads import IDS_PER_REQUEST, LARGEST_PAGE, PhoenixReads, Project
from connectors.phoenix_spans import is_still_running
from connectors.phoenix_writes import AnnotationWriter, postponed
from enricher.errors import EnricherError, SetupError
from enricher.seams import DatasetExample, Examples, Health, Kept
from enricher.trace import RawTrace, Rejection, RejectReason, ReportFilter, Span, TraceQuery, TraceRef, UserReport
from enricher.verdict import Annotation, Delivery, DeliveryState

_ATTRIBUTE_LIMIT = 128  # default of the OpenTelemetry SDKs; the oldest attributes are dropped beyond it
_SAMPLED_SPANS = 50
_CONFIG_MARK = "Written by Trace Enricher."
# What a label is worth when a person picks it in Phoenix's editor; Phoenix colours between the lowest and the highest.
_LABEL_SCORES = {
    **dict.fromkeys(("faithful", "pass", "consistent", "win"), 1.0),
    **dict.fromkeys(("partial", "tie"), 0.5),
    **dict.fromkeys(("unsupported", "contradicted", "fail", "source_conflict", "loss"), 0.0),
}
_AXIS_SCORES = {"no": 0.0, "partial": 1.0, "yes": 2.0}


class PhoenixConnector:
    """A Phoenix server as a Connector. All requests are safe to repeat; nothing is read from PHOENIX_* variables.

    Args:
        name: name of the connection in the config.
        base_url: where the server answers, with its path prefix if it has one.
        api_key: bearer token; None for a server without authentication.
        projects: names of the projects to use when a query names none; None for all.
        timeout_s: seconds to wait for a reply.
        page_size: most traces or spans a request, at most 1000; smaller by itself where the server is too slow.
        pull_batch: traces that are held in memory together.
        write_batch: annotations a request; Phoenix needs about 7 ms for each and fails them together.
        settle_s: a trace is still running while its newest span is younger than this.
        open_parent_s: and while a parent span is missing and the newest span is younger than this.
        defer_explicit: whether traces asked for by id or URL are deferred too while they still run.
        report_lookback_days: reports count on traces up to this age; None for any age.
        max_metadata_bytes: longest metadata, and longest explanation; more is cut and flagged `diff_truncated`.
    """

    def __init__(
        self,
        *,
        name: str,
        base_url: str,
        api_key: str | None = None,
        projects: Sequence[str] | None = None,
        timeout_s: float = 30.0,
        page_size: int = LARGEST_PAGE,
        pull_batch: int = IDS_PER_REQUEST,
        write_batch: int = 100,
        settle_s: float = 30.0,
        open_parent_s: float = 900.0,
        defer_explicit: bool = True,
        report_lookback_days: float | None = 90.0,
        max_metadata_bytes: int = 1_000_000,
    ) -> None:
        self.name = name
        self._calls = HttpCalls(base_url=base_url, api_key=api_key, timeout_s=timeout_s)
        self._reads = PhoenixReads(self._calls, page_size=page_size)
        self._finder = Finder(reads=self._reads, connection=name, report_lookback_days=report_lookback_days)
        self._writer = AnnotationWriter(self._calls, batch_size=write_batch, max_bytes=max_metadata_bytes)
        self._configured = tuple(projects) if projects is not None else None
        self._has_key = api_key is not None
        self._pull_batch = pull_batch
        self._settle_s = settle_s
        self._open_parent_s = open_parent_s
        self._defer_explicit = defer_explicit

    async def find(self, query: TraceQuery) -> AsyncIterator[TraceRef]:
        """Yield the traces that match, each once, oldest first.

        With `reports_since`, traces outside the window count too when a matching report was given since then. Phoenix
        can't be asked when a report was given, so all traces with a matching report are listed, back to
        `report_lookback_days` before `reports_since`, and the times of their reports are compared here.
        An explicit id that is in none of the projects is yielded too; pulling it gives the rejection `trace_gone`.
        """
        projects = await self._reads.projects(query.projects if query.projects is not None else self._configured)
        async for ref in self._finder.find(query, projects):
            yield ref

    async def pull(self, refs: Sequence[TraceRef]) -> AsyncIterator[RawTrace | Rejection]:
        """Yield the whole trace of each ref, spans in tree order, or a Rejection when no span of it is left."""
        for batch in batched(refs, self._pull_batch):
            spans = await self._spans_of(batch)
            now = datetime.now(UTC)
            for ref in batch:
                yield self._raw_trace(ref, spans[ref.trace_id], now) if ref.trace_id in spans else _gone(ref)

    async def annotate(self, annotations: Sequence[Annotation]) -> Sequence[Delivery]:
        """Write annotations of spans and documents; CONFIRMED means that Phoenix answered after its commit."""
        return await self._writer.write(annotations)

    async def confirm(self, annotations: Sequence[Annotation]) -> Sequence[Delivery]:
        """Read annotations back; those of documents can't be read, so they are written again instead."""
        by_project: defaultdict[str, list[Annotation]] = defaultdict(list)
        for annotation in annotations:
            if annotation.document_position is None:
                by_project[annotation.project].append(annotation)
        found: dict[str, Delivery] = {}
        for project, group in by_project.items():
            for batch in batched(group, IDS_PER_REQUEST):
                found.update(await self._read_back(project, batch))
        documents = [annotation for annotation in annotations if annotation.document_position is not None]
        if documents:
            found.update({delivery.key: delivery for delivery in await self._writer.write(documents)})
        return [found[annotation.key] for annotation in annotations]

    async def prepare(self, names: Mapping[str, Sequence[str]]) -> None:
        """Create an annotation config a name and offer it in the projects; a config of somebody else is left alone."""
        refuse_reserved(names)
        projects = await self._reads.projects(self._configured)
        existing = await self._configs("v1/annotation_configs")
        ids = {name: await self._config(name, labels, existing.get(name)) for name, labels in names.items()}
        for project in projects:
            path = f"v1/projects/{project.id}/annotation_configs"
            offered = await self._configs(path)
            for name in names:
                if name not in offered:
                    await self._calls.put(f"{path}/{ids[name]}")

    async def keep_examples(self, name: str, examples: Sequence[DatasetExample]) -> Kept:
        """Put examples into a dataset, by their ids."""
        return await keep_examples(self._calls, name, examples)

    async def examples(self, name: str, *, is_experiment: bool) -> Examples:
        """Return where the traces of an experiment are, and the examples they were made for; of a project, nothing."""
        return await examples_of(self._reads, name) if is_experiment else Examples(project=name)

    async def peoples_labels(
        self, project: str, span_ids: Sequence[str], names: Sequence[str]
    ) -> Mapping[str, Sequence[UserReport]]:
        """Return what people annotated on spans under these names, oldest first."""
        path = f"v1/projects/{await self._reads.project_id(project)}/span_annotations"
        rows: list[Mapping[str, Any]] = []
        for batch in batched(span_ids, IDS_PER_REQUEST):
            asked = [("span_ids", span_id) for span_id in batch] + [("include_annotation_names", n) for n in names]
            async for page in self._reads.pages(path, asked, limit=LARGEST_PAGE):
                rows += [row for row in page if counts_as_report(row, [ReportFilter()]) and not is_ours(row)]
        authors = await self._reads.author_names() if any(row.get("user_id") for row in rows) else {}
        found: defaultdict[str, list[UserReport]] = defaultdict(list)
        for row in sorted(rows, key=lambda row: row.get("updated_at") or ""):
            found[row["span_id"]].append(report_from(row, authors))
        return found

    async def check(self) -> Health:
        """Report version, credentials and projects, and whether spans run into the attribute limit."""
        facts: dict[str, str] = {"url": self._calls.base_url}
        try:
            facts["version"] = await self._calls.text("arize_phoenix_version")
            projects = await self._reads.projects(self._configured)
            facts["auth"] = "API key accepted" if self._has_key else "no API key needed"
            facts["projects"] = ", ".join(project.name for project in projects) or "none yet"
            problems = [hint for project in projects if (hint := await self._attribute_limit_hint(project))]
        except EnricherError as error:
            return Health(ok=False, facts=facts, problems=(str(error),))
        return Health(ok=True, facts=facts, problems=tuple(problems))

    async def aclose(self) -> None:
        """Release connections."""
        await self._calls.aclose()

    async def _spans_of(self, refs: Sequence[TraceRef]) -> dict[str, list[Span]]:
        by_project: defaultdict[str, list[str]] = defaultdict(list)
        for ref in refs:
            if ref.project:
                project_id = ref.locator.get("project_id") or await self._reads.project_id(ref.project)
                by_project[project_id].append(ref.trace_id)
        spans: defaultdict[str, list[Span]] = defaultdict(list)
        for project_id, trace_ids in by_project.items():
            async for span in self._reads.spans(project_id, list(dict.fromkeys(trace_ids)), ()):
                spans[span.trace_id].append(span)
        return spans

    def _raw_trace(self, ref: TraceRef, spans: Sequence[Span], now: datetime) -> RawTrace:
        unique = list({span.span_id: span for span in spans}.values())
        running = is_still_running(unique, now=now, settle_s=self._settle_s, open_parent_s=self._open_parent_s)
        if EXPLICIT in ref.locator and not self._defer_explicit:
            running = False
        return RawTrace(ref=ref, spans=tree_order(unique), still_running=running)

    async def _read_back(self, project: str, batch: Sequence[Annotation]) -> dict[str, Delivery]:
        asked = [("span_ids", span_id) for span_id in dict.fromkeys(a.span_id.lower() for a in batch)]
        asked += [("identifier", identifier) for identifier in dict.fromkeys(cleaned(a.identifier) for a in batch)]
        path = f"v1/projects/{await self._reads.project_id(project)}/span_annotations"
        rows: dict[tuple[str, str, str], Mapping[str, Any]] = {}
        async for page in self._reads.pages(path, asked, limit=LARGEST_PAGE):
            rows.update({(row["span_id"], row["name"], row["identifier"]): row for row in page})
        found: dict[str, Delivery] = {}
        for annotation in batch:
            key = (annotation.span_id.lower(), cleaned(annotation.name), cleaned(annotation.identifier))
            found[annotation.key] = _compared(annotation, rows.get(key))
        return found

    async def _configs(self, path: str) -> dict[str, Mapping[str, Any]]:
        pages = self._reads.pages(path, (), limit=LARGEST_PAGE)
        return {config["name"]: config async for page in pages for config in page}

    async def _config(self, name: str, labels: Sequence[str], existing: Mapping[str, Any] | None) -> str:
        """Return the id of the annotation config, created when there is none, completed when it is ours."""
        wanted = _config_body(name, labels)
        try:
            if existing is None:
                return str((await self._calls.post("v1/annotation_configs", wanted))["data"]["id"])
            config_id = str(existing["id"])
            values = existing.get("values") or []
            known = {value["label"] for value in values}
            added = [value for value in wanted.get("values", ()) if value["label"] not in known]
            if added and existing.get("description") == _CONFIG_MARK:
                await self._calls.put(f"v1/annotation_configs/{config_id}", {**wanted, "values": [*values, *added]})
            return config_id
        except Declined as error:
            if error.status == 409:  # somebody created it just now; Phoenix takes the name for an id
                return name
            raise SetupError(f"Phoenix refuses the annotation config '{name}': {error.detail or error}") from error

    async def _attribute_limit_hint(self, project: Project) -> str | None:
        # The kind is among the first attributes, so it is often lost too, and the span is UNKNOWN.
        asked = [("span_kind", "RETRIEVER"), ("span_kind", "UNKNOWN"), ("limit", _SAMPLED_SPANS)]
        reply = await self._calls.get(f"v1/projects/{project.id}/spans", asked)
        spans = reply["data"]
        full = sum(len(span["attributes"]) >= _ATTRIBUTE_LIMIT for span in spans)
        if not full:
            return None
        return (
            f"In project '{project.name}', {full} of the {len(spans)} newest spans reach OpenTelemetry's "
            f"limit of {_ATTRIBUTE_LIMIT} attributes and may have lost documents; "
            "set OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT=10000 in the application that is traced"
        )


def _gone(ref: TraceRef) -> Rejection:
    where = f"in project '{ref.project}'" if ref.project else "in any of the projects"
    return Rejection(
        trace_id=ref.trace_id, reason=RejectReason.TRACE_GONE, detail=f"Phoenix holds no span of this trace {where}."
    )


def _compared(annotation: Annotation, row: Mapping[str, Any] | None) -> Delivery:
    if row is None:
        return postponed(annotation, "it is not on the span (yet)")
    result = row.get("result") or {}
    if result.get("label") != cleaned(annotation.label) or not _same(result.get("score"), annotation.score):
        return postponed(annotation, "the span shows another label or score")
    return Delivery(key=annotation.key, state=DeliveryState.CONFIRMED, remote_id=str(row["id"]))


def _same(score: float | None, wanted: float | None) -> bool:
    if score is None or wanted is None:
        return score is wanted
    return isclose(score, wanted, rel_tol=1e-9, abs_tol=1e-12)


def _config_body(name: str, labels: Sequence[str]) -> dict[str, Any]:
    body: dict[str, Any] = {"name": name, "description": _CONFIG_MARK}
    if not labels:
        return {**body, "type": "FREEFORM"}
    scores = _AXIS_SCORES if {"yes", "no"} <= set(labels) else _LABEL_SCORES
    values = [{"label": label, "score": scores.get(label)} for label in labels]
    direction = "MAXIMIZE" if any(value["score"] is not None for value in values) else "NONE"
    return {**body, "type": "CATEGORICAL", "optimization_direction": direction, "values": values}
