"""What the report of a run says: headline, changes, ranked findings, causes, failures, users."""

from dataclasses import replace

import pytest

from enricher.report import RuleCount
from enricher.reporting.gathering import full_report
from enricher.store import Evaluation, PersonsDecision, QueueFilter, RefState, Settlement
from enricher.trace import TraceId, TraceRef, UserReport
from enricher.verdict import Certainty, Claim, FaithfulnessResult
from tests.acceptance.cases import case
from tests.reporting.samples import DOWN, PHOENIX, Case, night, report_of


def calm(count, night_number=0, bad=0):
    """A night of answers of which some are contradicted."""
    statuses = ["CONTRADICTED"] * bad + ["FULLY_SUPPORTED"] * (count - bad)
    return [
        Case(trace=f"n{night_number}-{number}", status=status, answer=f"Answer {number}.")
        for number, status in enumerate(statuses)
    ]


async def test_the_mean_never_stands_without_what_it_is_of(store, clock):
    given, expected = case("RP-01")["input"], case("RP-01")["expected"]
    statuses = [
        {1.0: "FULLY_SUPPORTED", 0.0: "CONTRADICTED", None: "NO_CLAIMS"}.get(result, result)
        for result in given["results"]
    ]
    report = await report_of(store, clock, *(Case(trace=f"t{n}", status=s) for n, s in enumerate(statuses)))
    assert report.headline.coverage == "mean score 0.500, 2 of 5 scored (2 failed, 1 without claims)"
    assert f"{expected['coverage']} scored" in report.headline.coverage
    last = report.changes.runs[-1]
    assert (last.mean_score, last.scored, last.failed) == (
        expected["mean"], expected["n_scored"], expected["n_failed"],
    )  # fmt: skip
    assert {one.status for one in report.failures} == {"JUDGE_PARSE_ERROR", "JUDGE_REFUSED"}
    assert [one.example for one in report.failures] == ["the reply is no JSON"] * 2


async def test_a_rule_that_matches_nothing_is_said_in_the_headline(store, clock):
    given, expected = case("RP-02")["input"], case("RP-02")["expected"]
    rule = RuleCount(rule="<name>", found=given["matched"], in_window=given["fetched"])
    warning = "0 of 120 traces matched rule <name>: none in the window meets its conditions"
    report = await report_of(store, clock, rules=(rule,), warnings=(warning,))
    assert any(expected["warning"] in detail for detail in report.headline.details)
    assert report.headline.sentence == "No answer was judged"


async def test_the_headline_counts_answers_and_contradictions(store, clock):
    report = await report_of(store, clock, *calm(10, bad=3))
    assert report.headline.sentence == "3 of 10 answers leave their context; documents contradict 3 of them"
    assert report.headline.is_bad
    assert (await report_of(store, clock, *calm(4, 1))).headline.sentence == "All 4 answers keep to their context"


async def test_figures_that_moved_beyond_the_nights_before_and_beyond_chance_are_marked(store, clock):
    for number in range(5):
        await night(store, clock, *calm(40, number, bad=1 + number % 2), rejected=1)
    quiet = await report_of(store, clock, *calm(40, 6, bad=3), rejected=1)
    assert [figure.name for figure in quiet.changes.figures if figure.is_notable] == []
    report = await report_of(store, clock, *calm(40, 7, bad=16), rejected=1)
    moved = {figure.name: figure for figure in report.changes.figures if figure.is_notable}
    assert set(moved) == {"mean score of diff", "answers with a finding", "CONTRADICTED per 100 answers"}
    assert all(figure.is_worse for figure in moved.values())
    mean = moved["mean score of diff"]
    assert (mean.now, mean.runs, mean.low) == (pytest.approx(0.6), 6, pytest.approx(37 / 40))
    assert report.headline.moved[0].startswith("Mean score of diff: 0.600, lower than in any of the 6 runs before")
    assert [past.flagged.count for past in report.changes.runs] == [1, 2, 1, 2, 1, 3, 16]


async def test_only_the_last_fourteen_runs_are_compared(store, clock):
    for number in range(16):
        await night(store, clock, *calm(2, number))
    report = await report_of(store, clock, *calm(2, 99))
    assert len(report.changes.runs) == 15
    assert {figure.runs for figure in report.changes.figures if figure.name == "mean score of diff"} == {14}


