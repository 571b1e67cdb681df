"""The faithfulness judge of the embedded grounding engine: no key, no network, no model download."""

import asyncio
from collections.abc import Iterator, Sequence

from enricher.grounding.claims import AtomicClaim, split_claims
from enricher.grounding.engine import VERSION, assess_all
from enricher.grounding.focus import SITES, sites_in
from enricher.judges.faithfulness import FOCUS_MISMATCH, most_dangerous
from enricher.results.claims import claims_summary
from enricher.trace import Item
from enricher.verdict import Claim, ClaimVerdict, FaithfulnessResult, Provenance, Segment, Standing, Status, Verdict

_VERDICTS = {
    Standing.SUPPORTED: ClaimVerdict.SUPPORTED,
    Standing.PARTIAL: ClaimVerdict.PARTIAL,
    Standing.UNSUPPORTED: ClaimVerdict.UNSUPPORTED,
    Standing.CONTRADICTED: ClaimVerdict.CONTRADICTED,
}


_DANGER = (Standing.SUPPORTED, Standing.PARTIAL, Standing.UNSUPPORTED, Standing.CONTRADICTED)


class LocalFaithfulnessJudge:
    """Judges the claims of an item with the embedded engine."""

    def __init__(self, *, focus: Sequence[str] = SITES) -> None:
        self._focus = tuple(focus)
        chosen = "" if self._focus == SITES else "+".join(self._focus) or "no-focus"
        self.provenance = Provenance(
            judge="faithfulness", engine="local", model=VERSION, model_snapshot=VERSION, settings_hash=chosen
        )

    async def judge(self, item: Item) -> Verdict:
        """Judge the item; its answer and documents are already cut into sentences."""
        return await asyncio.to_thread(self.verdict, item)

    def verdict(self, item: Item) -> Verdict:
        """Judge the item at once, for callers that are in a worker thread or process."""
        claims = tuple(
            self._claim(number, claim, segment) for number, (claim, segment) in enumerate(_assessed(item), 1)
        )
        result = FaithfulnessResult(
            claims=claims, most_dangerous_error=most_dangerous(claims), summary=claims_summary(claims)
        )
        return Verdict(
            trace_id=item.trace_id,
            span_id=item.annotate_span_id,
            status=Status.OK if claims else Status.NO_CLAIMS,
            result=result,
            flags=tuple(sorted({flag for claim in claims for flag in claim.flags})),
            provenance=self.provenance,
        )

    async def aclose(self) -> None:
        """Do nothing: there is no connection."""

    def _claim(self, number: int, split: AtomicClaim, segment: Segment) -> Claim:
        flags = segment.flags
        if segment.standing is Standing.CONTRADICTED:
            site = next((name for name in sites_in(split.text) if name in self._focus), None)
            flags = (*flags, f"{FOCUS_MISMATCH}:{site}") if site else flags
        return Claim(
            claim_id=f"c{number}",
            text=split.text,
            verdict=_VERDICTS[segment.standing],
            evidence=segment.evidence,
            explanation=segment.explanation,
            score=segment.score,
            sentence_id=split.sentence_id,
            start=split.start,
            end=split.end,
            flags=flags,
        )


def _assessed(item: Item) -> Iterator[tuple[AtomicClaim, Segment]]:
    """Yield the claims of the answer with what the engine says of each.

    A sentence is taken whole where that shows more than its claims do: a modal verb or a condition of the whole may be
    lost in its parts.
    """
    split = split_claims(item.sentences)
    parts: dict[str, list[AtomicClaim]] = {}
    for claim in split:
        parts.setdefault(claim.sentence_id, []).append(claim)
    compound = [s for s in item.sentences if len(parts.get(s.id, ())) > 1]
    texts = [claim.text for claim in split] + [sentence.text for sentence in compound]
    segments = assess_all(texts, item)
    found = dict(zip(((c.sentence_id, c.start) for c in split), segments, strict=False))
    whole = {s.id: (s, segment) for s, segment in zip(compound, segments[len(split) :], strict=True)}
    for sentence_id, claims in parts.items():
        own = [found[claim.sentence_id, claim.start] for claim in claims]
        if sentence_id in whole:
            sentence, segment = whole[sentence_id]
            if _danger(segment) > max(map(_danger, own)):
                yield (
                    AtomicClaim(text=sentence.text, sentence_id=sentence.id, start=sentence.start, end=sentence.end),
                    segment,
                )
                continue
        yield from zip(claims, own, strict=True)


def _danger(segment: Segment) -> int:
    return _DANGER.index(segment.standing)
