"""A gate for prompts and models, as CI and whoever writes prompts meet it."""

import json
from xml.etree import ElementTree as ET

import pytest

from enricher.resources import folder
from tests.acceptance.test_commands import DOCUMENT, jsonl
from tests.servers import oracle
from tests.servers.openai import Fail, OpenAIServer, Say

FLAGS = ("--config", "enricher.yaml")
ANSWERS = {"right": ("30", "faithful"), "wrong": ("90", "contradicted"), "worse": ("80", "contradicted")}
GOLDEN = [
    {
        "id": name, "question": "When?", "documents": [DOCUMENT], "answer": f"Refunds are paid within {days} days.",
        "label": label, "comment": "30 days is what counts",
    }
    for name, (days, label) in ANSWERS.items()
]  # fmt: skip
LENIENT = "Be lenient."


def answered(request):
    """Answer fairly, unless the prompt asks to be lenient: then 80 days pass for 30."""
    said = oracle.answer(request.prompt)
    if LENIENT in request.prompt and "80 days" in request.prompt:
        reply = json.loads(said)
        for segment in reply["segments"]:
            segment |= {"status": "FULLY_SUPPORTED", "issue": "NONE", "explanation": ""}
        said = json.dumps(reply)
    return Say(said, model="m-1-june")


@pytest.fixture
async def model(user):
    async with OpenAIServer().running() as server:
        server.default = answered
        user.configure(
            engine="openai",
            openai={"base_url": server.url, "model": "m-1", "attempts": 1},
            prompt_folders=["prompts"],
            regress={"golden": "golden.jsonl"},
            connections={"files": {"kind": "files", "paths": ["traces.jsonl"]}},
            jobs={"strict": {"connection": "files", "additional_constraints": "Read clause 4 first."}},
        )
        (user.folder / "golden.jsonl").write_text(jsonl(*GOLDEN))
        yield server


def candidate(user, *, lenient):
    """Write diff@v9: the shipped prompt with another version, and perhaps one sentence more."""
    text = (folder("prompts") / "diff" / "v2.md").read_text().replace("version: v2", "version: v9")
    place = user.folder / "prompts" / "diff"
    place.mkdir(parents=True, exist_ok=True)
    (place / "v9.md").write_text(text + (f"{LENIENT}\n" if lenient else "Be exact.\n"))


async def test_a_prompt_is_accepted_gated_and_released(user, model):
    first = await user.enricher("regress", "--accept", "--json", *FLAGS)
    assert first.code == 0, first.err
    assert (first.json["passed"], first.json["is_accepted"]) == (True, True)
    (judge,) = first.json["judges"]
    assert (judge["agreement"]["count"], judge["baseline"], judge["setting"]["snapshot"]) == (3, None, "m-1-june")

    candidate(user, lenient=True)
    before = (user.folder / "golden.baseline.json").read_text()
    files = ("--junit", "junit.xml", "--markdown", "summary.md")
    broken = await user.enricher("regress", "--prompt", "diff@v9", "--accept", *files, *FLAGS)
    assert broken.code == 3, broken.err
    for part in ("gate breached", "regression", "worse: people contradicted, before contradicted, now faithful",
                 "wrong where the baseline was right: 1, at most 0", "people: 30 days is what counts"):  # fmt: skip
        assert part in broken.out, part
    assert (user.folder / "golden.baseline.json").read_text() == before
    (suite,) = ET.parse(user.folder / "junit.xml").getroot()
    assert (suite.get("failures"), suite.get("tests")) == ("3", "6")
    assert "❌" in (user.folder / "summary.md").read_text()

    refused = await user.enricher("prompts", "release", "diff@v9", *FLAGS)
    assert "diff@v9 has no accepted regression in golden.baseline.json" in refused.complaint

    candidate(user, lenient=False)
    held = await user.enricher("regress", "--prompt", "diff@v9", "--accept", *FLAGS)
    assert (held.code, "gate held, accepted as the new baseline" in held.out) == (0, True)
    released = await user.enricher("prompts", "release", "diff@v9", *FLAGS)
    assert (released.code, "released diff@v9: 100.0% of 3 golden items" in released.out) == (0, True)
    assert (await user.enricher("prompts", "verify", *FLAGS)).code == 0
    listed = (await user.enricher("prompts", "list", "--json", *FLAGS)).json
    states = {row["name"]: (row["state"], row["regression"]) for row in listed}
    assert states["diff@v9"][1].startswith("3 items of golden.jsonl, 100.0% agreement")
    assert states["diff@v2"] == ("released", "no regression on record")


