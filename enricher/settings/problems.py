"""Say what is wrong with a config in sentences that name the place and what to write."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_args

from pydantic import BaseModel

from enricher.settings.connections import Connection
from enricher.settings.root import Settings
from enricher.settings.values import Section, did_you_mean, sections_in

Place = tuple[str, ...]  # keys from the outside in; entries of a list by number
_ALMOST_A_KEY = 0.8  # how near a word must be to a key to be taken for it, though it may be a key elsewhere
_LIKE_A_KEY = 0.6  # and when it is none elsewhere


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong, and where."""

    place: Place
    text: str

    def __str__(self) -> str:
        return f"{'.'.join(self.place)}: {self.text}" if self.place else self.text


def problem_of(error: Any) -> Problem:
    """Say what pydantic found wrong at one place."""
    # A union by kind adds the kind to the path, which nobody wrote there.
    known = [str(get_args(kind.model_fields["kind"].annotation)[0]) for kind in _connection_kinds()]
    parts = [str(part) for number, part in enumerate(error["loc"]) if not (number == 2 and part in known)]
    place = tuple(parts)
    if error["type"].startswith("union_tag"):
        wrong = error["input"].get("kind") if isinstance(error["input"], dict) else None
        hint = f", not {wrong!r}{did_you_mean(str(wrong), known)}" if wrong else ""
        return Problem((*place, "kind"), f"use one of {', '.join(sorted(known))}{hint}")
    if error["type"] == "extra_forbidden":
        return Problem(place, f"unknown key{_known_elsewhere(place, str(error['loc'][-1]))}")
    if error["type"] == "literal_error":
        allowed = error["ctx"]["expected"].replace("'", "").replace(" or ", ", ").split(", ")
        hint = did_you_mean(str(error["input"]), allowed)
        return Problem(place, f"'{error['input']}' is not known{hint}; use one of {', '.join(allowed)}")
    if error["type"] == "missing":
        return Problem(place, "is missing")
    message = str(error["msg"]).removeprefix("Value error, ").removeprefix("Input ")
    if not place or error["type"] == "value_error":
        return Problem(place, message)
    return Problem(place, f"{message}, not {_shortened(error['input'])}{_in_parts(error)}")


def _shortened(given: object) -> str:
    return text if len(text := repr(given)) <= 80 else text[:77] + "..."


def _in_parts(error: Any) -> str:
    """Explain a share that was written in per cent."""
    given = error["input"]
    is_share = error["type"] == "less_than_equal" and error["ctx"]["le"] == 1
    if is_share and isinstance(given, int | float) and 1 < given <= 100:
        return f"; did you mean {given / 100:g}?"
    return ""


def _known_elsewhere(place: Place, key: str) -> str:
    own = {field.alias or name for at in _sections_at(place[:-1]) for name, field in at.model_fields.items()}
    if hint := did_you_mean(key, own, likeness=_ALMOST_A_KEY):
        return hint
    homes = sorted({home for home, name in _all_keys(Settings, "") if name == key})
    if homes:
        return "; it is a key of " + " and of ".join(home or "the top level" for home in homes[:3])
    if longer := [name for name in sorted(own) if name.startswith(key)]:
        return f"; did you mean '{longer[0]}'?"
    return did_you_mean(key, own, likeness=_LIKE_A_KEY) or f"; use one of {', '.join(sorted(own))}"


def _sections_at(place: Place) -> list[type[Section]]:
    found: list[type[Section]] = [Settings]
    for part in place:
        fields = [section.model_fields[part] for section in found if part in section.model_fields]
        if fields:
            found = [section for field in fields for section in sections_in(field.annotation)]
    return found


def _all_keys(section: type[Section], home: str) -> Iterator[tuple[str, str]]:
    for name, field in section.model_fields.items():
        yield home, name
        many = ".NAME" if "dict[" in str(field.annotation) else ""
        for below in sections_in(field.annotation):
            yield from _all_keys(below, f"{home}.{name}{many}".lstrip("."))


def _connection_kinds() -> tuple[type[BaseModel], ...]:
    union, _ = get_args(Connection)
    kinds: tuple[type[BaseModel], ...] = get_args(union)
    return kinds
