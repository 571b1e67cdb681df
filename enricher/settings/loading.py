"""Read YAML and environment into frozen settings; refuse unknown keys and report every problem together."""

import logging
import os
from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from enricher.errors import SetupError
from enricher.settings.misfits import conflicts, misfits
from enricher.settings.problems import problem_of
from enricher.settings.root import Settings
from enricher.settings.secrets import damaged, secrets_in, unset, with_secrets
from enricher.settings.source import read

log = logging.getLogger("enricher.settings")

_USUAL = "enricher.yaml"


def load(path: Path | None = None, environment: Mapping[str, str] | None = None) -> Settings:
    """Read the config file (or the defaults when there is none) and the environment.

    `ENRICHER_STORE`, `ENRICHER_ENGINE`, `ENRICHER_OPENAI__MODEL` and the like override the file; two underscores go
    one level down. Secrets come from the variables that the `api_key_env` keys name.

    Raises:
        SetupError: names every problem at once, with the line or the variable that it comes from.
    """
    if path is None and environment is None and Path(_USUAL).is_file():
        log.warning("%s lies here and does not count: name it with -c %s", _USUAL, _USUAL)
    environment = os.environ if environment is None else environment
    source = read(path, environment)
    problems = [*source.problems, *secrets_in(source.document)]
    settings = None
    try:
        settings = with_secrets(Settings.model_validate(source.document), environment)
    except ValidationError as error:
        problems += [problem_of(found) for found in error.errors()]
    problems += misfits(source.document)
    if settings is not None:
        problems += [*conflicts(settings), *unset(settings), *damaged(settings, environment)]
    if problems or settings is None:
        told = source.told(problems)
        name = path or "the environment"
        raise SetupError(f"{name} has {len(told)} problem{'s' * (len(told) != 1)}:\n  " + "\n  ".join(told))
    return settings
