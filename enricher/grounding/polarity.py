"""Read how a clause asserts (negation, modality, hedges, quantifiers, tense) and compare two readings."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from enum import IntEnum
from typing import NamedTuple

from enricher.grounding.tokens import Token, fold, key_of


class Force(IntEnum):
    """The modal force of a clause, weakest first."""

    PLAIN = 0
    MAY = 1
    SHOULD = 2
    MUST = 3


class Extent(IntEnum):
    """How much of its subject a clause speaks of; PLAIN when no quantifier says."""

    PLAIN = 0
    SOME = 1
    MANY = 2
    MOST = 3
    ALL = 4


class Marks(NamedTuple):
    """What the function words of a clause say about its assertion."""

    denied: frozenset[str] = frozenset()  # keys of what a negation is said of
    is_negated: bool = False
    force: Force = Force.PLAIN
    is_hedged: bool = False
    is_possible: bool = False  # "may", "might", "could": what may happen need not
    extent: Extent = Extent.PLAIN
    is_planned: bool = False  # will happen, or is only planned
    is_past: bool = False
    is_exclusive: bool = False  # "only"
    is_implicit: bool = False  # denies without a negation: "refused", "failed to", "rather than"
    sets_limit: bool = False  # by a negation: "must not bring more than two"
    permits: bool | None = None  # True for "may", False for "may not" and "prohibited"


def _set(words: str) -> frozenset[str]:
    return frozenset(fold(word) for word in words.split())


_NEGATIONS = _set(
    """not never none neither nor nobody nothing nowhere cannot can't don't doesn't didn't isn't aren't wasn't
    weren't won't wouldn't shouldn't couldn't mustn't hasn't haven't hadn't without unable lack lacks lacked lacking
    nicht kein keine keinen keiner keinem keines nie niemals ohne weder pas jamais aucun aucune sans nunca ningún
    ninguna ninguno sin tampoco jamás mai senza nessun nessuno nessuna nem nenhum nenhuma sem niet geen nooit zonder
    нет не ни لا ليس لم غير नहीं"""
)
_AMBIGUOUS_NEGATIONS = _set("no non não")
_ANY_NEGATION = _NEGATIONS | _AMBIGUOUS_NEGATIONS
_ENGLISH_NEGATIONS = _set(
    """not no never none neither nor nobody nothing nowhere cannot can't don't doesn't didn't isn't aren't wasn't
    weren't won't wouldn't shouldn't couldn't mustn't hasn't haven't hadn't without unable lack lacks lacked lacking
    non"""
)
_TRUTH = frozenset(map(key_of, ("true", "correct", "case", "evidence", "proof")))
_SCOPE = 7  # words after a negation that may hold what it denies
# Not a negation of the clause: "not only", "no later than 5 May", "no more than 10", "No. 3".
_AFTER_BOUND_NEGATION = _set(
    """only more less later earlier greater fewer longer sooner older younger higher lower exceed exceeding just merely
    doubt mehr weniger nur"""
)
_COMPARATIVES = _set("more greater higher longer later older less fewer lower earlier younger sooner shorter")
_LIMIT_REACH = 8  # words from a negation to the "than" of its bound
_UNSPACED_NEGATIONS = ("不", "没", "沒", "未", "无", "無", "非", "ません", "ない", "なく", "禁")
_IMPLICIT = _set(
    """refuse refused refuses refusing fail failed fails failing deny denied denies reject rejected rejects decline
    declined rule ruled avoid avoided prevent prevented prevents unlikely hardly barely rarely seldom doubt doubts
    stop stopped cease ceased instead rather unless except despite far absence neither without lack lacks lacking
    unable nor"""
)
_MUST = _set(
    """must shall required requires require obliged obligated mandatory compulsory obligatory needs muss müssen
    verpflichtet doit doivent obligatoire debe deben obligatorio deve devono obbligatorio moet moeten"""
)
_SHOULD = _set(
    "should ought recommended advised advisable sollte sollten empfohlen devrait devraient recommandé debería deberían"
)
_MAY = _set(
    """may might can could optional optionally permitted allowed entitled able eligible voluntary darf dürfen kann
    können könnte könnten peut peuvent pourrait puede pueden podría può possono pode podem kan mag"""
)
_MUST_NOT = _set("must mustn't shall darf dürfen")
_ALLOW, _PROHIBIT = key_of("allow"), key_of("prohibit")
_AVOID = _set("avoid avoids avoided avoiding prevent prevents prevented preventing vermeiden éviter evitar evitare")
_DROPPABLE_MAY = _set("may might could kann könnte könnten pourrait podría")
_NEED_TO = _set("have has had need needs")
_HEDGES = _set(
    """might possibly perhaps maybe probably likely apparently reportedly allegedly suggests suggest suggested appears
    appear appeared seems seem seemed believed thought speculated rumoured rumored unconfirmed preliminary tentative
    potentially presumably claims alleges argues believes associated linked correlated correlation correlates
    supposedly alleged uncertain unclear vermutlich wahrscheinlich möglicherweise vielleicht angeblich offenbar
    probablement peut-être apparemment probablemente quizás posiblemente presuntamente forse probabilmente"""
)
_HAVE = _set("have be")
_EXTENTS = {
    **dict.fromkeys(
        _set("some several few certain sometimes occasionally partly partially einige manche manchmal teilweise"), 1
    ),
    **dict.fromkeys(_set("quelques certains certaines parfois algunos algunas alcuni alcune rarely seldom selten"), 1),
    **dict.fromkeys(
        _set("many often frequently numerous viele oft häufig beaucoup souvent muchos muchas molti molte spesso"), 2
    ),
    **dict.fromkeys(
        _set("most majority usually generally mostly typically normally meist meistens plupart mayoría"), 3
    ),
    **dict.fromkeys(
        _set("all every each always everyone everybody entire entirely both completely alle jeder jede jedes"), 4
    ),
    **dict.fromkeys(
        _set("jeden immer sämtliche tous toutes chaque toujours todos todas cada siempre tutti tutte sempre"), 4
    ),
}
_PLANNED = _set(
    """will shall going plans planned planning intends intend intended scheduled expected expects proposed proposes
    aims hopes upcoming wird werden geplant plant soll sollen prévoit prévu sera seront prevé previsto será serán
    verrà sarà"""
)
_ONLY = _set(
    "only solely exclusively nur ausschließlich seulement uniquement sólo solamente únicamente solo soltanto alleen"
)
_PAST_FORMS = _set(
    """was were had did became began came went gave took made got saw ran won lost built bought sold left held led met
    paid said sent told found fell rose grew broke brought chose drew wrote spoke stood struck taught threw wore"""
)
_PRESENT_PERFECT = _set("has have")


def read_marks(tokens: Sequence[Token], text: str = "") -> Marks:
    """Read the marks of a clause from its tokens; `text` is looked at for scripts without spaces."""
    words = [token.word for token in tokens]
    present = _MARKERS.intersection(words)
    places = [] if _ANY_NEGATION.isdisjoint(present) else _negation_places(tokens, words)
    is_negated = len(places) % 2 == 1
    if not is_negated and text and not text.isascii():
        is_negated = sum(text.count(mark) for mark in _UNSPACED_NEGATIONS) % 2 == 1
    force = _force(words, present)
    return Marks(
        denied=_denied(tokens, places) if places else _NOTHING,
        is_negated=is_negated,
        force=force,
        is_hedged=not _HEDGES.isdisjoint(present) or ("have" in present and _has_weak_may(words)),
        is_possible=not _DROPPABLE_MAY.isdisjoint(present),
        extent=Extent.PLAIN
        if _EXTENT_WORDS.isdisjoint(present)
        else Extent(max(_EXTENTS[word] for word in present & _EXTENT_WORDS)),
        is_planned=not _PLANNED.isdisjoint(present),
        is_past=not _PAST_FORMS.isdisjoint(present) or any([w[-2:] == "ed" and len(w) > 4 for w in words]),
        is_exclusive="not" not in present and not _ONLY.isdisjoint(present),
        is_implicit=not _IMPLICIT.isdisjoint(present),
        sets_limit="than" in present
        and any(word in _ENGLISH_NEGATIONS and _limits_a_number(tokens, place) for place, word in enumerate(words)),
        permits=_permits(tokens, present, force, is_negated=is_negated),
    )


_EXTENT_WORDS = frozenset(_EXTENTS)
# All words that a mark is read from; the few of them that a clause has are compared with each set.
_MARKERS = frozenset(
    ("to", "than", *_ANY_NEGATION, *_IMPLICIT, *_MUST, *_SHOULD, *_MAY, *_MUST_NOT, *_AVOID, *_NEED_TO)
).union(_HEDGES, _EXTENT_WORDS, _PLANNED, _ONLY, _PAST_FORMS)
_NOTHING: frozenset[str] = frozenset()


def _negation_places(tokens: Sequence[Token], words: Sequence[str]) -> list[int]:
    places = []
    for index, word in enumerate(words):
        following = words[index + 1] if index + 1 < len(words) else ""
        if following in _AFTER_BOUND_NEGATION or (word in _ENGLISH_NEGATIONS and _limits_a_number(tokens, index)):
            continue
        if word in _NEGATIONS or (word in _AMBIGUOUS_NEGATIONS and following and not following.isdigit()):
            places.append(index)
    return places


def _limits_a_number(tokens: Sequence[Token], index: int) -> bool:
    """Tell whether a negation belongs to a bound: "do not take more than 3 tablets" sets a limit and denies nothing."""
    for place in range(index + 1, min(index + _LIMIT_REACH, len(tokens))):
        if tokens[place].word == "than" and tokens[place - 1].word in _COMPARATIVES:
            following = tokens[place + 1] if place + 1 < len(tokens) else None
            # A clause is read without its values, which leaves a gap where the number stood.
            return following is None or following.word[:1].isdigit() or following.start > tokens[place].end + 3
    return False


def _denied(tokens: Sequence[Token], places: Sequence[int]) -> frozenset[str]:
    """Return what the negations are said of: the next word with content; in other languages also the one before."""
    keys: set[str] = set()
    for place in places:
        following = [t.key for t in tokens[place + 1 : place + 1 + _SCOPE] if t.weight and not t.word.endswith("ly")]
        # "not true that X": what is denied comes after.
        keys ^= set(following[1:4] if following[:1] and following[0] in _TRUTH else following[:1])
        if tokens[place].word not in _ENGLISH_NEGATIONS:
            keys.update([t.key for t in tokens[:place] if t.weight][-1:])
    return frozenset(keys)


def _force(words: Sequence[str], present: AbstractSet[str]) -> Force:
    if not _MUST.isdisjoint(present):
        return Force.MUST
    if "to" in present and any(w in _NEED_TO and words[i + 1 : i + 2] == ["to"] for i, w in enumerate(words)):
        return Force.MUST
    if not _SHOULD.isdisjoint(present):
        return Force.SHOULD
    return Force.PLAIN if _MAY.isdisjoint(present) else Force.MAY


def _permits(tokens: Sequence[Token], present: AbstractSet[str], force: Force, *, is_negated: bool) -> bool | None:
    if not _AVOID.isdisjoint(present):
        return None  # "avoid allowing it" forbids it in other words
    keys = {token.key for token in tokens}
    if _PROHIBIT in keys:
        return is_negated
    if force is Force.MAY or _ALLOW in keys or "cannot" in present or "can't" in present:
        return not is_negated
    return False if force is Force.MUST and is_negated and present & _MUST_NOT else None


def _has_weak_may(words: Sequence[str]) -> bool:
    return any(w in ("may", "could") and words[i + 1 : i + 2] == ["have"] for i, w in enumerate(words))


def compare_marks(claim: Marks, evidence: Marks, around: Extent = Extent.PLAIN) -> list[str]:
    """Return how the strength of the claim differs from that of the evidence; polarity is compared word by word.

    A claim whose sentence says "some" in another clause (`around`) doesn't speak of all.
    """
    changes = []
    # "must not be more than two" and "may be up to two" set the same limit.
    is_limit = claim.sets_limit != evidence.sets_limit
    if not is_limit and claim.force is not evidence.force and (reason := _force_reason(claim, evidence)):
        changes.append(reason)
    if (evidence.is_hedged or evidence.is_possible) and not claim.is_hedged and claim.force is Force.PLAIN:
        changes.append("the evidence is hedged, the answer states it as certain")
    if claim.extent is Extent.PLAIN and around is Extent.SOME:
        claim = claim._replace(extent=around)
    if reason := _extent_reason(claim, evidence):
        changes.append(reason)
    if evidence.is_planned and not claim.is_planned and claim.is_past and not evidence.is_past:
        changes.append("the evidence speaks of something planned, the answer of something done")
    return changes


_FORCE_WORDS = {Force.PLAIN: "a plain statement", Force.MAY: "'may'", Force.SHOULD: "'should'", Force.MUST: "'must'"}


def _force_reason(claim: Marks, evidence: Marks) -> str:
    pair = (claim.force, evidence.force)
    if pair in (
        (Force.MUST, Force.MAY),
        (Force.MUST, Force.SHOULD),
        (Force.SHOULD, Force.MAY),
        (Force.MAY, Force.MUST),
        (Force.SHOULD, Force.MUST),
        (Force.MAY, Force.SHOULD),
    ) and not (claim.is_negated and evidence.is_negated and Force.SHOULD not in pair):
        return f"the evidence has {_FORCE_WORDS[evidence.force]}, the answer {_FORCE_WORDS[claim.force]}"
    return ""


def _extent_reason(claim: Marks, evidence: Marks) -> str:
    if claim.extent > evidence.extent > Extent.PLAIN:
        return f"the evidence speaks of {evidence.extent.name.lower()}, the answer of {claim.extent.name.lower()}"
    if evidence.extent is Extent.SOME and claim.extent is Extent.PLAIN:
        return "the evidence speaks only of some"
    return ""
