"""The faithfulness judge of the embedded grounding engine: no key, no network, no model download."""

from collections.abc import Sequence

from enricher.grounding.claims import AtomicClaim, ground_claims
from enricher.grounding.engine import VERSION
from enricher.grounding.focus import FOCUS_SITES, NEGATION, clashing_sites, sites_in
from enricher.judges.faithfulness import FOCUS_MISMATCH
from enricher.judges.turns import in_turn
from enricher.results.claims import claims_summary, most_dangerous
from enricher.trace import Item
from enricher.verdict import (
    AlignmentStatus,
    Claim,
    ClaimVerdict,
    FaithfulnessResult,
    Provenance,
    Segment,
    Status,
    Verdict,
)

_VERDICTS = {
    AlignmentStatus.FULLY_SUPPORTED: ClaimVerdict.SUPPORTED,
    AlignmentStatus.PARTIALLY_SUPPORTED: ClaimVerdict.PARTIAL,
    AlignmentStatus.UNSUPPORTED: ClaimVerdict.UNSUPPORTED,
    AlignmentStatus.CONTRADICTED: ClaimVerdict.CONTRADICTED,
}


class LocalFaithfulnessJudge:
    """Judges the claims of an item with the embedded engine."""

    def __init__(self, *, focus: Sequence[str] = FOCUS_SITES, risk_level: str = "normal") -> None:
        self._focus = tuple(site for site in FOCUS_SITES if site in focus)
        self._is_strict = risk_level == "high"
        chosen = [] if self._focus == FOCUS_SITES else ["+".join(self._focus) or "no-focus"]
        chosen += ["strict"] if self._is_strict else []
        self.provenance = Provenance(
            judge="faithfulness", engine="local", model=VERSION, model_snapshot=VERSION, settings_hash="/".join(chosen)
        )

    async def judge(self, item: Item) -> Verdict:
        """Judge the item; its answer and documents are already cut into sentences."""
        return await in_turn(self.verdict, item)

    def verdict(self, item: Item) -> Verdict:
        """Judge the item at once, for callers that are in a worker thread or process."""
        grounding = ground_claims(item, is_strict=self._is_strict)
        claims = tuple(
            self._claim(f"c{number}", claim, segment) for number, (claim, segment) in enumerate(grounding.claims, 1)
        )
        result = FaithfulnessResult(
            claims=claims,
            most_dangerous_error=most_dangerous(claims),
            summary=claims_summary(claims),
            faithful_probability=grounding.faithful_probability,
        )
        from_claims = sorted({flag for claim in claims for flag in claim.flags})
        return Verdict(
            trace_id=item.trace_id,
            span_id=item.annotate_span_id,
            status=Status.OK if claims else Status.NO_CLAIMS,
            result=result,
            flags=(*grounding.flags, *from_claims),
            provenance=self.provenance,
        )

    async def aclose(self) -> None:
        """Do nothing: there is no connection."""

    def _claim(self, claim_id: str, claim: AtomicClaim, segment: Segment) -> Claim:
        verdict, flags, sites = _VERDICTS[segment.alignment_status], segment.flags, tuple[str, ...]()
        if verdict is not ClaimVerdict.SUPPORTED:
            clashing = [site for site in clashing_sites(claim.text, segment) if site in (*self._focus, NEGATION)]
            sites = tuple(clashing) or sites_in(claim.text)
            flags = (*flags, *(f"{FOCUS_MISMATCH}:{site}" for site in clashing))
            if clashing and self._is_strict:
                verdict = ClaimVerdict.CONTRADICTED  # "may" for "must" is no shade of meaning where the risk is high
        return Claim(
            claim_id=claim_id,
            text=claim.text,
            verdict=verdict,
            evidence=segment.evidence,
            explanation=segment.explanation,
            score=segment.score,
            probabilities=segment.probabilities,
            sentence_id=claim.sentence_id,
            start=claim.start,
            end=claim.end,
            sites=sites,
            flags=flags,
        )
