"""Secrets come from the environment, never from the file, and travel nowhere."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import SecretStr

from enricher.errors import SetupError
from enricher.settings.root import Settings
from enricher.settings.values import Section
from enricher.settings.watching import Webhook

_SECRET_KEYS = re.compile(r"(api[_-]?key|token|secret|password|secret_url|^headers)$", re.IGNORECASE)


def secrets_in(node: object, where: str = "") -> Iterator[str]:
    """Yield the places of a raw config that hold a secret."""
    if isinstance(node, dict):
        for key, value in node.items():
            place = f"{where}.{key}" if where else str(key)
            if isinstance(value, str) and _SECRET_KEYS.search(str(key)):
                yield place
            yield from secrets_in(value, place)
    elif isinstance(node, list):
        for number, value in enumerate(node):
            yield from secrets_in(value, f"{where}.{number}")


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
    webhooks = environment.get(settings.serve.secret_env)
    serve = settings.serve.model_copy(update={"secret": SecretStr(webhooks)}) if webhooks else settings.serve
    masks = environment.get(settings.privacy.secret_env)
    privacy = settings.privacy.model_copy(update={"secret": SecretStr(masks)}) if masks else settings.privacy
    headers = environment.get(settings.telemetry.headers_env)
    telemetry = settings.telemetry.model_copy(update={"headers": SecretStr(headers)}) if headers else settings.telemetry
    hooks = tuple(_with_address(hook, environment) for hook in settings.alerts.webhooks)
    alerts = settings.alerts.model_copy(update={"webhooks": hooks})
    found = {"connections": connections, "openai": model, "serve": serve, "privacy": privacy}
    found |= {"telemetry": telemetry, "alerts": alerts}
    return settings.model_copy(update=found)


def _with_address(hook: Webhook, environment: Mapping[str, str]) -> Webhook:
    named = {"secret": hook.secret_env, "secret_url": hook.url_env}
    found = {key: SecretStr(environment[name]) for key, name in named.items() if name and environment.get(name)}
    return hook.model_copy(update=found)


def require_addresses(hooks: Sequence[Webhook]) -> None:
    """Refuse a webhook whose variables are not set; workers elsewhere tell nobody and need none."""
    for number, hook in enumerate(hooks):
        for name, value in ((hook.url_env, hook.secret_url), (hook.secret_env, hook.secret)):
            if name and value is None:
                raise SetupError(f"alerts.webhooks.{number}: set the environment variable {name}")
