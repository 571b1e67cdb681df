"""Work that a worker process can import."""

import asyncio
import os

from enricher.errors import SetupError


async def doubled(value: int) -> tuple[int, int]:
    """Take a moment, and say which process did it."""
    await asyncio.sleep(0.1)
    return 2 * value, os.getpid()


async def refuse(value: int) -> int:
    """Find that the operator must mend something."""
    raise SetupError(f"no key for {value}")


async def kill(value: int) -> int:
    """Take the process down, as a page that needs too much memory does."""
    os._exit(9)
