"""The review queue, as a reviewer works on it: list, show, decide; the decision stands in a real Phoenix."""

import json

import pytest

from tests.acceptance.traces import FALSE, TRUE, answered, root
from tests.servers.langsmith import StandIn
from tests.servers.langsmith.platform import LangSmithPlatform

FLAGS = ("--config", "enricher.yaml")


@pytest.fixture
def configured(user, phoenix):
    """Configure a job in which every contradiction goes to people."""

    def configure(*rules, **job) -> None:
        user.configure(
            connections={"phoenix": {"kind": "phoenix", "base_url": phoenix.server.base_url}},
            jobs={
                "nightly": {
                    "projects": [phoenix.project],
                    "rules": list(rules) or [{"name": "all"}],
                    "risk_level": "high",
                    **job,
                }
            },
        )

    configure()
    return configure


async def annotations(phoenix, trace, name):
    found = [row for row in await phoenix.annotations_on(root(trace).span_id) if row["name"] == name]
    return {(row["annotator_kind"], row["identifier"].rpartition("/")[2]): row for row in found}


async def test_a_decision_becomes_a_label_and_an_annotation_and_leaves_the_queue(user, phoenix, configured):
    good, bad = answered(TRUE), answered(FALSE)
    await phoenix.seed(good, bad)
    assert (await user.run("--json")).json["in_review"] == 1

    listed = (await user.enricher("review", "list", "--json", *FLAGS)).json
    assert listed["total"] == 1
    (row,) = listed["items"]
    assert row["trace_id"] == root(bad).trace_id
    assert {"contradicted", "score_below_threshold"} <= set(row["reasons"])
    text = await user.enricher("review", "list", *FLAGS)
    assert row["id"][:8] in text.out
    assert (await user.enricher("review", "list", "--reason", "source_conflict", "--json", *FLAGS)).json["total"] == 0

    shown = await user.enricher("review", "show", row["id"][:8], *FLAGS)
    for part in ("asked because", FALSE, TRUE.removesuffix("."), "contradicted"):
        assert part in shown.out, part
    told = (await user.enricher("review", "show", row["id"][:8], "--json", *FLAGS)).json
    assert told["answer"] == FALSE
    assert told["result"]["segments"][0]["alignment_status"] == "CONTRADICTED"

    anonymous = await user.enricher("review", "decide", row["id"][:8], "confirm", *FLAGS)
    assert "say who decides" in anonymous.complaint
    decided = await user.enricher(
        "review", "decide", row["id"][:8], "correct", "--label", "partial", "--set", "s1=PARTIALLY_SUPPORTED",
        "--comment", "the period is wrong, the right is not", "--by", "ada", "--json", *FLAGS,
    )  # fmt: skip
    assert decided.code == 0, decided.err
    assert decided.json["label"] == "partial"

    diffs = await annotations(phoenix, bad, "context_diff")
    (human,) = [row for (kind, _), row in diffs.items() if kind == "HUMAN"]
    assert human["result"]["label"] == "partial"
    assert "ada" in human["result"]["explanation"]
    assert any(kind == "CODE" and row["result"]["label"] == "contradicted" for (kind, _), row in diffs.items())
    (call,) = (await annotations(phoenix, bad, "needs_review")).values()
    assert call["result"]["label"] == "closed"

    assert (await user.enricher("review", "list", "--json", *FLAGS)).json["total"] == 0
    again = await user.run("--json")
    assert again.code == 0
    assert (await user.enricher("review", "list", "--json", *FLAGS)).json["total"] == 0


async def test_nobody_overwrites_the_decision_of_another_person(user, phoenix, configured):
    bad = answered(FALSE)
    await phoenix.seed(bad)
    await user.run()
    (row,) = (await user.enricher("review", "list", "--json", *FLAGS)).json["items"]
    for person, outcome in (("ada", "confirm"), ("bob", "reject"), ("bob", "confirm")):
        assert (await user.enricher("review", "decide", row["id"], outcome, "--by", person, *FLAGS)).code == 0
    labels = [json.loads(line) for line in (await user.enricher("export", "labels", *FLAGS)).out.splitlines()]
    assert {(label["person"], label["outcome"], label["label"]) for label in labels} == {
        ("ada", "confirm", "contradicted"),
        ("bob", "confirm", "contradicted"),
    }
    assert labels[0]["answer"] == FALSE
    humans = [key for key in await annotations(phoenix, bad, "context_diff") if key[0] == "HUMAN"]
    assert sorted(person for _, person in humans) == ["ada", "bob"]


async def test_the_policy_of_a_rule_counts_for_the_traces_that_it_chose(user, phoenix, configured):
    good = answered(TRUE)
    await phoenix.seed(good)
    configured({"name": "all", "policy": {"route": "review"}}, risk_level="normal")
    assert (await user.run("--json")).json["in_review"] == 1
    (row,) = (await user.enricher("review", "list", "--json", *FLAGS)).json["items"]
    assert row["reasons"] == ["policy"]
    assert await annotations(phoenix, good, "context_diff") == {}


async def test_what_was_mistyped_is_said_in_one_sentence(user, phoenix, configured):
    await phoenix.seed(answered(FALSE))
    await user.run()
    (row,) = (await user.enricher("review", "list", "--json", *FLAGS)).json["items"]
    item = row["id"]
    for arguments, sentence in (
        ((item, "maybe"), "use confirm, reject, correct"),
        ((item, "correct"), "a correction needs --label"),
        ((item, "correct", "--label", "fine"), "use one of faithful"),
        ((item, "correct", "--set", "s9=UNSUPPORTED"), "the statements are s1"),
        ((item, "correct", "--set", "s1=BAD"), "use one of FULLY_SUPPORTED"),
        (("zzzz", "confirm"), "there is no review item zzzz"),
    ):
        found = await user.enricher("review", "decide", *arguments, "--by", "ada", *FLAGS)
        assert sentence in found.complaint, arguments


async def test_on_langsmith_a_decision_is_feedback_of_its_own_and_the_queue_of_the_platform_is_left_alone(user):
    with StandIn() as service:
        platform = LangSmithPlatform(service)
        asked = platform.trace(
            documents=("Refunds are paid within 30 days.",), answer="Refunds are paid within 90 days."
        )
        theirs = platform.report(asked.id, key="context_diff", score=1.0, comment="I checked it")
        pace = {"queries_per_second": 1000, "calls_per_second": 1000, "settle": "0s", "review_queue": "to-read"}
        user.configure(
            connections={"langsmith": {"kind": "langsmith", "base_url": service.url, **pace}},
            jobs={
                "nightly": {
                    "connection": "langsmith",
                    "projects": [platform.project],
                    "rules": [{"name": "all"}],
                    "risk_level": "high",
                }
            },
        )
        env = {"LANGSMITH_API_KEY": service.key}
        assert (await user.run(**env)).code == 0
        (row,) = (await user.enricher("review", "list", "--json", *FLAGS)).json["items"]
        decided = await user.enricher(
            "review", "decide", row["id"], "reject", "--comment", "90 is new", "--by", "ada", *FLAGS, **env
        )
        assert decided.code == 0, decided.err
        found = service.feedback_of(str(asked.id))
        (human,) = [f for f in found if "review/ada" in str(f["feedback_source"])]
        assert human["key"] == "context_diff"
        assert human["value"]["label"] == "faithful"
        assert "90 is new" in human["comment"]
        (call,) = [f for f in found if f["key"] == "needs_review"]
        assert call["value"] == "closed"
        (kept,) = [f for f in found if f["id"] == theirs]
        assert (kept["score"], kept["comment"]) == (1.0, "I checked it")
        platform.close()
