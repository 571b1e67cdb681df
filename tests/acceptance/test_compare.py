"""`enricher compare` and `enricher export preferences` as a user calls them, on both platforms and on files."""

import json
import uuid
from dataclasses import replace

import pytest

from enricher.trace import SpanKind
from tests.acceptance.traces import FALSE, TRUE, answered, root, unique
from tests.servers.langsmith import StandIn
from tests.servers.langsmith.platform import LangSmithPlatform
from tests.servers.openai import OpenAIServer, Say

QUESTIONS = ("When are refunds paid?", "How long does a refund take?", "Is a refund paid within 30 days?")
WINDOW = "Refunds are paid within 30 days."


def asked(question, answer, text=WINDOW, **root_attributes):
    """Return a trace that asks this question and retrieved this text and nothing else."""
    spans = []
    for span in answered(answer):
        attributes = dict(span.attributes)
        if "input.value" in attributes:
            attributes["input.value"] = question
        if span.kind is SpanKind.RETRIEVER:
            attributes = {"input.value": question, **_one_document(text)}
        if span.parent_id is None:
            attributes |= root_attributes
        spans.append(replace(span, attributes=attributes))
    return spans


def _one_document(text):
    return {"retrieval.documents.0.document.id": "kb-0", "retrieval.documents.0.document.content": text}


def record(name, answer_a, answer_b, text=WINDOW, **more):
    documents = [{"id": "d1", "text": text}]
    question = "When are refunds paid?"
    return {
        "id": name, "question": question, "documents": documents, "answer_a": answer_a, "answer_b": answer_b, **more
    }  # fmt: skip


def write(user, *records, name="pairs.jsonl"):
    (user.folder / name).write_text("".join(json.dumps(one) + "\n" for one in records))


# Phoenix


@pytest.fixture
def other(phoenix):
    return f"{phoenix.project}-next"


@pytest.fixture
def configured(user, phoenix):
    user.configure(
        connections={"phoenix": {"kind": "phoenix", "base_url": phoenix.server.base_url}},
        jobs={"nightly": {"projects": [phoenix.project], "rules": [{"name": "all"}]}},
    )


async def preferences_on(phoenix, trace, project=None):
    platform = replace(phoenix, project=project or phoenix.project)
    found = await platform.annotations_on(root(trace).span_id)
    await platform.aclose()
    return [one for one in found if one["name"] == "pairwise_preference"]


async def test_two_phoenix_projects_are_compared_and_both_learn_the_verdict(user, phoenix, other, configured):
    champion = [asked(question, TRUE) for question in QUESTIONS]
    challenger = [asked(QUESTIONS[0], FALSE), asked(QUESTIONS[1], TRUE, "Refunds take two weeks.")]
    await phoenix.seed(*champion)
    await phoenix.seed(*challenger, project=other)
    call = ("compare", "--config", "enricher.yaml", "--champion", phoenix.project, "--challenger", other)

    first = await user.enricher(*call, "--json", "--gate", "challenger_losses <= 0.10 and new_critical == 0")
    assert first.code == 3, first.err
    report = first.json
    assert (report["pairs"], report["judged"], report["recalled"], report["accepted"]) == (1, 1, 0, 1)
    assert report["overall"]["losses"]["rate"] == 1.0
    assert (report["differing"], report["unmatched"]) == (1, {"champion": 1})
    assert {row["reason"] for row in report["leftovers"]} == {"contexts_differ", "unmatched"}
    assert report["new_critical"] == 1
    assert report["gate"].startswith("gate breached")
    assert report["written"] == 2
    (won,) = await preferences_on(phoenix, champion[0])
    (lost,) = await preferences_on(phoenix, challenger[0], other)
    assert (won["result"]["label"], won["result"]["score"]) == ("win", 1.0)
    assert (lost["result"]["label"], lost["result"]["score"]) == ("loss", 0.0)
    assert won["result"]["explanation"].startswith(f"Win against {other}. This answer is better")
    assert "the other answer says 'Refunds are paid within 90 days.'" in won["result"]["explanation"]
    assert "this answer says 'Refunds are paid within 90 days.'" in lost["result"]["explanation"]
    assert won["metadata"]["compared_with"]["trace_id"] == root(challenger[0]).trace_id

    again = await user.enricher(*call, "--json", "--gate", "challenger_losses <= 1")
    assert again.code == 0, again.err
    assert again.json["recalled"] == 1
    assert len(await preferences_on(phoenix, champion[0])) == 1
    text = await user.enricher(*call, "--html", "page.html")
    assert text.code == 0
    assert f"{other} against {phoenix.project}: 0 wins, 0 ties, 1 loss" in text.out
    assert (user.folder / "page.html").read_text().startswith("<!doctype html>")

    exported = await user.enricher("export", "preferences", "--config", "enricher.yaml")
    (row,) = [json.loads(line) for line in exported.out.splitlines()]
    assert (row["chosen"], row["rejected"]) == (TRUE, FALSE)
    assert WINDOW in row["prompt"]
    assert row["prompt"].endswith(f"Question: {QUESTIONS[0]}")
    assert "1 preference" in exported.err


