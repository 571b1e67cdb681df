"""Take relative clauses and lists of an English statement apart into statements of their own."""

import re
from collections.abc import Iterator

from enricher.grounding.coordination import LONGEST_SUBJECT, Statement
from enricher.grounding.lexicon import word_set
from enricher.grounding.verbs import (
    AUXILIARIES,
    CLEAR_PRESENT,
    DETERMINERS,
    PAST,
    PREPOSITIONS,
    REGULAR_PAST,
    SUBORDINATE,
    finite_place,
    is_finite,
    words_in,
)

_RELATIVE = re.compile(r",\s+(which|who)\s+(?=(\w+))", re.I)
_EFFECTS = word_set("led leads caused causes means meant makes made resulted results allows allowed helps helped")
_LIST_VERBS = word_set(
    """include includes included cover covers covered contain contains contained offer offers offered support
    supports supported provide provides provided require requires required exclude excludes excluded accept
    accepts accepted feature features featured lists sell sells sold"""
)
_LIST = re.compile(r"\s((?:[^,;]{2,60},\s+)+?[^,;]{2,60}?),?\s+and\s+([^,;]{2,60})")
_NO_THING = word_set("including but not only also even initially mainly mostly especially particularly")
_NO_LIST = re.compile(r"[(\":]|\bsuch as\b")
_LONGEST_ITEM = 6  # words


def taken_apart(text: str, piece: Statement) -> Iterator[Statement]:
    """Take ", which ..." and ", who ..." out of a statement as one of its own."""
    match = _RELATIVE.search(text, piece.start, piece.end)
    antecedent = _antecedent(text[piece.start : match.start()]) if match else None
    if match is None or antecedent is None or (match[2].lower() in _EFFECTS and match[1].lower() == "which"):
        yield piece
        return
    stop = text.find(",", match.end(), piece.end)
    words = words_in(text[match.end() : piece.end if stop < 0 else stop])
    is_verb = bool(words) and (words[0].low in AUXILIARIES or words[0].low in CLEAR_PRESENT | PAST | REGULAR_PAST)
    if not is_verb or len(words) < 2 or " and " in text[match.end() : piece.end if stop < 0 else stop]:
        yield piece
        return
    filled = piece.text[: len(piece.text) - (piece.end - piece.start)]
    if stop < 0:
        if finite_place(words_in(text[piece.start : match.start()])) is None:
            yield piece
            return
        yield Statement(piece.start, match.start(), filled + text[piece.start : match.start()])
        yield Statement(match.start(1), piece.end, f"{antecedent} {text[match.end() : piece.end]}")
        return
    rest = text[stop + 1 : piece.end].strip()
    if finite_place(words_in(text[piece.start : match.start()])) is None and not _starts_with_verb(rest):
        yield piece
        return
    yield Statement(piece.start, piece.end, f"{filled}{text[piece.start : match.start()]} {rest}")
    yield Statement(match.start(1), stop, f"{antecedent} {text[match.end() : stop]}")


def _starts_with_verb(rest: str) -> bool:
    words = words_in(rest)
    return bool(words) and (words[0].low in AUXILIARIES or words[0].low in CLEAR_PRESENT | PAST | REGULAR_PAST)


def _antecedent(left: str) -> str | None:
    """Return the noun phrase at the end of a stretch: the whole of it, or what follows its last verb or preposition."""
    words = words_in(left)
    if not words or "," in left:
        return None
    if finite_place(words) is None:
        return left.strip() if len(words) <= LONGEST_SUBJECT and words[-1].low not in PREPOSITIONS else None
    start = len(words)
    while start and words[start - 1].low not in PREPOSITIONS and not is_finite(words, start - 1):
        start -= 1
    phrase = words[start:]
    is_noun = bool(phrase) and (phrase[0].low in DETERMINERS or all(word.is_name for word in phrase))
    return left[phrase[0].start :].strip() if is_noun and not phrase[-1].is_number else None


def listed_statements(statement: Statement) -> Iterator[Statement]:
    """Split "covers theft, fire and flood" into one statement for each thing, if the verb says the same of each."""
    own = statement.text.rstrip(" .")
    spans = _items(own)
    filled = len(statement.text) - (statement.end - statement.start)  # characters before its own words
    if not spans or filled > spans[0][0]:
        yield statement
        return
    head, offset = own[: spans[0][0]], statement.start - filled
    for first, last in spans:
        start = statement.start if first == spans[0][0] else offset + first
        end = statement.end if last == spans[-1][1] else offset + last
        yield Statement(start, end, head + own[first:last])


def _items(text: str) -> list[tuple[int, int]]:
    """Return where the things stand that a verb lists; nothing if it is not plain that it says the same of each."""
    verb = next((word for word in words_in(text) if word.low in _LIST_VERBS), None)
    head = words_in(text[: verb.start]) if verb else []
    if verb is None or not head or any(word.low in SUBORDINATE for word in head):
        return []
    if re.search(r"[,:;]", text[: verb.end]) or _NO_LIST.search(text):
        return []
    match = _LIST.fullmatch(text, verb.end)
    if match is None:
        return []
    spans = [(found.start(), found.end()) for found in re.finditer(r"[^\s,][^,]*", text[verb.end : match.end(1)])]
    spans = [(verb.end + first, verb.end + last) for first, last in spans]
    spans.append(match.span(2))
    return [] if any(_is_no_item(text[first:last]) for first, last in spans) else spans


def _is_no_item(item: str) -> bool:
    words = words_in(item)
    return (
        not 0 < len(words) <= _LONGEST_ITEM
        or any(word.low in AUXILIARIES or word.low in SUBORDINATE for word in words)
        or words[0].low in PREPOSITIONS | _NO_THING
        or any(word.low == "like" for word in words)
        or " or " in item
    )
