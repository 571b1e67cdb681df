"""A proxy in front of any HTTP server that passes requests on, or does to them what networks and servers do."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from enum import StrEnum
from urllib.parse import urlsplit

import httpx


class Trouble(StrEnum):
    """What happens to one request."""

    HANG = "hang"  # it never arrives, and nothing comes back
    HANG_AFTER = "hang_after"  # the server has acted, and nothing comes back
    RESET = "reset"  # the connection is cut before the server hears of it
    RESET_AFTER = "reset_after"  # the server has acted, the connection is cut
    DRIP = "drip"  # the answer comes a byte at a time
    CUT = "cut"  # the connection is closed in the middle of the answer
    TOO_MANY = "429"
    BROKEN = "500"
    BAD_GATEWAY = "502"  # with a page of HTML, as proxies answer
    BUSY = "503"
    TIMED_OUT = "504"
    LOGIN_PAGE = "html"  # 200, HTML
    GARBAGE = "garbage"  # 200, no JSON
    TRUNCATED = "truncated"  # 200, JSON that ends in the middle
    DUPLICATED = "duplicated"  # 200, the JSON twice
    EMPTY = "empty"  # 200, nothing
    OTHER_SHAPE = "other_shape"  # 200, JSON of another shape
    REVOKED = "401"  # the key is not accepted any more


Chooser = Callable[[str], Trouble | None]  # gets "METHOD /path"
Watcher = Callable[[str, str], None]  # gets "asked" or "answered", and "METHOD /path"

_STATUSES = {Trouble.TOO_MANY: 429, Trouble.BROKEN: 500, Trouble.BUSY: 503, Trouble.TIMED_OUT: 504}
_PAGE = b"<html><head><title>Sign in</title></head><body>Please sign in.</body></html>"
_DRIP_S = 0.05  # far below any client's patience for one read


class TroubledProxy:
    """Passes everything on while `choose` says None."""

    def __init__(self, base_url: str) -> None:
        self._target = base_url.rstrip("/")
        self._tasks: set[asyncio.Task[None]] = set()
        self.choose: Chooser = lambda request: None
        self.watch: Watcher = lambda moment, request: None
        self.base_url = ""
        self.met: list[Trouble] = []  # what happened so far

    @asynccontextmanager
    async def running(self) -> AsyncIterator["TroubledProxy"]:
        """Serve on a free loopback port for the length of the block."""
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        path = urlsplit(self._target).path
        self.base_url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}{path}"
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=50)
        async with httpx.AsyncClient(timeout=60.0, trust_env=False, limits=limits) as self._client:
            try:
                yield self
            finally:
                server.close()
                for _ in range(10):
                    await asyncio.sleep(0)  # what was accepted a moment ago gets its task
                for task in list(self._tasks):
                    task.cancel()
                await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.sleep(0.01)  # let the connections of both sides see the end

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while await self._pass_on(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.transport.abort()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Handle one request; False when the connection is over."""
        method, target, headers, body = await _read(reader)
        request = f"{method} {urlsplit(target).path}"
        self.watch("asked", request)
        trouble = self.choose(request)
        if trouble is not None:
            self.met.append(trouble)
        if trouble is Trouble.RESET:
            return False
        if trouble is Trouble.HANG:
            await _until_closed(reader)
            return False
        if trouble is not None and (instead := _instead(trouble)) is not None:
            await _write(writer, *instead)
            return True
        root = f"{urlsplit(self._target).scheme}://{urlsplit(self._target).netloc}"
        answer = await self._client.request(method, root + target, headers=headers, content=body)
        self.watch("answered", request)
        kept = [(n, v) for n, v in answer.headers.items() if n in ("content-type", "retry-after", "location")]
        return await _answer(reader, writer, trouble, answer.status_code, kept, answer.content)


async def _answer(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    trouble: Trouble | None,
    status: int,
    headers: list[tuple[str, str]],
    body: bytes,
) -> bool:
    if trouble is Trouble.RESET_AFTER:
        return False
    if trouble is Trouble.HANG_AFTER:
        await _until_closed(reader)
        return False
    if trouble is Trouble.DRIP:
        writer.write(_head(status, headers, len(body) + 100_000))
        while not reader.at_eof():
            writer.write(b" ")
            await writer.drain()
            await asyncio.sleep(_DRIP_S)
        return False
    if trouble is Trouble.CUT:
        writer.write(_head(status, headers, len(body) + 1) + body[: len(body) // 2])
        await writer.drain()
        writer.close()
        await writer.wait_closed()
        return False
    if trouble is Trouble.TRUNCATED:
        body = body[: len(body) // 2]
    if trouble is Trouble.DUPLICATED:
        body += body
    await _write(writer, status, headers, body)
    return True


def _instead(trouble: Trouble) -> tuple[int, list[tuple[str, str]], bytes] | None:
    """Return what is answered without asking the server."""
    as_json, as_page = [("content-type", "application/json")], [("content-type", "text/html; charset=utf-8")]
    if trouble in _STATUSES:
        told = [("retry-after", "1")] if trouble is Trouble.TOO_MANY else []
        return _STATUSES[trouble], [*as_json, *told], json.dumps({"detail": "scripted trouble"}).encode()
    return {
        Trouble.BAD_GATEWAY: (502, as_page, b"<html><body>502 Bad Gateway</body></html>"),
        Trouble.REVOKED: (401, as_json, b'{"detail": "Invalid token"}'),
        Trouble.LOGIN_PAGE: (200, as_page, _PAGE),
        Trouble.GARBAGE: (200, as_json, b"\x00\xff\xfe{]garbage"),
        Trouble.EMPTY: (200, as_json, b""),
        Trouble.OTHER_SHAPE: (200, as_json, b'{"unexpected": [null]}'),
    }.get(trouble)


async def _read(reader: asyncio.StreamReader) -> tuple[str, str, list[tuple[str, str]], bytes]:
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = [(name.lower(), value) for name, value in (line.split(": ", 1) for line in lines if line)]
    body = await reader.readexactly(int(dict(headers).get("content-length", 0)))
    method, target, _ = first.split(" ")
    own = ("host", "connection", "accept-encoding", "content-length")
    return method, target, [(name, value) for name, value in headers if name not in own], body


async def _write(writer: asyncio.StreamWriter, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
    writer.write(_head(status, headers, len(body)) + body)
    await writer.drain()


def _head(status: int, headers: list[tuple[str, str]], length: int) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    return f"HTTP/1.1 {status} Status\r\n{lines}content-length: {length}\r\n\r\n".encode("latin-1")


async def _until_closed(reader: asyncio.StreamReader) -> None:
    with contextlib.suppress(ConnectionError):
        while await reader.read(2**16):
            pass
