"""Find the texts that reached the answer, best source first, and the spans that hold them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from enricher.steps.extraction.passages import Passage, passages_in
from enricher.steps.extraction.payloads import folded
from enricher.steps.extraction.prompts import pieces, take_apart
from enricher.steps.extraction.reading import Node
from enricher.steps.extraction.sources import (
    Piece,
    from_producers,
    from_retrievers,
    from_tools,
    reaches,
    tool_passages,
    widened,
)
from enricher.steps.extraction.trees import Scope
from enricher.trace import SpanKind

_MANY = 8  # documents; a span that lists as many and not even its input has lost its oldest attributes
_LIMIT = 128  # OpenTelemetry's default number of attributes a span; the oldest are dropped silently
_NEAR = 8  # attributes by which Phoenix may change the number
_HEAD = 40  # characters by which a text is looked up in raw payloads


@dataclass
class Context:
    """The context of one question, and what was noticed on the way."""

    pieces: list[Piece] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)  # 1-based place of each piece in the list the model saw
    flags: list[str] = field(default_factory=list)
    problem: str | None = None  # reason code when there is no text


def context_of(scope: Scope) -> Context:
    """Collect the context of one question."""
    context = Context()
    writers = _writers(scope)
    prompts = _readable(writers)
    retrieved = from_retrievers(scope)
    tools = from_tools(scope, retrieved.pieces)
    found = [*retrieved.pieces, *tools.pieces]
    if tools.has_text:
        context.flags.append("context_from_tool")
    if not any(piece.has_text for piece in found):
        found = list(from_producers(scope, prompts).pieces) or found
    found = _reaching(found, prompts)
    stated = retrieved.problem if retrieved.problem != "unsaid" else None
    if not any(piece.has_text for piece in found) and stated is None:
        found = _fallback(scope, writers, context, tools.problem) or found
    found = _restored(found, prompts, scope, context)
    if retrieved.listed_ids:
        context.flags.append("docs_without_text")
    context.pieces = _gathered(_with_ids(found, scope, retrieved.listed_ids))
    context.numbers = _numbers(context.pieces, prompts)
    if not any(piece.has_text for piece in found):
        is_unsaid = retrieved.problem == "unsaid"
        context.problem = stated or context.problem or tools.problem or ("empty_retrieval" if is_unsaid else None)
        context.problem = context.problem or ("context_not_recorded" if found else "no_context")
    return context


def _writers(scope: Scope) -> list[Node]:
    """Return the model calls that wrote the answer: the final one, with its siblings under the same step.

    The step is the highest ancestor that holds no retriever and no tool; a refining or map-reduce synthesiser calls
    the model once a document.
    """
    final = scope.final_model or (scope.models[-1] if scope.models else None)
    if final is None:
        return []
    step = final
    for ancestor in final.ancestors():
        if any(n.is_retriever or n.kind is SpanKind.TOOL for n in ancestor.subtree()) or ancestor is scope.root:
            break
        step = ancestor
    below = set(map(id, step.subtree()))
    return [node for node in scope.nodes if id(node) in below and (node is final or node in scope.models)]


def _readable(writers: Sequence[Node]) -> list[Node]:
    """Return the calls whose prompts are known in full; of others it can't be said what they were not given."""
    known = [node for node in writers if node.has_prompt]
    is_partial = any(node.has_redaction or _has_lost_attributes(node) for node in known)
    return [] if is_partial else known


def _reaching(found: list[Piece], prompts: Sequence[Node]) -> list[Piece]:
    """Drop documents that were found but not given to the model; if none can be seen there, keep all."""
    if not prompts:
        return found
    found = [widened(piece, prompts) for piece in found]
    given = [not piece.has_text or _is_given(piece, prompts) for piece in found]
    if all(given):
        return found
    if not any(is_given and piece.has_text for piece, is_given in zip(found, given, strict=True)):
        return found
    return [piece for piece, is_given in zip(found, given, strict=True) if is_given]


def _is_given(piece: Piece, prompts: Sequence[Node]) -> bool:
    text = piece.passage.text or ""
    return any(model.quotes(text) for model in prompts) or reaches(piece.key, text, prompts)


