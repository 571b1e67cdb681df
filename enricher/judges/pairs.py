"""What all pair judges share: which pairs can't be compared, which need no judge, and which order comes first."""

from dataclasses import dataclass
from hashlib import sha256

from enricher.folding import folded
from enricher.trace import Document, Item, Pair
from enricher.verdict import (
    Dimension,
    PairwiseResult,
    Preference,
    Provenance,
    Side,
    Status,
    Usage,
    Verdict,
)

FAITHFULNESS = "faithfulness"
CITATIONS = "citation_accuracy"
COMPLETENESS = "completeness"
CONFLICTS = "source_conflict_handling"
DIMENSIONS = (FAITHFULNESS, CITATIONS, COMPLETENESS, CONFLICTS)

CONTEXTS_DIFFER = "contexts_differ"
NO_ANSWER = "no_answer"
NO_CONTEXT = "no_context"
IDENTICAL = "identical_answers"
POSITION_BIAS = "position_bias"
UNSURE = 0.5  # the most that can be said of answers without any document


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """Why two answers can't be compared."""

    reason: str
    sentence: str


def refusal(pair: Pair) -> Refusal | None:
    """Say why the answers of a pair can't be compared; None when they can."""
    missing = [side for side, item in (("A", pair.a), ("B", pair.b)) if not item.answer.strip()]
    if missing:
        what = " and ".join(f"answer {side}" for side in missing)
        return Refusal(reason=NO_ANSWER, sentence=f"there is no text of {what}")
    if context_of(pair.a) != context_of(pair.b):
        only_a = len(context_of(pair.a) - context_of(pair.b))
        only_b = len(context_of(pair.b) - context_of(pair.a))
        sentence = (
            "the answers were not generated from the same documents: "
            f"{only_a} only behind answer A, {only_b} only behind answer B"
        )
        return Refusal(reason=CONTEXTS_DIFFER, sentence=sentence)
    return None


def context_of(item: Item) -> frozenset[str]:
    """Return the texts that the answer was generated from, whatever their order and ids."""
    return frozenset(_plain(document.text) for document in item.documents if document.text.strip())


def is_same_answer(pair: Pair) -> bool:
    """Tell whether both answers say the same, letter for letter."""
    return _plain(pair.a.answer) == _plain(pair.b.answer)


def counterpart(document: Document, item: Item) -> Document | None:
    """Return the document of the other answer's item that holds the same text."""
    text = _plain(document.text)
    return next((other for other in item.documents if _plain(other.text) == text), None)


def seed_of(pair_id: str) -> int:
    """Derive the seed of a pair from its id: the same whenever it is judged again."""
    return int.from_bytes(sha256(f"order:{pair_id}".encode("utf-8", "replace")).digest()[:6])


def first_shown(seed: int) -> Side:
    """Say which answer a model sees first."""
    return "A" if seed % 2 == 0 else "B"


def is_judged_twice(pair_id: str, share: float) -> bool:
    """Tell whether a pair belongs to the share that is judged in both orders; by its id, so always the same ones."""
    place = int.from_bytes(sha256(f"both:{pair_id}".encode("utf-8", "replace")).digest()[:6])
    return place < share * 2.0**48


def settled(pair: Pair, provenance: Provenance, dimensions: tuple[str, ...]) -> Verdict | None:
    """Return the verdict on a pair that needs no judge: it can't be compared, or both answers say the same."""
    if (refused := refusal(pair)) is not None:
        return pair_verdict(
            pair, provenance, Status.SKIPPED, failure=refused.sentence, flags=(refused.reason,)
        )  # fmt: skip
    if not is_same_answer(pair):
        return None
    same = "Both answers say the same."
    result = PairwiseResult(
        preferred=Preference.TIE,
        confidence=1.0,
        dimensions=tuple(Dimension(name=name, winner=Preference.TIE, justification=same) for name in dimensions),
        seed=seed_of(pair.id),
        summary=same,
    )
    return pair_verdict(pair, provenance, Status.OK, result=result, flags=(IDENTICAL,))


def pair_verdict(
    pair: Pair,
    provenance: Provenance,
    status: Status,
    *,
    result: PairwiseResult | None = None,
    failure: str | None = None,
    flags: tuple[str, ...] = (),
    usage: Usage | None = None,
    raw_replies: tuple[str, ...] = (),
) -> Verdict:
    """Put a verdict on a pair together; it stands on the trace of answer A."""
    return Verdict(
        trace_id=pair.a.trace_id,
        span_id=pair.a.annotate_span_id,
        status=status,
        result=result,
        failure=failure,
        flags=tuple(dict.fromkeys(flags)),
        provenance=provenance,
        usage=usage or Usage(),
        raw_replies=raw_replies,
    )


def _plain(text: str) -> str:
    return " ".join(folded(text).split())
