"""Weigh the clauses of a claim: for each the sentence that serves it best, and what other sentences add to that."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from enricher.grounding.alignment import Alignment, Clash, Trouble, align
from enricher.grounding.measures import Quantity
from enricher.grounding.reading import Clause, Reading
from enricher.grounding.search import Evidence, Source
from enricher.grounding.tokens import FULL, LIGHT

CANDIDATES = 5  # sentences looked at for a whole claim
_FOR_CLAUSE = 2
_CLOSE_LOOKS = 3
_WORTH_A_LOOK = 0.5  # of the words that the best sentence holds
_SPEAKS_OF_IT = 0.4  # of a clause's words; such a sentence of the right version makes those of others irrelevant
_NEARLY = 0.12  # a sentence that covers only so much less serves as well


@dataclass(slots=True)
class Weighed:
    """A clause with its best alignment and what other sentences add to it."""

    clause: Clause
    alignment: Alignment | None
    share: float = 0.0
    places: list[int] = field(default_factory=list)
    missing: dict[str, float] = field(default_factory=dict)
    clashes: list[Clash] = field(default_factory=list)
    open_values: list[Quantity] = field(default_factory=list)


def weigh(
    clause: Clause, claim: Reading, evidence: Evidence, candidates: list[int], derived: Mapping[int, int]
) -> Weighed:
    alignments: list[Alignment] = []
    for place in _promising(clause, evidence, candidates):
        alignment = align(clause, claim, evidence, place)
        _accept_derived(alignment, clause, derived)
        alignments.append(alignment)
        if place == candidates[0] and alignment.is_complete:
            break  # no other can be better, and there is nothing left that it could add
    elsewhere: list[Alignment] = []
    if any(not a.is_elsewhere and a.word_share >= _SPEAKS_OF_IT for a in alignments):
        elsewhere = [a for a in alignments if a.is_elsewhere]
        alignments = [a for a in alignments if not a.is_elsewhere]
    order = {place: index for index, place in enumerate(candidates)}
    best = max(alignments, key=lambda a: (a.rank + _bonus(a, order), -a.place))
    best = _of_another_number(best, clause, alignments)
    if best.clashes:
        best = _friendlier(best, alignments)
    if best.open_values:
        best = _refuting(best, alignments, evidence)
    weighed = Weighed(clause, best, places=[best.place], missing=dict(best.missing), clashes=list(best.clashes))
    weighed.open_values = list(best.open_values)
    _look_elsewhere(weighed, alignments, evidence)
    if weighed.open_values and (other := next((a for a in elsewhere if not a.open_values), None)):
        weighed.clashes.append(other.clashes[0])  # another version of the document says just this
        weighed.places.append(other.place)
    weighed.clashes = [replace(c, said=c.said or (clause.start, clause.end)) for c in weighed.clashes]
    weighed.share = _covered_share(weighed)
    return weighed


def _promising(clause: Clause, evidence: Evidence, candidates: list[int]) -> list[int]:
    """Return the few sentences worth a close look: by the clause's words they hold, then by fit to the whole claim."""
    digits = {t.key: LIGHT for t in clause.tokens if t.key not in clause.keys and t.word[:1].isdigit()}
    wanted = {**clause.keys, **digits}
    scored = []
    places = list(dict.fromkeys([*candidates, *evidence.best(wanted, _FOR_CLAUSE)]))
    for rank, place in enumerate(places):
        held = evidence.sources[place].reading.all_keys
        scored.append((-sum([w for key, w in wanted.items() if key in held]), rank, place))
    scored.sort()
    return [place for score, _, place in scored[:_CLOSE_LOOKS] if score <= _WORTH_A_LOOK * scored[0][0]]


def _bonus(alignment: Alignment, order: Mapping[int, int]) -> float:
    """Prefer sentences that suit the whole claim."""
    return 0.2 * (1.0 - order[alignment.place] / CANDIDATES) if alignment.place in order else 0.0


def _friendlier(best: Alignment, alignments: list[Alignment]) -> Alignment:
    """Return a sentence that covers as much without the clash, if there is one."""
    rivals = [
        a
        for a in alignments
        if a.worst < best.worst and a.word_share >= best.word_share - _NEARLY and a.value_share >= best.value_share
    ]
    return max(rivals, key=lambda a: a.rank, default=best)


