"""Lay one clause of a claim beside one sentence of the evidence: what is covered, what is missing, what clashes."""

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from enum import IntEnum

from enricher.grounding.bounds import Bound
from enricher.grounding.comparison import Comparison, Likeness, compare
from enricher.grounding.denials import asserts, denial, quoted, says, spelled, spelled_in
from enricher.grounding.entities import crossed_relation
from enricher.grounding.measures import Quantity
from enricher.grounding.opposites import EXCLUDED
from enricher.grounding.polarity import Extent, Force, compare_marks
from enricher.grounding.reading import Clause, Reading
from enricher.grounding.scope import is_other_period, is_period, other_scope, period_of
from enricher.grounding.search import Evidence, Source
from enricher.grounding.tokens import FULL, LIGHT, Token


class Trouble(IntEnum):
    """What a finding amounts to, worst last."""

    OMITTED = 1
    DISTORTED = 2
    CONTRADICTED = 3


@dataclass(frozen=True, slots=True)
class Clash:
    """One way in which a claim departs from a sentence of the evidence."""

    trouble: Trouble
    reason: str
    place: int
    said: tuple[int, int] | None = None  # the words of the claim that depart, as offsets into it


@dataclass(slots=True)
class Alignment:
    """A clause beside a sentence: shares are between 0 and 1."""

    place: int
    word_share: float = 0.0  # of the weight of its words
    value_share: float = 0.0  # of its values
    has_values: bool = False
    missing: dict[str, float] = field(default_factory=dict)  # keys the sentence lacks
    open_values: list[Quantity] = field(default_factory=list)  # values the sentence neither holds nor denies
    clashes: list[Clash] = field(default_factory=list)
    own_share: float = 0.0  # of its words, as far as the sentence itself holds them
    is_other_period: bool = False  # the heading names another year or quarter than the claim
    is_elsewhere: bool = False  # the sentence belongs to another version than the claim speaks of

    @property
    def worst(self) -> int:
        """Return the worst trouble, 0 for none."""
        return max([clash.trouble for clash in self.clashes]) if self.clashes else 0

    @property
    def is_complete(self) -> bool:
        """Tell whether the sentence says all of the clause and departs from it in nothing."""
        is_covered = self.word_share == 1.0 and (self.value_share == 1.0 or not self.has_values)
        return is_covered and not (self.missing or self.open_values or self.clashes)

    @property
    def rank(self) -> float:
        """Return how well the sentence serves as evidence for the clause."""
        value = 0.4 * self.value_share if self.has_values else 0.0
        return self.word_share + value - 0.1 * max(self.worst - 1, 0)


_ENOUGH_CONTEXT = 0.5
_CLOSE_CONTEXT = 0.75
_ALIGNED_SHARE = 0.65
_SAME_STATEMENT = 0.45  # of the weight of a clause of the evidence
_FAR = 60.0  # times as many
_EXCEPTIONS = frozenset({"except", "excluding", "unless", "ausser", "sauf", "salvo", "excepto"})
# They open an aside: "all settings, including the password, are erased" says of the password that it is erased.
_ASIDES = frozenset({"including", "included", "especially", "particularly", "einschließlich", "inklusive", "incluido"})


def align(clause: Clause, claim: Reading, evidence: Evidence, place: int) -> Alignment:
    """Lay a clause of the claim beside the sentence at `place`."""
    source = evidence.sources[place]
    found = Alignment(place, has_values=bool(clause.quantities))
    pool = evidence.pool(place)
    covered, weight, own = 0.0, 0.0, 0.0
    held = source.reading.all_keys
    for key, worth in clause.keys.items():
        weight += worth
        credit = pool.get(key, 0.0)
        if not credit and (variants := evidence.variants(key)):
            credit = float(any([other in pool for other in variants]))
        if not credit:
            found.missing[key] = worth
            continue
        covered += worth * credit
        if key in held:
            own += worth
    if source.heading is not None and (named := other_scope(claim, source.heading)):
        found.is_elsewhere = True
        found.clashes.append(Clash(Trouble.DISTORTED, says(named[0], source, named[1]), place))
    # Most sentences share too little for a comparison clause by clause, which is the dear part.
    is_close = covered >= _ALIGNED_SHARE * weight or any(k in EXCLUDED or evidence.opposites(k) for k in found.missing)
    other, shared = _counterpart(clause, source, evidence) if is_close else (None, 0.0)
    resolved = _resolve_opposites(clause, claim.all_keys, source, other, evidence, found)
    covered += sum(clause.keys[key] for key in resolved)
    found.word_share = covered / weight if weight else 0.0
    found.own_share = own / weight if weight else 0.0
    if clause.quantities:
        context = max(found.word_share if weight >= FULL else 0.0, _share(claim.keys, pool))
        _align_values(clause, claim, evidence, source, found, context)
    is_told = weight >= LIGHT and shared >= _ALIGNED_SHARE * weight and asserts(source, evidence, place)
    if other is not None and is_told:
        _align_marks(clause, other, source, found, resolved, claim.marks.extent, shared)
    return found


