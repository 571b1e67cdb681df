"""The behaviour cases that acceptance tests prove."""

import json
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parents[1] / "cases"
_KINDS = {"CO": "cost", "CN": "concurrency", "CU": "config-UX", "PR": "privacy", "RP": "reporting", "SC": "scheduling"}


def case(name: str) -> dict[str, Any]:
    """Return one case by its id."""
    lines = (_FOLDER / f"{_KINDS[name[:2]]}.jsonl").read_text(encoding="utf-8").splitlines()
    return next(found for found in map(json.loads, lines) if found["id"] == name)
