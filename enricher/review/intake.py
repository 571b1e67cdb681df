"""Take hints by webhook: a trace that a platform or an application names is looked at by the next run."""

import asyncio
import json
import logging
import re
import secrets
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import JSONResponse
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    SecretStr,
    StringConstraints,
    ValidationError,
    model_validator,
)

from enricher.errors import EnricherError, SetupError
from enricher.store import Store

log = logging.getLogger(__name__)

SECRET_HEADER = "X-Enricher-Secret"
BODY_LIMIT = 1_000_000  # bytes
_READ_WITHIN_S = 3.0  # a body that takes longer to come is given up
_STORE_WITHIN_S = 0.8  # so that the answer is there a second after the body; LangSmith waits for five
_RETRY_AFTER = {"Retry-After": "10"}
# What the connectors take for an id. A hint that none of them could look up is refused here, where somebody sees it.
_IDS = {
    "phoenix": (re.compile(r"[0-9a-f]{32}", re.I), "32 hexadecimal digits"),
    "langsmith": (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.I), "a UUID"),
    "files": (re.compile(r"[^\x00-\x1f\x7f]+"), "one line of text"),
}


def _one_line(text: Any) -> Any:
    return re.sub(r"[\x00-\x20\x7f]+", " ", text).strip()[:500] if isinstance(text, str) else text


class _Payload(BaseModel):
    """What is read of a body; platforms may add fields at any time."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Hinted(_Payload):
    """The body of `POST /intake`: one trace, named by whoever knows of it."""

    platform: Literal["phoenix", "langsmith", "files"]
    project: Annotated[str, StringConstraints(min_length=1, max_length=200), BeforeValidator(_one_line)]
    trace_id: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
    reason: Annotated[str, BeforeValidator(_one_line)] = ""

    @model_validator(mode="after")
    def _has_an_id_of_its_platform(self) -> "Hinted":
        pattern, shape = _IDS[self.platform]
        if not pattern.fullmatch(self.trace_id):
            raise ValueError(f"trace_id: {self.trace_id[:60]!r} is no id of {self.platform}, which is {shape}")
        return self

    @property
    def key(self) -> str:
        """Return the trace id in the one way of writing that finds it waiting already."""
        return self.trace_id if self.platform == "files" else self.trace_id.lower()


class _Run(_Payload):
    id: str
    trace_id: str | None = None  # the root run's own id
    session_id: str  # LangSmith's word for the id of the project


class _RuleFired(_Payload):
    """The body of `POST /intake/langsmith`: the runs that a rule matched, without their children."""

    rule_id: str = ""
    runs: tuple[_Run, ...]

    @model_validator(mode="before")
    @classmethod
    def _is_about_runs(cls, given: Any) -> Any:
        if isinstance(given, dict) and "threads" in given and "runs" not in given:
            raise ValueError("a rule on threads names no run; use a rule on runs")
        return given


def intake_app(store: Store, *, secret: SecretStr | None, body_limit: int = BODY_LIMIT) -> FastAPI:
    """Return the application that takes hints; without a secret, from anybody who reaches it.

    Raises:
        SetupError: the secret is empty.
    """
    app = FastAPI(title="Trace Enricher", docs_url=None, redoc_url=None, openapi_url=None)
    app.include_router(intake_router(store, secret=secret, body_limit=body_limit))
    return app


def intake_router(store: Store, *, secret: SecretStr | None, body_limit: int = BODY_LIMIT) -> APIRouter:
    """Return the routes of the intake, for an application that offers more than these."""
    if secret is not None and not secret.get_secret_value():
        raise SetupError("the secret of the intake is empty; set it to a long random text")
    router = APIRouter()

    async def taken(request: Request, read: Callable[[Any], list[Hinted]]) -> JSONResponse:
        if secret is not None and not _is_known(request, secret):
            return _refused(401, f"the header {SECRET_HEADER} must carry the secret")
        try:
            async with asyncio.timeout(_READ_WITHIN_S):
                body = await _body(request, body_limit)
        except TimeoutError:
            return _refused(408, f"the body did not come within {_READ_WITHIN_S:g} seconds")
        if body is None:
            return _refused(413, f"the body is longer than {body_limit} bytes")
        try:
            hints = read(json.loads(body))
        except ValidationError as error:
            return _refused(422, _sentence(error))
        except (ValueError, RecursionError) as error:
            return _refused(422, f"the body is no JSON: {error}")
        return await _stored(store, hints)

    @router.post("/intake")
    async def take_hint(request: Request) -> JSONResponse:
        return await taken(request, lambda payload: [Hinted.model_validate(payload)])

    @router.post("/intake/langsmith")
    async def take_langsmith_rule(request: Request) -> JSONResponse:
        return await taken(request, _hints_of_rule)

    @router.get("/healthz")
    async def tell_health() -> JSONResponse:
        try:
            async with asyncio.timeout(_STORE_WITHIN_S):
                await store.runs(limit=1)
        except (EnricherError, TimeoutError):
            return _refused(503, "the store does not answer", _RETRY_AFTER)
        return JSONResponse({"status": "ok"})

    return router


def _is_known(request: Request, secret: SecretStr) -> bool:
    given = request.headers.get(SECRET_HEADER, "").encode("latin-1")  # the bytes as they came
    return secrets.compare_digest(given, secret.get_secret_value().encode())


async def _body(request: Request, limit: int) -> bytes | None:
    """Read the body, and no further than the limit; None when it is longer."""
    length = request.headers.get("content-length", "")
    if length.isdigit() and int(length) > limit:
        return None
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            return None
    return bytes(body)


def _hints_of_rule(payload: Any) -> list[Hinted]:
    fired = _RuleFired.model_validate(payload)
    traces = {(run.session_id, run.trace_id or run.id) for run in fired.runs}
    reason = f"rule {fired.rule_id}" if fired.rule_id else ""
    return [
        Hinted(platform="langsmith", project=project, trace_id=trace_id, reason=reason)
        for project, trace_id in sorted(traces)
    ]


async def _stored(store: Store, hints: list[Hinted]) -> JSONResponse:
    """Answer when the hints are safe; one that waits already is not stored twice."""
    adding = (store.add_hint(hint.platform, hint.project, hint.key, hint.reason) for hint in hints)
    try:
        async with asyncio.timeout(_STORE_WITHIN_S):
            added = await asyncio.gather(*adding)
    except (EnricherError, TimeoutError) as error:
        log.error("%d hints are not stored: %s", len(hints), error or "the store is too slow")
        return _refused(503, "the store does not answer; nothing is lost if this is sent again", _RETRY_AFTER)
    return JSONResponse({"stored": sum(added), "known": len(added) - sum(added)})


def _refused(status: int, reason: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"detail": reason}, status, headers=headers)


def _sentence(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    message = str(first["msg"]).removeprefix("Value error, ")
    if first["type"] == "model_type":
        where, message = where or "the body", "this must be a JSON object"
    return f"{where}: {message}" if where else message
