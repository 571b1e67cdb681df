"""Explicit paths from the configuration, for home-made trace shapes; each given one overrides the rules."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from enricher.steps.extraction.messages import as_text
from enricher.steps.extraction.payloads import decode
from enricher.steps.extraction.reading import Node
from enricher.trace import Document, Item, Span


@dataclass(frozen=True, kw_only=True, slots=True)
class ExtractionPaths:
    """Where the parts of a home-made shape stand.

    A path starts with `inputs` or `outputs` (a span's decoded input or output on any platform) or with an attribute
    key, and goes on with dict keys and list indexes; `[]` takes every element: `outputs.hits.hits[]._source.text`.
    `document_text` and `document_id` are relative to one element of `documents`.
    """

    question: str | None = None
    answer: str | None = None
    documents: str | None = None
    document_text: str | None = None
    document_id: str | None = None
    documents_span: str | None = None  # name of the span that holds the documents; * and ? are wildcards

    def is_empty(self) -> bool:
        """Tell whether no path is given."""
        return self == ExtractionPaths()


def overridden(item: Item, nodes: Sequence[Node], paths: ExtractionPaths) -> tuple[Item, list[tuple[str, Node, str]]]:
    """Return the item with the parts that the paths find, and where they were found; the others stay as they are."""
    places: list[tuple[str, Node, str]] = []
    if paths.question and (hit := _first_text(nodes, paths.question)):
        item = replace(item, question=hit[0], question_span_id=hit[1].span.span_id)
        places.append(("question", hit[1], paths.question))
    if paths.answer and (hit := _first_text(nodes, paths.answer)):
        item = replace(item, answer=hit[0], answer_span_id=hit[1].span.span_id)
        places.append(("answer", hit[1], paths.answer))
    if paths.documents:
        pattern = paths.documents_span
        holders = [node for node in nodes if pattern is None or fnmatchcase(node.span.name, pattern)]
        found = [(document, node) for node in holders for document in _documents(node, paths)]
        if found:
            numbered = [
                replace(d, id=d.id or f"d{n}", citation_numbers=(n,)) for n, (d, _) in enumerate(found, start=1)
            ]
            item = replace(item, documents=tuple(numbered))
            places += [("documents", node, paths.documents) for node in {id(n): n for _, n in found}.values()]
    return item, places


def _first_text(nodes: Sequence[Node], path: str) -> tuple[str, Node] | None:
    for node in nodes:
        for value in _values(node, path):
            if value is not None and (text := as_text(value).strip()):
                return text, node
    return None


def _documents(node: Node, paths: ExtractionPaths) -> Iterator[Document]:
    """Read the documents of one span; the last `[]` of the path marks what one document is."""
    whole = paths.documents or ""
    head, mark, tail = whole.rpartition("[]")
    elements = list(_values(node, head + mark if mark else whole))
    if not mark:
        elements = [item for value in elements for item in (value if isinstance(value, list) else [value])]
    text_path = paths.document_text or tail.lstrip(".")
    for position, element in enumerate(elements):
        text = next(iter(_walk(element, _steps(text_path))), None) if text_path else element
        identity = next(iter(_walk(element, _steps(paths.document_id))), None) if paths.document_id else None
        yield Document(
            id="" if identity is None else str(identity),
            text="" if text is None else as_text(text),
            span_id=node.span.span_id,
            position=position,
        )


def _values(node: Node, path: str) -> Iterator[Any]:
    """Yield what a path finds on a span."""
    side, _, rest = path.partition(".")
    name = side.removesuffix("[]")
    if name in ("inputs", "outputs"):
        native = node.span.inputs if name == "inputs" else node.span.outputs
        found = node.input if name == "inputs" else node.output
        start = native if native is not None else (found.value if found else None)
        yield from _walk(start, _steps(side[len(name) :] + "." + rest))
        return
    key = _attribute(node.span, path)
    if key is not None:
        yield from _walk(decode(node.span.attributes[key], quoted=True), _steps(path[len(key) :]))


def _attribute(span: Span, path: str) -> str | None:
    """Return the longest attribute key that the path starts with; keys have dots of their own."""
    fitting = [key for key in span.attributes if path == key or path.startswith((key + ".", key + "["))]
    return max(fitting, key=len, default=None)


def _steps(path: str) -> list[str]:
    return [step for step in path.replace("[]", ".[].").split(".") if step]


def _walk(value: Any, steps: Sequence[str]) -> Iterator[Any]:
    value = decode(value)
    if not steps:
        if value is not None:
            yield value
        return
    step, rest = steps[0], steps[1:]
    if step == "[]":
        for item in value if isinstance(value, list) else ():
            yield from _walk(item, rest)
    elif isinstance(value, dict) and step in value:
        yield from _walk(value[step], rest)
    elif isinstance(value, list) and step.isdigit() and int(step) < len(value):
        yield from _walk(value[int(step)], rest)
