"""Secrets come from the environment, never from the file, and travel nowhere."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import SecretStr

from enricher.settings.problems import Place, Problem
from enricher.settings.root import Settings
from enricher.settings.values import Section

S = TypeVar("S", bound=Section)

_SECRET_KEYS = re.compile(r"(api[_-]?key|token|secret|password|secret_url|^headers)$", re.IGNORECASE)
_NAMED_BY = {
    "secret": "secret_env",
    "secret_url": "url_env",
    "headers": "headers_env",
    "token": "token_env",
    "read_token": "read_token_env",
}


def secrets_in(node: object, place: Place = ()) -> Iterator[Problem]:
    """Yield the places of a raw config that hold a secret."""
    below = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in below:
        where = (*place, str(key))
        if isinstance(value, str) and isinstance(node, dict) and _SECRET_KEYS.search(str(key)):
            named_by = _NAMED_BY.get(str(key), "api_key_env")
            advice = f"secrets are not read from the file; set the environment variable that {named_by} names"
            yield Problem(where, advice)
        yield from secrets_in(value, where)


def without_secrets(section: Any) -> Any:
    """Return settings as they may travel: who receives them adds the secrets of its own environment."""
    if isinstance(section, Section):
        return section.model_copy(update={name: without_secrets(value) for name, value in section})
    if isinstance(section, SecretStr):
        return None
    if isinstance(section, dict):
        return {key: without_secrets(value) for key, value in section.items()}
    return tuple(map(without_secrets, section)) if isinstance(section, tuple) else section


def with_secrets(section: S, environment: Mapping[str, str]) -> S:
    """Fill in the secrets from the environment variables that the keys `..._env` name, at any depth."""

    def filled(value: Any) -> Any:
        if isinstance(value, Section):
            return with_secrets(value, environment)
        if isinstance(value, dict):
            return {key: filled(entry) for key, entry in value.items()}
        return tuple(map(filled, value)) if isinstance(value, tuple) else value

    update = {key: filled(value) for key, value in section}
    update |= {secret: SecretStr(environment[name]) for _, name, secret in _named(section) if environment.get(name)}
    return section.model_copy(update=update)


@dataclass(frozen=True, slots=True)
class Variable:
    """An environment variable that a secret is read from; what it holds is not here."""

    name: str
    place: Place  # the key that names it
    is_set: bool


def variables(section: Section, place: Place = ()) -> list[Variable]:
    """Return the environment variables that the secrets of a config are read from."""
    found = [
        Variable(name, (*place, key), getattr(section, secret) is not None) for key, name, secret in _named(section)
    ]
    for key, value in section:
        below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, tuple) else ()
        for name, entry in [*below, (None, value)]:
            if isinstance(entry, Section):
                found += variables(entry, (*place, key) if name is None else (*place, key, str(name)))
    return found


def unset(settings: Settings) -> Iterator[Problem]:
    """Yield the webhooks whose variables are not set; workers elsewhere tell nobody and need none."""
    for variable in variables(settings):
        is_webhook = variable.place[0] == "alerts" or "send_report" in variable.place
        if is_webhook and not variable.is_set:
            yield Problem(variable.place[:-1], f"set the environment variable {variable.name}")


def damaged(settings: Settings, environment: Mapping[str, str]) -> Iterator[Problem]:
    """Yield the variables whose keys were damaged on their way into the environment; what they hold is not shown."""
    for variable in variables(settings):
        is_spare = variable.place[0] == "openai" and not settings.openai.model
        is_key = variable.place[-1] == "api_key_env" and not is_spare
        if is_key and (fault := _fault(environment.get(variable.name, ""))):
            yield Problem(variable.place, f"the environment variable {variable.name} {fault}")


def _named(section: Section) -> Iterator[tuple[str, str, str]]:
    """Yield the keys of a section that name variables, the variables, and the keys of what they hold."""
    for key, value in section:
        if key.endswith("_env") and isinstance(value, str):
            yield key, value, "secret_url" if key == "url_env" else key.removesuffix("_env")


def _fault(key: str) -> str:
    if key != key.strip():
        return "begins or ends with white space; set it without"
    if re.fullmatch(r"([\"']).*\1", key):
        return "holds its quotation marks too; set it without them"
    if not key.isascii() or any(not letter.isprintable() or letter == " " for letter in key):
        return "holds characters that no key has; copy it again"
    return ""
