"""The pairwise judge of the embedded engine: each answer is judged by itself, so that no position can matter."""

import asyncio
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from enricher.grounding.citations import check_citations
from enricher.grounding.engine import LOW_CONFIDENCE, VERSION, ground
from enricher.grounding.reading import read
from enricher.grounding.tokens import FULL
from enricher.judges.pairs import (
    CITATIONS,
    COMPLETENESS,
    CONFLICTS,
    DIMENSIONS,
    FAITHFULNESS,
    NO_CONTEXT,
    UNSURE,
    pair_verdict,
    seed_of,
    settled,
)
from enricher.results.pairwise import CitationError
from enricher.trace import Item, Pair
from enricher.verdict import (
    Certainty,
    Citation,
    Dimension,
    Hallucination,
    PairwiseResult,
    Preference,
    Provenance,
    Segment,
    Severity,
    Side,
    Standing,
    Status,
    Verdict,
)

_CLOSE = 0.01  # probabilities of being faithful that differ by less say nothing
_BOTH_GOOD = 0.66  # of two answers without a finding, both this likely faithful, none is better
# How often the more probable answer was the faithful one, by the difference: 420 pairs of a summary and an altered one.
_DIFFERENCES = (_CLOSE, 0.05, 0.12, 0.2, 0.4)
_RIGHT = (0.7, 0.8, 0.9, 0.95, 0.97)
_CONTRADICTED_ALONE = 0.95
_BY_ABSTENTION, _BY_OMISSION, _BY_CITATIONS, _BY_COVERAGE = 0.85, 0.75, 0.75, 0.4
_AGAINST = 0.15  # what a dimension that says the opposite takes from the confidence
_COVERED = 0.25  # of the words of the question; a smaller difference says nothing
_ACCURATE = 0.5  # share of right citations from which on citing is better than not citing


@dataclass(frozen=True, kw_only=True, slots=True)
class _View:
    """One answer, judged by itself."""

    side: Side
    segments: tuple[Segment, ...]
    omissions: int
    probability: float | None  # None when nothing was checkable
    citations: tuple[Citation, ...]
    coverage: float  # of the words of the question

    def count(self, *standings: Standing) -> int:
        return sum(segment.standing in standings for segment in self.segments)

    @property
    def is_clean(self) -> bool:
        return self.count(Standing.SUPPORTED) == len(self.segments)

    @property
    def accuracy(self) -> float | None:
        """Return the share of right citations; None when the answer does not cite."""
        if not any(citation.marker for citation in self.citations):
            return None
        return sum(citation.issue is None for citation in self.citations) / len(self.citations)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Finding:
    """Which of two views is better in one dimension (None: neither), how sure that is, and why."""

    winner: Side | None = None
    confidence: float = 0.0
    why: str = ""


class LocalPairJudge:
    """Compares what the embedded engine says of both answers; what it can't see, it calls a tie."""

    def __init__(self, dimensions: Sequence[str] = DIMENSIONS, *, settings_hash: str = "") -> None:
        self._dimensions = tuple(dimensions)
        self.provenance = Provenance(
            judge="pairwise",
            engine="local",
            model=VERSION,
            model_snapshot=VERSION,
            settings_hash=settings_hash or ",".join(sorted(self._dimensions)) * (set(dimensions) != set(DIMENSIONS)),
        )

    async def judge_pair(self, pair: Pair) -> Verdict:
        """Compare the answers of the pair; all texts are already cut into sentences."""
        return await asyncio.to_thread(self.verdict, pair)

    def is_enough(self, pair: Pair, verdict: Verdict) -> bool:
        """Tell that nothing more would be found out: there is no order in which the answers are seen."""
        return verdict.result is not None

    def verdict(self, pair: Pair) -> Verdict:
        """Compare at once, for callers that are in a worker thread or process."""
        known = settled(pair, self.provenance, self._dimensions)
        if known is not None:
            return known
        has_context = bool(pair.a.documents)
        a, b = _view("A", pair.a, has_context=has_context), _view("B", pair.b, has_context=has_context)
        found = {
            name: _COMPARE[name](a, b) if has_context else _without_context(name, a, b) for name in self._dimensions
        }
        winner, confidence = _overall(found, a, b)
        result = PairwiseResult(
            preferred=_preference(winner),
            confidence=round(confidence if has_context else min(confidence, UNSURE), 3),
            dimensions=tuple(
                Dimension(name=name, winner=_preference(finding.winner), justification=finding.why)
                for name, finding in found.items()
            ),
            hallucinations=(*_flags(a), *_flags(b)) if has_context else (),
            citation_errors=tuple(
                CitationError(answer=view.side, citation=citation, is_confirmed=True)
                for view in (a, b)
                for citation in view.citations
                if citation.issue is not None and CITATIONS in self._dimensions
            ),
            seed=seed_of(pair.id),
        )
        flags = () if has_context else (NO_CONTEXT,)
        return pair_verdict(pair, self.provenance, Status.OK, result=result.with_parts(result.parts), flags=flags)

    async def aclose(self) -> None:
        """Do nothing: there is no connection."""


