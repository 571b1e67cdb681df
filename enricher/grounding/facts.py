"""Hold a claim against the fields of a structured document: yes and no, opening hours, ratings, values not given."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import lru_cache

from enricher.grounding.comparison import Likeness, compare
from enricher.grounding.hours import DAYS, Hours, Told, day_of, differing_day, read_recorded, read_told
from enricher.grounding.lexicon import word_set
from enricher.grounding.outcome import Decision, Range
from enricher.grounding.reading import Reading
from enricher.grounding.record_words import EMPTY, GENERIC, SAID_AS, SETTINGS, STATES
from enricher.grounding.search import Evidence
from enricher.grounding.statements import is_denied, key_words, path_words
from enricher.grounding.structure import Field
from enricher.grounding.tokens import FULL, key_of, tokenize
from enricher.verdict import AlignmentStatus, IssueType


class Agreement(IntEnum):
    """How a claim stands to a field, worst last."""

    HOLDS = 0
    NOT_GIVEN = 1  # the field is there, without a value
    CONTRADICTED = 2


@dataclass(frozen=True, slots=True)
class Mention:
    """A part of a claim that speaks of a field; offsets into the claim."""

    start: int
    end: int
    agreement: Agreement
    place: int  # of the field among the sources; -1 when nothing can be quoted
    reason: str = ""


_DAY_NAMES = frozenset(map(key_of, DAYS))
_SUPPORTED_SHARE = 0.8  # of the words that say something, beside what fields confirm
_MOST_APART = 6  # words between those of one field
_COMMON = word_set("live video early late other small large")  # says something only beside what holds it: "live music"
_RIVALS = ((r"\bfree\b(?=\W+(?:\w+\W+)?$)", "paid"), (r"\bpaid\b(?=\W+$)", "free"))

_TURN = re.compile(r"[;.]|\b(?:but|however|although|though|while|whereas|yet|nevertheless)\b")
_AFFIRMING = (
    r"(?:offers?|has|have|provides?|accepts?|allows?|features?|includes?|boasts?|takes|there (?:is|are)|with|is|are)"
)
_DENYING_VERB = re.compile(
    r"\b(?:(?:do|does|did|is|are|was|were|has|have|can|could|will|would)(?:\s+not|n['’]?t)|cannot|never|lacks?|lacking|"
    r"not(?! only)|nor|neither|unable to|fails? to|unavailable for)\b"
)
_DENYING_NOUN = re.compile(
    r"\b(?:no|without|absence of|lack of|rather than|instead of|as opposed to)\b(?! (?:longer|doubt|matter|wonder))"
)
_AGAIN = re.compile(rf"(?:,|\band\b)\s+(?:(?:it|they|the \w+|also|does|do|instead)\s+)*{_AFFIRMING}\b")
_AFFIRMED = re.compile(rf"\b{_AFFIRMING}\b")
_PREDICATE = re.compile(
    r"\b(?:(?P<no>(?:is|are|was|were|does|do)(?:\s+not|n['’]?t)\b|(?:is|are)\s+(?:un\w+|lacking|absent|missing)\b|unavailable\b)"
    r"|(?P<yes>is|are|was|were)\b)"
)
_UNTOLD = r"unclear|unknown|unspecified|(?:not|n['’]t) (?:specified|mentioned|provided|stated|listed|clear)"
_OPEN = re.compile(rf"\b(?:required|needed|necessary|recommended|limited|{_UNTOLD}|may|might)\b")
_GIVES_NOTHING = re.compile(
    rf"\b(?:{_UNTOLD})\b|\b(?:no|not|n['’]t|without|lacks?)\b[^.;]{{0,40}}\b(?:information|details?|mention|data)\b"
)
_LIST_COMMA = re.compile(r",")
_LIST_REACH = 120  # characters in which the "or" of a list is looked for
_OR = re.compile(r"\b(?:or|nor)\b")

_STARS = re.compile(
    r"(?P<number>\d(?:\.\d+)?|one|two|three|four|five)(?P<half>[\s-]and[\s-]a[\s-]half)?[\s-]*"
    r"(?:stars?\b|out of (?:5|five)\b(?:[\s-]*stars?\b)?|/\s?5\b)"
    r"|\brat(?:ing|ed)(?:\s+\w+){0,2}?\s+(?:of|at|is|as)\s+(?P<rated>\d(?:\.\d+)?)(?![\d:/.]*\s*(?:am|pm|%|\d))"
)
_NUMBERS = {"one": 1.0, "two": 2.0, "three": 3.0, "four": 4.0, "five": 5.0}
_RATING_KEYS = word_set("stars star rating ratings score")
_ABOUT = re.compile(r"\b(?:about|around|approximately|nearly|almost|over|above|under|below|between|ranging|from)\W+$")
_OVERALL = re.compile(r"\b(?:overall|average|business|restaurant|establishment|it has|rated|rating)\b")
_REVIEWED = re.compile(r"\b(?:reviews?|reviewers?|customers?|one|another|some|guest|diner|visitor|patron)\b")
# What a sentence leaves of the probability that all of an answer holds. Round figures set by hand: there was no
# labelled set of such answers to fit them on.
_KEEPS = {  # where the decision is certain, and where it is not
    AlignmentStatus.FULLY_SUPPORTED: (0.985, 0.955),
    AlignmentStatus.PARTIALLY_SUPPORTED: (0.7, 0.8),
    AlignmentStatus.UNSUPPORTED: (0.45, 0.6),
    AlignmentStatus.CONTRADICTED: (0.3, 0.4),
}


def weigh_facts(claim: Reading, decision: Decision, evidence: Evidence) -> Decision:
    """Let the fields of the documents settle what the words alone can't; they have the last word where they speak."""
    mentions = [*_yes_or_no(claim, evidence), *_hours(claim, evidence), *_ratings(claim, evidence)]
    against = [m for m in mentions if m.agreement is Agreement.CONTRADICTED]
    if against:
        text = "; ".join(dict.fromkeys(m.reason for m in against))
        places = [*(m.place for m in against), *decision.places]
        found = Decision(
            AlignmentStatus.CONTRADICTED, IssueType.CONTRADICTED, text, places, decision.share, True, decision.flags
        )
        found.lacks = _clauses_of(against, claim)
        return found
    share = _told_share(claim, mentions, evidence)
    held = [m.place for m in mentions if m.agreement is Agreement.HOLDS and m.place >= 0]
    places = list(dict.fromkeys([*held, *decision.places]))
    if absent := [m for m in mentions if m.agreement is Agreement.NOT_GIVEN]:
        text = "; ".join(dict.fromkeys(m.reason for m in absent))
        is_all = len(absent) == len(mentions) and share < _SUPPORTED_SHARE
        status = AlignmentStatus.UNSUPPORTED if is_all else AlignmentStatus.PARTIALLY_SUPPORTED
        found = Decision(status, IssueType.ADDED, text, places, min(share, 0.5), True, decision.flags)
        found.lacks = _clauses_of(absent, claim)
        return found
    stranger = _stranger(claim, mentions, evidence)
    if decision.status is AlignmentStatus.FULLY_SUPPORTED and not decision.is_certain and stranger:
        text = f"the documents say nothing about '{stranger}'"
        return replace(decision, status=AlignmentStatus.PARTIALLY_SUPPORTED, issue=IssueType.ADDED, explanation=text)
    if decision.status is AlignmentStatus.FULLY_SUPPORTED or not (places or mentions) or stranger:
        return decision
    if not mentions and decision.status is AlignmentStatus.CONTRADICTED:
        return decision
    if share >= _SUPPORTED_SHARE and _has_values(
        claim, mentions, [evidence.sources[place].reading for place in places]
    ):
        return Decision(
            AlignmentStatus.FULLY_SUPPORTED, IssueType.NONE, "", places, share, bool(mentions), decision.flags
        )
    return decision


