"""The judges of the engine `hub`: a published detector judges, the embedded engine finds the evidence."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from enricher.grounding.absence import read_absence
from enricher.grounding.claims import ClaimGrounding, ground_claims
from enricher.grounding.engine import ground, quote_of
from enricher.grounding.reading import read
from enricher.grounding.search import Evidence, evidence_of
from enricher.judges.detectors import Detector, Support
from enricher.results.claims import claims_summary, most_dangerous
from enricher.trace import Item
from enricher.verdict import (
    AlignmentStatus,
    Claim,
    ClaimVerdict,
    DiffResult,
    FaithfulnessResult,
    IssueType,
    Provenance,
    Segment,
    Status,
    Verdict,
    summary_of,
)

_MOST_PIECES = 4  # of the documents that a statement is read beside
_SEARCHED = 8  # sentences that say which pieces those are
_ENOUGH_FLAGGED = 0.6  # of the characters of a statement, from which all of it is unsupported
_NO_EVIDENCE = "low_confidence"
# How detectors of tokens that learned from RAGTruth know a context.
_QUESTION = (
    "Briefly answer the following question:\n{question}\n"
    "Bear in mind that your response should be strictly based on the following {count} passages:\n"
)
_PASSAGE = "passage {number}: {text}\n"
_END = "output:"
_VERDICTS = {
    AlignmentStatus.FULLY_SUPPORTED: ClaimVerdict.SUPPORTED,
    AlignmentStatus.PARTIALLY_SUPPORTED: ClaimVerdict.PARTIAL,
    AlignmentStatus.UNSUPPORTED: ClaimVerdict.UNSUPPORTED,
    AlignmentStatus.CONTRADICTED: ClaimVerdict.CONTRADICTED,
}


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of sentences of one document, short enough to be read beside a statement."""

    text: str
    places: range  # of its sentences among those of all documents


