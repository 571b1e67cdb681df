"""The halves judge on a model: the answer is out of sight where the context is judged, and every failure has a step."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from enricher.errors import SetupError
from enricher.judges.chat import Chat, ChatOptions
from enricher.judges.halves import COMPOSED, ModelHalvesJudge
from enricher.judges.prices import Prices
from enricher.judges.rehearsal import Rehearsal
from enricher.prompts import load
from enricher.resources import folder as shipped
from enricher.seams import Judge
from enricher.verdict import FailingHalf, QuoteCheck, Status
from tests.grounding.items import split
from tests.servers.openai import Fail, OpenAIServer, Say

REPLIES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "cases" / "replies-halves.jsonl").read_text(encoding="utf-8").splitlines()
]
ITEM = split(
    "How long is the warranty, and can I return items?",
    ["The warranty period is 12 months from delivery.", "Returns are accepted within 30 days of purchase."],
    "The warranty lasts 24 months. Returns are accepted within 30 days.",
)
CONTEXT = {
    "missing": "",
    "evidence": ["d1.s1"],
    "reason": "d1 states the warranty, d2 the returns.",
    "context_relevance": 2,
    "fix_note": "",
}
ANSWER = {
    "unsupported": [],
    "contradicted": [],
    "faithfulness_reason": "Every sentence follows.",
    "faithfulness": 2,
    "answer_relevance_reason": "Both parts are answered.",
    "answer_relevance": 2,
    "failing_half": "none",
    "fix_note": "",
}
IS_BLIND = "Judge the documents against the question alone"
IS_ANSWER = "Find out whether the generator did its part"


@pytest.fixture
async def server():
    async with OpenAIServer().running() as running:
        yield running


def judge_for(server, *, chat=Chat, prompt=None, **options):
    given = {"base_url": server.url, "model": "m", "attempts": 1, "timeout_s": 5, **options}
    return ModelHalvesJudge(chat(ChatOptions(**given)), prompt or load("halves@v1"), salt=b"salt")


def script(server, context=None, answer=None):
    server.script(*(context if isinstance(context, list) else [Say(context or CONTEXT)]), when=IS_BLIND)
    server.script(*(answer if isinstance(answer, list) else [Say(answer or ANSWER)]), when=IS_ANSWER)


async def judged(server, item=ITEM, **options):
    judge = judge_for(server, **options)
    try:
        return await judge.judge(item)
    finally:
        await judge.aclose()


def blind(server):
    return [request for request in server.requests if IS_BLIND in request.prompt]


def with_answer(server):
    return [request for request in server.requests if IS_ANSWER in request.prompt]


async def test_it_is_a_judge(server):
    assert isinstance(judge_for(server), Judge)


@pytest.mark.parametrize("case", REPLIES, ids=lambda case: case["id"])
async def test_a_raw_reply_comes_to_its_right_end(server, case):
    raw = Say(case["raw_response"], finish_reason=case.get("finish_reason", "stop"), refusal=case.get("refusal"))
    script(server, **{case["call"]: [raw]})
    verdict = await judged(server)
    expected = case["expected"]
    assert verdict.status == expected["status"]
    if verdict.status is not Status.OK:
        assert verdict.result is None
        assert verdict.score is None
        assert expected.get("problem", "") in verdict.failure
        return
    result = verdict.result
    for name in ("context_relevance", "faithfulness", "answer_relevance"):
        assert getattr(result, name).value == expected[name]
    assert result.failing_half == expected["failing_half"]
    assert [flag for flag in verdict.flags if flag != "judge_reply_repaired"] == expected.get("flags", [])
    if "fix_note" in expected:
        assert expected["fix_note"] in result.fix_note
    assert bool(result.fix_note) == (result.failing_half is not FailingHalf.NONE)


async def test_the_context_is_judged_without_the_answer_in_sight(server):
    script(server)
    await judged(server)
    (request,) = blind(server)
    assert "24 months" not in request.prompt
    assert "<answer-" not in request.prompt
    assert "12 months" in request.prompt
    assert "24 months" in with_answer(server)[0].prompt


async def test_both_calls_begin_with_the_same_documents(server):
    script(server)
    await judged(server)
    first, second = (request.body["messages"] for request in server.requests)
    assert first[0] == second[0]
    shared = first[1]["content"].index("Judge the documents")
    assert first[1]["content"][:shared].rstrip() == second[1]["content"][: len(first[1]["content"][:shared].rstrip())]


async def test_the_second_call_finds_the_documents_in_the_cache(server):
    script(server)
    long = split(ITEM.question, ["The warranty period is 12 months from delivery. " * 200], "It lasts 12 months.")
    verdict = await judged(server, long)
    assert verdict.usage.cached_tokens > 0.4 * verdict.usage.prompt_tokens


async def test_the_passages_that_answer_are_exact(server):
    script(server)
    (quote,) = (await judged(server)).result.context_relevance.evidence
    assert quote.check is QuoteCheck.VERIFIED
    assert ITEM.documents[0].text[quote.start : quote.end] == quote.text


async def test_a_missing_note_is_asked_for_once_and_then_composed(server):
    wrong = {**ANSWER, "contradicted": ["s1"], "faithfulness": 0, "failing_half": "generation"}
    script(server, answer=[Say(wrong), Say(wrong)])
    verdict = await judged(server)
    assert len(with_answer(server)) == 2
    assert "PREVIOUS_ERROR: fix_note names no next step" in with_answer(server)[1].prompt
    assert verdict.status is Status.OK
    assert COMPOSED in verdict.flags
    assert "d1 says 'The warranty period is 12 months from delivery.'" in verdict.result.fix_note


async def test_a_verdict_survives_a_broken_second_try_for_its_note(server):
    wrong = {**ANSWER, "contradicted": ["s1"], "faithfulness": 0, "failing_half": "generation"}
    script(server, answer=[Say(wrong), Say("no JSON")])
    verdict = await judged(server)
    assert verdict.status is Status.OK
    assert verdict.result.failing_half is FailingHalf.GENERATION
    assert verdict.result.fix_note


async def test_a_broken_reply_is_asked_for_again_with_the_error(server):
    script(server, context=[Say({**CONTEXT, "context_relevance": 7}), Say(CONTEXT)])
    verdict = await judged(server)
    assert verdict.status is Status.OK
    assert "PREVIOUS_ERROR: context_relevance 7 is not one of 0, 1, 2" in blind(server)[1].prompt
    assert len(verdict.raw_replies) == 3


async def test_both_notes_are_joined_when_both_halves_failed(server):
    first = {**CONTEXT, "context_relevance": 0, "evidence": [], "missing": "the warranty of used items"}
    first["fix_note"] = "Index the warranty of used items; d1 covers new ones only."
    second = {**ANSWER, "unsupported": ["s1"], "faithfulness": 0, "failing_half": "both"}
    second["fix_note"] = "Instruct the generator to decline when the context lacks the warranty."
    script(server, first, second)
    result = (await judged(server)).result
    assert result.failing_half is FailingHalf.BOTH
    assert result.fix_note == f"{first['fix_note']} Then: {second['fix_note']}"
    assert result.summary.startswith("Retrieval failed (context_relevance no): d1 states")


async def test_a_faithful_answer_to_a_context_that_lacks_the_answer_is_retrieval(server):
    script(server, {**CONTEXT, "context_relevance": 0, "evidence": [], "missing": "the warranty"})
    verdict = await judged(server)
    assert verdict.result.failing_half is FailingHalf.RETRIEVAL
    assert "no retrieved document states the warranty" in verdict.result.fix_note


async def test_declining_although_the_context_holds_the_answer_is_generation(server):
    item = split("How long is the warranty?", ["The warranty is 12 months."], "I'm sorry, I don't know.")
    script(server, answer={**ANSWER, "faithfulness": 0, "answer_relevance": 0, "failing_half": "generation"})
    verdict = await judged(server, item)
    assert verdict.status is Status.NO_CLAIMS
    assert verdict.result.failing_half is FailingHalf.GENERATION
    assert verdict.result.faithfulness.value == 2  # what states nothing can't be unfaithful
    assert "d1 says 'The warranty is 12 months.'" in verdict.result.fix_note


async def test_declining_when_the_context_lacks_the_answer_is_retrieval(server):
    item = split("What is the refund fee?", ["Refunds take 5 days."], "I don't know based on the provided documents.")
    lacking = {**CONTEXT, "context_relevance": 0, "evidence": [], "missing": "the refund fee"}
    script(server, lacking, {**ANSWER, "answer_relevance": 0, "failing_half": "retrieval"})
    verdict = await judged(server, item)
    assert verdict.status is Status.NO_CLAIMS
    assert verdict.result.failing_half is FailingHalf.RETRIEVAL


async def test_short_names_of_the_prompt_become_the_documents_own_ids(server):
    named = (replace(document, id=f"kb/{n} handbook") for n, document in enumerate(ITEM.documents, 1))
    item = replace(ITEM, documents=tuple(named))
    wrong = {**ANSWER, "contradicted": ["s1"], "faithfulness": 0, "failing_half": "generation"}
    wrong["fix_note"] = "Have the prompt copy durations: d1 says 12 months."
    script(server, answer=wrong)
    result = (await judged(server, item)).result
    assert result.fix_note == "Have the prompt copy durations: kb/1 handbook says 12 months."
    assert result.context_relevance.reason == "kb/1 handbook states the warranty, kb/2 handbook the returns."


LONG = split(
    "How long is the warranty?",
    [
        *(f"Chapter {n} is about the canteen and its opening hours and its dishes. " * 20 for n in range(8)),
        "The warranty is 12 months.",
    ],
    "The warranty is 12 months. Shipping is free.",
)


async def test_of_several_windows_the_best_context_counts(server):
    lacking = Say({**CONTEXT, "context_relevance": 0, "evidence": [], "missing": "the warranty"})
    found = Say({**CONTEXT, "evidence": ["d9.s1"]})
    server.script(found, when=lambda body: IS_BLIND in str(body) and "12 months" in str(body))
    server.script(lacking, when=IS_BLIND)
    nothing = {**ANSWER, "unsupported": ["s1", "s2"], "faithfulness": 0, "failing_half": "generation"}
    one = {**ANSWER, "unsupported": ["s2"], "faithfulness": 1, "failing_half": "generation"}
    server.script(Say(one), when=lambda body: IS_ANSWER in str(body) and "[d9.s1]" in str(body))
    server.script(Say(nothing), when=IS_ANSWER)
    verdict = await judged(server, LONG, context_window=2400, max_tokens=256)
    assert len(blind(server)) > 1
    assert "context_windowed" in verdict.flags
    result = verdict.result
    assert result.context_relevance.value == 2
    assert result.context_relevance.evidence[0].document_id == "d9"
    assert result.faithfulness.value == 1  # s1 is borne out in one window
    assert "Shipping is free." in result.fix_note


async def test_what_one_window_denies_and_another_bears_out_is_a_conflict(server):
    server.script(Say(CONTEXT | {"evidence": [], "context_relevance": 1, "missing": "x"}), when=IS_BLIND)
    denies = {**ANSWER, "contradicted": ["s1"], "faithfulness": 0, "failing_half": "generation"}
    server.script(Say(ANSWER), when=lambda body: IS_ANSWER in str(body) and "[d9.s1]" in str(body))
    server.script(Say(denies), when=IS_ANSWER)
    verdict = await judged(server, LONG, context_window=2400, max_tokens=256)
    assert "source_conflict" in verdict.flags
    assert verdict.result.faithfulness.value == 2


async def test_without_a_question_nobody_is_asked(server):
    verdict = await judged(server, split(None, ["The fee is 5 EUR."], "The fee is 5 EUR."))
    assert verdict.status is Status.SKIPPED
    assert "question" in verdict.failure
    assert server.requests == []


async def test_an_endpoint_that_is_away_is_no_verdict_and_the_answer_is_not_asked_about(server):
    script(server, context=[Fail(503)])
    verdict = await judged(server)
    assert verdict.status is Status.JUDGE_UNAVAILABLE
    assert with_answer(server) == []


async def test_an_estimate_is_of_both_calls(server):
    prices = Prices(prompt=1.0, completion=1.0)
    verdict = await judged(server, chat=Rehearsal, prices=prices, max_tokens=256)
    assert verdict.status is Status.BUDGET_EXCEEDED
    assert verdict.usage.completion_tokens == 512
    assert server.requests == []


async def test_both_prompts_are_part_of_the_version(server, tmp_path):
    plain = judge_for(server).provenance
    assert plain.prompt == "halves@v1"
    assert len(plain.prompt_hash.split("+")) == 2
    for name in ("halves", "halves_context"):
        folder = tmp_path / name
        (folder / name).mkdir(parents=True)
        text = (shipped("prompts") / name / "v1.md").read_text(encoding="utf-8")
        changed_text = text.replace("=== task ===\n", "=== task ===\nBe fair.\n")
        (folder / name / "v1.md").write_text(changed_text, encoding="utf-8")
        own = judge_for(server, prompt=load("halves@v1", folders=[folder])).provenance
        assert own.version != plain.version
    for more in ({"risk_level": "high"}, {"examples": "E"}, {"additional_constraints": "C"}):
        changed = judge_for(server, prompt=load("halves@v1", **more)).provenance
        assert changed.version != plain.version


async def test_what_the_operator_adds_reaches_both_calls(server):
    script(server)
    await judged(server, prompt=load("halves@v1", risk_level="high", additional_constraints="Read clause 4."))
    for request in server.requests:
        assert "Read clause 4." in request.prompt
        assert "risk level" in request.prompt


async def test_a_prompt_without_one_for_the_context_is_refused(server):
    with pytest.raises(SetupError, match="judges the context alone"):
        judge_for(server, prompt=load("diff@v2"))
