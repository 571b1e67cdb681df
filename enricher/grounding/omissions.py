"""Find what the question asks and the documents hold but the answer leaves out."""

from collections.abc import Sequence

from enricher.grounding.absence import find_answer, question_parts
from enricher.grounding.comparison import Likeness, compare
from enricher.grounding.reading import Reading
from enricher.grounding.search import Evidence
from enricher.grounding.tokens import FULL

_ADDRESSED = 0.5  # of the words of a part of the question, anywhere in the answer
_TOLD = 0.4  # of what the sentence adds to the question


def find_omissions(question: str | None, answer: Sequence[Reading], evidence: Evidence) -> list[int]:
    """Return the sentences that answer a part of the question which the answer doesn't touch."""
    if not question:
        return []
    said = {key for reading in answer for key in reading.all_keys}
    places = []
    for part in question_parts(question):
        keys = [key for key, weight in part.keys.items() if weight >= FULL]
        if sum(key in said for key in keys) >= _ADDRESSED * len(keys):
            continue
        place = find_answer(part, evidence)
        if (
            place is not None
            and place not in places
            and not _is_told(evidence.sources[place].reading, part, answer, said)
        ):
            places.append(place)
    return places


def _is_told(source: Reading, part: Reading, answer: Sequence[Reading], said: set[str]) -> bool:
    """Tell whether the answer passes on what the sentence says beyond the question's own words."""
    for quantity in source.quantities:
        for reading in answer:
            if any(compare(other, quantity).likeness >= Likeness.DISTORTED for other in reading.quantities):
                return True
    new = [key for key, weight in source.keys.items() if weight >= FULL and key not in part.all_keys]
    return bool(new) and sum(key in said for key in new) >= _TOLD * len(new)
