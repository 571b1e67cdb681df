"""Put the fields of a structured text into words, so that they can be searched and compared like sentences."""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from enricher.grounding.lexicon import word_set
from enricher.grounding.structure import Field, Structure, unescape


class Statement(NamedTuple):
    """What a stretch of a document says, in words; `start` and `end` are offsets into the document."""

    start: int
    end: int
    text: str
    record: int
    follows: bool  # goes on with the statement before it: the next sentence of one text
    fields: tuple[Field, ...]


_WIFI = re.compile(r"wi[-_ ]?fi", re.I)
_KEY_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-zà-ɏ]+|\d+|[^\W\d_A-Za-zà-ɏ]+")
# Words of a path that only hold its fields together.
_CONTAINERS = word_set(
    """attributes attribute data info information details detail fields properties props metadata meta result results
    items item records record entry entries value values restaurants business businesses structured"""
)
_PROSE_WORDS = 12  # from so many on, a value is a text of its own
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])[\"'”’)]*(?:\s|\\n)+|\\n(?:\\n|\s)*|(?<=[。！？])")
_NAMES = word_set("name title subject product heading label nombre nom titel bezeichnung")
_NO = word_set("no none false not_available unavailable")
_MIDNIGHT_SPAN = re.compile(r"0{1,2}:0{1,2}\s*[-–]\s*0{1,2}:0{1,2}$")
_CLOCK = re.compile(r"\b(\d{1,2}):(\d)(?!\d)")


@lru_cache(maxsize=4096)
def key_words(key: str) -> tuple[str, ...]:
    """Return the words of a key in lower case: "RestaurantsTakeOut", "take_out" and "Take Out" are take, out."""
    words = [word.lower() for word in _KEY_WORD.findall(_WIFI.sub("Wifi", key))]
    return tuple(w for w in words if w not in _CONTAINERS and not w.isdigit())


def path_words(field: Field) -> tuple[str, ...]:
    """Return the words of a path, each once."""
    return tuple(dict.fromkeys(word for key in field.path for word in key_words(key)))


def is_name(field: Field) -> bool:
    """Tell whether a field names what its record is about."""
    return len(field.path) == 1 and isinstance(field.value, str) and not _NAMES.isdisjoint(key_words(field.path[0]))


def is_denied(field: Field) -> bool:
    """Tell whether a field says no."""
    return field.value is False or (isinstance(field.value, str) and field.value.strip().lower() in _NO)


def statements(text: str, structure: Structure) -> Iterator[Statement]:
    """Yield what a structured text says, in order; fields without a value say nothing."""
    if structure.is_nested:
        for field in structure.fields:
            yield from _spoken(text, field)
        return
    for record, row in groupby(structure.fields, key=lambda field: field.record):
        cells = tuple(row)
        said = "; ".join(_said(cell) for cell in cells if cell.value is not None)
        yield Statement(cells[0].start, cells[-1].end, said, record, False, cells)


def _spoken(text: str, field: Field) -> Iterator[Statement]:
    if isinstance(field.value, str) and len(field.value.split()) >= _PROSE_WORDS:
        for number, (start, end) in enumerate(_sentences(text, field.value_start, field.value_end)):
            said = unescape(text[start:end]).replace("\n", " ")
            yield Statement(start, end, said, field.record, number > 0, (field,))
    elif field.value is not None and field.value != "":
        yield Statement(field.start, field.end, _said(field), field.record, False, (field,))


def _said(field: Field) -> str:
    words = " ".join(path_words(field))
    if is_denied(field):
        return f"no {words}"
    if field.value is True:
        return f"{words}: yes"
    if isinstance(field.value, float):
        return f"{words}: {field.value:g}"
    value = str(field.value).replace("\n", " ")
    if _MIDNIGHT_SPAN.match(value):
        return words
    value = _CLOCK.sub(r"\1:0\2", value)
    return f"{words}: {value}"


def _sentences(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the sentences of a quoted text; a line break written as `\\n` ends one too."""
    at = start
    for gap in _SENTENCE_END.finditer(text, start, end):
        if text[at : gap.start()].strip():
            yield at, gap.start()
        at = gap.end()
    if text[at:end].strip():
        yield at, end