async def test_phoenix_experiments_are_matched_by_example(user, phoenix, configured):
    dataset = await _dataset(phoenix, 2)
    names = {}
    # The questions differ by a word, so that only the example tells what belongs together.
    for name, answers in (("champion", (TRUE, TRUE)), ("challenger", (TRUE, FALSE))):
        traces = [asked(f"{name}: {q}", a) for q, a in zip(QUESTIONS, answers, strict=False)]
        names[name] = await _experiment(phoenix, dataset, traces)
    found = await user.enricher(
        "compare", "--config", "enricher.yaml", "--experiments", "--json",
        "--champion", names["champion"][1], "--challenger", names["challenger"][0],
    )  # fmt: skip
    assert found.code == 0, found.err
    report = found.json
    assert report["pairs"] == 2
    assert {row["pair_id"]: row["outcome"] for row in report["rows"]} == {
        dataset["examples"][0]: "tie",
        dataset["examples"][1]: "loss",
    }
    wrong = await user.enricher(
        "compare", "--config", "enricher.yaml", "--experiments", "--champion", "nosuch", "--challenger", "x"
    )
    assert wrong.code == 2
    assert "Phoenix has no experiment 'nosuch'" in wrong.complaint


async def _dataset(phoenix, count):
    body = {
        "action": "create",
        "name": f"set-{unique()}",
        "inputs": [{"question": question} for question in QUESTIONS[:count]],
        "outputs": [{} for _ in range(count)],
        "metadata": [{} for _ in range(count)],
    }
    made = (await phoenix.client.post("/v1/datasets/upload", params={"sync": "true"}, json=body)).raise_for_status()
    dataset_id = made.json()["data"]["dataset_id"]
    reply = (await phoenix.client.get(f"/v1/datasets/{dataset_id}/examples")).raise_for_status()
    return {"id": dataset_id, "examples": [example["id"] for example in reply.json()["data"]["examples"]]}


async def _experiment(phoenix, dataset, traces):
    """Run an experiment as an application does: its traces go to the project of the experiment."""
    name = f"run-{unique()}"
    made = await phoenix.client.post(f"/v1/datasets/{dataset['id']}/experiments", json={"name": name})
    experiment = made.raise_for_status().json()["data"]
    await phoenix.seed(*traces, project=experiment["project_name"])
    for trace, example in zip(traces, dataset["examples"], strict=True):
        times = {"start_time": root(trace).start_time.isoformat(), "end_time": root(trace).end_time.isoformat()}
        run = {"dataset_example_id": example, "output": "x", "repetition_number": 1, "trace_id": root(trace).trace_id}
        reply = await phoenix.client.post(f"/v1/experiments/{experiment['id']}/runs", json={**run, **times})
        reply.raise_for_status()
    return experiment["id"], experiment["name"]


