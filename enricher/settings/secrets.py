"""Secrets come from the environment, never from the file, and travel nowhere."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import SecretStr

from enricher.settings.problems import Place, Problem
from enricher.settings.root import Settings
from enricher.settings.values import Section
from enricher.settings.watching import Serve, Webhook

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


def with_secrets(settings: Settings, environment: Mapping[str, str]) -> Settings:
    """Fill in the secrets from the environment variables that the settings name."""

    def secret(section: Any) -> Any:
        value = environment.get(section.api_key_env)
        return section.model_copy(update={"api_key": SecretStr(value)}) if value else section

    model = secret(settings.openai)
    model = model.model_copy(update={"fallbacks": tuple(secret(fallback) for fallback in model.fallbacks)})
    connections = {name: secret(c) if hasattr(c, "api_key_env") else c for name, c in settings.connections.items()}
    serve = _with_tokens(settings.serve, environment)
    masks = environment.get(settings.privacy.secret_env)
    privacy = settings.privacy.model_copy(update={"secret": SecretStr(masks)}) if masks else settings.privacy
    headers = environment.get(settings.telemetry.headers_env)
    telemetry = settings.telemetry.model_copy(update={"headers": SecretStr(headers)}) if headers else settings.telemetry
    hooks = tuple(_with_address(hook, environment) for hook in settings.alerts.webhooks)
    alerts = settings.alerts.model_copy(update={"webhooks": hooks})
    found = {"connections": connections, "openai": model, "serve": serve, "privacy": privacy}
    found |= {"telemetry": telemetry, "alerts": alerts}
    return settings.model_copy(update=found)


def _with_tokens(serve: Serve, environment: Mapping[str, str]) -> Serve:
    named = {"secret": serve.secret_env, "token": serve.token_env, "read_token": serve.read_token_env}
    found = {key: SecretStr(environment[name]) for key, name in named.items() if environment.get(name)}
    return serve.model_copy(update=found)


def _with_address(hook: Webhook, environment: Mapping[str, str]) -> Webhook:
    named = {"secret": hook.secret_env, "secret_url": hook.url_env}
    found = {key: SecretStr(environment[name]) for key, name in named.items() if name and environment.get(name)}
    return hook.model_copy(update=found)


def unset(settings: Settings) -> Iterator[Problem]:
    """Yield the webhooks whose variables are not set; workers elsewhere tell nobody and need none."""
    for number, hook in enumerate(settings.alerts.webhooks):
        for name, value in ((hook.url_env, hook.secret_url), (hook.secret_env, hook.secret)):
            if name and value is None:
                yield Problem(("alerts", "webhooks", str(number)), f"set the environment variable {name}")


def damaged(settings: Settings, environment: Mapping[str, str]) -> Iterator[Problem]:
    """Yield the variables whose keys were damaged on their way into the environment; what they hold is not shown."""
    for place, name in keys_named(settings):
        value = environment.get(name, "")
        if value and value != value.strip():
            yield Problem(place, f"the environment variable {name} begins or ends with white space; set it without")
        elif re.fullmatch(r"([\"']).*\1", value):
            yield Problem(place, f"the environment variable {name} holds its quotation marks too; set it without them")
        elif not value.isascii() or any(not letter.isprintable() or letter == " " for letter in value):
            yield Problem(place, f"the environment variable {name} holds characters that no key has; copy it again")


def keys_named(settings: Settings) -> list[tuple[Place, str]]:
    """Return the environment variables that keys of platforms and models are read from, with the places that say so."""
    sections: list[tuple[Place, Any]] = [(("connections", name), c) for name, c in settings.connections.items()]
    if settings.openai.model:
        sections.append((("openai",), settings.openai))
        sections += [(("openai", "fallbacks", str(n)), found) for n, found in enumerate(settings.openai.fallbacks)]
    return [((*at, "api_key_env"), found.api_key_env) for at, found in sections if hasattr(found, "api_key_env")]


@dataclass(frozen=True, slots=True)
class Variable:
    """An environment variable that a secret is read from; what it holds is not here."""

    name: str
    place: Place  # the key that names it
    is_set: bool


def variables(section: Section, place: Place = ()) -> list[Variable]:
    """Return the environment variables that the secrets of a config are read from."""
    found: list[Variable] = []
    for key, value in section:
        where = (*place, key)
        if key.endswith("_env") and isinstance(value, str):
            secret = "secret_url" if key == "url_env" else key.removesuffix("_env")
            found.append(Variable(value, where, getattr(section, secret) is not None))
        below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, tuple) else ()
        for name, entry in [*below, ("", value)]:
            if isinstance(entry, Section):
                found += variables(entry, (*where, str(name)) if name != "" else where)
    return found
