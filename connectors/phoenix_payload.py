"""Shape an annotation for Phoenix: refuse what it would garble, clean what it can't store, cut what is too long."""

import math
import re
from collections.abc import Iterable
from typing import Any

from connectors.fitting import TRUNCATED_FLAG, cleaned, fitted, json_size
from enricher.errors import SetupError
from enricher.verdict import Annotation

RESERVED_NAME = "note"  # Phoenix refuses the whole batch with 400
_SPAN_ID = re.compile(r"[0-9a-f]{16}")


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
