"""The pairwise judge of the embedded engine: honest, and the same whichever answer comes first."""

import pytest

from enricher.judges.local_pairwise import LocalPairJudge
from enricher.seams import PairJudge
from enricher.trace import Pair
from enricher.verdict import Preference, Severity, Status
from tests.judges.test_pairwise import LOAN, RIGHT, WRONG, cases, item, pair_of

QUESTION = "How long does the loan run, and what does early repayment cost?"
ABSTAINS = "The documents do not say what early repayment costs."
PARTLY = "The loan runs for 24 months [1]."
LONGER = RIGHT.replace("24 months", "36 months")
INVENTED = "The loan runs for 24 months [1]. It was signed in Vienna by two witnesses on a rainy Sunday."


def judged(answer_a, answer_b, texts=LOAN, question=QUESTION, **options):
    return LocalPairJudge(**options).verdict(pair_of(answer_a, answer_b, texts, question=question))


ANSWERS = (WRONG, RIGHT, LONGER, ABSTAINS, PARTLY, INVENTED, "Hello!", RIGHT.replace("[2]", "[1]"))


@pytest.mark.parametrize("second", ANSWERS)
@pytest.mark.parametrize("first", ANSWERS)
def test_exchanging_the_answers_exchanges_the_verdict(first, second):
    one, two = judged(first, second), judged(second, first)
    turned = {Preference.A: Preference.B, Preference.B: Preference.A, Preference.TIE: Preference.TIE}
    assert two.result.preferred is turned[one.result.preferred]
    assert two.result.confidence == one.result.confidence
    assert [d.winner for d in two.result.dimensions] == [turned[d.winner] for d in one.result.dimensions]
    assert sorted((f.claim, f.severity) for f in one.result.hallucinations) == sorted(
        (f.claim, f.severity) for f in two.result.hallucinations
    )


async def test_the_contradicted_answer_loses():
    judge = LocalPairJudge()
    assert isinstance(judge, PairJudge)
    pair = pair_of(LONGER, RIGHT, question=QUESTION)
    verdict = await judge.judge_pair(pair)
    assert verdict.status is Status.OK
    assert verdict.result.preferred is Preference.B
    assert verdict.result.confidence >= 0.9
    (flag,) = verdict.result.held_against("A")
    assert flag.severity is Severity.CRITICAL
    assert "36 months" in LONGER[flag.start : flag.end]
    assert flag.verified[0].text == LOAN[0]
    assert verdict.result.held_against("B") == ()
    assert judge.is_enough(pair, verdict)


def test_an_invented_statement_loses_against_silence_about_it():
    verdict = judged(INVENTED, PARTLY)
    assert verdict.result.preferred is Preference.B


def test_an_answer_beats_an_abstention_where_the_documents_hold_the_answer():
    verdict = judged(ABSTAINS, RIGHT)
    assert verdict.result.preferred is Preference.B


def test_equal_answers_in_other_words_are_a_tie():
    verdict = judged("The loan runs for 24 months.", "The loan runs 24 months.", question="How long does the loan run?")
    assert verdict.result.preferred is Preference.TIE


def test_the_answer_with_the_right_citations_wins():
    verdict = judged(RIGHT, RIGHT.replace("[2]", "[1]"))
    assert verdict.result.preferred is Preference.A
    winners = {dimension.name: dimension.winner for dimension in verdict.result.dimensions}
    assert winners["citation_accuracy"] is Preference.A
    assert winners["source_conflict_handling"] is Preference.TIE
    assert [(error.answer, error.is_confirmed) for error in verdict.result.citation_errors] == [("B", True)]


def test_identical_answers_are_a_tie_and_other_documents_are_refused():
    assert judged(RIGHT, f" {RIGHT}").flags == ("identical_answers",)
    refused = LocalPairJudge().verdict(pair_of(WRONG, RIGHT, LOAN, LOAN[1:]))
    assert (refused.status, refused.flags) == (Status.SKIPPED, ("contexts_differ",))


def test_without_documents_it_says_little_and_is_never_sure():
    verdict = judged("The loan runs long.", "Early repayment of the loan costs 5 EUR.", ())
    assert "no_context" in verdict.flags
    assert verdict.result.confidence <= 0.5
    assert verdict.result.hallucinations == ()


def test_chosen_dimensions_alone_are_compared_and_change_the_version():
    verdict = judged(WRONG, RIGHT, dimensions=("completeness",))
    assert [dimension.name for dimension in verdict.result.dimensions] == ["completeness"]
    assert verdict.result.citation_errors == ()
    assert verdict.provenance.version != LocalPairJudge().provenance.version


@pytest.mark.parametrize("case", cases("pairwise"), ids=lambda case: case["id"])
def test_the_cases_have_no_position_for_the_engine(case):
    given = case["input"]
    texts = [document["text"] for document in given["documents"]]
    a, b = (item(given[name], texts, given["question"]) for name in ("answer_a", "answer_b"))
    one = LocalPairJudge().verdict(Pair(id="x", a=a, b=b)).result.preferred
    two = LocalPairJudge().verdict(Pair(id="x", a=b, b=a)).result.preferred
    assert {one, two} in ({Preference.A, Preference.B}, {Preference.TIE})
