"""Read the three axes of the halves judge from raw replies: integers on their scale, or what is wrong with them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from enricher.judges.material import Material
from enricher.judges.reply import Unusable, label, one_text, shown
from enricher.verdict import Axis, FailingHalf, HalvesResult, Quote, QuoteCheck, Status

CONTEXT_KEYS = ("context_relevance",)
ANSWER_KEYS = ("faithfulness", "answer_relevance")
KEYS = (*CONTEXT_KEYS, *ANSWER_KEYS)
INCONSISTENT = "failing_half_inconsistent"
COERCED = "axis_coerced"
_LISTS = ("unsupported", "contradicted")  # of ids of the answer's sentences
_MOST_QUOTES = 3
Figure = Literal[0, 1, 2]


@dataclass(frozen=True, kw_only=True, slots=True)
class AxesReading:
    """What one reply says of the axes that it was asked about."""

    values: Mapping[str, Figure]
    reasons: Mapping[str, str]
    fix_note: str = ""
    missing: str = ""  # what the question asks for and no document states
    evidence: tuple[Quote, ...] = ()  # the passages that answer the question
    faults: Mapping[str, frozenset[str]] | None = None  # ids of wrong sentences of the answer; None: not said
    stated: FailingHalf | None = None
    flags: tuple[str, ...] = ()

    def axis(self, name: str) -> Axis:
        """Return one axis."""
        return Axis(value=self.values[name], reason=self.reasons.get(name, ""))


def read_axes(
    value: Mapping[str, Any],
    names: Sequence[str] = KEYS,
    *,
    material: Material | None = None,
    sentences: Collection[str] = (),
) -> AxesReading | Unusable:
    """Read the named axes and what goes with them; a value off the scale is never rounded, clamped or scaled.

    `material` gives the passages their texts, and `sentences` are the ids of the answer's sentences.
    """
    figures = {name: _figure(value.get(name)) for name in names}
    wrong = [name for name, figure in figures.items() if figure is None]
    if wrong:
        problem = "; ".join(f"{name} {shown(value.get(name))} is not one of 0, 1, 2" for name in wrong)
        return Unusable(status=Status.JUDGE_PARSE_ERROR, problem=problem)
    reading = AxesReading(
        values={name: figure for name, figure in figures.items() if figure is not None},
        reasons={name: one_text(value.get(f"{name}_reason") or value.get("reason")) for name in names},
        fix_note=one_text(value.get("fix_note")),
        missing=one_text(value.get("missing"), 300),
        evidence=_quotes(value.get("evidence"), material),
        faults=_faults(value, sentences),
        stated=label(value.get("failing_half"), FailingHalf),
        flags=(COERCED,) if any(isinstance(value[name], str) for name in names) else (),
    )
    problem = _contradiction(reading, value, is_numbered=bool(material and material.sentences))
    return Unusable(status=Status.JUDGE_INVALID, problem=problem) if problem else reading


def result_of(
    context: AxesReading, answer: AxesReading, *, fix_note: str | None = None
) -> tuple[HalvesResult, tuple[str, ...]]:
    """Put a result together, with the flags that it earns; the failing half follows from the axes alone."""
    result = HalvesResult(
        context_relevance=context.axis("context_relevance").model_copy(update={"evidence": context.evidence}),
        faithfulness=answer.axis("faithfulness"),
        answer_relevance=answer.axis("answer_relevance"),
        fix_note=answer.fix_note if fix_note is None else fix_note,
        judge_failing_half=answer.stated,
    )
    is_off = answer.stated not in (None, result.failing_half)
    flags = (*context.flags, *answer.flags, *((INCONSISTENT,) if is_off else ()))
    return result.with_parts(()), tuple(dict.fromkeys(flags))


def _figure(value: Any) -> Figure | None:
    if isinstance(value, str) and value.strip() in ("0", "1", "2"):
        value = int(value)
    # 1.0 is refused too: a judge on a 0-1 scale means "yes" by it, one on ours "partial".
    if isinstance(value, int) and not isinstance(value, bool):
        return 0 if value == 0 else 1 if value == 1 else 2 if value == 2 else None
    return None


def _names(value: Any) -> list[str]:
    listed = value if isinstance(value, list) else [value] if isinstance(value, str) else []
    return [one.strip().strip("[]").strip() for one in listed if isinstance(one, str)]


def _quotes(value: Any, material: Material | None) -> tuple[Quote, ...]:
    known = material.sentences if material is not None else {}
    found = dict.fromkeys(name for name in _names(value) if name in known)
    quotes = []
    for name in list(found)[:_MOST_QUOTES]:
        document, sentence = known[name]
        quotes.append(
            Quote(
                document_id=document.id,
                text=sentence.text,
                start=sentence.start,
                end=sentence.end,
                check=QuoteCheck.VERIFIED,
                occurrences=max(1, document.text.count(sentence.text)),
                span_id=document.span_id,
            )
        )
    return tuple(quotes)


def _faults(value: Mapping[str, Any], sentences: Collection[str]) -> dict[str, frozenset[str]] | None:
    if not any(isinstance(value.get(name), list) for name in _LISTS):
        return None
    return {name: frozenset(_names(value.get(name))) & frozenset(sentences) for name in _LISTS}


def _contradiction(reading: AxesReading, value: Mapping[str, Any], *, is_numbered: bool) -> str:
    """Say where a reply contradicts itself; which half of it is meant can't be known."""
    faults = sorted({name for names in (reading.faults or {}).values() for name in names})
    if reading.values.get("faithfulness") == 2 and faults:
        return f"faithfulness is 2, but {', '.join(faults)} is listed as not following from the documents"
    has_all = reading.values.get("context_relevance") == 2
    if has_all and is_numbered and isinstance(value.get("evidence"), list) and not reading.evidence:
        return "context_relevance is 2, but evidence names no sentence of a document"
    if has_all and reading.missing and reading.missing.strip(" .").casefold() not in _NOTHING:
        return "context_relevance is 2, but something is said to be missing"
    return ""


_NOTHING = frozenset({"none", "nothing", "n/a", "na", "-", "null", "nothing is missing"})
