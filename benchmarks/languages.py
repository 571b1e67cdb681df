"""Measure the embedded judge beyond English: the same twelve statements about the same five facts in nine languages.

    python benchmarks/languages.py [--json]

Four statements say in other words what the document says, four contradict it (a year, a price, a permission, a month),
four speak of what it doesn't hold. Each is judged against the document in its own language, and the English ones
against the document in each other language. `supported` counts the first four called FULLY_SUPPORTED, `caught` the
other eight called otherwise, `named` the contradictions called CONTRADICTED; `certainty` is how far the probability of
a statement lies from the middle, 0 to 100 in the mean, for right and for wrong verdicts. No figure of the engine was
chosen by these texts, which are in `parts/languages.yaml`.
"""

import argparse
import json
from dataclasses import asdict, dataclass
from pathlib import Path

import yaml

from enricher.grounding.engine import ground
from enricher.records import item_of
from enricher.steps.segmentation import split_item
from enricher.verdict import AlignmentStatus, Segment

TEXTS = yaml.safe_load((Path(__file__).parent / "parts" / "languages.yaml").read_text(encoding="utf-8"))
GROUPS = ("supported", "contradicted", "lacking")
_YES = AlignmentStatus.FULLY_SUPPORTED


@dataclass(frozen=True, slots=True)
class Figures:
    """What came of the statements in one language against the document in one."""

    document: str
    answer: str
    supported: int  # of four
    caught: int  # of eight
    named: int  # of four
    certainty_right: float | None
    certainty_wrong: float | None


def main() -> None:
    """Judge all statements and print a line for each pair of languages."""
    parser = argparse.ArgumentParser(description="Measure the embedded judge beyond English.")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    pairs = [(code, code) for code in TEXTS] + [(code, "en") for code in TEXTS if code != "en"]
    found = [_measured(*pair) for pair in pairs]
    if options.json:
        print(json.dumps([asdict(figures) for figures in found], indent=1))
        return
    print("document  answer  supported  caught  named  certainty right  wrong")
    for f in found:
        right, wrong = _told(f.certainty_right), _told(f.certainty_wrong)
        counts = f"{f.supported:>7}/4  {f.caught:>4}/8  {f.named:>3}/4"
        print(f"{f.document:8}  {f.answer:6}  {counts}  {right:>15}  {wrong:>5}")


def _measured(document: str, answer: str) -> Figures:
    groups = [[_judged(TEXTS[document]["document"], line) for line in TEXTS[answer][name]] for name in GROUPS]
    outcomes = [(s, (s.alignment_status is _YES) is (n == 0)) for n, group in enumerate(groups) for s in group]
    return Figures(
        document=document,
        answer=answer,
        supported=sum(s.alignment_status is _YES for s in groups[0]),
        caught=sum(s.alignment_status is not _YES for group in groups[1:] for s in group),
        named=sum(s.alignment_status is AlignmentStatus.CONTRADICTED for s in groups[1]),
        certainty_right=_certainty([s for s, is_right in outcomes if is_right]),
        certainty_wrong=_certainty([s for s, is_right in outcomes if not is_right]),
    )


def _judged(document: str, statement: str) -> Segment:
    record = {"id": "1", "question": None, "documents": [{"id": "d1", "text": document}], "answer": statement}
    [segment] = [s for s in ground(split_item(item_of(record))).segments if not s.is_omission]
    return segment


def _certainty(segments: list[Segment]) -> float | None:
    return sum(abs(2 * (s.score or 0.0) - 1) for s in segments) / len(segments) if segments else None


def _told(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.0f}"


if __name__ == "__main__":
    main()
