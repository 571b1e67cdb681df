"""The golden set: read strictly, and grown from what people decide in the review queue."""

import json

import pytest

from enricher.errors import SetupError
from enricher.measure.golden import add_to_golden, read_golden
from enricher.review.queue import as_label, decide
from enricher.trace import Pair
from tests.review.test_queue import ask, decision_on

DOCUMENT = {"id": "d1", "text": "Notice is 60 days."}
RECORD = {"id": "a", "question": "How long?", "documents": [DOCUMENT], "answer": "90 days.", "label": "contradicted"}


def written(tmp_path, *rows):
    path = tmp_path / "golden.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_records_of_several_judges_stand_in_one_set(tmp_path):
    claims = {**RECORD, "judge": "faithfulness", "label": "fail"}
    pair = {"judge": "pairwise", "id": "p", "documents": [DOCUMENT], "answer_a": "60.", "answer_b": "90.", "label": "A"}
    bare = {**RECORD, "id": None}
    golden = read_golden(written(tmp_path, RECORD, claims, pair, bare))
    assert [(one.judge, one.expected) for one in golden.items] == [
        ("diff", "contradicted"), ("faithfulness", "fail"), ("pairwise", "win"), ("diff", "contradicted"),
    ]  # fmt: skip
    assert isinstance(golden.of("pairwise")[0].asked, Pair)
    assert golden.items[0].asked.sentences
    assert len(golden.items[3].id) == 16


def test_the_digest_follows_texts_and_labels_and_not_their_order(tmp_path):
    other = {**RECORD, "id": "b", "answer": "60 days.", "label": "faithful"}
    one = read_golden(written(tmp_path, RECORD, other)).digest("diff")
    assert read_golden(written(tmp_path, other, RECORD)).digest("diff") == one
    assert read_golden(written(tmp_path, {**RECORD, "label": "partial"}, other)).digest("diff") != one
    assert read_golden(written(tmp_path, {**RECORD, "answer": "9 days."}, other)).digest("diff") != one


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ({**RECORD, "label": "bad"}, "line 2: label: 'bad' is no label of diff"),
        ({**RECORD, "judge": "style"}, "line 2: judge: 'style'"),
        ({**RECORD, "id": "b", "answer": " "}, "line 2: a golden item needs an answer"),
        ({**RECORD, "id": "b", "documents": []}, "line 2: a golden item needs an answer and a document"),
        ({**RECORD, "id": "b", "documents": "x"}, "line 2: documents must be a list"),
        (RECORD, "line 2: the id 'a' is that of line 1"),
        ([], "line 2: it is no JSON object"),
    ],
)
def test_a_line_that_can_not_be_used_is_named(tmp_path, row, sentence):
    with pytest.raises(SetupError, match=sentence):
        read_golden(written(tmp_path, RECORD, row))


def test_an_empty_set_says_how_it_grows(tmp_path):
    with pytest.raises(SetupError, match="add-to-golden"):
        read_golden(written(tmp_path))


async def test_a_decision_grows_the_set_once_and_a_later_one_replaces_it(store, tmp_path):
    question = await ask(store)
    path = tmp_path / "folder" / "golden.jsonl"
    with pytest.raises(SetupError, match="nobody has decided"):
        add_to_golden(path, question)
    await decide(store, question, decision_on(question, comment="clear"))
    (decided,) = await store.persons_decisions()
    assert [add_to_golden(path, decided) for _ in range(2)] == ["added", "unchanged"]
    await decide(store, question, decision_on(question, "reject", person="bob"))
    (decided,) = await store.persons_decisions()
    assert add_to_golden(path, decided) == "replaced"
    (row,) = map(json.loads, path.read_text().splitlines())
    assert (row["label"], row["person"], row["answer"]) == ("faithful", "bob", "30 days")
    (golden,) = read_golden(path).items
    assert golden.expected == "faithful"
    assert [entry.name for entry in path.parent.iterdir()] == ["golden.jsonl"]


async def test_a_set_whose_last_line_has_no_end_takes_another_one(store, tmp_path):
    question = await ask(store)
    await decide(store, question, decision_on(question))
    (decided,) = await store.persons_decisions()
    path = tmp_path / "golden.jsonl"
    path.write_text(json.dumps(RECORD))
    assert add_to_golden(path, decided) == "added"
    assert len(read_golden(path).items) == 2


async def test_exported_labels_are_a_golden_set(store, tmp_path):
    question = await ask(store)
    await decide(store, question, decision_on(question))
    (decided,) = await store.persons_decisions()
    path = written(tmp_path, as_label(decided, decided.decisions[0]))
    (golden,) = read_golden(path).items
    assert (golden.judge, golden.expected, golden.asked.answer) == ("diff", "contradicted", "30 days")


async def test_a_file_that_is_no_golden_set_is_left_alone(store, tmp_path):
    question = await ask(store)
    await decide(store, question, decision_on(question))
    (decided,) = await store.persons_decisions()
    path = tmp_path / "notes.txt"
    path.write_text("dear diary\n")
    with pytest.raises(SetupError, match="no golden set"):
        add_to_golden(path, decided)
    assert path.read_text() == "dear diary\n"
