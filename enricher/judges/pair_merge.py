"""Put together what was said of a pair in one order or in both, and what the embedded engine sees of it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from enricher.folding import folded
from enricher.grounding.engine import assess
from enricher.judges.pair_reply import NOT_IN_ANSWER, PairReading
from enricher.results.pairwise import CitationError
from enricher.trace import Document, Pair
from enricher.verdict import (
    AlignmentStatus,
    Certainty,
    Citation,
    Dimension,
    Hallucination,
    Order,
    PairwiseResult,
    Preference,
    Severity,
    Side,
)

IN_ONE_ORDER = "in_one_order_only"
MISPLACED = "flag_misplaced"


def merged(readings: Sequence[PairReading], seed: int) -> tuple[PairwiseResult, tuple[str, ...]]:
    """Return the result of one or two orders, and the flags of the verdict; orders that disagree are a tie."""
    agrees = len({reading.preferred for reading in readings}) == 1
    flags = [flag for reading in readings for flag in reading.flags]
    found, has_misplaced = _hallucinations(readings)
    if has_misplaced:
        flags.append(MISPLACED)
    result = PairwiseResult(
        preferred=readings[0].preferred if agrees else Preference.TIE,
        # Of two orders that disagree nothing is certain, and a mean of two certainties would say otherwise.
        confidence=min(reading.confidence for reading in readings) if agrees else None,
        dimensions=_dimensions(readings),
        hallucinations=found,
        citation_errors=_citation_errors(readings),
        orders=tuple(Order(first=r.first, preferred=r.preferred, confidence=r.confidence) for r in readings),
        seed=seed,
    )
    return result.with_parts(result.parts), tuple(dict.fromkeys(flags))


def with_places(result: PairwiseResult, pair: Pair) -> PairwiseResult:
    """Dispute the flags whose words are not in their answer, unless the answer says the same in other words."""
    items = {"A": pair.a, "B": pair.b}
    parts = []
    for flag in result.parts:
        if NOT_IN_ANSWER in flag.flags:
            item = items[flag.answer]
            said = Document(id="answer", text=item.answer, sentences=item.sentences)
            found = assess(flag.claim, replace(item, documents=(said,), question=None, flags=()))
            if found.alignment_status is not AlignmentStatus.FULLY_SUPPORTED:
                flag = flag.model_copy(update={"certainty": Certainty.DISPUTED})
        parts.append(flag)
    return result.with_parts(parts)


def with_engine(result: PairwiseResult, citations: Mapping[Side, Sequence[Citation]]) -> PairwiseResult:
    """Mark the citation errors that the embedded engine finds too, and add what the markers stand for."""
    return result.model_copy(
        update={"citation_errors": tuple(_looked_up(e, citations[e.answer]) for e in result.citation_errors)}
    )


def _looked_up(error: CitationError, citations: Sequence[Citation]) -> CitationError:
    marker, said = _bare(error.citation.marker), _words(error.citation.statement)
    for citation in citations:
        if citation.issue is None or _bare(citation.marker) != marker:
            continue
        own = _words(citation.statement)
        if said in own or own in said:
            seen = {name: getattr(citation, name) for name in ("document_ids", "supported_by", "explanation", "flags")}
            # Miscited or irrelevant is a detail; that the citation is wrong, both say.
            return error.model_copy(update={"citation": error.citation.model_copy(update=seen), "is_confirmed": True})
    return error


def _dimensions(readings: Sequence[PairReading]) -> tuple[Dimension, ...]:
    found = []
    for entries in zip(*(reading.dimensions for reading in readings), strict=True):
        first = entries[0]
        if len({entry.winner for entry in entries}) > 1:
            said = " / ".join(entry.justification for entry in entries if entry.justification)
            first = Dimension(name=first.name, winner=Preference.TIE, justification=f"The orders disagree: {said}")
        found.append(first)
    return tuple(found)


def _hallucinations(readings: Sequence[PairReading]) -> tuple[tuple[Hallucination, ...], bool]:
    """Return each flag once; of one that stands against both answers, only where its words are."""
    found: dict[tuple[Side, str], list[Hallucination]] = {}
    for reading in readings:
        for flag in reading.hallucinations:
            found.setdefault((flag.answer, _words(flag.claim)), []).append(flag)
    kept: list[Hallucination] = []
    has_misplaced = False
    counts: dict[Side, int] = {"A": 0, "B": 0}
    for (side, words), same in found.items():
        elsewhere = found.get(("B" if side == "A" else "A", words), [])
        if NOT_IN_ANSWER in same[0].flags and any(NOT_IN_ANSWER not in flag.flags for flag in elsewhere):
            has_misplaced = True
            continue
        counts[side] += 1
        severity = min((flag.severity for flag in same), key=list(Severity).index)
        flags = same[0].flags if len(same) >= len(readings) else (*same[0].flags, IN_ONE_ORDER)
        update: dict[str, object] = {"flag_id": f"{side}{counts[side]}", "severity": severity, "flags": flags}
        kept.append(same[0].model_copy(update=update))
    return tuple(sorted(kept, key=lambda flag: flag.flag_id)), has_misplaced


def _citation_errors(readings: Sequence[PairReading]) -> tuple[CitationError, ...]:
    found: dict[tuple[object, ...], CitationError] = {}
    for reading in readings:
        for error in reading.citation_errors:
            citation = error.citation
            key = (error.answer, folded(citation.marker), citation.issue, _words(citation.statement))
            found.setdefault(key, error)
    return tuple(found.values())


def _bare(marker: str) -> str:
    return folded(marker).strip("[](){}【】 ").casefold()


def _words(text: str) -> str:
    return " ".join(folded(text).casefold().split()).strip(" .,;:!?\"'")