async def test_another_judge_than_before_is_said_beside_the_changes(store, clock):
    class Newer(Case):
        def _verdict(self, judge, result):
            old = super()._verdict(judge, result)
            return old.model_copy(update={"provenance": old.provenance.model_copy(update={"prompt": "diff@v2"})})

    await night(store, clock, *calm(3))
    report = await report_of(store, clock, Newer(trace="new"))
    assert any("another prompt than in the runs before (diff@v2)" in note for note in report.changes.notes)


async def test_findings_are_ranked_by_danger_each_with_its_passage(store, clock):
    disputed = {"certainty": Certainty.DISPUTED}
    report = await report_of(
        store,
        clock,
        Case(trace="added", status="UNSUPPORTED", answer="Fees are waived."),
        Case(trace="doubtful", status="CONTRADICTED", answer="Within 60 days.", segment=disputed),
        Case(trace="wrong", status="CONTRADICTED", answer="Within 90 days.", axes=(2, 0, 2), fix_note="Copy values."),
        Case(trace="bent", status="PARTIALLY_SUPPORTED", answer="Mostly."),
        Case(trace="fine"),
    )
    assert [(one.rank, one.trace_id) for one in report.ranked] == [(1, "wrong"), (2, "doubtful"), (3, "added"),
                                                                   (4, "bent")]  # fmt: skip
    worst = report.ranked[0]
    assert (worst.standing, worst.failing_half, worst.fix_note) == ("contradicted", "generation", "Copy values.")
    assert worst.link == "http://phoenix.test:6006/redirects/spans/wrong-root"
    (statement,) = worst.statements
    assert statement.text == "Within 90 days."
    (passage,) = statement.passages
    assert (passage.text, passage.document_id) == ("Refunds are paid within 30 days.", "policy")
    assert passage.is_verified
    assert report.answers_with_findings == 4


async def test_answers_that_say_the_same_wrong_thing_are_told_once(store, clock):
    same = [Case(trace=f"t{number}", status="CONTRADICTED", answer="Within 90 days.") for number in range(3)]
    other = Case(trace="u", status="CONTRADICTED", answer="Within 90 days.", passage="Paid after a week.")
    report = await report_of(store, clock, *same, other)
    assert [(one.trace_id, one.same) for one in report.ranked] == [("t0", ("t1", "t2")), ("u", ())]
    assert report.answers_with_findings == 4


async def test_what_several_judges_say_of_the_same_words_is_one_finding(store, clock):
    class Twice(Case):
        def verdicts(self):
            claim = Claim(claim_id="c1", text=self.answer, verdict="UNSUPPORTED")
            found = FaithfulnessResult(claims=(claim,))
            return [*super().verdicts(), self._verdict("faithfulness", found)]

    report = await report_of(store, clock, Twice(trace="t", status="CONTRADICTED"))
    ((statement,),) = (finding.statements for finding in report.ranked)
    assert (statement.standing, statement.others) == ("contradicted", ("faithfulness: unsupported",))


async def test_an_answer_of_which_only_a_half_failed_says_which(store, clock):
    report = await report_of(store, clock, Case(trace="t", axes=(0, 2, 1), fix_note="Index the policy."))
    (finding,) = report.ranked
    (statement,) = finding.statements
    assert (statement.judge, statement.issue) == ("halves", "RETRIEVAL_FAILED")
    assert finding.standing == "partial"


async def test_what_users_said_and_people_decided_stands_with_the_finding(store, clock):
    run = await night(store, clock, Case(trace="t", status="CONTRADICTED", reports=(DOWN,)))
    case_ = Case(trace="asked", status="CONTRADICTED", answer="Another.")
    ref = TraceRef(connection="phoenix", project="shop", trace_id=TraceId("asked"))
    evaluation = Evaluation(item_key="asked:root", input_hash="x", verdict=case_.verdicts()[0], item=case_.item())
    settled = Settlement(run_id=run.run_id, job="nightly", ref=ref, state=RefState.DONE,
                         evaluations=(replace(evaluation, review=("high_risk",)),))  # fmt: skip
    await store.take_in("nightly", [ref])
    await store.settle(settled)
    (question,) = await store.questions(QueueFilter())
    decision = PersonsDecision(review_id=question.review.id, person="ada", outcome="confirm", label="contradicted")
    await store.decide(decision, [])
    report = await full_report(store, run, PHOENIX)
    assert [(one.trace_id, one.reported, one.decided) for one in report.ranked] == [
        ("t", ("user_feedback thumbs-down: wrong period",), ()),
        ("asked", (), ("confirm by ada",)),
    ]


