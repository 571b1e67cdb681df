"""Decide how a claim stands to the evidence. A trained entailment model can take the place of the weighing here; the
comparers keep the last word where they are certain."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise

from enricher.grounding.alignment import Alignment, Clash, Trouble, align
from enricher.grounding.comparison import Likeness, compare
from enricher.grounding.crosslingual import decide_across_languages
from enricher.grounding.denials import quoted
from enricher.grounding.entities import replaced_name, swapped_roles
from enricher.grounding.lexicon import word_set
from enricher.grounding.limits import dropped_condition, mixes_clauses, widened_group
from enricher.grounding.measures import Quantity
from enricher.grounding.outcome import Decision, Question
from enricher.grounding.polarity import Extent
from enricher.grounding.reading import Clause, Reading
from enricher.grounding.search import Evidence, Source
from enricher.grounding.tokens import FULL, LIGHT, Token
from enricher.verdict import AlignmentStatus, IssueType

SUPPORTED_SHARE = 0.74  # of a clause; below it something was added
FOREIGN_SHARE = 0.34  # of a claim; below it the documents don't speak of it
_ENOUGH = 0.66  # of a whole sentence, when what is missing is but a word here and there
_LONG = 6 * FULL  # what a sentence must weigh for that
_A_STATEMENT = 2 * FULL  # so much missing in one clause is a statement of its own
_CANDIDATES = 5
_FOR_CLAUSE = 2
_CLOSE_LOOKS = 3
_WORTH_A_LOOK = 0.5  # of the words that the best sentence holds
_SPEAKS_OF_IT = 0.4  # of a clause's words; such a sentence of the right version makes those of others irrelevant
_NEARLY = 0.12  # a sentence that covers only so much less serves as well
_SUM_CUE = re.compile(
    r"\b(?:total|totals|sum|altogether|together|combined|overall|in\s+all|insgesamt|zusammen|gesamt|summe|au\s+total|en\s+total|"
    r"in\s+totale)\b",
    re.I,
)
_SUM_WORDS = word_set(
    "total totals sum altogether together combined overall all insgesamt zusammen gesamt summe totale"
)
_DIFFERENCE_CUE = re.compile(
    r"\b(?:difference|more\s+than|less\s+than|increase|decrease|rose\s+by|fell\s+by|saves?|cheaper|left)\b", re.I
)
_DIFFERENCE_WORDS = word_set("difference than increase decrease by save saves cheaper left")
# "I don't know the fee, but ...": what the writer says of himself is not held against the documents.
_ADMISSION = re.compile(
    r"\W*(?:i|we)\s+(?:do\s+not|don['’]?t|can(?:no|['’])?t|could\s+not|couldn['’]?t|am\s+not|['’]m\s+not|am\s+unable)\b",
    re.I,
)
_BE = word_set("is are was were be been being ist sind war wird werden wurde wurden est sont es son è sono")
_MODALS = word_set("may might must shall should can could will would cannot")
_NEVER_ADDED = ("label", "ordinal", "code", "temperature")  # nobody adds up temperatures
_MAX_TERMS = 8
_MOST_PHRASES = 3


@dataclass(slots=True)
class _Weighed:
    """A clause with its best alignment and what other sentences add to it."""

    clause: Clause
    alignment: Alignment | None
    share: float = 0.0
    places: list[int] = field(default_factory=list)
    missing: dict[str, float] = field(default_factory=dict)
    clashes: list[Clash] = field(default_factory=list)
    open_values: list[Quantity] = field(default_factory=list)


def decide(claim: Reading, evidence: Evidence, question: Question | None = None) -> Decision:
    """Decide a claim from the evidence; the question only says what may be left unsaid."""
    if evidence.is_foreign_to(claim.language):
        return decide_across_languages(claim, evidence)
    candidates = evidence.best(_search_keys(claim), _CANDIDATES)
    if not candidates:
        text = "nothing in the documents speaks of this"
        return Decision(AlignmentStatus.UNSUPPORTED, IssueType.ADDED, text, [], 0.0, True)
    derived, derived_places, derived_note = _derived_value(claim, evidence, candidates)
    weighed = [_weigh(clause, claim, evidence, candidates, derived) for clause in _units(claim)]
    if not weighed:
        return Decision(
            AlignmentStatus.UNSUPPORTED, IssueType.ADDED, "says nothing that can be compared", [], 0.0, False
        )
    main = _main_place(weighed, candidates)
    clashes = [clash for part in weighed for clash in part.clashes]
    clashes += _whole_sentence_clashes(claim, evidence, main, weighed, question)
    if derived_note:
        clashes.append(Clash(Trouble.CONTRADICTED, derived_note, derived_places[0]))
    places = list(
        dict.fromkeys([*derived_places, *([main] if main is not None else []), *(p for w in weighed for p in w.places)])
    )
    return _combine(claim, evidence, weighed, clashes, places)


def _search_keys(claim: Reading) -> dict[str, float]:
    weights = claim.keys
    return {key: weights.get(key, LIGHT) for key in claim.all_keys}


def _units(claim: Reading) -> list[Clause]:
    """Return the clauses that can be judged by themselves; asides of light words belong to the whole."""
    told = [c for c in claim.clauses if not _ADMISSION.match(c.text)] or claim.clauses
    units = [c for c in told if c.quantities or any(w >= FULL / 2 for w in c.keys.values())]
    return units or list(told)


def _weigh(
    clause: Clause, claim: Reading, evidence: Evidence, candidates: list[int], derived: Mapping[int, int]
) -> _Weighed:
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
    weighed = _Weighed(clause, best, places=[best.place], missing=dict(best.missing), clashes=list(best.clashes))
    weighed.open_values = list(best.open_values)
    _look_elsewhere(weighed, alignments, evidence)
    if weighed.open_values and (other := next((a for a in elsewhere if not a.open_values), None)):
        weighed.clashes.append(other.clashes[0])  # another version of the document says just this
        weighed.places.append(other.place)
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
    return 0.2 * (1.0 - order[alignment.place] / _CANDIDATES) if alignment.place in order else 0.0


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


def _look_elsewhere(weighed: _Weighed, alignments: list[Alignment], evidence: Evidence) -> None:
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


def _covered_share(weighed: _Weighed) -> float:
    clause = weighed.clause
    if not clause.weight:
        return 0.0
    lost = sum(weighed.missing.values()) + sum(LIGHT if q.is_weak else FULL for q in weighed.open_values)
    clashing = sum(c.trouble is Trouble.CONTRADICTED for c in weighed.clashes)
    return max(0.0, 1.0 - lost / clause.weight) if not clashing else max(0.0, 1.0 - (lost + clashing) / clause.weight)


def _main_place(weighed: list[_Weighed], candidates: list[int]) -> int | None:
    votes: dict[int, float] = {}
    for part in weighed:
        if part.places and part.share > 0:
            votes[part.places[0]] = votes.get(part.places[0], 0.0) + part.share * part.clause.weight
    return max(votes, key=lambda place: (votes[place], -place), default=candidates[0] if candidates else None)


def _whole_sentence_clashes(
    claim: Reading, evidence: Evidence, main: int | None, weighed: list[_Weighed], question: Question | None
) -> list[Clash]:
    """Compare what only the whole sentence shows: roles, names, conditions, the scope that tells sources apart."""
    if main is None:
        return []
    source = evidence.sources[main]
    share = _total_share(weighed)
    clashes = []
    if swap := swapped_roles(claim, source.reading):
        text = (
            f"answer says {quoted(claim.text)}, {source.document.id} says {quoted(source.text)}: "
            f"'{swap[0]}' and '{swap[1]}' have changed places"
        )
        clashes.append(Clash(Trouble.CONTRADICTED, text, main))
    unknown = frozenset(name for name in claim.names if not evidence.knows(name))
    if unknown and share >= 0.5 and (names := replaced_name(claim, source.reading, unknown)):
        text = f"answer says {quoted(names[0])}, {source.document.id} says {quoted(names[1])}"
        clashes.append(Clash(Trouble.CONTRADICTED, text, main))
    known = claim.all_keys | (question.keys if question else frozenset())
    if share >= 0.6 and (group := widened_group(claim, source.reading)):
        text = f"the answer speaks of everyone, {source.document.id} of '{group}'"
        clashes.append(Clash(Trouble.DISTORTED, text, main))
    if len(weighed) == 1 and mixes_clauses(weighed[0].clause, source.reading):
        text = f"the answer joins parts of two statements ({source.document.id})"
        clashes.append(Clash(Trouble.DISTORTED, text, main))
    if share >= 0.6 and (condition := dropped_condition(source.reading, known)):
        text = f"the answer leaves out '{condition}' ({source.document.id})"
        clashes.append(Clash(Trouble.OMITTED, text, main))
    elif share >= 0.6 and (scope := _dropped_scope(claim, evidence, main, known)):
        clashes.append(Clash(Trouble.OMITTED, scope, main))
    return clashes


def _dropped_scope(claim: Reading, evidence: Evidence, main: int, known: set[str] | frozenset[str]) -> str | None:
    """Notice that sources differ in a value by scope (region, group, period) and that the claim names no scope."""
    if not claim.quantities:
        return None
    here = evidence.sources[main].reading
    shared = claim.keys.keys() & here.keys.keys()
    # What holds less than that needn't be read for its values.
    places = [
        place
        for place in evidence.best(claim.keys, _CANDIDATES)
        if place != main and shared <= evidence.sources[place].reading.all_keys
    ]
    for quantity in claim.quantities:
        for place in places:
            source = evidence.sources[place]
            there = source.reading
            if not shared <= there.keys.keys() or claim.keys.keys().isdisjoint(there.keys):
                continue
            if not any(compare(quantity, other).likeness is Likeness.DIFFERENT for other in there.quantities):
                continue
            ours = [k for k, w in here.keys.items() if w >= FULL / 2 and k not in there.keys and k not in known]
            theirs = [k for k, w in there.keys.items() if w >= FULL / 2 and k not in here.keys and k not in known]
            if ours and theirs and len(ours) <= 3 and len(theirs) <= 3:
                own, other_doc = evidence.sources[main].document.id, source.document.id
                scope = _spelled(here, ours[0])
                return f"the value depends on the case: {own} gives it for '{scope}', {other_doc} another"
    return None


def _spelled(reading: Reading, key: str) -> str:
    return next((reading.text[t.start : t.end] for t in reading.tokens if t.key == key), key)


def _total_share(weighed: list[_Weighed]) -> float:
    weight = sum(part.clause.weight for part in weighed)
    return sum(part.share * part.clause.weight for part in weighed) / weight if weight else 0.0


def _derived_value(claim: Reading, evidence: Evidence, candidates: list[int]) -> tuple[dict[int, int], list[int], str]:
    """Check a claimed sum or difference against the values it can be made of.

    Returns the values that were derived, the sentences they come from, and the mismatch if the sum is wrong.
    """
    is_sum = not _SUM_WORDS.isdisjoint(claim.words) and bool(_SUM_CUE.search(claim.text))
    is_difference = not _DIFFERENCE_WORDS.isdisjoint(claim.words) and bool(_DIFFERENCE_CUE.search(claim.text))
    if not (is_sum or is_difference):
        return {}, [], ""
    for quantity in claim.quantities:
        if not quantity.values or quantity.upper or quantity.dimension.startswith(_NEVER_ADDED):
            continue
        terms = [
            (p, q)
            for p in candidates
            for q in evidence.sources[p].reading.quantities
            if q.dimension == quantity.dimension
        ]
        terms = [(p, q) for p, q in terms if q.values and not q.upper][:_MAX_TERMS]
        if any(compare(quantity, q).likeness is Likeness.SAME for _, q in terms):
            continue
        if is_sum and (used := _adding_up(quantity, terms)):
            return {id(quantity): 1}, [place for place, _ in used], ""
        if is_difference and (used := _differing_by(quantity, terms)):
            return {id(quantity): 1}, [place for place, _ in used], ""
        if is_sum and len(terms) >= 2 and quantity.unit is not None:
            total = sum(q.values[0] for _, q in terms)
            parts = " + ".join(q.text for _, q in terms)
            return (
                {},
                [place for place, _ in terms],
                f"answer says {quantity.text}, but {parts} is {total / quantity.unit.factor:g}",
            )
    return {}, [], ""


def _adding_up(quantity: Quantity, terms: list[tuple[int, Quantity]]) -> list[tuple[int, Quantity]] | None:
    for size in range(2, min(len(terms), 4) + 1):
        for group in combinations(terms, size):
            if any(abs(sum(q.values[0] for _, q in group) - value) <= 1e-6 * abs(value) for value in quantity.values):
                return list(group)
    return None


def _differing_by(quantity: Quantity, terms: list[tuple[int, Quantity]]) -> list[tuple[int, Quantity]] | None:
    for left, right in combinations(terms, 2):
        gap = abs(left[1].values[0] - right[1].values[0])
        if gap and any(abs(gap - value) <= 1e-6 * abs(value) for value in quantity.values):
            return [left, right]
    return None


def _combine(
    claim: Reading, evidence: Evidence, weighed: list[_Weighed], clashes: list[Clash], places: list[int]
) -> Decision:
    share = _total_share(weighed)
    contradicted = [c for c in clashes if c.trouble is Trouble.CONTRADICTED]
    if contradicted and share + _clashing_share(weighed) >= FOREIGN_SHARE:
        first = contradicted[0].place
        ordered = [first, *(p for p in places if p != first)]
        text = "; ".join(dict.fromkeys(c.reason for c in contradicted))
        return Decision(AlignmentStatus.CONTRADICTED, IssueType.CONTRADICTED, text, ordered, share, True)
    lacking = [part for part in weighed if part.share < SUPPORTED_SHARE or _lacks_what_matters(part, evidence)]
    softer = [c for c in clashes if c.trouble is not Trouble.CONTRADICTED]
    if share < FOREIGN_SHARE or _lacks_predicate(weighed, share):
        return _unsupported(claim, evidence, weighed, places, share)
    if softer:
        worst = max(softer, key=lambda c: c.trouble)
        issue = IssueType.DISTORTED if worst.trouble is Trouble.DISTORTED else IssueType.OMITTED
        return Decision(AlignmentStatus.PARTIALLY_SUPPORTED, issue, worst.reason, places, share, True)
    if lacking:
        certain = any(part.share < FOREIGN_SHARE for part in lacking)
        if (
            claim.weight >= _LONG
            and share >= _ENOUGH
            and not any(_lacks_what_matters(part, evidence) for part in lacking)
        ):
            # Other words for the same, four times in five: people call such sentences supported.
            return Decision(AlignmentStatus.FULLY_SUPPORTED, IssueType.NONE, "", places, share, False)
        text = _unmentioned(lacking)
        found = Decision(AlignmentStatus.PARTIALLY_SUPPORTED, IssueType.ADDED, text, places, share, certain)
        found.is_open = claim.weight >= _LONG and not any(
            _lacks_value(part, evidence) or _lacks_what_may_be_done(part, evidence) for part in lacking
        )
        return found
    return Decision(AlignmentStatus.FULLY_SUPPORTED, IssueType.NONE, "", places, share, True)


def _lacks_what_matters(part: _Weighed, evidence: Evidence) -> bool:
    """Tell whether a clause has no support in a way that no other words for the same can explain."""
    return _lacks_for_sure(part, evidence) or (
        part.share < FOREIGN_SHARE and sum(part.missing.values()) >= _A_STATEMENT
    )


def _lacks_for_sure(part: _Weighed, evidence: Evidence) -> bool:
    return _lacks_value(part, evidence) or _lacks_what_is_said(part) or _lacks_what_may_be_done(part, evidence)


def _lacks_value(part: _Weighed, evidence: Evidence) -> bool:
    """Tell whether a value has no support: however well the words fit, the statement is then not the documents'."""
    if not part.open_values:
        return False
    speaks_of_all = any(evidence.sources[p].reading.marks.extent is Extent.ALL for p in part.places)
    return any(
        not q.is_weak and q.dimension != "ordinal" and not (speaks_of_all and q.dimension.startswith("label"))
        for q in part.open_values
    )


