"""A running intake on a free port, over a store of the test's own."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from enricher.serve.serving import serve
from enricher.serve.site import Site
from enricher.settings import Serve, Settings
from enricher.store import Store

SECRET = "sésame"


@dataclass(frozen=True, kw_only=True)
class Intake:
    """What a test needs of a running intake."""

    url: str
    store: Store
    client: httpx.AsyncClient

    async def post(self, path: str = "/intake", secret: str | None = SECRET, **request: Any) -> httpx.Response:
        """Send a hint with the secret."""
        headers = {} if secret is None else {"x-enricher-secret": secret.encode()}
        return await self.client.post(path, headers={**headers, **request.pop("headers", {})}, **request)


@contextlib.asynccontextmanager
async def running(store: Store, *, secret: str | None = SECRET, **options: Any) -> AsyncIterator[Intake]:
    """Run an intake."""
    stop, address = asyncio.Event(), asyncio.get_running_loop().create_future()
    section = Serve(secret=SecretStr(secret) if secret else None, **options)
    site = Site.of(store, Settings(serve=section))
    serving = asyncio.create_task(serve(site, port=0, stop=stop, ready=address.set_result))
    try:
        async with httpx.AsyncClient(base_url=await address, timeout=10.0) as client:
            yield Intake(url=address.result(), store=store, client=client)
    finally:
        stop.set()
        await serving


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    """Open a store."""
    async with await Store.open(f"sqlite:///{tmp_path / 'store.db'}", patience_s=3.0) as opened:
        yield opened


@pytest.fixture
async def intake(store: Store) -> AsyncIterator[Intake]:
    """Run an intake with a secret."""
    async with running(store) as served:
        yield served
