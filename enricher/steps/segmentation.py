"""Cut answers and documents into sentences with exact offsets, and tell which of them state something checkable.

`sentencex` finds sentence ends in about 300 languages. What it doesn't know is added here: blocks of Markdown (lists,
tables, code, headings), abbreviations and legal references that are no sentence ends, and citation markers that belong
to the sentence before them.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import sentencex  # type: ignore[import-untyped]  # ships no type information

from enricher.steps.boilerplate import is_boilerplate
from enricher.trace import Document, Item, Sentence


class _Block(NamedTuple):
    """A stretch of the text that holds no sentence boundary with its neighbours."""

    start: int
    end: int
    is_prose: bool = True  # cut into sentences; otherwise kept whole
    is_checkable: bool = True


class _Line(NamedTuple):
    start: int
    end: int  # without the line break
    text: str


_MONTH_NAMES = (
    r"(?:januar|jänner|februar|märz|april|mai|juni|juli|august|september|oktober|november|dezember|jan|feb|apr|aug|sept?"
    r"|okt|nov|dez|januari|februari|maart|mei|ledna|února|března|května|stycznia|lutego|marca|maja|czerwca)\b"
)
_MONTH = re.compile(_MONTH_NAMES, re.I)
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s+\S|\s*(?:\*\*|__)[^*_]{1,80}(?:\*\*|__):?\s*$")
_BULLET = re.compile(
    r"\s*(?:[-*+•‣▪◦●–]\s+|\(?\d{1,3}\)\s+|\d{1,3}\.\s+(?!"
    + "(?i:"
    + _MONTH_NAMES
    + ")"
    + r")|\(?[a-zA-Z]\)\s+|[a-z]\.\s+)"
)
_QUOTE_MARK = re.compile(r"\s*>+\s?")
_TABLE_ROW = re.compile(r"\s*\|.*\|\s*$")
_TABLE_RULE = re.compile(r"\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?\s*$")
_RULE = re.compile(r"\s*(?:[-*_=]\s*){3,}$")
_LINES_APART = (_FENCE, _TABLE_ROW, _TABLE_RULE, _RULE, _HEADING)  # no paragraph goes on in them, nor a list item
_TERMINAL = tuple(".!?…。！？｡।॥؟۔။።:;\"'”’»)）」』]")
_LOOK_BACK = 80  # characters of the sentence before that decide whether it had really ended
_WRAP_WIDTH = 55  # a line at least this long without an end mark was probably wrapped by its writer

_CITATION = r"(?:\s*(?:\[[\^\w][\w:,;\s–-]{0,20}\]|【[^】]{1,20}】))+"
_ONLY_CITATION = re.compile(rf"{_CITATION}[\s.]*$")
_LEADING_CITATION = re.compile(rf"{_CITATION}(?=\s+\S)")
_HAS_WORD = re.compile(r"\w")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_QUESTION_MARKS = frozenset("?？؟\u037e")
_QUESTION_END = re.compile("[?？؟\u037e]\\W*$")


def _words(table: str) -> frozenset[str]:
    return frozenset(table.split())


# Abbreviations after which a sentence never ends, and those that may stand at its end.
_NEVER_LAST = _words(
    """dr prof mr mrs ms mx st sr jr sen rep gen gov hon capt lt col sgt art arts sec secs sect no nos nr nrn abs lit
    cf e.g i.e eg ie z.b z.t zb bzw ca approx excl incl inkl zzgl exkl vs v para paras par p pp pg ch chap fig figs
    vol ed eds cl reg regs ex gem vgl ziff rn bd hrsg d.h d.i u.a i.v.m i.s.d i.d.r o.g m.w.n sog ggf evtl max min
    mind höchst tel abb kap s.o s.u ref refs eq eqs app schd sched ann amend mt ft rev fr hr frau dipl ing av m.m
    env num núm pág págs art.º cap pág sra mme mlle mm n.b nb cit op anm bsp geb gegr lfd usw.z std tsd u.u v.a"""
)
_MAY_BE_LAST = _words(
    """inc ltd co corp llc gmbh plc bros dept est etc al usw u.s u.s.a u.k e.u p.m a.m ph.d m.d b.a m.a d.c jan feb mar
    apr jun jul aug sep sept oct nov dec mon tue wed thu fri sat sun mio mrd str ave blvd rd univ assn intl op.cit
    ibid u.n r.i.p i.d ff f"""
)
_ABBREVIATIONS = frozenset(f"{word}." for word in _NEVER_LAST | _MAY_BE_LAST)
_LAST_WORD = re.compile(r"(?:^|[\s(\[\"'“„«/])((?:[^\W\d_]{1,6}\.){1,4})\s*$")
_ORDINAL = re.compile(
    r"(?:^|\b(?:der|die|das|dem|den|des|am|im|vom|zum|zur|bis|ab|seit|il|le|el)\s)\s*\d{1,3}\.\s*$", re.I
)
_DAY_NUMBER = re.compile(r"\b\d{1,2}\.\s*$")
_NEW_SENTENCE = re.compile(r"[A-Z][a-z]*\b(?![.\d])")
_CAPITAL = re.compile(r"[\"'“„«(\[]*[A-ZÀ-ÖØ-Þ]")


def split_item(item: Item) -> Item:
    """Return the item with the sentences of its answer and of every document filled in."""
    documents = tuple(replace(document, sentences=_document_sentences(document)) for document in item.documents)
    return replace(item, sentences=split_text(item.answer), documents=documents)


def split_text(text: str) -> tuple[Sentence, ...]:
    """Cut a text into sentences `s1`, `s2` ...; each is exactly `text[start:end]`, in order, without overlap."""
    return _numbered(text, "s", with_boilerplate=True)


def _document_sentences(document: Document) -> tuple[Sentence, ...]:
    # What would be a courtesy in an answer can be a rule in a document ("Contact us if ..."), so it is not looked for.
    return _numbered(document.text, f"{document.id}.s", with_boilerplate=False)


def _numbered(text: str, prefix: str, *, with_boilerplate: bool) -> tuple[Sentence, ...]:
    # The library takes only what UTF-8 can write; offsets stay.
    readable = text if text.isascii() else _LONE_SURROGATE.sub("\ufffd", text)
    found: list[Sentence] = []
    for block in _blocks(readable):
        spans = _sentences(readable, block.start, block.end) if block.is_prose else [(block.start, block.end)]
        for span_start, span_end in spans:
            piece = text[span_start:span_end].rstrip()
            end = span_start + len(piece)
            piece = piece.lstrip()
            if not piece:
                continue
            checkable = block.is_checkable and _states_something(piece)
            checkable = checkable and not (with_boilerplate and is_boilerplate(piece))
            name, start = f"{prefix}{len(found) + 1}", end - len(piece)
            found.append(Sentence(id=name, start=start, end=end, text=piece, is_checkable=checkable))
    return tuple(found)


def _states_something(piece: str) -> bool:
    end = piece[-6:]
    return _has_word(piece) and (_QUESTION_MARKS.isdisjoint(end) or not _QUESTION_END.search(end))


def _has_word(piece: str) -> bool:
    return piece[:1].isalnum() or _HAS_WORD.search(piece) is not None


def _lines(text: str) -> list[_Line]:
    lines, start = [], 0
    for raw in text.splitlines(keepends=True):
        body = raw.rstrip("\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029")
        lines.append(_Line(start, start + len(body), body))
        start += len(raw)
    return lines


def _blocks(text: str) -> Iterator[_Block]:
    """Yield the blocks of a text: a paragraph, list item, table row, heading or fenced code each."""
    if "\n" not in text and "\r" not in text and not _starts_structure(text):
        yield _Block(0, len(text))
        return
    lines = _lines(text)
    at = 0
    while at < len(lines):
        line = lines[at]
        if not line.text.strip():
            at += 1
        elif not _has_form(line.text, _LINES_APART):
            last = _paragraph_end(lines, at)
            yield _paragraph(lines, at, last)
            at = last + 1
        elif fence := _FENCE.match(line.text):
            last = _fence_end(lines, at, fence.group(1))
            yield _Block(line.start, lines[last].end, is_prose=False, is_checkable=False)
            at = last + 1
        elif _TABLE_ROW.match(line.text) or _TABLE_RULE.match(line.text) or _RULE.match(line.text):
            yield _Block(line.start, line.end, is_prose=False, is_checkable=_is_table_body(lines, at))
            at += 1
        else:
            yield _Block(line.start, line.end, is_prose=False, is_checkable=False)
            at += 1


def _starts_structure(text: str) -> bool:
    return _has_form(text, (_BULLET, _HEADING, _FENCE, _TABLE_ROW, _QUOTE_MARK)) or text.rstrip()[-1:] in (":", "：")


def _has_form(line: str, forms: Sequence[re.Pattern[str]]) -> bool:
    return not _begins_as_text(line) and any(form.match(line) for form in forms)


def _begins_as_text(line: str) -> bool:
    """Tell cheaply that a line has no form of Markdown: none of them begins with two letters."""
    return line[:2].isalpha()


def _fence_end(lines: list[_Line], at: int, mark: str) -> int:
    for index in range(at + 1, len(lines)):
        if lines[index].text.strip().startswith(mark) and not lines[index].text.strip().strip(mark[0]):
            return index
    return len(lines) - 1


def _is_table_body(lines: list[_Line], at: int) -> bool:
    if _TABLE_RULE.match(lines[at].text) or _RULE.match(lines[at].text):
        return False
    return not (at + 1 < len(lines) and _TABLE_RULE.match(lines[at + 1].text))


def _paragraph_end(lines: list[_Line], at: int) -> int:
    """Return the last line that continues the paragraph or list item begun at `at`."""
    while at + 1 < len(lines) and _continues(lines[at].text, lines[at + 1].text):
        at += 1
    return at


def _continues(line: str, following: str) -> bool:
    if not following.strip() or line.rstrip().endswith(_TERMINAL) or _has_form(following, (*_LINES_APART, _BULLET)):
        return False
    first = following.lstrip()[0]
    return first.islower() or len(line) >= _WRAP_WIDTH


def _paragraph(lines: list[_Line], first: int, last: int) -> _Block:
    line = lines[first]
    start = line.start
    for mark in () if _begins_as_text(line.text) else (_QUOTE_MARK, _BULLET):
        if found := mark.match(line.text[start - line.start :]):
            start += found.end()
    end = lines[last].end
    is_label = lines[last].text.rstrip().endswith((":", "："))
    if start >= end:  # a bare list marker
        return _Block(line.start, end, is_prose=False, is_checkable=False)
    return _Block(
        start, end, is_prose=True, is_checkable=not (is_label and first == last and _is_short_label(line.text))
    )


def _is_short_label(line: str) -> bool:
    """Tell whether a line that ends in a colon only announces what follows."""
    return len(line.split()) <= 14 and not re.search(r"[.!?]\s", line)


def _sentences(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return the sentence spans of one block of prose, false boundaries repaired."""
    starts = [start]
    at = start
    for piece in sentencex.segment("en", text[start:end]):
        begin = at if text.startswith(piece, at, end) else text.find(piece, at, end)
        if begin < 0:  # the library dropped or changed characters: keep the original ones
            continue
        if at > start and not _belongs_to_previous(text[max(starts[-1], at - _LOOK_BACK) : at], piece):
            starts.append(at)
        at = begin + len(piece)
    spans = list(pairwise((*starts, end)))
    if text.find("[", start, end) < 0 and text.find("【", start, end) < 0:
        return spans
    return [span for index in range(len(spans)) for span in [_with_own_citations(text, spans, index)] if span]


