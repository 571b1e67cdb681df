"""The documentation names everything that users meet: what is added without a word fails here."""

import re
import shlex
from pathlib import Path

import pytest
import typer

from enricher.cli import cli
from enricher.commands import console
from enricher.doctor.configured import _extras
from enricher.errors import SetupError
from enricher.resources import folder
from enricher.results.evidence import CitationIssue
from enricher.results.pairwise import Severity
from enricher.settings import DimensionName, FilesConnection, JudgeName, LangSmithConnection, Settings, load
from enricher.settings.schema import schema
from enricher.settings.secrets import variables
from enricher.steps.confirmation import HoldReason
from enricher.steps.decision import _DISPUTES, _DOUBTS
from enricher.steps.rendering import NAMES
from enricher.store import RunState, ScheduleOutcome
from enricher.store.records import RefState, ReviewState
from enricher.trace import RejectReason
from enricher.verdict import (
    AlignmentStatus,
    Certainty,
    ClaimVerdict,
    DeliveryState,
    FailingHalf,
    IssueType,
    Outcome,
    QuoteCheck,
    Route,
    Stance,
    Status,
)
from tests.command_reference import commands, page

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = {
    path.relative_to(ROOT): path.read_text(encoding="utf-8") for path in [ROOT / "README.md", *ROOT.glob("docs/*.md")]
}
EXAMPLES = {path: path.read_text(encoding="utf-8") for path in (ROOT / "config").glob("**/*.yaml")}
SOURCES = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "enricher").glob("**/*.py"))


@pytest.mark.parametrize(
    "word",
    [
        *Status, *RejectReason, *AlignmentStatus, *IssueType, *ClaimVerdict, *Outcome, *Stance, *Certainty,
        *CitationIssue, *FailingHalf, *Severity, *Route, *HoldReason, *RunState, *RefState, *DeliveryState,
        *ReviewState, *ScheduleOutcome, *(check for check in QuoteCheck if check != "UNCHECKED"),
    ],
)  # fmt: skip
def test_the_reference_explains_each_status_reason_and_label(word):
    assert f"`{word}`" in REFERENCE


@pytest.mark.parametrize("reason", sorted({*_DOUBTS, *_DISPUTES.values()}))
def test_the_reference_lists_each_reason_for_review(reason):
    section = REFERENCE.partition("## Reasons for review")[2].partition("\n## ")[0]
    assert f"`{reason}`" in section


@pytest.mark.parametrize("name", [*NAMES, *(label for labels in NAMES.values() for label in labels)])
def test_the_readme_names_each_annotation_and_label(name):
    assert f"`{name}`" in README


@pytest.mark.parametrize("section", [LangSmithConnection, FilesConnection], ids=lambda section: section.__name__)
def test_the_reference_explains_each_key_of_a_connection_in_the_words_of_the_schema(section):
    keys = schema(folder("config") / "default.yaml")["$defs"][section.__name__]["properties"]
    rows = {
        row[0]: row[-1] for row in (line.strip("| ").split(" | ") for line in REFERENCE.splitlines()) if len(row) > 1
    }
    wrong = {
        key: about["description"]
        for key, about in keys.items()
        if key not in ("kind", "api_key") and f"| `{key}` | " not in REFERENCE
    }
    assert wrong == {}
    for key in keys.keys() - {"kind", "api_key", "timeout", "page_size", "settle", "open_run", "project"}:
        assert rows[f"`{key}`"] == keys[key]["description"]


@pytest.mark.parametrize("name", [*JudgeName.__args__, "pairwise", *DimensionName.__args__])
def test_each_judge_and_dimension_is_explained(name):
    assert f"`{name}`" in README + REFERENCE


def test_each_kind_of_connection_has_its_section():
    union = Settings.model_fields["connections"].annotation
    kinds = re.findall(r"(\w+)Connection", str(union))
    assert set(kinds) == {"Phoenix", "LangSmith", "Files"}
    for kind in kinds:
        assert f"## Connect {kind}".lower() in README.lower()
        assert f"kind: {kind.lower()}" in README


def test_the_readme_names_each_command_and_the_reference_each_option():
    section = README.partition("\n## Commands")[2].partition("\n## ")[0]
    found = [name for name, _ in commands()]
    assert len(found) >= 20
    for name in found:
        group, _, leaf = name.partition(" ")
        shown = re.findall(rf"`enricher {group}\b([^`]*)`", section)
        assert any(not leaf or re.search(rf"\b{leaf}\b", rest) for rest in shown), (
            f"enricher {name} is not in the table"
        )
    written = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert written == page(), "write it anew: python -m tests.command_reference > docs/commands.md"


