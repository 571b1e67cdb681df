"""Find where documents disagree, among themselves and about what the answer says. It is shown, never resolved."""

import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import StrEnum

from enricher.grounding.bounds import Bound
from enricher.grounding.clashes import PassageClash, clash_between, is_worth_comparing
from enricher.grounding.comparison import Likeness, compare
from enricher.grounding.lexicon import word_set
from enricher.grounding.measures import Quantity
from enricher.grounding.reading import Reading, read
from enricher.grounding.search import Evidence, Source, evidence_of
from enricher.grounding.tokens import LIGHT, key_of
from enricher.grounding.versions import is_older, version_of
from enricher.trace import Document, Item
from enricher.verdict import Quote, QuoteCheck, SourceConflict, Stance

_MOST_SENTENCES = 400  # that are compared; beyond, those that share most with question and answer
_NEAREST = 6  # sentences of other documents that each is compared with
_MOST_PASSAGES = 6  # of one conflict that are shown
_ON_TOPIC = 0.5  # of the words of a claim that the passages must hold
_MIDDLE = 0.03  # of the distance between two values by which a mean may be off
_MARGIN = 0.25  # of that distance round either value, where a rough value is taken for it
_AVERAGE = re.compile(
    r"\b(?:average|averag\w+|mean|around|about|roughly|approximately|durchschnitt\w*|im\s+mittel|moyenne|promedio)\b",
    re.I,
)

# What is said of sources, not of their matter.
_TALK = frozenset(
    map(
        key_of,
        word_set(
            """source sources document documents report reports paper study sheet differ differs disagree conflict
            contradict inconsistent discrepancy according state states however whereas one other another quelle quellen
            dokument source selon fuente"""
        ),
    )
)


class Touch(StrEnum):
    """What a claim makes of a conflict."""

    ONE_SIDE = "one side"
    ALL_SIDES = "all sides"
    BLEND = "blend"  # a mean or a range that no document gives
    NEITHER = "neither"  # another value altogether


