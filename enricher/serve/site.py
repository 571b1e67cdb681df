"""What every page needs: the store, the settings, who asks, and how an answer is rendered."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jinja2 import Environment
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from enricher.errors import EnricherError
from enricher.serve.access import Access, Guesses, Visitor
from enricher.serve.showing import environment
from enricher.settings import Settings, fingerprint
from enricher.store import Store

Deliver = Callable[[str], Awaitable[object]]


async def _nobody(_connection: str) -> None:
    """Deliver nothing: write-backs wait for the next run."""


@dataclass(kw_only=True, slots=True)
class Courier:
    """Sends write-backs behind the visitor's back: who decides need not wait for a platform."""

    deliver: Deliver = _nobody
    _under_way: set[asyncio.Task[None]] = field(default_factory=set)

    def send_soon(self, connection: str) -> None:
        """Send what is queued for a connection; what fails stays queued for the next run."""
        task = asyncio.create_task(self._send(connection))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def aclose(self) -> None:
        """Wait for what is under way."""
        await asyncio.gather(*self._under_way)

    async def _send(self, connection: str) -> None:
        try:
            await self.deliver(connection)
        except EnricherError:
            return  # it is in the outbox, whose figures tell of it


@dataclass(frozen=True, kw_only=True, slots=True)
class ConfigAsRead:
    """The config file as it was when the pages began to follow it; they do so until they are restarted."""

    path: Path
    fingerprint: bytes | None

    @classmethod
    def of(cls, path: Path) -> "ConfigAsRead":
        """Look at a file that is about to be read."""
        return cls(path=path, fingerprint=fingerprint(path))

    def standing(self) -> dict[str, str]:
        """Say, for monitors, whether the file is still the same."""
        if fingerprint(self.path) == self.fingerprint:
            return {"path": str(self.path), "state": "current", "problem": ""}
        problem = "it was changed since the start and does not count yet; restart enricher serve"
        return {"path": str(self.path), "state": "changed", "problem": problem}


@dataclass(frozen=True, kw_only=True, slots=True)
class Site:
    """Everything the pages share."""

    store: Store
    settings: Settings
    config: ConfigAsRead | None = None  # none where there is no file
    courier: Courier = field(default_factory=Courier)
    access: Access = field(default_factory=Access)
    guesses: Guesses = field(default_factory=Guesses)
    templates: Environment = field(default_factory=environment)
    navigation: list[tuple[str, str]] = field(default_factory=list)  # title and address, in order

    @classmethod
    def of(
        cls, store: Store, settings: Settings, deliver: Deliver = _nobody, config: ConfigAsRead | None = None
    ) -> "Site":
        """Make a site of a config; `deliver` sends what is queued for a connection."""
        return cls(
            store=store,
            settings=settings,
            config=config,
            courier=Courier(deliver=deliver),
            access=Access.of(settings.serve),
        )


class Refused(Exception):
    """A page that can't be answered, with its status and one sentence that says what to do."""

    def __init__(self, status: int, sentence: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(sentence)
        self.status, self.sentence, self.headers = status, sentence, dict(headers or {})


def site_of(request: Request) -> Site:
    """Return the site a request came to."""
    site: Site = request.app.state.site
    return site


def visitor_of(request: Request) -> Visitor:
    """Return who asks; only behind the guard, where every page stands."""
    visitor: Visitor = request.state.visitor
    return visitor


def is_fragment(request: Request) -> bool:
    """Tell whether htmx asks for a part of a page."""
    return request.headers.get("hx-request") == "true" and request.headers.get("hx-boosted") != "true"


def render(request: Request, template: str, *, status: int = 200, **values: Any) -> Response:
    """Render a template with what every page shows."""
    site = site_of(request)
    visitor: Visitor | None = getattr(request.state, "visitor", None)
    csrf = visitor.csrf if visitor is not None else ""
    common = {
        "navigation": site.navigation,
        "path": request.url.path,
        "visitor": visitor,
        "asks_for_token": site.access.asks,
        "csrf": csrf,
        "csrf_field": lambda: Markup('<input type="hidden" name="csrf" value="{}">').format(csrf),
    }
    return HTMLResponse(site.templates.get_template(template).render(**common, **values), status)
