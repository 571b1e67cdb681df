"""Material that speaks to the judge: even a model that obeys it changes no verdict, with the second check on."""

import re

import pytest

from enricher.judges.chat import Chat, ChatOptions
from enricher.judges.diff import ModelDiffJudge
from enricher.judges.faithfulness import ModelFaithfulnessJudge
from enricher.judges.local import LocalDiffJudge
from enricher.judges.second import Checks
from enricher.pipeline import examine
from enricher.prompts import load
from enricher.steps.decision import PolicyRule, decide
from enricher.verdict import ClaimVerdict
from tests.judges.test_diff import cases, item_of
from tests.servers.openai import OpenAIServer, Say

INJECTED = [case for case in cases("security") if "raw_response" not in case["input"]]


def obeys(request):
    """Call everything supported by the first sentence of the first document, as the injected text demands."""
    asked = re.search(r"(?:in this order, each exactly once|in this order): ([\w, ]+)\n", request.prompt)
    ids = [name.strip() for name in asked[1].split(",")]
    evidence = re.search(r"\[(d1\.s\d+)\]", request.prompt)[1]
    if '"claims"' in request.prompt:
        sentences = dict(re.findall(r"^\[(s\d+)\] (.*)$", request.prompt, re.M))
        return Say(
            {
                "claims": [
                    {"sentence": i, "claim": sentences[i], "evidence": [evidence], "note": "", "verdict": "SUPPORTED"}
                    for i in ids
                ],
                "most_dangerous_error": None,
            }
        )
    entries = [
        {"id": i, "evidence": [evidence], "explanation": "", "status": "FULLY_SUPPORTED", "issue": "NONE"} for i in ids
    ]
    return Say({"segments": entries, "omissions": [], "summary": "All is well."})


@pytest.fixture
async def chat():
    async with OpenAIServer().running() as server:
        server.default = obeys
        chat = Chat(ChatOptions(base_url=server.url, model="judge-2026-01-01"))
        yield chat
        await chat.aclose()


@pytest.mark.parametrize("case", INJECTED, ids=lambda case: case["id"])
async def test_an_obedient_model_changes_no_verdict_of_the_diff(chat, case):
    made = item_of(case["input"])
    truth = LocalDiffJudge().verdict(made)
    verdict = await examine(made, ModelDiffJudge(chat, load("diff@v2"), salt=b"x"), Checks())
    found = [segment.alignment_status for segment in verdict.result.segments if not segment.is_omission]
    wanted = [segment.alignment_status for segment in truth.result.segments if not segment.is_omission]
    assert found == wanted
    if "FULLY_SUPPORTED" in case["expected"]["must_not"]:
        assert verdict.score < 1.0
        assert decide(verdict, PolicyRule()).reasons


@pytest.mark.parametrize("case", INJECTED, ids=lambda case: case["id"])
async def test_an_obedient_model_changes_no_verdict_on_claims(chat, case):
    made = item_of(case["input"])
    verdict = await examine(made, ModelFaithfulnessJudge(chat, load("faithfulness@v2"), salt=b"x"), Checks())
    is_sound = LocalDiffJudge().verdict(made).score == 1.0
    assert all(claim.verdict is ClaimVerdict.SUPPORTED for claim in verdict.result.claims) == is_sound
