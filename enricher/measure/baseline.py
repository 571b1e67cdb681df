"""The accepted baselines of a golden set, in a file beside it that belongs under version control too."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from enricher.errors import SetupError
from enricher.measure.regression import Accepted

_FORMAT = 1


def baseline_path(golden: Path) -> Path:
    """Return where the baseline of a golden set stands: `golden.baseline.json` beside `golden.jsonl`."""
    return golden.with_name(f"{golden.name.partition('.')[0]}.baseline.json")


def read_accepted(golden: Path) -> list[Accepted]:
    """Return what was accepted on a golden set, oldest first; nothing when nothing was.

    Raises:
        SetupError: the file is damaged, or of a later version.
    """
    path = baseline_path(golden)
    if not path.exists():
        return []
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["format"] != _FORMAT:
            raise SetupError(f"{path} was written by another version of trace-enricher (format {document['format']})")
        return [Accepted.model_validate(entry) for entry in document["accepted"]]
    except (OSError, ValueError, KeyError, TypeError, ValidationError) as error:
        raise SetupError(f"{path} can't be read; restore it from version control: {error}") from error


def newest(entries: Sequence[Accepted], judge: str) -> Accepted | None:
    """Return the baseline of a judge."""
    return next((entry for entry in reversed(entries) if entry.judge == judge), None)


def write_accepted(golden: Path, entries: Sequence[Accepted]) -> None:
    """Keep what was accepted; only the newest of each judge keeps its results.

    Raises:
        SetupError: the file can't be written.
    """
    last = {entry.judge: entry for entry in entries}
    kept = [entry if entry is last[entry.judge] else entry.model_copy(update={"results": {}}) for entry in entries]
    document = {"format": _FORMAT, "accepted": [entry.model_dump(mode="json") for entry in kept]}
    path = baseline_path(golden)
    try:
        beside = path.with_name(f".{path.name}.{os.getpid()}")
        beside.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        raise SetupError(f"{path} can't be written: {error.strerror}") from error
