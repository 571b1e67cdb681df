"""Split a sentence into the statements it makes, with exact offsets; where words alone don't tell, it stays whole."""

import re

from enricher.grounding.coordination import Statement, joined_statements
from enricher.grounding.enumeration import listed_statements, taken_apart
from enricher.grounding.lexicon import word_set
from enricher.grounding.reading import read
from enricher.grounding.verbs import FOREIGN, words_in

_FOREIGN_JOINT = re.compile(r"\s*;\s+|,?\s+(?:und|aber|während|et|mais|y|e|pero|ma|mas|en|maar)\s+", re.I)
_FOREIGN_SUBORDINATE = re.compile(
    r"\b(?:dass|weil|wenn|ob|falls|obwohl|sofern|solange|sobald|bevor|nachdem|zwischen|sowohl|weder|que|qui|dont|si|quand|lorsque"
    r"|parce|entre|cuando|porque|ni|che|cui|se|quando|perché|dat|omdat|als|tussen)\b",
    re.I,
)
_FOREIGN_OPENING = word_set(
    """der die das den dem des ein eine einen es er sie wir ihr diese dieser dieses sein seine ihre kein keine le
    la les l un une il elle ils elles ce cette son sa ses el los las una su sus lo i gli o a os as um uma het de
    een zij hij"""
)
_FAR_FOREIGN = 6  # words
_KANA = re.compile("[\u3040-\u30ff]")
_JAPANESE_JOINT = re.compile(r"(?<=[でがしりくて])、(?!\s*(?:また|かつ)は)|；")
_JAPANESE_BOUND = re.compile(r"(?:まで|ので|のて|として|について|に関して|によって|において|場合|とき|ても|でも|では)$")
_CHINESE_JOINT = re.compile(r"[；，](?:而|但是?|同时)?")
_CHINESE_NUMBER = re.compile(r"[\d一二三四五六七八九十百千万]")
_CHINESE_VERB = re.compile("是|为|有|需|应|可|须|必|不得|包括|达|占")


def split_statements(text: str) -> list[Statement]:
    """Return the statements of a sentence in order; one for the whole where it can't be split with certainty."""
    end = len(text.rstrip())
    language = "ja" if _KANA.search(text) else read(text).language
    if language == "ja":
        spans = _japanese(text)
    elif language == "zh":
        spans = _chinese(text)
    elif language in FOREIGN:
        spans = _foreign(text, FOREIGN[language])
    elif language in (None, "en"):
        return _english(text, end)
    else:
        spans = [(0, end)]
    if len(spans) < 2:
        return [Statement(0, len(text), text)]
    return [Statement(start, stop, text[start:stop]) for start, stop in spans]


def _english(text: str, end: int) -> list[Statement]:
    pieces = list(joined_statements(text, end))
    statements = [made for piece in pieces for made in taken_apart(text, piece)]
    statements = [made for statement in statements for made in listed_statements(statement)]
    if len(statements) < 2:
        return [Statement(0, len(text), text)]
    return statements


def _foreign(text: str, verbs: frozenset[str]) -> list[tuple[int, int]]:
    """Cut between two full clauses: each has its own subject and a finite verb."""
    if _FOREIGN_SUBORDINATE.search(text):
        return [(0, len(text))]
    end, begin, spans = len(text.rstrip()), 0, list[tuple[int, int]]()
    for joint in _FOREIGN_JOINT.finditer(text):
        left, right = words_in(text[begin : joint.start()]), words_in(text[joint.end() : end])
        has_left = any(word.low in verbs for word in left[1:]) and left[0].low not in verbs
        opens = bool(right) and (right[0].low in _FOREIGN_OPENING or right[0].is_name or right[0].is_number)
        if has_left and opens and any(word.low in verbs for word in right[1:_FAR_FOREIGN]):
            spans.append((begin, joint.start()))
            begin = joint.end()
    return [*spans, (begin, end)]


def _japanese(text: str) -> list[tuple[int, int]]:
    """Cut after a clause that ends in a connective form, if it and what follows each have a topic of their own."""
    end, begin, spans = len(text.rstrip()), 0, list[tuple[int, int]]()
    for joint in _JAPANESE_JOINT.finditer(text):
        left, right = text[begin : joint.start()], text[joint.end() : end]
        has_topics = "は" in left[1:] and "は" in right[1:16]
        if has_topics and not _JAPANESE_BOUND.search(left) and not re.search("場合|なら|れば|たら", left):
            spans.append((begin, joint.start()))
            begin = joint.end()
    return [*spans, (begin, end)]


def _chinese(text: str) -> list[tuple[int, int]]:
    """Cut between clauses that each have a subject, a verb and a value."""
    end, begin, spans = len(text.rstrip()), 0, list[tuple[int, int]]()
    for joint in _CHINESE_JOINT.finditer(text):
        left, right = text[begin : joint.start()], re.split("[；，。]", text[joint.end() : end])[0]
        if re.search("如果|若|除非|因为|虽然|当", left):
            continue
        if _has_value_of_its_own(left) and _has_value_of_its_own(right):
            spans.append((begin, joint.start()))
            begin = joint.end()
    return [*spans, (begin, end)]


def _has_value_of_its_own(clause: str) -> bool:
    verb = _CHINESE_VERB.search(clause)
    return verb is not None and verb.start() >= 2 and bool(_CHINESE_NUMBER.search(clause))
