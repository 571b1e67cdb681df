"""Turn judged pairs into preference data for training: a prompt, a chosen and a rejected answer."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from enricher.compare.judging import review_reasons
from enricher.store.pairs import PairRecord
from enricher.trace import Item
from enricher.verdict import PairwiseResult, Preference

# What a reason for review is called where one asks for such pairs all the same.
KINDS = ("ties", "disputed", "biased", "low-confidence")
_DISPUTED = ("disputed", "dimensions_inconsistent", "flag_misplaced", "injection_suspected", "no_context")


@dataclass(kw_only=True, slots=True)
class Exported:
    """How many pairs were exported, and why the others were not."""

    pairs: int = 0
    left_out: dict[str, int]


def preferences(
    records: Iterable[PairRecord], *, include: frozenset[str], min_confidence: float, exported: Exported
) -> Iterator[dict[str, Any]]:
    """Yield one row a pair in the form that preference trainers read; what nobody should learn from is left out.

    A tie has no chosen answer: where ties are asked for, `chosen` is the champion's and the metadata say `tie`.
    """
    for record in records:
        result = record.verdict.result
        why = _why_not(record, min_confidence)
        if not isinstance(result, PairwiseResult) or why - include:
            for reason in why - include or {"no_verdict"}:
                exported.left_out[reason] = exported.left_out.get(reason, 0) + 1
            continue
        exported.pairs += 1
        yield _row(record, result)


def _why_not(record: PairRecord, min_confidence: float) -> set[str]:
    result = record.verdict.result
    if not isinstance(result, PairwiseResult):
        return {"no_verdict"}
    found = set()
    if result.has_position_bias:
        found.add("biased")
    elif result.preferred is Preference.TIE:
        found.add("ties")
    reasons = review_reasons(record.verdict, min_confidence)
    if "low_confidence" in reasons:
        found.add("low-confidence")
    if any(reason in _DISPUTED for reason in reasons):
        found.add("disputed")
    return found


def _row(record: PairRecord, result: PairwiseResult) -> dict[str, Any]:
    chosen, rejected = record.pair.a, record.pair.b
    is_challenger = result.preferred is Preference.B
    if is_challenger:
        chosen, rejected = rejected, chosen
    label = "tie" if result.preferred is Preference.TIE else "challenger" if is_challenger else "champion"
    provenance = record.verdict.provenance
    return {
        "prompt": prompt_of(record.pair.a),
        "chosen": chosen.answer,
        "rejected": rejected.answer,
        "metadata": {
            "pair_id": record.pair.id,
            "comparison": record.comparison,
            "preferred": label,
            "chosen_from": record.challenger if is_challenger else record.champion,
            "rejected_from": record.champion if is_challenger else record.challenger,
            "chosen_trace": chosen.trace_id,
            "rejected_trace": rejected.trace_id,
            "question": record.pair.a.question,
            "document_ids": [document.id for document in record.pair.a.documents],
            "confidence": result.confidence,
            "dimensions": {dimension.name: str(dimension.winner) for dimension in result.dimensions},
            "orders": len(result.orders),
            "position_bias": result.has_position_bias,
            "hallucinations": [
                {
                    "in": "chosen" if (flag.answer == "B") == is_challenger else "rejected",
                    "claim": flag.claim,
                    "severity": str(flag.severity),
                    "certainty": str(flag.certainty) if flag.certainty else None,
                }
                for flag in result.hallucinations
            ],
            "judge": provenance.version,
        },
    }


def prompt_of(item: Item) -> str:
    """Return the prompt of a row: the documents by id, then the question."""
    documents = "\n\n".join(f"[{document.id}] {document.text.strip()}" for document in item.documents)
    question = (item.standalone_question or item.question or "").strip()
    return f"Documents:\n\n{documents}\n\nQuestion: {question}" if documents else question
