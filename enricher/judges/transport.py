"""Carry one chat request to an OpenAI-compatible server through the `openai` package, and nothing more.

Importing the package takes a second of CPU, so that only `chat.py` imports this module, and only when a model is used.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

import httpx2
import openai

from enricher.judges.wire import Answered, Unreached


class _Client(openai.AsyncOpenAI):
    """The client with the headers it was given: organisation, project and more from the environment stay out."""

    @property
    def default_headers(self) -> dict[str, str | openai.Omit]:
        return {
            "Accept": "application/json",
            "Content-Type": "application/json",
            "User-Agent": "trace-enricher",
            "Authorization": f"Bearer {self.api_key}",
            **self.own_headers,
        }

    own_headers: Mapping[str, str] = {}


class Transport:
    """One connection pool to one endpoint; retries nothing."""

    def __init__(
        self, *, base_url: str, api_key: str, timeout_s: float, connections: int, api_version: str | None = None
    ) -> None:
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=connections)
        self._timeout_s = timeout_s
        self._client = _Client(
            base_url=base_url,
            # Local servers want none, but the package does.
            api_key=api_key or "none",
            admin_api_key="",
            max_retries=0,
            timeout=timeout_s,
            default_query={"api-version": api_version} if api_version else None,
            http_client=openai.DefaultAsyncHttpxClient(limits=limits, timeout=timeout_s),
        )
        if api_version:  # Azure's deployments take the key under a name of their own
            self._client.own_headers = {"api-key": api_key}

    async def send(self, body: Mapping[str, Any]) -> Answered:
        """Post one chat completion request.

        Raises:
            Unreached: no whole answer came within the time.
        """
        try:
            # The client's own limit holds for each read, so that a server which drips bytes would never run into it.
            async with asyncio.timeout(self._timeout_s):
                # As raw response: building the package's models for it costs more than everything else together.
                response = await self._client.post("/chat/completions", cast_to=httpx2.Response, body=body)
        except openai.APIStatusError as error:
            response = error.response
        except (TimeoutError, openai.APITimeoutError) as error:
            raise Unreached(f"no answer within {self._timeout_s:g} s", is_timeout=True) from error
        except openai.APIConnectionError as error:
            reason = type(error.__cause__).__name__ if error.__cause__ else "connection failed"
            raise Unreached(f"no connection ({reason})", is_timeout=False) from error
        return Answered(response.status_code, response.headers, response.content)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._client.close()
