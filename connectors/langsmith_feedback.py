"""Shape annotations as LangSmith feedback, and read feedback back as user reports and as our own annotations.

Where the parts of an annotation ride: `score` is the feedback's score, `explanation` its comment, `label` and the
structured diff its `value` (an object, never a list, which broke reading), provenance the source's metadata. Names
without a score (`LABEL_ONLY`) carry the bare label as value instead, so that LangSmith counts and offers it as a
category; their details go to the source's metadata.
"""

import math
import uuid
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from connectors.fitting import TRUNCATED_FLAG, cleaned, fitted, json_size
from connectors.ordering import moment
from enricher.trace import ReportFilter, UserReport
from enricher.verdict import Annotation

PRODUCT = "trace-enricher"  # marks our feedback, which is never taken for a user's report
LABEL_ONLY = ("failing_half", "needs_review")
GRADES = ("context_relevance", "groundedness", "answer_relevance")  # scored 0, 1, 2
KEY_CHARACTERS = 180
COMMENT_BYTES = 4_000
_IDS = uuid.UUID("6f1c0f3e-52f5-5a51-9f0c-1d8b0c3e7a42")
_PEOPLES_SOURCES = ("app", "api")  # LangSmith's pages, and applications on behalf of their users
_SCORE_DIGITS = 4  # LangSmith rejects more


def feedback_id(annotation: Annotation) -> str:
    """Return the id under which this annotation is stored, the same at every repeat."""
    return str(uuid.uuid5(_IDS, annotation.key))


def why_unwritable(annotation: Annotation) -> str | None:
    """Return why this annotation can never be written as it is, None when it can."""
    if not 0 < len(annotation.name) <= KEY_CHARACTERS:
        return (
            f"a feedback key has 1 to {KEY_CHARACTERS} characters; '{annotation.name[:40]}' has {len(annotation.name)}"
        )
    if annotation.score is not None and not math.isfinite(annotation.score):
        return f"the score {annotation.score} is not a finite number"
    return None


def body(
    annotation: Annotation, *, project_id: str | None, extend_trace_retention: bool, max_bytes: int, now: datetime
) -> dict[str, Any]:
    """Return what is posted for one annotation; fields without a value are left out, a score of 0 is a value."""
    value, details = _value(annotation, max_bytes)
    fields: dict[str, Any] = {
        "id": feedback_id(annotation),
        "run_id": annotation.span_id,
        "trace_id": annotation.trace_id,
        "session_id": project_id,
        # The time belongs to the run; ours is the trace's, so it is only sent along with the root run.
        "start_time": annotation.locator.get("start_time") if annotation.span_id == annotation.trace_id else None,
        "key": annotation.name,
        "score": _score(annotation.score),
        "value": value,
        "comment": fitted(cleaned(annotation.explanation), COMMENT_BYTES)[0] or None,
        "feedback_source": {
            "type": "model" if annotation.annotator_kind == "LLM" else "api",
            "metadata": {"product": PRODUCT, "identifier": annotation.identifier, **details},
        },
        "created_at": now.isoformat(),
        "modified_at": now.isoformat(),
        "extend_trace_retention": extend_trace_retention,
    }
    return {name: part for name, part in fields.items() if part is not None}


