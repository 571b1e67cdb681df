"""`enricher init` and `enricher schema`: a first config that works, by questions or by flags."""

import json

import jsonschema
import pytest
import yaml


async def test_a_first_config_needs_no_answer_and_names_the_next_commands(user):
    told = await user.enricher("init", "--yes")
    assert told.code == 0, told.err
    *_, doctor, rehearsal, run = told.out.splitlines()
    assert doctor.split("#")[0].split() == ["enricher", "doctor", "-c", "enricher.yaml"]
    assert rehearsal.split("#")[0].split() == ["enricher", "run", "-c", "enricher.yaml", "--dry-run"]
    assert run.split("#")[0].split() == ["enricher", "run", "-c", "enricher.yaml"]
    text = (user.folder / "enricher.yaml").read_text()
    assert text.startswith("# yaml-language-server: $schema=enricher.schema.json\n")
    schema = json.loads((user.folder / "enricher.schema.json").read_text())
    jsonschema.validate(yaml.safe_load(text), schema)
    assert schema == json.loads((await user.enricher("schema")).out)
    listed = await user.enricher("schedule", "-c", "enricher.yaml", "--list", "--json")
    assert [one["job"] for one in listed.json] == ["nightly"]


async def test_a_config_that_lies_there_and_is_not_named_is_pointed_out(user):
    await user.enricher("init", "--yes")
    unnamed = await user.enricher("schedule", "--list")
    assert "enricher.yaml lies here and does not count: name it with -c enricher.yaml" in unnamed.err
    assert (await user.enricher("schedule", "--list", "-c", "enricher.yaml")).err == ""


async def test_what_is_there_is_never_overwritten_unless_told(user):
    (user.folder / "enricher.yaml").write_text("engine: local\n")
    complaint = (await user.enricher("init", "--yes")).complaint
    assert "enricher.yaml exists already" in complaint
    assert "--force" in complaint
    assert (user.folder / "enricher.yaml").read_text() == "engine: local\n"
    assert not (user.folder / "enricher.schema.json").exists()
    (user.folder / "enricher.schema.json").write_text("{}")
    other = await user.enricher("init", "--yes", "-o", "other.yaml")
    assert other.code == 0
    assert (user.folder / "enricher.schema.json").read_text() == "{}"
    assert (await user.enricher("init", "--yes", "--force")).code == 0
    assert "connections:" in (user.folder / "enricher.yaml").read_text()
    assert len((user.folder / "enricher.schema.json").read_text()) > 1000


async def test_flags_say_what_questions_would_ask(user):
    told = await user.enricher(
        "init", "--platform", "langsmith", "--project", "support-rag, legal: EU", "--engine", "openai", "--model",
        "gpt-4o-mini-2024-07-18", "--model-url", "http://127.0.0.1:8000/v1", "--when", "15m", "--yes", "--json",
    )  # fmt: skip
    assert told.code == 0, told.err
    assert told.json["set"] == ["LANGSMITH_API_KEY", "OPENAI_API_KEY"]
    assert [command.split()[1] for command in told.json["next"]] == ["doctor", "run", "run"]
    written = yaml.safe_load((user.folder / told.json["config"]).read_text())
    assert written["connections"] == {"langsmith": {"kind": "langsmith", "base_url": "https://api.smith.langchain.com"}}
    assert written["engine"] == "openai"
    assert written["openai"] == {"model": "gpt-4o-mini-2024-07-18", "base_url": "http://127.0.0.1:8000/v1"}
    assert written["jobs"]["nightly"]["projects"] == ["support-rag", "legal: EU"]
    assert written["jobs"]["nightly"]["schedule"] == {"every": "15m"}


async def test_questions_are_asked_for_what_no_flag_says_and_an_empty_answer_takes_the_default(user):
    told = await user.enricher("init", "--engine", "local", stdin="files\nexports/*.jsonl.gz\n\nnever\n")
    assert told.code == 0, told.err
    assert told.err.count("?") >= 3
    written = yaml.safe_load((user.folder / "enricher.yaml").read_text())
    assert written["connections"] == {"files": {"kind": "files", "paths": ["exports/*.jsonl.gz"]}}
    assert written["jobs"]["nightly"]["projects"] == ["default"]
    assert written["jobs"]["nightly"]["schedule"] is None
    assert written["jobs"]["nightly"]["rules"] == [{"name": "all"}], "of a file, everything is meant"


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--platform", "fenix"], "--platform: 'fenix' is not known; use one of phoenix, langsmith, files"),
        (["--engine", "openai"], "--model is needed here"),
        (["--when", "every night"], "schedule.cron: 'every night' has 2 fields"),
        (["--when", "3x"], "schedule.every: '3x' is no duration"),
        (["--address", "localhost:6006"], "base_url: 'localhost:6006' is no http(s) URL"),
    ],
)
async def test_a_wrong_answer_is_one_complaint_and_writes_nothing(user, flags, told):
    assert told in (await user.enricher("init", "--yes", *flags)).complaint
    assert list(user.folder.glob("enricher.*")) == []


async def test_without_anybody_to_answer_it_says_which_flag_answers(user):
    silent = await user.enricher("init", stdin="")
    assert silent.code == 2
    assert "there was no answer; give --platform, or --yes for the defaults" in silent.err
