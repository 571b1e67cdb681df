"""Find retrieved texts in decoded payloads of any shape: documents, nodes, hits, rows, plain strings."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from enricher.steps.extraction.messages import message_of
from enricher.steps.extraction.payloads import decode, is_redacted

_TEXT_KEYS = (
    "page_content", "pageContent", "content", "text", "document_content", "chunk_text", "chunk", "passage", "body",
    "snippet", "document", "excerpt", "long_text",
)  # fmt: skip
_ID_KEYS = ("id", "_id", "id_", "document_id", "doc_id", "node_id", "chunk_id", "file_id", "uuid", "key")
_META_ID_KEYS = ("id", "_id", "document_id", "doc_id", "chunk_id", "node_id")
_SCORE_KEYS = ("score", "_score", "relevance_score", "relevanceScore", "similarity", "@search.score")
_INNER = ("node", "_source", "kwargs", "document", "doc", "payload", "metadata", "fields", "properties", "entity",
          "chunk", "content", "object", "data")  # fmt: skip
# Where lists of documents usually sit, best first.
_LIST_KEYS = (
    "documents", "docs", "source_documents", "retrieved_documents", "source_nodes", "nodes", "matches", "hits",
    "chunks", "passages", "context", "contexts", "artifact", "raw_output", "search_results", "results", "records",
    "sources", "items", "points", "objects", "value", "structuredContent", "structured_content", "response",
    "tool_response", "output", "outputs", "result", "data", "content", "update", "kwargs", "blocks",
)  # fmt: skip
# "<NodeWithScore(node=TextNode(id_=a, ...": the repr cuts the text, but the id is whole. Haystack: "Document(id=a, ".
_REPR_ID = re.compile(r"\W?\w*(?:Node|Document)\w*\((?:node=\w+\()?(?:id_?|node_id)='?([^,')]+)'?")
# What says where a document comes from. Any other scalar beside the text makes the payload a record, whose facts are
# spread over all of its fields.
_ABOUT = (
    "type", "title", "name", "source", "url", "uri", "link", "href", "filename", "file", "file_name", "path", "doc",
    "section", "page", "page_number", "metadata", "meta", "lang", "language", "date", "rank", "index", "position",
    "distance", "class_name", "mimetype", "kind", "category", "domain", "collection", "attributes", "version", "start",
    "end", "start_index", "end_index", "status", "lc", "highlights", "tokens", "published_date", "author", "index_name",
)  # fmt: skip
_KNOWN_KEYS = frozenset(_ABOUT).union(_TEXT_KEYS, _ID_KEYS, _SCORE_KEYS, _INNER)
_SCALAR = (str, int, float)
_DEPTH = 7
_ANY_INNER = frozenset(_INNER)


@dataclass(frozen=True, slots=True)
class Passage:
    """One retrieved text as a payload shows it; `text` is None where only the id is there."""

    text: str | None
    id: str | None = None
    score: float | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    is_record: bool = False  # its facts are not in the text alone


def passages_in(payload: Any, depth: int = _DEPTH) -> list[Passage] | None:
    """Return the documents a payload holds: an empty list when it says there are none, None when it isn't about any."""
    if isinstance(payload, str):
        decoded = decode(payload)
        return None if decoded is payload or isinstance(decoded, str) else passages_in(decoded, depth)
    if depth == 0 or not isinstance(payload, list | dict):
        return None
    if isinstance(payload, list):
        return _in_list(payload, depth)
    if columns := _columns(payload):
        return columns
    emptied: list[Passage] | None = None
    for key in _LIST_KEYS:
        value = payload.get(key)
        if isinstance(value, list | dict) or (isinstance(value, str) and value[:1] in "[{"):
            found = passages_in(value, depth - 1)
            if found:
                return found
            emptied = found if emptied is None else emptied
    if emptied is not None:
        return emptied
    single = passage_of(payload)
    return [single] if single and single.text is not None else None


def texts_in(payload: Any) -> list[Passage] | None:
    """Like `passages_in`, but a list of bare strings counts as documents too."""
    value = decode(payload)
    for _ in range(3):
        if isinstance(value, dict) and len(value) == 1:
            value = decode(next(iter(value.values())))
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        reprs = [_from_string(item) for item in value]
        return [p or Passage(item) for p, item in zip(reprs, value, strict=True)]
    return passages_in(value)


