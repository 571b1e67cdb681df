"""Compare a sentence of one document with a sentence of another: do they say different things of the same?

Two passages clash only where the comparers are certain and nothing tells what they speak of apart: another period,
another group, place or model, another attribute. Documents say many different things; few of them are conflicts.
"""

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import pairwise

from enricher.grounding.bounds import Bound
from enricher.grounding.comparison import Likeness, compare
from enricher.grounding.lexicon import word_set
from enricher.grounding.measures import Quantity
from enricher.grounding.opposites import EXCLUDED, opposites_of
from enricher.grounding.polarity import Extent
from enricher.grounding.reading import Clause, Reading, read
from enricher.grounding.search import Source
from enricher.grounding.tokens import FULL, LIGHT, Token, fold, key_of
from enricher.grounding.versions import dates_of_itself
from enricher.trace import Document


@dataclass(frozen=True, kw_only=True, slots=True)
class PassageClash:
    """What two passages disagree on; `values` are those of the left and of the right one, if it is a value."""

    left: Source
    right: Source
    said: tuple[str, str]  # what either says, as short as it can be quoted
    values: tuple[Quantity, Quantity] | None = None


def _keys(words: str) -> frozenset[str]:
    return frozenset(key_of(word) for word in word_set(words))


# Words that name a measure or a kind of text, and verbs that only carry a value: they tell nothing apart.
_GENERIC = _keys(
    """amount number total size figure value level data sheet datasheet capacity rate measure measurement reading
    document policy rule guideline manual brochure catalogue website page leaflet handbook faq specification
    spec note version edition revision revised replaces replace supersede update updated effective valid apply
    applies currently current now official officially exactly approximately about around roughly nearly overall
    equal equals amounts come comes cover covers last lasts run runs hold holds offer offers provide provides
    stand stands lie lies reach reaches feature features have has possess contain contains comprise comprises
    give gives get gets grant grants remain remains earlier previous prior according state states stated say
    says report reports reported show shows list listed beträgt betragen liegt dauert gilt umfasst hat aktuell
    derzeit est de durée compte possède ersetzt früheren bisherigen fassung fassungen richtlinie ordnung
    remplace précédente précédentes antérieure antérieures politique sustituye reemplaza anteriores política
    versiones"""
)
_OPENERS = word_set(
    """for in at on during with without to from under above below over between if when unless while until after before
    within as per by of into near outside inside except für bei im in am auf während mit ohne ab bis unter über zwischen
    wenn falls vor nach pour dans en à pendant avec sans depuis sous si quand para por con sin desde durante bajo cuando
    per da durante senza sotto quando"""
)
_GROUPS = _keys(
    """adult child children kid senior student pupil member guest visitor employee customer patient woman man boy girl
    infant baby pensioner resident citizen beginner professional premium basic standard business private summer winter
    weekday weekend weekdays weekends net gross annual monthly weekly daily domestic international national internal
    external new used first second male female erwachsene kinder mitglieder studenten senioren schüler enfants membres
    étudiants adultes niños miembros estudiantes adultos"""
)
# Opposites that are said of a subject; others, such as "maximum" and "minimum", name different attributes of it.
_SAID_OF = tuple(
    (key_of(one), key_of(other))
    for one, other in (
        *(("allow", "prohibit"), ("open", "close"), ("accept", "reject"), ("exclude", "cover"), ("exclude", "add")),
        *(("safe", "danger"), ("lawful", "illegal"), ("must", "optional"), ("increase", "decrease"), ("true", "false")),
        *(("improve", "worsen"), ("fail", "succeed"), ("required", "optional"), ("waterproof", "permeable")),
    )
)
# Words that tell two things of one kind apart, light as some of them are.
_CONTRASTS = tuple(
    tuple(map(word_set, pair))
    for pair in (("full", "part"), ("new", "old"), ("first", "second third last"), ("gross", "net"), ("front", "rear"))
)
_POLES = frozenset(pair for one, other in _SAID_OF for pair in ((one, other), (other, one)))
# Words after which one thing only can be named: "was born in", "was founded by", "the capital is".
_SINGULAR = _keys(
    """born died founded established invented discovered written directed composed painted built designed located
    headquartered headquarters capital president chairman ceo director author founder owner manufacturer nationality
    gegründet geboren erfunden geschrieben hauptstadt fondée né née écrit capitale fundada nacido escrito capital"""
)
_SAME_SUBJECT = 0.6  # of the words of either passage that a clash of polarity or names needs in common
_PRONOUNS = word_set(
    "it he she they this these its his her their es er sie dieser diese dieses il elle ils elles él ella"
)
_LOOKED_UP = word_set("retrieved archived accessed isbn issn doi abgerufen consulté consultado")
_LABELS = ("label", "code")
_LONGEST = 60  # words; a longer "sentence" is a list or a table that was not cut
_MOST_VALUES = 8
_NOTHING: frozenset[str] = frozenset()


