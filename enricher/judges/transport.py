"""Carry requests to one OpenAI-compatible server over kept connections, and nothing more.

`aiohttp` and not the `openai` package: a call costs a quarter of the CPU, and importing it a tenth. Only `chat.py`
imports this module, and only when a model is used.
"""

import asyncio
import json
from base64 import b64encode
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import orjson

from enricher.judges.wire import Answered, Unreached

_MOST_BYTES = 16 << 20  # of an answer to one question; a server that sends for ever must not fill the memory


class Transport:
    """One connection pool to one endpoint; retries nothing."""

    def __init__(self, *, base_url: str, api_key: str, timeout_s: float, api_version: str | None = None) -> None:
        self._timeout_s = timeout_s
        url = urlsplit(base_url)
        self._base = urlunsplit((url.scheme, url.netloc.rpartition("@")[2], url.path.rstrip("/"), "", ""))
        self._query = [*([url.query] if url.query else []), *([f"api-version={api_version}"] if api_version else [])]
        self._proxy = _proxy_for(base_url)
        self._headers = {"Accept": "application/json", "User-Agent": "trace-enricher"}
        # Local servers want no key, but some refuse a request without the header.
        self._headers["Authorization"] = f"Bearer {api_key or 'none'}"
        if url.username and not api_key:  # a proxy before the server may want a password
            credentials = f"{unquote(url.username)}:{unquote(url.password or '')}"
            self._headers["Authorization"] = f"Basic {b64encode(credentials.encode()).decode()}"
        if api_version:  # Azure's deployments take the key under a name of their own
            self._headers["api-key"] = api_key
        self._session: aiohttp.ClientSession | None = None

    async def send(self, body: Mapping[str, Any], *, timeout_s: float | None = None) -> Answered:
        """Post one chat completion request.

        Raises:
            Unreached: no whole answer came within the time.
        """
        headers = {"Content-Type": "application/json"}
        return await self.request("POST", "/chat/completions", data=_json(body), headers=headers, timeout_s=timeout_s)

    async def request(
        self,
        method: str,
        path: str,
        *,
        data: Any = None,
        headers: Mapping[str, str] | None = None,
        timeout_s: float | None = None,
        most_bytes: int = _MOST_BYTES,
    ) -> Answered:
        """Make any request below the base URL.

        Raises:
            Unreached: no whole answer came within the time.
        """
        limit = timeout_s or self._timeout_s
        path, _, query = path.partition("?")
        query = "&".join([*self._query, *([query] if query else [])])
        url = f"{self._base}{path}?{query}" if query else f"{self._base}{path}"
        sent = {**self._headers, **(headers or {})}
        try:
            # The client's own limits hold for each read, so that a server which drips bytes would never run into one.
            async with (
                asyncio.timeout(limit),
                self._opened().request(
                    method, url, data=data, headers=sent, proxy=self._proxy, allow_redirects=False
                ) as response,
            ):
                content = await _read(response, most_bytes)
                lowered = {name.lower(): value for name, value in response.headers.items()}
                return Answered(response.status, lowered, content)
        except TimeoutError as error:
            raise Unreached(f"no answer within {limit:g} s", is_timeout=True) from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise Unreached(f"no connection ({type(error).__name__})", is_timeout=False) from error

    async def aclose(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            # The gate before it limits the calls; this keeps as many connections as there may be calls.
            connector = aiohttp.TCPConnector(limit=0, limit_per_host=0, keepalive_timeout=30)
            self._session = aiohttp.ClientSession(
                connector=connector,
                timeout=aiohttp.ClientTimeout(total=None),
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session


def _json(body: Mapping[str, Any]) -> bytes:
    try:
        return orjson.dumps(body)
    except TypeError:  # a lone surrogate, for which UTF-8 has no bytes and JSON an escape
        return json.dumps(body).encode()


async def _read(response: aiohttp.ClientResponse, most_bytes: int) -> bytes:
    pieces, size = [], 0
    async for piece in response.content.iter_any():
        size += len(piece)
        if size > most_bytes:
            raise Unreached(f"the answer is longer than {most_bytes} bytes", is_timeout=False)
        pieces.append(piece)
    return b"".join(pieces)


def _proxy_for(url: str) -> str | None:
    parts = urlsplit(url)
    if proxy_bypass(parts.hostname or ""):
        return None
    return getproxies().get(parts.scheme)
