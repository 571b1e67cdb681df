"""Tell whether a sentence of the evidence denies what a clause says, or only asks, supposes or speaks of another."""

import re
from collections.abc import Mapping, Sequence

from enricher.grounding.lexicon import word_set
from enricher.grounding.reading import Clause, Reading
from enricher.grounding.search import Evidence, Source
from enricher.grounding.tokens import Token, key_of

_MAX_QUOTED = 90  # characters of either side in an explanation
_TIME_PAIRS = frozenset({key_of("open"), key_of("close"), key_of("begin"), key_of("end")})
_PERMISSION = frozenset({key_of("allow"), key_of("prohibit")})
# Titles of pages ask without a question mark: "Why do cables need screws".
_ASKS = re.compile(
    r"\W*(?:why|how|what|when|where|who|which)\s+(?:do|does|did|is|are|was|were|can|could|should|would|will)\b|\W*(?:do|does|did)\s",
    re.I,
)
# "unclear why he was not held": what is asked inside a clause is not said.
_EMBEDDED = word_set("why whether warum ob pourquoi")
_NOT_ONLY = word_set("not isn't aren't wasn't weren't nicht pas no")
_JOINED = word_set("and but or und aber oder et mais ou y pero o")
_BREAKS_OFF = word_set("not cannot can't don't doesn't didn't isn't aren't wasn't weren't won't hasn't haven't nicht")
# A clause that begins so sets a case and doesn't say that it is so.
_CASES = word_set(
    "if when whenever unless until once whether wenn falls sobald bis si quand lorsque cuando hasta quando"
)


def asserts(source: Source, evidence: Evidence, place: int) -> bool:
    """Tell whether a sentence says that something is so: a question and a heading deny nothing."""
    text = source.text.rstrip(" \"'”’)")
    is_title = place in evidence.headings and not text.endswith((".", "!", "。", "！"))
    return not is_title and not text.endswith(("?", "？")) and not _ASKS.match(text)


def denial(clause: Clause, other: Clause, source: Source, opposites: Mapping[str, str]) -> str:
    """Say how the clause asserts what its counterpart denies, or the other way round; empty if it doesn't.

    `opposites` are the words of the clause whose opposite stands in its place, with that opposite.
    """
    return _polarity_clash(clause, other, source, opposites) if _may_deny(clause, other, source, opposites) else ""


def _may_deny(clause: Clause, other: Clause, source: Source, opposites: Mapping[str, str]) -> bool:
    """Tell whether one of two clauses can deny what the other says: both are told of the same subject."""
    if _sets_case(clause) != _sets_case(other):
        return False
    words = {t.word for t in (*clause.tokens, *other.tokens)}
    is_not_only = "only" in words and not _NOT_ONLY.isdisjoint(words)
    is_awaited = "yet" in words and "until" in words
    if is_not_only or is_awaited or not _EMBEDDED.isdisjoint(words):
        return False
    if clause.tokens and clause.tokens[-1].word in _BREAKS_OFF:
        return False  # "while these cannot": what they cannot was said before
    return not _differ_in_subject(clause, other, source, opposites)


def _sets_case(clause: Clause) -> bool:
    return bool(clause.tokens) and clause.tokens[0].word in _CASES


def _differ_in_subject(clause: Clause, other: Clause, source: Source, opposites: Mapping[str, str]) -> bool:
    """Tell whether each clause begins with a word that the other lacks: "mule deer", "white-tailed deer"."""
    lead = other.tokens[0].word in _JOINED if other.tokens else False
    theirs = _first_word(source.reading.tokens if lead else other.tokens)
    ours = _first_word(clause.tokens)
    if ours is None or theirs is None or ours in opposites:
        return False
    return ours not in source.reading.all_keys and theirs not in clause.keys


def _first_word(tokens: Sequence[Token]) -> str | None:
    return next((t.key for t in tokens if t.weight), None)


def _polarity_clash(clause: Clause, other: Clause, source: Source, opposites: Mapping[str, str]) -> str:
    claimed, held = clause.marks, other.marks
    if not claimed.denied and not held.denied and claimed.is_negated != held.is_negated:
        return _both(clause, source, other)  # scripts without spaces
    both_permit = None not in (claimed.permits, held.permits) and not claimed.is_hedged
    if both_permit and claimed.permits is not held.permits:
        return _both(clause, source, other)
    same_sign = claimed.is_negated == held.is_negated or claimed.is_implicit or held.is_implicit
    for key in clause.keys if not (both_permit or same_sign) else ():
        if key in other.keys and (key in claimed.denied) != (key in held.denied):
            return _both(clause, source, other)
    for key, opposite in opposites.items():
        if key in _TIME_PAIRS and any(q.dimension == "time" for q in clause.quantities):
            continue  # "closes at 16:45" and "open until 16:45" say the same
        if both_permit and key in _PERMISSION:
            continue
        if (key in claimed.denied) == (opposite in held.denied):
            return says(quoted(spelled(clause, key)), source, quoted(spelled_in(source.reading, opposite)))
    return ""


def _both(clause: Clause, source: Source, other: Clause) -> str:
    return says(quoted(clause.text), source, quoted(other.text))


def spelled(clause: Clause, key: str) -> str:
    """Return the first word of a clause that has this key, as it is written."""
    return next((t.word for t in clause.tokens if t.key == key), key)


def spelled_in(reading: Reading, key: str) -> str:
    """Return the first word of a sentence that has this key, as it is written."""
    return next((reading.text[t.start : t.end] for t in reading.tokens if t.key == key), key)


def says(claimed: str, source: Source, evidence: str) -> str:
    """Set what the answer says beside what a document says."""
    return f"answer says {claimed}, {source.document.id} says {evidence}"


def quoted(text: str) -> str:
    """Return a text as an explanation quotes it: on one line, not too long."""
    text = " ".join(text.split()).strip(" ,;:")
    return f"'{text}'" if len(text) <= _MAX_QUOTED else f"'{text[:_MAX_QUOTED].rsplit(' ', 1)[0]} …'"
