"""What comes back over the wire when a model server is asked, or that nothing does."""

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple


class Answered(NamedTuple):
    """What the server sent back, whatever its status."""

    status: int
    headers: Mapping[str, str]  # names in lower case
    body: bytes
    price_factor: float = 1.0  # what this kind of call costs, in list prices
    is_paid: bool = False  # an earlier process has paid for it


class Unreached(Exception):
    """No answer came: the connection failed, or the time was up."""

    def __init__(self, message: str, *, is_timeout: bool) -> None:
        super().__init__(message)
        self.is_timeout = is_timeout


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return how many seconds the server asks to be left alone, however it says so; None when it doesn't."""
    milliseconds, stated = headers.get("retry-after-ms"), headers.get("retry-after")
    try:
        seconds = float(milliseconds) / 1000 if milliseconds else float(stated) if stated else None
        return max(0.0, seconds) if seconds is not None and math.isfinite(seconds) else None
    except ValueError:
        pass
    try:
        at = parsedate_to_datetime(stated or "")
    except ValueError:
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return max(0.0, (at - datetime.now(UTC)).total_seconds())
