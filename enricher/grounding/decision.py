"""Decide how a claim stands to the evidence. A trained entailment model can take the place of the weighing here; the
comparers keep the last word where they are certain."""

import re

from enricher.grounding.alignment import Clash, Trouble
from enricher.grounding.comparison import Likeness, compare
from enricher.grounding.crosslingual import decide_across_languages
from enricher.grounding.denials import quoted
from enricher.grounding.derivation import derived_value
from enricher.grounding.entities import replaced_name, swapped_roles
from enricher.grounding.lacking import (
    FOREIGN_SHARE,
    lacking_ranges,
    lacks_predicate,
    lacks_value,
    lacks_what_matters,
    lacks_what_may_be_done,
    unmentioned,
)
from enricher.grounding.limits import dropped_condition, mixes_clauses, widened_group
from enricher.grounding.outcome import Decision, Question
from enricher.grounding.reading import Clause, Reading
from enricher.grounding.search import Evidence
from enricher.grounding.tokens import FULL, LIGHT
from enricher.grounding.weighing import CANDIDATES, Weighed, clashing_share, total_share, weigh
from enricher.verdict import AlignmentStatus, IssueType

SUPPORTED_SHARE = 0.74  # of a clause; below it something was added
_ENOUGH = 0.66  # of a whole sentence, when what is missing is but a word here and there
_LONG = 6 * FULL  # what a sentence must weigh for that
# "I don't know the fee, but ...": what the writer says of himself is not held against the documents.
_ADMISSION = re.compile(
    r"\W*(?:i|we)\s+(?:do\s+not|don['’]?t|can(?:no|['’])?t|could\s+not|couldn['’]?t|am\s+not|['’]m\s+not|am\s+unable)\b",
    re.I,
)


def decide(claim: Reading, evidence: Evidence, question: Question | None = None) -> Decision:
    """Decide a claim from the evidence; the question only says what may be left unsaid."""
    if evidence.is_foreign_to(claim.language):
        return decide_across_languages(claim, evidence)
    candidates = evidence.best(_search_keys(claim), CANDIDATES)
    if not candidates:
        text = "nothing in the documents speaks of this"
        return Decision(AlignmentStatus.UNSUPPORTED, IssueType.ADDED, text, [], 0.0, True)
    derived, derived_places, derived_note = derived_value(claim, evidence, candidates)
    weighed = [weigh(clause, claim, evidence, candidates, derived) for clause in _units(claim)]
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


def _main_place(weighed: list[Weighed], candidates: list[int]) -> int | None:
    votes: dict[int, float] = {}
    for part in weighed:
        if part.places and part.share > 0:
            votes[part.places[0]] = votes.get(part.places[0], 0.0) + part.share * part.clause.weight
    return max(votes, key=lambda place: (votes[place], -place), default=candidates[0] if candidates else None)


def _whole_sentence_clashes(
    claim: Reading, evidence: Evidence, main: int | None, weighed: list[Weighed], question: Question | None
) -> list[Clash]:
    """Compare what only the whole sentence shows: roles, names, conditions, the scope that tells sources apart."""
    if main is None:
        return []
    source = evidence.sources[main]
    share = total_share(weighed)
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
        start = claim.text.find(names[0])
        clashes.append(Clash(Trouble.CONTRADICTED, text, main, (start, start + len(names[0]))))
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
        for place in evidence.best(claim.keys, CANDIDATES)
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


def _combine(
    claim: Reading, evidence: Evidence, weighed: list[Weighed], clashes: list[Clash], places: list[int]
) -> Decision:
    share = total_share(weighed)
    contradicted = [c for c in clashes if c.trouble is Trouble.CONTRADICTED]
    if contradicted and share + clashing_share(weighed) >= FOREIGN_SHARE:
        first = contradicted[0].place
        ordered = [first, *(p for p in places if p != first)]
        text = "; ".join(dict.fromkeys(c.reason for c in contradicted))
        found = Decision(AlignmentStatus.CONTRADICTED, IssueType.CONTRADICTED, text, ordered, share, True)
        found.lacks = [] if any(c.said is None for c in contradicted) else [c.said for c in contradicted if c.said]
        return found
    lacking = [part for part in weighed if part.share < SUPPORTED_SHARE or lacks_what_matters(part, evidence)]
    softer = [c for c in clashes if c.trouble is not Trouble.CONTRADICTED]
    if share < FOREIGN_SHARE or lacks_predicate(weighed, share):
        return _unsupported(claim, evidence, weighed, places, share)
    if softer:
        worst = max(softer, key=lambda c: c.trouble)
        issue = IssueType.DISTORTED if worst.trouble is Trouble.DISTORTED else IssueType.OMITTED
        found = Decision(AlignmentStatus.PARTIALLY_SUPPORTED, issue, worst.reason, places, share, True)
        found.lacks = [*([worst.said] if worst.said else []), *lacking_ranges(lacking)]
        return found
    if lacking:
        certain = any(part.share < FOREIGN_SHARE for part in lacking)
        if (
            claim.weight >= _LONG
            and share >= _ENOUGH
            and not any(lacks_what_matters(part, evidence) for part in lacking)
        ):
            # Other words for the same, four times in five: people call such sentences supported.
            return Decision(AlignmentStatus.FULLY_SUPPORTED, IssueType.NONE, "", places, share, False)
        text = unmentioned(lacking)
        found = Decision(AlignmentStatus.PARTIALLY_SUPPORTED, IssueType.ADDED, text, places, share, certain)
        found.lacks = lacking_ranges(lacking)
        found.is_open = claim.weight >= _LONG and not any(
            lacks_value(part, evidence) or lacks_what_may_be_done(part, evidence) for part in lacking
        )
        return found
    return Decision(AlignmentStatus.FULLY_SUPPORTED, IssueType.NONE, "", places, share, True)


def _unsupported(
    claim: Reading, evidence: Evidence, weighed: list[Weighed], places: list[int], share: float
) -> Decision:
    unknown = [key for key, weight in claim.keys.items() if weight >= FULL and not evidence.knows(key)]
    certain = len(unknown) >= 0.5 * max(1, sum(weight >= FULL for weight in claim.keys.values()))
    text = unmentioned(weighed)
    return Decision(AlignmentStatus.UNSUPPORTED, IssueType.ADDED, text, places[:1], share, certain)
