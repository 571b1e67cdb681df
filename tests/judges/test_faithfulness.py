"""The faithfulness judge: every claim of the answer is judged, and nothing else counts."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from enricher.grounding.focus import sites_in
from enricher.judges.chat import Chat, ChatOptions
from enricher.judges.faithfulness import ModelFaithfulnessJudge
from enricher.judges.local_faithfulness import LocalFaithfulnessJudge
from enricher.judges.reply import Unusable
from enricher.judges.second import Checks
from enricher.prompts import load
from enricher.results.claims import most_dangerous
from enricher.seams import Judge
from enricher.steps.verification import verify
from enricher.verdict import Claim, ClaimVerdict, Outcome, QuoteCheck, Standing, Status
from tests.judges.test_diff import cases, item, item_of
from tests.servers.openai import OpenAIServer, Say

LEASE = item(
    "The rent is 900 EUR and the deposit is 2,700 EUR. Pets are allowed.",
    "Clause 4: The monthly rent is 900 EUR.",
    "Clause 5: The deposit is 1,800 EUR.",
)
REPLIES = [
    json.loads(line)
    for line in (Path(__file__).parent.parent / "cases" / "replies-faithfulness.jsonl")
    .read_text(encoding="utf-8")
    .splitlines()
]


def entry(text, verdict="SUPPORTED", evidence=("d1.s1",), note="", sentence="s1"):
    evidence = evidence if evidence is None or isinstance(evidence, str) else list(evidence)
    return {"sentence": sentence, "claim": text, "evidence": evidence, "note": note, "verdict": verdict}


def says(*entries, error=None, **more):
    return Say({"claims": list(entries), "most_dangerous_error": error, **more})


RENT = entry("The rent is 900 EUR.")
DEPOSIT = entry("The deposit is 2,700 EUR.", "CONTRADICTED", ("d2.s1",), "2,700 EUR against 1,800 EUR")
PETS = entry("Pets are allowed.", "UNSUPPORTED", (), "no document speaks of pets", "s2")


@pytest.fixture
async def server():
    async with OpenAIServer().running() as running:
        yield running


@pytest.fixture
async def make(server):
    made = []

    def make(*, focus=None, additions=None, **options):
        chat = Chat(ChatOptions(base_url=server.url, model="judge-2026-01-01", **options))
        more = {} if focus is None else {"focus": focus}
        made.append(ModelFaithfulnessJudge(chat, load("faithfulness@v2", **(additions or {})), salt=b"x", **more))
        return made[-1]

    yield make
    for judge in made:
        await judge.aclose()


async def test_each_claim_has_its_verdict_its_place_and_its_passage(server, make):
    server.script(says(RENT, DEPOSIT, PETS))
    judge = make()
    verdict = verify(await judge.judge(LEASE), LEASE)
    result = verdict.result
    assert isinstance(judge, Judge)
    assert verdict.status is Status.OK
    assert [claim.verdict for claim in result.claims] == ["SUPPORTED", "CONTRADICTED", "UNSUPPORTED"]
    assert verdict.score == pytest.approx(1 / 3)
    assert result.outcome is Outcome.FAIL
    assert result.label == "fail"
    assert result.unsupported_claims == ("The deposit is 2,700 EUR.", "Pets are allowed.")
    second = result.claims[1]
    assert LEASE.answer[second.start : second.end] == "the deposit is 2,700 EUR."
    assert second.evidence[0].text == "Clause 5: The deposit is 1,800 EUR."
    assert second.evidence[0].check is QuoteCheck.VERIFIED
    assert second.trace_event_references == ("r2", "a1")


async def test_the_most_dangerous_error_follows_from_the_labels_and_not_from_the_model(server, make):
    server.script(says(RENT, DEPOSIT, PETS, error="Pets!"))
    result = (await make().judge(LEASE)).result
    assert result.most_dangerous_error == (
        "Contradicted (amounts): answer says 'The deposit is 2,700 EUR.': 2,700 EUR against 1,800 EUR; compared "
        "value by value: answer says 2,700 EUR, d2 says 1,800 EUR"
    )


def test_of_two_contradictions_the_amount_is_more_dangerous_than_the_name():
    def claim(number, text, verdict):
        return Claim(claim_id=f"c{number}", text=text, verdict=verdict, sites=sites_in(text))

    name = claim(1, "The tenant is Bob Miller.", ClaimVerdict.CONTRADICTED)
    amount = claim(2, "The rent is 90 EUR.", ClaimVerdict.CONTRADICTED)
    unsupported = claim(3, "The fee is 5 EUR.", ClaimVerdict.UNSUPPORTED)
    assert most_dangerous([name, unsupported, amount]) == "Contradicted (amounts): answer says 'The rent is 90 EUR.'"
    assert most_dangerous([claim(4, "It is fine.", ClaimVerdict.SUPPORTED)]) is None


async def test_a_part_without_a_claim_is_asked_for_once(server, make):
    server.script(says(RENT, PETS), says(RENT, DEPOSIT, PETS))
    verdict = await make().judge(LEASE)
    assert verdict.status is Status.OK
    assert verdict.usage.calls == 2
    assert "PREVIOUS_ERROR: no claim is about a part of s1" in server.requests[1].prompt


async def test_a_part_that_stays_without_a_claim_is_incomplete_and_has_no_score(server, make):
    server.script(says(RENT, PETS))
    verdict = await make().judge(LEASE)
    assert verdict.status is Status.JUDGE_INCOMPLETE
    assert verdict.score is None


async def test_supported_values_that_the_engine_sees_clash_are_flagged(server, make):
    server.script(says(RENT, {**DEPOSIT, "verdict": "SUPPORTED", "note": ""}, PETS))
    claim = (await make().judge(LEASE)).result.claims[1]
    assert claim.verdict is ClaimVerdict.SUPPORTED
    assert claim.flags == ("focus_mismatch:amounts", "overlooked_mismatch")
    assert "1,800" in claim.explanation


async def test_the_chosen_sites_are_in_the_prompt_and_in_the_version(server, make):
    server.script(says(RENT, DEPOSIT, PETS))
    judge = make(focus=("dates",))
    await judge.judge(LEASE)
    assert "Compare character by character: dates, times and periods." in server.requests[0].prompt
    assert judge.provenance.version != make().provenance.version
    assert make(additions={"risk_level": "high"}).provenance.version != make().provenance.version


async def test_statements_of_another_judge_are_judged_in_their_order(server, make):
    server.script(says(entry("The rent is 900 EUR.", sentence="c1"), {**DEPOSIT, "sentence": "c2"}))
    judge = make()
    claims, usage = await judge.assess(LEASE, ["The rent is 900 EUR.", "The deposit is 2,700 EUR."])
    assert [claim.standing for claim in claims] == [Standing.SUPPORTED, Standing.CONTRADICTED]
    assert usage.calls == 1
    assert "[c2] The deposit is 2,700 EUR." in server.requests[0].prompt


async def test_statements_that_were_not_judged_are_a_failure(server, make):
    server.script(says(RENT))
    claims, usage = await make().assess(LEASE, ["The rent is 900 EUR.", "Pets are allowed."])
    assert isinstance(claims, Unusable)
    assert claims.status is Status.JUDGE_INCOMPLETE
    assert usage.calls == 2


async def test_a_second_model_checks_what_a_first_one_found(server, make):
    server.script(says(RENT, DEPOSIT, PETS), says(RENT, DEPOSIT, {**PETS, "verdict": "UNSUPPORTED"}))
    judge = make()
    verdict = verify(await judge.judge(LEASE), LEASE)
    checked = await Checks(has_engine=False, assessor=judge).check(verdict, LEASE)
    assert [part.certainty for part in checked.result.parts] == [None, "confirmed", "confirmed"]
    assert checked.usage.calls == 2


async def test_a_context_that_does_not_fit_is_read_in_windows_with_the_same_claims(server, make):
    filler = " ".join(f"Filler sentence number {n} says nothing of interest at all." for n in range(90))
    documents = [replace(d, text=f"{d.text} {filler}", sentences=()) for d in LEASE.documents]
    long = item_of(
        {
            "answer": LEASE.answer,
            "question": "What does it cost?",
            "documents": [{"document_id": d.id, "text": d.text, "span_id": "r"} for d in documents],
        }
    )

    def reply(request):
        if "given" not in request.prompt and "[c1]" not in request.prompt:
            return says(
                entry("The rent is 900 EUR.", "UNSUPPORTED", ()),
                {**DEPOSIT, "verdict": "UNSUPPORTED", "evidence": []},
                PETS,
            )
        rent = RENT if "[d1.s1]" in request.prompt else entry("The rent is 900 EUR.", "UNSUPPORTED", ())
        deposit = DEPOSIT if "[d2.s1]" in request.prompt else {**DEPOSIT, "verdict": "UNSUPPORTED", "evidence": []}
        return says(rent, deposit, PETS)

    server.default = reply
    verdict = await make(context_window=3000, max_tokens=512).judge(long)
    assert verdict.status is Status.OK, verdict.failure
    assert [claim.verdict for claim in verdict.result.claims] == ["SUPPORTED", "CONTRADICTED", "UNSUPPORTED"]
    assert "context_windowed" in verdict.flags
    assert verdict.usage.calls > 2


@pytest.mark.parametrize("case", cases("claims-coverage"), ids=lambda case: case["id"])
async def test_claims_cover_the_answer_and_nothing_else(server, make, case):
    given, expected = case["input"], case["expected"]
    server.script(*([Say(given["raw_response"])] * 2))
    made = item_of(given)
    verdict = verify(await make().judge(made), made)
    if expected["status"] == "JUDGE_INCOMPLETE":
        assert verdict.status is Status.JUDGE_INCOMPLETE
        assert verdict.result is None
    else:
        assert verdict.status is Status.OK
        assert verdict.score == expected["faithfulness_score"]
        assert set(expected["flags"]) <= set(verdict.flags)


@pytest.mark.parametrize("case", REPLIES, ids=lambda case: case["id"])
async def test_a_raw_reply_ends_as_it_should(server, make, case):
    texts = [case["reply"]] if isinstance(case["reply"], str) else case["reply"]
    server.script(*(Say(text, finish_reason=case.get("finish_reason", "stop")) for text in texts * 2))
    verdict = verify(await make().judge(LEASE), LEASE)
    assert str(verdict.status) == case["status"], verdict.failure
    if verdict.status is Status.OK:
        assert [str(claim.verdict) for claim in verdict.result.claims] == case["verdicts"]
        assert verdict.score == pytest.approx(case["score"], abs=0.001)
    else:
        assert verdict.score is None
        assert verdict.result is None
    assert set(case.get("flags", ())) <= {
        *verdict.flags,
        *(f for p in (verdict.result.parts if verdict.result else ()) for f in p.flags),
    }


async def test_the_local_engine_splits_and_judges_the_claims():
    verdict = verify(await LocalFaithfulnessJudge().judge(LEASE), LEASE)
    assert [(claim.text, str(claim.verdict)) for claim in verdict.result.claims] == [
        ("The rent is 900 EUR", "SUPPORTED"),
        ("the deposit is 2,700 EUR.", "CONTRADICTED"),
        ("Pets are allowed.", "UNSUPPORTED"),
    ]
    for claim in verdict.result.claims:
        assert LEASE.answer[claim.start : claim.end] == claim.text
    assert "focus_mismatch:amounts" in verdict.flags
    assert verdict.result.most_dangerous_error.startswith("Contradicted (amounts): answer says 'the deposit")


async def test_an_answer_without_claims_has_no_score():
    greeting = item("Hello! How can I help you?", "The rent is 900 EUR.")
    verdict = await LocalFaithfulnessJudge().judge(greeting)
    assert verdict.status is Status.NO_CLAIMS
    assert verdict.score is None
    assert verdict.result.label == "no_claims"
