"""Say what is wrong with a config in sentences that name the place and what to write."""

from typing import Any, get_args

from pydantic import BaseModel

from enricher.settings.connections import Connection
from enricher.settings.values import Section, did_you_mean


def sentence(error: Any) -> str:
    """Say what pydantic found wrong at one place."""
    # A union by kind adds the kind to the path, which nobody wrote there.
    known = [str(get_args(kind.model_fields["kind"].annotation)[0]) for kind in _connection_kinds()]
    where = ".".join(str(part) for number, part in enumerate(error["loc"]) if not (number == 2 and part in known))
    if error["type"].startswith("union_tag"):
        wrong = error["input"].get("kind") if isinstance(error["input"], dict) else None
        return f"{where}.kind: use one of {', '.join(sorted(known))}" + (f", not {wrong!r}" if wrong else "")
    if error["type"] == "extra_forbidden":
        return f"{where}: unknown key{did_you_mean(str(error['loc'][-1]), _known_keys())}"
    if error["type"] == "literal_error":
        allowed = error["ctx"]["expected"].replace("'", "").replace(" or ", ", ").split(", ")
        hint = did_you_mean(str(error["input"]), allowed)
        return f"{where}: '{error['input']}' is not known{hint}; use one of {', '.join(allowed)}"
    message = str(error["msg"]).removeprefix("Value error, ").removeprefix("Input ")
    if not where:
        return message
    return f"{where}: {message}" + ("" if error["type"] == "value_error" else f", not {error['input']!r}")


def _known_keys(section: type[Section] = Section) -> set[str]:
    found = set(section.model_fields)
    for kind in section.__subclasses__():
        found |= _known_keys(kind)
    return found


def _connection_kinds() -> tuple[type[BaseModel], ...]:
    union, _ = get_args(Connection)
    kinds: tuple[type[BaseModel], ...] = get_args(union)
    return kinds
