"""Judge the atomic claims of an answer: each statement of its sentences by itself."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from enricher.grounding.engine import TRUNCATED_ANSWER, assess_all, ground
from enricher.grounding.splitting import split_statements
from enricher.trace import Item, Sentence
from enricher.verdict import AlignmentStatus, Segment

# How an explanation quotes what the answer says against what a document says.
_SAID = re.compile(r"answer says (?P<quote>'?)(?P<words>.+?)(?P=quote), \S+ says ")
_CONJUNCTION = re.compile(r"^(?:and|but|und|aber|et|mais|y|pero)\s+", re.I)
# From the best to the worst.
_ORDER = (
    AlignmentStatus.FULLY_SUPPORTED,
    AlignmentStatus.PARTIALLY_SUPPORTED,
    AlignmentStatus.UNSUPPORTED,
    AlignmentStatus.CONTRADICTED,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class AtomicClaim:
    """One claim; its text may begin with the subject of a claim before it, its offsets are those of its own words."""

    text: str
    sentence_id: str
    start: int  # offsets into the answer
    end: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ClaimGrounding:
    """What the engine found in the claims of one item, in the order of the answer."""

    claims: tuple[tuple[AtomicClaim, Segment], ...]
    faithful_probability: float | None  # None when nothing was checkable
    flags: tuple[str, ...] = ()


def split_claims(sentences: Sequence[Sentence]) -> list[AtomicClaim]:
    """Split the checkable sentences of an answer."""
    return [claim for sentence in sentences if sentence.is_checkable for claim in _claims_of(sentence)]


def ground_claims(item: Item, *, is_strict: bool = False) -> ClaimGrounding:
    """Judge the claims of an item whose answer and documents are cut into sentences."""
    grounding = ground(item, is_strict=is_strict)
    whole = {segment.segment_id: segment for segment in grounding.segments if not segment.is_omission}
    judged = [sentence for sentence in item.sentences if sentence.id in whole]
    split = {sentence.id: _claims_of(sentence) for sentence in judged}
    parts = [claim for claims in split.values() if len(claims) > 1 for claim in claims]
    assessed = (
        dict(zip(parts, assess_all([claim.text for claim in parts], item, by_meaning=True), strict=True))
        if parts
        else {}
    )
    found: list[tuple[AtomicClaim, Segment]] = []
    for sentence in judged:
        claims = split[sentence.id]
        own = [_as_cut(assessed[claim], claim, item) for claim in claims if claim in assessed]
        # A condition, a modal verb or a contradiction of the whole may be lost in its parts.
        if own and _worst([whole[sentence.id]]) > _worst(own):
            own = _with_finding(claims, own, whole[sentence.id], sentence)
        found += zip(claims, own, strict=True) if own else [(_entire(sentence), whole[sentence.id])]
    return ClaimGrounding(
        claims=tuple(found), faithful_probability=grounding.faithful_probability, flags=grounding.flags
    )


def _claims_of(sentence: Sentence) -> list[AtomicClaim]:
    return [
        AtomicClaim(
            text=statement.text,
            sentence_id=sentence.id,
            start=sentence.start + statement.start,
            end=sentence.start + statement.end,
        )
        for statement in split_statements(sentence.text)
    ]


def _entire(sentence: Sentence) -> AtomicClaim:
    return AtomicClaim(text=sentence.text, sentence_id=sentence.id, start=sentence.start, end=sentence.end)


def _worst(segments: Iterable[Segment]) -> int:
    return max(_ORDER.index(segment.alignment_status) for segment in segments)


def _with_finding(
    claims: Sequence[AtomicClaim], own: Sequence[Segment], whole: Segment, sentence: Sentence
) -> list[Segment]:
    """Give the finding of a sentence to the claim in whose words it lies; nothing if it lies in none of them alone."""
    said = _SAID.match(whole.explanation)
    words = _CONJUNCTION.sub("", said["words"]) if said else ""
    holders = [
        number
        for number, claim in enumerate(claims)
        if words and words in sentence.text[claim.start - sentence.start : claim.end - sentence.start]
    ]
    if len(holders) != 1:
        return []
    return [whole if number == holders[0] else segment for number, segment in enumerate(own)]


def _as_cut(segment: Segment, claim: AtomicClaim, item: Item) -> Segment:
    """Flag the last claim of an answer that was cut off."""
    is_cut = TRUNCATED_ANSWER in item.flags and claim.end == len(item.answer.rstrip())
    if not is_cut or TRUNCATED_ANSWER in segment.flags:
        return segment
    return segment.model_copy(update={"flags": (*segment.flags, TRUNCATED_ANSWER)})
