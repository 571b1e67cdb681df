"""Compare who does what: names put in place of others, and subjects and objects that changed places."""

import re
from collections.abc import Sequence

from enricher.grounding.reading import Reading
from enricher.grounding.tokens import FULL, Token

_PASSIVE = re.compile(r"\b(?:is|are|was|were|be|been|being|wird|wurde|worden|a\s+été|est|fue|ist)\b.{0,40}\b(?:by|von|par|por|da)\b", re.I)
_SYMMETRIC = frozenset(
    "marri meet merg partner collabor border neighbour neighbor equal differ compar connect link relat agre cooper sibl divorc "
    "brother sister friend play tie draw and with betwe combin interact cours talk speak".split(" ")
)
_COMPARATIVE = re.compile(r"\b(?:than|als)\b", re.I)
_VERB_ENDINGS = ("s", "ed", "en", "t", "ing")
_MODALS = frozenset("must shall may can will should could might would to did does do has have had".split(" "))
_IRREGULAR_VERBS = frozenset(
    "bought sold sued beat won lost led paid sent gave took made built found founded taught told met killed shot left hired "
    "wrote owes owed hit saw sought caught brought kept held".split(" ")
)


def swapped_roles(claim: Reading, evidence: Reading) -> tuple[str, str] | None:
    """Return the two words whose roles the claim exchanged, or None.

    A word that both share is the pivot. What stands before it in one and after it in the other has changed its role,
    unless one of them is in the passive.
    """
    shared = claim.all_keys & evidence.all_keys
    if len(shared) < 3:
        return None
    passive_differs = bool(_PASSIVE.search(claim.text)) != bool(_PASSIVE.search(evidence.text))
    for pivot in _pivots(claim, shared):
        left, right = _around(claim.tokens, pivot, shared)
        other_left, other_right = _around(evidence.tokens, pivot, shared)
        if passive_differs:
            other_left, other_right = other_right, other_left
        if not (left and right and other_left and other_right):
            continue
        crossed = set(left) & set(other_right), set(right) & set(other_left)
        kept = set(left) & set(other_left), set(right) & set(other_right)
        if crossed[0] and crossed[1] and not kept[0] and not kept[1]:
            return _word(claim, left, crossed[0]), _word(claim, right, crossed[1])
    return None


def _pivots(claim: Reading, shared: set[str]) -> list[str]:
    compared = bool(_COMPARATIVE.search(claim.text))
    found = []
    for index, token in enumerate(claim.tokens):
        if token.key not in shared or token.is_name or token.key in _SYMMETRIC or index == 0:
            continue
        before = claim.tokens[index - 1].word
        after = claim.tokens[index + 1].word if index + 1 < len(claim.tokens) else ""
        is_verb = (
            before in _MODALS
            or token.word in _IRREGULAR_VERBS
            or (token.word.endswith(("ed", "ing")) and before not in ("the", "a", "an", "of"))
            or (token.word.endswith("s") and before not in ("the", "a", "an", "of", "and", "all") and after in _DETERMINERS)
        )
        if is_verb or (compared and (after == "than" or token.word.endswith("er"))):
            found.append(token.key)
    return found


_DETERMINERS = frozenset("the a an its his her their all every any this that to no him them".split(" "))


def _around(tokens: Sequence[Token], pivot: str, shared: set[str]) -> tuple[list[str], list[str]]:
    places = [index for index, token in enumerate(tokens) if token.key == pivot]
    if len(places) != 1:
        return [], []
    left = [t.key for t in tokens[: places[0]] if t.key in shared and t.weight >= FULL and not t.word.isdigit()]
    right = [t.key for t in tokens[places[0] + 1 :] if t.key in shared and t.weight >= FULL and not t.word.isdigit()]
    return left, right


def _word(claim: Reading, side: Sequence[str], keys: set[str]) -> str:
    wanted = next(key for key in side if key in keys)
    return next(claim.text[t.start : t.end] for t in claim.tokens if t.key == wanted)


def replaced_name(claim: Reading, evidence: Reading) -> tuple[str, str] | None:
    """Return a name of the claim and the one that stands in its place in the evidence, or None.

    Both must stand beside the same word, so that "Anna leads the team" is held against "Paul leads the team" only.
    """
    unknown = claim.names - evidence.all_keys
    others = evidence.names - claim.all_keys
    if not unknown or not others:
        return None
    claimed = _name_neighbours(claim, unknown)
    found = _name_neighbours(evidence, others)
    for name, sides in claimed:
        for other, other_sides in found:
            if sides & other_sides:
                return name, other
    return None


def _name_neighbours(reading: Reading, names: frozenset[str]) -> list[tuple[str, set[tuple[str, str]]]]:
    """Return each run of the given names with the content word before and after it."""
    tokens = reading.tokens
    runs: list[tuple[str, set[tuple[str, str]]]] = []
    index = 0
    while index < len(tokens):
        if tokens[index].key not in names:
            index += 1
            continue
        first = index
        while index < len(tokens) and tokens[index].key in names:
            index += 1
        before = next((t.key for t in reversed(tokens[:first]) if t.weight), None)
        after = next((t.key for t in tokens[index:] if t.weight), None)
        sides = {(side, key) for side, key in (("before", before), ("after", after)) if key}
        runs.append((reading.text[tokens[first].start : tokens[index - 1].end], sides))
    return runs
