"""The result of the halves judge: which half of the pipeline broke, and what to do about it."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Literal, Self

from enricher.results.evidence import Judged, Noun, Part, Quote, shortened

_WORDS = ("no", "partial", "yes")


class FailingHalf(StrEnum):
    """The half of the pipeline that broke."""

    RETRIEVAL = "retrieval"
    GENERATION = "generation"
    BOTH = "both"
    NONE = "none"

    @classmethod
    def of(cls, context_relevance: int, faithfulness: int, answer_relevance: int) -> "FailingHalf":
        """Compute which half failed; what a judge says of it is only compared."""
        retrieval = context_relevance <= 1
        # A weak answer to a weak context is the context's fault.
        generation = faithfulness <= 1 or (answer_relevance <= 1 and not retrieval)
        if retrieval and generation:
            return cls.BOTH
        if retrieval:
            return cls.RETRIEVAL
        return cls.GENERATION if generation else cls.NONE

    @property
    def includes_retrieval(self) -> bool:
        """Tell whether the retriever is at fault, alone or with the generator."""
        return self in (FailingHalf.RETRIEVAL, FailingHalf.BOTH)

    @property
    def includes_generation(self) -> bool:
        """Tell whether the generator is at fault, alone or with the retriever."""
        return self in (FailingHalf.GENERATION, FailingHalf.BOTH)


class Axis(Noun):
    """One judgement: 0 (no), 1 (partial) or 2 (yes), with a reason of one line."""

    value: Literal[0, 1, 2]
    reason: str = ""
    evidence: tuple[Quote, ...] = ()  # the passages that the judgement rests on, best first

    @property
    def word(self) -> str:
        """Return no, partial or yes."""
        return _WORDS[self.value]


class HalvesResult(Judged):
    """Three axes, and what follows from them."""

    kind: Literal["halves"] = "halves"
    context_relevance: Axis  # the context against the question, the answer ignored
    faithfulness: Axis
    answer_relevance: Axis
    fix_note: str = ""  # one concrete next step; empty when nothing failed
    judge_failing_half: FailingHalf | None = None  # what the judge itself stated; recorded, never written

    @property
    def failing_half(self) -> FailingHalf:
        """Compute the failing half from the axes."""
        axes = (self.context_relevance, self.faithfulness, self.answer_relevance)
        return FailingHalf.of(*(axis.value for axis in axes))

    @property
    def score(self) -> float | None:
        """Return None: three axes make no single score."""
        return None

    @property
    def label(self) -> str:
        """Return the failing half."""
        return str(self.failing_half)

    @property
    def axes(self) -> dict[str, Axis]:
        """Return the axes by the names of their annotations."""
        return {
            "context_relevance": self.context_relevance,
            "groundedness": self.faithfulness,
            "answer_relevance": self.answer_relevance,
        }

    def with_parts(self, parts: Sequence[Part]) -> Self:
        """Return the result with its summary: it has no single statements."""
        return self.model_copy(update={"summary": halves_summary(self)})


def halves_summary(result: HalvesResult) -> str:
    """Say in plain words which half failed, why, and what to do next."""
    half = result.failing_half
    if half is FailingHalf.NONE:
        return "Both halves work: the context holds the answer, and the answer follows from it."
    blamed = []
    if half.includes_retrieval:
        blamed.append(("retrieval failed", "context_relevance", result.context_relevance))
    if half.includes_generation:
        is_unfaithful = result.faithfulness.value <= 1
        name = "groundedness" if is_unfaithful else "answer_relevance"
        blamed.append(("generation failed", name, result.faithfulness if is_unfaithful else result.answer_relevance))
    said = "; ".join(f"{what} ({name} {axis.word}){_because(axis)}" for what, name, axis in blamed)
    said = f"{said[0].upper()}{said[1:]}."
    return f"{said} Next: {result.fix_note}" if result.fix_note else said


def _because(axis: Axis) -> str:
    return f": {shortened(axis.reason).rstrip('.')}" if axis.reason else ""
