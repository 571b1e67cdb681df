"""The documentation names everything that users meet: what is added without a word fails here."""

import re
from pathlib import Path

import pytest

from enricher.settings import FilesConnection, LangSmithConnection
from enricher.steps.rendering import NAMES
from enricher.trace import RejectReason
from enricher.verdict import AlignmentStatus, IssueType, QuoteCheck, Status

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "word",
    [*Status, *RejectReason, *AlignmentStatus, *IssueType, *(check for check in QuoteCheck if check != "UNCHECKED")],
)
def test_the_reference_explains_each_status_reason_and_label(word):
    assert f"`{word}`" in REFERENCE


@pytest.mark.parametrize("name", [*NAMES, *(label for labels in NAMES.values() for label in labels)])
def test_the_readme_names_each_annotation_and_label(name):
    assert f"`{name}`" in README


@pytest.mark.parametrize("section", [LangSmithConnection, FilesConnection], ids=lambda section: section.__name__)
def test_the_reference_explains_each_key_of_a_connection(section):
    missing = [key for key in section.model_fields if key != "kind" and f"| `{key}` |" not in REFERENCE]
    assert missing == []


def test_the_readme_names_each_command():
    commands = re.findall(r"^@cli\.command\(\)\n(?:async )?def (\w+)", (ROOT / "enricher/cli.py").read_text(), re.M)
    assert len(commands) >= 7
    missing = [command for command in commands if f"`enricher {command}" not in README]
    assert missing == []


def test_the_readme_has_no_unfilled_place():
    assert "@@" not in README
