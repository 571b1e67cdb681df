"""Read the spans that carry documents: retrievers, rerankers, tools, and functions that return documents."""

import html
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from enricher.lazy import lazy
from enricher.steps.extraction.messages import as_text, message_of
from enricher.steps.extraction.passages import Passage, passages_in, texts_in
from enricher.steps.extraction.payloads import decode, folded, plain_text
from enricher.steps.extraction.prompts import pieces
from enricher.steps.extraction.reading import Node
from enricher.steps.extraction.trees import Scope
from enricher.trace import SpanKind

_LISTING = ("[", '{"documents', '{"docs', '{"nodes', '{"context', '{"output', '{"question', '{"query')
_CUT = 200  # characters of a text that must be in a prompt for the text to count as given
_SENTENCE = 20  # shorter strings in a bare list are labels or search words


@dataclass(frozen=True)
class Piece:
    """A passage and where it was read."""

    passage: Passage
    node: Node
    field: str
    position: int | None = None  # index in the span's own list of documents

    @lazy
    def key(self) -> str:
        """Return the text as it is compared."""
        return folded(self.passage.text or "")

    @property
    def has_text(self) -> bool:
        """Tell whether anything is left of the text as it is compared."""
        text = self.passage.text or ""
        return bool(text.strip() if text.isascii() else self.key)


@dataclass(frozen=True, slots=True)
class Yield:
    """What one kind of source gave; `problem` is the reason code when it gave nothing."""

    pieces: tuple[Piece, ...] = ()
    problem: str | None = None
    listed_ids: tuple[str, ...] = ()  # ids of documents that were recorded without their text

    @property
    def has_text(self) -> bool:
        """Tell whether there is anything to read."""
        return any(piece.has_text for piece in self.pieces)


def from_retrievers(scope: Scope) -> Yield:
    """Take rerankers' outputs, else retrievers' documents, cut down to what later filters let through."""
    rerankers = [n for n in scope.of_kind(SpanKind.RERANKER) if n.passages and n.passages.value]
    retrievers = scope.of_kind(SpanKind.RETRIEVER)
    outer = [n for n in retrievers if not any(a.kind is SpanKind.RETRIEVER for a in n.ancestors())]
    given = [_effective(node) for node in outer]
    found = [piece for pieces_ in given for piece in pieces_ or ()]
    if rerankers:
        found = _reranked(rerankers, found)
    elif found:
        found, is_emptied = _filtered(found, scope, retrievers)
        if is_emptied:
            return Yield(problem="empty_retrieval")
    ids = tuple(p.passage.id for p in found if p.passage.id) if not any(p.has_text for p in found) else ()
    if found:
        return Yield(tuple(found), listed_ids=ids)
    if not outer:
        return Yield()
    if all(node.has_failed for node in outer):
        return Yield(problem="retrieval_error")
    is_said = any(pieces_ is not None for pieces_ in given)
    return Yield(problem="empty_retrieval" if is_said else "unsaid")


def _effective(node: Node) -> list[Piece] | None:
    """Return a retriever's documents, each ascribed to the innermost span that holds the same text.

    An outer retriever that merges, filters or compresses what inner ones found decides what is left. None: unsaid.
    """
    inner_nodes = _nearest(node)
    inner = [piece for child in inner_nodes for piece in _effective(child) or ()]
    if node.passages is None or node.has_failed:
        is_said = any(_effective(child) is not None for child in inner_nodes)
        return inner if is_said else None
    own = [Piece(p, node, node.passages.field, index) for index, p in enumerate(node.passages.value)]
    if not inner:
        return own
    if own and not any(piece.has_text for piece in own):
        return inner
    held = Counter(id(piece.node) for piece in inner)
    by_key = {piece.key: piece for piece in sorted(inner, key=lambda p: held[id(p.node)]) if piece.key}
    return [by_key.get(piece.key, piece) for piece in own]


def _nearest(node: Node) -> list[Node]:
    found: list[Node] = []
    for child in node.children:
        found += [child] if child.kind is SpanKind.RETRIEVER else _nearest(child)
    return found


def _reranked(rerankers: Sequence[Node], retrieved: Sequence[Piece]) -> list[Piece]:
    """Return the rerankers' outputs; texts that they don't repeat come from the retrievers, by id."""
    last = [n for n in rerankers if not any(n in other.ancestors() for other in rerankers)]
    by_id = {piece.passage.id: piece for piece in retrieved if piece.passage.id and piece.key}
    found = []
    for node in last:
        listed: list[Passage] = node.passages.value if node.passages else []
        for index, passage in enumerate(listed):
            own = Piece(passage, node, node.passages.field if node.passages else "", index)
            found.append(own if own.key or not passage.id else by_id.get(passage.id, own))
    return found


def _filtered(found: list[Piece], scope: Scope, retrievers: Sequence[Node]) -> tuple[list[Piece], bool]:
    """Follow filters, joiners and graders after the last retrieval: steps that make a list of documents of a list."""
    last_end = max(node.ended for node in retrievers)[0]
    later = [n for n in scope.nodes if n.kind in (SpanKind.CHAIN, SpanKind.UNKNOWN) and n.started[0] >= last_end]
    is_emptied = False
    if not later:
        return found, is_emptied
    held = Counter(id(piece.node) for piece in found)
    by_id = {p.passage.id: p for p in sorted(found, key=lambda p: held[id(p.node)]) if p.passage.id}
    for node in filter(_lists, later):
        taken = passages_in(node.input.value) if node.input else None
        left = passages_in(node.output.value) if node.output else None
        if not taken or left is None or not all(p.id in by_id for p in taken if p.id):
            continue
        if not left:
            is_emptied = any(p.id for p in taken)
        elif all(p.id in by_id for p in left):
            is_emptied = False
            found = [by_id[p.id] for p in left if p.id]
    return found, is_emptied


