"""The second check: every finding of a model is looked at again, by the embedded engine, by another model, or by both.

Nothing is authoritative alone. A finding that a checker shares is confirmed, one that it does not share is disputed,
and one against which the embedded engine holds a verbatim passage is refuted: marked, never deleted. Statements that a
model calls supported are looked at too where the material speaks to its judge: there a model may have obeyed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from enricher.grounding.engine import LOW_CONFIDENCE, VERSION, assess_all
from enricher.judges.reply import Unusable
from enricher.judges.turns import in_turn
from enricher.trace import Document, Item, Sentence
from enricher.verdict import (
    AlignmentStatus,
    Certainty,
    Claim,
    ClaimVerdict,
    IssueType,
    Opinion,
    Part,
    Provenance,
    Segment,
    Stance,
    Standing,
    Usage,
    Verdict,
)

OVERRULED = "overruled_by_second_check"
FAILED = "second_check_failed"
_INJECTION = "injection_suspected"
_NEGATIVE = (Standing.UNSUPPORTED, Standing.CONTRADICTED, Standing.PARTIAL)
# From the mildest reading to the strictest.
_STRICTNESS = (Standing.SUPPORTED, Standing.PARTIAL, Standing.UNSUPPORTED, Standing.CONTRADICTED)


class Assessor(Protocol):
    """A judge that gives its opinion on statements of somebody else."""

    provenance: Provenance

    async def assess(self, item: Item, statements: Sequence[str]) -> tuple[Sequence[Claim] | Unusable, Usage]:
        """Judge each statement against the documents of the item, in order, and say what that cost."""
        ...

    async def aclose(self) -> None:
        """Release connections."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Checks:
    """The second checks of a job, one after the other."""

    has_engine: bool = True
    assessor: Assessor | None = None
    stricter_wins: bool = True  # where two models disagree, the stricter reading counts
    require_agreement: bool = False  # what no check confirms is not written as confirmed

    @property
    def name(self) -> str:
        """Name what checks, and how its opinions count."""
        by = [VERSION] if self.has_engine else []
        if self.assessor is not None:
            by.append(self.assessor.provenance.version + ("/stricter" if self.stricter_wins else ""))
        return "+".join(by) + ("/agreed" if self.require_agreement else "")

    async def check(self, verdict: Verdict, item: Item) -> Verdict:
        """Return the verdict with an opinion and a certainty on each finding; a check that fails leaves none."""
        result = verdict.result
        if result is None or not result.parts:
            return verdict
        is_suspect = any(flag.startswith(_INJECTION) for flag in verdict.flags)
        if not is_suspect and not any(part.is_finding for part in result.parts):
            return verdict
        opinions: dict[str, list[Opinion]] = {}
        if self.has_engine:
            looked_at = [part for part in result.parts if part.is_finding or is_suspect]
            for key, opinion in (await in_turn(partial(engine_opinions, looked_at), item)).items():
                opinions.setdefault(key, []).append(opinion)
        flags, usage = list(verdict.flags), verdict.usage
        if self.assessor is not None:
            found, spent = await self._asked(self.assessor, result.parts, item)
            usage += spent
            if isinstance(found, Unusable):
                flags.append(f"{FAILED}:{found.status}")
            else:
                for key, opinion in found.items():
                    opinions.setdefault(key, []).append(opinion)
        parts = [self._amended(part, opinions.get(part.key, []), is_suspect=is_suspect) for part in result.parts]
        if any(OVERRULED in part.flags for part in parts):
            flags.append(OVERRULED)
        update = {"result": result.with_parts(parts), "flags": tuple(dict.fromkeys(flags)), "usage": usage}
        return verdict.model_copy(update=update)

    async def aclose(self) -> None:
        """Release connections."""
        if self.assessor is not None:
            await self.assessor.aclose()

    async def _asked(
        self, assessor: Assessor, parts: Sequence[Part], item: Item
    ) -> tuple[Mapping[str, Opinion] | Unusable, Usage]:
        # A whole answer costs little more than its findings, and only what was asked about can be read more strictly.
        asked = [part for part in parts if _is_about_answer(part) and (part.is_finding or self.stricter_wins)]
        if not asked or not any(part.is_finding for part in parts):
            return {}, Usage()
        claims, usage = await assessor.assess(item, [part.statement for part in asked])
        if isinstance(claims, Unusable):
            return claims, usage
        by = assessor.provenance.version
        return {part.key: _opinion_of(claim, part, by) for part, claim in zip(asked, claims, strict=True)}, usage

    def _amended(self, part: Part, opinions: Sequence[Opinion], *, is_suspect: bool) -> Part:
        """Add the opinions to a statement, with the certainty and the reading that follow from them."""
        amended = part.model_copy(update={"opinions": tuple(opinions)}) if opinions else part
        for opinion in opinions:
            is_engine = opinion.by == VERSION
            stricter = _STRICTNESS.index(opinion.standing) > _place(amended.standing)
            # The engine overrules a model only where the material may have talked the model round.
            if stricter and (is_suspect and not part.is_finding if is_engine else self.stricter_wins):
                amended = _relabelled(amended, opinion)
        if amended.is_finding:
            certainty = _certainty(opinions, require_agreement=self.require_agreement)
            amended = amended.model_copy(update={"certainty": certainty})
        return amended