def _share(keys: Mapping[str, float], pool: Mapping[str, float]) -> float:
    weight = sum(keys.values())
    return sum([worth for key, worth in keys.items() if key in pool]) / weight if weight else 0.0


def _resolve_opposites(
    clause: Clause, said: AbstractSet[str], source: Source, other: Clause | None, evidence: Evidence, found: Alignment
) -> dict[str, str]:
    """Return the missing keys whose opposite the sentence holds in the same place, with that opposite.

    Words that exclude what the sentence says are recorded as a clash; what the whole claim says as well, `said`, is
    the opposite of nothing in it.
    """
    if other is None or not found.missing or not asserts(source, evidence, found.place):
        return {}
    held = other.keys
    resolved: dict[str, str] = {}
    for key in list(found.missing):
        opposite = next((o for o in evidence.opposites(key) if o in held and o not in said), None)
        if opposite:
            resolved[key] = opposite
            del found.missing[key]
            continue
        rival = next((o for o in EXCLUDED.get(key, ()) if o in held and o not in said), None)
        if rival and len(found.missing) < len(clause.keys):
            text = says(quoted(spelled(clause, key)), source, quoted(spelled_in(source.reading, rival)))
            found.clashes.append(Clash(Trouble.CONTRADICTED, text, found.place))
    return resolved


def _align_values(
    clause: Clause, claim: Reading, evidence: Evidence, source: Source, found: Alignment, context: float
) -> None:
    offered = list(source.reading.quantities)
    if source.continues is not None:
        offered += evidence.sources[source.continues].reading.quantities
    taken: set[int] = set()
    matched = 0
    pending: list[Quantity] = []
    above = [] if source.heading is None else [q for q in source.heading.quantities if q.dimension == "date"]
    for quantity in clause.quantities:
        if above and quantity.dimension == "date" and _is_named_above(quantity, above, offered):
            matched += 1
            continue
        if above and is_other_period(period_of(quantity, claim), offered, source.heading):
            found.open_values.append(quantity)
            found.is_other_period = True
            continue
        best, comparison = _closest(quantity, offered, clause, source)
        if best is None or comparison.likeness <= Likeness.DIFFERENT:
            pending.append(quantity)
            continue
        taken.add(best)
        matched += 1
        if comparison.likeness is Likeness.DISTORTED and not (
            _is_limit_elsewhere(clause, source, quantity, offered[best])
            or _is_notice(quantity, claim, offered[best], source)
        ):
            reason = f"{says(quantity.text, source, _with_bound(offered[best]))}: {comparison.reason}"
            found.clashes.append(Clash(Trouble.DISTORTED, reason, found.place, _with_counted(quantity, clause)))
        elif comparison.likeness is Likeness.MORE_EXACT:
            found.open_values.append(quantity)
            matched -= 1
    for quantity in pending:
        # A value the documents hold elsewhere may belong there; only a close rival refutes it.
        needed = _CLOSE_CONTEXT if _is_held(quantity, claim, evidence) else _ENOUGH_CONTEXT
        rival = _rival(quantity, offered, taken, clause, source) if context >= needed else None
        if rival is None:
            found.open_values.append(quantity)
            continue
        reason = compare(quantity, rival).reason
        text = says(_with_bound(quantity), source, _with_bound(rival)) + (f": {reason}" if reason else "")
        found.clashes.append(Clash(Trouble.CONTRADICTED, text, found.place, _with_counted(quantity, clause)))
    found.value_share = matched / len(clause.quantities)


