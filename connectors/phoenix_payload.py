"""Shape an annotation for Phoenix: refuse what it would garble, clean what it can't store, cut what is too long."""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from enricher.errors import SetupError
from enricher.verdict import Annotation

RESERVED_NAME = "note"  # Phoenix refuses the whole batch with 400
TRUNCATED_FLAG = "diff_truncated"
_SPAN_ID = re.compile(r"[0-9a-f]{16}")
_MARK = "…"
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def refuse_reserved(names: Iterable[str]) -> None:
    """Check annotation names before any work is paid for.

    Raises:
        SetupError: a name is one that Phoenix keeps for itself, or empty.
    """
    for name in names:
        if name == RESERVED_NAME:
            raise SetupError(f"Phoenix reserves the annotation name '{RESERVED_NAME}'; configure another one")
        if not name.strip():
            raise SetupError("an annotation needs a name")


def why_unwritable(annotation: Annotation) -> str | None:
    """Return why this annotation can never be written as it is, None when it can."""
    if not _SPAN_ID.fullmatch(annotation.span_id.lower()):
        return f"'{annotation.span_id}' is not a span id; Phoenix takes the 16 hexadecimal digits of OpenTelemetry"
    if annotation.score is not None and not math.isfinite(annotation.score):
        return f"the score {annotation.score} is not a finite number"  # Phoenix would store null without a word
    if annotation.name == RESERVED_NAME or not annotation.name.strip():
        return f"the name '{annotation.name}' is not allowed by Phoenix"
    if not annotation.identifier.strip():
        return "it has no identifier, so it could replace somebody else's annotation"
    return None


def payload(annotation: Annotation, *, max_bytes: int) -> dict[str, Any]:
    """Return the body of one annotation; label and score are always complete, explanation and metadata may be cut."""
    explanation, explanation_cut = fitted(cleaned(annotation.explanation), max_bytes)
    metadata, metadata_cut = _metadata(annotation, max_bytes)
    if explanation_cut or metadata_cut:
        flags = metadata.get("flags")
        metadata = {**metadata, "flags": [*(flags if isinstance(flags, list) else ()), TRUNCATED_FLAG]}
    result = {"label": cleaned(annotation.label), "score": annotation.score, "explanation": explanation or None}
    body: dict[str, Any] = {
        "span_id": annotation.span_id.lower(),
        "name": cleaned(annotation.name),
        "annotator_kind": annotation.annotator_kind,
        # An absent score must stay absent: null would still be fine, 0 would be a verdict.
        "result": {key: value for key, value in result.items() if value is not None},
        "metadata": metadata,
    }
    if annotation.document_position is None:
        body["identifier"] = cleaned(annotation.identifier)
    else:
        # Phoenix takes no identifier on annotations of documents; the metadata keeps who wrote it.
        body["document_position"] = annotation.document_position
        body["metadata"] = {**metadata, "identifier": cleaned(annotation.identifier)}
    return body


def _metadata(annotation: Annotation, max_bytes: int) -> tuple[dict[str, Any], bool]:
    metadata: dict[str, Any] = cleaned(annotation.metadata)
    if json_size(metadata) <= max_bytes:
        return metadata, False
    room_for_flag = max_bytes - len(f',"flags":["{TRUNCATED_FLAG}"]')
    return fitted(metadata, room_for_flag)[0], True


def cleaned(value: Any) -> Any:
    """Return the value with lone surrogates, NUL characters and non-finite numbers replaced, at any depth."""
    if isinstance(value, str):
        return _clean_text(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {_clean_text(str(key)): cleaned(item) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [cleaned(item) for item in value]
    return value


def _clean_text(text: str) -> str:
    # A lone surrogate makes Phoenix answer 500; PostgreSQL stores no NUL.
    if not text.isascii():
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.replace("\x00", _REPLACEMENT)


def json_size(value: Any) -> int:
    """Return the bytes of the value as JSON in UTF-8."""
    return len(json.dumps(value, ensure_ascii=False).encode())


def fitted(value: Any, max_bytes: int) -> tuple[Any, bool]:
    """Cut a JSON value to about `max_bytes` along its structure; tell whether something was cut.

    Strings lose their end, lists their last entries, objects keep every key with small values whole first.
    """
    if json_size(value) <= max_bytes:
        return value, False
    budget = max_bytes
    while json_size(shorter := _shrunk(value, budget)) > max_bytes and budget > 0:
        budget = budget * 9 // 10  # quoting took more than was allowed for
    return shorter, True


def _shrunk(value: Any, budget: int) -> Any:
    if json_size(value) <= budget:
        return value
    if isinstance(value, str):
        return _shrunk_text(value, budget)
    if isinstance(value, list):
        return _shrunk_list(value, budget)
    if isinstance(value, dict):
        return _shrunk_object(value, budget)
    return value


def _shrunk_text(text: str, budget: int) -> str:
    room = budget - 2 - len(_MARK.encode())
    kept = text.encode()[: max(0, room)].decode(errors="ignore")
    while kept and json_size(kept) - 2 > room:  # escapes are longer than what they stand for
        kept = kept[: len(kept) * 9 // 10]
    return kept + _MARK


def _shrunk_list(items: list[Any], budget: int) -> list[Any]:
    kept: list[Any] = []
    left = budget - 2
    for item in items:
        size = json_size(item) + 2
        if size > left:
            if not kept:
                kept.append(_shrunk(item, left))
            break
        kept.append(item)
        left -= size
    return kept


def _shrunk_object(entries: dict[str, Any], budget: int) -> dict[str, Any]:
    left = budget - 2
    kept: dict[str, Any] = {}
    by_size = sorted(entries, key=lambda key: json_size(entries[key]))
    for place, key in enumerate(by_size):
        share = left // (len(by_size) - place) - json_size(key) - 4
        if share <= 0:
            continue
        kept[key] = _shrunk(entries[key], share)
        left -= json_size(key) + json_size(kept[key]) + 4
    return {key: kept[key] for key in entries if key in kept}