def engine_opinions(parts: Sequence[Part], item: Item) -> dict[str, Opinion]:
    """Let the embedded engine judge statements that somebody else has judged; by key of the statement."""
    if not parts:
        return {}  # even to index the documents costs more than all else about a clean verdict
    plain = [part for part in parts if part.standing is not Standing.OMITTED and not _is_conflict(part)]
    found = {
        part.key: _opinion(part, segment)
        for part, segment in zip(plain, assess_all([part.statement for part in plain], item), strict=True)
    }
    for part in parts:
        if part.standing is Standing.OMITTED:
            found[part.key] = _on_omission(part, item)
        elif _is_conflict(part):
            found[part.key] = _on_conflict(part, item)
    return found


def _opinion(part: Part, segment: Segment) -> Opinion:
    standing = segment.standing
    agrees = (standing in _NEGATIVE) == (part.standing in _NEGATIVE)
    return Opinion(
        by=VERSION,
        standing=standing,
        agrees=agrees,
        # A passage that is merely near settles nothing.
        evidence=segment.verified if LOW_CONFIDENCE not in segment.flags else (),
        explanation=segment.explanation,
        score=segment.score,
    )


def _on_omission(part: Part, item: Item) -> Opinion:
    """Look whether the answer holds what it is said to leave out."""
    answer = Document(id="answer", text=item.answer, sentences=_as_sentences(item))
    (segment,) = assess_all([part.statement], replace(item, documents=(answer,), question=None, flags=()))
    is_said = segment.standing is Standing.SUPPORTED
    return Opinion(
        by=VERSION,
        standing=Standing.SUPPORTED if is_said else Standing.UNSUPPORTED,
        agrees=not is_said,
        evidence=segment.verified if is_said and LOW_CONFIDENCE not in segment.flags else (),
        explanation="the answer says this" if is_said else "",
    )


def _on_conflict(part: Part, item: Item) -> Opinion:
    """Look whether the documents that are said to contradict a claim do so."""
    named = {quote.document_id for quote in part.verified if quote.stance is Stance.CONTRADICTS}
    against = tuple(document for document in item.documents if document.id in named)
    (segment,) = assess_all([part.statement], replace(item, documents=against))
    agrees = segment.standing is not Standing.SUPPORTED
    return Opinion(
        by=VERSION,
        standing=segment.standing,
        agrees=agrees,
        evidence=segment.verified if LOW_CONFIDENCE not in segment.flags else (),
        explanation=segment.explanation,
        score=segment.score,
    )


def _opinion_of(claim: Claim, part: Part, by: str) -> Opinion:
    standing = Standing.PARTIAL if claim.standing is Standing.SOURCE_CONFLICT else claim.standing
    return Opinion(
        by=by,
        standing=standing,
        agrees=(standing in _NEGATIVE) == part.is_finding,
        evidence=claim.evidence,
        explanation=claim.explanation,
    )


def _certainty(opinions: Sequence[Opinion], *, require_agreement: bool) -> Certainty | None:
    if not opinions:
        return Certainty.UNCONFIRMED if require_agreement else None
    if all(opinion.agrees for opinion in opinions):
        return Certainty.CONFIRMED
    is_refuted = any(not opinion.agrees and opinion.by == VERSION and opinion.evidence for opinion in opinions)
    is_shared = any(opinion.agrees for opinion in opinions)
    return Certainty.REFUTED if is_refuted and not is_shared else Certainty.DISPUTED


def _relabelled(part: Part, opinion: Opinion) -> Part:
    """Let the stricter reading count; what the first judge said stays in the explanation."""
    update: dict[str, object] = {
        "explanation": f"The judge said {part.standing}; {opinion.by} says: {opinion.explanation or opinion.standing}",
        "evidence": opinion.evidence or part.evidence,
        "flags": tuple(dict.fromkeys((*part.flags, OVERRULED))),
        "score": opinion.score,
    }
    if isinstance(part, Segment):
        update |= {"alignment_status": _ALIGNMENTS[opinion.standing], "issue_type": _ISSUES[opinion.standing]}
    elif isinstance(part, Claim):
        update |= {"verdict": ClaimVerdict(opinion.standing.upper())}
    return part.model_copy(update=update)


_ALIGNMENTS = {
    Standing.PARTIAL: AlignmentStatus.PARTIALLY_SUPPORTED,
    Standing.UNSUPPORTED: AlignmentStatus.UNSUPPORTED,
    Standing.CONTRADICTED: AlignmentStatus.CONTRADICTED,
}
_ISSUES = {
    Standing.PARTIAL: IssueType.DISTORTED,
    Standing.UNSUPPORTED: IssueType.ADDED,
    Standing.CONTRADICTED: IssueType.CONTRADICTED,
}


def _place(standing: Standing) -> int:
    # What is left out, and what the sources dispute, is not made stricter.
    return _STRICTNESS.index(standing) if standing in _STRICTNESS else len(_STRICTNESS)


def _is_conflict(part: Part) -> bool:
    return part.standing is Standing.SOURCE_CONFLICT


def _is_about_answer(part: Part) -> bool:
    return part.standing in _STRICTNESS


def _as_sentences(item: Item) -> tuple[Sentence, ...]:
    return tuple(replace(sentence, is_checkable=True) for sentence in item.sentences)
