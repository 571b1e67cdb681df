"""A model server for benchmarks, in a process of its own: answers after a fixed time, at little cost.

It speaks just enough of the chat-completions protocol for `diff@v2` and `faithfulness@v2`. Every fourth trace is
unfaithful in its second sentence (the number in its tag REF-00000 leaves 3 when divided by 4), so that a verdict that
went to the wrong trace shows. Faults come by the count of requests, at exact rates: 429 with Retry-After, 500, and
replies cut off in the middle of their JSON. A limit is a bucket of requests that is filled at its rate: who finds it
empty is refused at once and told when it holds a request again, in whole seconds and on demand in milliseconds too.
"""

import argparse
import asyncio
import contextlib
import json
import math
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

_TAG = re.compile(r"REF-(\d{5})")
_ANSWERED = re.compile(r"^\[(s\d+)\] (.*)$", re.M)
_EVIDENCE = re.compile(r"^\[([\w-]+\.s\d+)\] ", re.M)
_REASONS = {200: b"OK", 429: b"Too Many Requests", 500: b"Internal Server Error", 404: b"Not Found"}
_CLEAN = 10  # requests at the beginning that never fail
ENTRIES = ("segments", "claims")


@dataclass
class Counts:
    """What was asked and answered since the last reset."""

    requests: int = 0
    refused: int = 0  # 429
    failed: int = 0  # 500
    cut: int = 0
    in_flight: int = 0
    most_in_flight: int = 0
    first: float | None = None
    last: float | None = None


@dataclass
class Behaviour:
    """How the server answers."""

    latency_s: float = 0.2
    refused: float = 0.0
    failed: float = 0.0
    cut: float = 0.0
    retry_after_s: float = 1.0
    rate: float = 0.0  # requests a second that are answered; 0: all
    burst: float = 1.0  # requests that the bucket holds
    says_ms: bool = False  # how long to wait is also said in milliseconds


class Bucket:
    """Requests that may still be answered."""

    def __init__(self, rate: float, burst: float) -> None:
        self._rate, self._burst = rate, burst
        self._left, self._at = burst, time.monotonic()

    def take(self) -> float:
        """Take one, or return in how many seconds there is one."""
        now = time.monotonic()
        self._left, self._at = min(self._burst, self._left + self._rate * (now - self._at)), now
        if self._left < 1:
            return (1 - self._left) / self._rate
        self._left -= 1
        return 0.0


@dataclass
class State:
    """What all connections share."""

    behaviour: Behaviour = field(default_factory=Behaviour)
    counts: Counts = field(default_factory=Counts)
    bucket: Bucket | None = None


def reply(prompt: str) -> str:
    """Return the verdict object for one prompt."""
    tag = _TAG.search(prompt)
    is_faithful = tag is None or int(tag[1]) % 4 != 3
    evidence = _EVIDENCE.search(prompt)
    named = [evidence[1]] if evidence else []
    wanted = dict(_ANSWERED.findall(prompt))
    is_wrong = [number == 1 and not is_faithful for number in range(len(wanted))]
    if '"segments"' in prompt:
        entries = [
            {
                "id": name,
                "evidence": [] if wrong else named,
                "explanation": "No document says this." if wrong else "",
                "status": "UNSUPPORTED" if wrong else "FULLY_SUPPORTED",
                "issue": "ADDED" if wrong else "NONE",
            }
            for name, wrong in zip(wanted, is_wrong, strict=True)
        ]
        return json.dumps({"segments": entries, "omissions": [], "summary": "One sentence is checked after another."})
    claims = [
        {
            "sentence": name,
            "claim": wanted[name],
            "evidence": [] if wrong else named,
            "note": "No document says this." if wrong else "",
            "verdict": "UNSUPPORTED" if wrong else "SUPPORTED",
        }
        for name, wrong in zip(wanted, is_wrong, strict=True)
    ]
    return json.dumps({"claims": claims, "most_dangerous_error": None})


