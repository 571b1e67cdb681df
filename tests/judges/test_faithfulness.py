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
from enricher.steps.decision import PolicyRule, decide
from enricher.steps.verification import verify
from enricher.verdict import (
    Certainty,
    Claim,
    ClaimVerdict,
    FaithfulnessResult,
    Outcome,
    QuoteCheck,
    Standing,
    Status,
    Usage,
)
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

    def make(*, prompt="faithfulness@v2", focus=None, additions=None, **options):
        chat = Chat(ChatOptions(base_url=server.url, model="judge-2026-01-01", **options))
        more = {} if focus is None else {"focus": focus}
        made.append(ModelFaithfulnessJudge(chat, load(prompt, **(additions or {})), salt=b"x", **more))
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


async def test_a_part_without_a_claim_is_asked_for_alone_and_once(server, make):
    server.script(says(RENT, PETS), says(DEPOSIT))
    verdict = await make().judge(LEASE)
    assert verdict.status is Status.OK
    assert [claim.verdict for claim in verdict.result.claims] == ["SUPPORTED", "CONTRADICTED", "UNSUPPORTED"]
    assert verdict.usage.calls == 2
    again = server.requests[1].prompt
    assert "PREVIOUS_ERROR: no claim is about a part of s1" in again
    assert ">\nthe deposit is 2,700 EUR\n</parts-" in again
    assert "in this order: s1\n" in again


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


async def test_the_schema_follows_the_chosen_sites(server, make):
    server.script(says(RENT, DEPOSIT, PETS))
    for focus in (("dates", "amounts"), ()):
        await make(focus=focus).judge(LEASE)
    entries = [
        request.body["response_format"]["json_schema"]["schema"]["properties"]["claims"]["items"]
        for request in server.requests
    ]
    assert entries[0]["properties"]["site"]["enum"] == ["none", "dates", "amounts"]
    assert "site" in entries[0]["required"]
    assert "site" not in entries[1]["properties"]
    assert "site" not in entries[1]["required"]
    assert '"site"' not in server.requests[1].prompt.split("Reply with one JSON object")[1].split('"type"')[0]


async def test_the_site_that_the_judge_names_decides_which_error_is_most_dangerous(server, make):
    name = {**PETS, "site": "names"}
    server.script(
        says({**RENT, "verdict": "UNSUPPORTED", "site": "dates"}, {**DEPOSIT, "verdict": "UNSUPPORTED"}, name)
    )
    result = (await make(focus=()).judge(LEASE)).result
    assert [claim.sites for claim in result.claims] == [("dates",), ("amounts",), ("names",)]
    assert result.most_dangerous_error.startswith("Unsupported (amounts): answer says 'The deposit")


async def test_a_partial_claim_names_its_gap_even_if_the_judge_did_not(server, make):
    server.script(says({**RENT, "verdict": "PARTIAL"}, DEPOSIT, {**PETS, "verdict": "PARTIAL", "evidence": ["d1.s1"]}))
    claims = (await make().judge(LEASE)).result.claims
    assert "gap_not_named" in claims[0].flags  # the engine finds none either
    assert claims[2].explanation == "nothing in the documents speaks of this" or "pets" in claims[2].explanation.lower()


async def test_an_overlooked_clash_goes_to_people(server, make):
    server.script(says(RENT, {**DEPOSIT, "verdict": "SUPPORTED", "note": ""}, PETS))
    verdict = await make().judge(LEASE)
    assert "overlooked_mismatch" in decide(verdict, PolicyRule()).reasons


@pytest.mark.parametrize("prompt", ["faithfulness@v1", "faithfulness@v2", "faithfulness@v2-quotes"])
@pytest.mark.parametrize("case", cases("claims-coverage"), ids=lambda case: case["id"])
async def test_every_prompt_reads_literal_quotes_and_checks_coverage(server, make, case, prompt):
    given, expected = case["input"], case["expected"]
    server.script(Say(given["raw_response"]))
    made = item_of(given)
    verdict = verify(await make(prompt=prompt).judge(made), made)
    assert str(verdict.status) == expected["status"]
    if verdict.status is Status.OK:
        assert verdict.score == expected["faithfulness_score"]
        assert verdict.result.judge_score == 0.5
        assert set(expected["flags"]) <= set(verdict.flags)
        assert verdict.result.claims[0].evidence[0].check is QuoteCheck.VERIFIED
        assert verdict.result.outcome is Outcome.PASS


async def test_a_quote_that_no_document_holds_supports_nothing(server, make):
    quoted = [
        {**RENT, "evidence": "The monthly rent is 900 EUR."},
        {**DEPOSIT, "verdict": "SUPPORTED", "evidence": "The deposit is 2,700 EUR, payable at once."},
        {**PETS, "evidence": None},
    ]
    server.script(says(*quoted))
    verdict = verify(await make(prompt="faithfulness@v2-quotes").judge(LEASE), LEASE)
    assert [claim.verdict for claim in verdict.result.claims] == ["SUPPORTED", "UNSUPPORTED", "UNSUPPORTED"]
    assert "evidence_not_verified" in verdict.flags