def _with_own_citations(text: str, spans: list[tuple[int, int]], index: int) -> tuple[int, int] | None:
    """Move citation markers at the head of a sentence to the end of the one before."""
    start, end = spans[index]
    if index and (found := _LEADING_CITATION.match(text, start, end)):
        start = found.end()
    if index + 1 < len(spans) and (found := _LEADING_CITATION.match(text, end, spans[index + 1][1])):
        end = found.end()
    return (start, end) if start < end else None


def _belongs_to_previous(previous: str, piece: str) -> bool:
    # Nearly always a full stop stands after a word that can't be an abbreviation, and a word comes next.
    last = previous.rstrip().rpartition(" ")[2]
    is_word = last[-1:] == "." and last[:-1].isalpha() and len(last) > 2
    if is_word and last.lower() not in _ABBREVIATIONS and piece[:1].isalnum():
        return False
    if not (_has_word(piece) and _has_word(previous)) or (not piece[0].isalnum() and _ONLY_CITATION.match(piece)):
        return True
    tail = previous[-24:].rstrip()
    if tail[-1:] != ".":
        return False
    if found := _LAST_WORD.search(tail):
        word = found.group(1).rstrip(".").lower()
        if word in _NEVER_LAST:
            # "ca. 30" is an abbreviation, "in Goleta, CA. It opens" ends with one of a state.
            return not (len(word) > 1 and found.group(1)[:-1].isupper() and _NEW_SENTENCE.match(piece))
        if word in _MAY_BE_LAST or len(word) == 1:
            return not _CAPITAL.match(piece)
    if tail[-2:-1].isdigit() and _DAY_NUMBER.search(tail):
        return bool(_MONTH.match(piece) or _ORDINAL.search(tail) or piece[:1].islower())
    return False
