"""What trends and reports count of a verdict: one narrow row a run and evaluation, without texts of traces."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from enricher.trace import Item
from enricher.verdict import (
    Certainty,
    DiffResult,
    FaithfulnessResult,
    HalvesResult,
    Part,
    Standing,
    Verdict,
    kinds_of_findings,
)

# Kinds of findings in the order of their danger, each with its column.
ISSUES = ("CONTRADICTED", "SOURCE_CONFLICT", "UNSUPPORTED", "ADDED", "DISTORTED", "PARTIAL", "OMITTED")
BUCKETS = 10  # of scores: bucket n holds scores up to (n + 1) / 10 inclusive, the first one 0 as well
CRITICAL = (Standing.CONTRADICTED, Standing.SOURCE_CONFLICT)  # a document says otherwise

# What a group is named by must stay short, and free of what a database can't hold in JSON.
_KEYS = 40
_LONGEST_KEY = 80
_LONGEST_VALUE = 200


def facts_of(verdict: Verdict, item: Item | None, *, is_reported: bool, is_recalled: bool) -> dict[str, Any]:
    """Return the columns of `facts` that follow from a verdict; a verdict that was known already costs nothing."""
    kinds = Counter(kinds_of_findings(verdict)) if verdict.status.is_verdict else Counter[str]()
    opinions = [o for part in _parts(verdict) if part.certainty is not None for o in part.opinions]
    usage = verdict.usage
    spent = 0 if is_recalled else 1
    return {
        "judge": verdict.provenance.judge,
        "judge_model": verdict.provenance.model_snapshot or verdict.provenance.model,
        "judge_prompt": verdict.provenance.prompt,
        "status": verdict.status.value,
        "label": verdict.result.label if verdict.result is not None and verdict.status.is_verdict else None,
        "score": verdict.score,
        "bucket": None if verdict.score is None else bucket_of(verdict.score),
        "probability": faithful_probability(verdict),
        "worst": worst_standing(verdict),
        **{issue.lower(): kinds[issue] for issue in ISSUES},
        "checked": len(opinions),
        "agreed": sum(opinion.agrees for opinion in opinions),
        "is_reported": is_reported,
        "is_recalled": is_recalled,
        "cost": usage.cost * spent,
        "prompt_tokens": usage.prompt_tokens * spent,
        "cached_tokens": usage.cached_tokens * spent,
        "completion_tokens": usage.completion_tokens * spent,
        "calls": usage.calls * spent,
        "metadata": labels_of(item.metadata if item is not None else {}),
    }


def bucket_of(score: float) -> int:
    """Return the tenth of 0 to 1 that holds a score."""
    # 0.30000000000000004 is what people mean by 0.3.
    return next((i for i in range(BUCKETS) if score <= (i + 1) / BUCKETS + 1e-9), BUCKETS - 1)


def worst_standing(verdict: Verdict) -> str | None:
    """Name the most dangerous finding that no second check refuted; a half that failed counts as partial."""
    if verdict.result is None or not verdict.status.is_verdict:
        return None
    if isinstance(verdict.result, HalvesResult):
        return None if verdict.result.label == "none" else str(Standing.PARTIAL)
    held = (finding for finding in verdict.result.findings if finding.certainty is not Certainty.REFUTED)
    worst = next(held, None)
    return None if worst is None else str(worst.standing)


def faithful_probability(verdict: Verdict) -> float | None:
    """Return the probability that the whole answer is faithful, where the judge knows one."""
    if isinstance(verdict.result, DiffResult | FaithfulnessResult) and verdict.status.is_verdict:
        return verdict.result.faithful_probability
    return None


def labels_of(metadata: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Return what items can be grouped by: plain values as text, nested ones under dotted keys, lists joined."""
    found: dict[str, str] = {}
    for key, value in metadata.items():
        name = _clean(f"{prefix}{key}", _LONGEST_KEY)
        if isinstance(value, Mapping):
            found |= labels_of(value, f"{name}.")
        elif isinstance(value, list | tuple):
            if value and all(isinstance(each, str | int | float) for each in value):
                found[name] = _clean(", ".join(map(str, value)), _LONGEST_VALUE)
        elif isinstance(value, bool):
            found[name] = str(value).lower()
        elif isinstance(value, str | int | float):
            found[name] = _clean(str(value), _LONGEST_VALUE)
    # A quotation mark would end the path under which SQLite looks a key up.
    return {name: value for name, value in list(found.items())[:_KEYS] if value and '"' not in name}


def _clean(text: str, longest: int) -> str:
    # Neither NUL nor a lone surrogate may stand in the JSON of PostgreSQL.
    return text[:longest].replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")


def _parts(verdict: Verdict) -> tuple[Part, ...]:
    return verdict.result.parts if verdict.result is not None and verdict.status.is_verdict else ()