class Connection(asyncio.Protocol):
    """One kept connection."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._buffer = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way back."""
        self._transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        """Handle every request that has come whole."""
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head = self._buffer[:end]
            found = re.search(rb"content-length:\s*(\d+)", head, re.I)
            size = int(found[1]) if found else 0
            if len(self._buffer) < end + 4 + size:
                return
            body, self._buffer = self._buffer[end + 4 : end + 4 + size], self._buffer[end + 4 + size :]
            self._handle(head.split(b" ", 2)[1].decode(), body)

    def _handle(self, path: str, body: bytes) -> None:
        state = self._state
        if path == "/counts":
            return self._send(200, asdict(state.counts))
        if path == "/reset":
            state.behaviour, state.counts = (wanted := Behaviour(**json.loads(body))), Counts()
            state.bucket = Bucket(wanted.rate, wanted.burst) if wanted.rate else None
            return self._send(200, {})
        if not path.endswith("/chat/completions"):
            return self._send(404, {"error": {"message": f"there is nothing at {path}"}})
        counts = state.counts
        counts.requests += 1
        if state.bucket and (wait := state.bucket.take()):
            counts.refused += 1
            return self._send(429, {"error": {"message": "Rate limit reached"}}, after=wait)
        counts.in_flight += 1
        counts.most_in_flight = max(counts.most_in_flight, counts.in_flight)
        counts.first = counts.first or time.monotonic()
        loop = asyncio.get_running_loop()
        loop.call_later(state.behaviour.latency_s, self._answer, counts.requests, body)

    def _answer(self, number: int, body: bytes) -> None:
        counts, behaviour = self._state.counts, self._state.behaviour
        counts.in_flight -= 1
        counts.last = time.monotonic()
        if _is_due(number, behaviour.refused, 7):
            counts.refused += 1
            return self._send(429, {"error": {"message": "Rate limit reached"}}, after=behaviour.retry_after_s)
        if _is_due(number, behaviour.failed, 11):
            counts.failed += 1
            return self._send(500, {"error": {"message": "The server had an error"}})
        asked = json.loads(body)
        said = reply("\n".join(message["content"] for message in asked["messages"]))
        if _is_due(number, behaviour.cut, 3):
            counts.cut += 1
            said = said[: int(0.6 * len(said))]
        choice = {"index": 0, "message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
        usage = {"prompt_tokens": len(body) // 4, "completion_tokens": len(said) // 4}
        self._send(200, {"object": "chat.completion", "model": asked["model"], "choices": [choice], "usage": usage})

    def _send(self, status: int, payload: Any, *, after: float | None = None) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        content = json.dumps(payload).encode()
        extra = b"Retry-After: %d\r\n" % math.ceil(after) if after is not None else b""
        if after is not None and self._state.behaviour.says_ms:
            extra += b"Retry-After-Ms: %d\r\n" % math.ceil(1000 * after)
        head = b"HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n"
        self._transport.write(head % (status, _REASONS[status], len(content), extra) + content)


def _is_due(number: int, rate: float, offset: int) -> bool:
    if not rate or number <= _CLEAN:
        return False
    every = round(1 / rate)
    return number % every == offset % every


@dataclass(frozen=True)
class ModelServer:
    """A server that runs in another process."""

    root: str

    @property
    def url(self) -> str:
        """Return the base URL for clients."""
        return f"{self.root}/v1"

    def reset(self, behaviour: Behaviour) -> None:
        """Begin to count anew, and behave like this from now on."""
        _fetch(f"{self.root}/reset", asdict(behaviour))

    def counts(self) -> Counts:
        """Return what was counted since."""
        return Counts(**_fetch(f"{self.root}/counts"))


@contextlib.contextmanager
def running() -> Iterator[ModelServer]:
    """Run a server in a process of its own for the length of the block."""
    command = [sys.executable, str(Path(__file__).resolve())]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            port = process.stdout.readline().strip()
            if not port:
                raise RuntimeError("the model server did not start")
            yield ModelServer(f"http://127.0.0.1:{port}")
        finally:
            process.terminate()


def _fetch(url: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    with urlopen(Request(url, data=data), timeout=20) as response:
        return json.load(response)


async def _serve(port: int) -> None:
    state = State()
    server = await asyncio.get_running_loop().create_server(lambda: Connection(state), "127.0.0.1", port, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(parser.parse_args().port))