def _fallback(scope: Scope, writers: Sequence[Node], context: Context, tool_problem: str | None) -> list[Piece]:
    """Look where no span of its own holds the context: tool messages, hosted search, the prompt itself."""
    if messages := _from_tool_messages(scope):
        context.flags.append("context_from_tool_message")
        return messages
    if tool_problem is not None:
        return []
    hosted, is_hosted = _from_hosted_search(scope)
    if is_hosted:
        context.flags.append("hosted_retrieval")
        context.problem = None if hosted else "context_not_recorded"
        return hosted
    prompted = _from_prompt(scope, writers)
    if prompted:
        context.flags.append("context_from_prompt")
    return prompted


def _from_tool_messages(scope: Scope) -> list[Piece]:
    final = scope.final_model or (scope.models[-1] if scope.models else None)
    messages = list(final.prompt) if final else []
    asked = max((index for index, m in enumerate(messages) if m.role == "user" and m.texts), default=-1)
    for part in (messages[asked + 1 :], messages):  # an answer may rest on what tools returned in earlier turns
        results = [r for m in part if not m.is_error for r in m.results]
        found = [p for r in results for p in tool_passages(r) or () if p.text]
        if found and final:
            return [Piece(p, final, "input messages", None) for p in found]
    return []


def _from_hosted_search(scope: Scope) -> tuple[list[Piece], bool]:
    """Read the provider's own search results; they are there only if the request asked for them."""
    found: list[Piece] = []
    is_hosted = False
    for node in scope.models:
        body: Any = node.output.value if node.output else None
        items = body.get("output", body.get("content")) if isinstance(body, dict) else body
        for item in items if isinstance(items, list) else ():
            kind = item.get("type") if isinstance(item, dict) else None
            if isinstance(kind, str) and kind.endswith(("_search_call", "_search_tool_result", "server_tool_use")):
                is_hosted = True
                listed = passages_in(item.get("results", item.get("content"))) or []
                found += [Piece(p, node, node.output.field if node.output else "") for p in listed if p.text]
    return found, is_hosted


def _from_prompt(scope: Scope, writers: Sequence[Node]) -> list[Piece]:
    """Cut the context out of the prompts that wrote the answer, or out of the variables that were put into them."""
    found: list[Piece] = []
    for node in writers:
        seen = {piece.key for piece in found}
        found += [piece for piece in _prompt_pieces(node) if piece.key not in seen]
    if found:
        return found
    holders = [node for node in scope.nodes if node.context is not None and node.kind is not SpanKind.RETRIEVER]
    return [piece for node in holders[-1:] for piece in _variable_pieces(node)]


def _prompt_pieces(node: Node) -> list[Piece]:
    if node.context is not None and (listed := _variable_pieces(node)):
        return listed
    # The last turn first: earlier ones hold earlier contexts, and a system message may hold only a template.
    ordered = sorted(enumerate(node.prompt), key=lambda pair: (pair[1].role != "user", -pair[0]))
    for _, message in ordered:
        section = take_apart(message.text).context if message.role in ("user", "system") else None
        if section and (found := pieces(section)):
            return [Piece(p, node, "input messages") for p in found]
    return []


def _variable_pieces(node: Node) -> list[Piece]:
    if node.context is None:
        return []
    value, name = node.context
    listed = pieces(value) if isinstance(value, str) else tool_passages(value)
    return [Piece(p, node, name) for p in listed or () if p.text]


def _restored(found: list[Piece], prompts: Sequence[Node], scope: Scope, context: Context) -> list[Piece]:
    """Put back, from the prompt, documents that the limit on attributes has dropped from a span; or flag the loss."""
    holders = {id(piece.node): piece.node for piece in found if piece.node.is_retriever}
    if not any(_may_have_lost(node) for node in holders.values()):
        return found
    prompted = _from_prompt(scope, prompts) if prompts else []
    by_key = {piece.key: piece for piece in reversed(found) if piece.key}
    restored = [by_key.get(piece.key, piece) for piece in prompted]
    kept = sum(piece.key in by_key for piece in prompted)
    if len(prompted) > len(by_key) and kept == len(by_key):
        context.flags.append("dropped_attributes")
        context.flags.append("context_from_prompt")
        return restored
    if any(_has_lost_attributes(node) or _is_near_limit(node) for node in holders.values()):
        context.flags += ["dropped_attributes", "context_truncated"]
    return found


