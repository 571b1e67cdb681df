"""Gather how near the sentences of an answer are in meaning to those of the documents that speak of the same."""

from collections.abc import Sequence

from enricher.grounding.meaning import Closeness, closeness, shipped_encoder
from enricher.grounding.outcome import Decision
from enricher.grounding.probability import Nearness
from enricher.grounding.reading import Reading
from enricher.grounding.search import Evidence
from enricher.grounding.windows import window

_COPIED = 0.95  # of a sentence that the documents hold word for word; the encoder would say little more
_OF_COPY = Closeness(words=0.93, whole=0.9)
_OF_OTHERS = Closeness(words=0.6, whole=0.6)  # sentences that words don't decide, such as a statement of absence
_ENGLISH = frozenset({"en", None})  # None: too few words that tell


def nearness_of(readings: Sequence[Reading], decisions: Sequence[Decision], evidence: Evidence) -> Nearness | None:
    """Return the nearness of an answer with at least one sentence; None when not all of it reads as English."""
    if not all(reading.language in _ENGLISH for reading in readings):
        return None
    asked = {i: window(r, evidence) for i, (r, d) in enumerate(zip(readings, decisions, strict=True)) if _is_open(d)}
    asked = {i: sentences for i, sentences in asked.items() if sentences}
    claims = {i: readings[i].text.strip() for i in asked}
    encoded = shipped_encoder().encode([*claims.values(), *(s for sentences in asked.values() for s in sentences)])
    found = []
    for i, decision in enumerate(decisions):
        near = closeness(encoded[claims[i]], [encoded[s] for s in asked[i]]) if i in asked else None
        found.append(near or (_OF_COPY if decision.is_of_words and decision.share >= _COPIED else _OF_OTHERS))
    return Nearness(
        words=_half_the_worst([near.words for near in found]),
        whole=_half_the_worst([near.whole for near in found]),
        sentences=len(found),
    )


def _is_open(decision: Decision) -> bool:
    return decision.is_of_words and decision.share < _COPIED


def _half_the_worst(values: Sequence[float]) -> float:
    return (min(values) + sum(values) / len(values)) / 2
