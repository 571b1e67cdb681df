"""Claims of an answer: exact places, and no finding of a sentence is lost where it is taken apart."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from enricher.grounding.claims import ground_claims, split_claims
from enricher.grounding.engine import TRUNCATED_ANSWER, ground
from enricher.verdict import AlignmentStatus
from tests.grounding.items import split

FOLDER = Path(__file__).parents[1] / "cases"
CASES = [
    json.loads(line)
    for kind in ("no-claims", "numbers-dates-units", "faithfulness", "multilingual", "segmentation", "claims-coverage")
    for line in (FOLDER / f"{kind}.jsonl").read_text(encoding="utf-8").splitlines()
]
CASES = [case for case in CASES if "documents" in case["input"]]
ORDER = list(AlignmentStatus)


def item(case):
    given = case["input"]
    return split(given.get("question"), [d["text"] for d in given["documents"]], given["answer"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_no_finding_of_a_sentence_is_lost_in_its_claims(case):
    made = item(case)
    whole = {s.segment_id: s.alignment_status for s in ground(made).segments if not s.is_omission}
    found = {name: [] for name in whole}
    for claim, segment in ground_claims(made).claims:
        found[claim.sentence_id].append(segment.alignment_status)
        assert made.answer[claim.start : claim.end]
    for name, status in whole.items():
        assert max(map(ORDER.index, found[name])) >= ORDER.index(status)


def test_the_finding_of_a_sentence_goes_to_the_claim_in_whose_words_it_lies():
    made = split(
        None,
        ["The tenant may insure the flat. Pets are not allowed."],
        "The tenant must insure the flat and may keep pets.",
    )
    found = [(claim.text, segment.alignment_status) for claim, segment in ground_claims(made).claims]
    assert found == [
        ("The tenant must insure the flat", AlignmentStatus.PARTIALLY_SUPPORTED),
        ("The tenant may keep pets.", AlignmentStatus.CONTRADICTED),
    ]


def test_what_follows_a_true_absence_is_judged_too():
    made = split("What is the fee?", ["The rent is 900 EUR."], "The documents mention no fee, but the rent is 950 EUR.")
    assert [segment.alignment_status for _, segment in ground_claims(made).claims][-1] is AlignmentStatus.CONTRADICTED


def test_only_checkable_sentences_have_claims():
    made = split(None, ["The rent is 900 EUR."], "Hello! The rent is 900 EUR.")
    assert [claim.text for claim in split_claims(made.sentences)] == ["The rent is 900 EUR."]


def test_the_last_claim_of_a_cut_answer_is_flagged():
    made = split(None, ["The rent is 900 EUR. The deposit is 1,800 EUR."], "The rent is 900 EUR and the deposit is 1,")
    cut = replace(made, flags=(TRUNCATED_ANSWER,))
    segments = [segment for _, segment in ground_claims(cut).claims]
    assert TRUNCATED_ANSWER in segments[-1].flags
