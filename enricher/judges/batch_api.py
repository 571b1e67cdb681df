"""Speak the protocol of batch files: upload, hand in, look, fetch, cancel."""

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from secrets import token_hex
from typing import Any

from enricher.errors import SetupError
from enricher.judges.endpoint import Endpoint
from enricher.judges.wire import Answered, Unreached

_log = logging.getLogger(__name__)
_ENDED = ("completed", "failed", "expired", "cancelled")
_MOST_BYTES = 1 << 30
_SLOW_S = 600.0  # for files
_PAGE = 100


class Refused(SetupError):
    """The server does not take batches from us."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Handed:
    """A batch as the server tells it."""

    has_ended: bool
    files: tuple[str, ...] = ()  # with answers, then with errors
    reason: str = ""  # why not all is answered
    is_crowded: bool = False  # too much is queued there already


class BatchApi:
    """Files and batches of one endpoint; every method may raise Unreached, or Refused when asking again is no use."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    async def upload(self, name: str, lines: bytes) -> str:
        """Upload the calls and return the id of the file."""
        edge = token_hex(16)
        field = f'--{edge}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
        file = f'--{edge}\r\nContent-Disposition: form-data; name="file"; filename="{name}.jsonl"\r\n'
        kind = "Content-Type: application/jsonl\r\n\r\n"
        data = f"{field}{file}{kind}".encode() + lines + f"\r\n--{edge}--\r\n".encode()
        headers = {"Content-Type": f"multipart/form-data; boundary={edge}"}
        return _id(await self._call("POST", "/files", data=data, headers=headers, timeout_s=_SLOW_S))

    async def create(self, name: str, input_file: str) -> str:
        """Hand a file in and return the id of the batch."""
        wanted = {
            "input_file_id": input_file,
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "metadata": {"enricher": name},
        }
        headers = {"Content-Type": "application/json"}
        return _id(await self._call("POST", "/batches", data=json.dumps(wanted), headers=headers))

    async def find_file(self, name: str) -> str | None:
        """Return the id of a file that was uploaded under this name."""
        for row in await self._list("/files?purpose=batch"):
            if row.get("filename") == f"{name}.jsonl":
                return str(row["id"])
        return None

    async def find_batch(self, name: str) -> str | None:
        """Return the id of a batch that was handed in under this name."""
        for row in await self._list("/batches"):
            if (row.get("metadata") or {}).get("enricher") == name:
                return str(row["id"])
        return None

    async def look(self, remote_id: str) -> Handed | None:
        """Return how a batch is doing; None when the server does not know it."""
        answered = await self._call("GET", f"/batches/{remote_id}", may_miss=True)
        if answered.status == 404:
            return None
        row = _object(answered)
        status = str(row.get("status"))
        files = tuple(str(row[name]) for name in ("output_file_id", "error_file_id") if row.get(name))
        errors = (row.get("errors") or {}).get("data") or []
        code = str(errors[0].get("code") or "") if errors else ""
        told = str(errors[0].get("message") or code) if errors else ""
        reason = "" if status in ("completed", *_under_way(status)) else f"{status} {told}".strip()
        return Handed(has_ended=status in _ENDED, files=files, reason=reason, is_crowded="limit" in code)

    async def content(self, file_id: str) -> bytes:
        """Fetch a file."""
        answered = await self._call("GET", f"/files/{file_id}/content", timeout_s=_SLOW_S, may_miss=True)
        return answered.body if answered.status == 200 else b""

    async def cancel(self, remote_id: str) -> None:
        """Ask for the end of a batch; what is answered already can still be fetched then."""
        await self._call("POST", f"/batches/{remote_id}/cancel", may_miss=True)

    async def delete(self, files: Sequence[str]) -> None:
        """Leave no copy of the texts on the server; a file that can't be deleted is logged and expires there."""
        for file_id in files:
            try:
                await self._call("DELETE", f"/files/{file_id}", may_miss=True)
            except (Unreached, Refused) as error:
                _log.warning("file %s stays on the model server: %s", file_id, error)

    async def _list(self, path: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        after = ""
        while True:
            mark = "&" if "?" in path else "?"
            page = _object(await self._call("GET", f"{path}{mark}limit={_PAGE}{after}"))
            rows = [row for row in page.get("data") or [] if isinstance(row, dict) and row.get("id")]
            found += rows
            # A server that always says there is more, or repeats itself, must not be listened to for ever.
            if not page.get("has_more") or not rows or len(found) >= 100 * _PAGE or f"&after={rows[-1]['id']}" == after:
                return found
            after = f"&after={rows[-1]['id']}"

    async def _call(
        self,
        method: str,
        path: str,
        *,
        data: Any = None,
        headers: dict[str, str] | None = None,
        timeout_s: float | None = None,
        may_miss: bool = False,
    ) -> Answered:
        answered = await self._endpoint.transport.request(
            method, path, data=data, headers=headers, timeout_s=timeout_s, most_bytes=_MOST_BYTES
        )
        status = answered.status
        if status < 300 or (may_miss and status in (404, 409)):
            return answered
        if status in (408, 409, 425, 429) or status >= 500:
            raise Unreached(f"HTTP {status}", is_timeout=False)
        place = self._endpoint.address.place
        raise Refused(f"the model server at {place} takes no batches (HTTP {status}); set openai.transport to live")


def _under_way(status: str) -> tuple[str, ...]:
    return () if status in _ENDED else (status,)


def _object(answered: Answered) -> dict[str, Any]:
    try:
        row = json.loads(answered.body)
    except ValueError as error:
        raise Unreached("the answer is no JSON", is_timeout=False) from error
    if not isinstance(row, dict):
        raise Unreached("the answer is no JSON object", is_timeout=False)
    return row


def _id(answered: Answered) -> str:
    found = _object(answered).get("id")
    if not found:
        raise Unreached("the answer has no id", is_timeout=False)
    return str(found)
