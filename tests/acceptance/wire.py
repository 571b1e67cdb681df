"""A wire between the command and a platform that tells the test about every request before it passes and after."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

Watcher = Callable[[str, str], bool]  # gets "asked" or "answered" and "METHOD /path"; True cuts the wire


class Wire:
    """Passes everything on as it is. `watch` is called when a request has come, and before its answer goes back."""

    def __init__(self, base_url: str) -> None:
        self._target = urlsplit(base_url)
        self._tasks: set[asyncio.Task[None]] = set()
        self.base_url = ""
        self.watch: Watcher = lambda moment, request: False

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Wire"]:
        """Serve on a free loopback port for the length of the block."""
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.base_url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        try:
            yield self
        finally:
            server.close()
            for task in list(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        asked: list[str] = []
        beyond, onward = await asyncio.open_connection(self._target.hostname, self._target.port)
        back = asyncio.create_task(self._back(beyond, writer, asked))
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                while True:
                    request, data = await _request(reader)
                    if self.watch("asked", request):
                        break
                    asked.append(request)
                    onward.write(data)
                    await onward.drain()
        finally:
            back.cancel()
            for stream in (writer, onward):
                stream.transport.abort()
            self._tasks.discard(task)

    async def _back(self, beyond: asyncio.StreamReader, writer: asyncio.StreamWriter, asked: list[str]) -> None:
        with suppress(ConnectionError):
            while data := await beyond.read(2**16):
                # The first bytes of an answer: it is decided by now.
                if asked and self.watch("answered", asked.pop(0)):
                    break
                writer.write(data)
                await writer.drain()
            writer.close()


async def _request(reader: asyncio.StreamReader) -> tuple[str, bytes]:
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines if line)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    method, target, _ = first.split(" ")
    return f"{method} {urlsplit(target).path}", head + body
