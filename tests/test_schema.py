"""The JSON schema of the config: kept true to the settings, and every key explains itself."""

import json
from datetime import timedelta

import jsonschema
import pytest
import yaml

from enricher.resources import folder
from enricher.settings import Section, Settings, load
from enricher.settings.schema import schema

CONFIG = folder("config")
SCHEMA = schema(CONFIG / "default.yaml")
CHECK = jsonschema.Draft202012Validator(SCHEMA)


def test_the_shipped_schema_is_that_of_the_settings():
    shipped = json.loads((CONFIG / "schema.json").read_text(encoding="utf-8"))
    assert shipped == SCHEMA, "write it anew: enricher schema -o config/schema.json"


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_every_key_says_what_it_means():
    parts = {"Settings": SCHEMA, **SCHEMA["$defs"]}
    silent = [
        f"{name}.{key}"
        for name, part in parts.items()
        for found in (part, *part.get("anyOf", ()))
        for key, value in found.get("properties", {}).items()
        if not value.get("description")
    ]
    assert silent == [], "comment them in config/default.yaml, or give the field a description"


def test_every_section_of_the_settings_is_in_the_schema():
    def below(section: type[Section]) -> set[str]:
        return {section.__name__}.union(*(below(one) for one in section.__subclasses__()))

    assert below(Section) - {"Section", "Settings"} <= set(SCHEMA["$defs"])


def test_the_reference_meets_the_schema():
    assert list(CHECK.iter_errors(yaml.safe_load((CONFIG / "default.yaml").read_text()))) == []


@pytest.mark.parametrize(
    ("text", "is_right"),
    [
        ("jobs: {n: {judges: [diff, {judge: halves, when: reported}], look_back: 1h30m}}", True),
        ("jobs: {n: {judges: [{judge: halves, when: [reported, high_risk]}], projects: all}}", True),
        ("jobs: {n: {rules: [{name: s, where: {kind: retriever}}, {name: t, where: {kind: LLM}}]}}", True),
        ("connections: {ls: {kind: langsmith}, f: {kind: files, paths: [a]}}\njobs: {n: {connection: ls}}", True),
        ("openai: {model: m, prices: {m: {in: 1, out: 2}}}", True),
        ("jobs: {n: {schedule: null}}", True),
        ("engin: local", False),
        ("engine: remote", False),
        ("jobs: {n: {judges: [segment_dif]}}", False),
        ("jobs: {n: {look_back: 3 hours}}", False),
        ("jobs: {n: {policy: {review_below: 85}}}", False),
        ("connections: {ls: {kind: langsmith, api_key: hush}}", False),
        ("connections: {p: {kind: phoenix, base_url: localhost}}", False),
        ("connections: {f: {kind: files}}", False),
    ],
)
def test_the_schema_and_the_loader_agree(tmp_path, text, is_right):
    path = tmp_path / "enricher.yaml"
    path.write_text(text)
    assert CHECK.is_valid(yaml.safe_load(text)) == is_right
    if is_right:
        load(path, {})
    else:
        with pytest.raises(Exception, match="problem"):
            load(path, {})


def test_durations_are_written_as_in_a_config():
    assert SCHEMA["$defs"]["Job"]["properties"]["look_back"]["default"] == "30m"
    assert Settings().jobs["nightly"].look_back == timedelta(minutes=30)
