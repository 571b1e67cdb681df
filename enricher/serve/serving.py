"""Serve the web application: on this machine, and on others only with a token."""

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator

from enricher.errors import SetupError
from enricher.listening import answer, listener
from enricher.serve.app import serve_app
from enricher.serve.guard import why_refused
from enricher.serve.site import Site


async def serve(
    site: Site,
    *,
    host: str | None = None,
    port: int | None = None,
    stop: asyncio.Event | None = None,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve until `stop` is set; without one, until SIGINT or SIGTERM. `ready` is told the address.

    Raises:
        SetupError: others could reach it and there is no token, or the port can't be had.
    """
    section = site.settings.serve
    host, port = host or section.host, section.port if port is None else port
    if problem := why_refused(site, host):
        raise SetupError(problem)
    app = await serve_app(site, host=host)
    with contextlib.ExitStack() as stack:
        on = stack.enter_context(listener(host, port))
        stop = stop or stack.enter_context(_signalled())
        try:
            await answer(app, on, stop, ready)
        finally:
            await site.courier.aclose()


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
