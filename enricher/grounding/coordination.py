"""Cut an English sentence at the conjunctions and semicolons that join statements."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from enricher.grounding.lexicon import word_set
from enricher.grounding.verbs import (
    ADVERB,
    AUXILIARIES,
    BE,
    CHAINED,
    CLEAR_PRESENT,
    DETERMINERS,
    INFINITIVES,
    INTRANSITIVE,
    MODALS,
    PARTICIPLES,
    PAST,
    PLURAL_AUXILIARIES,
    PREPOSITIONS,
    PRONOUNS,
    REGULAR_PAST,
    SAYING,
    SUBORDINATE,
    UNCLEAR_PRESENT,
    Word,
    finite_place,
    is_finite,
    words_in,
)

_JOINT = re.compile(
    r"\s*;\s+(?:(?:and|but|however|moreover|furthermore),?\s+)?|,\s+(?:while|whereas)\s+|,?\s+(?:and|but|yet)\s+", re.I
)
_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|„[^“]*“|«[^»]*»|\([^()]*\)|\[[^\[\]]*\]")
_PREFIX = re.compile(
    r"(?:in|on|at|during|since|under|if|when|for|after|before|once|upon|until|following|by|from|within|where|with)\s[^,;]+,\s+",
    re.I,
)
_CONDITION = re.compile(
    r"[^,]\s(?:if|unless|when|whenever|until|provided|except|only|because|so\s+that|as\s+long\s+as"
    r"|(?:before|after)(?!\s+\d))\s",
    re.I,
)
_LIST_TAIL = re.compile(r",\s+(?:\w+\s+){0,2}\w+$")
_YEAR = re.compile(r"\b(?:1[5-9]|20)\d\d\b")
_TIME = re.compile(rf"{_YEAR.pattern}|\b(?:since|later|then|eventually|now|today)\b", re.I)
_QUOTING = word_set("say says said think thinks thought believe believes believed claim claims claimed")
_PAIRED = word_set("between both either neither whether")
_PERSONAL = word_set("it they he she we you i as than")
_PLURALS = word_set("they we you these those people children men women both all some many most several few others")
LONGEST_SUBJECT = 10  # words
_NO_NOUN = word_set("to as than such while")
_FAR = 8  # words of a subject before its verb


class Statement(NamedTuple):
    """One statement: where its own words stand, and its text with what it shares with others filled in."""

    start: int  # offsets into the sentence
    end: int
    text: str


def joined_statements(text: str, end: int) -> Iterator[Statement]:
    """Yield what stands between the conjunctions and semicolons that join statements."""
    hidden = [match.span() for match in _QUOTED.finditer(text)]
    prefix = _PREFIX.match(text)
    opened = prefix.end() if prefix else 0
    shared = prefix.group() if prefix else ""
    begin, filled = 0, ""
    subject: _Subject | None = None
    for joint in _JOINT.finditer(text, opened):
        if any(start <= joint.start() < stop for start, stop in hidden):
            continue
        left, right = text[begin or opened : joint.start()], text[joint.end() : end]
        is_hard = ";" in joint.group()
        subject = _subject_of(left) or subject
        if not _is_complete(left, has_subject=bool(filled)) and not (is_hard and len(words_in(left)) > 2):
            continue
        if not is_hard and (_continues_list(left, right) or not _may_be_cut(left, right)):
            continue
        opening = _opening(right, subject, is_hard=is_hard)
        # "owns and operates a plane": what follows the second verb belongs to the first one too.
        if opening is None or (opening and _ends_in_verb(left)):
            continue
        yield Statement(begin, joint.start(), filled + text[begin : joint.start()])
        begin = joint.end()
        filled = opening if is_hard or _has_own_time(shared, right) else shared + opening
    yield Statement(begin, end, filled + text[begin:end])


def _ends_in_verb(left: str) -> bool:
    words = words_in(left)
    return bool(words) and (words[-1].low in AUXILIARIES | PARTICIPLES or is_finite(words, len(words) - 1))


def _continues_list(left: str, right: str) -> bool:
    """Tell whether a stretch is the last thing of a list: "the inputs, outputs, and states of a model"."""
    words = words_in(right)
    if not words or not _LIST_TAIL.search(left):
        return False
    first = words[0].low
    return first not in AUXILIARIES | PRONOUNS | DETERMINERS and first not in PAST | REGULAR_PAST


def _has_own_time(prefix: str, right: str) -> bool:
    return bool(_YEAR.search(prefix) and _TIME.search(right))


class _Subject(NamedTuple):
    """What a statement is about, with the auxiliaries that follow it."""

    text: str
    chain: tuple[str, ...]


def _may_be_cut(left: str, right: str) -> bool:
    """Tell whether no condition, and nothing reported or denied, spans the conjunction."""
    if _CONDITION.search(f" {right}") or _CONDITION.search(left):
        return False
    words = words_in(left)
    for before, word in pairwise(words):
        if word.low in SUBORDINATE and not (word.low == "that" and before.low in SAYING):
            return False
        if before.low in _QUOTING and word.low != "that":
            return False  # "she said the offices in Berlin and Paris are closed"
    paired = [place for place, word in enumerate(words) if word.low in _PAIRED]
    return not paired or finite_place(words, paired[-1] + 1) is not None


def _is_complete(left: str, *, has_subject: bool) -> bool:
    """Tell whether a stretch has a subject and a finite verb with something after it."""
    words = words_in(left)
    place = finite_place(words)
    if place is None:
        return has_subject and len(words) >= 2
    is_last = place == len(words) - 1
    return (place > 0 or has_subject) and not (is_last and words[place].low in AUXILIARIES)


def _subject_of(left: str) -> _Subject | None:
    words = words_in(left)
    place = finite_place(words)
    if place is None or not 0 < place <= LONGEST_SUBJECT or words[0].low == "there":
        return None
    text = left[: words[place].start]
    own = words[:place]
    while own and ADVERB.match(f"{own[-1].low} "):
        own = own[:-1]
    is_pronoun = len(own) == 1 and own[0].low in PRONOUNS
    if not own or "," in text or not (is_pronoun or SUBORDINATE.isdisjoint(word.low for word in own)):
        return None
    if len(own) > 1 and any(word.low in _PERSONAL for word in own):
        return None
    text = left[: own[-1].end] + " "
    chain = []
    for word in words[place:]:
        if word.low not in AUXILIARIES and word.low not in CHAINED and word.low not in ("not", "never"):
            break
        chain.append(word.text)
    return _Subject(text, tuple(chain))


def _opening(right: str, subject: _Subject | None, *, is_hard: bool) -> str | None:
    """Return what has to be put before a stretch to make it a statement of its own; None if it is none."""
    adverb = ADVERB.match(right)
    words = words_in(right[adverb.end() :] if adverb else right)
    if len(words) < 2:
        return None
    if subject is not None and (missing := _before_verb(words, subject)) is not None:
        return missing
    place = next((place for place in range(min(len(words), _FAR)) if is_finite(words, place)), None)
    if not place:
        return "" if is_hard and any(word.is_number for word in words) and len(words) > 2 else None
    phrase, verb = words[:place], words[place].low
    if words[place].is_name or words[0].low == "that":
        return None  # a title, "My Girlfriend Is an Agent"; or more of what is reported
    if verb in AUXILIARIES and all(word.low == "not" for word in words[place + 1 :]):
        return None  # "while others do not"
    if verb in PLURAL_AUXILIARIES and not (phrase[-1].low.endswith("s") or phrase[-1].low in _PLURALS):
        return None  # "the offices in Berlin and Paris are closed"
    between = right[: words[place].start + (adverb.end() if adverb else 0)]
    is_subject = _is_noun_phrase(phrase) or is_hard
    return "" if is_subject and not re.search(r"[,;]|\s(?:and|or)\s", between) else None


def _is_noun_phrase(words: Sequence[Word]) -> bool:
    """Tell whether words name something that a verb after them can be said of."""
    first = words[0]
    if (
        any(word.low in SUBORDINATE or word.low in _NO_NOUN for word in words[1:])
        or first.low in SUBORDINATE - PRONOUNS
    ):
        return False  # "a producer who rose to fame"
    is_opened = first.low in DETERMINERS or first.low in PRONOUNS or first.is_name or first.is_number
    return is_opened or len(words) <= 2


def _before_verb(words: Sequence[Word], subject: _Subject) -> str | None:
    """Return the subject, with the auxiliaries it takes, if a stretch begins with a verb of it."""
    word, after = words[0], words[1]
    if after.low == "of" and word.low not in ("consists", "consisted"):
        return None  # "states of a model"
    chain = [part.lower() for part in subject.chain]
    is_denied = any(part in ("not", "never") or part.endswith("n't") for part in chain)
    has_object = after.low in DETERMINERS or after.is_number or after.is_name or after.low in PRONOUNS
    if word.low in AUXILIARIES or word.low in CLEAR_PRESENT or word.low in PAST - PARTICIPLES:
        return subject.text
    if word.low in UNCLEAR_PRESENT and has_object:
        return subject.text
    if word.low in PARTICIPLES or word.low.endswith("ed"):
        is_passive = (
            after.low in PREPOSITIONS
            and word.low not in INTRANSITIVE
            and any(part in BE or part in ("be", "been") for part in chain)
        )
        if is_passive:
            return None if is_denied else f"{subject.text}{' '.join(subject.chain)} "
        if word.low in PAST or word.low in REGULAR_PAST:
            # Only what may have an object or a place after it: "and painted walls" names a thing.
            return subject.text if has_object or (after.low in PREPOSITIONS and after.low != "by") else None
        return None
    if word.low in INFINITIVES and chain and chain[0] in MODALS and (has_object or after.low in PREPOSITIONS):
        return None if is_denied else f"{subject.text}{subject.chain[0]} "
    return None
