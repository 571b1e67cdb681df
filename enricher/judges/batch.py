"""Send calls as batch files, at a lower price and hours later; what a crash leaves is taken up where it was."""

import asyncio
import contextlib
import hashlib
import json
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from secrets import token_hex
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from enricher.errors import SetupError
from enricher.judges.batch_api import BatchApi, Handed
from enricher.judges.deadline import Deadline, id_of_this_trace
from enricher.judges.dialect import Question
from enricher.judges.endpoint import Down, Endpoint
from enricher.judges.wire import Answered, Unreached
from enricher.traffic import BatchBook, BatchRecord, BatchState, LineRecord

_log = logging.getLogger(__name__)
_UNHEARD_OF = timedelta(minutes=5)  # another process has not moved a batch for so long: it is taken over
_LOST = timedelta(hours=30)  # a batch ends within a day, or never
_LONGEST_PAUSE_S = 900.0
_MOST_FAILURES = 10  # in a row, of talking to the server, before what waits is given up for this run


class BatchOptions(BaseModel):
    """How calls are collected and how long they may take."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    collect_s: float = Field(default=20.0, ge=0)  # a batch is handed in when nothing was added for so long
    most_calls: int = Field(default=10_000, ge=1, le=50_000)
    most_bytes: int = Field(default=90_000_000, ge=1_000)
    poll_s: float = Field(default=30.0, gt=0)
    live_after_s: float | None = Field(default=None, ge=0)  # then at once and at full price; None: never
    tries: int = Field(default=3, ge=1)  # batches that a call may be part of
    price_factor: float = Field(default=0.5, ge=0, le=1)


class Released(Down):
    """The run is ending: what is under way goes on at the server, and the next run takes it up."""


@dataclass(eq=False, slots=True)
class _Waiting:
    """A call whose answer somebody waits for."""

    key: str
    line: bytes
    trace_id: str
    turned: asyncio.Future[None]  # done when something about the call has changed
    batch_id: str | None = None


class Batcher:
    """Carries the calls of one model client; one batch after the other, as many under way as there are."""

    def __init__(
        self,
        book: BatchBook,
        options: BatchOptions,
    ) -> None:
        self._book = book
        self._options = options
        self._clock = time.monotonic
        self._woken = asyncio.Event()
        self._api: BatchApi | None = None
        self._waiting: dict[str, list[_Waiting]] = {}
        self._queue: dict[str, _Waiting] = {}
        self._handing: dict[str, list[_Waiting]] = {}  # batches that are not with the server yet
        self._submitted: set[str] = set()  # keys that this process pays for
        self._read: list[str] = []  # keys of plain records, which no settlement drops
        self._tried: set[str] = set()
        self._cancelled: set[str] = set()
        self._added = 0.0
        self._failures = 0
        self._not_before = 0.0
        self._working: asyncio.Task[None] | None = None
        self._is_released = False

    async def send(
        self, body: Mapping[str, Any], endpoint: Endpoint, question: Question, tokens: int, deadline: Deadline
    ) -> Answered:
        """Bring the answer: from the books, by a batch, or live when batches have taken too long."""
        self._api = self._api or BatchApi(endpoint)
        data = json.dumps(body, separators=(",", ":"), sort_keys=True)
        key = hashlib.sha256(data.encode()).hexdigest()[:40]
        while True:
            line = await self._book.line(key)
            if line is not None and line.status is not None:
                return self._answered(line)
            if self._is_live(line):
                return await endpoint.send(body, question=question, tokens=tokens, deadline=deadline)
            if line is not None and line.batch_id is None and line.tries >= self._options.tries:
                await self._book.drop_lines([key])  # the next run begins anew
                raise Unreached(f"{line.tries} batches brought no answer", is_timeout=False)
            began = self._clock()
            try:
                await self._wait(key, body, line)
            finally:
                deadline.put_off(self._clock() - began)

    def release(self) -> None:
        """Let go of all who wait; what is with the server stays there for the next run."""
        self._is_released = True
        self._fail_all(Released("the run is ending; the batch goes on at the server, and the next run takes it up"))

    async def aclose(self) -> None:
        """End what is under way; it can be taken up again."""
        if self._working is not None:
            self._working.cancel()
            await asyncio.wait([self._working])
        await self._book.drop_lines(self._read)
        self._read.clear()

    def _answered(self, line: LineRecord) -> Answered:
        if not id_of_this_trace():
            self._read.append(line.key)
        is_paid = line.key not in self._submitted
        self._submitted.discard(line.key)
        body = line.body.encode("utf-8", "replace")
        return Answered(line.status or 0, {}, body, self._options.price_factor, is_paid)

    def _is_live(self, line: LineRecord | None) -> bool:
        if self._options.live_after_s is None:
            return False
        if line is None:
            return self._options.live_after_s == 0
        if line.batch_id is not None:
            return False  # its batch is cancelled first, so that nothing is paid twice
        return line.tries >= self._options.tries or self._is_late(line.first_asked_at)

    def _is_late(self, since: datetime) -> bool:
        limit = self._options.live_after_s
        return limit is not None and (self._book.now() - since).total_seconds() >= limit

    async def _wait(self, key: str, body: Mapping[str, Any], line: LineRecord | None) -> None:
        """Queue a call, unless it is in a batch already, and wait until something has come of it."""
        if self._is_released:
            raise Released("the run is ending")
        request = {"custom_id": key, "method": "POST", "url": "/v1/chat/completions", "body": body}
        waiting = _Waiting(
            key=key,
            line=json.dumps(request, separators=(",", ":")).encode(),
            trace_id=id_of_this_trace(),
            turned=asyncio.get_running_loop().create_future(),
            batch_id=line.batch_id if line is not None else None,
        )
        same = self._waiting.setdefault(key, [])
        if same:
            waiting.batch_id = same[0].batch_id
        elif waiting.batch_id is None:
            self._queue[key] = waiting
            self._added = self._clock()
        same.append(waiting)
        self._woken.set()
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(self._work())
        try:
            await waiting.turned
        finally:
            same.remove(waiting)
            if not same:
                self._waiting.pop(key, None)
                self._queue.pop(key, None)

    # the one task that talks to the server

    async def _work(self) -> None:
        """Hand in and look after batches for as long as somebody waits."""
        polled = float("-inf")
        while self._waiting:
            try:
                now = self._clock()
                if now >= self._not_before:
                    await self._hand_in()
                    if now - polled >= self._options.poll_s or polled == float("-inf"):
                        polled = now
                        await self._look_after()
                    self._failures = 0
            except Unreached as error:
                self._stumble(str(error))
            except Exception as error:
                self._fail_all(error)
                return
            # Short steps while calls are collected; they cost nothing.
            step = min(self._options.collect_s / 4, self._options.poll_s) if self._queue else self._options.poll_s
            self._woken.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(0.01, step)):
                    await self._woken.wait()

    def _stumble(self, problem: str) -> None:
        self._failures += 1
        pause = min(_LONGEST_PAUSE_S, self._options.poll_s * 2.0**self._failures)
        self._not_before = self._clock() + pause
        _log.warning("the batch server was not reached (%s); tried again in %.0f s", problem, pause)
        if self._failures >= _MOST_FAILURES:
            self._failures = 0
            self._fail_all(Down(f"the batch server could not be reached: {problem}"))

    def _fail_all(self, error: Exception) -> None:
        for waiting in self._all_waiting():
            if not waiting.turned.done():
                waiting.turned.set_exception(error)

    def _all_waiting(self) -> list[_Waiting]:
        return [waiting for same in self._waiting.values() for waiting in same]

    async def _hand_in(self) -> None:
        for batch_id in list(self._handing):
            await self._submit(batch_id)
        while self._queue:
            is_full = len(self._queue) >= self._options.most_calls
            if not is_full and self._clock() - self._added < self._options.collect_s:
                return
            batch_id, taken = f"enricher-{token_hex(8)}", self._take()
            await self._book.add_batch(batch_id, {waiting.key: waiting.trace_id for waiting in taken})
            for waiting in taken:
                self._submitted.add(waiting.key)
                for same in self._waiting.get(waiting.key, ()):
                    same.batch_id = batch_id
            self._handing[batch_id] = taken
            await self._submit(batch_id)

    def _take(self) -> list[_Waiting]:
        taken: list[_Waiting] = []
        size = 0
        for key, waiting in list(self._queue.items()):
            size += len(waiting.line) + 1
            if len(taken) >= self._options.most_calls or (taken and size > self._options.most_bytes):
                break
            taken.append(self._queue.pop(key))
        return taken

    async def _submit(self, batch_id: str) -> None:
        """Bring one batch to the server, going on where an earlier attempt failed."""
        lines = b"".join(waiting.line + b"\n" for waiting in self._handing[batch_id])
        api = self._server()
        # What failed before may have arrived all the same.
        is_new = batch_id not in self._tried
        self._tried.add(batch_id)
        input_file = None if is_new else await api.find_file(batch_id)
        input_file = input_file or await api.upload(batch_id, lines)
        await self._book.advance(batch_id, BatchState.UPLOADED, input_file=input_file)
        await self._create(batch_id, input_file, is_new=is_new)
        self._handing.pop(batch_id, None)

    async def _create(self, batch_id: str, input_file: str, *, is_new: bool) -> None:
        api = self._server()
        remote_id = None if is_new else await api.find_batch(batch_id)
        remote_id = remote_id or await api.create(batch_id, input_file)
        await self._book.advance(batch_id, BatchState.SUBMITTED, remote_id=remote_id)

    async def _look_after(self) -> None:
        """Bring every open batch one step further, and wake those whose batch has ended."""
        still_open = set()
        for record in await self._book.open_batches():
            if record.id in self._handing or not await self._advanced(record):
                still_open.add(record.id)
        for waiting in self._all_waiting():
            if waiting.batch_id is not None and waiting.batch_id not in still_open and not waiting.turned.done():
                waiting.turned.set_result(None)

    async def _advanced(self, record: BatchRecord) -> bool:
        """Tell whether a batch has ended."""
        if record.state is not BatchState.SUBMITTED:
            if not (record.is_orphan or self._book.now() - record.created_at > _UNHEARD_OF):
                return False  # the process that made it is at it
            input_file = record.input_file or await self._server().find_file(record.id)
            if input_file is None:
                await self._book.end_batch(record.id, {}, "it was never uploaded")
                return True
            await self._create(record.id, input_file, is_new=False)
            return False
        handed = await self._server().look(record.remote_id or "")
        if handed is None:
            await self._book.end_batch(record.id, {}, "the server does not know it")
            return True
        if not handed.has_ended:
            return await self._given_up(record)
        await self._harvest(record, handed)
        return True

    async def _given_up(self, record: BatchRecord) -> bool:
        """Cancel what takes too long; a batch that does not even end then is written off."""
        if self._is_late(record.created_at) and record.id not in self._cancelled:
            self._cancelled.add(record.id)
            await self._server().cancel(record.remote_id or "")
        if self._book.now() - record.created_at > _LOST:
            await self._book.end_batch(record.id, {}, "it did not end")
            return True
        return False

    async def _harvest(self, record: BatchRecord, handed: Handed) -> None:
        replies: dict[str, tuple[int, str]] = {}
        for file_id in handed.files:
            content = await self._server().content(file_id)
            for key, status, body in read_lines(content):
                # What is transient is not kept: such a call goes into another batch.
                if status == 200 or (400 <= status < 500 and status not in (408, 409, 425, 429)):
                    replies.setdefault(key, (status, body))
        await self._book.end_batch(record.id, replies, handed.reason)
        if handed.is_crowded:
            self._not_before = self._clock() + min(_LONGEST_PAUSE_S, 4 * self._options.poll_s)
        if handed.reason:
            _log.warning("a batch ended without all answers: %s", handed.reason)
        await self._server().delete([*handed.files, *([record.input_file] if record.input_file else [])])

    def _server(self) -> BatchApi:
        if self._api is None:
            raise SetupError("no call was made yet")
        return self._api


def read_lines(content: bytes) -> Sequence[tuple[str, int, str]]:
    """Read an output or error file: the key, status and body of each line that makes sense."""
    found = []
    for line in content.splitlines():
        try:
            row = json.loads(line)
            response = row.get("response") or {}
            key, status, body = str(row["custom_id"]), int(response.get("status_code", 0)), response.get("body")
        except (ValueError, LookupError, TypeError, AttributeError):
            continue
        found.append((key, status, json.dumps(body)))
    return found
