"""What comes back over the wire when a model server is asked, or that nothing does."""

from collections.abc import Mapping
from typing import NamedTuple


class Answered(NamedTuple):
    """What the server sent back, whatever its status."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Unreached(Exception):
    """No answer came: the connection failed, or the time was up."""

    def __init__(self, message: str, *, is_timeout: bool) -> None:
        super().__init__(message)
        self.is_timeout = is_timeout
