"""Find where documents disagree: about what the answer says, and among themselves. It is shown, never resolved."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from enricher.grounding.engine import LOW_CONFIDENCE, assess_all
from enricher.trace import Document, Item, Sentence
from enricher.verdict import Quote, Segment, SourceConflict, Stance, Standing

_DATED = (
    "effective_date",
    "effective",
    "valid_from",
    "date",
    "updated_at",
    "last_updated",
    "published",
    "year",
    "version",
)
_VERSION_IN_TEXT = re.compile(
    r"\b(?:version|edition|revision|rev|policy|ausgabe|fassung|stand|as of|effective(?: from)?|valid from|dated"
    r"|updated)\b"
    r"[\s:.]{0,3}(\d{4}-\d{2}-\d{2}|\d{4}|v?\d+(?:\.\d+)+)",
    re.I,
)
_REPLACES = re.compile(
    r"\b(?:replaces|supersedes)\s+(?:all|any|the|every)\b|\bersetzt\s+alle\b|\bremplace\s+toutes\b", re.I
)
# What a passage is about in time; two passages that name different ones do not disagree.
_PERIODS = (
    re.compile(r"\b(?:19|20)\d{2}\b"),
    re.compile(r"\b[QH][1-4]\b|\b(?:first|second|third|fourth) (?:quarter|half)\b", re.I),
    re.compile(
        r"\b(?:january|february|march|april|june|july|august|september|october|november|december"
        r"|monday|tuesday|wednesday|thursday|friday|saturday|sunday|weekdays?|weekends?|summer|winter)s?\b",
        re.I,
    ),
)
_HEAD = 160  # characters at the start of a document in which its version is looked for
_MOST_DOCUMENTS = 8  # beyond, documents are compared with the answer, and no longer each with each
_MOST_SENTENCES = 20
_RECOMMENDATION = "Ask which of the documents is current, and remove or date the other."


@dataclass(frozen=True, kw_only=True, slots=True)
class Sides:
    """How the documents stand to one statement, each judged alone."""

    supporting: Mapping[str, Segment]  # by document id
    contradicting: Mapping[str, Segment]  # only where the engine is certain

    @property
    def is_conflict(self) -> bool:
        """Tell whether some documents say so and others say otherwise."""
        return bool(self.supporting and self.contradicting)


def sides_of(statements: Sequence[str], item: Item) -> list[Sides]:
    """Judge each statement against each document alone; linear in documents and statements."""
    alone = {d.id: assess_all(statements, replace(item, documents=(d,))) for d in item.documents}
    found = []
    for number, _ in enumerate(statements):
        segments = {name: judged[number] for name, judged in alone.items()}
        supporting = {name: s for name, s in segments.items() if s.standing is Standing.SUPPORTED and s.verified}
        contradicting = {name: s for name, s in segments.items() if _is_certain_clash(s)}
        found.append(_comparable(Sides(supporting=supporting, contradicting=contradicting), item))
    return found


def passages(sides: Sides) -> tuple[Quote, ...]:
    """Return the best passage of each document of both sides, with its stance."""
    return (
        *(s.verified[0].model_copy(update={"stance": Stance.SUPPORTS}) for s in sides.supporting.values()),
        *(s.verified[0].model_copy(update={"stance": Stance.CONTRADICTS}) for s in sides.contradicting.values()),
    )


def conflict_about(sides: Sides, item: Item, claim_id: str | None) -> SourceConflict:
    """Describe the conflict of a statement's two sides."""
    quotes = passages(sides)
    reason = next(iter(sides.contradicting.values())).explanation
    return SourceConflict(
        description=_described(quotes, reason),
        passages=quotes,
        dates=dates_of(item.documents, {quote.document_id for quote in quotes}),
        recommendation=_RECOMMENDATION,
        claim_id=claim_id,
    )


