"""Start what scenarios share, when it is first wanted, and end it."""

import asyncio
import tempfile
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from enricher.phoenix_server import PhoenixServer, start_phoenix
from tests.acceptance.command import Starter
from tests.chaos.world import Stage, faked, set_clock
from tests.servers.postgres import Postgres

T = TypeVar("T")


@contextmanager
def opened_stage() -> Iterator[Stage]:
    """Offer the stage of a process of its own."""
    with ExitStack() as stack:

        @cache
        def open_phoenix() -> PhoenixServer:
            server = _waited(start_phoenix())
            stack.callback(lambda: _waited(server.stop()))
            return server

        @cache
        def open_postgres() -> Postgres:
            postgres = Postgres()
            stack.callback(postgres.close)
            postgres.start()
            return postgres

        starter = Starter()
        stack.callback(starter.close)
        yield Stage(
            starter=starter,
            open_phoenix=open_phoenix,
            open_postgres=open_postgres,
            open_clock=cache(lambda: _clock(stack)),
        )


def _clock(stack: ExitStack) -> tuple[Starter, Path]:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    file = folder / "clock"
    set_clock(file, 0)
    starter = Starter(**faked(file))
    stack.callback(starter.close)
    return starter, file


def _waited(work: Coroutine[Any, Any, T]) -> T:
    """Wait for a coroutine in a loop of its own: the caller's loop is under way."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()