def record_probability(decisions: Sequence[Decision]) -> float:
    """Return the probability that an answer is faithful to records, whose words its own words are not."""
    found = 1.0
    for decision in decisions:
        sure, unsure = _KEEPS[decision.status]
        found *= sure if decision.is_certain else unsure
    return found


def _told_share(claim: Reading, mentions: Sequence[Mention], evidence: Evidence) -> float:
    """Return the share of the words that the documents hold, beside what fields confirm and what anybody says."""
    told = missing = 0
    for token in claim.plain:
        if token.weight < FULL or token.key in GENERIC or token.word in DAYS:
            continue
        is_confirmed = any(m.start <= token.start < m.end for m in mentions if m.agreement is Agreement.HOLDS)
        told += 1
        missing += not is_confirmed and not evidence.knows(token.key)
    return 1.0 - missing / told if told else 1.0


def _clauses_of(mentions: Sequence[Mention], claim: Reading) -> list[Range]:
    """Return the clauses in which a claim speaks of fields."""
    return [(c.start, c.end) for c in claim.clauses if any(m.start < c.end and c.start < m.end for m in mentions)]


def _stranger(claim: Reading, mentions: Sequence[Mention], evidence: Evidence) -> str | None:
    """Return a name in a claim that no document knows; a state may be written out or abbreviated."""
    for token in claim.tokens:
        if token.key not in claim.names or token.key in GENERIC or token.key in _DAY_NAMES:
            continue
        is_confirmed = any(m.start <= token.start < m.end for m in mentions if m.agreement is Agreement.HOLDS)
        if not is_confirmed and not any(map(evidence.knows, (token.key, *STATES.get(token.key, ())))):
            return claim.text[token.start : token.end]
    return None


