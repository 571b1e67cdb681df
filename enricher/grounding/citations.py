"""Resolve the citations of an answer to the documents as the model saw them, and check that these bear them out.

What is reported is certain: a cited document that does not say what another one does, one that has nothing to do with
the statement, one that does not exist, and a statement without a citation in an answer that cites. Where the words of
the cited document merely do not settle the matter, the statement is a finding of the judge, not of its citation.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from enricher.grounding.engine import assess_all
from enricher.grounding.reading import read
from enricher.grounding.tokens import FULL
from enricher.trace import Document, Item, Sentence
from enricher.verdict import Citation, CitationIssue, Standing

DANGLING = "dangling"
_SQUARE = re.compile(r"\[(\^?[^\[\]\n]{1,60})\](?!\()|\[(\d{1,3})\]\([^)\s]+\)")
_LENTICULAR = re.compile(r"【([^】\n]{1,80})】")
_SUPERSCRIPT = re.compile(r"(?<=[^\s\d⁰¹²³⁴-⁹])([¹²³⁴-⁹][⁰¹²³⁴-⁹]?)(?!\w)")
_ROUND = re.compile(r"\((?:source|sources|see|quelle|quellen|fuente|fonte|source\s*:)\s*:?\s+([^()\n]{1,80})\)", re.I)
_MAY_CITE = re.compile(r"[\[(【¹²³⁴-⁹]")  # every marker has one of these
_FROM_SUPERSCRIPT = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_NUMBER = re.compile(r"\^?(\d{1,3})")
_RANGE = re.compile(r"\^?(\d{1,3})\s*[-–—]\s*\^?(\d{1,3})")
_NUMBERED = re.compile(
    r"(?:doc(?:ument)?|source|src|ref(?:erence)?|passage|context|chunk|id|quelle|dokument|fuente|documento|文献|資料)"
    r"\s*[-_:#.]?\s*(\d{1,3})",
    re.I,
)
_OPENAI = re.compile(r"(\d{1,4}):(\d{1,4})†?(.*)")
_LONGEST_RANGE = 30
_WORDS = 3  # of a piece between two markers that is a statement of its own
# A statement that ends so speaks of the cited document, such as "all prices are listed in [2]".
_POINTING = re.compile(
    r"\b(?:in|see|by|from|of|to|under|with|siehe|laut|dans|selon|voir|en|según|ver|em|segundo)$", re.I
)
_NAMING_KEYS = ("source", "file_name", "filename", "file", "title", "name", "url", "path")


@dataclass(frozen=True, kw_only=True, slots=True)
class Marker:
    """A citation as it stands in the answer, with the names or numbers in it."""

    text: str
    start: int
    end: int
    names: tuple[str, ...]


def check_citations(item: Item, *, base: int | None = None) -> tuple[Citation, ...]:
    """Return every citation of an answer with what is wrong with it, and every missing one; empty if it cites nothing.

    `base` is the number of the first document (0 or 1); None infers it once for the answer: 0 if a 0 is cited.
    """
    if not _MAY_CITE.search(item.answer) and not item.metadata.get("citations"):
        return ()
    library = _Library(item, base)
    sentences = [sentence for sentence in item.sentences if sentence.is_checkable]
    found = [(sentence, library.markers(sentence)) for sentence in sentences]
    cited = [citation for sentence, markers in found for citation in _checked(sentence, markers, library)]
    if cited:
        cited += _missing(found, library)
    return (*cited, *_named_apart(library))


def find_markers(answer: str, known: Iterable[str] = ()) -> list[Marker]:
    """Find what looks like a citation: numbers, ids of documents (`known`), footnotes, and their combined forms."""
    names = {name.casefold() for name in known}
    markers = []
    for pattern in (_SQUARE, _LENTICULAR, _SUPERSCRIPT, _ROUND):
        for match in pattern.finditer(answer):
            inner = next(group for group in match.groups() if group is not None)
            parts = tuple(_parts(inner.translate(_FROM_SUPERSCRIPT), names, is_open=pattern is _LENTICULAR))
            if parts:
                markers.append(Marker(text=match.group(), start=match.start(), end=match.end(), names=parts))
    return sorted(markers, key=lambda marker: marker.start)


def _parts(inner: str, known: set[str], *, is_open: bool) -> Iterator[str]:
    """Yield the citations in one pair of brackets; nothing if it holds anything else."""
    if inner.strip().casefold() in known or (is_open and _OPENAI.fullmatch(inner.strip())):
        yield inner.strip()
        return
    pieces = [piece.strip() for piece in re.split(r"[,;、，]|\s+(?:and|und|et|y)\s+", inner) if piece.strip()]
    read_: list[str] = []
    for piece in pieces:
        if span := _RANGE.fullmatch(piece):
            first, last = int(span[1]), int(span[2])
            if not first <= last <= first + _LONGEST_RANGE:
                return
            read_ += [str(number) for number in range(first, last + 1)]
        elif piece.casefold() in known or _NUMBER.fullmatch(piece) or _NUMBERED.fullmatch(piece):
            read_.append(piece.removeprefix("^"))
        else:
            return
    yield from read_


class _Library:
    """The documents of one item by all names under which an answer may cite them."""

    def __init__(self, item: Item, base: int | None) -> None:
        self.item = item
        self._names: dict[str, Document] = {}
        for document in item.documents:
            described = (document.metadata.get(key) for key in _NAMING_KEYS)
            for name in (document.id, *document.aliases, *(text for text in described if isinstance(text, str))):
                self._names.setdefault(name.casefold(), document)
        self._markers = find_markers(item.answer, self._names)
        cited = [name for marker in self._markers for name in marker.names]
        self.base = base if base is not None else self._inferred_base(cited)
        self._standings: dict[tuple[str, str], Standing] = {}

    def markers(self, sentence: Sentence) -> list[Marker]:
        """Return the markers that stand in a sentence."""
        return [m for m in self._markers if sentence.start <= m.start and m.end <= sentence.end]

    def resolve(self, name: str) -> Document | None:
        """Return the document that a name or number means; None when there is none."""
        if (document := self._names.get(name.strip().casefold())) is not None:
            return document
        if found := _OPENAI.fullmatch(name):
            named = self._names.get(found[3].strip().casefold())
            return named or self._numbered(int(found[2]) + 1)
        number = _NUMBER.fullmatch(name) or _NUMBERED.fullmatch(name)
        return self._numbered(int(number[1]) + 1 - self.base) if number else None

    def standing(self, statement: str, document: Document) -> Standing:
        """Return how a statement stands to one document alone."""
        key = (statement, document.id)
        if key not in self._standings:
            (segment,) = assess_all([statement], replace(self.item, documents=(document,)))
            self._standings[key] = segment.standing
        return self._standings[key]

    def supporting(self, statement: str) -> tuple[str, ...]:
        """Return the ids of the documents each of which supports a statement by itself."""
        return tuple(d.id for d in self.item.documents if self.standing(statement, d) is Standing.SUPPORTED)

    def _numbered(self, place: int) -> Document | None:
        documents = self.item.documents
        if any(document.citation_numbers for document in documents):
            return next((d for d in documents if place in d.citation_numbers), None)
        return documents[place - 1] if 1 <= place <= len(documents) else None

    def _inferred_base(self, cited: Sequence[str]) -> int:
        numbers = [
            int(found[1])
            for name in cited
            if name.casefold() not in self._names and (found := _NUMBER.fullmatch(name) or _NUMBERED.fullmatch(name))
        ]
        return 0 if 0 in numbers else 1


def _checked(sentence: Sentence, markers: Sequence[Marker], library: _Library) -> Iterator[Citation]:
    for marker, statement in _statements(sentence, markers):
        for name in marker.names:
            document = library.resolve(name)
            citation = Citation(marker=marker.text, start=marker.start, end=marker.end, statement=statement)
            if document is None:
                yield _dangling(citation, name, library, library.supporting(statement))
            else:
                yield _judged(citation.model_copy(update={"document_ids": (document.id,)}), document, library)


def _dangling(citation: Citation, name: str, library: _Library, supporting: tuple[str, ...] = ()) -> Citation:
    update = {
        "issue": CitationIssue.IRRELEVANT_CITATION,
        "supported_by": supporting,
        "explanation": f"there is no document {name} among {len(library.item.documents)}",
        "flags": (DANGLING,),
    }
    return citation.model_copy(update=update)


def _judged(citation: Citation, document: Document, library: _Library) -> Citation:
    if library.standing(citation.statement, document) is not Standing.UNSUPPORTED:
        # What the cited document supports in part or contradicts is about the statement; its citation is right.
        return citation
    if supporting := library.supporting(citation.statement):
        what = f"{document.id} does not say this, {', '.join(supporting)} does"
        miscited = {"issue": CitationIssue.MISCITATION, "supported_by": supporting, "explanation": what}
        return citation.model_copy(update=miscited)
    if _POINTING.search(citation.statement) or _have_words_in_common(citation.statement, document):
        return citation
    what = f"{document.id} has nothing to do with this"
    return citation.model_copy(update={"issue": CitationIssue.IRRELEVANT_CITATION, "explanation": what})


def _statements(sentence: Sentence, markers: Sequence[Marker]) -> Iterator[tuple[Marker, str]]:
    """Yield each marker with what it is given for: the words since the marker before, or else the whole sentence."""
    if not markers:
        return
    whole = _without(sentence, markers, sentence.start, sentence.end)
    since, last = sentence.start, ""
    for marker in markers:
        piece = _without(sentence, markers, since, marker.start)
        if len(re.findall(r"\w+", piece)) < _WORDS and not last:
            piece = whole
        last = piece if len(re.findall(r"\w+", piece)) >= _WORDS else last
        yield marker, last or whole
        since = marker.end


def _without(sentence: Sentence, markers: Sequence[Marker], start: int, end: int) -> str:
    text = sentence.text[start - sentence.start : end - sentence.start]
    for marker in markers:
        if start <= marker.start and marker.end <= end:
            text = text.replace(marker.text, "")
    return re.sub(r"\s+([.,;:!?])", r"\1", " ".join(text.split())).strip(" ,;")


def _missing(found: Sequence[tuple[Sentence, Sequence[Marker]]], library: _Library) -> Iterator[Citation]:
    """Yield the statements that neither carry a citation nor stand before one in their paragraph."""
    answer = library.item.answer
    for number, (sentence, markers) in enumerate(found):
        if markers:
            continue
        following = found[number + 1 :]
        covered = next((later for later, its in following if its), None)
        if covered is not None and "\n" not in answer[sentence.end : covered.start].strip(" "):
            continue
        supporting = library.supporting(sentence.text)
        yield Citation(
            marker="",
            statement=sentence.text,
            issue=CitationIssue.MISSING_CITATION,
            supported_by=supporting,
            explanation=f"no citation; {', '.join(supporting)} says this" if supporting else "no citation",
        )


def _named_apart(library: _Library) -> Iterator[Citation]:
    """Yield the citations of a structured answer, which name documents for the answer as a whole."""
    for name in library.item.metadata.get("citations") or ():
        document = library.resolve(str(name))
        if document is None:
            yield _dangling(Citation(marker=str(name)), str(name), library)
        else:
            yield Citation(marker=str(name), document_ids=(document.id,))


def _have_words_in_common(statement: str, document: Document) -> bool:
    keys = {key for key, weight in read(statement).keys.items() if weight >= FULL}
    return not keys or bool(keys & set(read(document.text).all_keys))