def _quoted() -> list[tuple[str, str]]:
    """Return each command line that documentation and examples show, with where it stands."""
    found = []
    for path, text in {**PAGES, **EXAMPLES}.items():
        fences = re.findall(r"```\w*\n(.*?)```", text, re.S) if path.suffix == ".md" else [text]
        lines = [line for fence in fences for line in fence.replace("\\\n", " ").splitlines()]
        lines += re.findall(r"`(enricher [^`]+)`", text) if path.suffix == ".md" else []
        for line in lines:
            match = re.match(r"(?:#\s*)?(?:\$ )?(enricher [a-z][^#]*)", line.strip())
            # What stands in brackets or with a choice is a synopsis; the parser's own page covers those.
            if match and not re.search(r"\\?\||\[|\.\.\.|[;,:]$|: ", match[1]):
                found.append((str(path.name), match[1].strip()))
    return sorted(set(found))


def test_command_lines_are_found_where_they_are_quoted():
    assert len(_quoted()) >= 25
    assert {name for name, _ in _quoted()} >= {"README.md", "ci-gate.yaml", "nightly-batch.yaml"}


@pytest.mark.parametrize(("where", "line"), _quoted())
def test_a_quoted_command_line_is_one_that_the_parser_takes(where, line):
    words = shlex.split(line)[1:]
    command, context = typer.main.get_command(cli), None
    while hasattr(command, "commands"):
        context = command.make_context("enricher", [], parent=context, resilient_parsing=True)
        assert words, f"{where}: {line} names no command"
        assert words[0] in command.commands, f"{where}: there is no command {words[0]}"
        command = command.commands[words.pop(0)]
    is_mention = not words  # "`enricher review`" in a sentence stands for the command
    command.make_context(command.name, words, parent=context, resilient_parsing=is_mention)


def test_the_reference_explains_each_environment_variable():
    section = REFERENCE.partition("## Environment")[2].partition("\n## ")[0]
    settings = Settings.model_validate({"connections": {"a": {"kind": "phoenix"}, "b": {"kind": "langsmith"}}})
    read = {variable.name for variable in variables(settings)}
    read |= set(re.findall(r"environ(?:\.get\(|\[)\"([A-Z_]+)\"", SOURCES))
    assert len(read) >= 8
    assert sorted(name for name in read if f"`{name}`" not in section) == []


def test_the_exit_codes_are_explained():
    section = REFERENCE.partition("## Exit codes")[2].partition("\n## ")[0]
    codes = {console.DONE, console.INCOMPLETE, console.OPERATOR, console.ALERT}
    assert [int(code) for code in re.findall(r"^\| (\d+) \|", section, re.M)] == sorted(codes)


def test_each_optional_part_is_named_with_what_installs_it():
    text = README + "".join(EXAMPLES.values()) + (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert [extra for extra in _extras() if f"trace-enricher[{extra}]" not in text and extra != "demo"] == []


def test_configs_in_the_readme_are_configs(tmp_path):
    """What the README shows as YAML is read by the loader; parts of a config are, too."""
    shown = re.findall(r"```yaml\n(.*?)```", README, re.S)
    assert len(shown) >= 8
    for text in shown:
        path = tmp_path / "enricher.yaml"
        path.write_text(text, encoding="utf-8")
        # A part may name a model or a connection that stands elsewhere; it must hold no wrong key or value.
        rows = [row for row in _problems(path) if "name the model" not in row and "there is no connection" not in row]
        assert rows == [], text


def _problems(path: Path) -> list[str]:
    try:
        load(path, {"SLACK_URL": "http://127.0.0.1:9"})
    except SetupError as error:
        return str(error).splitlines()[1:]
    return []


def test_links_between_pages_lead_somewhere():
    for path, text in PAGES.items():
        for target in re.findall(r"\]\((?!https?:)([^)#]*)(?:#[\w-]*)?\)", text):
            assert not target or ((ROOT / path).parent / target).exists(), f"{path}: {target}"
    anchors = {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in re.findall(r"^#+ (.+)$", README, re.M)}
    assert set(re.findall(r"\]\(#([\w-]+)\)", README)) <= anchors


def test_the_readme_has_no_unfilled_place():
    assert "@@" not in README
