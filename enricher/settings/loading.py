"""Read YAML and environment into frozen settings; refuse unknown keys and report every problem together."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from enricher.errors import SetupError
from enricher.settings.misfits import conflicts, misfits
from enricher.settings.problems import sentence
from enricher.settings.root import Settings
from enricher.settings.secrets import require_addresses, secrets_in, with_secrets


def load(path: Path | None = None, environment: Mapping[str, str] | None = None) -> Settings:
    """Read the config file (or the defaults when there is none) and the environment.

    `ENRICHER_STORE`, `ENRICHER_ENGINE`, `ENRICHER_OPENAI__MODEL` and the like override the file; two underscores go
    one level down. Secrets come from the variables that the `api_key_env` keys name.

    Raises:
        SetupError: names every problem of the file at once.
    """
    environment = os.environ if environment is None else environment
    document = _read(path) if path is not None else {}
    advice = "secrets are not read from the file; set the environment variable that api_key_env names"
    problems = [f"{where}: {advice}" for where in secrets_in(document)]
    _override(document, environment)
    settings = None
    try:
        settings = Settings.model_validate(document)
    except ValidationError as error:
        problems += [sentence(e) for e in error.errors()]
    problems += misfits(document)
    problems += conflicts(settings) if settings is not None else ()
    if problems or settings is None:
        name = path or "the environment"
        raise SetupError(f"{name} has {len(problems)} problem{'s' * (len(problems) != 1)}:\n  " + "\n  ".join(problems))
    settings = with_secrets(settings, environment)
    require_addresses(settings.alerts.webhooks)
    return settings


def _read(path: Path) -> dict[str, Any]:
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SetupError(f"the config file {path} can't be read: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise SetupError(f"the config file {path} is no valid YAML: {' '.join(str(error).split())}") from error
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise SetupError(f"the config file {path} must hold keys and values, such as 'engine: local'")
    return document


def _override(document: dict[str, Any], environment: Mapping[str, str]) -> None:
    for variable, text in environment.items():
        if not variable.startswith("ENRICHER_"):
            continue
        *parents, last = variable.removeprefix("ENRICHER_").lower().split("__")
        if (parents or [last])[0] not in Settings.model_fields:
            continue  # secrets, and whatever else uses the prefix
        node = document
        for parent in parents:
            if not isinstance(node.get(parent), dict):
                node[parent] = {}  # absent, or left empty in the file
            node = node[parent]
        node[last] = yaml.safe_load(text)
