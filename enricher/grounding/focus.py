"""Say at which sensitive place a claim departs from the evidence: amounts, dates, names, modals, clause numbers ..."""

from collections.abc import Collection, Iterator, Sequence

from enricher.grounding.comparison import Likeness, compare
from enricher.grounding.engine import LOW_CONFIDENCE, assess_all
from enricher.grounding.entities import swapped_roles
from enricher.grounding.measures import Quantity
from enricher.grounding.polarity import Extent, Force
from enricher.grounding.reading import Clause, Reading, read
from enricher.trace import Item
from enricher.verdict import IssueType, Quote, Segment, Standing

FOCUS_SITES = ("clause_numbers", "dates", "amounts", "names", "quantifiers", "modals")
NEGATION = "negation"  # compared whatever is chosen: no claim survives a lost "not"
_TIMES = ("date", "time", "duration", "months", "workdays")
_NUMBERED = ("label", "code", "ordinal")


def compare_claims(
    claims: Sequence[str], named: Sequence[Sequence[Quote]], item: Item, focus: Collection[str]
) -> list[tuple[tuple[str, ...], Segment]]:
    """Compare claims with the documents, in order: the chosen places at which each certainly clashes, and the verdict.

    `named` holds what somebody else named as the evidence of each claim: a clash with another sentence says nothing
    against that one.
    """
    found = []
    for text, quotes, segment in zip(claims, named, assess_all(claims, item), strict=True):
        sites = tuple(site for site in clashing_sites(text, segment) if site in focus or site == NEGATION)
        is_there = not quotes or any(_is_within(segment.evidence[0], quote) for quote in quotes if segment.evidence)
        found.append((sites if is_there else (), segment))
    return found


def clashing_sites(claim: str, segment: Segment) -> tuple[str, ...]:
    """Return the places at which a claim clashes with the evidence, given the engine's verdict on it."""
    is_contradicted = segment.standing is Standing.CONTRADICTED
    is_distorted = segment.standing is Standing.PARTIAL and segment.issue_type is IssueType.DISTORTED
    if LOW_CONFIDENCE in segment.flags or not segment.evidence or not (is_contradicted or is_distorted):
        return ()
    said, held = read(claim), read(segment.evidence[0].text)
    sites = list(_clashing_values(said, held, segment.explanation))
    if not sites and is_contradicted:
        # A name that stands in the place of another one, or two that changed places.
        is_named = any(f"'{name}'" in segment.explanation for name in _spelled_names(said))
        sites = ["names"] if is_named or swapped_roles(said, held) else [_reversal(said, held)]
    elif not sites:
        sites = list(_weakened(said, held))
    return tuple(dict.fromkeys(sites))


def sites_in(text: str) -> tuple[str, ...]:
    """Return the sensitive places that a text has, whatever the documents say of them."""
    reading = read(text)
    marks = reading.whole.marks
    found = [_site_of(quantity) for quantity in reading.quantities if not quantity.is_weak]
    found += ["names"] if reading.names else []
    found += [NEGATION] if marks.is_negated else []
    found += ["modals"] if marks.force is not Force.PLAIN else []
    found += ["quantifiers"] if marks.extent is not Extent.PLAIN or marks.is_exclusive else []
    return tuple(dict.fromkeys(found))


def _site_of(quantity: Quantity) -> str:
    if quantity.dimension.startswith(_NUMBERED):
        return "clause_numbers"
    return "dates" if quantity.dimension in _TIMES else "amounts"


def _clashing_values(said: Reading, held: Reading, note: str) -> Iterator[str]:
    for quantity in said.quantities:
        likeness = [compare(quantity, other).likeness for other in held.quantities]
        differs = Likeness.DIFFERENT in likeness or Likeness.DISTORTED in likeness
        # The note quotes the values that the engine found to clash; other pairs may only look so.
        if differs and Likeness.SAME not in likeness and quantity.text in note:
            yield _site_of(quantity)


def _spelled_names(reading: Reading) -> Iterator[str]:
    run: list[str] = []
    for token in reading.tokens:
        if token.key in reading.names:
            run.append(reading.text[token.start : token.end])
            yield " ".join(run)
        else:
            run = []


def _reversal(said: Reading, held: Reading) -> str:
    claimed, other = _clauses_alike(said, held)
    permits = claimed.marks.permits, other.marks.permits
    return "modals" if None not in permits and permits[0] is not permits[1] else NEGATION


def _weakened(said: Reading, held: Reading) -> Iterator[str]:
    claimed, other = (clause.marks for clause in _clauses_alike(said, held))
    is_weaker = (other.is_hedged or other.is_possible) and not claimed.is_hedged and claimed.force is Force.PLAIN
    if claimed.force is not other.force or is_weaker:
        yield "modals"
    if claimed.extent is not other.extent or claimed.is_exclusive is not other.is_exclusive:
        yield "quantifiers"


def _clauses_alike(said: Reading, held: Reading) -> tuple[Clause, Clause]:
    """Return the clause of the evidence that shares most with one of the claim, after that one."""
    pairs = [(ours, theirs) for ours in said.clauses for theirs in held.clauses]
    return max(pairs, key=lambda pair: len(pair[0].keys.keys() & pair[1].keys.keys()), default=(said.whole, held.whole))


def _is_within(passage: Quote, named: Quote) -> bool:
    """Tell whether a passage is what somebody named, or in it, as far as offsets or else the texts tell."""
    if named.document_id is not None and named.document_id != passage.document_id:
        return False
    if None not in (named.start, named.end, passage.start, passage.end):
        return bool(named.start < passage.end and passage.start < named.end)  # type: ignore[operator]
    return named.text in passage.text or passage.text in named.text
