"""Turn the privacy part of the config into what the pipeline masks, what the process may reach, and what is deleted."""

import re
from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import urlsplit

from sqlalchemy.engine import make_url

from enricher.confinement import Endpoint, confine
from enricher.errors import SetupError
from enricher.settings import FilesConnection, Settings
from enricher.steps.redaction import RedactionRules, secret_of
from enricher.store import Store
from enricher.store.traffic import keepsake

_PORTS = {"http": 80, "https": 443}
_POSTGRES = 5432


async def redaction_rules(settings: Settings, store: Store) -> RedactionRules:
    """Return what is masked; without a secret of the operator's the store's own makes the masks."""
    rules = rules_without_store(settings)
    return rules if rules.is_empty or rules.secret else replace(rules, secret=await keepsake(store, "redaction"))


def rules_without_store(settings: Settings) -> RedactionRules:
    """Return what is masked where there is no store, so that without a secret masks can be guessed."""
    privacy = settings.privacy
    return RedactionRules(
        kinds=privacy.redact,
        patterns={name: re.compile(pattern) for name, pattern in privacy.patterns.items()},
        fields=privacy.fields,
        keys=privacy.keys,
        secret=secret_of(privacy.secret.get_secret_value() if privacy.secret else ""),
    )


def guard(settings: Settings) -> None:
    """Confine this process to the platforms and the store, if the config says `local_only`."""
    if settings.local_only:
        confine(endpoints(settings))


def refuse_model(settings: Settings) -> None:
    """Refuse to ask a model under `local_only`, before anything is read.

    Raises:
        SetupError: says which key forbids it.
    """
    if settings.local_only:
        raise SetupError("local_only allows no call but to the platform; use the engine local, or take local_only out")


def endpoints(settings: Settings) -> Iterator[Endpoint]:
    """Yield where the platforms and the store are, and what else is allowed by name."""
    for connection in settings.connections.values():
        if not isinstance(connection, FilesConnection):
            yield _endpoint(connection.base_url)
    store = make_url(settings.store)
    if store.host:
        yield Endpoint(store.host, store.port or _POSTGRES)
    for allowed in settings.privacy.allowed_hosts:
        host, _, port = allowed.rpartition(":")
        yield Endpoint(host, int(port))


def _endpoint(url: str) -> Endpoint:
    parts = urlsplit(url.strip())
    return Endpoint(parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 0))


async def purge(settings: Settings, store: Store) -> int:
    """Delete raw replies that are older than the config keeps them; return how many."""
    keep = settings.privacy.keep_raw_replies
    return 0 if keep is None else await store.purge_raw_replies(store.clock() - keep)
