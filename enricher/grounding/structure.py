"""Read JSON, Python literals, tables and key-value lines as fields: path, value, and where both stand in the text."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

Value = str | bool | float | None


@dataclass(frozen=True, slots=True)
class Field:
    """One value of a structured text, with its path from the outside in; numbers of list elements are left out."""

    path: tuple[str, ...]
    value: Value
    start: int  # of what is quoted: the key and its value, or the cell
    end: int
    value_start: int  # of the value without its quotes
    value_end: int
    record: int = 0  # which record of the document it belongs to: the root object, the row


@dataclass(frozen=True, slots=True)
class Structure:
    """The fields of a structured stretch of a text, in order."""

    start: int
    end: int
    fields: tuple[Field, ...]
    is_nested: bool  # JSON and the like
    is_whole: bool  # its lines say nothing by themselves: a literal, or a table, whose head is above


_DEEPEST = 40  # levels; what is nested deeper is no record
_FEWEST = 2  # fields that make a structure
_LEAST_SHARE = 0.5  # of a text that must be structured
_OPENING = re.compile(r"[{\[]\s*(?:[{\[\"']|$)")
_SPACE = re.compile(r"[\s,]*")
_WORD = re.compile(r"[\w.+-]+")
_STRING = {
    '"': re.compile(r'u?"((?:[^"\\]|\\.)*)"', re.S),
    "'": re.compile(r"u?'((?:[^'\\]|\\.|'(?=[\w]))*)'", re.S),
}
_COLON = re.compile(r"\s*:\s*")
_CONSTANTS: dict[str, Value] = {
    "true": True,
    "false": False,
    "null": None,
    "none": None,
    "nan": None,
}
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.S)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": " ", "f": " "}
_KEY_VALUE = re.compile(
    r"[ \t]*(?:[-*•]\s+)?(?:\*\*)?(?P<key>[^\W\d_][^\n:：|{}\"]{0,38}?)(?:\*\*)?[ \t]*"
    r"[:：](?:\*\*)?[ \t]+(?P<value>\S[^\n]*?)[ \t]*$",
    re.M,
)
_KEY_WORDS = 5
_FEWEST_LINES = 3
_ROW = re.compile(r"^[ \t]*\|(.*)\|[ \t]*$", re.M)
_RULE = re.compile(r"[\s|:-]+")
_DELIMITERS = ("\t", ";", ",")
_CELL_WORDS = 8
_LINE = re.compile(r"[^\r\n]+")


def read_structure(text: str) -> Structure | None:
    """Return the structured part of a text, or None if it is prose."""
    return _nested(text) or _piped(text) or _delimited(text) or _key_values(text)


def unescape(raw: str) -> str:
    """Return what a quoted string of JSON or Python says."""
    if "\\" not in raw:
        return raw
    return _ESCAPE.sub(lambda m: chr(int(m[1], 16)) if m[1] else _ESCAPED.get(m[2], m[2]), raw)


# ------------------------------------------------------------------ JSON and Python literals
class _End(Exception):
    """The text ends, or goes on as no literal does; the fields read so far stand."""


class _Scanner:
    """Reads literals with offsets; what is cut off at the end is read as far as it goes."""

    def __init__(self, text: str, at: int) -> None:
        self.text, self.at = text, at
        self.fields: list[Field] = []
        self.record = 0

    def read(self) -> int:
        """Read one literal after another; return where the last one ended."""
        end = self.at
        try:
            while self.text[self.at : self.at + 1] in ("{", "["):
                self._value((), self.at, 0)
                end = self.at
                self.record += 1
                self._skip()
        except _End:
            return max(end, self.fields[-1].end) if self.fields else end
        return end

    def _skip(self) -> None:
        found = _SPACE.match(self.text, self.at)
        self.at = found.end() if found else self.at

    def _value(self, path: tuple[str, ...], start: int, depth: int) -> None:
        opening = self.text[self.at : self.at + 1]
        if depth > _DEEPEST or not opening:
            raise _End
        if opening == "{":
            self._object(path, depth)
        elif opening == "[":
            self._list(path, depth)
        elif string := self._string():
            first, last = string
            value = unescape(self.text[first:last])
            self.fields.append(Field(path, value, start, self.at, first, last, self.record))
        elif word := _WORD.match(self.text, self.at):
            self.at = word.end()
            self.fields.append(Field(path, _constant(word.group()), start, self.at, word.start(), self.at, self.record))
        else:
            raise _End

    def _string(self) -> tuple[int, int] | None:
        mark = self.text[self.at + 1 : self.at + 2] if self.text[self.at] == "u" else self.text[self.at]
        found = _STRING[mark].match(self.text, self.at) if mark in _STRING else None
        if found is None:
            return None
        self.at = found.end()
        return found.span(1)

    def _object(self, path: tuple[str, ...], depth: int) -> None:
        self.at += 1
        while True:
            self._skip()
            start = self.at
            if self.text[start : start + 1] == "}":
                self.at += 1
                return
            key = self._string() if start < len(self.text) else None
            if key is None:
                raise _End
            colon = _COLON.match(self.text, self.at)
            if colon is None:
                raise _End
            self.at = colon.end()
            self._value((*path, unescape(self.text[slice(*key)])), start, depth + 1)

    def _list(self, path: tuple[str, ...], depth: int) -> None:
        self.at += 1
        while True:
            self._skip()
            if self.text[self.at : self.at + 1] == "]":
                self.at += 1
                return
            if not depth and self.text[self.at : self.at + 1] == "{":
                self.record += 1
            self._value(path, self.at, depth + 1)


def _constant(word: str) -> Value:
    if word.lower() in _CONSTANTS:
        return _CONSTANTS[word.lower()]
    try:
        return float(word)
    except ValueError:
        return word


def _nested(text: str) -> Structure | None:
    if "{" not in text and "[" not in text:
        return None
    for opening in _OPENING.finditer(text):
        scanner = _Scanner(text, opening.start())
        end = scanner.read()
        if len(scanner.fields) >= _FEWEST and any(field.path for field in scanner.fields):
            if end - opening.start() < _LEAST_SHARE * len(text.strip()):
                return None
            return Structure(opening.start(), end, tuple(scanner.fields), is_nested=True, is_whole=True)
        if opening.start() > _LEAST_SHARE * len(text):
            return None
    return None


# ------------------------------------------------------------------ tables
def _piped(text: str) -> Structure | None:
    if text.count("|") < 2 * _FEWEST_LINES:
        return None
    rows = [(m.start(1), m.group(1)) for m in _ROW.finditer(text)]
    rule = next((n for n, (_, row) in enumerate(rows) if "-" in row and _RULE.fullmatch(row)), None)
    if rule != 1 or len(rows) <= 2:
        return None
    cells = [[(start, *part) for part in _cells(row, "|")] for start, row in rows if row.strip(" |:-")]
    return _table(cells, _LEAST_SHARE * len(text.strip()))


def _delimited(text: str) -> Structure | None:
    if text.count("\n") + text.count("\r") < _FEWEST_LINES - 1:
        return None
    lines = [(m.start(), m.group()) for m in _LINE.finditer(text) if m.group().strip()]
    if len(lines) < _FEWEST_LINES:
        return None
    for mark in _DELIMITERS:
        count = lines[0][1].count(mark)
        if count < (2 if mark == "," else 1) or any(line.count(mark) != count for _, line in lines):
            continue
        cells = [[(start, *part) for part in _cells(line, mark)] for start, line in lines]
        if all(len(cell.split()) <= _CELL_WORDS for row in cells for _, _, cell in row):
            return _table(cells, _LEAST_SHARE * len(text.strip()))
    return None


def _cells(row: str, mark: str) -> Iterator[tuple[int, str]]:
    """Yield the offset within the row and the text of each cell."""
    at = 0
    for raw in row.split(mark):
        yield at + len(raw) - len(raw.lstrip()), raw.strip()
        at += len(raw) + len(mark)


def _table(rows: Sequence[Sequence[tuple[int, int, str]]], least: float) -> Structure | None:
    """Read rows of (start of the row, offset in it, cell) under a head; the first cell names the row."""
    head = [cell for _, _, cell in rows[0]]
    fields = []
    for number, row in enumerate(rows[1:]):
        name = row[0][2]
        for column, (start, offset, cell) in zip(head, row, strict=False):
            at = start + offset
            path = (column,) if cell == name else (name, column)
            if cell:
                fields.append(Field(path, _plain(cell), at, at + len(cell), at, at + len(cell), number))
    if not fields:
        return None
    start, end = rows[0][0][0], fields[-1].end
    is_most = end - start >= least
    return Structure(start, end, tuple(fields), False, is_whole=True) if is_most and len(head) >= _FEWEST else None


# ------------------------------------------------------------------ key: value
def _key_values(text: str) -> Structure | None:
    if text.count(":") + text.count("：") < _FEWEST_LINES:
        return None
    lines = [m.group() for m in _LINE.finditer(text) if m.group().strip()]
    found = [m for m in _KEY_VALUE.finditer(text) if len(m["key"].split()) <= _KEY_WORDS]
    if len(found) < _FEWEST_LINES or len(found) < _LEAST_SHARE * len(lines):
        return None
    fields = tuple(
        Field((m["key"].strip(),), _plain(m["value"]), m.start("key"), m.end("value"), m.start("value"), m.end("value"))
        for m in found
    )
    return Structure(fields[0].start, fields[-1].end, fields, is_nested=False, is_whole=False)


def _plain(cell: str) -> Value:
    """Read a value that is written without quotes; "none" may be a word there."""
    lower = cell.lower()
    return {"true": True, "false": False, "null": None, "n/a": None}.get(lower, cell)