def _has_values(claim: Reading, mentions: Sequence[Mention], told: Sequence[Reading]) -> bool:
    """Tell whether the evidence holds all values that no field has confirmed."""
    return all(
        quantity.is_weak
        or any(m.start < quantity.end and quantity.start < m.end for m in mentions)
        or any(compare(quantity, other).likeness is Likeness.SAME for reading in told for other in reading.quantities)
        for quantity in claim.quantities
    )


# ------------------------------------------------------------------ yes or no
def _yes_or_no(claim: Reading, evidence: Evidence) -> Iterator[Mention]:
    for field, place in evidence.fields:
        if not _is_switch(field):
            continue
        leaf = _leaf(field)
        for start, end in _places_of(leaf, claim) if leaf and _is_meant(field, claim) else ():
            if place < 0:
                says_so = _GIVES_NOTHING.search(claim.lower)
                reason = f"the record gives no value for '{' '.join(path_words(field))}'"
                yield Mention(start, end, Agreement.HOLDS if says_so else Agreement.NOT_GIVEN, place, reason)
                continue
            denied = _polarity(claim.lower, start, end)
            if denied is None:
                continue
            clashes = denied != is_denied(field) or _has_rival(claim.lower[:start], field)
            source = evidence.sources[place]
            reason = f"answer says '{_around(claim.text, start, end)}', {source.document.id} says {source.text}"
            agreement = Agreement.CONTRADICTED if clashes else Agreement.HOLDS
            yield Mention(start, end, agreement, place, reason if clashes else "")


def _is_switch(field: Field) -> bool:
    """Tell whether a field says yes or no, or would if it had a value."""
    if isinstance(field.value, bool) or field.value is None:
        return True
    if not isinstance(field.value, str):
        return False
    return is_denied(field) or field.value.strip().lower() in ("yes", "free", "paid", "true")


@lru_cache(maxsize=4096)
def _leaf_words(key: str) -> tuple[str, ...]:
    words = key_words(key)
    return tuple(word for word in words if word not in EMPTY) or words


def _leaf(field: Field) -> tuple[str, ...]:
    """Return the words by which a field is spoken of; none for one like "no_music", of which yes means no."""
    words = _leaf_words(field.path[-1]) if field.path else ()
    return () if words[:1] == ("no",) else words


def _is_meant(field: Field, claim: Reading) -> bool:
    """Tell whether a claim speaks of what holds the field: a "lot" is one for cars only where parking is spoken of."""
    if len(field.path) < 2:
        return True
    above = [word for word in key_words(field.path[-2]) if word not in EMPTY]
    patterns = [SETTINGS[word] for word in above if word in SETTINGS]
    if patterns:
        return any(re.search(pattern, claim.lower) for pattern in patterns)
    return _COMMON.isdisjoint(_leaf(field)) or all(key_of(word) in claim.all_keys for word in above)


@lru_cache(maxsize=4096)
def _pattern(leaf: tuple[str, ...]) -> re.Pattern[str] | None:
    said = SAID_AS.get(" ".join(leaf))
    return re.compile(rf"\b(?:{said})") if said else None


def _places_of(leaf: tuple[str, ...], claim: Reading) -> list[tuple[int, int]]:
    if pattern := _pattern(leaf):
        return [found.span() for found in pattern.finditer(claim.lower)]
    wanted = {token.key for token in tokenize(" ".join(leaf)) if token.weight}
    tokens = claim.tokens
    if not wanted or not wanted <= claim.all_keys:
        return []
    held = [number for number, token in enumerate(tokens) if token.key in wanted]
    if held[-1] - held[0] > _MOST_APART + len(wanted) and len(held) == len(wanted):
        return []
    return [(tokens[held[0]].start, tokens[held[len(wanted) - 1]].end)]


def _polarity(lower: str, start: int, end: int) -> bool | None:
    """Tell whether a sentence denies what it names there; None when it leaves that open."""
    opened = max((turn.end() for turn in _TURN.finditer(lower, 0, start)), default=0)
    turn = _TURN.search(lower, end)
    before, after = lower[opened:start], lower[end : turn.start() if turn else len(lower)]
    if _OPEN.search(after) or re.search(r"\b(?:may|might)\b", before):
        return None
    if _is_denied_before(before, after):
        return True
    if _AFFIRMED.search(before):
        return False
    predicate = _PREDICATE.search(after)
    return bool(predicate and predicate["no"])


