"""Fold text for verbatim comparison, and keep the way back to the characters it came from.

Folded are: compatibility forms (NFKC), HTML character references, runs of white space, quotation marks, dashes;
removed are zero-width characters and soft hyphens. Nothing else: comparison is never fuzzy and never ignores case.
"""

import html
import re
import unicodedata
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

# Plain ASCII that folds to itself comes in runs; everything else is looked at piece by piece.
_PIECE = re.compile(r"[!#-%(-,.-_a-z{-~]+|&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});|.", re.S)
_SINGLE_QUOTES = frozenset("'`´‘’‚‛‹›′＇ʼ「」")
_DOUBLE_QUOTES = frozenset('"“”„‟«»″＂『』〝〞')
_DASHES = frozenset("-‐‑‒–—―−﹘﹣－⁃")
_INVISIBLE = frozenset(
    "\u00ad\u034f\u061c\u180e\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2061\u2062\u2063\u2064"
    "\u2066\u2067\u2068\u2069\ufeff" + "".join(map(chr, range(0xFE00, 0xFE10)))
)
_TRAILING_JAMO = re.compile("[\u1160-\u11ff\ud7b0-\ud7ff]")
# Scripts that don't put spaces between words, or glue particles on: a quote may begin or end anywhere in them.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7ff]")


class Folded(NamedTuple):
    """Folded text; character `i` came from `starts[i]:ends[i]` of the original."""

    text: str
    starts: list[int]
    ends: list[int]


class Place(NamedTuple):
    """Where a quote stands in the original text, and how often it does."""

    start: int
    end: int
    occurrences: int


def fold(text: str) -> Folded:
    """Fold a text, keeping for each resulting character the stretch it came from."""
    out: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for match in _PIECE.finditer(text):
        piece, start, end = match.group(), match.start(), match.end()
        if end - start > 1 and piece[0] != "&":
            out.extend(piece)
            starts.extend(range(start, end))
            ends.extend(range(start + 1, end + 1))
            continue
        if starts and not piece.isascii() and _joins_previous(piece):
            start = starts[-1]
            while starts and starts[-1] == start:
                out.pop(), starts.pop(), ends.pop()
            piece = text[start:end]
        for char in _normal(piece, out[-1] if out else ""):
            _append(char, start, end, out, starts, ends)
    return Folded("".join(out), starts, ends)


def folded(text: str) -> str:
    """Fold a quote: as `fold`, without the way back and without white space around it."""
    return fold(text).text.strip()


class Haystack:
    """A text in which quotes are looked for; it is folded at most once, and only when a quote is not there as it is."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def folded(self) -> Folded:
        """Return the folded text."""
        return fold(self.text)

    def find(self, quote: str) -> Place | None:
        """Return the first place where the quote stands verbatim, cutting no word or number in two."""
        return self._as_it_is(quote.strip()) or self.find_folded(folded(quote))

    def find_folded(self, needle: str, start: int = 0) -> Place | None:
        """Find a folded quote from character `start` of the folded text on."""
        places = list(self._places(needle, start))
        if not places:
            return None
        first, last = places[0]
        return Place(self.folded.starts[first], self.folded.ends[last - 1], len(places))

    def spans(self, quote: str) -> Iterator[tuple[int, int]]:
        """Yield all places of a quote as offsets into the original text."""
        for first, last in self._places(folded(quote), 0):
            yield self.folded.starts[first], self.folded.ends[last - 1]

    def places(self, needle: str, start: int = 0) -> Iterator[tuple[int, int]]:
        """Yield the places of a folded quote as positions in the folded text."""
        return self._places(needle, start)

    def _as_it_is(self, quote: str) -> Place | None:
        found = [at for at in _all(self.text, quote) if _stands_alone(self.text, at, at + len(quote), raw=True)]
        return Place(found[0], found[0] + len(quote), len(found)) if found else None

    def _places(self, needle: str, start: int) -> Iterator[tuple[int, int]]:
        text, starts, _ = self.folded
        for at in _all(text, needle, start):
            end = at + len(needle)
            # A character that became several ("ﬁ", "…") is taken whole or not at all.
            splits = (at and starts[at] == starts[at - 1]) or (end < len(starts) and starts[end] == starts[end - 1])
            if not splits and _stands_alone(text, at, end):
                yield at, end


def _joins_previous(char: str) -> bool:
    # Marks compose with what stands before them, and so do the later parts of a Korean syllable.
    if char in _INVISIBLE:
        return False
    return unicodedata.category(char)[0] == "M" or bool(_TRAILING_JAMO.match(char))


def _normal(piece: str, previous: str) -> str:
    if piece[0] == "&" and len(piece) > 1:
        piece = html.unescape(piece)
    if len(piece) == 1 and not piece.isascii():
        if piece in _INVISIBLE:
            return ""
        if piece in _SINGLE_QUOTES or piece in _DOUBLE_QUOTES or piece in _DASHES:
            return piece
        if previous.isdigit():
            form = unicodedata.decomposition(piece)
            if form.startswith(("<super>", "<sub>")):  # "10²" is not "102"
                return piece
            if form.startswith("<fraction>"):  # "1½" is not "11/2"
                return " " + unicodedata.normalize("NFKC", piece)
    return unicodedata.normalize("NFKC", piece)


def _append(char: str, start: int, end: int, out: list[str], starts: list[int], ends: list[int]) -> None:
    previous = out[-1] if out else ""
    if char in _INVISIBLE:
        return
    if char.isspace():
        char = " "
    elif char in _DASHES:
        char = "-"
    elif char in _SINGLE_QUOTES or char in _DOUBLE_QUOTES:
        # Writers swap single and double marks freely, but 6' and 6" are different lengths.
        char = '"' if previous.isdigit() and char in _DOUBLE_QUOTES else "'"
    if char == previous and char in " -":
        ends[-1] = end
        return
    out.append(char)
    starts.append(start)
    ends.append(end)


def _all(text: str, needle: str, start: int = 0) -> Iterator[int]:
    at = text.find(needle, start) if needle else -1
    while at >= 0:
        yield at
        at = text.find(needle, at + 1)


def _stands_alone(text: str, start: int, end: int, *, raw: bool = False) -> bool:
    if raw:
        # Beside anything that folding could change, only the folded text can tell.
        beside = text[max(0, start - 1) : start] + text[end : end + 1]
        if not beside.isascii() or text[max(0, start - 1) : start] == ";" or text[end : end + 1] == "-":
            return False
    return not _cuts(text, start) and not _cuts(text, end)


def _cuts(text: str, at: int) -> bool:
    """Tell whether a cut before character `at` goes through a word or a number."""
    if at <= 0 or at >= len(text):
        return False
    left, right = text[at - 1], text[at]
    if not right.isascii() and unicodedata.category(right)[0] == "M":
        return True
    if left.isalnum() and right.isalnum():
        return not (_UNSPACED.match(left) or _UNSPACED.match(right))
    if right.isdigit() and left in ".,:" and at >= 2 and text[at - 2].isdigit():
        return True
    if left.isdigit() and right in ".,:" and text[at + 1 : at + 2].isdigit():
        return True
    return right.isdigit() and left == "-" and (at < 2 or text[at - 2] in " (")
