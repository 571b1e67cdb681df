"""Make what is written back fit for a platform: clean what none can store, cut along its structure what is too long."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

TRUNCATED_FLAG = "diff_truncated"
_MARK = "…"
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


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
