"""Listen on an address and answer there until told to stop."""

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterator
from typing import Any

import uvicorn

from enricher.errors import SetupError

_LAST_ANSWERS_S = 5  # seconds that answers under way have when the server is stopped


class _Server(uvicorn.Server):
    """A server that leaves signals to us: uvicorn's own handling would end the process before the store is closed."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def listener(host: str, port: int) -> socket.socket:
    """Take a port; 0 takes a free one.

    Raises:
        SetupError: it can't be had.
    """
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except (OSError, OverflowError) as error:
        raise SetupError(f"port {port} on '{host}' can't be had: {error}; choose another one") from error


async def answer(app: Any, on: socket.socket, stop: asyncio.Event, ready: Callable[[str], None] | None = None) -> None:
    """Let an ASGI application answer on a port until `stop` is set; `ready` is told the address."""
    server = _Server(
        uvicorn.Config(
            app,
            lifespan="off",
            ws="none",
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=_LAST_ANSWERS_S,
        )
    )
    serving = asyncio.create_task(server.serve(sockets=[on]))
    stopping = asyncio.create_task(stop.wait())
    try:
        if ready is not None:
            ready(url_of(on))
        await asyncio.wait([serving, stopping], return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopping.cancel()
        server.should_exit = True
        await serving


def url_of(on: socket.socket) -> str:
    """Name the address for a person."""
    host, port = on.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
