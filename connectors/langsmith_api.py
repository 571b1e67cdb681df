"""Call LangSmith through its generated client: one place for keys, pace, errors and the two API generations."""

import asyncio
import difflib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any

import httpx
import langsmith
from langsmith.utils import (
    LangSmithAPIError,
    LangSmithAuthError,
    LangSmithConnectionError,
    LangSmithError,
    LangSmithRateLimitError,
    LangSmithRequestTimeout,
    LangSmithUserError,
)

from connectors.http import Declined, Failing, WholeTime, error_for
from connectors.langsmith_limits import TokenBucket
from connectors.langsmith_query import PAGE, RunQuery, v1_body, v1_selects, v2_body
from enricher.errors import BadReply, EnricherError, SetupError, TryAgain

_PROJECTS_PER_QUERY = 50
_ABSENT = (404, 405, 410, 501)  # how a server says that it hasn't (or no longer has) an endpoint
_TELLING_HEADERS = ("retry-after", "content-type", "location")
# A kept connection that the server has closed meanwhile.
_DEAD_CONNECTION = ("ReadError", "WriteError", "RemoteProtocolError")


class Generation(StrEnum):
    """Which run queries a server answers."""

    V2 = "v2"
    V1 = "v1"


class LangSmithApi:
    """Requests to one LangSmith workspace. Every one is sent once: the run owns the retry policy.

    The SDK's own retries are off (they sleep for hours), its tracing client is not used at all: no background thread,
    and no sampling rate that would drop feedback.
    """

    def __init__(
        self,
        *,
        base_url: str,
        api_key: str,
        workspace_id: str | None,
        timeout_s: float,
        query_rate: float,
        call_rate: float,
    ) -> None:
        self.base_url = _root(base_url)
        self._timeout_s = timeout_s
        if not api_key:
            raise SetupError("LangSmith needs an API key; set the environment variable that the connection names")
        self.client = langsmith.AsyncLangsmith(
            api_key=api_key,
            tenant_id=workspace_id or "",
            base_url=self.base_url,
            timeout=timeout_s,
            max_retries=0,
            # A redirect to another host would take the key along.
            http_client=langsmith.DefaultAsyncHttpxClient(follow_redirects=False, timeout=timeout_s),
        )
        self.client.tenant_id = workspace_id or None  # an empty one kept the environment's out
        self.queries = TokenBucket(rate=query_rate, burst=10)
        self.calls = TokenBucket(rate=call_rate, burst=20)
        self._payloads = WholeTime(timeout=timeout_s, follow_redirects=True)  # holds no key
        self._generation: Generation | None = None
        self._projects: dict[str, str] = {}  # name to id

    async def aclose(self) -> None:
        """Release connections."""
        await self.client.close()
        await self._payloads.aclose()

    async def get(self, path: str, params: Mapping[str, Any] | None = None, *, is_query: bool = False) -> Any:
        """Return the JSON at a path."""
        options: Any = {"params": dict(params or {})}
        return await self._answer(lambda: self.client.get(path, cast_to=object, options=options), is_query=is_query)

    async def post(
        self,
        path: str,
        body: Any,
        *,
        params: Mapping[str, Any] | None = None,
        is_query: bool = False,
        is_repeatable: bool = True,
    ) -> Any:
        """Send JSON and return the JSON reply."""
        options: Any = {"params": dict(params or {})}
        return await self._answer(
            lambda: self.client.post(path, cast_to=object, body=body, options=options),
            is_query=is_query,
            is_repeatable=is_repeatable,
        )

    async def patch(self, path: str, body: Any) -> Any:
        """Change what is at a path."""
        return await self._answer(lambda: self.client.patch(path, cast_to=object, body=body))

    async def listing(self, path: str, params: Mapping[str, Any] | None = None) -> AsyncIterator[Mapping[str, Any]]:
        """Yield the rows of a listing that is paged by offset."""
        offset = 0
        while True:
            try:
                rows = await self.get(path, {**(params or {}), "limit": PAGE, "offset": offset})
            except Declined as error:
                raise (self.absent(path) if error.status == 404 else error) from error
            if not isinstance(rows, list):
                raise BadReply(f"{self.base_url} answered {type(rows).__name__} instead of a list at {path}")
            for row in rows:
                yield row
            if len(rows) < PAGE:
                return
            offset += len(rows)

    def absent(self, path: str) -> SetupError:
        """Say that the server has no such endpoint."""
        return SetupError(f"{self.base_url} has no {path}; is the base URL that of LangSmith's API?")

    async def payload(self, url: str) -> Any:
        """Read a payload that lies behind a presigned URL; our key is not sent along."""
        try:
            response = await self._payloads.get(httpx.URL(self.base_url).join(url))
            if response.is_success:
                return response.json()
        except httpx.HTTPError as error:
            raise TryAgain(f"a payload outside {self.base_url} can't be read: {type(error).__name__}") from error
        except ValueError as error:
            raise BadReply("a payload behind a presigned URL is not JSON") from error
        said = f"a payload behind a presigned URL answered {response.status_code}"
        if response.status_code in (404, 410):
            raise Declined(said, status=404, detail="gone")
        raise TryAgain(said)  # 403 is a URL that ran out; the next pull gets a fresh one

    async def info(self) -> Mapping[str, Any]:
        """Return what the server says of itself; nothing when it says nothing sensible."""
        try:
            found = await self.get("/api/v1/info")
        except (Declined, BadReply):
            return {}
        except Failing as error:
            if error.status is None:  # too slow: everything else would be, too
                raise
            return {}
        return found if isinstance(found, dict) else {}

    async def projects(self, names: Sequence[str] | None) -> dict[str, str]:
        """Return ids and names of the named projects, or of all.

        Raises:
            SetupError: a project doesn't exist; the message names close ones.
        """
        if names is not None and all(name in self._projects for name in names):
            return {self._projects[name]: name for name in names}
        if names is None or len(names) > 1:
            await self._learn({"reference_free": "true"})
        for name in names or ():
            if name not in self._projects:
                await self._learn({"name": name})
            if name not in self._projects:
                raise SetupError(await self._unknown(name))
        return {self._projects[name]: name for name in (self._projects if names is None else names)}

    async def _learn(self, params: Mapping[str, Any]) -> None:
        async for row in self.listing("/api/v1/sessions", params):
            self._projects[str(row["name"])] = str(row["id"])

    async def _unknown(self, name: str) -> str:
        await self._learn({"reference_free": "true"})
        close = difflib.get_close_matches(name, self._projects, n=3, cutoff=0.5) or list(self._projects)[:10]
        hint = f"; there is {', '.join(close)}" if close else "; the workspace has none that the key may see"
        return f"LangSmith has no project '{name}'{hint}"

    async def generation(self, project_ids: Sequence[str]) -> Generation:
        """Return which queries the server has: by its flags, else by asking once for a run of a known project."""
        if self._generation is None:
            flags = (await self.info()).get("instance_flags") or {}
            if flags.get("sdb_query_enabled") is True and flags.get("ch_query_enabled") is False:
                self._generation = Generation.V2
            else:
                self._generation = await self._probed(project_ids)
        return self._generation

    async def runs(self, query: RunQuery) -> AsyncIterator[list[dict[str, Any]]]:
        """Yield pages of matching runs, newest first on v2; v1 is asked only when the server has no v2.

        Raises:
            Declined: the server refuses the query, for example its filter.
        """
        for at in range(0, len(query.project_ids), _PROJECTS_PER_QUERY):
            some = query.project_ids[at : at + _PROJECTS_PER_QUERY]
            if await self._knows_v2(some):
                async for page in self._v2_pages(v2_body(query, some)):
                    yield page
            else:
                async for page in self._v1_pages(v1_body(query, some)):
                    yield page

    async def runs_of_trace(self, trace_id: str, project_id: str, selects: Sequence[str]) -> list[dict[str, Any]]:
        """Return all runs of one trace, none when it is gone."""
        if await self._knows_v2([project_id]):
            path = f"/api/v2/traces/{trace_id}/runs"
            try:
                found = await self.get(path, {"project_id": project_id, "selects": list(selects)}, is_query=True)
            except Declined as error:
                if error.status == 404:
                    return []
                raise
            return _rows(found, "items")
        body = {"session": [project_id], "trace": trace_id, "select": list(v1_selects(selects)), "limit": PAGE}
        return [run async for page in self._v1_pages(body) for run in page]

    async def _knows_v2(self, project_ids: Sequence[str]) -> bool:
        return await self.generation(project_ids) is Generation.V2

    async def _probed(self, project_ids: Sequence[str]) -> Generation:
        body = {"project_ids": list(project_ids[:1]), "page_size": 1, "selects": ["ID"]}
        try:
            _rows(await self.post("/api/v2/runs/query", body, is_query=True), "items")
        except (Declined, Failing) as error:
            if error.status in _ABSENT:
                return Generation.V1
            raise
        return Generation.V2

    async def _v2_pages(self, body: dict[str, Any]) -> AsyncIterator[list[dict[str, Any]]]:
        seen: set[str] = set()
        while True:
            reply = await self.post("/api/v2/runs/query", body, is_query=True)
            yield _rows(reply, "items")
            following = reply.get("next_cursor")
            if not following:
                return
            if following in seen:
                raise BadReply(f"{self.base_url} hands out the same cursor again and again")
            seen.add(following)
            body = {**body, "cursor": following}

    async def _v1_pages(self, body: dict[str, Any]) -> AsyncIterator[list[dict[str, Any]]]:
        seen: set[str] = set()
        while True:
            try:
                reply = await self.post("/api/v1/runs/query", body, is_query=True)
            except (Declined, Failing) as error:
                if error.status in _ABSENT:
                    raise SetupError(
                        f"{self.base_url} answers neither v2 nor v1 run queries; is it LangSmith?"
                    ) from error
                raise
            rows = _rows(reply, "runs")
            yield rows
            following = (reply.get("cursors") or {}).get("next")
            if not following or not rows:
                return
            if following in seen:
                raise BadReply(f"{self.base_url} hands out the same cursor again and again")
            seen.add(following)
            body = {**body, "cursor": following}

    async def _answer(
        self, send: Callable[[], Awaitable[object]], *, is_query: bool = False, is_repeatable: bool = True
    ) -> Any:
        bucket = self.queries if is_query else self.calls
        await bucket.take()
        try:
            try:
                return _decoded(await self._sent(send), self.base_url)
            except langsmith.APIConnectionError as error:
                if not is_repeatable or type(error.__cause__).__name__ not in _DEAD_CONNECTION:
                    raise
                return _decoded(await self._sent(send), self.base_url)
        except TimeoutError as error:
            raise Failing(f"{self.base_url} did not answer in time") from error
        except (langsmith.LangsmithError, LangSmithError) as error:
            named = self._named(error)
            if isinstance(error, langsmith.RateLimitError) and isinstance(named, TryAgain) and named.after:
                bucket.close(named.after)
            raise named from error
        except ValueError as error:  # JSON that breaks off, or text that is none
            raise BadReply(f"{self.base_url} answered broken JSON: {error}") from error

    async def _sent(self, send: Callable[[], Awaitable[object]]) -> object:
        # The client's own limit begins anew with each byte, so that an answer which drips would never run into it.
        async with asyncio.timeout(self._timeout_s):
            return await send()

    def _named(self, error: Exception) -> EnricherError:
        """Name an error of either family of the SDK by who must act."""
        if isinstance(error, langsmith.APIStatusError):
            return self._named_by_status(error)
        if isinstance(error, langsmith.APITimeoutError | LangSmithRequestTimeout):
            return Failing(f"{self.base_url} did not answer in time")
        if isinstance(error, langsmith.APIConnectionError | LangSmithConnectionError):
            return TryAgain(f"{self.base_url} can't be reached: {error.__cause__ or error}")
        if isinstance(error, LangSmithAuthError | LangSmithUserError):
            return SetupError(f"LangSmith refuses the key: {error}; check it, its rights and the workspace")
        if isinstance(error, LangSmithRateLimitError | LangSmithAPIError):
            return TryAgain(f"{self.base_url}: {error}")
        return BadReply(f"{self.base_url}: {error}")

    def _named_by_status(self, error: langsmith.APIStatusError) -> EnricherError:
        told = error.response
        headers = {
            name: told.headers[name] for name in ("retry-after", "content-type", "location") if name in told.headers
        }
        # With the headers, because what they hold is taken out of what the other side says.
        request = httpx.Request(told.request.method, str(told.request.url), headers=list(told.request.headers.items()))
        named = error_for(
            httpx.Response(told.status_code, headers=headers, content=told.content, request=request), self.base_url
        )
        if "org_scoped_key_requires_workspace" in str(error.body):
            return SetupError("the LangSmith key spans workspaces; set `workspace_id` of the connection")
        return named


def _rows(reply: Any, name: str) -> list[dict[str, Any]]:
    rows = reply.get(name) if isinstance(reply, dict) else None
    if not isinstance(rows, list):
        raise BadReply(f"LangSmith answered a run query without '{name}'")
    return rows


def _decoded(answer: object, base_url: str) -> Any:
    if isinstance(answer, dict | list) or answer is None:
        return answer
    raise BadReply(f"{base_url} answered text instead of JSON; is the base URL that of LangSmith's API?")


def _root(base_url: str) -> str:
    """Return the URL below which both /api/v1 and /api/v2 lie."""
    try:
        url = httpx.URL(base_url.strip().rstrip("/"))
    except httpx.InvalidURL as error:
        raise SetupError(f"'{base_url}' is not a URL: {error}") from error
    if url.scheme not in ("http", "https") or not url.host:
        raise SetupError(f"'{base_url}' is not an http(s) URL; write it like https://api.smith.langchain.com")
    return str(url).removesuffix("/api/v1").removesuffix("/api")
