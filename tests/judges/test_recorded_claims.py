"""The embedded judge on recorded traces: its verdict on each answer against what people said of the claims in it."""

from pathlib import Path

import pytest

from connectors.formats import raw_trace, read_file
from enricher.judges.local import LocalDiffJudge
from enricher.steps.extraction import extract
from enricher.steps.segmentation import split_item
from enricher.steps.validation import validate
from enricher.steps.verification import verify
from enricher.verdict import AlignmentStatus
from tests.trace_files import LANGSMITH, OTEL, load

# Known limits, by name of the trace. What is listed here is judged otherwise than by the label; nothing else is.
KNOWN = {
    "openllmetry-chroma-openai": "labelled by the warranty article, which is not among the two documents of the trace",
}
FLOOR = 81  # answers judged as labelled; may only rise
VERDICTS = {
    "agent_medical": AlignmentStatus.UNSUPPORTED,
    "langgraph_state_finance": AlignmentStatus.FULLY_SUPPORTED,
    "lcel_contract_contradiction": AlignmentStatus.CONTRADICTED,
    "lcel_contract_faithful": AlignmentStatus.FULLY_SUPPORTED,
    "lcel_sources_support_unsupported": AlignmentStatus.UNSUPPORTED,
    "traceable_arbitrary_contract": AlignmentStatus.CONTRADICTED,
    "traceable_documented_medical": AlignmentStatus.CONTRADICTED,
    "wrap_openai_chat_support": AlignmentStatus.FULLY_SUPPORTED,
}


def name_of(path: Path) -> str:
    return path.name.split(".")[0]


def verdicts(path: Path):
    """Judge and verify every valid item of a recorded file."""
    for group in read_file(path):
        trace = raw_trace(group)
        for item in validate(extract(trace), trace).items:
            split = split_item(item)
            yield item, verify(LocalDiffJudge().verdict(split), split)


def labelled() -> list[tuple[Path, str, bool]]:
    """Return the files with labelled claims, the labelled answer, and whether every claim in it is supported."""
    found = []
    for path in OTEL:
        expected = load(path)["expected"]
        if expected["valid"] and expected.get("claims"):
            wanted = all(claim["supported"] for claim in expected["claims"])
            found.append((path, expected["answer"].strip(), wanted))
    return found


def as_labelled(path: Path, answer: str, wanted: bool) -> list[bool]:
    return [(v.score == 1.0) is wanted for item, v in verdicts(path) if item.answer.strip() == answer]


def test_recorded_answers_are_judged_as_people_judged_them():
    outcomes = {name_of(path): as_labelled(path, answer, wanted) for path, answer, wanted in labelled()}
    wrong = {name for name, right in outcomes.items() if not all(right)}
    assert wrong == set(KNOWN)
    assert sum(sum(right) for right in outcomes.values()) >= FLOOR


@pytest.mark.parametrize("path", [p for p in LANGSMITH if name_of(p) in VERDICTS], ids=lambda path: path.name)
def test_recorded_runs_get_the_verdict_that_their_authors_gave_them(path):
    (_, verdict), *_ = verdicts(path)
    worst = verdict.result.worst
    assert (worst.alignment_status if worst else AlignmentStatus.FULLY_SUPPORTED) is VERDICTS[name_of(path)]


@pytest.mark.parametrize("path", [*OTEL, *LANGSMITH], ids=lambda path: path.name)
def test_every_contradiction_says_what_both_sides_say(path):
    for item, verdict in verdicts(path):
        names = [document.id for document in item.documents]
        for segment in verdict.result.segments:
            if segment.alignment_status is AlignmentStatus.CONTRADICTED:
                assert segment.explanation.startswith("answer says ")
                assert any(f", {name} says " in segment.explanation for name in names)
