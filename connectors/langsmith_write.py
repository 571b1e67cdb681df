"""Write annotations to LangSmith as feedback, read them back, and put runs before reviewers."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from connectors.http import Declined, Failing
from connectors.langsmith_api import LangSmithApi
from connectors.langsmith_feedback import body, config_for, edit, feedback_id, holds, why_unwritable
from connectors.langsmith_query import PAGE
from connectors.ordering import moment
from enricher.errors import BadReply, EnricherError, SetupError, TryAgain
from enricher.verdict import Annotation, Delivery, DeliveryState

_RUNS_PER_LISTING = 50  # run ids in one URL
_FEEDBACK = "/api/v1/feedback"
_CONFIGS = "/api/v1/feedback-configs"
_SECTIONS = ("needs_my_review", "needs_others_review", "archived")
_log = logging.getLogger(__name__)


class Writer:
    """Everything that changes the workspace. Each feedback is one request, so that each has its own result."""

    def __init__(
        self,
        api: LangSmithApi,
        *,
        extend_trace_retention: bool,
        max_value_bytes: int,
        concurrency: int,
        ingest_grace_s: float,
        now: Callable[[], datetime],
    ) -> None:
        self._api = api
        self._extend = extend_trace_retention
        self._max_bytes = max_value_bytes
        self._turns = asyncio.Semaphore(concurrency)
        self._grace = timedelta(seconds=ingest_grace_s)
        self._now = now
        self.notes: list[str] = []

    async def annotate(self, annotations: Sequence[Annotation]) -> Sequence[Delivery]:
        """Post a batch. When the platform failed before any item was settled, that is raised instead."""
        troubles: list[EnricherError] = []
        deliveries = await asyncio.gather(*(self._written(one, troubles) for one in annotations))
        if troubles and not any(one.state in (DeliveryState.SENT, DeliveryState.FAILED) for one in deliveries):
            raise troubles[0]
        return deliveries

    async def _written(self, annotation: Annotation, troubles: list[EnricherError]) -> Delivery:
        if reason := why_unwritable(annotation):
            return _delivery(annotation, DeliveryState.FAILED, reason)
        async with self._turns:
            if stop := next((one for one in troubles if _concerns_all(one)), None):
                return _delivery(annotation, DeliveryState.RETRY, f"not sent: {stop}")
            try:
                await self._put(annotation)
            except Declined as error:
                return self._declined(annotation, error)
            except (TryAgain, SetupError, BadReply) as error:
                # Taken or not: the id makes a repeat harmless.
                troubles.append(error)
                return _delivery(annotation, DeliveryState.RETRY, str(error))
        return _delivery(annotation, DeliveryState.SENT, at=self._now())

    async def _put(self, annotation: Annotation) -> None:
        project_id = annotation.locator.get("project_id")
        if not project_id and annotation.project:
            project_id = next(iter(await self._api.projects([annotation.project])))
        fields = body(
            annotation,
            project_id=project_id,
            extend_trace_retention=self._extend,
            max_bytes=self._max_bytes,
            now=self._now(),
        )
        try:
            _object(await self._api.post(_FEEDBACK, fields))
        except Declined as error:
            if error.status == 404 and error.detail.lower() in ("", "not found"):
                await self._ensure_feedback()
            if error.status != 409:
                raise
            # Some servers replace a feedback that is posted again under its id, others answer 409 and want an edit.
            await self._api.patch(f"{_FEEDBACK}/{fields['id']}", edit(fields))

    async def _ensure_feedback(self) -> None:
        """Tell a missing endpoint from a missing run, where the 404 doesn't say which it is."""
        try:
            await self._api.get(_FEEDBACK, {"limit": 1})
        except Declined as error:
            raise (self._api.absent(_FEEDBACK) if error.status == 404 else error) from error

    def _declined(self, annotation: Annotation, error: Declined) -> Delivery:
        if error.status != 404:
            return _delivery(annotation, DeliveryState.FAILED, str(error))
        started = moment(annotation.locator.get("start_time"))
        if started is not None and self._now() - started > self._grace:
            return _delivery(annotation, DeliveryState.FAILED, f"the run is not there (any more): {error}")
        return _delivery(annotation, DeliveryState.RETRY, f"the run is not ingested yet: {error}")

    async def confirm(self, annotations: Sequence[Annotation]) -> Sequence[Delivery]:
        """Read back by run and key, many runs a request."""
        runs = list(dict.fromkeys(one.span_id for one in annotations))
        keys = sorted({one.name for one in annotations})
        found: dict[str, Mapping[str, Any]] = {}
        for at in range(0, len(runs), _RUNS_PER_LISTING):
            params = {"run": runs[at : at + _RUNS_PER_LISTING], "key": keys}
            async for row in self._api.listing(_FEEDBACK, params):
                found[str(row.get("id"))] = row
        return [self._confirmed(one, found.get(feedback_id(one))) for one in annotations]

    def _confirmed(self, annotation: Annotation, feedback: Mapping[str, Any] | None) -> Delivery:
        if feedback is None:
            return _delivery(annotation, DeliveryState.RETRY, "LangSmith does not show it yet")
        if not holds(feedback, annotation):
            return _delivery(annotation, DeliveryState.RETRY, "LangSmith shows another label or score")
        return _delivery(annotation, DeliveryState.CONFIRMED, at=self._now())

    async def prepare(self, names: Mapping[str, Sequence[str]]) -> None:
        """Create feedback configs. One that exists already with other bounds is left as its owner made it."""
        for name, labels in names.items():
            wanted = {"feedback_key": name, "feedback_config": config_for(name, labels), "is_lower_score_better": False}
            try:
                _object(await self._api.post(_CONFIGS, wanted))
            except Declined as error:
                if error.status == 404:
                    raise self._api.absent(_CONFIGS) from error
                if error.status not in (400, 409):
                    raise
                note = f"the feedback config of '{name}' differs from ours and is left as it is: {error.detail}"
                self.notes.append(note)
                _log.warning(note)

    async def add_to_queue(
        self, annotations: Sequence[Annotation], *, queue: str, instructions: str, keys: Iterable[str]
    ) -> Sequence[Delivery]:
        """Put each annotated run into the queue once, whatever section of it the run is in already."""
        queue_id = await self._queue(queue, instructions, keys)
        runs = dict.fromkeys(one.span_id for one in annotations)
        held, is_older = await self._queued(queue_id)
        states: dict[str, tuple[DeliveryState, str]] = {run: (DeliveryState.CONFIRMED, "queued before") for run in held}
        by_run = {one.span_id: one for one in annotations}
        for run in runs:
            if run not in held:
                states[run] = await self._enqueue(queue_id, by_run[run], is_older)
        return [_delivery(one, *states[one.span_id], at=self._now()) for one in annotations]

    async def _enqueue(self, queue_id: str, annotation: Annotation, is_older: bool) -> tuple[DeliveryState, str]:
        project_id = annotation.locator.get("project_id") or next(iter(await self._api.projects([annotation.project])))
        started = annotation.locator.get("start_time") if annotation.span_id == annotation.trace_id else None
        item = {"item_type": "RUN", "run_id": annotation.span_id, "project_id": project_id, "start_time": started}
        item = {name: value for name, value in item.items() if value}
        try:
            if is_older:
                await self._api.post(
                    f"/api/v1/annotation-queues/{queue_id}/runs", [annotation.span_id], is_repeatable=False
                )
            else:
                params = {"extend_trace_retention": "true" if self._extend else "false"}
                path = f"/api/v1/platform/annotation-queues/{queue_id}/items"
                await self._api.post(path, {"items": [item]}, params=params, is_repeatable=False)
        except Declined as error:
            late = error.status == 404
            return (DeliveryState.RETRY if late else DeliveryState.FAILED), str(error)
        except (TryAgain, BadReply) as error:
            return DeliveryState.RETRY, str(error)
        return DeliveryState.SENT, ""

    async def _queue(self, name: str, instructions: str, keys: Iterable[str]) -> str:
        async for row in self._api.listing("/api/v1/annotation-queues", {"name": name}):
            if row.get("name") == name:
                return str(row["id"])
        rubric = [{"feedback_key": key, "description": f"Do you agree with '{key}'?"} for key in keys]
        wanted = {"name": name, "rubric_instructions": instructions, "rubric_items": rubric}
        wanted["description"] = "Answers whose comparison with their context needs a person."
        made = _object(await self._api.post("/api/v1/annotation-queues", wanted, is_repeatable=False))
        return str(made["id"])

    async def _queued(self, queue_id: str) -> tuple[set[str], bool]:
        """Return the runs in a queue, and whether only the older queue endpoints answer."""
        path = f"/api/v1/platform/annotation-queues/{queue_id}/items"
        held: set[str] = set()
        try:
            for section in _SECTIONS:
                cursor: str | None = ""
                while cursor is not None:
                    params = {"status": section, "page_size": PAGE, **({"cursor": cursor} if cursor else {})}
                    page = _object(await self._api.get(path, params))
                    held |= {str(item["run_id"]) for item in page.get("items") or () if item.get("run_id")}
                    cursor = page.get("next_cursor") or None
        except (Declined, Failing) as error:
            if error.status not in (404, 405, 501):
                raise
            rows = self._api.listing(f"/api/v1/annotation-queues/{queue_id}/runs")
            return {str(row.get("id")) async for row in rows}, True
        return held, False


def _concerns_all(error: EnricherError) -> bool:
    """Tell whether a failure would meet every other item too: key, limit, outage; not one broken answer."""
    return isinstance(error, SetupError | TryAgain) and not isinstance(error, Failing)


def _object(reply: Any) -> Mapping[str, Any]:
    if not isinstance(reply, Mapping):
        raise BadReply(f"LangSmith answered {type(reply).__name__} instead of an object")
    return reply


def _delivery(annotation: Annotation, state: DeliveryState, reason: str = "", at: datetime | None = None) -> Delivery:
    return Delivery(key=annotation.key, state=state, reason=reason, remote_id=feedback_id(annotation), at=at)
