"""Run work on the workers of a Dask cluster; what a lost worker had under way is done again by another."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any, TypeVar

from enricher.errors import SetupError, TryAgain

try:
    from distributed import Client
    from distributed.client import FutureCancelledError
    from distributed.comm.core import CommClosedError
    from distributed.scheduler import KilledWorker
except ModuleNotFoundError as missing:
    raise SetupError("executor: dask needs the package; install trace-enricher[dask]") from missing

T = TypeVar("T")
R = TypeVar("R")

_LEAST_UNDER_WAY = 4  # so that a cluster that adapts sees work to grow for
_PER_THREAD = 2  # one that is worked on, one that waits
_LOST_AFTER_S = 60.0  # without a scheduler


class DaskExecutor:
    """Sends values to the cluster at `address`; the function and its values must be such that pickle takes them."""

    def __init__(self, address: str, *, lost_after_s: float = _LOST_AFTER_S) -> None:
        self._address = address
        self._lost_after_s = lost_after_s

    async def map(self, work: Callable[[T], Awaitable[R]], values: AsyncIterator[T]) -> AsyncGenerator[R, None]:
        """Yield results as they finish, at most a few for each thread of the cluster under way.

        Raises:
            SetupError: nobody listens at the address.
            TryAgain: the scheduler went away, or one value has killed several workers.
        """
        try:
            client: Any = await Client(  # type: ignore[no-untyped-call]
                self._address, asynchronous=True, timeout=f"{self._lost_after_s:g}s"
            )
        except (OSError, TimeoutError) as error:
            raise SetupError(f"there is no Dask scheduler at {self._address}: {error}") from error
        under_way: dict[asyncio.Task[R], Any] = {}
        exhausted = False
        try:
            while True:
                while not exhausted and len(under_way) < await _room(client):
                    try:
                        value = await anext(values)
                    except StopAsyncIteration:
                        exhausted = True
                        break
                    # Not pure: the same page of a later run is other work.
                    future = client.submit(_run, work, value, pure=False)
                    under_way[asyncio.ensure_future(self._result(client, future))] = future
                if not under_way:
                    if exhausted:
                        return
                    raise TryAgain(f"the Dask scheduler at {self._address} is gone")
                done, _ = await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    del under_way[task]
                    yield task.result()
        finally:
            for task in under_way:
                task.cancel()
            with contextlib.suppress(Exception):
                await client.cancel(list(under_way.values()))
            await asyncio.gather(*under_way, return_exceptions=True)
            with contextlib.suppress(Exception):
                await client.close(timeout=1)

    async def _result(self, client: Any, future: Any) -> R:
        watching = asyncio.ensure_future(self._until_lost(client))
        waiting = asyncio.ensure_future(future.result())
        try:
            await asyncio.wait((waiting, watching), return_when=asyncio.FIRST_COMPLETED)
            if not waiting.done():
                raise TryAgain(f"the Dask scheduler at {self._address} is gone")
            result: R = waiting.result()
            return result
        except KilledWorker as error:
            raise TryAgain(f"workers die on the same page of traces: {error}") from error
        except CommClosedError as error:  # while a result was on its way
            raise TryAgain(f"the Dask scheduler at {self._address} is gone") from error
        except FutureCancelledError as error:
            raise TryAgain(f"the Dask scheduler at {self._address} has lost the work") from error
        finally:
            watching.cancel()
            waiting.cancel()
            await asyncio.gather(watching, waiting, return_exceptions=True)

    async def _until_lost(self, client: Any) -> None:
        lost_for = 0.0
        while lost_for < self._lost_after_s:
            await asyncio.sleep(1.0)
            lost_for = 0.0 if client.status == "running" and client.scheduler is not None else lost_for + 1.0


def _run(work: Callable[[T], Awaitable[R]], value: T) -> R:
    # Threads of a Dask worker have no event loop; each page gets one of its own.
    return asyncio.run(_awaited(partial(work, value)))


async def _awaited(call: Callable[[], Awaitable[R]]) -> R:
    return await call()


async def _room(client: Any) -> int:
    try:
        threads: int = sum((await client.nthreads()).values())
    except OSError:
        return 0  # the scheduler is away: nothing more is sent, and those who wait will notice
    return max(_LEAST_UNDER_WAY, _PER_THREAD * threads)
