"""Serve the web application on this machine, and on others only with a secret."""

import asyncio
import contextlib
import ipaddress
import signal
from collections.abc import Callable, Iterator

from pydantic import SecretStr

from enricher.errors import SetupError
from enricher.listening import answer, listener
from enricher.metrics import metrics_route
from enricher.review.intake import BODY_LIMIT, intake_app
from enricher.store import Store

LOOPBACK = "127.0.0.1"
PORT = 8330


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
    app.router.routes.append(metrics_route(store))
    with contextlib.ExitStack() as stack:
        on = stack.enter_context(listener(host, port))
        stop = stop or stack.enter_context(_signalled())
        await answer(app, on, stop, ready)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


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
