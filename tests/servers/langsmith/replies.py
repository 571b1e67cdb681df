"""Answers of the stand-in: JSON, and refusals in the shape of each API generation."""

import json
from typing import Any

from starlette.responses import Response


class Refused(Exception):
    """The service refuses a request; `shape` chooses the error JSON: v1, v2, or plain for ingest and keys."""

    def __init__(self, status: int, detail: Any, *, headers: dict[str, str] | None = None, error: str = "") -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = headers or {}
        self.error = error  # a code, for answers of the form {"error": code, "details": text}

    def response(self, path: str) -> Response:
        """Return the refusal as that path words it."""
        if self.error:
            body: dict[str, Any] = {"error": self.error, "details": self.detail}
        elif "/api/v2/" in path:
            titles = {400: "Bad Request", 404: "Not Found", 422: "Unprocessable Entity", 501: "Not Implemented"}
            body = {"type": "about:blank", "title": titles.get(self.status, "Error"), "status": self.status}
            body["detail"] = self.detail
        else:
            body = {"detail": self.detail}
        return reply(body, self.status, headers=self.headers)


def reply(body: Any, status: int = 200, *, headers: dict[str, str] | None = None) -> Response:
    """Return JSON."""
    text = json.dumps(body, ensure_ascii=False, default=str, separators=(",", ":"))
    return Response(text, status_code=status, headers=headers, media_type="application/json")


def invalid(field: str, message: str) -> Refused:
    """Return the 422 of v1 for one field."""
    return Refused(422, [{"loc": ["body", field], "msg": message, "type": "value_error"}])
