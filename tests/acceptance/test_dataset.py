"""`enricher export dataset`: findings become a dataset on a real Phoenix, on LangSmith and in a file."""

import httpx
import pytest

from tests.acceptance.traces import FALSE, TRUE, answered, root
from tests.servers.langsmith import StandIn
from tests.servers.langsmith.platform import LangSmithPlatform

FLAGS = ("--config", "enricher.yaml")


async def test_findings_become_examples_of_phoenix_linked_to_their_spans_and_a_repeat_doubles_nothing(user, phoenix):
    name = f"findings-{phoenix.project}"
    good, bad = answered(TRUE), answered(FALSE)
    await phoenix.seed(good, bad)
    user.configure(
        connections={"phoenix": {"kind": "phoenix", "base_url": phoenix.server.base_url}},
        jobs={"nightly": {"projects": [phoenix.project], "rules": [{"name": "all"}], "risk_level": "high"}},
        privacy={"redact": ["email"]},
    )
    assert (await user.run()).code == 0
    export = ("export", "dataset", "--to", "phoenix", "--name", name, *FLAGS)

    none = await user.enricher(*export, "--labelled")
    assert "no finding matches" in none.complaint
    first = await user.enricher(*export)
    assert first.code == 0, first.err
    assert first.out == (
        f"{name} on phoenix: 1 example, 0 of them with a label of people: 1 added, 0 changed, 0 as they were\n"
    )
    (made,) = await _examples(phoenix, name)
    assert made["input"]["answer"] == FALSE
    assert made["output"]["label"] == "contradicted"
    assert made["output"]["label_by"] == "judge"
    assert made["metadata"]["trace_id"] == root(bad).trace_id
    assert await _span_of(phoenix, name) == [root(bad).span_id]

    again = (await user.enricher(*export, "--json")).json
    assert (again["added"], again["changed"], again["unchanged"]) == (0, 0, 1)

    (asked,) = (await user.enricher("review", "list", "--json", *FLAGS)).json["items"]
    said = ("reject", "--by", "ada", "--comment", "ask bob@example.com")
    assert (await user.enricher("review", "decide", asked["id"], *said, *FLAGS)).code == 0
    labelled = (await user.enricher(*export, "--labelled", "--decision", "reject", "--json")).json
    assert (labelled["examples"], labelled["labelled"], labelled["changed"]) == (1, 1, 1)
    (changed,) = await _examples(phoenix, name)
    assert changed["id"] == made["id"]
    assert (changed["output"]["label"], changed["output"]["label_by"]) == ("faithful", "people")
    assert changed["metadata"]["decided_by"] == "ada"
    assert "bob@example.com" not in str(changed)


async def _examples(phoenix, name):
    async with httpx.AsyncClient(base_url=phoenix.server.base_url) as client:
        (found,) = (await client.get("/v1/datasets", params={"name": name})).json()["data"]
        return (await client.get(f"/v1/datasets/{found['id']}/examples")).json()["data"]["examples"]


async def _span_of(phoenix, name):
    """Ask as the pages do which span each example was made of."""
    query = """query($name: String!) { datasets(filter: {col: name, value: $name}) { edges { node {
        examples { edges { node { span { spanId } } } } } } } }"""
    async with httpx.AsyncClient(base_url=phoenix.server.base_url) as client:
        answer = await client.post("/graphql", json={"query": query, "variables": {"name": name}})
    (dataset,) = answer.json()["data"]["datasets"]["edges"]
    return [edge["node"]["span"]["spanId"] for edge in dataset["node"]["examples"]["edges"]]


@pytest.fixture
def platform():
    with StandIn() as service:
        platform = LangSmithPlatform(service)
        yield platform
        platform.close()


async def test_findings_become_examples_of_langsmith_linked_to_their_runs(user, platform):
    wrong = platform.trace(documents=("Refunds are paid within 30 days.",), answer="Refunds are paid within 90 days.")
    platform.trace(documents=("Refunds are paid within 30 days.",), answer="Refunds are paid within 30 days.")
    pace = {"queries_per_second": 1000, "calls_per_second": 1000, "settle": "0s"}
    user.configure(
        connections={"langsmith": {"kind": "langsmith", "base_url": platform.service.url, **pace}},
        jobs={
            "nightly": {
                "connection": "langsmith",
                "projects": [platform.project],
                "rules": [{"name": "all"}],
                "risk_level": "high",
            }
        },
    )
    env = {"LANGSMITH_API_KEY": platform.service.key}
    assert (await user.run(**env)).code == 0
    export = ("export", "dataset", "--to", "langsmith", "--json", *FLAGS)
    first = (await user.enricher(*export, **env)).json
    assert (first["dataset"], first["added"], first["unchanged"]) == ("enricher-findings", 1, 0)
    (made,) = platform.service.state.examples.values()
    assert made["source_run_id"] == str(wrong.id)
    assert made["inputs"]["answer"] == "Refunds are paid within 90 days."
    again = (await user.enricher(*export, "--sound", **env)).json
    assert (again["added"], again["changed"], again["unchanged"]) == (1, 0, 1)

    (asked,) = (await user.enricher("review", "list", "--json", *FLAGS, **env)).json["items"]
    decided = await user.enricher("review", "decide", asked["id"], "confirm", "--by", "ada", *FLAGS, **env)
    assert decided.code == 0, decided.err
    changed = (await user.enricher(*export, **env)).json
    assert (changed["added"], changed["changed"]) == (0, 1)
    assert platform.service.state.examples[made["id"]]["outputs"]["label_by"] == "people"
    assert platform.service.state.examples[made["id"]]["source_run_id"] == str(wrong.id)
    assert len(platform.service.state.datasets) == 1

    lines = (await user.enricher("export", "dataset", "--to", "jsonl", "--label", "contradicted", *FLAGS, **env)).lines
    assert [line["id"] for line in lines] == [made["id"]]
    assert lines[0]["outputs"] == platform.service.state.examples[made["id"]]["outputs"]
    beginning = str(wrong.trace_id)[:12]
    picked = await user.enricher("export", "dataset", "--to", "jsonl", "--id", beginning, *FLAGS, **env)
    assert len(picked.lines) == 1


async def test_what_can_not_be_exported_is_said(user):
    user.configure(connections={"files": {"kind": "files", "paths": ["*.jsonl"]}}, jobs={})
    for flags, said in (
        (("--to", "sheets"), "use phoenix, langsmith or jsonl"),
        (("--to", "jsonl", "--issue", "ODD"), "--issue: 'ODD' is not known; use CONTRADICTED"),
        (("--to", "jsonl", "--decision", "maybe"), "use confirm, reject or correct"),
        (("--to", "phoenix", "--output", "x.jsonl"), "--output is for --to jsonl"),
        (("--to", "phoenix"), "the config has no phoenix connection"),
        (("--to", "phoenix", "--connection", "files"), "there is no phoenix connection 'files'; the config has none"),
        (("--to", "jsonl"), "no finding matches"),
    ):
        assert said in (await user.enricher("export", "dataset", *flags, *FLAGS)).complaint