def _lists(node: Node) -> bool:
    """Tell cheaply whether input and output can be lists of documents, before anything is decoded."""
    raw = [node.span.attributes.get(f.field) if f else None for f in (node.input, node.output)]
    return all(not isinstance(text, str) or text.startswith(_LISTING) for text in raw)


def from_tools(scope: Scope, known: Iterable[Piece] = ()) -> Yield:
    """Take what tools returned, unless a retriever inside the tool has said it already."""
    tools = [n for n in scope.of_kind(SpanKind.TOOL) if n.is_evidence_tool and not _has_inner_source(n)]
    if not tools:
        return Yield()
    keys = [piece.key for piece in known if piece.key]
    found: list[Piece] = []
    is_empty = False
    for node in tools:
        passages = tool_passages(node.output.value) if node.output and not node.has_failed else None
        if passages is None or node.output is None:
            continue
        is_empty = is_empty or not passages
        fresh = [p for p in passages if not _is_known(folded(p.text or ""), keys)]
        found += [Piece(p, node, node.output.field, index) for index, p in enumerate(fresh)]
    if found:
        return Yield(tuple(found))
    if all(node.has_failed for node in tools):
        return Yield(problem="tool_error")
    return Yield(problem="empty_retrieval" if is_empty else None)


def tool_passages(value: object) -> list[Passage] | None:
    """Read a tool's result: documents where it lists some, else all of it as text; None where it holds no text."""
    message = message_of(value)
    if message and message.results:
        value = message.results[0]
    value = decode(value, quoted=True)
    found = texts_in(value)
    if found is not None and not any(p.is_record for p in found) and (not found or any(p.text for p in found)):
        inner = decode(found[0].text) if len(found) == 1 else None  # a list that was written out as text
        return (texts_in(inner) if isinstance(inner, list | dict) else None) or found
    if isinstance(value, str):
        return pieces(value) or None
    has_text = any(plain_text(text) for text in _strings(value)) or not any(True for _ in _strings(value))
    text = plain_text(as_text(value)) if has_text else None
    return [Passage(text)] if text else None


def _has_inner_source(node: Node) -> bool:
    inner = (n for child in node.children for n in child.subtree())
    return any((n.is_retriever and n.passages and n.passages.value) or n.is_evidence_tool for n in inner)


def _is_known(key: str, keys: Sequence[str]) -> bool:
    return not key or any(key in other or other in key for other in keys)


def from_producers(scope: Scope, prompts: Sequence[Node]) -> Yield:
    """Take the documents of plain functions and graph nodes: steps that return documents they were not given."""
    found: list[Piece] = []
    for node in scope.nodes:
        if node.kind not in (SpanKind.CHAIN, SpanKind.UNKNOWN, SpanKind.AGENT) or node.output is None:
            continue
        if node is scope.root and found:
            continue
        listed = [p for p in texts_in(node.output.value) or () if p.text and _is_document(p, node, prompts)]
        made = [Piece(p, node, node.output.field, index) for index, p in enumerate(listed)]
        keys = {piece.key for piece in made}
        # The innermost step that returns a text is the one that fetched it.
        found = [p for p in found if not (p.key in keys and p.node in node.ancestors())] + [
            p for p in made if p.key not in {other.key for other in found if other.node not in node.ancestors()}
        ]
    return Yield(tuple(found))


def _is_document(passage: Passage, node: Node, prompts: Sequence[Node]) -> bool:
    text = passage.text or ""
    given = [folded(text) for text in _strings(node.input.value)] if node.input else []
    key = folded(text)
    if any(key in other for other in given):
        return False
    if any(model.has_prompt for model in prompts):
        return len(text) >= _SENTENCE and reaches(key, text, prompts)
    return bool(passage.id or passage.metadata)


def _strings(value: object) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _strings(item)


def reaches(key: str, text: str, prompts: Sequence[Node]) -> bool:
    """Tell whether a text was put into one of the prompts, whole or cut at its end."""
    if any(model.was_given(key) for model in prompts):
        return True
    if len(key) > _CUT and any(key[:_CUT] in model.prompt_folded for model in prompts):
        return True
    for escaped in (json.dumps(text, ensure_ascii=False)[1:-1], html.escape(text, quote=False)):
        if escaped != text and any(model.was_given(folded(escaped)) for model in prompts):
            return True
    return False


def widened(piece: Piece, prompts: Sequence[Node]) -> Piece:
    """Replace a sentence by the window around it where its metadata holds one and that is what the prompt got."""
    for value in piece.passage.metadata.values():
        is_wider = isinstance(value, str) and len(value) > len(piece.key) > 0 and piece.key in folded(value)
        if is_wider and reaches(folded(value), value, prompts):
            return replace(piece, passage=replace(piece.passage, text=value))
    return piece