def clash_between(left: Source, right: Source, topic: AbstractSet[str] = _NOTHING) -> PassageClash | None:
    """Return what two passages of different documents disagree on, or None; `topic` holds the words of the question."""
    if max(len(left.reading.tokens), len(right.reading.tokens)) > _LONGEST:
        return None
    if _is_aside(left.reading) or _is_aside(right.reading):
        return None
    return _value_clash(left, right, topic) or _polarity_clash(left, right, topic) or _name_clash(left, right)


def _is_aside(reading: Reading) -> bool:
    """Tell whether a sentence states nothing about the matter: a question, or when a web page was looked up."""
    return reading.text.rstrip().endswith("?") or not _LOOKED_UP.isdisjoint(reading.words)


def is_worth_comparing(reading: Reading) -> bool:
    """Tell whether a sentence says something that another can contradict: a value, a yes or no, a name."""
    if not reading.tokens:
        return False
    return bool(reading.quantities) or _is_polar(reading) or not _SINGULAR.isdisjoint(reading.all_keys)


def _is_polar(reading: Reading) -> bool:
    marks = reading.whole.marks
    return marks.is_negated or marks.permits is not None or any(one in reading.all_keys for one, _ in _POLES)


def _value_clash(left: Source, right: Source, topic: AbstractSet[str]) -> PassageClash | None:
    ours, theirs = _values(left), _values(right)
    if not ours or not theirs or len(ours) > _MOST_VALUES or len(theirs) > _MOST_VALUES:
        return None
    lone_ours = [q for q in ours if not any(_agree(q, other) for other in theirs)]
    lone_theirs = [q for q in theirs if not any(_agree(q, other) for other in ours)]
    pairs = [(one, other) for one in lone_ours for other in lone_theirs if _clash(one, other, left, right)]
    if len(pairs) != 1:
        return None  # nothing clashes, or so much that they speak of different things
    one, other = pairs[0]
    # A value that stands on one side alone may be a condition: "for 2 people", "from 50 EUR".
    if len(lone_ours) > 1 or len(lone_theirs) > 1:
        return None
    sides = (_Side.of(left, one), _Side.of(right, other))
    if _are_apart(*sides, left, right, topic):
        return None
    return PassageClash(left=left, right=right, said=(one.text, other.text), values=(one, other))


def _values(source: Source) -> list[Quantity]:
    """Return the values that a sentence states, without the date of its own document."""
    document = source.document
    return [
        q
        for q in source.reading.quantities
        if not q.is_weak
        and q.dimension != "ordinal"
        and not (
            q.dimension.startswith(("date", "label", "count"))
            and dates_of_itself(document, source.start + q.start, source.start + q.end)
        )
    ]


def _agree(one: Quantity, other: Quantity) -> bool:
    return max(compare(one, other).likeness, compare(other, one).likeness) >= Likeness.DISTORTED


def _clash(one: Quantity, other: Quantity, left: Source, right: Source) -> bool:
    if one.dimension != other.dimension or one.detail != other.detail or one.dimension.startswith(_LABELS):
        return one.dimension == other.dimension == "code" and _are_same_kind(one, other, left, right)
    if compare(one, other).likeness is not Likeness.DIFFERENT or compare(other, one).likeness is not Likeness.DIFFERENT:
        return False
    if one.bound is not other.bound and Bound.ABOUT not in (one.bound, other.bound) and _are_limits(one, other):
        return False  # "at least 5" and "at most 10" hold together
    return one.dimension != "count" or _are_same_kind(one, other, left, right)


def _are_limits(one: Quantity, other: Quantity) -> bool:
    loose = {Bound.AT_LEAST, Bound.MORE_THAN, Bound.AT_MOST, Bound.LESS_THAN}
    return one.bound in loose or other.bound in loose


def _are_same_kind(one: Quantity, other: Quantity, left: Source, right: Source) -> bool:
    """Tell whether two bare numbers count the same: they stand beside the same word."""
    ours, theirs = _beside(one, left.reading), _beside(other, right.reading)
    return bool(ours & theirs)


