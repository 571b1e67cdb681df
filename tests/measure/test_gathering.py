"""Labels from the review queue, a platform and a file meet the verdicts on the same items."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from enricher.errors import SetupError, TryAgain
from enricher.measure.calibration import measure
from enricher.measure.gathering import Sources, gather
from enricher.progress import Silent
from enricher.review.queue import as_label, decide
from enricher.settings import Job
from enricher.store.pairs import PairBook
from enricher.trace import UserReport
from tests.compare.test_judging import Counting, comparing, matched
from tests.doubles import MemoryConnector
from tests.review.test_queue import ask, decision_on
from tests.store.samples import evaluation, settlement

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


class Labelled(MemoryConnector):
    """A platform on which people have labelled spans."""

    def __init__(self, labels):
        super().__init__("phoenix")
        self.labels = labels
        self.asked = []

    async def peoples_labels(self, project, span_ids, names):
        self._hook("labels")
        self.asked.append((project, tuple(span_ids), tuple(names)))
        return self.labels


def sources(connector=None, files=(), prefix=""):
    jobs = {"nightly": Job(annotation_prefix=prefix)}
    return Sources(connectors={"phoenix": connector} if connector else {}, jobs=jobs, files=files, since=LONG_AGO)


def told(labelled):
    return sorted((one.label.source, one.label.person, one.label.label, one.judged.label) for one in labelled)


async def test_all_sources_are_put_together_and_nobody_counts_twice(store, tmp_path):
    question = await ask(store)
    await decide(store, question, decision_on(question))
    run = await store.start_run("nightly")
    await store.settle(settlement(run, 2, evaluation(2)))
    (decided,) = await store.persons_decisions()
    exported = as_label(decided, decided.decisions[0])  # the same label once more
    path = tmp_path / "labels.jsonl"
    rows = [exported, {"span_id": "s2", "trace_id": "t2", "label": "partial", "person": "eve"}]
    path.write_text("".join(json.dumps(row) + "\n" for row in [*rows, {"span_id": "s9", "label": "faithful"}]))
    report = UserReport(name="x_context_diff", label="faithful", author="bob", reported_at=datetime.now(UTC))
    platform = Labelled({"s2": (report,)})
    found, alone = await gather(store, sources(platform, [path], prefix="x_"))
    assert told(found) == [
        ("file", "eve", "partial", "contradicted"),
        ("platform", "bob", "faithful", "contradicted"),
        ("review", "ada", "contradicted", "contradicted"),
    ]
    assert [one.item for one in alone] == ["s9"]
    assert platform.asked == [("shop", ("s1", "s2"), ("x_context_diff",))]
    (figures,) = measure(found, min_labels=1, min_recall=0.9)
    assert (figures.agreement.count, figures.agreement.of) == (1, 3)
    assert (figures.people.count, figures.people.of) == (0, 1)


async def test_of_single_findings_it_is_told_how_many_reviewers_let_stand(store):
    # Each verdict has one contradicted and one unsupported segment.
    questions = [await ask(store, number) for number in (1, 2, 3)]
    await decide(store, questions[0], decision_on(questions[0]))
    await decide(store, questions[1], decision_on(questions[1], "reject"))
    await decide(store, questions[2], decision_on(questions[2], "correct", changes=["s2=FULLY_SUPPORTED"]))
    found, _ = await gather(store, sources())
    (figures,) = measure(found, min_labels=1, min_recall=0.9)
    assert {name: (rate.count, rate.of) for name, rate in figures.findings.items()} == {
        "contradicted": (1, 2),
        "unsupported": (1, 3),
    }


async def test_a_platform_that_is_away_ends_it_since_figures_on_a_part_would_mislead(store):
    run = await store.start_run("nightly")
    await store.settle(settlement(run, 1))
    platform = Labelled({})

    def away():
        raise TryAgain("the platform is busy")

    platform.hooks["labels"] = away
    with pytest.raises(TryAgain):
        await gather(store, sources(platform))
    assert await gather(store, sources()) == ([], [])


async def test_verdicts_that_are_too_old_are_not_asked_about(store):
    run = await store.start_run("nightly")
    await store.settle(settlement(run, 1))
    platform = Labelled({})
    await gather(
        store, Sources(connectors={"phoenix": platform}, since=store.clock() + timedelta(hours=1))
    )  # fmt: skip
    assert platform.asked == []


async def test_labels_on_pairs_meet_the_verdicts_of_comparisons(store, tmp_path):
    pair = matched("p1", "The warranty lasts two years.", "The warranty lasts nine years.")
    await comparing(Counting(), PairBook(store)).run([pair], Silent())
    path = tmp_path / "labels.jsonl"
    path.write_text(json.dumps({"judge": "pairwise", "pair_id": "p1", "label": "A"}) + "\n")
    found, alone = await gather(store, sources(files=[path]))
    assert (told(found), alone) == ([("file", "someone", "win", "win")], [])
    (figures,) = measure(found, min_labels=1, min_recall=0.9)
    assert (figures.agreement.rate, figures.position.bias.of) == (1.0, 0)


async def test_people_say_on_either_answer_how_a_pair_ended_unless_it_was_compared_twice(store):
    book, judge = PairBook(store), Counting()
    pairs = [matched(f"p{n}", "The warranty lasts two years.", f"The warranty lasts {n + 3} years.") for n in range(3)]
    on_platform = replace(comparing(judge, book), name="phoenix: old | new")
    await on_platform.run(pairs, Silent())
    await replace(on_platform, name="phoenix: old | other", challenger="other").run(pairs[2:], Silent())

    def said(label, score=None):
        return (UserReport(name="pairwise_preference", label=label, score=score, author="ada"),)

    labels = {"p0-a-root": said("win"), "p1-b-root": said("win"), "p2-a-root": said("win"), "p0-b-root": said(None, 1)}
    platform = Labelled(labels)
    found, alone = await gather(store, sources(platform))
    assert sorted((one.label.item, one.label.label, one.judged.label) for one in found) == [
        ("p0", "win", "win"),
        ("p1", "loss", "win"),
    ]
    assert alone == []
    assert {project for project, _, _ in platform.asked} == {"old", "new", "other"}

    def unknown():
        raise SetupError("Phoenix has no project 'old'")

    platform.hooks["labels"] = unknown
    assert await gather(store, sources(platform)) == ([], [])
