"""A server that fails in every way a platform can fail: wrong statuses, broken bodies, silence, cut connections."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One request as it came."""

    method: str
    path: str
    params: list[tuple[str, str]]
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """Return the body as JSON."""
        return json.loads(self.body)


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What the server does with a request."""

    status: int = 200
    body: str | bytes = "{}"
    headers: dict[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    resets: bool = False  # cut the connection without an answer
    closes: bool = False  # answer as if the connection stayed open, then close it, as Phoenix does after a 500


def reply_json(value: Any, status: int = 200) -> Reply:
    """Reply with JSON."""
    return Reply(status=status, body=json.dumps(value))


Script = Callable[[Asked], Reply]


class FailingServer:
    """Answers every request as its script says and keeps what was asked."""

    def __init__(self, script: Script | Reply) -> None:
        self._script: Script = (lambda _: script) if isinstance(script, Reply) else script
        self.asked: list[Asked] = []
        self._writers: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.base_url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()
        await self._server.wait_closed()
        await asyncio.sleep(0)  # let the connections' tasks see the end

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            while (asked := await _read(reader)) is not None:
                self.asked.append(asked)
                reply = self._script(asked)
                await asyncio.sleep(reply.delay_s)
                if reply.resets:
                    writer.transport.abort()
                    return
                await _write(writer, reply)
                if reply.closes:
                    break
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()


async def _read(reader: asyncio.StreamReader) -> Asked | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.rstrip("\r\n").split("\r\n")
    method, target, _ = first.split(" ")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    url = urlsplit(target)
    return Asked(method=method, path=url.path, params=parse_qsl(url.query), headers=headers, body=body)


async def _write(writer: asyncio.StreamWriter, reply: Reply) -> None:
    body = reply.body.encode() if isinstance(reply.body, str) else reply.body
    headers = {"content-type": "application/json", "content-length": str(len(body)), **reply.headers}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    writer.write(f"HTTP/1.1 {reply.status} Status\r\n{lines}\r\n".encode() + body)
    await writer.drain()
