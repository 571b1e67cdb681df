"""The consistency judge of the embedded grounding engine: no key, no network, no model download."""

import asyncio
import re
from collections.abc import Sequence

from enricher.grounding.claims import AtomicClaim, split_claims
from enricher.grounding.conflicts import (
    Sides,
    conflict_about,
    conflicts_between,
    dates_of,
    passages,
    replaces_others,
    sides_of,
)
from enricher.grounding.engine import VERSION, assess_all
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
_SAYS_SO = re.compile(
    r"\b(?:however|although|whereas|while|disagree\w*|differ\w*|conflict\w*|contradict\w*|inconsisten\w*"
    r"|on the other hand|another (?:source|document)|according to|jedoch|hingegen|widersprech\w*|unterschied\w*"
    r"|cependant|tandis que|sin embargo|mientras que)\b|一方|しかし|但是|然而",
    re.I,
)
_CONSENSUS = re.compile(
    r"\b(?:all|both|every)\s+(?:of\s+the\s+)?(?:sources?|documents?|reports?|studies|policies)\s+\w+"
    r"|\b(?:sources|documents|reports)\s+(?:all\s+)?(?:agree|concur)\b|\bconsistently\b|\bunanimous\w*\b"
    r"|\b(?:alle|beide)\s+(?:quellen|dokumente)\b|\bübereinstimmend\b",
    re.I,
)
_SYNTHESIS = re.compile(
    r"\b(?:on average|average|overall|in total|combined|therefore|thus|insgesamt|durchschnitt\w*)\b", re.I
)


class LocalConsistencyJudge:
    """Judges whether documents agree with the answer and with one another, value by value."""

    def __init__(self) -> None:
        self.provenance = Provenance(judge="consistency", engine="local", model=VERSION, model_snapshot=VERSION)

    async def judge(self, item: Item) -> Verdict:
        """Judge the item; its answer and documents are already cut into sentences."""
        return await asyncio.to_thread(self.verdict, item)

    def verdict(self, item: Item) -> Verdict:
        """Judge the item at once, for callers that are in a worker thread or process."""
        if len(item.documents) < 2:
            return self._verdict(item, Status.SKIPPED, None, failure=TOO_FEW)
        split = split_claims(item.sentences)
        texts = [claim.text for claim in split]
        together = assess_all(texts, item)
        claims, conflicts = [], list[SourceConflict]()
        for number, (atomic, whole, sides) in enumerate(zip(split, together, sides_of(texts, item), strict=True), 1):
            claim = _claim(f"c{number}", atomic, whole, sides, item)
            claims.append(claim)
            if claim.verdict is ClaimVerdict.SOURCE_CONFLICT:
                conflicts.append(conflict_about(sides, item, claim.claim_id))
        conflicts += _untouched(conflicts, item)
        result = ConsistencyResult(claims=tuple(claims), conflicts=tuple(conflicts), summary=claims_summary(claims))
        return self._verdict(item, Status.OK if claims else Status.NO_CLAIMS, result)

    async def aclose(self) -> None:
        """Do nothing: there is no connection."""

    def _verdict(
        self, item: Item, status: Status, result: ConsistencyResult | None, failure: str | None = None
    ) -> Verdict:
        flags = {flag for claim in result.claims for flag in claim.flags} if result else set()
        return Verdict(
            trace_id=item.trace_id,
            span_id=item.annotate_span_id,
            status=status,
            result=result,
            failure=failure,
            flags=tuple(sorted(flags)),
            provenance=self.provenance,
        )


def _claim(claim_id: str, atomic: AtomicClaim, whole: Segment, sides: Sides, item: Item) -> Claim:
    verdict, evidence, explanation, flags = _standing(whole, sides)
    if verdict is ClaimVerdict.SOURCE_CONFLICT:
        flags += conflict_flags(sides, item)
    if _CONSENSUS.search(atomic.text) and len(sides.supporting) < len(item.documents):
        flags.append("false_consensus")
        if verdict is ClaimVerdict.SUPPORTED:
            verdict = ClaimVerdict.UNSUPPORTED
            explanation = f"{len(sides.supporting)} of {len(item.documents)} documents say this"
    if verdict is ClaimVerdict.UNSUPPORTED and _SYNTHESIS.search(atomic.text):
        flags.append("unsupported_synthesis")
    return Claim(
        claim_id=claim_id,
        text=atomic.text,
        verdict=verdict,
        evidence=evidence,
        explanation=explanation,
        score=whole.score,
        sentence_id=atomic.sentence_id,
        start=atomic.start,
        end=atomic.end,
        flags=tuple(flags),
    )


def _standing(whole: Segment, sides: Sides) -> tuple[ClaimVerdict, tuple[Quote, ...], str, list[str]]:
    """Decide a claim from how the documents stand to it together and alone."""
    if sides.is_conflict:
        return ClaimVerdict.SOURCE_CONFLICT, passages(sides), _told(sides), []
    supports = tuple(quote.model_copy(update={"stance": Stance.SUPPORTS}) for quote in whole.evidence)
    against = tuple(quote.model_copy(update={"stance": Stance.CONTRADICTS}) for quote in whole.evidence)
    if whole.standing is Standing.SUPPORTED:
        # What clashes with the words and not with the passages that support them is about something else.
        own = tuple(quote for quote in passages(sides) if quote.stance is Stance.SUPPORTS)
        return ClaimVerdict.SUPPORTED, own or supports, "", []
    if whole.standing is Standing.CONTRADICTED:
        blended = ["conflict_blended"] if len(sides.contradicting) > 1 else []
        return ClaimVerdict.CONTRADICTED, passages(sides) or against, whole.explanation, blended
    return ClaimVerdict.UNSUPPORTED, (), whole.explanation, list(whole.flags)


def conflict_flags(sides: Sides, item: Item) -> list[str]:
    """Tell what the answer makes of a conflict: it may state one side without a word, and the older one at that."""
    flags = []
    if not _SAYS_SO.search(item.answer):
        flags.append("one_side_stated_silently")
    if _follows_older(sides, item):
        flags.append("answer_follows_older_source")
    return flags


def _follows_older(sides: Sides, item: Item) -> bool:
    documents = {document.id: document for document in item.documents}
    ours, theirs = set[str | None](sides.supporting), set[str | None](sides.contradicting)
    if any(replaces_others(documents[name]) for name in sides.contradicting):
        return not any(replaces_others(documents[name]) for name in sides.supporting)
    stated, others = dates_of(item.documents, ours), dates_of(item.documents, theirs)
    return bool(stated and others) and max(stated.values()) < min(others.values())


def _told(sides: Sides) -> str:
    yes, no = ", ".join(sides.supporting), ", ".join(sides.contradicting)
    return f"{yes} supports this, {no} contradicts it: {next(iter(sides.contradicting.values())).explanation}"


def _untouched(known: Sequence[SourceConflict], item: Item) -> list[SourceConflict]:
    """Return the conflicts between documents that no claim is about."""
    touched = {quote.text for conflict in known for quote in conflict.passages}
    return [c for c in conflicts_between(item) if not {quote.text for quote in c.passages} <= touched]
