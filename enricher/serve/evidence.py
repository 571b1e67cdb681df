"""Lay one verdict beside what it was reached on: statements, their passages, and the texts marked by both."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from enricher.grounding.versions import version_of
from enricher.serve.marking import Piece, Span, pieces
from enricher.steps.rendering import label
from enricher.store import EvaluationRecord
from enricher.trace import Document, Item
from enricher.verdict import (
    AlignmentStatus,
    Citation,
    Claim,
    ClaimVerdict,
    ConsistencyResult,
    HalvesResult,
    Opinion,
    Part,
    Quote,
    QuoteCheck,
    Result,
    Segment,
    SourceConflict,
    Stance,
    Standing,
    Stretch,
    Verdict,
)

Passages = Callable[[Iterable[Quote]], "tuple[Passage, ...]"]
_BOTH_SIDES = (Standing.CONTRADICTED, Standing.SOURCE_CONFLICT)


@dataclass(frozen=True, kw_only=True, slots=True)
class Passage:
    """A passage that a statement names, and where it stands on the page."""

    quote: Quote
    place: int | None = None  # index of its document; None when the item has no such document
    version: str = ""  # date or version of the document, where known

    @property
    def is_verified(self) -> bool:
        """Tell whether it stands where it is said to stand."""
        return self.quote.check is QuoteCheck.VERIFIED

    @property
    def check(self) -> str:
        """Say how far it can be believed."""
        if self.quote.check is QuoteCheck.MISATTRIBUTED:
            return f"in {', '.join(self.quote.found_in)[:200] or 'another document'} instead"
        return {QuoteCheck.VERIFIED: "verbatim", QuoteCheck.NOT_VERIFIED: "not found in the document"}.get(
            self.quote.check, "not checked"
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Statement:
    """One judged statement, as the page lists it."""

    key: str
    text: str
    standing: Standing
    part: Part
    passages: tuple[Passage, ...] = ()
    opinions: tuple[tuple[Opinion, tuple[Passage, ...]], ...] = ()
    labels: tuple[str, ...] = ()  # that a person may give it
    issue: str = ""  # issue type of the diff judge, where it says more than the standing

    @property
    def is_finding(self) -> bool:
        """Tell whether people should look at it."""
        return self.part.is_finding

    @property
    def is_two_sided(self) -> bool:
        """Tell whether answer and document, or two documents, stand against one another."""
        return self.standing in _BOTH_SIDES and bool(self.passages)

    @property
    def in_answer(self) -> bool:
        """Tell whether the answer makes it."""
        return not isinstance(self.part, Claim) or self.part.in_answer


@dataclass(frozen=True, kw_only=True, slots=True)
class Shown:
    """A document with its marks."""

    document: Document
    pieces: tuple[Piece, ...]
    keys: tuple[str, ...]  # statements that have a passage in it
    version: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Conflict:
    """Documents that disagree with one another."""

    conflict: SourceConflict
    passages: tuple[Passage, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Axis:
    """One axis of the halves judge."""

    key: str
    title: str
    word: str
    reason: str
    passages: tuple[Passage, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Laid:
    """One verdict, ready for the page."""

    record: EvaluationRecord
    label: str
    statements: tuple[Statement, ...] = ()
    answer: tuple[Piece, ...] = ()
    documents: tuple[Shown, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    axes: tuple[Axis, ...] = ()
    citations: tuple[Citation, ...] = ()
    fix_note: str = ""
    history: tuple[str, ...] = ()
    findings: tuple[Statement, ...] = field(default=())

    @property
    def omissions(self) -> tuple[Statement, ...]:
        """Return what the answer leaves out."""
        return tuple(one for one in self.statements if one.standing is Standing.OMITTED)

    @property
    def supported(self) -> tuple[Statement, ...]:
        """Return the statements that nobody has to look at."""
        return tuple(one for one in self.statements if not one.is_finding)


def lay(record: EvaluationRecord) -> Laid:
    """Lay a recorded verdict out."""
    verdict, item = record.verdict, record.item
    documents = item.documents if item is not None else ()
    places = {document.id: number for number, document in enumerate(documents)}
    versions = [_version(document) for document in documents]

    def passage(quote: Quote) -> Passage:
        place = places.get(quote.document_id or "")
        return Passage(quote=quote, place=place, version=versions[place] if place is not None else "")

    def passages(quotes: Iterable[Quote]) -> tuple[Passage, ...]:
        return tuple(map(passage, quotes))

    result = verdict.result
    statements = tuple(_statement(part, passages) for part in (result.parts if result is not None else ()))
    axes = _axes(result, passages)
    marks = [*_marks(statements), *((p, axis.key, Standing.SUPPORTED) for axis in axes for p in axis.passages)]
    worst_first = {part.key: number for number, part in enumerate(result.findings if result is not None else ())}
    return Laid(
        record=record,
        label=label(verdict) if result is not None else str(verdict.status).lower(),
        statements=statements,
        findings=tuple(
            sorted((one for one in statements if one.is_finding), key=lambda one: worst_first.get(one.key, 0))
        ),
        answer=tuple(pieces(item.answer, _in_answer(verdict))) if item is not None else (),
        documents=tuple(_shown(item, number, marks, versions[number]) for number in range(len(documents)))
        if item is not None
        else (),
        conflicts=tuple(
            Conflict(conflict=found, passages=passages(found.passages))
            for found in (result.conflicts if isinstance(result, ConsistencyResult) else ())
        ),
        axes=axes,
        citations=tuple(found for found in getattr(result, "citations", ()) if found.issue is not None),
        fix_note=result.fix_note if isinstance(result, HalvesResult) else "",
        history=item.history if item is not None else (),
    )


def _statement(part: Part, passages: Passages) -> Statement:
    return Statement(
        key=part.key,
        text=part.statement,
        standing=part.standing,
        part=part,
        passages=passages(part.evidence),
        opinions=tuple((opinion, passages(opinion.evidence)) for opinion in part.opinions),
        labels=_labels(part),
        issue=str(part.issue_type).lower() if isinstance(part, Segment) and part.is_finding else "",
    )


def _labels(part: Part) -> tuple[str, ...]:
    if isinstance(part, Segment):
        return tuple(str(status) for status in AlignmentStatus)
    return tuple(str(verdict) for verdict in ClaimVerdict) if isinstance(part, Claim) else ()


def _in_answer(verdict: Verdict) -> list[Span]:
    parts = verdict.result.parts if verdict.result is not None else ()
    return [
        Span(start=part.start, end=part.end, key=part.key, standing=part.standing, lacking=_lacking(part))
        for part in parts
        if isinstance(part, Segment | Claim) and part.start is not None and part.end is not None
    ]


def _lacking(part: Part) -> tuple[Stretch, ...]:
    """Return what in a statement the finding is about; a check may have turned the finding into none."""
    return part.lacking if isinstance(part, Segment) and part.is_finding else ()


def _marks(statements: Sequence[Statement]) -> list[tuple[Passage, str, Standing]]:
    """Return the verified passages, each with the statement it is for and how it stands to that."""
    return [
        (passage, one.key, _standing_of(passage.quote, one.standing))
        for one in statements
        for passage in (*one.passages, *(p for _, theirs in one.opinions for p in theirs))
        if passage.is_verified
    ]


def _standing_of(quote: Quote, standing: Standing) -> Standing:
    if standing is Standing.SOURCE_CONFLICT and quote.stance is not None:
        return Standing.SUPPORTED if quote.stance is Stance.SUPPORTS else Standing.CONTRADICTED
    return standing


def _shown(item: Item, number: int, marks: Sequence[tuple[Passage, str, Standing]], version: str) -> Shown:
    document = item.documents[number]
    spans = [
        Span(start=passage.quote.start, end=passage.quote.end, key=key, standing=standing)
        for passage, key, standing in marks
        if passage.place == number and passage.quote.start is not None and passage.quote.end is not None
    ]
    keys = tuple(dict.fromkeys(span.key for span in spans))
    return Shown(document=document, pieces=tuple(pieces(document.text, spans)), keys=keys, version=version)


def _axes(result: Result | None, passages: Passages) -> tuple[Axis, ...]:
    if not isinstance(result, HalvesResult):
        return ()
    return tuple(
        Axis(
            key=name,
            title=name.replace("_", " "),
            word=axis.word,
            reason=axis.reason,
            passages=passages(axis.evidence),
        )
        for name, axis in result.axes.items()
    )


def _version(document: Document) -> str:
    found = version_of(document)
    return found.text if found is not None else ""