def _beside(quantity: Quantity, reading: Reading) -> set[str]:
    after = next((t for t in reading.tokens if t.start >= quantity.end and t.weight), None)
    if (
        after is not None
        and after.weight >= FULL
        and not set(".;,:").intersection(reading.text[quantity.end : after.start])
    ):
        return {after.key}
    return {t.key for t in reading.tokens if t.end <= quantity.start and t.weight >= FULL and t.key not in _GENERIC}


@dataclass(frozen=True, slots=True)
class _Side:
    """The words of a passage that say what its value or its verdict is about."""

    source: Source
    tokens: tuple[Token, ...]
    periods: tuple[Quantity, ...]

    @classmethod
    def of(cls, source: Source, value: Quantity | None, without: AbstractSet[str] = _NOTHING) -> "_Side":
        reading = source.reading
        inside = [q for q in reading.quantities if q is not value]
        spans = [(q.start, q.end) for q in reading.quantities]
        clauses = reading.clauses if value is None else list(_about(reading, value))
        tokens = tuple(
            t
            for clause in clauses
            for t in clause.tokens
            if t.weight > LIGHT and t.key not in without and not any(a <= t.start < b for a, b in spans)
        )
        document = source.document
        periods = tuple(
            q
            for q in inside
            if q.dimension in ("date", "time") or q.dimension.startswith("label") or q.dimension == "ordinal"
            if not dates_of_itself(document, source.start + q.start, source.start + q.end)
        )
        above = () if source.heading is None else source.heading.quantities
        if not periods and above:
            head = [q for q in above if q.dimension == "date" and not _is_version_heading(source)]
            periods = tuple(head)
        return cls(source, tokens, periods)


def _is_version_heading(source: Source) -> bool:
    from_text = source.document.text.find(source.heading.text) if source.heading is not None else -1
    if source.heading is None or from_text < 0:
        return False
    return any(
        dates_of_itself(source.document, from_text + q.start, from_text + q.end) for q in source.heading.quantities
    )


def _about(reading: Reading, value: Quantity) -> Iterator[Clause]:
    """Yield the clause of a value and those that say when, where or for whom it holds."""
    clauses = reading.clauses
    own = next((c for c in clauses if any(q is value for q in c.quantities)), None)
    for clause in clauses:
        is_condition = bool(clause.tokens) and clause.tokens[0].word in _OPENERS
        is_before = own is not None and clause.end <= own.start
        is_subject = is_before and own is not None and (not own.keys or _in_parentheses(reading, own))
        if clause is own or is_condition or is_subject:
            yield clause


def _in_parentheses(reading: Reading, clause: Clause) -> bool:
    return reading.text[: clause.start].rstrip().endswith("(")


def _are_apart(one: _Side, other: _Side, left: Source, right: Source, topic: AbstractSet[str]) -> bool:
    """Tell whether two passages may speak of different things."""
    if _differ_in_period(one, other):
        return True
    ours, theirs = {t.key for t in one.tokens}, {t.key for t in other.tokens}
    shared = {key for key in ours if _is_among(key, theirs)}
    if not {key for key in shared if key not in _GENERIC} and not (shared and topic & shared):
        return True
    extra = [t for t in one.tokens if not _is_among(t.key, theirs)]
    lack = [t for t in other.tokens if not _is_among(t.key, ours)]
    if any(_are_rivals(t.key, u.key) for t in extra for u in lack) or _are_contrasted(left.reading, right.reading):
        return True
    extra, lack = _telling(extra), _telling(lack)
    if extra and lack:
        return True
    if _are_of_other_entities(left, right, shared):
        return True
    if extra:
        return _restricts(extra, one, shared, right, topic)
    return bool(lack) and _restricts(lack, other, shared, left, topic)


def _are_of_other_entities(left: Source, right: Source, shared: AbstractSet[str]) -> bool:
    """Tell whether the documents begin with names that the other one never mentions, and the passages share none."""
    if shared & left.reading.names or shared & right.reading.names:
        return False
    ours, theirs = _opening_names(left.document), _opening_names(right.document)
    if _has_no_subject(left.reading) or _has_no_subject(right.reading):
        return bool(ours - theirs and theirs - ours)
    return bool(ours - _words_of(right.document) and theirs - _words_of(left.document))