async def test_causes_are_counted_by_document_topic_retriever_prompt_and_model(store, clock):
    wrong = [
        Case(trace=f"w{n}", status="CONTRADICTED", answer=f"Answer {n}", question="What is the refund period?",
             axes=(2, 0, 2), fix_note=f"Generation prompt: copy values from the context, not '{n} days'.",
             metadata={"model": "gpt-x", "retriever": "bm25", "prompt": "p@2"})
        for n in range(4)
    ]  # fmt: skip
    lost = [
        Case(trace=f"l{n}", status="UNSUPPORTED", question="Who approves the invoice?", document="d1", axes=(0, 0, 1),
             passage="Something else.", metadata={"model": "gpt-y", "retriever": "bm25", "prompt": "p@1"})
        for n in range(3)
    ]  # fmt: skip
    fine = [Case(trace=f"f{n}", question="What is the refund period?", metadata={"model": "gpt-y"}) for n in range(5)]
    found = (await report_of(store, clock, *wrong, *lost, *fine)).systemic
    assert found.looked_at == 12
    assert found.halves == {"generation": 4, "both": 3}
    policy, made_up = found.documents
    assert (policy.name, policy.answers, policy.findings, policy.evidence) == ("policy", 9, 4, 4)
    assert (made_up.name, made_up.evidence) == ("“Something else.”", 0)
    models = {group.name: (group.findings, group.answers, group.retrieval) for group in found.models}
    assert models == {"gpt-x": (4, 4, 0), "gpt-y": (3, 8, 3)}
    assert {group.name for group in found.prompts} == {"p@2", "p@1", "(not named)"}
    assert {group.name: group.findings for group in found.retrievers} == {"bm25": 7, "(not named)": 0}
    topics = {group.name: (group.findings, group.answers) for group in found.topics}
    assert topics == {"refund": (4, 9), "invoice": (3, 3)}
    assert [(fix.count, fix.half) for fix in found.fixes] == [(4, "generation")]


async def test_reports_of_users_are_set_against_the_findings(store, clock):
    report = await report_of(
        store,
        clock,
        Case(trace="seen", status="CONTRADICTED", reports=(DOWN,)),
        Case(trace="unfounded", reports=(DOWN,)),
        Case(trace="silent", status="CONTRADICTED", answer="Other."),
        Case(trace="fine"),
    )
    users = report.user_reports
    assert (users.with_finding, users.without_finding, users.unreported_critical) == (1, 1, 1)
    assert users.without_finding_traces == ("unfounded",)
    assert users.unreported_critical_traces == ("silent",)
    assert (users.among_reported.rate, users.among_others.rate) == (0.5, 0.5)
    (feedback,) = users.scores
    assert feedback.correlation is None
    assert feedback.sentence == "user_feedback: only 2 answers have both; from 20 on something can be told"


async def test_scores_that_were_there_are_correlated_with_the_probability(store, clock):
    cases = [
        Case(trace=f"t{n}", probability=n / 40, retrieval_score=1 - n / 40, metadata={"same": 1, "stars": n % 2},
             reports=(UserReport(name="stars", score=float(n // 4)),))
        for n in range(24)
    ]  # fmt: skip
    found = {relation.name: relation for relation in (await report_of(store, clock, *cases)).user_reports.scores}
    assert found["stars"].correlation == pytest.approx(0.99, abs=0.02)
    assert "goes clearly with the probability" in found["stars"].sentence
    assert found["best retrieval score"].correlation == pytest.approx(-1.0)
    assert "goes clearly against" in found["best retrieval score"].sentence
    assert "does not go with" in found["metadata stars"].sentence
    assert "always the same" in found["metadata same"].sentence


async def test_rejections_are_listed_with_an_example(store, clock):
    report = await report_of(store, clock, Case(trace="t"), rejected=2)
    (rejected,) = report.rejections
    assert (rejected.reason, rejected.count, rejected.example) == ("empty_retrieval", 2, "it found nothing")


async def test_a_forgotten_trace_is_in_no_report(store, clock):
    run = await night(store, clock, Case(trace="gone", status="CONTRADICTED"), Case(trace="kept"))
    await store.forget("gone")
    report = await full_report(store, run, PHOENIX)
    assert report.ranked == ()
    assert "gone" not in report.model_dump_json()