def _lacks_what_is_said(part: _Weighed) -> bool:
    """Tell whether the evidence lacks the very word that is said of the subject: "the password is encrypted"."""
    if part.clause.quantities or not part.missing:
        return False
    tokens = [t for t in part.clause.tokens if not t.word.endswith("ly")]
    for before, token in pairwise(tokens):
        if before.word in _BE and token.weight:
            return token.weight >= FULL and token.key in part.missing
    return False


def _lacks_what_may_be_done(part: _Weighed, evidence: Evidence) -> bool:
    """Tell whether the evidence lets or makes somebody do another thing: "may keep pets" beside "may insure pets"."""
    verb = _after_modal(part.clause.tokens)
    if verb is None or verb.key not in part.missing:
        return False
    others = [_after_modal(evidence.sources[place].reading.tokens) for place in part.places]
    return any(other is not None and other.weight >= FULL and other.key not in part.clause.keys for other in others)


def _after_modal(tokens: Sequence[Token]) -> Token | None:
    for before, token in pairwise(tokens):
        if before.word in _MODALS and token.weight:
            return token
    return None


def _lacks_predicate(weighed: list[_Weighed], share: float) -> bool:
    """Tell whether the evidence holds only what a lone clause begins with: its subject, nothing that is said of it."""
    if len(weighed) != 1:
        return False
    part = weighed[0]
    if _lacks_what_is_said(part):
        return True
    if share > 0.5:
        return False
    first_lost = min(
        [t.start for t in part.clause.tokens if t.key in part.missing] + [q.start for q in part.open_values],
        default=None,
    )
    kept = [t.start for t in part.clause.tokens if t.key in part.clause.keys and t.key not in part.missing]
    kept += [q.start for q in part.clause.quantities if q not in part.open_values]
    return first_lost is not None and all(start < first_lost for start in kept)


