"""Sign in by a token of the environment, and say who decides."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from enricher.serve.access import person_by_default
from enricher.serve.guard import begin_session, check_form, csrf_of, first, form_of, known_visitor, own_path
from enricher.serve.site import render, site_of
from enricher.store.queue import NOBODY

router = APIRouter()
_LONGEST_NAME = 80


@router.get("/login")
async def ask(request: Request) -> Response:
    """Show the form."""
    return _form(request, request.query_params.get("next", ""))


@router.post("/login")
async def sign_in(request: Request) -> Response:
    """Begin a session, if the token is right and not too many were wrong."""
    await check_form(request, csrf_of(request))
    site, form = site_of(request), await form_of(request)
    wanted, person = first(form, "next"), " ".join(first(form, "person").split())[:_LONGEST_NAME]
    person = "" if person == NOBODY else person
    if not site.access.asks:
        begin_session(request, site.access.role_without_token, person or person_by_default())
        return RedirectResponse(own_path(wanted), 303)
    address = request.client.host if request.client else ""
    if wait_s := site.guesses.wait_s(address):
        return _form(request, wanted, 429, f"Too many wrong tokens; try again in {wait_s} seconds.", wait_s)
    role = site.access.role_of(first(form, "token"))
    if role is None:
        site.guesses.note_wrong(address)
        return _form(request, wanted, 401, "That is not the token; ask whoever started this server.")
    if not person:
        return _form(request, wanted, 422, "Say who you are: decisions carry your name.")
    begin_session(request, role, person)
    return RedirectResponse(own_path(wanted), 303)


@router.post("/logout")
async def sign_out(request: Request) -> Response:
    """End the session."""
    await check_form(request, csrf_of(request))
    request.session.clear()
    return RedirectResponse("/login", 303)


def _form(request: Request, wanted: str, status: int = 200, problem: str = "", wait_s: int = 0) -> Response:
    request.state.visitor = known_visitor(request)
    site = site_of(request)
    person = request.session.get("person") or ("" if site.access.asks else person_by_default())
    answer = render(
        request,
        "login.html",
        status=status,
        problem=problem,
        wanted=own_path(wanted),
        person=person,
        login_csrf=csrf_of(request),
    )
    if wait_s:
        answer.headers["retry-after"] = str(wait_s)
    return answer