async def test_given_claims_may_come_in_any_order_under_their_ids(server, make):
    server.script(says({**DEPOSIT, "sentence": "c2"}, {**RENT, "sentence": "c1"}))
    claims, _ = await make().assess(LEASE, ["The rent is 900 EUR.", "The deposit is 2,700 EUR."])
    assert [claim.standing for claim in claims] == [Standing.SUPPORTED, Standing.CONTRADICTED]


async def test_a_given_claim_without_a_verdict_is_asked_for_alone(server, make):
    server.script(says({**RENT, "sentence": "c1"}), says({**PETS, "sentence": "c2"}))
    claims, usage = await make().assess(LEASE, ["The rent is 900 EUR.", "Pets are allowed."])
    assert [claim.standing for claim in claims] == [Standing.SUPPORTED, Standing.UNSUPPORTED]
    assert usage.calls == 2
    assert "[c2] Pets are allowed." in server.requests[1].prompt
    assert "[c1] The rent is 900 EUR." not in server.requests[1].prompt


@pytest.mark.parametrize(
    "second", [{**RENT, "sentence": "c9"}, {**RENT, "sentence": "c1", "verdict": "UNSUPPORTED", "evidence": []}]
)
async def test_verdicts_on_unknown_claims_and_two_on_one_are_no_verdict(server, make, second):
    server.script(says({**RENT, "sentence": "c1"}, second))
    claims, _ = await make().assess(LEASE, ["The rent is 900 EUR.", "Pets are allowed."])
    assert isinstance(claims, Unusable)
    assert claims.status is Status.JUDGE_INVALID


async def test_no_statements_need_no_question(server, make):
    assert await make().assess(LEASE, []) == ((), Usage())
    assert server.requests == []


async def test_windows_that_disagree_show_a_conflict_and_go_to_people(server, make):
    filler = " ".join(f"Filler sentence number {n} says nothing of interest at all." for n in range(90))
    long = item("The rent is 900 EUR.", f"The rent is 900 EUR. {filler}", f"The rent is 950 EUR. {filler}")

    def reply(request):
        if "[d1.s1]" in request.prompt:
            assert "in this order: s1\n" in request.prompt
            return says(RENT)
        assert "[c1] The rent is 900 EUR." in request.prompt
        against = {**RENT, "sentence": "c1", "verdict": "CONTRADICTED", "evidence": ["d2.s1"], "note": "950 EUR"}
        return says(against if "[d2.s1]" in request.prompt else {**against, "verdict": "UNSUPPORTED", "evidence": []})

    server.default = reply
    verdict = verify(await make(context_window=3000, max_tokens=512).judge(long), long)
    (claim,) = verdict.result.claims
    assert claim.verdict is ClaimVerdict.SUPPORTED
    assert "source_conflict" in claim.flags
    assert [quote.document_id for quote in claim.verified] == ["d1", "d2"]
    assert "source_conflict" in decide(verdict, PolicyRule()).reasons


async def test_the_local_engine_is_stricter_where_the_risk_is_high():
    made = item("The tenant must insure the flat.", "The tenant may insure the flat.")
    usual = LocalFaithfulnessJudge()
    strict = LocalFaithfulnessJudge(risk_level="high")
    assert (await usual.judge(made)).result.claims[0].verdict is ClaimVerdict.PARTIAL
    assert (await strict.judge(made)).result.claims[0].verdict is ClaimVerdict.CONTRADICTED
    versions = {judge.provenance.version for judge in (usual, strict, LocalFaithfulnessJudge(focus=("dates",)))}
    assert len(versions) == 3


async def test_a_large_item_is_judged_all_the_same():
    filler = " ".join(f"Filler sentence number {n} says nothing of interest at all." for n in range(400))
    verdict = await LocalFaithfulnessJudge().judge(item("The rent is 900 EUR.", f"The rent is 900 EUR. {filler}"))
    assert verdict.score == 1.0


def test_a_refuted_finding_is_not_the_most_dangerous_one():
    def claim(number, text, certainty):
        verdict = ClaimVerdict.CONTRADICTED
        return Claim(claim_id=f"c{number}", text=text, verdict=verdict, sites=("amounts",), certainty=certainty)

    refuted = claim(1, "The rent is 90 EUR.", Certainty.REFUTED)
    assert "fee" in most_dangerous([refuted, claim(2, "The fee is 5 EUR.", None)])
    assert "rent" in most_dangerous([refuted])


def test_findings_that_change_change_the_most_dangerous_error_with_them():
    claim = Claim(claim_id="c1", text="The rent is 90 EUR.", verdict=ClaimVerdict.CONTRADICTED, sites=("amounts",))
    result = FaithfulnessResult(claims=(claim,)).with_parts([claim])
    assert result.most_dangerous_error is not None
    sound = claim.model_copy(update={"verdict": ClaimVerdict.SUPPORTED})
    assert result.with_parts([sound]).most_dangerous_error is None
