"""Preference data: only what a trainer should learn from, unless one asks for more."""

import json

from enricher.compare.preferences import Exported, preferences
from enricher.store.pairs import PairRecord
from enricher.trace import Pair
from enricher.verdict import Certainty, Status
from tests.compare.samples import flag, item, verdict


def record(given, name="p1", texts=("It is.",)):
    pair = Pair(id=name, a=item(texts=texts, trace="ta"), b=item("No.", texts=texts, trace="tb"))
    return PairRecord(comparison="c", champion="old", challenger="new", pair=pair, input_hash="h", verdict=given)


def export(*verdicts, include=()):
    exported = Exported(left_out={})
    records = [record(given, name=f"p{n}") for n, given in enumerate(verdicts)]
    rows = list(preferences(records, include=frozenset(include), min_confidence=0.7, exported=exported))
    return rows, exported


def test_a_row_has_what_trainers_read():
    (row,), exported = export(verdict("B", flags=[flag("A"), flag("B", certainty=Certainty.REFUTED)]))
    assert (row["chosen"], row["rejected"]) == ("No.", "Yes.")
    assert row["prompt"] == "Documents:\n\n[d1] It is.\n\nQuestion: Is it?"
    assert row["metadata"]["chosen_from"] == "new"
    assert row["metadata"]["rejected_trace"] == "ta"
    assert [f["in"] for f in row["metadata"]["hallucinations"]] == ["rejected", "chosen"]
    assert exported.pairs == 1
    assert json.loads(json.dumps(row)) == row


def test_what_nobody_should_learn_from_is_left_out_and_counted():
    rows, exported = export(
        verdict("TIE"),
        verdict("A", 0.4),
        verdict("TIE", None, orders=(("A", "A"), ("B", "B"))),
        verdict("A", flags=[flag(certainty=Certainty.REFUTED)]),
        verdict("A", raised=("injection_suspected:d1",)),
        verdict(status=Status.JUDGE_INVALID),
        verdict("A"),
    )
    assert [row["metadata"]["pair_id"] for row in rows] == ["p6"]
    assert exported.left_out == {"ties": 1, "low-confidence": 1, "biased": 1, "disputed": 2, "no_verdict": 1}


def test_asked_for_they_come_with_their_mark():
    rows, _ = export(verdict("TIE"), verdict("A", 0.4), include=("ties", "low-confidence"))
    assert [row["metadata"]["preferred"] for row in rows] == ["tie", "champion"]
    # What lacks two things must be asked for twice.
    assert export(verdict("TIE", 0.4), include=("ties",))[0] == []


def test_without_documents_the_prompt_is_the_question():
    rows = preferences(
        [record(verdict("A"), texts=())], include=frozenset(), min_confidence=0.7, exported=Exported(left_out={})
    )  # fmt: skip
    assert next(iter(rows))["prompt"] == "Is it?"
