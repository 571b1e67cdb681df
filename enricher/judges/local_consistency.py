"""The consistency judge of the embedded grounding engine: no key, no network, no model download."""

from collections.abc import Sequence

from enricher.grounding.conflicts import Stand, Touch, disagreements, stands
from enricher.grounding.disclosure import (
    claims_consensus,
    combines,
    demanded_sources,
    documents_saying,
    is_drawn_from_several,
    says_so,
    without_frame,
)
from enricher.grounding.engine import LOW_CONFIDENCE, VERSION, assess_all, ground
from enricher.judges.turns import in_turn
from enricher.results.claims import claims_summary
from enricher.trace import Item
from enricher.verdict import (
    Claim,
    ClaimVerdict,
    ConsistencyResult,
    Provenance,
    Quote,
    Segment,
    SourceConflict,
    Stance,
    Standing,
    Status,
    Verdict,
)

TOO_FEW = "there is one document, and nothing to compare it with; consistency needs two"
ONE_SIDE, BLENDED, DISCLOSED = "one_side_stated_silently", "conflict_blended", "conflict_disclosed"
CONSENSUS, SYNTHESIS, OLDER = "false_consensus", "unsupported_synthesis", "answer_follows_older_source"
PARTLY = "partly_supported"
_LARGE = 10_000  # characters of answer and documents from which judging is worth the way to a thread
_MOST_SOURCES = 4  # that are named for a supported claim


class LocalConsistencyJudge:
    """Judges whether documents agree with the answer and with one another, value by value."""

    def __init__(self) -> None:
        self.provenance = Provenance(judge="consistency", engine="local", model=VERSION, model_snapshot=VERSION)

    async def judge(self, item: Item) -> Verdict:
        """Judge the item; its answer and documents are already cut into sentences."""
        return await in_turn(self.verdict, item, large=_LARGE)

    def verdict(self, item: Item) -> Verdict:
        """Judge the item at once, for callers that are in a worker thread or process."""
        if len(item.documents) < 2:
            return self._verdict(item, Status.SKIPPED, None, failure=TOO_FEW)
        grounding = ground(item)
        segments = [segment for segment in grounding.segments if segment.generated_text is not None]
        texts = [without_frame(segment.generated_text or "") for segment in segments]
        segments = _reassessed(segments, texts, item)
        found = disagreements(item)
        touched = stands(texts, found, item)
        claims = [
            _Judging(item, segment, text, stand, touched).claim(f"c{number}")
            for number, (segment, text, stand) in enumerate(zip(segments, texts, touched, strict=True), 1)
        ]
        conflicts: list[SourceConflict] = []
        for disagreement in found:
            about = next(
                (c for c, st in zip(claims, touched, strict=True) if any(s.disagreement is disagreement for s in st)),
                None,
            )
            conflicts.append(disagreement.described(item, about.claim_id if about else None))
        result = ConsistencyResult(claims=tuple(claims), conflicts=tuple(conflicts), summary=claims_summary(claims))
        return self._verdict(item, Status.OK if claims else Status.NO_CLAIMS, result, flags=grounding.flags)

    async def aclose(self) -> None:
        """Do nothing: there is no connection."""

    def _verdict(
        self,
        item: Item,
        status: Status,
        result: ConsistencyResult | None,
        failure: str | None = None,
        flags: Sequence[str] = (),
    ) -> Verdict:
        from_claims = {flag for claim in result.claims for flag in claim.flags} if result else set()
        return Verdict(
            trace_id=item.trace_id,
            span_id=item.annotate_span_id,
            status=status,
            result=result,
            failure=failure,
            flags=(*flags, *sorted(from_claims)),
            provenance=self.provenance,
        )


def _reassessed(segments: Sequence[Segment], texts: Sequence[str], item: Item) -> list[Segment]:
    """Judge anew, without it, what is said in a frame: "All sources agree that ..."."""
    framed = [number for number, text in enumerate(texts) if text != segments[number].generated_text]
    found = list(segments)
    for number, segment in zip(framed, assess_all([texts[number] for number in framed], item), strict=True):
        place = {"start": segments[number].start, "end": segments[number].end}
        named = {"segment_id": segments[number].segment_id, "generated_text": segments[number].generated_text}
        found[number] = segment.model_copy(update={**place, **named})
    return found


