"""What stands before every page: the host that was asked for, headers, the session, and the token of each form."""

import ipaddress
import secrets
from collections.abc import Mapping, Sequence
from urllib.parse import parse_qsl, quote, urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from enricher.serve.access import Role, Visitor, person_by_default
from enricher.serve.site import Refused, Site, is_fragment, site_of
from enricher.settings import Serve

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
# Asked by machines under whatever name they know, and without cookies.
MACHINES = ("/intake", "/healthz", "/health", "/ready", "/metrics")
FORM_LIMIT = 1_000_000  # bytes
_FIELDS = 2000  # of one form


class Shield:
    """Refuses hosts that are not ours, so that a foreign name can't be pointed here, and sets the headers."""

    def __init__(self, app: ASGIApp, *, hosts: frozenset[str]) -> None:
        self._app, self._hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_shielded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                is_file = scope["path"].startswith("/static/")
                headers.setdefault("cache-control", "public, max-age=86400" if is_file else "no-store")
            await send(message)

        host = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
        if not scope["path"].startswith(MACHINES) and not self._is_ours(host):
            refusal = PlainTextResponse("this name is not known here; add it to serve.hosts in the config\n", 400)
            await refusal(scope, receive, send_shielded)
            return
        await self._app(scope, receive, send_shielded)

    def _is_ours(self, host: str) -> bool:
        name = _name_of(host)
        # A name can be pointed at this machine by anybody who owns it; an address can't.
        return name in self._hosts or _is_address(name)


def known_hosts(section: Serve, report_url: str | None) -> frozenset[str]:
    """Return the names under which the pages may be asked for."""
    found = {"localhost", section.host.lower(), *(name.lower() for name in section.hosts)}
    if report_url and (name := urlsplit(report_url).hostname):
        found.add(name.lower())
    return frozenset(found)


def _name_of(host: str) -> str:
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


async def admit(request: Request) -> None:
    """Let a visitor to a page, or send them to the login; refuse what they may not do. Every page depends on this.

    Raises:
        Refused: no session, a form without its token, or a reader who wants to change something.
    """
    visitor = known_visitor(request)
    if visitor is None:
        raise Refused(401, "Sign in first.", _to_login(request))
    request.state.visitor = visitor
    if request.method not in ("GET", "HEAD"):
        if not visitor.may_decide:
            raise Refused(403, "You may look, but not decide; sign in with the reviewers' token.")
        await check_form(request, visitor.csrf)


def known_visitor(request: Request) -> Visitor | None:
    """Return who the session is of; where no token is asked for, everybody is somebody."""
    site, session = site_of(request), request.session
    role = session.get("role")
    if role is None and not site.access.asks:
        begin_session(request, site.access.role_without_token, session.get("person") or person_by_default())
        role = session["role"]
    if role is None:
        return None
    if not site.access.asks or site.access.read_only:
        role = site.access.role_without_token  # the flag may have changed since
    return Visitor(person=session.get("person", ""), role=Role(role), csrf=csrf_of(request))


def begin_session(request: Request, role: Role, person: str) -> None:
    """Begin a session of its own: nothing of an earlier one is kept."""
    request.session.clear()
    request.session.update(role=str(role), person=person, csrf=secrets.token_urlsafe(24))


def csrf_of(request: Request) -> str:
    """Return what this session's forms must send back."""
    token: str = request.session.setdefault("csrf", secrets.token_urlsafe(24))
    return token


async def check_form(request: Request, csrf: str) -> None:
    """Read the form of a request and check its token.

    Raises:
        Refused: it comes from another site, is too long, or lacks the token.
    """
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise Refused(403, "This form was sent by another site.")
    form = await form_of(request)
    given = request.headers.get("x-csrf-token") or next(iter(form.get("csrf", ())), "")
    if not secrets.compare_digest(given.encode("utf-8", "replace"), csrf.encode()):
        raise Refused(403, "This form is from another session; go back, reload the page and send it again.")


async def form_of(request: Request) -> Mapping[str, list[str]]:
    """Return the fields of a form, each with all of its values; read once."""
    known: Mapping[str, list[str]] | None = getattr(request.state, "form", None)
    if known is not None:
        return known
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > FORM_LIMIT:
            raise Refused(413, f"A form may hold at most {FORM_LIMIT:,} bytes.")
    form: dict[str, list[str]] = {}
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_FIELDS, errors="replace")
    except ValueError:
        raise Refused(400, "The form can't be read.") from None
    for name, value in pairs:
        form.setdefault(name, []).append(value)
    request.state.form = form
    return form


def first(form: Mapping[str, Sequence[str]], name: str, default: str = "") -> str:
    """Return the first value of a field."""
    return next(iter(form.get(name, ())), default)


def own_path(wanted: str, default: str = "/") -> str:
    """Return where to go next, if it is a path of ours."""
    is_ours = wanted.startswith("/") and not wanted.startswith(("//", "/\\")) and wanted.isprintable()
    return wanted if is_ours else default


def _to_login(request: Request) -> dict[str, str]:
    wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    address = f"/login?next={quote(wanted, safe='')}" if request.method == "GET" else "/login"
    return {"hx-redirect": address} if is_fragment(request) else {"location": address}


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def why_refused(site: Site, host: str) -> str | None:
    """Say why a site must not be opened on an address; None when it may."""
    if is_loopback(host):
        return None
    for token, variable in (
        (site.access.token, site.settings.serve.token_env),
        (site.access.read_token, site.settings.serve.read_token_env),
    ):
        if token is not None and len(token.get_secret_value()) < 16:
            return f"the token in {variable} is too short for other machines to guess at; use 16 characters or more"
    if not site.access.asks:
        variable = site.settings.serve.token_env
        return f"set {variable} before serving on {host}: without a token only this machine may reach the pages"
    return None
