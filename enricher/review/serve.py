"""Serve the web application on this machine, and on others only with a secret."""

import asyncio
import contextlib
import ipaddress
import signal
import socket
from collections.abc import Callable, Iterator

import uvicorn
from pydantic import SecretStr

from enricher.errors import SetupError
from enricher.review.intake import BODY_LIMIT, intake_app
from enricher.store import Store

LOOPBACK = "127.0.0.1"
PORT = 8330
_LAST_ANSWERS_S = 5  # seconds that answers under way have when the server is stopped


class _Server(uvicorn.Server):
    """A server that leaves signals to us: uvicorn's own handling would end the process before the store is closed."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def serve(
    store: Store,
    *,
    host: str = LOOPBACK,
    port: int = PORT,
    secret: SecretStr | None = None,
    body_limit: int = BODY_LIMIT,
    stop: asyncio.Event | None = None,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve until `stop` is set; without one, until SIGINT or SIGTERM. `ready` is told the address.

    Raises:
        SetupError: others could reach it and there is no secret, or the port can't be had.
    """
    if secret is None and not _is_loopback(host):
        raise SetupError(f"set a secret before serving on {host}: without one only this machine may reach the intake")
    app = intake_app(store, secret=secret, body_limit=body_limit)
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(_listener(host, port))
        stop = stop or stack.enter_context(_signalled())
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
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        stopping = asyncio.create_task(stop.wait())
        try:
            if ready is not None:
                ready(_url(listener))
            await asyncio.wait([serving, stopping], return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
            server.should_exit = True
            await serving


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _listener(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except (OSError, OverflowError) as error:
        raise SetupError(f"port {port} on '{host}' can't be had: {error}; choose another one") from error


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@contextlib.contextmanager
def _signalled() -> Iterator[asyncio.Event]:
    """Offer an event that SIGINT and SIGTERM set."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    signals = (signal.SIGINT, signal.SIGTERM)
    for number in signals:
        loop.add_signal_handler(number, stop.set)
    try:
        yield stop
    finally:
        for number in signals:
            loop.remove_signal_handler(number)