class _Judging:
    """One claim on its way to a verdict."""

    def __init__(
        self, item: Item, segment: Segment, text: str, own: Sequence[Stand], all_stands: Sequence[Sequence[Stand]]
    ) -> None:
        self._item = item
        self._segment = segment
        self._text = text
        self._own = own
        self._everything = [stand for several in all_stands for stand in several]
        self._flags = list(segment.flags)

    def claim(self, claim_id: str) -> Claim:
        verdict, evidence, explanation = self._decided()
        whole = self._segment.generated_text or ""
        if claims_consensus(whole):
            verdict, explanation = self._consensus(verdict, explanation, whole)
        if (
            verdict is ClaimVerdict.UNSUPPORTED
            and combines(whole)
            and is_drawn_from_several(whole, self._item.documents)
        ):
            self._flags.append(SYNTHESIS)
        return Claim(
            claim_id=claim_id,
            text=whole,
            verdict=verdict,
            evidence=evidence,
            explanation=explanation,
            score=self._segment.score if verdict is not ClaimVerdict.SOURCE_CONFLICT else None,
            sentence_id=self._segment.segment_id,
            start=self._segment.start,
            end=self._segment.end,
            flags=tuple(dict.fromkeys(self._flags)),
        )

    def _decided(self) -> tuple[ClaimVerdict, tuple[Quote, ...], str]:
        stand = self._conflict()
        if stand is not None:
            return self._disputed(stand)
        evidence, explanation = self._segment.evidence, self._segment.explanation
        standing = self._segment.standing
        if standing is Standing.SUPPORTED or any(stand.touch is Touch.ALL_SIDES for stand in self._own):
            evidence = evidence if standing is Standing.SUPPORTED else self._all_sides()
            return ClaimVerdict.SUPPORTED, _standing_for(evidence, Stance.SUPPORTS), ""
        if standing is Standing.CONTRADICTED:
            return ClaimVerdict.CONTRADICTED, _standing_for(evidence, Stance.CONTRADICTS), explanation
        if standing is Standing.PARTIAL:
            self._flags.append(PARTLY)
            return ClaimVerdict.UNSUPPORTED, _standing_for(evidence, Stance.SUPPORTS), explanation
        return ClaimVerdict.UNSUPPORTED, (), explanation

    def _conflict(self) -> Stand | None:
        """Return the disagreement that decides the claim, if one does."""
        is_sure = LOW_CONFIDENCE not in self._segment.flags
        if self._segment.standing is Standing.UNSUPPORTED and is_sure:
            return None
        for stand in self._own:
            if stand.touch is Touch.ALL_SIDES:
                self._flags.append(DISCLOSED)
        for stand in self._own:
            if stand.touch is Touch.BLEND and not says_so(self._item.answer):
                return stand
            if stand.touch is Touch.ONE_SIDE and not self._is_contradicted_otherwise(stand):
                if self._is_told_elsewhere(stand):
                    self._flags.append(DISCLOSED)
                    continue
                return stand
        return None

    def _is_contradicted_otherwise(self, stand: Stand) -> bool:
        if self._segment.standing is not Standing.CONTRADICTED or not self._segment.evidence:
            return False
        against = self._segment.evidence[0]
        return not any(
            (p.document.id, p.source.start) == (against.document_id, against.start) for p in stand.disagreement.passages
        )

    def _is_told_elsewhere(self, stand: Stand) -> bool:
        """Tell whether another sentence gives the other side, in an answer that says that its sources differ."""
        others = [s for s in self._everything if s is not stand and s.disagreement is stand.disagreement]
        given = {id(p) for other in others for p in other.supporting}
        return says_so(self._item.answer) and any(id(p) in given for p in stand.contradicting)

    def _disputed(self, stand: Stand) -> tuple[ClaimVerdict, tuple[Quote, ...], str]:
        described = stand.disagreement.described(self._item).description
        if stand.touch is Touch.BLEND:
            self._flags.append(BLENDED)
            return ClaimVerdict.SOURCE_CONFLICT, stand.evidence, f"no document gives this value: {described}"
        is_both = any(
            id(p) in {id(q) for q in stand.contradicting}
            for other in self._everything
            if other.disagreement is stand.disagreement
            for p in other.supporting
        )
        if not says_so(self._item.answer) and not is_both:
            self._flags.append(ONE_SIDE)
        if stand.follows_older:
            self._flags.append(OLDER)
        return ClaimVerdict.SOURCE_CONFLICT, stand.evidence, described

    def _all_sides(self) -> tuple[Quote, ...]:
        return tuple(
            passage.quote() for stand in self._own if stand.touch is Touch.ALL_SIDES for passage in stand.supporting
        )

    def _consensus(self, verdict: ClaimVerdict, explanation: str, whole: str) -> tuple[ClaimVerdict, str]:
        """Hold a claim that all sources agree against how many do."""
        if verdict in (ClaimVerdict.SOURCE_CONFLICT, ClaimVerdict.CONTRADICTED):
            self._flags.append(CONSENSUS)
        elif verdict is ClaimVerdict.SUPPORTED:
            saying = len(documents_saying(whole, self._item))
            if saying < demanded_sources(whole, len(self._item.documents)):
                self._flags.append(CONSENSUS)
                told = f"{saying} of {len(self._item.documents)} documents say this"
                return ClaimVerdict.UNSUPPORTED, told
        return verdict, explanation


def _standing_for(evidence: Sequence[Quote], stance: Stance) -> tuple[Quote, ...]:
    return tuple(quote.model_copy(update={"stance": stance}) for quote in evidence[:_MOST_SOURCES])