def edit(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return what changes an existing feedback to the given one: the editable parts, absent ones cleared."""
    return {name: fields.get(name) for name in ("score", "value", "comment")}


def is_ours(feedback: Mapping[str, Any]) -> bool:
    """Tell whether a feedback was written by this product."""
    return _source_metadata(feedback).get("product") == PRODUCT


def holds(feedback: Mapping[str, Any], annotation: Annotation) -> bool:
    """Tell whether a feedback that was read back has the annotation's label and score."""
    score, wanted = feedback.get("score"), _score(annotation.score)
    same_score = score is None if wanted is None else score is not None and math.isclose(score, wanted, abs_tol=1e-4)
    return same_score and label_of(feedback) == cleaned(annotation.label)


def label_of(feedback: Mapping[str, Any]) -> str | None:
    """Return the label of a feedback: its value, or the label inside a value that is an object."""
    value = feedback.get("value")
    if isinstance(value, Mapping):
        value = value.get("label")
    return None if value is None else str(value)


def report_from(feedback: Mapping[str, Any]) -> UserReport:
    """Convert a feedback to what a person said."""
    source = feedback.get("feedback_source") or {}
    score = feedback.get("score")
    author = source.get("user_name") or _source_metadata(feedback).get("user") or source.get("user_id")
    return UserReport(
        name=str(feedback["key"]),
        label=label_of(feedback),
        score=None if score is None else float(score),  # 0 is a score
        comment=feedback.get("comment"),
        author=str(author) if author else None,
        reported_at=moment(feedback.get("modified_at") or feedback.get("created_at")),
    )


def correction_of(feedback: Mapping[str, Any]) -> UserReport | None:
    """Return what a person put in the place of a feedback, whoever gave it: LangSmith keeps it as its `correction`.

    A correction is an object with the parts that are others, or just the value. Who gave it is not kept.
    """
    given = feedback.get("correction")
    parts = given if isinstance(given, Mapping) else {"value": given}
    score = parts.get("score")
    said = UserReport(
        name=str(feedback["key"]),
        label=label_of(parts) or (str(parts["label"]) if parts.get("label") is not None else None),
        score=float(score) if isinstance(score, int | float) else None,
        comment=str(parts["comment"]) if parts.get("comment") is not None else None,
        reported_at=moment(feedback.get("modified_at") or feedback.get("created_at")),
    )
    return None if said.label is None and said.score is None else said


def counts_as_report(feedback: Mapping[str, Any], wanted: Iterable[ReportFilter]) -> bool:
    """Tell whether a feedback is a user's report on a run that meets one of the filters; ours never is."""
    if is_ours(feedback) or feedback.get("run_id") is None:
        return False
    return any(_meets(feedback, one) for one in wanted)


def config_for(name: str, labels: Iterable[str]) -> dict[str, Any]:
    """Return the feedback config under which LangSmith's pages show a name."""
    if name.endswith(LABEL_ONLY):
        categories = [{"value": place, "label": label} for place, label in enumerate(labels)]
        return {"type": "categorical", "categories": categories} if categories else {"type": "freeform"}
    return {"type": "continuous", "min": 0, "max": 2 if name.endswith(GRADES) else 1}


def _meets(feedback: Mapping[str, Any], wanted: ReportFilter) -> bool:
    if wanted == ReportFilter():  # without a condition: what people said, not what evaluators did
        return (feedback.get("feedback_source") or {}).get("type") in _PEOPLES_SOURCES
    score = feedback.get("score")
    return (
        (wanted.name is None or feedback.get("key") == wanted.name)
        and (not wanted.labels or label_of(feedback) in wanted.labels)
        and (wanted.max_score is None or (score is not None and float(score) <= wanted.max_score))
    )


def _score(score: float | None) -> float | None:
    return None if score is None else round(float(score), _SCORE_DIGITS)


def _value(annotation: Annotation, max_bytes: int) -> tuple[Any, dict[str, Any]]:
    metadata: dict[str, Any] = cleaned(annotation.metadata)
    label = cleaned(annotation.label)
    if annotation.document_position is not None:
        metadata["document_position"] = annotation.document_position
    if annotation.name.endswith(LABEL_ONLY):
        return label, _cut(metadata, max_bytes)
    details = {"judge": metadata.pop("judge")} if "judge" in metadata else {}
    value = {**({} if label is None else {"label": label}), **metadata}
    return _cut(value, max_bytes) or None, details


def _cut(value: dict[str, Any], max_bytes: int) -> dict[str, Any]:
    if json_size(value) <= max_bytes:
        return value
    flags = value.pop("flags", None)
    flags = [*(flags if isinstance(flags, list) else ()), TRUNCATED_FLAG]
    return {**fitted(value, max_bytes - json_size(flags) - len(',"flags":'))[0], "flags": flags}


def _source_metadata(feedback: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata = (feedback.get("feedback_source") or {}).get("metadata") or {}
    return metadata if isinstance(metadata, Mapping) else {}