def _is_denied_before(before: str, after: str) -> bool:
    verbs = list(_DENYING_VERB.finditer(before))
    nouns = list(_DENYING_NOUN.finditer(before))
    if verbs and not _AGAIN.search(before, verbs[-1].end()):
        return True
    if not nouns:
        return False
    between = before[nouns[-1].end() :]
    if _AFFIRMED.search(between):
        return False
    return not _LIST_COMMA.search(between) or bool(_OR.search(between) or _OR.search(after[:_LIST_REACH]))


def _has_rival(before: str, field: Field) -> bool:
    value = field.value.strip().lower() if isinstance(field.value, str) else ""
    return any(value == rival and re.search(pattern, before) for pattern, rival in _RIVALS)


def _around(text: str, start: int, end: int) -> str:
    """Return what a claim says of a field: the named thing with a few words before and behind."""
    first = max(0, start - 30)
    last = min(len(text), end + 25)
    piece = text[first:last]
    lead = piece[: start - first].partition(" ")[2] if first else piece[: start - first]
    tail = piece[end - first :].rpartition(" ")[0] if last < len(text) else piece[end - first :]
    return " ".join((lead + text[start:end] + tail).split()).strip(" ,;.")


# ------------------------------------------------------------------ opening hours
def _hours(claim: Reading, evidence: Evidence) -> Iterator[Mention]:
    by_record: dict[tuple[str, int], dict[int, tuple[int, Hours | None]]] = {}
    for field, place in evidence.fields:
        day = day_of(field.path[-1]) if field.path and isinstance(field.value, str) else None
        if day is not None and place >= 0:
            document = evidence.sources[place].document.id
            by_record.setdefault((document, field.record), {})[day] = place, read_recorded(str(field.value))
    if not by_record:
        return
    for told in read_told(claim.text):
        found = [_hours_of_record(claim, told, recorded, evidence) for recorded in by_record.values()]
        yield min(found, key=lambda mention: mention.agreement)


def _hours_of_record(
    claim: Reading, told: Told, recorded: Mapping[int, tuple[int, Hours | None]], evidence: Evidence
) -> Mention:
    day = differing_day(told, {d: hours for d, (_, hours) in recorded.items()})
    if day is not None:
        place = recorded[day][0]
        source = evidence.sources[place]
        reason = f"answer says '{claim.text[told.start : told.end]}', {source.document.id} says {source.text}"
        return Mention(told.start, told.end, Agreement.CONTRADICTED, place, reason)
    unlisted = sorted(told.days - recorded.keys())
    if unlisted and not told.is_closed:  # a day that is left out may be one on which it is closed
        reason = f"the record gives no hours for {DAYS[unlisted[0]].capitalize()}"
        return Mention(told.start, told.end, Agreement.NOT_GIVEN, -1, reason)
    places = [place for d, (place, _) in recorded.items() if d in told.days] or [p for p, _ in recorded.values()]
    return Mention(told.start, told.end, Agreement.HOLDS, places[0])


# ------------------------------------------------------------------ ratings
def _ratings(claim: Reading, evidence: Evidence) -> Iterator[Mention]:
    rated = [
        (field, place)
        for field, place in evidence.fields
        if place >= 0 and isinstance(field.value, float) and not _RATING_KEYS.isdisjoint(key_words(field.path[-1]))
    ]
    if not rated:
        return
    least = min(len(field.path) for field, _ in rated)
    overall = [(f, p) for f, p in rated if len(f.path) == least]
    for found in _STARS.finditer(claim.lower):
        value = _stars(found)
        is_of_review = bool(_REVIEWED.search(claim.lower)) and not _OVERALL.search(claim.lower)
        asked = rated if is_of_review else overall
        exact = next((p for f, p in (*asked, *rated) if f.value == value), None)
        if exact is not None and (is_of_review or any(f.value == value for f, _ in overall)):
            yield Mention(found.start(), found.end(), Agreement.HOLDS, exact)
        elif _ABOUT.search(claim.lower, 0, found.start()):
            if exact is not None:
                yield Mention(found.start(), found.end(), Agreement.HOLDS, exact)
        elif exact is None or (len(overall) == 1 and not _REVIEWED.search(claim.lower)):
            place = asked[0][1]
            source = evidence.sources[place]
            reason = f"answer says '{claim.text[found.start() : found.end()]}', {source.document.id} says {source.text}"
            yield Mention(found.start(), found.end(), Agreement.CONTRADICTED, place, reason)


def _stars(found: re.Match[str]) -> float:
    word = found["number"] or found["rated"]
    return _NUMBERS.get(word, 0.0) + 0.5 * bool(found["half"]) if word in _NUMBERS else float(word)