def _clashing_share(weighed: list[_Weighed]) -> float:
    weight = sum(part.clause.weight for part in weighed)
    values = sum(c.trouble is Trouble.CONTRADICTED for part in weighed for c in part.clashes)
    return values / weight if weight else 0.0


def _unmentioned(parts: list[_Weighed]) -> str:
    """Say in words what the documents lack: the phrases of the claim round the missing words, the values first."""
    phrases: list[str] = []
    for part in parts:
        phrases += [q.text for q in part.open_values if not q.is_weak]
        phrases += _missing_phrases(part)
    named = list(dict.fromkeys(phrases))[:_MOST_PHRASES] or [part.clause.text for part in parts[:1]]
    return "the documents say nothing about " + " or ".join(quoted(phrase) for phrase in named)


def _missing_phrases(part: _Weighed) -> list[str]:
    """Return the stretches of a clause from one missing word with content to the next, short words between included.

    A word missing alone is given with the one it goes with: "safe throughout pregnancy".
    """
    tokens = [t for t in part.clause.tokens if t.weight]
    worth = LIGHT if all(weight < FULL for weight in part.missing.values()) else FULL
    lost = [part.missing.get(t.key, 0.0) >= worth for t in tokens]
    runs: list[tuple[int, int]] = []
    for place in (place for place, is_lost in enumerate(lost) if is_lost):
        if runs and runs[-1][1] == place - 1:
            runs[-1] = (runs[-1][0], place)
        else:
            runs.append((place, place))
    text, offset = part.clause.text, part.clause.start
    phrases = []
    for first, last in runs:
        if first == last and len(runs) == 1:
            first, last = (first, last + 1) if last + 1 < len(tokens) else (max(0, first - 1), last)
        phrases.append(text[tokens[first].start - offset : tokens[last].end - offset])
    return phrases


def _unsupported(
    claim: Reading, evidence: Evidence, weighed: list[_Weighed], places: list[int], share: float
) -> Decision:
    unknown = [key for key, weight in claim.keys.items() if weight >= FULL and not evidence.knows(key)]
    certain = len(unknown) >= 0.5 * max(1, sum(weight >= FULL for weight in claim.keys.values()))
    text = _unmentioned(weighed)
    return Decision(AlignmentStatus.UNSUPPORTED, IssueType.ADDED, text, places[:1], share, certain)