async def test_a_key_of_the_metadata_matches_too(user, phoenix, other, configured):
    await phoenix.seed(asked("one way to ask", TRUE, **{"metadata": json.dumps({"case": "c-1"})}))
    await phoenix.seed(asked("another way", FALSE, **{"metadata": json.dumps({"case": "c-1"})}), project=other)
    call = ("compare", "--config", "enricher.yaml", "--champion", phoenix.project, "--challenger", other, "--json")
    found = await user.enricher(*call, "--match", "metadata:case", "--no-write")
    assert found.code == 0, found.err
    assert [(row["pair_id"], row["outcome"]) for row in found.json["rows"]] == [("c-1", "loss")]
    assert found.json["written"] == 0
    unmatched = await user.enricher(*call, "--match", "question")
    assert (unmatched.code, unmatched.json["pairs"]) == (1, 0)
    assert "--match" in (await user.enricher(*call, "--match", "colour")).complaint


# LangSmith


@pytest.fixture
def langsmith():
    with StandIn() as service:
        platform = LangSmithPlatform(service)
        yield platform
        platform.close()


async def test_langsmith_experiments_are_matched_by_reference_example(user, langsmith):
    pace = {"queries_per_second": 1000, "calls_per_second": 1000, "settle": "0s"}
    user.configure(connections={"langsmith": {"kind": "langsmith", "base_url": langsmith.service.url, **pace}}, jobs={})
    env = {"LANGSMITH_API_KEY": langsmith.service.key}
    examples = [str(uuid.uuid4()) for _ in range(3)]
    champion = [langsmith.trace(answer=TRUE, example=example, project="champion") for example in examples]
    # In another order, and one example is missing.
    challenger = [
        langsmith.trace(answer=answer, example=example, project="challenger")
        for answer, example in ((FALSE, examples[1]), (TRUE, examples[0]))
    ]
    call = ("compare", "--config", "enricher.yaml", "--experiments")
    sides = ("--champion", "champion", "--challenger", "challenger")
    for known in (0, 2):
        found = await user.enricher(*call, *sides, "--json", **env)
        assert found.code == 0, found.err
        report = found.json
        assert {row["pair_id"]: row["outcome"] for row in report["rows"]} == {examples[0]: "tie", examples[1]: "loss"}
        assert (report["recalled"], report["unmatched"]) == (known, {"champion": 1})
    feedback = {}
    for run in (*champion, *challenger):
        ours = [f for f in langsmith.service.feedback_of(str(run.id)) if f["key"] == "pairwise_preference"]
        feedback[str(run.id)] = [f["score"] for f in ours]
    assert [feedback[str(run.id)] for run in champion] == [[0.5], [1.0], []]
    assert [feedback[str(run.id)] for run in challenger] == [[0.0], [0.5]]
    missing = await user.enricher(*call, "--champion", "champion", "--challenger", "nosuch", **env)
    assert missing.code == 2
    assert "nosuch" in missing.complaint


# files


async def test_a_file_of_pairs_is_judged_once_and_the_gate_says_so(user):
    user.configure(jobs={})
    write(
        user,
        record("lost", TRUE, FALSE),
        record("won", FALSE, TRUE),
        record("same", TRUE, TRUE),
        record("other", TRUE, TRUE, documents_b=[{"text": "Something else."}]),
    )
    with (user.folder / "pairs.jsonl").open("a") as file:
        file.write("no JSON\n")
    call = ("compare", "pairs.jsonl", "--config", "enricher.yaml")
    held = await user.enricher(*call, "--json", "--gate", "challenger_losses <= 0.34 and differing == 1")
    assert held.code == 0, held.err
    report = held.json
    assert {row["pair_id"]: row["outcome"] for row in report["rows"]} == {"lost": "loss", "won": "win", "same": "tie"}
    assert report["overall"]["losses"]["low"] < 1 / 3 < report["overall"]["losses"]["high"]
    assert (report["differing"], report["unusable"]) == (1, 1)
    assert report["gate_passed"] is True
    breached = await user.enricher(*call, "--gate", "challenger_losses < 0.33")
    assert breached.code == 3
    assert "3 known from before" in breached.out
    for gate in ("losses < 1", "__import__('os')", "challenger_losses", "pairs < 'x'", "", "1 <"):
        bad = await user.enricher(*call, "--gate", gate)
        assert bad.code == 2, gate
        assert "the figures are" in bad.complaint
    nothing = await user.enricher("compare", "--config", "enricher.yaml")
    assert nothing.code == 2
    assert "--champion" in nothing.complaint