def _view(side: Side, item: Item, *, has_context: bool) -> _View:
    asked = {
        key for key, weight in read(item.standalone_question or item.question or "").keys.items() if weight >= FULL
    }
    said = {key for sentence in item.sentences for key in read(sentence.text).all_keys}
    coverage = len(asked & said) / len(asked) if asked else 1.0
    if not has_context:
        return _View(side=side, segments=(), omissions=0, probability=None, citations=(), coverage=coverage)
    grounding = ground(item)
    return _View(
        side=side,
        segments=tuple(segment for segment in grounding.segments if not segment.is_omission),
        omissions=sum(segment.is_omission for segment in grounding.segments),
        probability=grounding.faithful_probability,
        citations=check_citations(item),
        coverage=coverage,
    )


def _faithfulness(a: _View, b: _View) -> _Finding:
    why = f"{_told(a)}; {_told(b)}"
    contradicted = (a.count(Standing.CONTRADICTED), b.count(Standing.CONTRADICTED))
    if (contradicted[0] == 0) != (contradicted[1] == 0):
        return _Finding(winner="A" if contradicted[0] == 0 else "B", confidence=_CONTRADICTED_ALONE, why=why)
    if a.probability is None or b.probability is None:
        empty, full = (a, b) if a.probability is None else (b, a)
        if full.probability is None or full.is_clean:
            return _Finding(why=why)
        return _Finding(winner=empty.side, confidence=_right(1 - full.probability), why=why)
    difference = abs(a.probability - b.probability)
    both_good = a.is_clean and b.is_clean and min(a.probability, b.probability) >= _BOTH_GOOD
    if difference <= _CLOSE or both_good:
        return _Finding(why=why)
    why = f"{why}; faithful with probability {a.probability:.2f} and {b.probability:.2f}"
    return _Finding(winner="A" if a.probability > b.probability else "B", confidence=_right(difference), why=why)


def _right(difference: float) -> float:
    """Return how often the more probable answer is the faithful one, between the measured points."""
    at = bisect_right(_DIFFERENCES, difference)
    if at in (0, len(_DIFFERENCES)):
        return _RIGHT[max(0, at - 1)]
    low, high = _DIFFERENCES[at - 1], _DIFFERENCES[at]
    return _RIGHT[at - 1] + (_RIGHT[at] - _RIGHT[at - 1]) * (difference - low) / (high - low)


def _citations(a: _View, b: _View) -> _Finding:
    if a.accuracy is None and b.accuracy is None:
        return _Finding(why="Neither answer cites.")
    if a.accuracy is None or b.accuracy is None:
        citing = b if a.accuracy is None else a
        why = f"Only answer {citing.side} cites."
        is_good = (citing.accuracy or 0.0) >= _ACCURATE
        return _Finding(winner=citing.side if is_good else None, confidence=_BY_CITATIONS, why=why)
    why = f"{a.accuracy:.0%} of the citations of answer A are right, {b.accuracy:.0%} of answer B."
    if a.accuracy == b.accuracy:
        return _Finding(why=why)
    return _Finding(winner="A" if a.accuracy > b.accuracy else "B", confidence=_BY_CITATIONS, why=why)


