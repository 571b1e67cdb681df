"""The example configs: each is read, meets the schema, and its jobs can be composed."""

import os

import jsonschema
import pytest
import yaml

from enricher.app import App
from enricher.resources import folder
from enricher.settings import load
from enricher.settings.schema import schema
from enricher.store import Store

CONFIG = folder("config")
EXAMPLES = sorted((CONFIG / "examples").glob("*.yaml"))
SECRETS = dict.fromkeys(
    ("PHOENIX_API_KEY", "LANGSMITH_API_KEY", "OPENAI_API_KEY", "JUDGE_API_KEY", "SLACK_URL", "ALERT_URL"),
    "http://127.0.0.1:9/x",
)


def test_the_examples_that_the_documentation_promises_are_there():
    assert [path.stem for path in EXAMPLES] == [
        "ci-gate",
        "high-risk-legal",
        "langsmith-hosted-model",
        "nightly-batch",
        "phoenix-local",
    ]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
async def test_an_example_is_explained_meets_the_schema_and_can_be_composed(path, tmp_path):
    text = path.read_text(encoding="utf-8")
    first, *lines = text.splitlines()
    assert first == f"# yaml-language-server: $schema={os.path.relpath(CONFIG / 'schema.json', path.parent)}"
    assert lines[0].startswith("# ")
    assert f"-c {path.name}" in text, "it says how it is called"
    jsonschema.validate(yaml.safe_load(text), schema(CONFIG / "default.yaml"))
    settings = load(path, {**SECRETS, "ENRICHER_STORE": f"sqlite:///{tmp_path / 'store.db'}"})
    async with await Store.open(settings.store) as store:
        app = App(settings=settings, store=store, connectors=dict.fromkeys(settings.connections))
        for name in settings.jobs:
            async with app.plan(name) as plan:
                assert len(plan.pipeline.judges) == len(settings.jobs[name].judges)
