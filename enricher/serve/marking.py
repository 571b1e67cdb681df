"""Cut texts where statements begin and end, so that each stretch can be marked by how it stands."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from enricher.verdict import Standing, Stretch

# Whichever is worst names a stretch that several statements share.
_WORST = (
    Standing.CONTRADICTED,
    Standing.SOURCE_CONFLICT,
    Standing.UNSUPPORTED,
    Standing.PARTIAL,
    Standing.OMITTED,
    Standing.SUPPORTED,
)
SHOWN_WHOLE = 20_000  # characters of a text that a page shows without leaving anything out
_AROUND = 1_500  # characters kept on each side of a mark, and at the beginning, where a text is longer


class Bit(NamedTuple):
    """Some words, and whether a finding is about just these."""

    text: str
    is_lacking: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """A stretch of a text that belongs to a statement; offsets count characters."""

    start: int
    end: int
    key: str  # of the statement
    standing: Standing
    lacking: tuple[Stretch, ...] = ()  # what in it the finding is about, in order


@dataclass(frozen=True, kw_only=True, slots=True)
class Piece:
    """A stretch that is marked alike all over; without a standing it is not marked."""

    text: str
    keys: tuple[str, ...] = ()
    standing: Standing | None = None
    begins: tuple[str, ...] = ()  # statements whose mark begins here
    ends: tuple[str, ...] = ()  # statements whose mark ends here
    omitted: int = 0  # characters that are left out here; then there is no text
    bits: tuple[Bit, ...] = ()  # its text, cut where the words begin and end that a finding is about


def pieces(text: str, spans: Iterable[Span], *, whole: int = SHOWN_WHOLE) -> list[Piece]:
    """Cut a text at the spans; spans outside of it or without length are passed over. Long texts keep their marks."""
    kept = [span for span in spans if 0 <= span.start < span.end <= len(text)]
    windows = _windows(len(text), kept, whole)
    cuts = sorted({0, len(text)} | {place for span in kept for place in (span.start, span.end)} | set(sum(windows, ())))
    found: list[Piece] = []
    opening = sorted(kept, key=lambda span: span.start)
    under_way: list[Span] = []
    for start, end in pairwise(cuts):
        under_way = [span for span in under_way if span.end > start]
        while opening and opening[0].start <= start:
            under_way.append(opening.pop(0))
        if not any(first <= start and end <= last for first, last in windows):
            found.append(Piece(text="", omitted=end - start))
            continue
        found.append(_piece(text, start, end, under_way))
    return found


def _piece(text: str, start: int, end: int, spans: Sequence[Span]) -> Piece:
    standing = min((span.standing for span in spans), key=_WORST.index, default=None)
    lacking = sorted({(part.start, part.end) for span in spans for part in span.lacking})
    return Piece(
        text=text[start:end],
        bits=tuple(_bits(text, start, end, lacking)),
        keys=tuple(dict.fromkeys(span.key for span in spans)),
        standing=standing,
        begins=tuple(span.key for span in spans if span.start == start),
        ends=tuple(span.key for span in spans if span.end == end),
    )


def _bits(text: str, start: int, end: int, lacking: Iterable[tuple[int, int]]) -> Iterator[Bit]:
    """Cut a stretch of a text where the given ranges, in order, begin and end; those outside of it are passed over."""
    at = start
    for first, last in lacking:
        first, last = max(at, first), min(end, last)
        if first < last:
            if at < first:
                yield Bit(text[at:first], is_lacking=False)
            yield Bit(text[first:last], is_lacking=True)
            at = last
    if at < end:
        yield Bit(text[at:end], is_lacking=False)


def _windows(length: int, spans: Sequence[Span], whole: int) -> list[tuple[int, int]]:
    """Return the stretches that are shown, in order and apart."""
    if length <= whole:
        return [(0, length)]
    wanted = sorted(
        [(0, _AROUND), *((max(0, span.start - _AROUND), min(length, span.end + _AROUND)) for span in spans)]
    )
    merged = [wanted[0]]
    for start, end in wanted[1:]:
        if start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