def _of_another_number(best: Alignment, clause: Clause, alignments: list[Alignment]) -> Alignment:
    """Return the sentence that says all this of another clause or section, or the given one, which says less."""
    if not clause.quantities or not all(q.dimension.startswith("label") for q in clause.quantities):
        return best
    if best.own_share == 1.0 or best.clashes:
        return best
    return next((a for a in alignments if a.own_share == 1.0 and a.worst == Trouble.CONTRADICTED), best)


def _refuting(best: Alignment, alignments: list[Alignment], evidence: Evidence) -> Alignment:
    """Return a sentence that has another value and itself says more of the clause, or the given one."""
    if any(not a.open_values and a.worst < Trouble.CONTRADICTED for a in alignments):
        return best
    # A heading says nothing, and what holds for another period nothing of this one.
    said = 0.0 if best.is_other_period or best.place in evidence.headings else best.own_share
    rivals = [
        a
        for a in alignments
        if a.worst == Trouble.CONTRADICTED
        and not a.open_values
        and a.own_share > max(said, _SPEAKS_OF_IT)
        and a.word_share >= best.word_share - _NEARLY
    ]
    return max(rivals, key=lambda a: a.rank, default=best)


def _accept_derived(alignment: Alignment, clause: Clause, derived: Mapping[int, int]) -> None:
    if not derived or not any(id(q) in derived for q in clause.quantities):
        return
    alignment.open_values = [q for q in alignment.open_values if id(q) not in derived]
    alignment.clashes = [c for c in alignment.clashes if c.trouble is not Trouble.CONTRADICTED]
    alignment.value_share = 1.0


def _look_elsewhere(weighed: Weighed, alignments: list[Alignment], evidence: Evidence) -> None:
    """Let other sentences that are tied to the first one supply what it lacks."""
    if not (weighed.missing or weighed.open_values):
        return
    first = evidence.sources[weighed.places[0]]
    for other in sorted(alignments, key=lambda a: -a.rank):
        if (
            other.place == weighed.places[0]
            or not (weighed.missing or weighed.open_values)
            or other.worst > Trouble.OMITTED
        ):
            continue
        source = evidence.sources[other.place]
        gained = [key for key in weighed.missing if key not in other.missing and weighed.missing[key] >= LIGHT]
        if gained and (_are_tied(first.reading, source.reading) or _is_one_record(first, source)):
            for key in gained:
                del weighed.missing[key]
            weighed.places.append(other.place)
        supplied = [q for q in weighed.open_values if q not in other.open_values]
        if supplied and (other.word_share >= 0.5 or _are_tied(first.reading, source.reading)):
            weighed.open_values = [q for q in weighed.open_values if q not in supplied]
            weighed.places.append(other.place)


def _is_one_record(first: Source, second: Source) -> bool:
    """Tell whether two lines belong to one structured document, whose fields all speak of the same thing."""
    return first.document is second.document and first.document.text.lstrip()[:1] in ("{", "[")


def _are_tied(first: Reading, second: Reading) -> bool:
    """Tell whether two sentences can be read together: they share a word that says something."""
    return any(
        first.keys.get(key, 0.0) >= FULL and second.keys.get(key, 0.0) >= FULL
        for key in first.keys.keys() & second.keys.keys()
    )


def _covered_share(weighed: Weighed) -> float:
    clause = weighed.clause
    if not clause.weight:
        return 0.0
    lost = sum(weighed.missing.values()) + sum(LIGHT if q.is_weak else FULL for q in weighed.open_values)
    clashing = sum(c.trouble is Trouble.CONTRADICTED for c in weighed.clashes)
    return max(0.0, 1.0 - lost / clause.weight) if not clashing else max(0.0, 1.0 - (lost + clashing) / clause.weight)


def total_share(weighed: list[Weighed]) -> float:
    weight = sum(part.clause.weight for part in weighed)
    return sum(part.share * part.clause.weight for part in weighed) / weight if weight else 0.0


def clashing_share(weighed: list[Weighed]) -> float:
    weight = sum(part.clause.weight for part in weighed)
    values = sum(c.trouble is Trouble.CONTRADICTED for part in weighed for c in part.clashes)
    return values / weight if weight else 0.0