class HubReader:
    """Reads the statements of an item with a detector; one at a time, since the detector is one."""

    def __init__(self, detector: Detector) -> None:
        self._detector = detector
        self._turn = asyncio.Lock()
        self.options = detector.options
        self.snapshot = detector.snapshot

    @property
    def settings_hash(self) -> str:
        """Name what decides beside the model."""
        options = self.options
        return f"{self._detector.form}/{options.threshold:g}/{self._detector.room}"

    async def diff(self, item: Item) -> tuple[list[Segment], float | None]:
        """Judge the sentences of an item, in a thread, when it is its turn."""
        async with self._turn:
            return await asyncio.to_thread(self.read_segments, item)

    async def claims(self, item: Item) -> tuple[ClaimGrounding, list[Segment], float | None]:
        """Judge the claims of an item."""
        async with self._turn:
            return await asyncio.to_thread(self.read_claims, item)

    def read_segments(self, item: Item) -> tuple[list[Segment], float | None]:
        """Return the judged sentences, and the probability that all of them hold."""
        segments = [segment for segment in ground(item).segments if not segment.is_omission]
        return self._read(item, segments)

    def read_claims(self, item: Item) -> tuple[ClaimGrounding, list[Segment], float | None]:
        """Return the claims as they were cut, how each is judged, and the probability that all of them hold."""
        cut = ground_claims(item)
        own = [segment.model_copy(update={"start": c.start, "end": c.end}) for c, segment in cut.claims]
        texts = [claim.text for claim, _ in cut.claims]
        return cut, *self._read(item, own, texts)

    def _read(
        self, item: Item, segments: Sequence[Segment], texts: Sequence[str] | None = None
    ) -> tuple[list[Segment], float | None]:
        said = list(texts) if texts is not None else [segment.generated_text or "" for segment in segments]
        evidence = evidence_of(item)
        judged = [n for n, text in enumerate(said) if not _is_of_absence(text)]
        if self._detector.form == "tokens":
            found = self._by_tokens(item, [segments[n] for n in judged])
        else:
            found = [self._by_pairs(said[n], segments[n], evidence) for n in judged]
        read_ = dict(zip(judged, found, strict=True))
        # A detector knows nothing of what documents lack; there the embedded engine's word stands.
        result = [read_.get(n, segment) for n, segment in enumerate(segments)]
        scores = [segment.score for segment in result if segment.score is not None]
        return result, min(scores, default=None)

    # -------------------------------------------------------------- classifiers of pairs
    def _by_pairs(self, text: str, segment: Segment, evidence: Evidence) -> Segment:
        pieces = self._pieces(text, evidence)
        if not pieces:
            return _judged(segment, AlignmentStatus.UNSUPPORTED, 0.0, "there is no evidence")
        read_ = self._detector.read_pairs([(piece.text, text) for piece in pieces])
        best = max(range(len(read_)), key=lambda n: read_[n].supported)
        support = Support(read_[best].supported, max(one.contradicted for one in read_))
        if support.supported >= self.options.threshold:
            with_quotes = (
                segment
                if _is_inside(segment, pieces[best], evidence)
                else self._quoted(segment, text, pieces[best], evidence)
            )
            return _judged(with_quotes, AlignmentStatus.FULLY_SUPPORTED, support.supported, "")
        if support.contradicted > max(support.supported, 0.5):
            worst = pieces[max(range(len(read_)), key=lambda n: read_[n].contradicted)]
            with_quotes = self._quoted(segment, text, worst, evidence, is_against=True)
            note = f"the detector reads a contradiction in {with_quotes.evidence[0].document_id}"
            return _judged(with_quotes, AlignmentStatus.CONTRADICTED, support.supported, note)
        note = f"the detector finds it supported with probability {support.supported:.2f} only"
        return _judged(segment, AlignmentStatus.UNSUPPORTED, support.supported, note)

    def _pieces(self, text: str, evidence: Evidence) -> list[Piece]:
        """Cut the documents to pieces that fit beside the statement; return those likeliest to speak of it."""
        room = self._detector.evidence_room(text)
        pieces: list[Piece] = []
        first, length = 0, 0
        for place, source in enumerate(evidence.sources):
            own = self._detector.length(source.text)
            is_new = place and source.document is not evidence.sources[place - 1].document
            if place > first and (is_new or length + own > room):
                pieces.append(_piece(evidence, range(first, place)))
                first, length = place, 0
            length += own
        if first < len(evidence.sources):
            pieces.append(_piece(evidence, range(first, len(evidence.sources))))
        near = evidence.best({key: 1.0 for key in read(text).all_keys}, _SEARCHED)
        order = sorted(pieces, key=lambda piece: min((near.index(p) for p in near if p in piece.places), default=99))
        return order[:_MOST_PIECES]

    def _quoted(
        self, segment: Segment, text: str, piece: Piece, evidence: Evidence, *, is_against: bool = False
    ) -> Segment:
        """Return the segment with the sentence of a piece that says most for it, or against it."""
        sentences = [(evidence.sources[place].text, text) for place in piece.places]
        read_ = self._detector.read_pairs(sentences)
        place = max(
            zip(piece.places, read_, strict=True), key=lambda p: p[1].contradicted if is_against else p[1].supported
        )[0]
        return segment.model_copy(update={"evidence": (quote_of(place, evidence),)})

    # -------------------------------------------------------------- classifiers of tokens
    def _by_tokens(self, item: Item, segments: Sequence[Segment]) -> list[Segment]:
        read_ = [self._detector.read_answer(context, item.answer) for context in self._contexts(item)]
        # What one part of the documents supports is supported.
        tokens = (
            [(start, end, min(r[n][2] for r in read_)) for n, (start, end, _) in enumerate(read_[0])] if read_ else []
        )
        return [self._by_marks(item, segment, tokens) for segment in segments]

    def _by_marks(self, item: Item, segment: Segment, tokens: Sequence[tuple[int, int, float]]) -> Segment:
        start, end = segment.start or 0, segment.end or 0
        inside = [(max(s, start), min(e, end), p) for s, e, p in tokens if s < end and e > start]
        marked = [(s, e) for s, e, p in inside if p > 1.0 - self.options.threshold]
        probability = 1.0 - max((p for _, _, p in inside), default=1.0)
        if not inside:
            return _judged(segment, AlignmentStatus.UNSUPPORTED, 0.0, "the detector did not read it: it is too long")
        if not marked:
            return _judged(segment, AlignmentStatus.FULLY_SUPPORTED, probability, "")
        share = sum(e - s for s, e in marked) / max(1, sum(e - s for s, e, _ in inside))
        status = AlignmentStatus.UNSUPPORTED if share >= _ENOUGH_FLAGGED else AlignmentStatus.PARTIALLY_SUPPORTED
        words = item.answer[marked[0][0] : marked[-1][1]]
        return _judged(segment, status, probability, f"the detector marks '{words}'")

    def _contexts(self, item: Item) -> list[str]:
        """Write the documents as the detector knows them, in as many parts as its window makes necessary."""
        opening = _QUESTION.format(question=item.question or "What do the passages say?", count=len(item.documents))
        room = self._detector.evidence_room(item.answer) - self._detector.length(opening + _END)
        parts: list[list[str]] = [[]]
        length = 0
        for number, document in enumerate(item.documents, 1):
            for text in self._cut(document.text, max(room, 1)):
                passage = _PASSAGE.format(number=number, text=text)
                own = self._detector.length(passage)
                if parts[-1] and length + own > room:
                    parts.append([])
                    length = 0
                parts[-1].append(passage)
                length += own
        return [opening + "".join(passages) + _END for passages in parts if passages]

    def _cut(self, text: str, room: int) -> list[str]:
        """Cut a document that alone is too long, at spaces."""
        count = self._detector.length(text) // room + 1
        if count == 1:
            return [text]
        words = text.split(" ")
        size = max(1, len(words) // count)
        return [" ".join(words[at : at + size]) for at in range(0, len(words), size)]


class HubDiffJudge:
    """Says of each sentence of an answer whether a detector finds it supported."""

    def __init__(self, reader: HubReader) -> None:
        self._reader = reader
        self.provenance = _provenance("diff", reader)

    async def judge(self, item: Item) -> Verdict:
        """Judge the item; its answer and documents are already cut into sentences."""
        segments, probability = await self._reader.diff(item)
        result = DiffResult(
            segments=tuple(segments), summary=summary_of(tuple(segments)), faithful_probability=probability
        )
        return _verdict(item, result, self.provenance, [flag for segment in segments for flag in segment.flags])

    async def aclose(self) -> None:
        """Do nothing: there is no connection."""


class HubFaithfulnessJudge:
    """Says of each claim of an answer whether a detector finds it supported."""

    def __init__(self, reader: HubReader) -> None:
        self._reader = reader
        self.provenance = _provenance("faithfulness", reader)

    async def judge(self, item: Item) -> Verdict:
        """Judge the item; its answer and documents are already cut into sentences."""
        cut, segments, probability = await self._reader.claims(item)
        claims = tuple(
            Claim(
                claim_id=f"c{number}",
                text=claim.text,
                verdict=_VERDICTS[segment.alignment_status],
                evidence=segment.evidence,
                explanation=segment.explanation,
                score=segment.score,
                sentence_id=claim.sentence_id,
                start=claim.start,
                end=claim.end,
                flags=segment.flags,
            )
            for number, ((claim, _), segment) in enumerate(zip(cut.claims, segments, strict=True), 1)
        )
        result = FaithfulnessResult(
            claims=claims,
            most_dangerous_error=most_dangerous(claims),
            summary=claims_summary(claims),
            faithful_probability=probability,
        )
        return _verdict(item, result, self.provenance, [flag for claim in claims for flag in claim.flags])

    async def aclose(self) -> None:
        """Do nothing: there is no connection."""


def _provenance(judge: str, reader: HubReader) -> Provenance:
    return Provenance(
        judge=judge,
        engine="hub",
        model=reader.options.model,
        model_snapshot=reader.snapshot,
        settings_hash=reader.settings_hash,
    )


def _verdict(
    item: Item, result: DiffResult | FaithfulnessResult, provenance: Provenance, flags: Sequence[str]
) -> Verdict:
    return Verdict(
        trace_id=item.trace_id,
        span_id=item.annotate_span_id,
        status=Status.OK if result.parts else Status.NO_CLAIMS,
        result=result,
        flags=tuple(sorted(set(flags))),
        provenance=provenance,
    )


def _judged(segment: Segment, status: AlignmentStatus, probability: float, note: str) -> Segment:
    """Return the segment as the detector judges it; support without a passage to show is not believed."""
    issue, flags = _ISSUES[status], tuple[str, ...]()
    if status is AlignmentStatus.FULLY_SUPPORTED and not segment.evidence:
        status, issue = AlignmentStatus.PARTIALLY_SUPPORTED, IssueType.ADDED
        note, flags = "the detector finds it supported, but no passage speaks of it", (_NO_EVIDENCE,)
    update = {
        "alignment_status": status,
        "issue_type": issue,
        "score": round(probability, 4),
        "explanation": note,
        "flags": flags,
    }
    return segment.model_copy(update=update)


_ISSUES = {
    AlignmentStatus.FULLY_SUPPORTED: IssueType.NONE,
    AlignmentStatus.PARTIALLY_SUPPORTED: IssueType.ADDED,
    AlignmentStatus.UNSUPPORTED: IssueType.ADDED,
    AlignmentStatus.CONTRADICTED: IssueType.CONTRADICTED,
}


def _is_of_absence(text: str) -> bool:
    return read_absence(text, read(text).words) is not None


def _is_inside(segment: Segment, piece: Piece, evidence: Evidence) -> bool:
    """Tell whether the passages that the embedded engine found are those that the detector read."""
    held = {(evidence.sources[p].document.id, evidence.sources[p].start) for p in piece.places}
    return bool(segment.evidence) and any((quote.document_id, quote.start) in held for quote in segment.evidence)


def _piece(evidence: Evidence, places: range) -> Piece:
    # What a record says in words is easier for a detector than the record.
    return Piece(" ".join(evidence.sources[place].reading.text for place in places), places)
