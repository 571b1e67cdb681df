"""The review queue: what a decision means, what goes back to the platform, and that nobody overwrites anybody."""

import asyncio

import pytest

from enricher.errors import SetupError
from enricher.links import platform_link
from enricher.review.queue import as_dict, as_label, corrected, decide, decided, find
from enricher.review.show import question_view
from enricher.settings import FilesConnection, LangSmithConnection, PhoenixConnection
from enricher.steps.rendering import identifier
from enricher.store import QueueFilter, ReviewState
from enricher.trace import Document, Item, SpanId, TraceId
from enricher.verdict import (
    AlignmentStatus,
    Axis,
    Claim,
    ClaimVerdict,
    DiffResult,
    FaithfulnessResult,
    HalvesResult,
    IssueType,
    Segment,
    Status,
)
from tests.store.samples import annotation, evaluation, settlement, verdict

ITEM = Item(
    trace_id=TraceId("t1"),
    question="How long?",
    documents=(Document(id="d1", text="60 days."),),
    answer="30 days",
    annotate_span_id=SpanId("s1"),
)


def segment(key, status, issue):
    return Segment(segment_id=key, generated_text=f"text {key}", alignment_status=status, issue_type=issue)


DIFF = DiffResult(
    segments=(
        segment("s1", AlignmentStatus.CONTRADICTED, IssueType.CONTRADICTED),
        segment("s2", AlignmentStatus.UNSUPPORTED, IssueType.ADDED),
    )
)


async def ask(store, number=1, *, reasons=("contradicted",), **parts):
    """Settle a verdict that people are asked about; return its question."""
    said = verdict(number, **{"result": DIFF, **parts} if parts.get("status") is None else parts)
    mine = identifier(said.provenance)
    notes = [annotation(number, mine, name="needs_review", label=reasons[0], score=None)]
    if said.status.is_verdict:
        notes.append(annotation(number, mine))
    run = await store.start_run("nightly")
    made = evaluation(number, verdict=said, annotations=tuple(notes), review=reasons, item=ITEM)
    await store.settle(settlement(run, number, made))
    (question,) = await store.questions(QueueFilter(trace_id=f"t{number}"), 10)
    return question


def decision_on(question, outcome="confirm", person="ada", final=None, changes=(), comment=""):
    return decided(question, outcome=outcome, person=person, final=final, changes=changes, comment=comment)


async def written(store, name):
    return {
        e.annotation.identifier: e.annotation for e in (await store.explain("t1")).outbox if e.annotation.name == name
    }


async def test_a_confirmed_verdict_is_a_label_beside_the_judges_and_closes_the_question(store):
    question = await ask(store)
    await decide(store, question, decision_on(question, comment="clear"))
    diffs = await written(store, "context_diff")
    human = diffs["trace-enricher/review/ada"]
    assert (human.annotator_kind, human.label) == ("HUMAN", "contradicted")
    assert "clear" in human.explanation
    assert any(one.annotator_kind != "HUMAN" for one in diffs.values())
    (call,) = (await written(store, "needs_review")).values()
    assert call.label == "closed"
    assert await store.count_questions(QueueFilter()) == 0
    assert await store.count_questions(QueueFilter(state=ReviewState.DECIDED)) == 1


@pytest.mark.parametrize(
    ("changes", "label"),
    [
        (("s1=FULLY_SUPPORTED",), "unsupported"),
        (("s1=supported", "s2=SUPPORTED"), "faithful"),
        (("s1=PARTIAL", "s2=fully_supported"), "partial"),
    ],
)
async def test_the_label_of_a_correction_follows_from_its_statements(store, changes, label):
    question = await ask(store)
    assert decision_on(question, "correct", changes=changes).label == label


async def test_a_label_that_is_given_wins_over_the_one_that_follows(store):
    question = await ask(store)
    assert decision_on(question, "correct", changes=("s1=SUPPORTED",), final="partial").label == "partial"


def test_a_corrected_result_has_the_score_of_its_new_labels():
    assert corrected(DIFF, {"s1": "FULLY_SUPPORTED"}).score == 0.5
    claims = FaithfulnessResult(claims=(Claim(claim_id="c1", text="x", verdict=ClaimVerdict.UNSUPPORTED),))
    assert corrected(claims, {"c1": "SUPPORTED"}).label == "pass"


async def test_two_people_decide_at_the_same_time_and_both_are_kept(store):
    question = await ask(store)
    await asyncio.gather(
        decide(store, question, decision_on(question, "confirm", "ada")),
        decide(store, question, decision_on(question, "reject", "bob")),
    )
    (again,) = await store.questions(QueueFilter(state=ReviewState.DECIDED), 10)
    assert {(d.person, d.label) for d in again.decisions} == {("ada", "contradicted"), ("bob", "faithful")}
    assert {"trace-enricher/review/ada", "trace-enricher/review/bob"} <= set(await written(store, "context_diff"))


async def test_a_person_may_think_again(store):
    question = await ask(store)
    for outcome in ("reject", "confirm"):
        await decide(store, question, decision_on(question, outcome))
    (again,) = await store.questions(QueueFilter(state=ReviewState.DECIDED), 10)
    assert [(d.person, d.outcome) for d in again.decisions] == [("ada", "confirm")]


