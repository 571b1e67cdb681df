"""Files and batches of the OpenAI protocol, for the server beside it; a batch ends as a test says."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

_ENDED = ("completed", "failed", "expired", "cancelled")


@dataclass
class Batch:
    """A batch as the server keeps it."""

    id: str
    input_file: str
    metadata: dict[str, str]
    status: str = "validating"
    output: str | None = None
    errors: str | None = None
    problem: dict[str, str] | None = None

    def shown(self) -> dict[str, Any]:
        """Tell it as the original does."""
        return {
            "id": self.id,
            "object": "batch",
            "endpoint": "/v1/chat/completions",
            "errors": {"object": "list", "data": [self.problem]} if self.problem else None,
            "input_file_id": self.input_file,
            "completion_window": "24h",
            "status": self.status,
            "output_file_id": self.output,
            "error_file_id": self.errors,
            "metadata": self.metadata,
        }


@dataclass
class Desk:
    """Takes files and batches. `answer` maps the body of a line to (status, body); `outcome` says how a batch ends."""

    answer: Callable[[dict[str, Any]], tuple[int, Any]]
    # Of a batch and how many were handed in before it: how it ends, and how many of its lines are answered (None: all).
    outcome: Callable[[Batch, int], tuple[str, int | None]] = lambda batch, number: ("completed", None)
    is_held: bool = False  # batches stay in progress
    faults: list[tuple[str, str, int]] = field(default_factory=list)  # method, path pattern, status; each once
    losing: list[tuple[str, str]] = field(default_factory=list)  # done, but the answer is lost; each once
    files: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    batches: dict[str, Batch] = field(default_factory=dict)
    deleted: list[str] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    duplicates: bool = False  # each line of an output stands there twice

    def __post_init__(self) -> None:
        """Begin to count."""
        self._numbers = count(1)

    def handle(self, method: str, path: str, raw: bytes) -> tuple[int, bytes] | None:
        """Answer a request below /v1; None when it is for somebody else. Status 0: the answer is lost."""
        place, _, query = path.partition("?")
        place = place.partition("/v1")[2]
        if not re.match(r"/(files|batches)(/|$)", place):
            return None
        self.log.append(f"{method} {place}")
        for fault in self.faults:
            if fault[0] == method and re.fullmatch(fault[1], place):
                self.faults.remove(fault)
                return fault[2], b'{"error": {"message": "as the test wants it"}}'
        status, body = self._handled(method, place, query, raw)
        for loss in self.losing:
            if loss[0] == method and re.fullmatch(loss[1], place):
                self.losing.remove(loss)
                return 0, b""
        return status, body if isinstance(body, bytes) else json.dumps(body).encode()

    def _handled(self, method: str, place: str, query: str, raw: bytes) -> tuple[int, Any]:
        parts = place.strip("/").split("/")
        match (method, parts):
            case ("POST", ["files"]):
                return self._upload(raw)
            case ("GET", ["files"]):
                rows = [{"id": id_, "filename": name, "purpose": "batch"} for id_, (name, _) in self.files.items()]
                return 200, self._page(rows, query)
            case ("GET", ["files", file_id, "content"]):
                return (200, self.files[file_id][1]) if file_id in self.files else (404, {})
            case ("DELETE", ["files", file_id]):
                self.deleted.append(file_id)
                return (200, {"id": file_id, "deleted": True}) if self.files.pop(file_id, None) else (404, {})
            case ("POST", ["batches"]):
                return self._create(json.loads(raw))
            case ("GET", ["batches"]):
                return 200, self._page([batch.shown() for batch in self.batches.values()], query)
            case ("GET", ["batches", batch_id]):
                return self._look(batch_id)
            case ("POST", ["batches", batch_id, "cancel"]):
                batch = self.batches.get(batch_id)
                if batch is None or batch.status in _ENDED:
                    return 409, {}
                batch.status = "cancelling"
                return 200, batch.shown()
        return 405, {}

    def _page(self, rows: list[dict[str, Any]], query: str) -> dict[str, Any]:
        given = dict(pair.split("=") for pair in query.split("&") if "=" in pair)
        ids = [row["id"] for row in rows]
        start = ids.index(given["after"]) + 1 if given.get("after") in ids else 0
        page = rows[start : start + int(given.get("limit", "20"))]
        return {"object": "list", "data": page, "has_more": start + len(page) < len(rows)}

    def _upload(self, raw: bytes) -> tuple[int, Any]:
        edge = raw.split(b"\r\n", 1)[0]
        parts = [part for part in raw.split(edge) if b"\r\n\r\n" in part]
        fields = {}
        name = ""
        for part in parts:
            head, _, content = part.partition(b"\r\n\r\n")
            fields[re.search(rb'name="(\w+)"', head)[1].decode()] = content.removesuffix(b"\r\n")
            if found := re.search(rb'filename="([^"]+)"', head):
                name = found[1].decode()
        if fields.get("purpose") != b"batch" or not name.endswith(".jsonl"):
            return 400, {"error": {"message": "purpose must be batch, and the file end in .jsonl"}}
        file_id = f"file-{next(self._numbers)}"
        self.files[file_id] = (name, fields["file"])
        return 200, {"id": file_id, "object": "file", "filename": name, "purpose": "batch"}

    def _create(self, wanted: dict[str, Any]) -> tuple[int, Any]:
        if wanted.get("input_file_id") not in self.files or wanted.get("completion_window") != "24h":
            return 400, {"error": {"message": "no such file, or another window than 24h"}}
        batch = Batch(f"batch-{next(self._numbers)}", wanted["input_file_id"], wanted.get("metadata") or {})
        self.batches[batch.id] = batch
        return 200, batch.shown()

    def _look(self, batch_id: str) -> tuple[int, Any]:
        batch = self.batches.get(batch_id)
        if batch is None:
            return 404, {}
        if batch.status == "cancelling":
            self._end(batch, "cancelled", self._numbered(batch))
        elif batch.status not in _ENDED:
            batch.status = "in_progress"
            if not self.is_held:
                self._end(batch, *self.outcome(batch, list(self.batches).index(batch_id)))
        return 200, batch.shown()

    def _numbered(self, batch: Batch) -> int | None:
        return self.outcome(batch, list(self.batches).index(batch.id))[1]

    def _end(self, batch: Batch, status: str, answered: int | None) -> None:
        batch.status = status
        if status == "failed":
            batch.problem = {"code": "token_limit_exceeded", "message": "Enqueued token limit reached"}
            return
        output, errors = [], []
        for number, line in enumerate(self.files[batch.input_file][1].splitlines()):
            row = json.loads(line)
            assert (row["method"], row["url"]) == ("POST", "/v1/chat/completions")
            if answered is not None and number >= answered:
                code = {"code": f"batch_{status}", "message": "This request was not executed in time."}
                errors.append({"custom_id": row["custom_id"], "response": None, "error": code})
                continue
            code_, body = self.answer(row["body"])
            response = {"status_code": code_, "request_id": f"r{number}", "body": body}
            (output if code_ == 200 else errors).append(
                {"id": f"l{number}", "custom_id": row["custom_id"], "response": response, "error": None}
            )
        output.reverse()  # the order is not that of the input
        if self.duplicates:
            output = [*output, *output]
        batch.output = self._file(output)
        batch.errors = self._file(errors)

    def _file(self, rows: list[dict[str, Any]]) -> str | None:
        if not rows:
            return None
        file_id = f"file-{next(self._numbers)}"
        self.files[file_id] = ("out.jsonl", "".join(json.dumps(row) + "\n" for row in rows).encode())
        return file_id