async def test_what_a_job_adds_is_measured_and_releases_no_prompt(user, model):
    candidate(user, lenient=False)
    asked = ("--prompt", "diff@v9", "--model", "m-2", "--job", "strict", "--accept", "--json")
    found = await user.enricher("regress", *asked, *FLAGS)
    assert found.code == 0, found.err
    assert {request.body["model"] for request in model.requests} == {"m-2"}
    assert all("Read clause 4 first." in request.prompt and "Be exact." in request.prompt for request in model.requests)
    refused = await user.enricher("prompts", "release", "diff@v9", *FLAGS)
    assert "was run with the additions of a job" in refused.complaint


async def test_an_item_without_a_verdict_is_counted_and_never_part_of_the_agreement(user, model):
    model.script(Say("no json"), when="90 days")
    found = await user.enricher("regress", "--json", *FLAGS)
    assert found.code == 3
    (judge,) = found.json["judges"]
    assert judge["failed"] == {"JUDGE_PARSE_ERROR": 1}
    assert (judge["agreement"]["count"], judge["agreement"]["of"]) == (2, 2)
    allowed = await user.enricher("regress", "--max-failed", "1", "--json", *FLAGS)
    assert (allowed.code, allowed.json["passed"]) == (0, True)


async def test_a_model_that_is_out_says_nothing_of_the_candidate(user, model):
    model.script(Fail(503), when="80 days")
    found = await user.enricher("regress", "--accept", "--json", *FLAGS)
    assert found.code == 1
    assert (found.json["measured"], found.json["passed"], found.json["is_accepted"]) == (False, False, False)
    assert not (user.folder / "golden.baseline.json").exists()


async def test_the_embedded_engine_has_a_golden_set_too_and_pairs_as_well(user):
    pair = {"judge": "pairwise", "id": "pair", "question": "When?", "documents": [DOCUMENT], "label": "A"}
    pair |= {"answer_a": "Refunds are paid within 30 days.", "answer_b": "Refunds are paid within 90 days."}
    (user.folder / "golden.jsonl").write_text(jsonl(*GOLDEN, pair))
    found = await user.enricher("regress", "--golden", "golden.jsonl", "--json")
    assert found.code == 0, found.err
    assert {judge["judge"]: judge["agreement"]["count"] for judge in found.json["judges"]} == {"diff": 3, "pairwise": 1}
    low = await user.enricher("regress", "--golden", "golden.jsonl", "--judge", "pairwise", "--min-agreement", "1")
    assert low.code == 0


async def test_what_is_wrong_is_said_in_one_sentence(user, model):
    for arguments, sentence in (
        (("--golden", "nowhere.jsonl"), "nowhere.jsonl can't be read"),
        (("--prompt", "diff@v77"), "there is no prompt diff@v77"),
        (("--judge", "halves"), "golden.jsonl has no item for the judge 'halves'; it has some for diff"),
        (("--job", "weekly"), "there is no job 'weekly'"),
        (("--tolerance", "some"), "use none or interval"),
        (("--engine", "magic"), "'magic' is not known; use one of local, openai"),
    ):
        assert sentence in (await user.enricher("regress", *arguments, *FLAGS)).complaint, arguments
    assert model.requests == []
    (user.folder / "bare.yaml").write_text("store: sqlite:///store.db\n")
    assert "say where the golden set is" in (await user.enricher("regress", "-c", "bare.yaml")).complaint