@dataclass(frozen=True, slots=True)
class Passage:
    """A sentence that takes part in a conflict, and what it says there."""

    source: Source
    said: str
    value: Quantity | None

    @property
    def document(self) -> Document:
        """Return the document it stands in."""
        return self.source.document

    def quote(self, stance: Stance | None = None) -> Quote:
        """Return the sentence as evidence."""
        source = self.source
        return Quote(
            document_id=source.document.id,
            text=source.text,
            start=source.start,
            end=source.end,
            check=QuoteCheck.VERIFIED,
            occurrences=source.document.text.count(source.text),
            span_id=source.document.span_id,
            stance=stance,
        )


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Passages of two documents or more that do not agree on one matter."""

    passages: tuple[Passage, ...]

    @property
    def values(self) -> tuple[Quantity, ...]:
        """Return the values that are given, if it is values they disagree on."""
        return tuple(p.value for p in self.passages if p.value is not None)

    def described(self, item: Item, claim_id: str | None = None) -> SourceConflict:
        """Describe the conflict for people."""
        sides: dict[str, list[str]] = {}
        for passage in self.passages:
            named = sides.setdefault(passage.said, [])
            if passage.document.id not in named:
                named.append(passage.document.id)
        told = "; ".join(f"{_listed(ids)} {_says(ids)} '{' '.join(said.split())}'" for said, ids in sides.items())
        ids = [passage.document.id for passage in self.passages]
        return SourceConflict(
            description=told,
            passages=tuple(passage.quote() for passage in self.passages[:_MOST_PASSAGES]),
            dates=dates_of(item.documents, ids),
            recommendation=recommended(item.documents, ids),
            claim_id=claim_id,
        )


@dataclass(frozen=True, slots=True)
class Stand:
    """How a claim stands to a disagreement."""

    disagreement: Disagreement
    touch: Touch
    supporting: tuple[Passage, ...] = ()
    contradicting: tuple[Passage, ...] = ()

    @property
    def evidence(self) -> tuple[Quote, ...]:
        """Return the passages of both sides with their stances."""
        return (
            *(passage.quote(Stance.SUPPORTS) for passage in self.supporting[: _MOST_PASSAGES // 2]),
            *(passage.quote(Stance.CONTRADICTS) for passage in self.contradicting[: _MOST_PASSAGES // 2]),
        )

    @property
    def follows_older(self) -> bool:
        """Tell whether the claim follows documents that are all older than one that says otherwise."""
        ours = [version_of(passage.document) for passage in self.supporting]
        theirs = [version_of(passage.document) for passage in self.contradicting]
        return bool(ours) and any(all(is_older(own, other) for own in ours) for other in theirs)


def disagreements(item: Item) -> list[Disagreement]:
    """Find what the documents of an item disagree on."""
    if len(item.documents) < 2:
        return []
    evidence = evidence_of(item)
    topic = _topic(item)
    return _grouped(_clashes(evidence, topic, item))


def stands(claims: Sequence[str], found: Sequence[Disagreement], item: Item) -> list[list[Stand]]:
    """Tell for each claim what it makes of each disagreement that it touches."""
    topic = _topic(item)
    return [[s for d in found if (s := _stand(read(claim), d, topic))] for claim in claims]


def contested(claim: Reading, places: Sequence[int], evidence: Evidence, item: Item) -> Disagreement | None:
    """Return how another document disagrees with the sentences that bear a claim out; None when none does.

    Only what is nearest to the claim is looked at: to find all that documents disagree on is the consistency judge's.
    """
    topic = _topic(item)
    nearest = evidence.best(claim.keys, _NEAREST)
    for place in places:
        left = evidence.sources[place]
        if not is_worth_comparing(left.reading):
            continue
        for other in nearest:
            right = evidence.sources[other]
            if right.document is left.document or right.text == left.text or other in places:
                continue
            clash = clash_between(left, right, topic)
            found = _grouped([clash])[0] if clash is not None else None
            stand = _stand(claim, found, topic) if found is not None else None
            if stand is not None and stand.touch is Touch.ONE_SIDE:
                return found
    return None


def dates_of(documents: Sequence[Document], wanted: Iterable[str | None]) -> dict[str, str]:
    """Return the date or version of documents, from their metadata or from what they say of themselves."""
    known = set(wanted)
    return {d.id: version.text for d in documents if d.id in known and (version := version_of(d)) is not None}


def recommended(documents: Sequence[Document], wanted: Iterable[str | None]) -> str:
    """Say how a person can find out which side holds; nothing is decided here."""
    known = {d.id: d for d in documents}
    involved = [known[name] for name in dict.fromkeys(wanted) if name in known]
    versions = [(document, version_of(document)) for document in involved]
    for newer, theirs in versions:
        older = [document for document, ours in versions if document is not newer and is_older(ours, theirs)]
        if older and len(older) == len(involved) - 1:
            when = f" ({theirs.text})" if theirs is not None else ""
            return f"{newer.id}{when} is newer than {_listed([d.id for d in older])}; ask whether it replaces it."
    return f"Ask who owns {_listed([d.id for d in involved])} which one holds, and correct or retire the other."


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "the documents"


def _says(names: Sequence[str]) -> str:
    return "says" if len(names) == 1 else "say"


def _topic(item: Item) -> frozenset[str]:
    text = item.standalone_question or item.question
    return frozenset(key for key, worth in read(text).keys.items() if worth > LIGHT) if text else frozenset()


def _clashes(evidence: Evidence, topic: AbstractSet[str], item: Item) -> list[PassageClash]:
    places = [
        place
        for place, source in enumerate(evidence.sources)
        if is_worth_comparing(source.reading)
        and not (place in evidence.headings and _only_names_period(source.reading))
    ]
    if len(places) > _MOST_SENTENCES:
        wanted = topic | {key for sentence in item.sentences for key in read(sentence.text).all_keys}
        places.sort(key=lambda place: -len(evidence.sources[place].reading.all_keys & wanted))
        places = sorted(places[:_MOST_SENTENCES])
    index: dict[str, list[int]] = {}
    for place in places:
        for key in evidence.sources[place].reading.all_keys:
            index.setdefault(key, []).append(place)
    found, seen = [], set[tuple[str, str]]()
    for place in places:
        left = evidence.sources[place]
        for other in _nearest(place, evidence, index):
            right = evidence.sources[other]
            pair = (left.document.id + left.text, right.document.id + right.text)
            if pair in seen or left.text == right.text:
                continue
            seen |= {pair, pair[::-1]}
            if clash := clash_between(left, right, topic):
                found.append(clash)
    return found


def _only_names_period(heading: Reading) -> bool:
    return all(quantity.dimension.startswith(("date", "label")) for quantity in heading.quantities)


def _nearest(place: int, evidence: Evidence, index: Mapping[str, Sequence[int]]) -> list[int]:
    """Return the sentences of other documents that share most with a sentence, weighted by how rare the words are."""
    source = evidence.sources[place]
    scores: dict[int, float] = {}
    for key in source.reading.all_keys:
        gain = source.reading.keys.get(key, 0.3) * evidence.rarity[key]
        for other in index[key]:
            if evidence.sources[other].document is not source.document:
                scores[other] = scores.get(other, 0.0) + gain
    return sorted(scores, key=lambda other: (-scores[other], other))[:_NEAREST]


def _grouped(clashes: Sequence[PassageClash]) -> list[Disagreement]:
    """Put clashes over the same value of the same passage together."""
    nodes: dict[tuple[str, int, str], Passage] = {}
    groups: list[set[tuple[str, int, str]]] = []
    for clash in clashes:
        pair = set()
        for side, source in enumerate((clash.left, clash.right)):
            value = clash.values[side] if clash.values else None
            key = (source.document.id, source.start, clash.said[side])
            nodes.setdefault(key, Passage(source, clash.said[side], value))
            pair.add(key)
        joined = [group for group in groups if group & pair]
        groups = [group for group in groups if not group & pair]
        groups.append(pair.union(*joined))
    return [Disagreement(tuple(passage for key, passage in nodes.items() if key in group)) for group in groups]


def _stand(claim: Reading, found: Disagreement, topic: AbstractSet[str]) -> Stand | None:
    if found.values:
        return _stand_on_values(claim, found, topic)
    return _stand_on_words(claim, found)


def _stand_on_values(claim: Reading, found: Disagreement, topic: AbstractSet[str]) -> Stand | None:
    if not claim.quantities or not _is_on_topic(claim, found, topic):
        return None
    stated: set[int] = set()
    blended = is_other = False
    for quantity in claim.quantities:
        same = {n for n, p in enumerate(found.passages) if p.value is not None and _states(quantity, p.value)}
        if _is_rough_middle(quantity, found.values):
            same = set()
        if quantity.upper or not same:
            blended = blended or _is_blend(quantity, found.values, claim)
            is_other = is_other or any(compare(quantity, v).likeness is Likeness.DIFFERENT for v in found.values)
        if not quantity.upper or not blended:
            stated |= same
    supporting = tuple(p for n, p in enumerate(found.passages) if n in stated)
    contradicting = tuple(p for n, p in enumerate(found.passages) if n not in stated)
    if blended and not (supporting and not contradicting):
        return Stand(found, Touch.BLEND, (), found.passages)
    if supporting:
        touch = Touch.ONE_SIDE if contradicting else Touch.ALL_SIDES
        return Stand(found, touch, supporting, contradicting)
    return Stand(found, Touch.NEITHER, (), found.passages) if is_other else None


def _states(claimed: Quantity, held: Quantity) -> bool:
    return not claimed.is_weak and compare(claimed, held).likeness >= Likeness.DISTORTED


def _is_blend(quantity: Quantity, values: Sequence[Quantity], claim: Reading) -> bool:
    """Tell whether a value is made of those that differ: their mean, something near it, or a range over them."""
    known = [v for v in values if v.dimension == quantity.dimension and v.values and not v.upper]
    if len(known) < 2 or not quantity.values:
        return False
    low, high = min(v.values[0] for v in known), max(v.values[0] for v in known)
    if quantity.upper:
        return _is_near(quantity.values[0], low, high) and _is_near(quantity.upper[0], high, low)
    stated = quantity.values[0]
    if not low < stated < high:
        return False
    means = [sum(v.values[0] for v in known) / len(known), (low + high) / 2]
    step = max(_MIDDLE * (high - low), quantity.precision)
    is_rough = quantity.bound is Bound.ABOUT or bool(_AVERAGE.search(claim.text))
    return is_rough or any(abs(stated - mean) <= step for mean in means)


def _is_rough_middle(quantity: Quantity, values: Sequence[Quantity]) -> bool:
    """Tell whether "about 3" lies so far from both 2.8 and 3.1 that it rounds neither."""
    known = [v.values[0] for v in values if v.dimension == quantity.dimension and v.values]
    if quantity.bound is not Bound.ABOUT or len(known) < 2 or not quantity.values or quantity.upper:
        return False
    low, high = min(known), max(known)
    return low + _MARGIN * (high - low) < quantity.values[0] < high - _MARGIN * (high - low)


def _is_near(one: float, other: float, far: float) -> bool:
    return abs(one - other) <= _MIDDLE * abs(other - far)


def _is_on_topic(claim: Reading, found: Disagreement, topic: AbstractSet[str]) -> bool:
    """Tell whether the claim speaks of what the passages speak of; a bare value takes its words from the question."""
    held = set(topic)
    own: set[str] = set()
    for passage in found.passages:
        own |= passage.source.reading.all_keys
        if passage.source.heading is not None:
            held |= passage.source.heading.all_keys
    if not claim.keys:
        return bool(topic & own)
    anchors = own | (topic if topic & own else set())
    for keys in (claim.keys, *(clause.keys for clause in claim.clauses if clause.quantities)):
        told = {key: worth for key, worth in keys.items() if key not in _TALK}
        if _covers(told, held | own) and _shared((key for key, worth in told.items() if worth > LIGHT), anchors):
            return True
    return False


def _covers(keys: Mapping[str, float], known: AbstractSet[str]) -> bool:
    total = sum(keys.values())
    return bool(total) and sum(w for key, w in keys.items() if _shared((key,), known)) >= _ON_TOPIC * total


def _shared(keys: Iterable[str], known: AbstractSet[str]) -> bool:
    return any(
        key in known or (len(key) >= 5 and any(other[:5] == key[:5] for other in known if len(other) >= 5))
        for key in keys
    )


def _stand_on_words(claim: Reading, found: Disagreement) -> Stand | None:
    """Tell on which side of a yes and no, or of two names, a claim stands."""
    supporting: list[Passage] = []
    contradicting: list[Passage] = []
    for passage in found.passages:
        source = passage.source
        if not _says_the_same(claim, source.reading):
            continue
        here = Source(_CLAIM, 0, len(claim.text), claim, None)
        (contradicting if clash_between(here, source) else supporting).append(passage)
    if supporting and contradicting:
        return Stand(found, Touch.ONE_SIDE, tuple(supporting), tuple(contradicting))
    return None


_CLAIM = Document(id="", text="")


def _says_the_same(claim: Reading, passage: Reading) -> bool:
    return _covers(claim.keys, passage.all_keys)


__all__ = [
    "Disagreement",
    "Passage",
    "Stand",
    "Touch",
    "dates_of",
    "disagreements",
    "recommended",
    "stands",
]