async def test_each_outcome_is_asked_about_once(store):
    question = await ask(store)
    await ask_again(store, question)
    assert await store.count_questions(QueueFilter()) == 1
    await decide(store, question, decision_on(question))
    await ask_again(store, question)
    assert await store.count_questions(QueueFilter()) == 0


async def ask_again(store, question):
    run = await store.start_run("nightly")
    made = evaluation(1, verdict=question.evaluation.verdict, review=("contradicted",), item=ITEM, is_cached=True)
    await store.settle(settlement(run, 1, made))


async def test_a_failed_judge_is_shown_with_what_it_said_and_leaves_no_verdict_of_a_person(store):
    question = await ask(store, reasons=("judge_failed:JUDGE_PARSE_ERROR",), status=Status.JUDGE_PARSE_ERROR)
    shown = as_dict(question, raw_replies=("reply to t1",))
    assert shown["raw_replies"] == ["reply to t1"]
    assert shown["result"] is None
    assert question_view(question, raw_replies=("reply to t1",))
    await decide(store, question, decision_on(question))
    assert await written(store, "context_diff") == {}
    assert next(iter((await written(store, "needs_review")).values())).label == "closed"


async def test_a_later_verdict_closes_the_question_here_and_on_the_platform(store):
    await ask(store, reasons=("judge_failed:JUDGE_EMPTY",), status=Status.JUDGE_EMPTY)
    run = await store.start_run("nightly")
    await store.settle(settlement(run, 1, evaluation(1, item=ITEM)))
    assert await store.count_questions(QueueFilter()) == 0
    assert await store.count_questions(QueueFilter(state=ReviewState.SUPERSEDED)) == 1
    (call,) = (await written(store, "needs_review")).values()
    assert (call.label, call.explanation) == ("closed", "A later outcome no longer asks.")


async def test_a_question_is_found_by_the_beginning_of_its_id(store):
    question = await ask(store)
    assert (await find(store, question.review.id[:6])).review.id == question.review.id
    await ask(store, 2)
    with pytest.raises(SetupError, match="more than one"):
        await find(store, "")
    with pytest.raises(SetupError, match="no review item"):
        await find(store, "zzz")


async def test_the_queue_is_filtered_by_what_people_look_for(store):
    await ask(store, 1, reasons=("contradicted", "disputed"))
    await ask(store, 2, reasons=("judge_failed:JUDGE_EMPTY",), status=Status.JUDGE_EMPTY)
    for wanted, count in (
        (QueueFilter(reason="disputed"), 1),
        (QueueFilter(reason="judge_failed"), 1),
        (QueueFilter(judge="diff"), 2),
        (QueueFilter(judge="halves"), 0),
        (QueueFilter(project="shop", job="nightly"), 2),
        (QueueFilter(trace_id="t2"), 1),
    ):
        assert await store.count_questions(wanted) == count, wanted


async def test_a_verdict_without_statements_is_corrected_by_its_label(store):
    halves = HalvesResult(context_relevance=Axis(value=2), faithfulness=Axis(value=0), answer_relevance=Axis(value=2))
    question = await ask(store, result=halves)
    decision = decision_on(question, "correct", final="retrieval")
    await decide(store, question, decision)
    assert (await written(store, "failing_half"))["trace-enricher/review/ada"].label == "retrieval"
    with pytest.raises(SetupError, match="the statements are none"):
        decision_on(question, "correct", changes=("s1=SUPPORTED",))


async def test_a_label_for_others_holds_what_was_judged(store):
    question = await ask(store)
    row = as_label(question, decision_on(question, "reject", comment="it is right"))
    assert (row["answer"], row["judge_label"], row["label"]) == ("30 days", "contradicted", "faithful")
    assert row["documents"] == [{"id": "d1", "text": "60 days."}]


async def test_what_is_forgotten_takes_its_decisions_along(store):
    question = await ask(store)
    await decide(store, question, decision_on(question))
    await store.forget("t1")
    assert await store.persons_decisions() == []


@pytest.mark.parametrize(
    ("section", "link"),
    [
        (PhoenixConnection(kind="phoenix", base_url="http://ph:6006/"), "http://ph:6006/redirects/spans/s1"),
        (
            LangSmithConnection(kind="langsmith", workspace_id="w"),
            "https://smith.langchain.com/o/w/projects/p/p1/r/s1",
        ),
        (
            LangSmithConnection(
                kind="langsmith", base_url="https://eu.api.smith.langchain.com/api/v1", workspace_id="w"
            ),
            "https://eu.smith.langchain.com/o/w/projects/p/p1/r/s1",
        ),
        (
            LangSmithConnection(kind="langsmith", base_url="https://ls.example.com/api", workspace_id="w"),
            "https://ls.example.com/o/w/projects/p/p1/r/s1",
        ),
        (LangSmithConnection(kind="langsmith"), None),
        (FilesConnection(kind="files", paths=("x",)), None),
        (None, None),
    ],
)
def test_a_reviewer_finds_the_span_on_its_platform(section, link):
    assert platform_link(section, "s1", {"project_id": "p1"}) == link
