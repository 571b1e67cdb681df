"""The result of the halves judge: which half of the pipeline broke, and what to do about it."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Literal, Self

from enricher.results.evidence import Judged, Noun, Part

_WORDS = ("no", "partial", "yes")


class FailingHalf(StrEnum):
    """The half of the pipeline that broke."""

    RETRIEVAL = "retrieval"
    GENERATION = "generation"
    BOTH = "both"
    NONE = "none"


class Axis(Noun):
    """One judgement: 0 (no), 1 (partial) or 2 (yes), with a reason of one line."""

    value: Literal[0, 1, 2]
    reason: str = ""

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
        retrieval = self.context_relevance.value <= 1
        # A weak answer to a weak context is the context's fault.
        generation = self.faithfulness.value <= 1 or (self.answer_relevance.value <= 1 and not retrieval)
        if retrieval and generation:
            return FailingHalf.BOTH
        if retrieval:
            return FailingHalf.RETRIEVAL
        return FailingHalf.GENERATION if generation else FailingHalf.NONE

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
        """Return the result as it is: it has no single statements."""
        return self
