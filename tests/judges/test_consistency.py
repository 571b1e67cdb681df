"""The consistency judge: documents that disagree are shown with both passages, and nothing that merely differs is."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from enricher.judges.chat import Chat, ChatOptions
from enricher.judges.consistency import ModelConsistencyJudge
from enricher.judges.local_consistency import LocalConsistencyJudge
from enricher.prompts import load
from enricher.seams import Judge
from enricher.steps.decision import PolicyRule, decide
from enricher.steps.segmentation import split_item
from enricher.steps.verification import verify
from enricher.verdict import ClaimVerdict, QuoteCheck, Route, Stance, Status
from tests.judges.test_diff import cases, item, item_of
from tests.servers.openai import OpenAIServer, Say

CONFLICTS = {case["id"]: case for case in cases("conflict")}
HALL = item(
    "The hall seats 300 people. It has a stage.",
    "The hall seats 300. It has a stage.",
    "Seating capacity: 250.",
)
REPLIES = [
    json.loads(line)
    for line in (Path(__file__).parent.parent / "cases" / "replies-consistency.jsonl")
    .read_text(encoding="utf-8")
    .splitlines()
]


def of_case(case):
    given = case["input"]
    made = item_of(given)
    described = zip(made.documents, given["documents"], strict=True)
    documents = tuple(replace(document, metadata=raw.get("metadata", {})) for document, raw in described)
    return split_item(replace(made, documents=documents))


def entry(text, status="SUPPORTED", supports=("d1.s1",), contradicts=(), sentence="s1", explanation=""):
    return {
        "sentence": sentence,
        "claim": text,
        "supports": list(supports),
        "contradicts": list(contradicts),
        "explanation": explanation,
        "status": status,
    }


def says(*entries, conflicts=(), **more):
    return Say({"claims": list(entries), "conflicts": list(conflicts), **more})


SEATS = entry("The hall seats 300 people.", "SOURCE_CONFLICT", ("d1.s1",), ("d2.s1",), explanation="300 against 250")
STAGE = entry("It has a stage.", supports=("d1.s2",), sentence="s2")


@pytest.fixture
async def server():
    async with OpenAIServer().running() as running:
        yield running


@pytest.fixture
async def make(server):
    made = []

    def make(**options):
        chat = Chat(ChatOptions(base_url=server.url, model="judge-2026-01-01", **options))
        made.append(ModelConsistencyJudge(chat, load("consistency@v1"), salt=b"x"))
        return made[-1]

    yield make
    for judge in made:
        await judge.aclose()


async def test_a_conflict_is_shown_with_both_passages_and_goes_to_people(server, make):
    server.script(says(SEATS, STAGE))
    judge = make()
    verdict = verify(await judge.judge(HALL), HALL)
    assert isinstance(judge, Judge)
    assert verdict.status is Status.OK
    assert verdict.score == 0.5
    assert verdict.result.label == "source_conflict"
    claim = verdict.result.claims[0]
    assert [(q.document_id, q.stance, q.text, q.check) for q in claim.evidence] == [
        ("d1", Stance.SUPPORTS, "The hall seats 300.", QuoteCheck.VERIFIED),
        ("d2", Stance.CONTRADICTS, "Seating capacity: 250.", QuoteCheck.VERIFIED),
    ]
    (conflict,) = verdict.result.conflicts
    assert conflict.document_ids == ("d1", "d2")
    assert conflict.claim_id == "c1"
    decision = decide(verdict, PolicyRule())
    assert decision.route is Route.BOTH
    assert "source_conflict" in decision.reasons


@pytest.mark.parametrize("name", ["CF-09", "CF-10"])
async def test_totals_and_summaries_cannot_hide_a_conflict(server, make, name):
    case = CONFLICTS[name]
    server.script(Say(case["input"]["raw_response"]))
    made = of_case(case)
    verdict = verify(await make().judge(made), made)
    assert verdict.status is Status.OK
    assert verdict.result.label == "source_conflict"
    assert verdict.result.counts["SOURCE_CONFLICT"] == 1
    assert verdict.result.counts["SUPPORTED"] == len(verdict.result.claims) - 1
    assert verdict.score < 1.0
    assert set(case["expected"]["flags"]) <= set(verdict.flags)
    assert verdict.result.conflicts[0].document_ids == ("d1", "d2")
    assert "source_conflict" in decide(verdict, PolicyRule()).reasons


@pytest.mark.parametrize("name", ["CF-01", "CF-02"])
async def test_the_local_engine_sees_documents_that_disagree(name):
    case = CONFLICTS[name]
    made = of_case(case)
    verdict = verify(await LocalConsistencyJudge().judge(made), made)
    assert verdict.result.label == "source_conflict"
    assert verdict.result.conflicts[0].document_ids == ("d1", "d2")
    assert set(case["expected"].get("flags", ())) <= set(verdict.flags)
    assert "source_conflict" in decide(verdict, PolicyRule()).reasons
    for value in case["expected"].get("conflict_values", ()):
        assert value in verdict.result.conflicts[0].description


async def test_the_dates_of_the_documents_stand_beside_a_conflict():
    verdict = await LocalConsistencyJudge().judge(of_case(CONFLICTS["CF-02"]))
    assert verdict.result.conflicts[0].dates == {"d1": "2019-05-01", "d2": "2024-02-01"}


@pytest.mark.parametrize("name", ["CF-03", "CF-05", "CF-06"])
async def test_other_periods_scopes_and_untouched_values_are_no_conflict_of_a_claim(name):
    made = of_case(CONFLICTS[name])
    verdict = verify(await LocalConsistencyJudge().judge(made), made)
    assert verdict.result.label == "consistent"
    assert verdict.score == 1.0
    assert all(claim.verdict is ClaimVerdict.SUPPORTED for claim in verdict.result.claims)
    assert all(conflict.claim_id is None for conflict in verdict.result.conflicts)


async def test_what_the_answer_does_not_touch_is_only_noted():
    verdict = await LocalConsistencyJudge().judge(of_case(CONFLICTS["CF-06"]))
    (conflict,) = verdict.result.conflicts
    assert "555-0101" in conflict.description
    assert "555-0199" in conflict.description


async def test_an_answer_that_says_that_the_sources_disagree_is_not_silent():
    told = item(
        "The tent weighs 3.1 kg. However, the data sheet says otherwise.",
        "The tent weighs 3.1 kg.",
        "The tent weighs 2.8 kg.",
    )
    verdict = await LocalConsistencyJudge().judge(told)
    assert verdict.result.label == "source_conflict"
    assert "one_side_stated_silently" not in verdict.flags


async def test_a_consensus_that_not_all_sources_hold_is_flagged():
    claimed = item("All sources agree that the tent weighs 3.1 kg.", "The tent weighs 3.1 kg.", "The tent is green.")
    verdict = await LocalConsistencyJudge().judge(claimed)
    assert "false_consensus" in verdict.flags
    assert verdict.result.claims[0].verdict is not ClaimVerdict.SUPPORTED


@pytest.mark.parametrize("said", ["2.95 kg", "between 2.8 and 3.1 kg", "about 3 kg"])
async def test_a_mean_or_a_range_of_values_that_differ_is_no_way_out_of_a_conflict(said):
    blended = item(f"The tent weighs {said}.", "The tent weighs 3.1 kg.", "The tent weighs 2.8 kg.")
    verdict = verify(await LocalConsistencyJudge().judge(blended), blended)
    assert verdict.result.label == "source_conflict"
    assert "conflict_blended" in verdict.flags
    assert verdict.result.conflicts[0].claim_id == "c1"


async def test_a_value_that_is_no_blend_is_merely_wrong():
    wrong = item("The tent weighs 5 kg.", "The tent weighs 3.1 kg.", "The tent weighs 2.8 kg.")
    verdict = verify(await LocalConsistencyJudge().judge(wrong), wrong)
    assert verdict.result.label == "contradicted"
    assert "conflict_blended" not in verdict.flags


@pytest.mark.parametrize("engine", ["local", "openai"])
async def test_one_document_has_nothing_to_agree_with(make, engine):
    alone = item("It is 3 kg.", "It is 3 kg.")
    verdict = await (LocalConsistencyJudge() if engine == "local" else make()).judge(alone)
    assert verdict.status is Status.SKIPPED
    assert verdict.result is None
    assert "one document" in verdict.failure


async def test_what_one_window_supports_and_another_contradicts_is_a_conflict(server, make):
    filler = " ".join(f"Filler sentence number {n} says nothing of interest at all." for n in range(90))
    long = item("The hall seats 300 people.", f"The hall seats 300. {filler}", f"Seating capacity: 250. {filler}")

    def reply(request):
        if "[d1.s1]" in request.prompt:
            return says(entry("The hall seats 300 people."))
        if "[d2.s1]" in request.prompt:
            return says(entry("The hall seats 300 people.", "CONTRADICTED", (), ("d2.s1",), explanation="250 seats"))
        return says(entry("The hall seats 300 people.", "UNSUPPORTED", ()))

    server.default = reply
    verdict = verify(await make(context_window=3000, max_tokens=512).judge(long), long)
    assert verdict.status is Status.OK, verdict.failure
    assert verdict.result.claims[0].verdict is ClaimVerdict.SOURCE_CONFLICT
    assert verdict.result.conflicts[0].document_ids == ("d1", "d2")


@pytest.mark.parametrize("case", REPLIES, ids=lambda case: case["id"])
async def test_a_raw_reply_ends_as_it_should(server, make, case):
    server.script(Say(case["reply"], finish_reason=case.get("finish_reason", "stop")))
    verdict = verify(await make().judge(HALL), HALL)
    assert str(verdict.status) == case["status"], verdict.failure
    if verdict.status is Status.OK:
        assert [str(claim.verdict) for claim in verdict.result.claims] == case["verdicts"]
        assert verdict.score == pytest.approx(case["score"], abs=0.001)
    else:
        assert verdict.score is None
        assert verdict.result is None
    assert set(case.get("flags", ())) <= set(verdict.flags)


TENTS = item(
    "The tent weighs 3.1 kg.", "The tent weighs 3.1 kg.", "The tent weighs 2.8 kg.", question="How heavy is the tent?"
)


async def test_a_conflict_that_the_model_passes_over_goes_to_people_with_both_passages(server, make):
    server.script(says(entry("The tent weighs 3.1 kg.")))
    verdict = verify(await make().judge(TENTS), TENTS)
    assert verdict.result.claims[0].verdict is ClaimVerdict.SUPPORTED
    (conflict,) = verdict.result.conflicts
    assert conflict.document_ids == ("d1", "d2")
    assert conflict.claim_id == "c1"
    assert "source_conflict" in decide(verdict, PolicyRule()).reasons


@pytest.mark.parametrize(
    ("answer", "status", "supports", "contradicts", "flag"),
    [
        ("The tent weighs 2.95 kg.", "CONTRADICTED", (), ("d1.s1", "d2.s1"), "conflict_blended"),
        ("The tent weighs 2.8 to 3.1 kg.", "SUPPORTED", ("d1.s1", "d2.s1"), (), "conflict_blended"),
        ("All sources agree that it weighs 3.1 kg.", "SOURCE_CONFLICT", ("d1.s1",), ("d2.s1",), "false_consensus"),
        ("The tent weighs 3.1 kg.", "SOURCE_CONFLICT", ("d1.s1",), ("d2.s1",), "one_side_stated_silently"),
    ],
)
async def test_what_an_answer_makes_of_a_conflict_is_flagged(server, make, answer, status, supports, contradicts, flag):
    asked = item(answer, "The tent weighs 3.1 kg.", "The tent weighs 2.8 kg.", question="How heavy is the tent?")
    server.script(says(entry(answer, status, supports, contradicts)))
    verdict = verify(await make().judge(asked), asked)
    assert verdict.result.label == "source_conflict"
    assert flag in verdict.flags
    assert verdict.result.conflicts[0].claim_id == "c1"


async def test_a_consensus_of_one_document_is_none(server, make):
    answer = "Both documents state that the tent weighs 3.1 kg."
    asked = item(answer, "The tent weighs 3.1 kg.", "The tent is green.", question="How heavy is the tent?")
    server.script(says(entry(answer)))
    verdict = verify(await make().judge(asked), asked)
    assert verdict.result.claims[0].verdict is ClaimVerdict.UNSUPPORTED
    assert "false_consensus" in verdict.flags


async def test_the_windows_of_a_long_context_judge_the_same_claims(server, make):
    filler = " ".join(f"Filler sentence number {n} says nothing of interest at all." for n in range(90))
    long = item("The hall seats 300 people.", f"The hall seats 300. {filler}", f"Seating capacity: 250. {filler}")

    def reply(request):
        if "d1.s1]" not in request.prompt and "d2.s1]" not in request.prompt:
            return says(entry("The hall seats 300 people.", "UNSUPPORTED", ()))
        assert "[s1] The hall seats 300 people." in request.prompt
        if "[d1.s1]" in request.prompt:
            return says(entry("Three hundred people have a seat in the hall."))
        return says(entry("It seats 300.", "CONTRADICTED", (), ("d2.s1",), explanation="250 seats"))

    server.default = reply
    verdict = verify(await make(context_window=3000, max_tokens=512).judge(long), long)
    assert verdict.status is Status.OK, verdict.failure
    assert [claim.text for claim in verdict.result.claims] == ["The hall seats 300 people."]
    assert verdict.result.label == "source_conflict"