def _with_counted(quantity: Quantity, clause: Clause) -> tuple[int, int]:
    """Return where a value stands, with the word behind it, which may be what it counts."""
    return quantity.start, next((t.end for t in clause.tokens if t.start >= quantity.end and t.weight), quantity.end)


def _is_named_above(claimed: Quantity, above: Sequence[Quantity], offered: Sequence[Quantity]) -> bool:
    """Tell whether the heading gives the date, and the sentence itself no other."""
    if any(compare(claimed, other).likeness > Likeness.UNRELATED for other in offered if is_period(other)):
        return False
    return any(compare(claimed, other).likeness is Likeness.SAME for other in above)


def _is_held(quantity: Quantity, claim: Reading, evidence: Evidence) -> bool:
    digits = [t.word for t in claim.tokens if quantity.start <= t.start < quantity.end and t.word[:1].isdigit()]
    return bool(digits) and all(evidence.holds(word) for word in digits)


def _with_bound(quantity: Quantity) -> str:
    words = {"exactly": "", "about": "about "}.get(quantity.bound.value, f"{quantity.bound.value} ")
    return f"{words}{quantity.text}" if quantity.dimension != "date" else quantity.text


def _closest(
    quantity: Quantity, offered: Sequence[Quantity], clause: Clause, source: Source
) -> tuple[int | None, Comparison]:
    """Return the offered value most like the claimed one, unless its own clause speaks of something else."""
    best, outcome = None, Comparison(Likeness.UNRELATED)
    for index, other in enumerate(offered):
        comparison = compare(quantity, other)
        if comparison.likeness > outcome.likeness:
            best, outcome = index, comparison
    if best is None or outcome.likeness <= Likeness.DIFFERENT or len(offered) < 2:
        return best, outcome
    here = _clause_keys(clause, offered[best], source)
    for other in offered:
        if other is not offered[best] and compare(quantity, other).likeness is Likeness.DIFFERENT:
            there = _clause_keys(clause, other, source)
            if there - here and not here - there:
                return None, Comparison(Likeness.DIFFERENT)
    return best, outcome


def _clause_keys(clause: Clause, quantity: Quantity, source: Source) -> set[str]:
    """Return the words of the claim in the clause of the evidence that holds a value."""
    for other in source.reading.clauses:
        if any(q is quantity for q in other.quantities):
            return clause.keys.keys() & other.keys.keys()
    return set()


def _clause_overlap(clause: Clause, quantity: Quantity, source: Source) -> float:
    """Return the weight of the claim's words in the clause of the evidence that holds a value."""
    for other in source.reading.clauses:
        if any(q is quantity for q in other.quantities):
            return sum(worth for key, worth in clause.keys.items() if key in other.keys)
    return 0.0


def _rival(
    quantity: Quantity, offered: Sequence[Quantity], taken: set[int], clause: Clause, source: Source
) -> Quantity | None:
    """Return the value that stands in the evidence where the claim has another."""
    if quantity.is_weak or quantity.dimension == "ordinal":
        return None
    rivals = [
        other
        for index, other in enumerate(offered)
        if index not in taken and not other.is_weak and compare(quantity, other).likeness is Likeness.DIFFERENT
    ]
    if quantity.dimension == "count":
        rivals = [o for o in rivals if _is_of_its_size(quantity, o) and _same_noun(quantity, clause, o, source)]
    return max(rivals, key=lambda other: _clause_overlap(clause, other, source), default=None)


def _is_of_its_size(one: Quantity, other: Quantity) -> bool:
    """Tell whether two counts may be meant for the same: 12 jurors are no rival of 9,000 candidates."""
    low, high = sorted((abs(one.values[0]), abs(other.values[0])))
    return low * _FAR >= high


def _same_noun(quantity: Quantity, clause: Clause, other: Quantity, source: Source) -> bool:
    left, right = _nouns_beside(quantity, clause.tokens), _nouns_beside(other, source.reading.tokens)
    return bool(set(left) & set(right)) or (not left and not right)


def _nouns_beside(quantity: Quantity, tokens: Sequence[Token]) -> list[str]:
    """Return what a bare number may count: the next two words with content, or the one before ("stars: 4.5")."""
    before = [t.key for t in tokens if t.end <= quantity.start and t.weight][-1:]
    return before + [t.key for t in tokens if t.start >= quantity.end and t.weight][:2]


