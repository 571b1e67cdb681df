"""Build the span tree and find what each question of a trace consists of."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from enricher.lazy import lazy
from enricher.steps.extraction.reading import Node
from enricher.trace import Span, SpanKind, TraceId

# Model calls below these check, rank or rewrite; they don't answer.
_SIDE_KINDS = (SpanKind.GUARDRAIL, SpanKind.EVALUATOR, SpanKind.RERANKER, SpanKind.RETRIEVER)
_SIDE_NAMES = ("postprocess", "rerank", "guardrail")
_LONG_PROMPT = 400  # characters; instructions and a question alone are rarely as long


@dataclass(frozen=True)
class Scope:
    """The spans that belong to one question."""

    root: Node | None  # the item's root; None when no span wraps the answer
    nodes: tuple[Node, ...]  # in order of start
    is_alone: bool = True  # False when the trace holds other questions too
    has_lost_root: bool = False

    @property
    def wrapping(self) -> tuple[Node, ...]:
        """Return the spans around the item, innermost first."""
        first = self.root or (self.nodes[0] if self.nodes else None)
        return tuple(first.ancestors()) if first else ()

    @lazy
    def models(self) -> tuple[Node, ...]:
        """Model calls that can have made the answer, in order of end; not those of guards, graders or rerankers."""
        found = [n for n in self.nodes if n.kind is SpanKind.LLM and not _is_aside(n)]
        return tuple(sorted(found, key=lambda node: node.ended))

    @lazy
    def final_model(self) -> Node | None:
        """Return the model call that made the answer: the last that says what the root returns, else the last."""
        speaking = [node for node in self.models if node.reply]
        said = self.root.answer if self.root else None
        if said:
            same = [node for node in speaking if node.reply and str(said.value) in node.reply]
            speaking = same or speaking
        return speaking[-1] if speaking else None

    def of_kind(self, *kinds: SpanKind) -> list[Node]:
        """Return the spans of these kinds, in order of start; not what guards and graders did."""
        return [node for node in self._unguarded if node.kind in kinds]

    @lazy
    def _unguarded(self) -> tuple[Node, ...]:
        return tuple(node for node in self.nodes if not _is_under_guard(node))


@dataclass(frozen=True)
class Tree:
    """All spans of one trace id."""

    trace_id: TraceId
    tops: tuple[Node, ...]  # spans whose parent is not in the trace, in order of start
    nodes: tuple[Node, ...]

    def scopes(self) -> list[Scope]:
        """Return one scope a question."""
        wrappers = [part for node in _top_wrappers(self.tops) for part in _independent_parts(node) or [node]]
        full = _complete(wrappers, any(_is_source(node) for node in self.nodes))
        if len(full) > 1:
            return [Scope(node, _ordered(node.subtree()), is_alone=False) for node in full]
        if full and len(wrappers) == 1:
            return [Scope(full[0], _ordered(full[0].subtree()))]
        whole = self._loose(wrappers)
        final = whole.final_model
        if full and (final is None or final in full[0].subtree()):
            return [Scope(full[0], _ordered(full[0].subtree()))]
        return [whole]

    def fell(self) -> None:
        """Take parents and children apart, so that what was read of the trace does not wait for the collector."""
        for node in self.nodes:
            node.children.clear()

    def _loose(self, wrappers: Sequence[Node]) -> Scope:
        """Choose a root among wrappers none of which holds context and answer both."""
        has_lost_root = all(node.span.parent_id for node in self.tops)
        whole = Scope(None, self.nodes, has_lost_root=has_lost_root)
        final = whole.final_model
        if final is not None:
            owners = [node for node in wrappers if final in node.subtree()]
        elif len(wrappers) > 1:
            owners = [node for node in wrappers if _has_answer(node)][-1:]
        else:
            owners = list(wrappers)
        if not owners and len(wrappers) == 1 and wrappers[0].parent is None and not wrappers[0].span.parent_id:
            owners = list(wrappers)
        return Scope(owners[0], self.nodes, has_lost_root=has_lost_root) if owners else whole


def trees_of(spans: Iterable[Span]) -> list[Tree]:
    """Return one tree a trace id, in order of start."""
    by_trace: dict[TraceId, list[Node]] = {}
    for index, span in enumerate(spans):
        by_trace.setdefault(span.trace_id, []).append(Node(span, index))
    trees = [_tree(trace_id, nodes) for trace_id, nodes in by_trace.items()]
    return sorted(trees, key=lambda tree: tree.nodes[0].started)


def _tree(trace_id: TraceId, nodes: list[Node]) -> Tree:
    by_id = {node.span.span_id: node for node in nodes}
    ordered = sorted(by_id.values(), key=lambda node: node.started)
    for node in ordered:
        parent = by_id.get(node.span.parent_id) if node.span.parent_id else None
        if parent is not None and parent is not node and node not in parent.ancestors():
            node.parent = parent
            parent.children.append(node)
    return Tree(trace_id, tuple(node for node in ordered if node.parent is None), tuple(ordered))


def _top_wrappers(tops: Sequence[Node]) -> list[Node]:
    """Return the top-most spans that say something and are no steps themselves; HTTP and empty spans are passed by."""
    found: list[Node] = []
    for node in tops:
        if node.is_wrapper:
            found.append(node)
        elif node.kind not in (SpanKind.LLM, SpanKind.TOOL, SpanKind.EMBEDDING, *_SIDE_KINDS):
            found += _top_wrappers(node.children)
    return found


def _complete(wrappers: Iterable[Node], has_sources: bool) -> list[Node]:
    """Return the wrappers that hold a context and an answer both; without sources, a long prompt is the context."""
    return [
        node
        for node in wrappers
        if (any(map(_is_source, node.subtree())) if has_sources else _has_long_prompt(node)) and _has_answer(node)
    ]


def _independent_parts(node: Node) -> list[Node]:
    """Return the parts of a wrapper that only loops over questions: it neither asks nor answers one itself."""
    if node.answer or (node.question and node.input and not isinstance(node.input.value, list)):
        return []
    parts = _complete(_top_wrappers(node.children), any(map(_is_source, node.subtree())))
    parts = [part for part in parts if part.question]
    return parts if len(parts) > 1 else []


def _is_source(node: Node) -> bool:
    return node.is_retriever or node.is_evidence_tool


def _has_long_prompt(node: Node) -> bool:
    return any(n.kind is SpanKind.LLM and len(n.prompt_folded) > _LONG_PROMPT for n in node.subtree())


def _has_answer(node: Node) -> bool:
    """Tell whether a part answers: by its output, or by a model call after the last thing that it looked up."""
    if node.answer is not None:
        return True
    looked_up = max((n.started for n in node.subtree() if _is_source(n)), default=node.started)
    return any(n.kind is SpanKind.LLM and (n.reply or n.replies) and n.started >= looked_up for n in node.subtree())


def _ordered(nodes: Iterable[Node]) -> tuple[Node, ...]:
    return tuple(sorted(nodes, key=lambda node: node.started))


def _is_aside(node: Node) -> bool:
    return any(step.kind in _SIDE_KINDS or _has_side_name(step) for step in node.ancestors())


def _has_side_name(node: Node) -> bool:
    name = node.span.name.lower()
    return any(word in name for word in _SIDE_NAMES)


def _is_under_guard(node: Node) -> bool:
    return any(a.kind in (SpanKind.GUARDRAIL, SpanKind.EVALUATOR) for a in node.ancestors())