def _has_no_subject(reading: Reading) -> bool:
    """Tell whether a sentence says "it" of something named before."""
    return reading.tokens[0].word in _PRONOUNS or reading.text.lstrip()[:1].islower()


def _opening_names(document: Document) -> AbstractSet[str]:
    return read(document.sentences[0].text).names if document.sentences else _NOTHING


def _words_of(document: Document) -> AbstractSet[str]:
    return set().union(*(read(sentence.text).all_keys for sentence in document.sentences))


def _telling(tokens: Sequence[Token]) -> list[Token]:
    return [t for t in tokens if t.key not in _GENERIC]


def _restricts(
    extra: Sequence[Token], side: _Side, shared: AbstractSet[str], other: Source, topic: AbstractSet[str]
) -> bool:
    """Tell whether the words that one passage has alone narrow what it speaks of."""
    around = _around(other)
    tokens = side.source.reading.tokens
    first = min((t.start for t in side.tokens if t.key in shared), default=0)
    for token in extra:
        if token.key in _GROUPS or token.key in EXCLUDED:
            return True
        if token.key in topic or token.key in around:
            continue  # the other passage speaks of it too, without saying so
        before = next((t for t in reversed(tokens) if t.end <= token.start), None)
        after = next((t for t in tokens if t.start >= token.end), None)
        is_led = before is not None and before.word in _OPENERS
        is_attribute = after is not None and after.key in shared
        if token.is_name or token.start < first or is_led or is_attribute:
            return True
    return len(extra) > 2


def _around(source: Source) -> AbstractSet[str]:
    """Return the words of the passage's own heading and of the start of its document."""
    keys = set(source.heading.all_keys) if source.heading is not None else set()
    if source.document.sentences:
        from_start = source.document.sentences[0].text
        keys |= {key_of(word) for word in re.findall(r"[^\W\d_]+", from_start)[:24]}
    return keys


def _is_among(key: str, keys: AbstractSet[str]) -> bool:
    if key in keys:
        return True
    return len(key) >= 5 and any(other[:5] == key[:5] and abs(len(other) - len(key)) <= 3 for other in keys)


def _are_rivals(one: str, other: str) -> bool:
    return other in opposites_of(one) or other in EXCLUDED.get(one, ())


def _are_contrasted(left: Reading, right: Reading) -> bool:
    for one, other in _CONTRASTS:
        for ours, theirs in ((left.words, right.words), (right.words, left.words)):
            if ours & one and theirs & other and not (ours & other or theirs & one):
                return True
    return False


def _differ_in_period(one: _Side, other: _Side) -> bool:
    """Tell whether the passages name different periods, places in a text or versions of a product; or only one does."""
    if not one.periods and not other.periods:
        return False
    if not one.periods or not other.periods:
        return True
    return not any(_agree(a, b) for a in one.periods for b in other.periods)


def _polarity_clash(left: Source, right: Source, topic: AbstractSet[str]) -> PassageClash | None:
    """Find what one passage asserts and the other denies."""
    if not _is_polar(left.reading) and not _is_polar(right.reading):
        return None
    for clause in left.reading.clauses:
        for other in right.reading.clauses:
            turned = _turned(clause, other)
            if turned is None or not _are_close(clause, other, turned):
                continue
            if not _same_values(clause, other) or not _are_alike(left.reading, right.reading, turned):
                continue
            sides = (_Side.of(left, None, turned), _Side.of(right, None, turned))
            if len(left.reading.clauses) + len(right.reading.clauses) > 2 and not _is_whole(clause, other, left, right):
                sides = (_narrowed(sides[0], clause), _narrowed(sides[1], other))
            if not _are_apart(*sides, left, right, topic):
                return PassageClash(left=left, right=right, said=(clause.text, other.text))
    return None


def _is_whole(clause: Clause, other: Clause, left: Source, right: Source) -> bool:
    return len(left.reading.clauses) == 1 and len(right.reading.clauses) == 1


def _narrowed(side: _Side, clause: Clause) -> _Side:
    conditions = [c for c in side.source.reading.clauses if c is clause or (c.tokens and c.tokens[0].word in _OPENERS)]
    tokens = tuple(t for t in side.tokens if any(c.start <= t.start < c.end for c in conditions))
    return _Side(side.source, tokens, side.periods)