_LIMIT_WORDS = re.compile(
    r"\b(?:max|min|limit|cap|ceiling|at\s+(?:least|most)|höchst|mindest|up\s+to|within|exceed|least|most)", re.I
)


def _is_limit_elsewhere(clause: Clause, source: Source, claimed: Quantity, held: Quantity) -> bool:
    """Tell whether both sides name the limit, if not beside the number: "maximum bow ... 2.5 %"."""
    if (
        claimed.upper
        or held.upper
        or claimed.dimension in ("workdays", "duration")
        or Bound.EXACT not in (claimed.bound, held.bound)
    ):
        return False
    return bool(_LIMIT_WORDS.search(clause.text) and _LIMIT_WORDS.search(source.text))


_NOTICE = re.compile(
    r"['’]?\s*(?:(?:of|prior|advance|written|formal|reasonable)\s+)*(?:notice|notification|warning)\b|\s+(?:in\s+advance|ahead|"
    r"beforehand|im\s+voraus|vorher)\b",
    re.I,
)


def _is_notice(claimed: Quantity, claim: Reading, held: Quantity, source: Source) -> bool:
    """Tell whether both give the length of a notice, which is a minimum whether or not "at least" is said."""
    if {claimed.bound, held.bound} != {Bound.EXACT, Bound.AT_LEAST}:
        return False
    return bool(_NOTICE.match(claim.text, claimed.end) and _NOTICE.match(source.reading.text, held.end))


def _align_marks(
    clause: Clause,
    other: Clause,
    source: Source,
    found: Alignment,
    opposites: Mapping[str, str],
    extent: Extent,
    shared: float,
) -> None:
    """Compare what the clause asserts with its counterpart in the sentence."""
    if crossed := crossed_relation(clause.tokens, source.reading.tokens):
        text = says(crossed[0], source, crossed[1])
        found.clashes.append(Clash(Trouble.CONTRADICTED, text, found.place))
        return
    if _is_excepted(clause, source):
        return
    if reason := denial(clause, other, source, opposites):
        found.clashes.append(Clash(Trouble.CONTRADICTED, reason, found.place))
        return
    claimed = clause.marks
    if other.marks.is_possible and any(q.bound in (Bound.AT_MOST, Bound.WITHIN) for q in clause.quantities):
        claimed = claimed._replace(force=max(Force.MAY, claimed.force))  # "up to three" leaves as much open as "may"
    # How strongly a sentence speaks of something else, of which the claim has a few words, says nothing of the claim.
    is_same_statement = shared >= _SAME_STATEMENT * other.weight
    for reason in compare_marks(claimed, other.marks, extent) if is_same_statement else ():
        found.clashes.append(Clash(Trouble.DISTORTED, f"{reason} ({source.document.id})", found.place))
    if other.marks.is_exclusive != clause.marks.is_exclusive and not clause.quantities:
        trouble, reason = (
            (Trouble.DISTORTED, "the answer says 'only', the evidence doesn't")
            if clause.marks.is_exclusive
            else (Trouble.OMITTED, "the evidence limits it with 'only'")
        )
        found.clashes.append(Clash(trouble, f"{reason} ({source.document.id})", found.place))


def _is_excepted(clause: Clause, source: Source) -> bool:
    """Tell whether the claim is about an exception that the sentence makes: "open daily except Mondays"."""
    for other in source.reading.clauses:
        if any(t.word in _EXCEPTIONS for t in other.tokens[:3]):
            return any(worth >= FULL and key in other.keys for key, worth in clause.keys.items())
    return False


def _counterpart(clause: Clause, source: Source, evidence: Evidence) -> tuple[Clause | None, float]:
    """Return the clause of the sentence that shares most with the claim's, and the weight of what they share."""
    keys = clause.keys
    turned = [(key, opposites) for key in keys if (opposites := evidence.opposites(key))]
    best, most = None, 0.0
    for other in source.reading.clauses:
        held = other.keys
        shared = sum([keys[key] for key in keys if key in held])
        for key, opposites in turned:
            if key not in held and any([opposite in held for opposite in opposites]):
                shared += keys[key]
        if shared > most:
            best, most = other, shared
    if best is not None and best.tokens and best.tokens[0].word in _ASIDES and len(source.reading.clauses) > 1:
        return source.reading.whole, most  # what is said of an aside is said outside of it
    return best, most
