"""Write annotations to Phoenix so that every item gets its own result, although Phoenix fails batches as a whole."""

import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import httpx

from connectors.http import Declined, Failing, HttpCalls, error_for, guarded
from connectors.phoenix_client import phoenix_client
from connectors.phoenix_payload import payload, why_unwritable
from enricher.errors import BadReply, SetupError, TryAgain
from enricher.verdict import Annotation, Delivery, DeliveryState

_HEX = re.compile(r"\b[0-9a-f]{16}\b")
# A batch of 100 with one item that the server chokes on fails 8 times in a row while it is halved.
_FAILURES_IN_A_ROW = 10
_ABOUT_ITEMS = (400, 409, 422)  # other refusals are about the request, so no item must be given up for them


@dataclass
class _Progress:
    """What became of each place of the batch so far."""

    deliveries: dict[int, Delivery] = field(default_factory=dict)
    failures_in_a_row: int = 0

    def has_settled(self, places: Sequence[int]) -> bool:
        """Tell whether one of the places got an answer that stands."""
        done = (self.deliveries.get(place) for place in places)
        return any(delivery is not None and delivery.state is not DeliveryState.RETRY for delivery in done)


class AnnotationWriter:
    """Sends annotations in small batches and narrows a refused batch down to the items that cause it."""

    def __init__(self, calls: HttpCalls, *, batch_size: int, max_bytes: int) -> None:
        self._calls = calls
        self._client = phoenix_client(calls.client)
        self._batch_size = batch_size
        self._max_bytes = max_bytes

    async def write(self, annotations: Sequence[Annotation]) -> list[Delivery]:
        """Write all and return one Delivery each, in order.

        Raises:
            SetupError: the credentials are refused, or this is not Phoenix.
            TryAgain: the platform failed before any item was settled; later failures are RETRY items instead.
        """
        progress = _Progress()
        sendable: dict[bool, list[int]] = {False: [], True: []}
        for place, annotation in enumerate(annotations):
            if reason := why_unwritable(annotation):
                progress.deliveries[place] = failed(annotation, reason)
            else:
                sendable[annotation.document_position is not None].append(place)
        wrote_any = False
        for is_document, places in sendable.items():
            for start in range(0, len(places), self._batch_size):
                batch = places[start : start + self._batch_size]
                try:
                    await self._write_batch(annotations, batch, is_document, progress)
                    wrote_any = True
                except (TryAgain, BadReply) as error:
                    if not wrote_any and not progress.has_settled(batch):
                        raise
                    # What follows would fail the same way; it stays due, and what is settled is not lost.
                    _postpone_missing(annotations, progress, str(error))
                    return [progress.deliveries[place] for place in range(len(annotations))]
        return [progress.deliveries[place] for place in range(len(annotations))]

    async def _write_batch(
        self, annotations: Sequence[Annotation], batch: Sequence[int], is_document: bool, progress: _Progress
    ) -> None:
        pending = deque([list(batch)])
        while pending:
            places = pending.popleft()
            group = [annotations[place] for place in places]
            try:
                ids = await self._send(group, is_document)
            except Declined as error:
                unknown = _unknown_spans(error, group)
                if not unknown and error.status not in _ABOUT_ITEMS:
                    raise SetupError(f"{error}; is the base URL that of Phoenix?") from error
                for place in [p for p in places if annotations[p].span_id.lower() in unknown]:
                    progress.deliveries[place] = failed(annotations[place], "the span does not exist")
                    places.remove(place)
                if not unknown and len(places) == 1:
                    progress.deliveries[places[0]] = failed(group[0], error.detail or str(error))
                elif places:
                    pending.extendleft([places] if unknown else reversed(_halves(places)))
                progress.failures_in_a_row = 0
            except Failing as error:
                progress.failures_in_a_row += 1
                if error.status not in (500, 413) or progress.failures_in_a_row > _FAILURES_IN_A_ROW:
                    raise
                if len(places) > 1:
                    pending.extendleft(reversed(_halves(places)))
                else:
                    progress.deliveries[places[0]] = _after_failure(group[0], error)
            else:
                progress.failures_in_a_row = 0
                for place, remote_id in zip(places, ids, strict=True):
                    # The reply comes after the commit, so its id is the proof.
                    progress.deliveries[place] = Delivery(
                        key=annotations[place].key, state=DeliveryState.CONFIRMED, remote_id=remote_id
                    )

    async def _send(self, group: Sequence[Annotation], is_document: bool) -> list[str]:
        """Post one batch and return the ids of its rows; `sync` makes Phoenix answer after the commit, or refuse."""
        bodies = [payload(annotation, max_bytes=self._max_bytes) for annotation in group]
        spans = self._client.spans
        if is_document:
            send = partial(spans.log_document_annotations, document_annotations=bodies, sync=True)
        else:
            send = partial(spans.log_span_annotations, span_annotations=bodies, sync=True)
        try:
            rows = await guarded(send, self._calls.base_url)
            ids = [str(row["id"]) for row in rows]
        except httpx.HTTPStatusError as error:
            raise error_for(error.response, self._calls.base_url) from error
        except (ValueError, KeyError, TypeError) as error:
            raise BadReply(f"{self._calls.base_url} did not confirm the annotations as JSON: {error}") from error
        if len(ids) != len(group):
            raise BadReply(f"{self._calls.base_url} confirmed {len(ids)} annotations of {len(group)}")
        return ids


def failed(annotation: Annotation, reason: str) -> Delivery:
    """Say that this annotation can never be written."""
    return Delivery(key=annotation.key, state=DeliveryState.FAILED, reason=reason)


def postponed(annotation: Annotation, reason: str) -> Delivery:
    """Say that this annotation stays due."""
    return Delivery(key=annotation.key, state=DeliveryState.RETRY, reason=reason)


def _after_failure(annotation: Annotation, error: Failing) -> Delivery:
    return failed(annotation, str(error)) if error.status == 413 else postponed(annotation, str(error))


def _postpone_missing(annotations: Sequence[Annotation], progress: _Progress, reason: str) -> None:
    for place, annotation in enumerate(annotations):
        progress.deliveries.setdefault(place, postponed(annotation, reason))


def _unknown_spans(error: Declined, group: Sequence[Annotation]) -> set[str]:
    """Return the span ids of the batch that a 404 names as unknown."""
    if error.status != 404:
        return set()
    return set(_HEX.findall(error.detail)) & {annotation.span_id.lower() for annotation in group}


def _halves(places: list[int]) -> list[list[int]]:
    middle = len(places) // 2
    return [places[:middle], places[middle:]]