def _completeness(a: _View, b: _View) -> _Finding:
    if (a.probability is None) != (b.probability is None):
        full = b if a.probability is None else a
        why = f"Only answer {full.side} states anything."
        helps = full.count(Standing.SUPPORTED, Standing.PARTIAL) > 0
        return _Finding(winner=full.side if helps else None, confidence=_BY_ABSTENTION, why=why)
    if a.omissions == b.omissions:
        return _Finding(why="No difference is seen in what the answers leave out.")
    why = f"Of what is asked, answer A leaves out {a.omissions} and answer B {b.omissions} passages."
    return _Finding(winner="A" if a.omissions < b.omissions else "B", confidence=_BY_OMISSION, why=why)


def _conflicts(a: _View, b: _View) -> _Finding:
    return _Finding(why="No conflict between the documents is known.")


_COMPARE = {
    FAITHFULNESS: _faithfulness,
    CITATIONS: _citations,
    COMPLETENESS: _completeness,
    CONFLICTS: _conflicts,
}


def _without_context(name: str, a: _View, b: _View) -> _Finding:
    if name != COMPLETENESS:
        return _Finding(why="There is no document to compare with.")
    why = f"Answer A takes up {a.coverage:.0%} of the words of the question, answer B {b.coverage:.0%}."
    if abs(a.coverage - b.coverage) < _COVERED:
        return _Finding(why=why)
    return _Finding(winner="A" if a.coverage > b.coverage else "B", confidence=_BY_COVERAGE, why=why)


def _overall(found: dict[str, _Finding], a: _View, b: _View) -> tuple[Side | None, float]:
    """Prefer the more faithful answer; between equally faithful ones the other dimensions decide if they agree."""
    others = [found[name] for name in found if name != FAITHFULNESS and found[name].winner is not None]
    first = found.get(FAITHFULNESS, _Finding())
    if first.winner is not None:
        opposed = sum(finding.winner != first.winner for finding in others)
        return first.winner, max(UNSURE, first.confidence - _AGAINST * opposed)
    winners = {finding.winner for finding in others}
    if len(winners) == 1:
        return others[0].winner, max(finding.confidence for finding in others)
    if winners:
        return None, UNSURE
    if a.probability is None or b.probability is None:
        return None, _BY_ABSTENTION if a.probability is b.probability else UNSURE
    # Both are faithful or neither is; then nothing that is seen here speaks for one of them.
    return None, a.probability * b.probability + (1 - a.probability) * (1 - b.probability)


def _flags(view: _View) -> tuple[Hallucination, ...]:
    found: list[Hallucination] = []
    for segment in view.segments:
        if segment.standing is Standing.SUPPORTED:
            continue
        is_sure = LOW_CONFIDENCE not in segment.flags
        severity = _SEVERITIES.get(segment.standing, Severity.MINOR)
        found.append(
            Hallucination(
                flag_id=f"{view.side}{len(found) + 1}",
                answer=view.side,
                claim=segment.generated_text or "",
                severity=severity if is_sure else Severity.MINOR,
                reported_standing=segment.standing,
                start=segment.start,
                end=segment.end,
                evidence=segment.evidence,
                explanation=segment.explanation,
                score=segment.score,
                flags=segment.flags,
                certainty=None if is_sure else Certainty.UNCONFIRMED,
            )
        )
    return tuple(found)


_SEVERITIES = {Standing.CONTRADICTED: Severity.CRITICAL, Standing.UNSUPPORTED: Severity.MAJOR}


def _told(view: _View) -> str:
    if not view.segments:
        return f"answer {view.side} states nothing that can be checked"
    words = {"contradicted": Standing.CONTRADICTED, "unsupported": Standing.UNSUPPORTED, "partial": Standing.PARTIAL}
    counted = [f"{count} {word}" for word, standing in words.items() if (count := view.count(standing))]
    number = f"{len(view.segments)} statement{'s' * (len(view.segments) > 1)}"
    return f"answer {view.side}: {' and '.join(counted)} of {number}" if counted else (
        f"answer {view.side}: {number}, all supported"
    )  # fmt: skip


def _preference(winner: Side | None) -> Preference:
    return Preference(winner or "TIE")
