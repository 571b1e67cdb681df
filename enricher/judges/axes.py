"""Read the three axes of the halves judge, and compute which half of the pipeline failed."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from enricher.judges.reply import Unusable, label, one_text, shown
from enricher.verdict import Status

KEYS = ("context_relevance", "faithfulness", "answer_relevance")


class FailingHalf(StrEnum):
    """The half of the pipeline that broke."""

    RETRIEVAL = "retrieval"
    GENERATION = "generation"
    BOTH = "both"
    NONE = "none"


@dataclass(frozen=True, kw_only=True, slots=True)
class Axes:
    """Three judgements, each 0 (no), 1 (partial) or 2 (yes), and what follows from them."""

    context_relevance: int
    faithfulness: int
    answer_relevance: int
    fix_note: str = ""
    is_coerced: bool = False  # a figure came as text
    flags: tuple[str, ...] = ()

    @property
    def failing_half(self) -> FailingHalf:
        """Compute the failing half; what the judge says of it is only compared."""
        retrieval = self.context_relevance <= 1
        # A weak answer to a weak context is the context's fault.
        generation = self.faithfulness <= 1 or (self.answer_relevance <= 1 and not retrieval)
        if retrieval and generation:
            return FailingHalf.BOTH
        if retrieval:
            return FailingHalf.RETRIEVAL
        return FailingHalf.GENERATION if generation else FailingHalf.NONE


def read_axes(value: Mapping[str, Any]) -> Axes | Unusable:
    """Read the axes; a value off the scale is never rounded, clamped or scaled."""
    figures = {name: _figure(value.get(name)) for name in KEYS}
    wrong = [name for name, figure in figures.items() if figure is None]
    if wrong:
        problem = "; ".join(f"{name} {shown(value.get(name))} is not one of 0, 1, 2" for name in wrong)
        return Unusable(status=Status.JUDGE_PARSE_ERROR, problem=problem)
    axes = Axes(
        context_relevance=figures["context_relevance"] or 0,
        faithfulness=figures["faithfulness"] or 0,
        answer_relevance=figures["answer_relevance"] or 0,
        fix_note=one_text(value.get("fix_note")),
        is_coerced=any(isinstance(value[name], str) for name in KEYS),
    )
    stated = label(value.get("failing_half"), FailingHalf)
    if stated is None or stated is axes.failing_half:
        return axes
    return replace(axes, flags=("failing_half_inconsistent",))


def _figure(value: Any) -> int | None:
    if isinstance(value, str) and value.strip() in ("0", "1", "2"):
        return int(value)
    # 1.0 is refused too: a judge on a 0-1 scale means "yes" by it, one on ours "partial".
    return value if isinstance(value, int) and not isinstance(value, bool) and value in (0, 1, 2) else None
