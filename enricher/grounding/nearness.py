"""Hold the sentences of an answer against the documents by meaning, where their words differ.

What comparers decided stays: a value, a name, a negation, a condition. What only the words lacked is settled here.
"""

from collections.abc import Sequence

from enricher.grounding.meaning import Closeness, closeness, shipped_encoder
from enricher.grounding.outcome import Decision
from enricher.grounding.probability import COPIED, Nearness
from enricher.grounding.reading import Reading
from enricher.grounding.search import Evidence
from enricher.grounding.windows import window
from enricher.verdict import AlignmentStatus, IssueType

_OF_COPY = Closeness(words=0.93, whole=0.9)
_OF_OTHERS = Closeness(words=0.6, whole=0.6)  # sentences that words don't decide, such as a statement of absence
_ENGLISH = frozenset({"en", None})  # None: too few words that tell
# From so near on, what the words lacked is taken as said in others; where a whole clause was lacking, from nearer on.
_SAYS_IT, _SAYS_THE_CLAUSE = 0.65, 0.7


def read_closeness(
    readings: Sequence[Reading], decisions: Sequence[Decision], evidence: Evidence
) -> list[Closeness] | None:
    """Return how near each sentence is to what the documents say; None when not all of them read as English."""
    if evidence.is_of_records or not all(reading.language in _ENGLISH for reading in readings):
        return None
    asked = {i: window(r, evidence) for i, (r, d) in enumerate(zip(readings, decisions, strict=True)) if _is_asked(d)}
    asked = {i: sentences for i, sentences in asked.items() if sentences}
    claims = {i: readings[i].text.strip() for i in asked}
    encoded = shipped_encoder().encode([*claims.values(), *(s for sentences in asked.values() for s in sentences)])
    found = []
    for i, decision in enumerate(decisions):
        near = closeness(encoded[claims[i]], [encoded[s] for s in asked[i]]) if i in asked else None
        found.append(near or (_OF_COPY if decision.is_of_words and decision.share >= COPIED else _OF_OTHERS))
    return found


def settle(decisions: Sequence[Decision], near: Sequence[Closeness] | None) -> None:
    """Call supported, with low confidence, what only lacked words and is near in meaning."""
    for decision, close in zip(decisions, near or (), strict=False):
        enough = _SAYS_THE_CLAUSE if decision.is_certain else _SAYS_IT
        if decision.is_open and decision.is_of_words and close.words >= enough:
            decision.status, decision.issue = AlignmentStatus.FULLY_SUPPORTED, IssueType.NONE
            decision.explanation, decision.is_certain = "", False


def nearness_of(near: Sequence[Closeness]) -> Nearness:
    """Return the nearness of an answer from that of its sentences, of which there is at least one."""
    return Nearness(
        words=_half_the_worst([close.words for close in near]),
        whole=_half_the_worst([close.whole for close in near]),
        sentences=len(near),
    )


def _is_asked(decision: Decision) -> bool:
    return decision.is_of_words and decision.share < COPIED


def _half_the_worst(values: Sequence[float]) -> float:
    return (min(values) + sum(values) / len(values)) / 2