def _turned(clause: Clause, other: Clause) -> frozenset[str] | None:
    """Return the words on which two clauses turn: one says yes and the other no; None if they don't."""
    ours, theirs = clause.marks, other.marks
    if ours.is_hedged or theirs.is_hedged or ours.is_implicit or theirs.is_implicit:
        return None
    if ours.extent is not theirs.extent and Extent.SOME in (ours.extent, theirs.extent):
        return None
    if ours.sets_limit or theirs.sets_limit or ours.is_exclusive or theirs.is_exclusive:
        return None
    for one, opposite in _POLES:
        if one in clause.keys and opposite in other.keys and one not in other.keys and opposite not in clause.keys:
            return frozenset({one, opposite}) if (one in ours.denied) == (opposite in theirs.denied) else None
    if None not in (ours.permits, theirs.permits) and ours.permits is not theirs.permits:
        return _NOTHING
    if ours.is_negated == theirs.is_negated:
        return None
    denied = ours.denied or theirs.denied
    common = clause.keys.keys() & other.keys.keys()
    return _NOTHING if (denied & common) or not denied else None


def _are_close(clause: Clause, other: Clause, turned: AbstractSet[str]) -> bool:
    ours = {key for key, worth in clause.keys.items() if worth >= FULL and key not in turned}
    theirs = {key for key, worth in other.keys.items() if worth >= FULL and key not in turned}
    common = {key for key in ours if _is_among(key, theirs)}
    if not common:
        # Scripts without spaces are read as pairs of characters of half the weight.
        pairs = clause.keys.keys() & other.keys.keys()
        return bool(pairs) and len(pairs) >= 0.75 * max(len(clause.keys), len(other.keys))
    return len(common) >= _SAME_SUBJECT * max(len(ours), len(theirs)) and len(common | turned) >= 2


def _are_alike(left: Reading, right: Reading, turned: AbstractSet[str]) -> bool:
    """Tell whether the shorter sentence is about what the longer one is about, whatever clauses they are cut into."""
    ours = {key for key, worth in left.keys.items() if worth > LIGHT} - turned
    theirs = {key for key, worth in right.keys.items() if worth > LIGHT} - turned
    common = sum(_is_among(key, theirs) for key in ours)
    return common >= _SAME_SUBJECT * min(len(ours), len(theirs))


def _same_values(clause: Clause, other: Clause) -> bool:
    ours = [q for q in clause.quantities if not q.is_weak]
    theirs = [q for q in other.quantities if not q.is_weak]
    return all(any(_agree(q, o) for o in theirs) for q in ours) and all(any(_agree(q, o) for o in ours) for q in theirs)


def _name_clash(left: Source, right: Source) -> PassageClash | None:
    """Find two sentences that are alike but for one name, where only one thing can be named: who founded it, where."""
    ours, theirs = left.reading, right.reading
    if not (_SINGULAR & ours.all_keys & theirs.all_keys):
        return None
    start, stop_ours, stop_theirs = _replaced(ours.tokens, theirs.tokens)
    one, other = ours.tokens[start:stop_ours], theirs.tokens[start:stop_theirs]
    if not _are_names(one) or not _are_names(other) or start == 0:
        return None
    outside = [t for t in (*ours.tokens[:start], *ours.tokens[stop_ours:]) if t.weight]
    # The name is the object: what is said of one subject, not the same thing said of two.
    cue = next((t for t in reversed(ours.tokens[:start]) if t.key in _SINGULAR), None)
    if cue is None or len(outside) < 2 or all(t.weight < FULL for t in outside):
        return None
    said = ours.text[one[0].start : one[-1].end], theirs.text[other[0].start : other[-1].end]
    return None if fold(said[0]) == fold(said[1]) else PassageClash(left=left, right=right, said=said)


def _replaced(ours: Sequence[Token], theirs: Sequence[Token]) -> tuple[int, int, int]:
    """Return where two sentences begin to differ, and where each goes on as the other does."""
    start = 0
    while start < min(len(ours), len(theirs)) and ours[start].word == theirs[start].word:
        start += 1
    end = 0
    while end < min(len(ours), len(theirs)) - start and ours[-1 - end].word == theirs[-1 - end].word:
        end += 1
    return start, len(ours) - end, len(theirs) - end


def _are_names(tokens: Sequence[Token]) -> bool:
    if not 0 < len(tokens) <= 4:
        return False
    return (
        all(t.is_name or not t.weight for t in tokens)
        and any(t.is_name and t.weight for t in tokens)
        and all(b.start - a.end <= 2 for a, b in pairwise(tokens))
    )
