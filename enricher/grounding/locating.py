"""Tell where in its sentence a finding lies: the phrase that was added or that clashes, not the words around it."""

import re
from collections.abc import Iterable, Sequence

from enricher.grounding.outcome import Decision, Range
from enricher.verdict import AlignmentStatus, Stretch

_FEWEST_WORDS = 8  # of a sentence; a shorter one is looked at as a whole
_NEARLY_ALL = 0.8  # of a sentence
_NO_WORD = re.compile(r"\W*")


def located(decision: Decision, text: str, start: int) -> tuple[Stretch, ...]:
    """Return the stretches of the answer in which a sentence, which begins at `start`, departs from the documents.

    None where it departs all over, where it departs in nothing, and where no words show it: something left out.
    """
    if decision.status is AlignmentStatus.FULLY_SUPPORTED or len(text.split()) < _FEWEST_WORDS:
        return ()
    ranges = _merged(decision.lacks, text)
    if sum(last - first for first, last in ranges) >= _NEARLY_ALL * len(text):
        return ()
    return tuple(Stretch(start=start + first, end=start + last) for first, last in ranges)


def _merged(ranges: Iterable[Range], text: str) -> Sequence[Range]:
    """Return ranges in order; those with no word between them are one."""
    found: list[Range] = []
    for first, last in sorted(ranges):
        first, last = max(0, first), min(last, len(text))
        if first >= last:
            continue
        if found and (first <= found[-1][1] or _NO_WORD.fullmatch(text, found[-1][1], first)):
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return found
