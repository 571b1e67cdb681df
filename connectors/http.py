"""Speak HTTP to a platform and turn whatever comes back into a value or the right error."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from json import JSONDecodeError
from typing import Any, TypeVar

import httpx

from enricher.errors import BadReply, SetupError, TryAgain

T = TypeVar("T")
Params = Mapping[str, Any] | Sequence[tuple[str, Any]]

# A kept connection that the server has closed meanwhile; Phoenix closes after every 500.
_DEAD_CONNECTION = (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError)


_CREDENTIALS = ("authorization", "x-api-key", "api-key", "cookie")


class Declined(BadReply):
    """The platform understood and refused this request (4xx other than credentials and limits)."""

    def __init__(self, message: str, *, status: int, detail: str) -> None:
        super().__init__(message)
        self.status = status
        self.detail = detail


class Failing(TryAgain):
    """The platform broke or was too slow on this request; a smaller one may pass. `status` is None on a timeout."""

    def __init__(self, message: str, *, status: int | None = None, after: float | None = None) -> None:
        super().__init__(message, after=after)
        self.status = status


class WholeTime(httpx.AsyncClient):
    """A client whose read timeout holds for a whole answer: httpx starts it anew with each byte that drips in."""

    async def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        """Send, and read the answer to its end."""
        try:
            async with asyncio.timeout(self.timeout.read):
                return await super().send(request, **options)
        except TimeoutError as error:
            raise httpx.ReadTimeout("the answer was not complete in time", request=request) from error


class HttpCalls:
    """Requests to one platform, JSON in and out. All of them must be safe to repeat."""

    def __init__(self, *, base_url: str, api_key: str | None, timeout_s: float) -> None:
        try:
            url = httpx.URL(base_url.strip().rstrip("/") + "/")
        except httpx.InvalidURL as error:
            raise SetupError(f"'{base_url}' is not a URL: {error}") from error
        if url.scheme not in ("http", "https") or not url.host:
            raise SetupError(f"'{base_url}' is not an http(s) URL; write it like http://localhost:6006")
        self.base_url = str(url).rstrip("/")
        self.client = WholeTime(
            base_url=url,
            headers={"authorization": f"Bearer {api_key}"} if api_key else {},
            timeout=httpx.Timeout(timeout_s, connect=min(10.0, timeout_s)),
        )

    async def get(self, path: str, params: Params | None = None) -> Any:
        """Return the JSON object at the path."""
        return await self.exchange(lambda: self.client.get(path, params=_pairs(params)))

    async def get_or_none(self, path: str, params: Params | None = None) -> Any | None:
        """Return the JSON object at the path, None when the platform answers 404."""
        try:
            return await self.get(path, params)
        except Declined as error:
            if error.status == 404:
                return None
            raise

    async def post(self, path: str, body: Any) -> Any:
        """Send JSON and return the JSON reply."""
        return await self.exchange(lambda: self.client.post(path, json=body))

    async def put(self, path: str, body: Any | None = None) -> Any:
        """Send JSON to be stored at the path and return the JSON reply."""
        return await self.exchange(lambda: self.client.put(path, json=body))

    async def post_bytes(self, path: str, body: bytes, *, content_type: str) -> None:
        """Send raw bytes; the reply's body doesn't matter."""
        await self._settled(lambda: self.client.post(path, content=body, headers={"content-type": content_type}))

    async def text(self, path: str) -> str:
        """Return the plain text at the path."""
        return (await self._settled(lambda: self.client.get(path))).text.strip()

    async def exchange(self, send: Callable[[], Awaitable[httpx.Response]]) -> Any:
        """Send and return the decoded JSON reply."""
        return decoded(await self._settled(send), self.base_url)

    async def _settled(self, send: Callable[[], Awaitable[httpx.Response]]) -> httpx.Response:
        response = await guarded(send, self.base_url)
        if not response.is_success:
            raise error_for(response, self.base_url)
        return response

    async def aclose(self) -> None:
        """Release connections."""
        await self.client.aclose()


async def guarded(send: Callable[[], Awaitable[T]], base_url: str) -> T:
    """Await `send()`, once more when a kept connection turns out dead; transport errors become TryAgain."""
    try:
        try:
            return await send()
        except _DEAD_CONNECTION:
            return await send()
    except httpx.TimeoutException as error:
        if isinstance(error, httpx.ConnectTimeout | httpx.PoolTimeout):
            raise TryAgain(f"{base_url} can't be reached in time") from error
        raise Failing(f"{base_url} did not answer in time") from error
    except httpx.InvalidURL as error:
        raise Failing(f"the request to {base_url} is too long: {error}", status=414) from error
    except httpx.TransportError as error:
        raise TryAgain(f"{base_url} can't be reached: {error or type(error).__name__}") from error


def decoded(response: httpx.Response, base_url: str) -> Any:
    """Return the JSON of a reply; HTML with 200 (a login page, an unknown path) is not an answer."""
    if response.status_code == 204:
        return None
    content_type = response.headers.get("content-type", "")
    if "json" not in content_type:
        raise BadReply(
            f"{base_url} answered {content_type or 'nothing'} instead of JSON at {response.url.path}; "
            "is the base URL that of the platform's API?"
        )
    try:
        return response.json()
    except (JSONDecodeError, UnicodeDecodeError) as error:
        raise BadReply(f"{base_url} answered broken JSON at {response.url.path}: {error}") from error


def error_for(response: httpx.Response, base_url: str) -> SetupError | TryAgain | BadReply:
    """Name the error of a reply without success by who must act."""
    status, detail = response.status_code, _detail(response)
    said = f"{base_url} answered {status} at {response.url.path}" + (f": {detail}" if detail else "")
    if status in (401, 403):
        return SetupError(f"{said}; check the API key and its rights")
    if response.is_redirect:
        return SetupError(f"{said}; it redirects to {response.headers.get('location')}: set that as base URL")
    if status in (408, 425, 429):
        return TryAgain(said, after=retry_after(response))
    if status >= 500 or status in (413, 414):
        return Failing(said, status=status, after=retry_after(response))
    return Declined(said, status=status, detail=detail)


def retry_after(response: httpx.Response) -> float | None:
    """Return the seconds that a Retry-After header asks for, given as a number or as a date."""
    value = response.headers.get("retry-after", "").strip()
    if not value:
        return None
    if value.replace(".", "", 1).isdigit():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def _detail(response: httpx.Response) -> str:
    """Return what the platform says about its refusal, short enough for one sentence."""
    try:
        body = response.json()
    except ValueError:
        body = response.text if "html" not in response.headers.get("content-type", "") else ""
    text = str(body.get("detail", body)) if isinstance(body, dict) else str(body)
    return " ".join(_without_keys(text, response.request.headers).split())[:2000]


def _without_keys(text: str, headers: httpx.Headers) -> str:
    """Take out the credentials that were sent, in case the other side repeats them."""
    for name in _CREDENTIALS:
        key = headers.get(name, "").removeprefix("Bearer ")
        text = text.replace(key, "***") if key else text
    return text


def _pairs(params: Params | None) -> list[tuple[str, Any]] | None:
    """Return the parameters as pairs; a name may repeat."""
    if params is None:
        return None
    return list(params.items()) if isinstance(params, Mapping) else list(params)
