"""Page through what Phoenix's REST interface lists: projects, traces, spans, annotations, users."""

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from connectors.http import Declined, Failing, HttpCalls
from connectors.phoenix_spans import span_from_rest
from enricher.errors import BadReply, SetupError
from enricher.trace import Span

LARGEST_PAGE = 1000  # 422 above
IDS_PER_REQUEST = 100  # about 4.5 kB of URL; proxies commonly refuse 8 kB
_SMALLEST_PAGE = 100
_EMPTY_PAGES = 20
# Phoenix's own words for what was there once; any other 404 means that this is not the API.
_GONE = ("Project with ", "None of the supplied ")

Parameters = Iterable[tuple[str, Any]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Project:
    """A project by the name that people use and the id that its address needs."""

    name: str
    id: str


class PhoenixReads:
    """All listing requests, with the traps of paging handled in one place."""

    def __init__(self, calls: HttpCalls, *, page_size: int) -> None:
        self.calls = calls
        self.page_size = min(page_size, LARGEST_PAGE)
        self._projects: dict[str, Project] = {}
        self._authors: dict[str, str] | None = None
        self._filters_work = False

    async def pages(self, path: str, parameters: Parameters, *, limit: int) -> AsyncIterator[list[Any]]:
        """Yield page after page until the server has no more; a page that is too big for it is asked for smaller."""
        fixed = list(parameters)
        cursor: str | None = None
        used: set[str] = set()
        empty = 0
        while True:
            asked = [*fixed, ("limit", limit), *([("cursor", cursor)] if cursor else [])]
            try:
                reply = await self.calls.get(path, asked)
            except Failing as error:
                if error.status not in (None, 413, 504) or limit <= _SMALLEST_PAGE:
                    raise
                limit = max(_SMALLEST_PAGE, limit // 4)
                continue
            except Declined as error:
                if error.status == 404 and error.detail.startswith(_GONE):
                    return
                raise SetupError(f"Phoenix refuses the query: {error.detail or error}") from error
            data, following = self._checked(path, reply)
            empty = 0 if data else empty + 1
            yield data
            if not following:
                return
            if following in used or empty >= _EMPTY_PAGES:
                raise BadReply(f"{self.calls.base_url} pages in a circle at /{path}")
            used.add(following)
            cursor = following

    def _checked(self, path: str, reply: Any) -> tuple[list[Any], str | None]:
        if not isinstance(reply, dict) or not isinstance(reply.get("data"), list):
            raise BadReply(f"{self.calls.base_url} answered without a list of data at /{path}")
        return reply["data"], reply.get("next_cursor")

    async def projects(self, names: Sequence[str] | None) -> list[Project]:
        """Return the named projects, or all; a name that doesn't exist is an error, never a guess.

        Raises:
            SetupError: a named project doesn't exist; the closest names are offered.
        """
        listed = await self._listed(())
        self._projects = {project.name: project for project in listed}
        if names is None:
            return sorted(listed, key=lambda project: project.name)
        if any(name not in self._projects for name in names):
            # Those of experiments are listed only on demand, and only those that were asked for by name count.
            also = await self._listed((("include_experiment_projects", "true"),))
            self._projects |= {project.name: project for project in also if project.name in names}
        if missing := [name for name in names if name not in self._projects]:
            raise self._no_such(missing)
        return [self._projects[name] for name in dict.fromkeys(names)]

    async def _listed(self, parameters: Parameters) -> list[Project]:
        return [
            Project(name=project["name"], id=project["id"])
            async for page in self.pages("v1/projects", parameters, limit=LARGEST_PAGE)
            for project in page
        ]

    async def project_id(self, name: str) -> str:
        """Return the id of a project; names are remembered."""
        if name not in self._projects:
            await self.projects((name,))
        return self._projects[name].id

    def _no_such(self, names: Sequence[str]) -> SetupError:
        said = []
        for name in names:
            close = get_close_matches(name, self._projects, n=3, cutoff=0.5)
            offer = f"closest: {', '.join(close)}" if close else f"it has: {', '.join([*self._projects][:5]) or 'none'}"
            said.append(f"no project '{name}' ({offer})")
        return SetupError(f"Phoenix at {self.calls.base_url} has {', '.join(said)}")

    async def spans(self, project_id: str, trace_ids: Sequence[str], parameters: Parameters) -> AsyncIterator[Span]:
        """Yield the spans of the given traces, in the order in which they were stored."""
        fixed = list(parameters)
        for start in range(0, len(trace_ids), IDS_PER_REQUEST):
            ids = trace_ids[start : start + IDS_PER_REQUEST]
            # Ascending: spans that arrive meanwhile come last and can't shift the pages.
            asked = [*fixed, *(("trace_id", id_) for id_ in ids), ("sort", "id"), ("order", "asc")]
            async for page in self.pages(f"v1/projects/{project_id}/spans", asked, limit=self.page_size):
                for payload in page:
                    yield self._span(payload)

    def _span(self, payload: Any) -> Span:
        try:
            return span_from_rest(payload)
        except (KeyError, TypeError, ValueError) as error:
            raise BadReply(f"{self.calls.base_url} returned a span that can't be read: {error!r}") from error

    async def author_names(self) -> dict[str, str]:
        """Return user id to name; only administrators may list users, others see the ids."""
        if self._authors is None:
            try:
                self._authors = {
                    user["id"]: user.get("username") or user.get("email") or user["id"]
                    async for page in self.pages("v1/users", (), limit=_SMALLEST_PAGE)
                    for user in page
                }
            except SetupError:
                self._authors = {}
        return self._authors

    async def ensure_filters(self, project: Project) -> None:
        """Make sure that the server reads `filter`: one that doesn't know it answers unfiltered, without a word.

        Raises:
            SetupError: the server is too old.
        """
        if self._filters_work:
            return
        try:
            await self.calls.get(f"v1/projects/{project.id}/traces", [("filter", "("), ("limit", 1)])
        except Declined as error:
            if error.status == 400:
                self._filters_work = True
                return
            raise SetupError(f"Phoenix refuses trace filters: {error.detail or error}") from error
        raise SetupError(f"Phoenix at {self.calls.base_url} is too old: it ignores trace filters; upgrade it")
