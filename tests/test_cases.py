"""Each behaviour case about configuration, privacy and reporting is proved by a test that names it."""

import json
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SOURCES = "\n".join(path.read_text(encoding="utf-8") for path in TESTS.glob("**/test_*.py") if path != Path(__file__))
CASES = [
    json.loads(line)["id"]
    for kind in ("config-UX", "privacy", "reporting")
    for line in (TESTS / "cases" / f"{kind}.jsonl").read_text(encoding="utf-8").splitlines()
]


@pytest.mark.parametrize("name", CASES)
def test_a_case_is_named_by_a_test(name):
    assert name in SOURCES
