"""Tell what the evidence lacks of a claim, and whether other words for the same can explain that."""

from collections.abc import Sequence
from itertools import pairwise

from enricher.grounding.denials import quoted
from enricher.grounding.lexicon import word_set
from enricher.grounding.outcome import Range
from enricher.grounding.polarity import Extent
from enricher.grounding.search import Evidence
from enricher.grounding.tokens import FULL, LIGHT, Token
from enricher.grounding.weighing import Weighed

FOREIGN_SHARE = 0.34  # of a claim; below it the documents don't speak of it
_A_STATEMENT = 2 * FULL  # so much missing in one clause is a statement of its own
_MOST_PHRASES = 3
_JOINING = word_set("and but or so und aber oder et mais ou y pero o e ma mas")
_REACH = 3  # words with content from one that is lacking to the next, so that both are one phrase
_BE = word_set("is are was were be been being ist sind war wird werden wurde wurden est sont es son è sono")
_MODALS = word_set("may might must shall should can could will would cannot")


def lacks_what_matters(part: Weighed, evidence: Evidence) -> bool:
    """Tell whether a clause has no support in a way that no other words for the same can explain."""
    return _lacks_for_sure(part, evidence) or (
        part.share < FOREIGN_SHARE and sum(part.missing.values()) >= _A_STATEMENT
    )


def _lacks_for_sure(part: Weighed, evidence: Evidence) -> bool:
    return lacks_value(part, evidence) or lacks_what_is_said(part) or lacks_what_may_be_done(part, evidence)


def lacks_value(part: Weighed, evidence: Evidence) -> bool:
    """Tell whether a value has no support: however well the words fit, the statement is then not the documents'."""
    if not part.open_values:
        return False
    speaks_of_all = any(evidence.sources[p].reading.marks.extent is Extent.ALL for p in part.places)
    return any(
        not q.is_weak and q.dimension != "ordinal" and not (speaks_of_all and q.dimension.startswith("label"))
        for q in part.open_values
    )


def lacks_what_is_said(part: Weighed) -> bool:
    """Tell whether the evidence lacks the very word that is said of the subject: "the password is encrypted"."""
    if part.clause.quantities or not part.missing:
        return False
    tokens = [t for t in part.clause.tokens if not t.word.endswith("ly")]
    for before, token in pairwise(tokens):
        if before.word in _BE and token.weight:
            return token.weight >= FULL and token.key in part.missing
    return False


def lacks_what_may_be_done(part: Weighed, evidence: Evidence) -> bool:
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


def lacks_predicate(weighed: list[Weighed], share: float) -> bool:
    """Tell whether the evidence holds only what a lone clause begins with: its subject, nothing that is said of it."""
    if len(weighed) != 1:
        return False
    part = weighed[0]
    if lacks_what_is_said(part):
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


def unmentioned(parts: list[Weighed]) -> str:
    """Say in words what the documents lack: the phrases of the claim round the missing words, the values first."""
    phrases: list[str] = []
    for part in parts:
        phrases += [q.text for q in part.open_values if not q.is_weak]
        phrases += _missing_phrases(part)
    named = list(dict.fromkeys(phrases))[:_MOST_PHRASES] or [part.clause.text for part in parts[:1]]
    return "the documents say nothing about " + " or ".join(quoted(phrase) for phrase in named)


def _missing_phrases(part: Weighed) -> list[str]:
    """Return the stretches of a clause from one missing word with content to the next, short words between included.

    A word missing alone is given with the one it goes with: "safe throughout pregnancy".
    """
    tokens = [t for t in part.clause.tokens if t.weight]
    worth = LIGHT if all(weight < FULL for weight in part.missing.values()) else FULL
    runs = _runs([part.missing.get(t.key, 0.0) >= worth for t in tokens], reach=1)
    text, offset = part.clause.text, part.clause.start
    phrases = []
    for first, last in runs:
        if first == last and len(runs) == 1:
            first, last = (first, last + 1) if last + 1 < len(tokens) else (max(0, first - 1), last)
        phrases.append(text[tokens[first].start - offset : tokens[last].end - offset])
    return phrases


def _runs(lost: Sequence[bool], *, reach: int) -> list[tuple[int, int]]:
    """Return the first and last place of each stretch of lost words, whose next one is at most `reach` further on."""
    runs: list[tuple[int, int]] = []
    for place in (place for place, is_lost in enumerate(lost) if is_lost):
        if runs and place - runs[-1][1] <= reach:
            runs[-1] = (runs[-1][0], place)
        else:
            runs.append((place, place))
    return runs


def lacking_ranges(parts: Sequence[Weighed]) -> list[Range]:
    """Return where clauses say what the evidence lacks: phrases, or all of a clause that the documents don't know."""
    return [found for part in parts for found in _ranges_of(part)]


def _ranges_of(part: Weighed) -> list[Range]:
    clause = part.clause
    if part.share < FOREIGN_SHARE:
        first = clause.tokens[1] if len(clause.tokens) > 1 and clause.tokens[0].word in _JOINING else None
        return [(first.start if first is not None else clause.start, clause.end)]
    tokens = [t for t in clause.tokens if t.weight or any(q.start <= t.start < q.end for q in part.open_values)]
    lost = [
        part.missing.get(t.key, 0.0) > 0 or any(q.start <= t.start < q.end for q in part.open_values) for t in tokens
    ]
    return [(tokens[first].start, tokens[last].end) for first, last in _runs(lost, reach=_REACH)]
