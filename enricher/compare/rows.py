"""The lines that `enricher judge --judge pairwise` writes."""

from collections.abc import Mapping
from typing import Any

from enricher.compare.judging import review_reasons
from enricher.steps.rendering import details, made_by
from enricher.verdict import PairwiseResult, Status, Verdict


def pair_row(name: str, verdict: Verdict, min_confidence: float) -> dict[str, Any]:
    """Return the line of one pair: what was found, then what produced it."""
    result = verdict.result
    found: dict[str, Any] = {"id": name, "status": str(verdict.status), "preferred": None, "confidence": None}
    if isinstance(result, PairwiseResult):
        found |= details(result) | {"summary": result.summary, "confidence": result.confidence}
    else:
        found |= {"reason": verdict.flags[0] if verdict.status is Status.SKIPPED else None, "summary": verdict.failure}
    return found | {"needs_review": list(review_reasons(verdict, min_confidence))} | made_by(verdict)


def refused_row(where: Mapping[str, str]) -> dict[str, Any]:
    """Return the line of a record that can't be read."""
    return {
        "id": None,
        "status": str(Status.INVALID_TRACE),
        "preferred": None,
        "reason": "unreadable",
        "summary": f"{where['where']} can't be read: {where['detail']}",
    }