async def test_preferences_leave_out_what_nobody_should_learn_from(user):
    user.configure(jobs={})
    write(user, record("lost", TRUE, FALSE), record("same", TRUE, TRUE), record("none", "One.", "Two.", documents=[]))
    await user.enricher("compare", "pairs.jsonl", "--config", "enricher.yaml")
    export = ("export", "preferences", "--config", "enricher.yaml")
    plain = await user.enricher(*export)
    assert [json.loads(line)["metadata"]["pair_id"] for line in plain.out.splitlines()] == ["lost"]
    assert "left out" in plain.err
    more = await user.enricher(*export, "--include", "ties", "-o", "all.jsonl")
    assert more.out == ""
    rows = [json.loads(line) for line in (user.folder / "all.jsonl").read_text().splitlines()]
    assert {row["metadata"]["pair_id"] for row in rows} == {"lost", "same"}
    assert "no comparison 'x'" in (await user.enricher(*export, "--comparison", "x")).complaint
    assert "--include" in (await user.enricher(*export, "--include", "everything")).complaint


async def test_judging_records_with_two_answers_writes_one_line_each(user):
    user.configure(jobs={})
    write(
        user,
        record("lost", TRUE, FALSE),
        {"id": "half", "answer_a": "x", "documents": []},
        record("other", TRUE, FALSE, documents_b=[{"text": "Something else."}]),
    )
    found = await user.enricher("judge", "pairs.jsonl", "--judge", "pairwise", "--config", "enricher.yaml")
    assert found.code == 1
    rows = [json.loads(line) for line in found.out.splitlines()]
    assert [(row["id"], row["status"], row["preferred"]) for row in rows] == [
        ("lost", "OK", "A"), (None, "INVALID_TRACE", None), ("other", "SKIPPED", None),
    ]  # fmt: skip
    assert "there is no answer_b" in rows[1]["summary"]
    assert rows[2]["reason"] == "contexts_differ"
    assert "faithfulness_score" not in rows[0]


async def test_a_model_is_asked_once_a_pair_and_both_orders_only_where_they_are_missing(user):
    def favours_first(request):
        verdicts = {
            name: {"justification": "x", "winner": "A"}
            for name in ("faithfulness", "citation_accuracy", "completeness", "source_conflict_handling")
        }
        return Say(
            {
                "hallucination_flags": [], "citation_errors": [], "dimension_verdicts": verdicts,
                "overall_justification": "x", "preferred_answer": "A", "confidence": 0.9,
            }
        )  # fmt: skip

    async with OpenAIServer().running() as server:
        server.default = favours_first
        user.configure(
            jobs={},
            engine="openai",
            openai={"base_url": server.url, "model": "judge-1"},
            compare={"both_orders": 0.0},
        )
        write(user, *(record(f"p{n}", TRUE, FALSE) for n in range(6)))
        call = ("compare", "pairs.jsonl", "--config", "enricher.yaml", "--json")
        once = await user.enricher(*call, OPENAI_API_KEY="k")
        assert once.code == 0, once.err
        assert len(server.requests) == 6
        assert once.json["position_bias"]["of"] == 0
        await user.enricher(*call, OPENAI_API_KEY="k")
        assert len(server.requests) == 6
        both = await user.enricher(*call, "--both-orders", OPENAI_API_KEY="k")
        assert len(server.requests) == 18
        assert both.json["position_bias"]["rate"] == 1.0
        assert both.json["overall"]["ties"]["rate"] == 1.0
        assert both.json["review_reasons"] == {"position_bias": 6}
        await user.enricher(*call, OPENAI_API_KEY="k")
        assert len(server.requests) == 18
        exported = await user.enricher("export", "preferences", "--config", "enricher.yaml")
        assert exported.out == ""