def conflicts_between(item: Item) -> Iterator[SourceConflict]:
    """Find sentences with values on which two documents certainly disagree, whatever the answer says."""
    if len(item.documents) > _MOST_DOCUMENTS:
        return
    for first, second in combinations(item.documents, 2):
        for sentence, segment in _clashes(first, second, item):
            quotes = (_quote(first, sentence, Stance.SUPPORTS), segment.verified[0])
            quotes = (quotes[0], quotes[1].model_copy(update={"stance": Stance.CONTRADICTS}))
            yield SourceConflict(
                description=_described(quotes, segment.explanation),
                passages=quotes,
                dates=dates_of(item.documents, {first.id, second.id}),
                recommendation=_RECOMMENDATION,
            )


def dates_of(documents: Sequence[Document], wanted: set[str | None]) -> dict[str, str]:
    """Return the date or version of documents, from their metadata or from how they begin."""
    found = {}
    for document in documents:
        if document.id in wanted and (stated := _date(document)):
            found[document.id] = stated
    return found


def replaces_others(document: Document) -> bool:
    """Tell whether a document says that it replaces earlier ones."""
    return bool(_REPLACES.search(document.text))


def _date(document: Document) -> str | None:
    for key in _DATED:
        value = document.metadata.get(key)
        if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
            return str(value).strip()
    found = _VERSION_IN_TEXT.search(document.text[:_HEAD])
    return found[1] if found else None


def _is_certain_clash(segment: Segment) -> bool:
    return segment.standing is Standing.CONTRADICTED and LOW_CONFIDENCE not in segment.flags and bool(segment.verified)


def _comparable(sides: Sides, item: Item) -> Sides:
    """Keep of the other side only documents that clash with the supporting passages themselves.

    A passage about another period, scope or entity may clash with the words of an answer and be right all the same.
    """
    if not sides.is_conflict:
        return sides
    said = [segment.verified[0].text for segment in sides.supporting.values()]
    documents = {document.id: document for document in item.documents}
    kept = {}
    for name, segment in sides.contradicting.items():
        judged = assess_all(said, replace(item, documents=(documents[name],), question=None))
        against = [(text, one) for text, one in zip(said, judged, strict=True) if _is_certain_clash(one)]
        if any(not _are_apart(text, one.verified[0].text, documents[name]) for text, one in against):
            kept[name] = segment
    return Sides(supporting=sides.supporting, contradicting=kept)


def _clashes(first: Document, second: Document, item: Item) -> Iterator[tuple[Sentence, Segment]]:
    valued = [s for s in first.sentences if any(c.isdigit() for c in s.text)][:_MOST_SENTENCES]
    if not valued or not any(c.isdigit() for c in second.text):
        return
    judged = assess_all([s.text for s in valued], replace(item, documents=(second,), question=None))
    for sentence, segment in zip(valued, judged, strict=True):
        if _is_certain_clash(segment) and not _are_apart(sentence.text, segment.verified[0].text):
            yield sentence, segment


def _are_apart(one: str, other: str, document: Document | None = None) -> bool:
    """Tell whether two passages speak of different periods; versions of one rule do not, if one replaces the other."""
    if document is not None and (replaces_others(document) or _VERSION_IN_TEXT.search(other)):
        return False
    for pattern in _PERIODS:
        ours, theirs = ({found.casefold() for found in pattern.findall(text)} for text in (one, other))
        if ours and theirs and not ours & theirs:
            return True
    return False


def _quote(document: Document, sentence: Sentence, stance: Stance) -> Quote:
    return Quote(
        document_id=document.id,
        text=sentence.text,
        start=sentence.start,
        end=sentence.end,
        occurrences=1,
        span_id=document.span_id,
        stance=stance,
    )


def _described(quotes: Sequence[Quote], reason: str) -> str:
    sides = "; ".join(f"{quote.document_id} says '{' '.join(quote.text.split())}'" for quote in quotes[:4])
    return f"{sides} ({reason})" if reason and not reason.startswith("answer says") else sides
