"""What sections of the config are made of: strict about keys, durations written as people write them."""

import difflib
import re
from collections.abc import Iterable
from datetime import timedelta
from typing import Annotated, Any, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

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


def url(value: str) -> str:
    """Refuse what is no address of a web server."""
    if not re.match(r"https?://[^/\s]", value.strip()):
        raise ValueError(f"'{value}' is no http(s) URL; write it like http://localhost:4318")
    return value.strip()


Duration = Annotated[timedelta, BeforeValidator(duration)]
Url = Annotated[str, AfterValidator(url), WithJsonSchema({"type": "string", "pattern": r"^\s*https?://[^/\s]"})]
Share = Annotated[float, Field(ge=0, le=1)]


class Section(BaseModel):
    """A part of the config: frozen, and strict about its keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def did_you_mean(word: str, known: Iterable[object], *, likeness: float = 0.4) -> str:
    """Return the known word that comes near, as the end of a sentence."""
    close = difflib.get_close_matches(word, [str(k) for k in known], n=1, cutoff=likeness)
    return f"; did you mean '{close[0]}'?" if close else ""


def sections_in(annotation: Any) -> list[type[Section]]:
    """Return the sections that a type is made of, such as those in a table or a list of them."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return [annotation]
    return [section for part in get_args(annotation) for section in sections_in(part)]
