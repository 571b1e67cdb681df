"""Put the pages together: one application of the page modules, the intake, health checks and figures."""

from types import ModuleType

from fastapi import Depends, FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.sessions import SessionMiddleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.staticfiles import StaticFiles

from enricher.errors import EnricherError, SetupError
from enricher.metrics import metrics_route
from enricher.review.intake import intake_router
from enricher.serve import comparisons, login, nights, queue, runs, trace
from enricher.serve.guard import Shield, admit, is_loopback, known_hosts
from enricher.serve.health import health_routes
from enricher.serve.showing import STATIC
from enricher.serve.site import Refused, Site, render
from enricher.store.traffic import keepsake

# In the order of the header. A module offers `router` and, if it stands in the header, `NAVIGATION`.
PAGES: tuple[ModuleType, ...] = (queue, trace, nights, runs, comparisons)

SESSION_COOKIE = "enricher_session"


async def serve_app(site: Site, *, host: str) -> FastAPI:
    """Return the application for a site that listens on an address.

    Raises:
        SetupError: the secret of the intake is empty.
    """
    section = site.settings.serve
    report_url = site.settings.report_url or ""
    app = FastAPI(
        title="Trace Enricher",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        middleware=[
            Middleware(Shield, hosts=known_hosts(section, report_url) | {host.lower()}),
            Middleware(
                SessionMiddleware,
                secret_key=site.access.signing_key(await keepsake(site.store, "sessions")),
                session_cookie=SESSION_COOKIE,
                max_age=int(section.session.total_seconds()),
                same_site="lax",  # links from the platform must find the visitor signed in
                https_only=report_url.startswith("https:"),
            ),
        ],
    )
    app.state.site = site
    for page in PAGES:
        app.include_router(page.router, dependencies=[Depends(admit)])
        if entry := getattr(page, "NAVIGATION", None):
            site.navigation.append(entry)
    app.include_router(login.router)
    app.mount("/static", StaticFiles(directory=STATIC))
    _add_machines(app, site, host)
    app.add_api_route("/", _home, include_in_schema=False)
    app.add_exception_handler(Refused, _refused)
    app.add_exception_handler(EnricherError, _failed)
    app.add_exception_handler(HTTPException, _no_such_page)
    app.add_exception_handler(RequestValidationError, _unreadable)
    return app


def _add_machines(app: FastAPI, site: Site, host: str) -> None:
    section = site.settings.serve
    app.router.routes += health_routes(site)
    app.router.routes.append(metrics_route(site.store))
    if section.secret is None and not is_loopback(host):
        return  # anybody could choose what is judged; the operator is told at the start
    app.include_router(intake_router(site.store, secret=section.secret, body_limit=section.body_limit))


async def _home(request: Request) -> Response:
    return RedirectResponse(next((address for _, address in request.app.state.site.navigation), "/login"), 303)


async def _refused(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, Refused)
    if "location" in problem.headers:
        return RedirectResponse(problem.headers["location"], 303)
    answer = render(request, "problem.html", status=problem.status, sentence=problem.sentence)
    answer.headers.update(problem.headers)
    return answer


async def _failed(request: Request, problem: Exception) -> Response:
    status = 500 if isinstance(problem, SetupError) else 503
    return render(request, "problem.html", status=status, sentence=f"{problem}.".replace("..", "."))


async def _no_such_page(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, HTTPException)
    sentence = "There is no such page." if problem.status_code == 404 else f"{problem.detail}."
    return render(request, "problem.html", status=problem.status_code, sentence=sentence)


async def _unreadable(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, RequestValidationError)
    first = problem.errors()[0]
    where = ".".join(str(part) for part in first["loc"][1:])
    return render(request, "problem.html", status=400, sentence=f"{where}: {first['msg']}.")