def passage_of(raw: Any) -> Passage | None:
    """Read one document; None when the payload is not one (chat messages have content too, but are none)."""
    if isinstance(raw, str):
        return _from_string(raw)
    if not isinstance(raw, dict) or ("role" in raw and "content" in raw):
        return None
    if message_of(raw) and not isinstance(raw.get("page_content"), str):
        return None
    metadata = _metadata(raw)
    text = _text(raw)
    identity = _first(raw, _ID_KEYS)
    score = _score(raw)
    is_plain = bool(metadata) or _KNOWN_KEYS.issuperset(raw)
    is_record = not is_plain and any(
        k not in _KNOWN_KEYS and isinstance(v, _SCALAR) and v != "" for k, v in raw.items()
    )
    for key in () if _ANY_INNER.isdisjoint(raw) else _INNER:
        inner = decode(raw[key]) if key in raw else None
        if isinstance(inner, dict) and (key != "metadata" or text is None):
            found = passage_of(inner)
            if found and text is None and found.text is not None:
                text = found.text
                identity = identity if identity is not None else found.id
                metadata = {**found.metadata, **metadata}
                score = score if score is not None else found.score
                is_record = is_record or found.is_record
    if identity is None:
        identity = _first(metadata, _META_ID_KEYS)
    if text is None and identity is None:
        return None
    return Passage(text, identity, score, metadata, is_record)


def _in_list(items: Sequence[Any], depth: int) -> list[Passage] | None:
    if not items:
        return []
    if all(isinstance(item, list) for item in items):
        nested = [passages_in(item, depth - 1) for item in items]
        joined = [p for found in nested if found for p in found]
        return joined if joined or all(found is not None for found in nested) else None
    found = [p for p in map(passage_of, items) if p]
    if found and any(p.text is not None for p in found):
        return found
    for item in items:  # a message or a wrapper that holds the documents deeper down
        if isinstance(item, dict | list) and (inner := passages_in(item, depth - 1)):
            return inner
    return found or None


def _from_string(text: str) -> Passage | None:
    decoded = decode(text)
    if isinstance(decoded, dict):
        return passage_of(decoded)
    match = _REPR_ID.match(text)
    return Passage(None, match.group(1)) if match else None


def _columns(payload: Mapping[str, Any]) -> list[Passage] | None:
    """Read Chroma's answer: parallel lists of ids and documents, one a query."""
    texts, ids = payload.get("documents"), payload.get("ids")
    if not isinstance(texts, list) or not isinstance(ids, list) or len(texts) != len(ids):
        return None
    pairs = list(_flat_pairs(texts, ids))
    return [Passage(text, str(identity)) for text, identity in pairs if isinstance(text, str)] or None


def _flat_pairs(texts: Sequence[Any], ids: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    for text, identity in zip(texts, ids, strict=False):
        if isinstance(text, list) and isinstance(identity, list):
            yield from zip(text, identity, strict=False)
        else:
            yield text, identity


def _text(raw: Mapping[str, Any]) -> str | None:
    for key in filter(raw.__contains__, _TEXT_KEYS):
        value = raw[key]
        if isinstance(value, str):
            return value
        if isinstance(value, list) and value and all(isinstance(v, dict) and "text" in v for v in value):
            return "\n".join(str(v["text"]) for v in value)
    # A document that was recorded without its text is still one, and blank.
    return "" if "page_content" in raw else None


def _metadata(raw: Mapping[str, Any]) -> dict[str, Any]:
    for key in ("metadata", "meta", "cmetadata"):
        if key in raw and isinstance(value := decode(raw[key]), dict):
            return value
    return {}


def _first(raw: Mapping[str, Any], keys: Sequence[str]) -> str | None:
    for key in keys:
        value = raw.get(key)
        if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
            return str(value)
    return None


def _score(raw: Mapping[str, Any]) -> float | None:
    for key in filter(raw.__contains__, _SCORE_KEYS):
        value = raw[key]
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
    return None


def without_redacted(found: list[Passage]) -> list[Passage]:
    """Blank texts that the producer hid: a mark is not content."""
    return [replace(p, text=None) if is_redacted(p.text) else p for p in found]
