"""What sections of the config are made of: strict about keys, durations written as people write them."""

import difflib
import re
from collections.abc import Iterable
from datetime import timedelta
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|h|d|w)")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def duration(value: object) -> object:
    """Read "90s", "30m", "24h", "7d" or "1h30m"; let anything else through to the type check."""
    if not isinstance(value, str):
        return value
    parts = list(_DURATION.finditer(value.strip()))
    if not parts or "".join(part.group(0) for part in parts) != value.strip():
        raise ValueError(f"'{value}' is no duration; write for example 30m, 24h or 7d")
    return timedelta(seconds=sum(float(part.group(1)) * _SECONDS[part.group(2)] for part in parts))


Duration = Annotated[timedelta, BeforeValidator(duration)]
Share = Annotated[float, Field(ge=0, le=1)]


class Section(BaseModel):
    """A part of the config: frozen, and strict about its keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def did_you_mean(word: str, known: Iterable[object], *, likeness: float = 0.4) -> str:
    """Return the known word that comes near, as the end of a sentence."""
    close = difflib.get_close_matches(word, [str(k) for k in known], n=1, cutoff=likeness)
    return f"; did you mean '{close[0]}'?" if close else ""
