"""A verdict is carried over only where the judge would have seen exactly the same, and brings no foreign id along."""

from dataclasses import replace

import pytest

from enricher.steps.segmentation import split_item
from enricher.steps.transfer import FLAG, transfer
from enricher.steps.verification import verify
from enricher.trace import Document, Item
from enricher.verdict import Usage
from tests.doubles import DOCUMENT, ScriptedJudge


def item(trace_id: str, **parts) -> Item:
    texts = parts.pop("texts", (DOCUMENT, "Fees are due in May."))
    documents = tuple(
        Document(id=f"d{number}", text=text, span_id=f"{trace_id}-retriever") for number, text in enumerate(texts)
    )
    given = {"question": "How long?", "answer": "It is ninety days.", "documents": documents, **parts}
    spans = {"annotate_span_id": f"{trace_id}-root", "answer_span_id": f"{trace_id}-llm"}
    return split_item(Item(trace_id=trace_id, **{**spans, **given}))


async def judged(old: Item):
    verdict = verify(await ScriptedJudge(cost=0.02).judge(old), old)
    return verdict.model_copy(update={"raw_replies": ("what the model said",)})


async def test_a_verdict_gets_the_ids_of_the_new_trace_and_costs_nothing():
    verdict = await judged(item("old"))
    carried = transfer(verdict, item("old"), item("new"))
    assert "old-" not in carried.model_dump_json()
    assert (carried.trace_id, carried.span_id) == ("new", "new-root")
    assert carried.score == verdict.score
    assert (carried.usage, carried.raw_replies) == (Usage(), ())
    assert FLAG in carried.flags
    assert carried == verify(carried, item("new"))


@pytest.mark.parametrize(
    "change",
    [
        {"question": "How short?"},
        {"answer": "It is eighty days."},
        {"texts": (DOCUMENT, "Fees are due in June.")},
        {"texts": (DOCUMENT,)},
        {"standalone_question": "How long is the notice period?"},
        {"history": ("Hello.",)},
        {"flags": ("context_truncated",)},
    ],
)
async def test_whatever_the_judge_sees_differently_forbids_it(change):
    assert transfer(await judged(item("old")), item("old"), item("new", **change)) is None


async def test_a_span_that_became_two_forbids_it():
    new = item("new")
    split = replace(new, documents=(new.documents[0], replace(new.documents[1], span_id="another")))
    assert transfer(await judged(item("old")), item("old"), split) is None


async def test_an_id_that_nobody_knows_forbids_it():
    verdict = await judged(item("elsewhere"))
    assert transfer(verdict, item("old"), item("new")) is None
