"""Read foreign payloads: JSON or Python literals inside strings, and what counts as text that a person wrote."""

import ast
import json
import re
import unicodedata
from collections.abc import Iterator
from typing import Any, NamedTuple

_LITERAL_LIMIT = 100_000  # characters; Python literals are rare, and parsing a large text as one is slow
_REDACTED = re.compile(r"[\W_]*(?:redacted|masked|hidden|content[ _]removed)[\W_]*|\*{3,}", re.I)
# What str() makes of objects: "<generator object ...>", "StopEvent(result=...)", "Document(id=..." and the like.
_REPR = re.compile(r"<[\w.]+(?: object\b| at 0x|\()[^\n]*>?|<class '[\w.]+'>|[A-Z]\w*\(\w+=")
_JSON_STARTS = ('{"', '{ "', "{\n", "[{", '["', "[[")
_NOTHING = frozenset({"", "completed.", "none", "null", "undefined", "nan", "[]", "{}", '""', "''"})
_LONGEST_NOTHING = max(map(len, _NOTHING))


class Found(NamedTuple):
    """A value and where it was read: an attribute key, or key and path such as `output.value#/answer`."""

    value: Any
    field: str


def decode(raw: Any, *, quoted: bool = False) -> Any:
    """Return what a string encodes as JSON or as a Python literal; any other value comes back as it is.

    With `quoted`, a JSON string in quotation marks is decoded too; without, the marks may be the writer's own.
    """
    if not isinstance(raw, str):
        return raw
    start = raw.lstrip()[:1]
    if start not in ('{"[' if quoted else "{[") or not start:
        return raw
    try:
        return json.loads(raw)
    except ValueError:
        return _literal(raw) if start in "{[" else raw


def _literal(raw: str) -> Any:
    if len(raw) > _LITERAL_LIMIT or raw.rstrip()[-1] not in "]}":
        return raw
    try:
        return _value_of(ast.parse(raw.strip(), mode="eval").body)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return raw


def _value_of(node: ast.expr) -> Any:
    """Evaluate a literal; `Document(id='x', page_content='y')` becomes a dict of its keyword arguments."""
    if isinstance(node, ast.Call) and not node.args:
        return {keyword.arg: _value_of(keyword.value) for keyword in node.keywords if keyword.arg}
    if isinstance(node, ast.List | ast.Tuple):
        return [_value_of(item) for item in node.elts]
    if isinstance(node, ast.Dict):
        return {_value_of(key): _value_of(value) for key, value in zip(node.keys, node.values, strict=True) if key}
    return ast.literal_eval(node)


def as_list(value: Any) -> list[Any]:
    """Return a decoded list as it is, and anything else as an empty one."""
    return value if isinstance(value, list) else []


def is_broken_json(text: str) -> bool:
    """Tell whether a text is JSON that breaks off."""
    if not text.startswith(_JSON_STARTS) or text.rstrip()[-1:] in "]}":
        return False
    try:
        json.loads(text)
    except ValueError:
        return True
    return False


def is_redacted(value: Any) -> bool:
    """Tell whether a value is only a marker that the producer hid the real one."""
    return isinstance(value, str) and len(value) < 40 and _REDACTED.fullmatch(value) is not None


def plain_text(value: Any) -> str | None:
    """Return text that a person or a model wrote, stripped; None for blanks, object reprs and redaction marks."""
    if not isinstance(value, str):
        return None
    text = value.strip()
    is_nothing = len(text) <= _LONGEST_NOTHING and text.lower() in _NOTHING
    if is_nothing or is_redacted(text) or _REPR.match(text):
        return None
    return text


def folded(text: str) -> str:
    """Fold a text for comparison: compatibility forms and runs of white space don't count."""
    if text.isascii():
        if text.isprintable() and "  " not in text:  # nothing but single blanks: nearly every text
            return text.strip(" ")
    else:
        text = unicodedata.normalize("NFKC", text).replace("\u200b", "")
    return " ".join(text.split())


def strings_in(value: Any, depth: int = 6) -> Iterator[str]:
    """Yield every string inside a decoded payload."""
    if isinstance(value, str):
        yield value
    elif depth and isinstance(value, dict):
        for item in value.values():
            yield from strings_in(item, depth - 1)
    elif depth and isinstance(value, list | tuple):
        for item in value:
            yield from strings_in(item, depth - 1)


def numbered(attributes: dict[str, Any], prefix: str) -> list[dict[str, Any]]:
    """Collect `prefix.N.rest` keys into one dict an index, in numeric order (10 comes after 2)."""
    start = prefix + "."
    groups: dict[int, dict[str, Any]] = {}
    for key, value in attributes.items():
        if key.startswith(start):
            index, _, rest = key[len(start) :].partition(".")
            if index.isdigit():
                groups.setdefault(int(index), {})[rest] = value
    return [groups[index] for index in sorted(groups)]
