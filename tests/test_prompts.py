"""Prompts are files: versioned, released once, rendered without interpreting anything inside a value."""

import json
from pathlib import Path

import pytest

from enricher.errors import SetupError
from enricher.prompts import list_prompts, load, render, verify

GIVEN = {"fence": "ab12", "documents": "DOCS", "question": "Q", "answer": "A", "ids": "s1"}


def own_prompt(folder: Path, name="diff/v9", text="=== task ===\nJudge {{answer}}.\n", front="variables: [answer]"):
    path = folder / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    judge, version = name.split("/")
    path.write_text(f"---\njudge: {judge}\nversion: {version}\n{front}\n---\n{text}", encoding="utf-8")
    return path


def test_all_missing_variables_are_named_together():
    with pytest.raises(SetupError, match="diff@v2 needs documents, question, answer, ids"):
        render(load("diff@v2"), fence="ab12")


def test_an_unknown_variable_is_refused():
    with pytest.raises(SetupError, match="does not know anwser"):
        render(load("diff@v2"), **GIVEN, anwser="x")


def test_braces_inside_a_value_stay_what_they_are():
    # SX-04
    text = "Write {name} or {{name}}, {{ids}}, {{#examples}}x{{/examples}}, never {0.__class__.__init__.__globals__}."
    system, user = render(load("diff@v2"), **{**GIVEN, "documents": text})
    assert text in user["content"]
    assert "globals" not in system["content"]


def test_the_shared_part_comes_first_and_is_the_same_whatever_is_asked():
    first = render(load("diff@v2"), **GIVEN)
    second = render(load("diff@v2", risk_level="high", examples="E"), **{**GIVEN, "ids": "s2, s3"}, previous_error="P")
    assert first[0] == second[0]
    shared = first[1]["content"].index("Find every place")
    assert first[1]["content"][:shared] == second[1]["content"][:shared]
    assert first[1]["content"].index("DOCS") < first[1]["content"].index("<answer-ab12>") < shared


def test_optional_texts_appear_only_when_given():
    plain = render(load("diff@v2"), **GIVEN)[1]["content"]
    full = render(
        load("diff@v2", additional_constraints="Read clause 4 first.", examples="Example one.", risk_level="high"),
        **GIVEN,
        previous_error="no JSON",
    )[1]["content"]
    for words in ("Read clause 4 first.", "Example one.", "risk level", "PREVIOUS_ERROR: no JSON"):
        assert words in full
        assert words not in plain
    assert "{{" not in plain + full


@pytest.mark.parametrize(
    "additions",
    [{"additional_constraints": "x"}, {"examples": "x"}, {"risk_level": "high"}],
    ids=lambda a: next(iter(a)),
)
def test_what_the_operator_adds_changes_the_fingerprint(additions):
    assert load("diff@v2", **additions).fingerprint != load("diff@v2").fingerprint
    assert load("diff@v2", **additions).fingerprint == load("diff@v2", **additions).fingerprint


def test_a_normal_risk_level_changes_nothing():
    assert load("diff@v2", risk_level="normal").fingerprint == load("diff@v2").fingerprint


@pytest.mark.parametrize("name", ["diff@v1", "diff@v2"])
def test_a_shipped_schema_meets_the_rules_of_strict_structured_output(name):
    def check(schema):
        if "object" in schema.get("type", ()):
            assert schema["additionalProperties"] is False
            assert set(schema["required"]) == set(schema["properties"])
        for part in [*schema.get("properties", {}).values(), *filter(None, [schema.get("items")])]:
            check(part)

    schema = load(name).schema
    check(schema)
    assert json.loads(json.dumps(schema)) == schema


@pytest.mark.parametrize("name", ["diff@v1", "diff@v2"])
def test_a_shipped_prompt_asks_for_json_and_explains_before_it_labels(name):
    prompt = load(name)
    assert "JSON" in prompt.system
    entry = list(prompt.schema["properties"]["segments"]["items"]["properties"])
    assert entry.index("explanation") < min(entry.index(key) for key in entry if key in ("status", "alignment_status"))


def test_released_prompts_are_unchanged():
    assert verify() == ()
    assert {prompt.name for prompt in list_prompts() if prompt.is_released} >= {"diff@v1", "diff@v2"}


def test_a_changed_release_is_refused_and_reported(tmp_path):
    path = own_prompt(tmp_path)
    digest = next(p.sha256 for p in list_prompts([tmp_path]) if p.path == path)
    (tmp_path / "released.sha256").write_text(f"{digest}  diff/v9.md\n", encoding="utf-8")
    assert load("diff@v9", folders=[tmp_path]).name == "diff@v9"
    path.write_text(path.read_text(encoding="utf-8") + "Be kind.\n", encoding="utf-8")
    assert verify([tmp_path]) == (
        "diff/v9.md was released and has been changed; released prompts are immutable, so copy it to a new version",
    )
    with pytest.raises(SetupError, match="immutable"):
        load("diff@v9", folders=[tmp_path])
    path.unlink()
    assert "gone" in verify([tmp_path])[0]


def test_line_ends_of_another_system_are_the_same_prompt(tmp_path):
    path = own_prompt(tmp_path)
    before = load("diff@v9", folders=[tmp_path]).fingerprint
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert load("diff@v9", folders=[tmp_path]).fingerprint == before


def test_a_prompt_of_ones_own_wins_over_the_shipped_one(tmp_path):
    own_prompt(tmp_path, "diff/v2")
    own = load("diff@v2", folders=[tmp_path])
    assert render(own, answer="X")[0]["content"] == "Judge X."
    assert own.fingerprint != load("diff@v2").fingerprint


def test_an_unknown_prompt_names_those_there_are():
    with pytest.raises(SetupError, match=r"no prompt diff@v99; there are .*diff@v2"):
        load("diff@v99")
    with pytest.raises(SetupError, match="judge@version"):
        load("../../etc/passwd")


@pytest.mark.parametrize(
    ("text", "front", "problem"),
    [
        ("=== task ===\n{{answer}} {{other}}\n", "variables: [answer]", "uses other without declaring"),
        ("no sections\n", "variables: []", "has no sections"),
        ("=== task ===\nx\n", "variables: [", "not valid YAML"),
    ],
)
def test_a_malformed_prompt_file_says_what_is_wrong(tmp_path, text, front, problem):
    own_prompt(tmp_path, text=text, front=front)
    with pytest.raises(SetupError, match=problem):
        load("diff@v9", folders=[tmp_path])
