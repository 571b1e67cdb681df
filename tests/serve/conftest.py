"""A running web application on a free port, over a store of the test's own, and a browser without scripts."""

import asyncio
import contextlib
import re
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from enricher.serve.serving import serve
from enricher.serve.site import Site
from enricher.settings import Serve, Settings
from enricher.store import Store

TOKEN = "reviewers-token-of-the-tests"
READ_TOKEN = "readers-token-of-the-tests"


@dataclass(frozen=True, kw_only=True)
class Browser:
    """What a test needs of a running application: pages are fetched, forms are sent as a browser would."""

    url: str
    client: httpx.AsyncClient

    async def get(self, path: str, **request: Any) -> httpx.Response:
        """Fetch a page."""
        return await self.client.get(path, **request)

    async def post(self, path: str, fields: Any = (), *, of: str = "/login", **request: Any) -> httpx.Response:
        """Send a form with the token that the page `of` holds."""
        token = csrf_in((await self.get(of, follow_redirects=True)).text)
        pairs = list(fields.items()) if isinstance(fields, dict) else list(fields)
        return await self.client.post(path, data=_multi([("csrf", token), *pairs]), **request)

    async def sign_in(self, token: str = TOKEN, person: str = "ada") -> httpx.Response:
        """Sign in."""
        return await self.post("/login", {"token": token, "person": person, "next": "/"})


def _multi(pairs: list[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return found


def csrf_in(page: str) -> str:
    """Return the token of the first form of a page."""
    found = re.search(r'name="csrf" value="([^"]+)"', page)
    assert found, page[:2000]
    return unescape(found[1])


@contextlib.asynccontextmanager
async def served(
    store: Store, *, token: str | None = None, read_token: str | None = None, settings: Settings | None = None,
    host: str | None = None, deliver: Any = None, **section: Any,
) -> AsyncIterator[Browser]:  # fmt: skip
    """Run the application and visit it."""
    secrets = {name: SecretStr(text) for name, text in (("token", token), ("read_token", read_token)) if text}
    settings = (settings or Settings()).model_copy(update={"serve": Serve(**secrets, **section)})
    site = Site.of(store, settings, *([deliver] if deliver else []))
    stop, address = asyncio.Event(), asyncio.get_running_loop().create_future()
    serving = asyncio.create_task(serve(site, host=host, port=0, stop=stop, ready=address.set_result))
    waiting = asyncio.create_task(asyncio.wait_for(asyncio.shield(address), 30))
    await asyncio.wait([serving, waiting], return_when=asyncio.FIRST_COMPLETED)
    if serving.done():
        waiting.cancel()
        serving.result()
    try:
        async with httpx.AsyncClient(base_url=await address, timeout=30.0, verify=False) as client:
            yield Browser(url=address.result(), client=client)
    finally:
        stop.set()
        await serving


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make an empty store once: its migrations cost more than most tests."""
    place = tmp_path_factory.mktemp("migrated") / "store.db"

    async def make() -> None:
        await (await Store.open(f"sqlite:///{place}")).aclose()

    asyncio.run(make())
    return place


@pytest.fixture
async def store(tmp_path: Path, migrated: Path) -> AsyncIterator[Store]:
    """Open a store."""
    shutil.copy(migrated, tmp_path / "store.db")
    async with await Store.open(f"sqlite:///{tmp_path / 'store.db'}", patience_s=3.0) as opened:
        yield opened
