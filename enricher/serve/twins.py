"""Pages for programs: the same figures as JSON, by `?format=json` or by what the request accepts."""

from collections.abc import Iterable
from urllib.parse import urlencode

from starlette.requests import Request

from enricher.serve.site import Refused


def wants_json(request: Request) -> bool:
    """Tell whether a program asks.

    Raises:
        Refused: it asks for a form that there is not.
    """
    asked = request.query_params.get("format")
    if asked not in (None, "", "html", "json"):
        raise Refused(400, f"There is no form '{asked}'; use html or json.")
    accepts = request.headers.get("accept", "")
    return asked == "json" or (not asked and "application/json" in accepts and "text/html" not in accepts)


def address(path: str, fields: Iterable[tuple[str, object]] = ()) -> str:
    """Return an address with those fields that hold something."""
    query = urlencode([(name, str(value)) for name, value in fields if value not in (None, "")], errors="replace")
    return f"{path}?{query}" if query else path


def number(request: Request, name: str, default: int, *, at_most: int) -> int:
    """Read a whole number from 0 on.

    Raises:
        Refused: it is none, or too large.
    """
    given = request.query_params.get(name, "")
    if not given:
        return default
    if not (given.isascii() and given.isdigit() and len(given) < 10 and int(given) <= at_most):
        raise Refused(400, f"{name}: '{given[:40]}' is no whole number from 0 to {at_most:,}.")
    return int(given)