def _may_have_lost(node: Node) -> bool:
    """Suspect a loss: Phoenix keeps no count of dropped attributes and closes the gaps in the numbering."""
    listed = len(node.passages.value) if node.passages else 0
    return _has_lost_attributes(node) or (listed >= _MANY and node.input is None)


def _is_near_limit(node: Node) -> bool:
    """Tell whether a span may have been at the limit: Phoenix moves some attributes and splits others."""
    return abs(len(node.span.attributes) - _LIMIT) <= _NEAR and node.input is None


def _has_lost_attributes(node: Node) -> bool:
    if node.span.dropped_attributes > 0:
        return True
    attributes = node.span.attributes
    if node.is_retriever and "retrieval.documents.0.document.content" not in attributes:
        starts = (key for key in attributes if key.startswith("retrieval.documents."))
        return any(key.split(".")[2].isdigit() for key in starts) and not any(
            key.startswith("retrieval.documents.0.") for key in attributes
        )
    return _LIMIT - 1 <= len(attributes) <= _LIMIT and node.input is None


def _with_ids(found: list[Piece], scope: Scope, listed_ids: Sequence[str]) -> list[Piece]:
    """Fill in ids that another span knows: by place where only ids were listed, else by the same text."""
    if listed_ids and len(listed_ids) == len(found) and not any(piece.passage.id for piece in found):
        named = zip(found, listed_ids, strict=True)
        return [replace(piece, passage=replace(piece.passage, id=name)) for piece, name in named]
    missing = [piece for piece in found if not piece.passage.id and piece.has_text]
    if not missing:
        return found
    known = _ids_by_text(scope, missing)
    return [
        replace(p, passage=replace(p.passage, id=known[p.key])) if not p.passage.id and p.key in known else p
        for p in found
    ]


def _ids_by_text(scope: Scope, missing: Sequence[Piece]) -> dict[str, str]:
    heads = [(piece.passage.text or "")[:_HEAD].split("\n")[0].split('"')[0] for piece in missing[:3]]
    known: dict[str, str] = {}
    for node in scope.nodes:
        for side in (node.input, node.output):
            raw = node.span.attributes.get(side.field.partition("#")[0]) if side else None
            if side is None or (isinstance(raw, str) and not any(head in raw for head in heads)):
                continue
            listed: list[Passage] = passages_in(side.value) or []
            known.update({folded(p.text): p.id for p in listed if p.text and p.id})
    return known


def _gathered(found: list[Piece]) -> list[Piece]:
    """Ascribe a document that several spans hold to the one that holds most of the context."""
    if len({piece.passage.id for piece in found}) == len(found):  # none is there twice
        return found
    held = Counter(id(piece.node) for piece in found)
    best: dict[tuple[str, str | None], Piece] = {}
    for piece in found:
        known = best.get((piece.key, piece.passage.id))
        if known is None or held[id(piece.node)] >= held[id(known.node)]:
            best[piece.key, piece.passage.id] = piece
    return [best[piece.key, piece.passage.id] if piece.key else piece for piece in found]


def _numbers(found: Sequence[Piece], prompts: Sequence[Node]) -> list[int]:
    """Number the pieces as the model saw them: in the order of the list, or of the prompt where lists were merged."""
    plain = list(range(1, len(found) + 1))
    if len({id(piece.node) for piece in found}) < 2 or len(prompts) != 1 or any(not piece.key for piece in found):
        return plain
    prompt = prompts[0].prompt_folded
    places = {piece.key: prompt.find(piece.key) for piece in found}
    if min(places.values()) < 0:
        return plain
    order = {key: rank for rank, key in enumerate(sorted(places, key=lambda key: places[key]), start=1)}
    return [order[piece.key] for piece in found]
