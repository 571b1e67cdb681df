"""Compare who does what: names put in place of others, and subjects and objects that changed places."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from difflib import SequenceMatcher

from enricher.grounding.lexicon import word_set
from enricher.grounding.reading import Reading
from enricher.grounding.tokens import FULL, Token, fold, key_of

_BE = word_set("is are was were be been being wird wurde worden est fue ist")
_BY = word_set("by von par por da")
# Said of both sides alike, so that their order says nothing.
_SYMMETRIC = frozenset(
    map(
        key_of,
        word_set(
            """married met merged partnered collaborated bordered neighbours equals differs compared connected linked
            related agreed cooperated divorced played tied drew combined interacted talked spoke shared"""
        ),
    )
)
_MODALS = word_set("must shall may can will should could might would to did does do has have had")
_IRREGULAR_VERBS = word_set(
    """bought sold sued beat won lost led paid sent gave took made built found founded taught told met killed shot left
    hired wrote owes owed hit saw sought caught brought kept held"""
)


_RELATIONS = (("before", "after"), ("above", "below"), ("inside", "outside"), ("vor", "nach"), ("avant", "après"))
_OPPOSITE_RELATIONS = {a: b for left, right in _RELATIONS for a, b in ((left, fold(right)), (fold(right), left))}
_SAME_SPELLING = 0.9  # of the letters, as SequenceMatcher counts them
_NEAR = 2  # content words on each side of a verb that are its subject and object


def swapped_roles(claim: Reading, evidence: Reading) -> tuple[str, str] | None:
    """Return the two words whose roles the claim exchanged, or None.

    A verb that both share is the pivot. What stands before it in one and after it in the other has changed its role,
    unless one of them is in the passive.
    """
    if len(claim.all_keys & evidence.all_keys) < _FEWEST_SHARED:
        return None
    for clause in claim.clauses:
        if len(clause.keys) < _FEWEST_SHARED or not (pivots := _pivots(clause.tokens, evidence.all_keys)):
            continue
        for other in evidence.clauses:
            if len(clause.keys.keys() & other.keys.keys()) < _FEWEST_SHARED:
                continue
            if crossed := _crossed(clause.tokens, pivots, other.tokens):
                return _word(claim, crossed[0]), _word(claim, crossed[1])
    return None


def _crossed(
    claim: Sequence[Token], pivots: Sequence[tuple[int, str]], evidence: Sequence[Token]
) -> tuple[str, str] | None:
    theirs = {key: index for index, key in _pivots(evidence, {key for _, key in pivots})}
    for index, key in pivots:
        if key not in theirs:
            continue
        left, right = _around(claim, index)
        other_left, other_right = _around(evidence, theirs[key])
        if _lacks_object(claim, index) or _lacks_object(evidence, theirs[key]):
            continue
        if _is_passive(claim, index) != _is_passive(evidence, theirs[key]):
            other_left, other_right = other_right, other_left
        subject, thing = left[-1:], right[:1]
        if not (subject and thing):
            continue
        has_moved = subject[0] in other_right and thing[0] in other_left
        if has_moved and subject[0] not in other_left and thing[0] not in other_right:
            return subject[0], thing[0]
    return None


def _pivots(tokens: Sequence[Token], keys: AbstractSet[str]) -> list[tuple[int, str]]:
    """Return the places of those of the given keys that are pivots."""
    return [(i, t.key) for i, t in enumerate(tokens) if t.key in keys and _is_pivot(tokens, i)]


def _is_pivot(tokens: Sequence[Token], index: int) -> bool:
    """Tell whether a token is a verb, or a comparison, with something on both sides."""
    token = tokens[index]
    if not 0 < index < len(tokens) - 1:
        return False
    if token.is_name or not token.weight or token.key in _SYMMETRIC:
        return False
    before, after = tokens[index - 1].word, tokens[index + 1].word
    if after == "than" or (before in ("more", "less") and "than" in [t.word for t in tokens[index + 1 : index + 3]]):
        return True
    if before in _ARTICLES:
        return False
    return (
        before in _MODALS
        or token.word in _IRREGULAR_VERBS
        or token.word.endswith("ed")
        or (token.word.endswith("s") and (after in _DETERMINERS or tokens[index + 1].is_name))
    )


_FEWEST_SHARED = 3
_PREPOSITIONS = word_set("in on at for with from to of into onto over under after before during since until through as")
_ARTICLES = word_set("the a an of and or all some")
_DETERMINERS = word_set("the a an its his her their all every any this that him them")


def _lacks_object(tokens: Sequence[Token], pivot: int) -> bool:
    """Tell whether what follows a verb is only where, when or how: then it is no role."""
    for token in tokens[pivot + 1 :]:
        if token.word in _BY or token.word == "than":
            return False
        if token.word in _PREPOSITIONS:
            return True
        if token.weight >= FULL:
            return False
    return True


def _is_passive(tokens: Sequence[Token], pivot: int) -> bool:
    if not any([t.word in _BY for t in tokens]):
        return False
    return any(t.word in _BY for t in tokens[pivot + 1 : pivot + 3]) or (
        any(t.word in _BE for t in tokens[max(0, pivot - 3) : pivot]) and any(t.word in _BY for t in tokens[pivot:])
    )


def _around(tokens: Sequence[Token], pivot: int) -> tuple[list[str], list[str]]:
    """Return the keys nearest to a verb on each side, without those that stand on both."""
    left = [t.key for t in tokens[:pivot] if t.weight >= FULL and not t.word.isdigit()]
    right = [t.key for t in tokens[pivot + 1 :] if t.weight >= FULL and not t.word.isdigit()]
    both = set(left) & set(right)
    return [key for key in left if key not in both][-_NEAR:], [key for key in right if key not in both][:_NEAR]


def _word(claim: Reading, key: str) -> str:
    return next(claim.text[t.start : t.end] for t in claim.tokens if t.key == key)


def crossed_relation(claim: Sequence[Token], evidence: Sequence[Token]) -> tuple[str, str] | None:
    """Return the relation of the claim and the opposite one the evidence has to the same thing: "after", "before"."""
    theirs = _relations(evidence)
    for thing, word in _relations(claim).items():
        other = theirs.get(thing)
        if other is not None and _OPPOSITE_RELATIONS.get(word) == other:
            return f"'{word}'", f"'{other}'"
    return None


def _relations(tokens: Sequence[Token]) -> dict[str, str]:
    found: dict[str, str] = {}
    for index, token in enumerate(tokens):
        if token.word in _OPPOSITE_RELATIONS:
            thing = next((t.key for t in tokens[index + 1 : index + 5] if t.weight), None)
            if thing is not None:
                found.setdefault(thing, token.word)
    return found


def replaced_name(claim: Reading, evidence: Reading, unknown: frozenset[str]) -> tuple[str, str] | None:
    """Return a name that no document holds and the one that stands in its place in the evidence, or None.

    Both must stand between the same words (or at the same end of the sentence), so that "Anna leads the team" is held
    against "Paul leads the team" only.
    """
    others = evidence.names - claim.all_keys
    if not others:
        return None
    found = _name_places(evidence, others)
    for name, sides in _name_places(claim, unknown):
        for other, other_sides in found:
            if sides == other_sides and any(sides) and not _is_spelled_like(name, other):
                return name, other
    return None


def _is_spelled_like(name: str, other: str) -> bool:
    """Tell whether two names are one, misspelt or cut off: "Europe's" and "Euroupe's"; not Austria and Australia."""
    short, long = sorted((fold(name), fold(other)), key=len)
    return long.startswith(short) or SequenceMatcher(None, short, long, autojunk=False).ratio() >= _SAME_SPELLING


def _name_places(reading: Reading, names: frozenset[str]) -> list[tuple[str, tuple[str | None, str | None]]]:
    """Return each run of the given names with the content word before and after it, None at the ends."""
    tokens = reading.tokens
    runs: list[tuple[str, tuple[str | None, str | None]]] = []
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
        runs.append((reading.text[tokens[first].start : tokens[index - 1].end], (before, after)))
    return runs
