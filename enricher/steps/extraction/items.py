"""Put an item together from one scope of a trace, with a note of where each part was read."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from enricher.steps.extraction.answers import answer_of_call, answer_of_reply, citations_in
from enricher.steps.extraction.context import Context, context_of
from enricher.steps.extraction.labels import labels_of
from enricher.steps.extraction.messages import last_user, messages_in, turns
from enricher.steps.extraction.payloads import Found, plain_text
from enricher.steps.extraction.questions import asked
from enricher.steps.extraction.reading import Node
from enricher.steps.extraction.trees import Scope
from enricher.trace import Document, Item, SpanId, SpanKind, TraceId

_REFUSAL = re.compile(
    r"\b(?:i (?:do not|don't|don’t) know|(?:cannot|can't|can’t|could not|couldn't|unable to)"
    r" (?:find|answer|help|assist)|not (?:mentioned|contained|covered) in the)\b",
    re.I,
)
# What `Context.problem` can be: the words of RejectReason for "there is nothing to compare the answer with".
CONTEXT_PROBLEMS = frozenset({"no_context", "empty_retrieval", "retrieval_error", "tool_error", "context_not_recorded"})
_STEPS = (SpanKind.RETRIEVER, SpanKind.RERANKER, SpanKind.TOOL)
_SHORT = 300  # characters; a longer text is no plain refusal
_CUT_REASONS = frozenset({"length", "max_tokens", "MAX_TOKENS"})


@dataclass(frozen=True, slots=True)
class Part:
    """A text with the span and field it was read from."""

    text: str
    node: Node
    field: str


@dataclass(frozen=True, slots=True)
class Draft:
    """An item with the sources of its parts."""

    item: Item
    sources: tuple[tuple[str, SpanId, str], ...]  # part, span, field


def draft_of(scope: Scope, trace_id: TraceId) -> Draft:
    """Put together the item of a scope, as complete as the trace allows."""
    question = _question(scope)
    answer = _answer(scope)
    context = context_of(scope)
    history = _history(scope)
    annotated = annotated_node(scope)
    noticed = _flags(scope, question, answer, bool(history))
    item = Item(
        trace_id=trace_id,
        question=question.text if question else None,
        documents=tuple(_documents(context)),
        answer=answer.text if answer else "",
        annotate_span_id=annotated.span.span_id,
        answer_span_id=answer.node.span.span_id if answer else None,
        question_span_id=question.node.span.span_id if question else None,
        history=history,
        standalone_question=_standalone(scope, question),
        flags=tuple(dict.fromkeys([*context.flags, *filter(None, [context.problem]), *noticed])),
        metadata=_metadata(scope),
    )
    parts = [("question", question), ("answer", answer)]
    sources = [(name, part.node.span.span_id, part.field) for name, part in parts if part]
    places = dict.fromkeys((piece.node.span.span_id, piece.field) for piece in context.pieces)
    return Draft(item, (*sources, *(("documents", *place) for place in places)))


def annotated_node(scope: Scope) -> Node:
    """Return the span that verdicts are written to: the item's root, else the final model call."""
    final = scope.final_model or (scope.models[-1] if scope.models else None)
    return scope.root or final or scope.nodes[0]


def _question(scope: Scope) -> Part | None:
    """Look at the root's input, then agents, then the final model's last user turn, then the retriever."""
    for node in (scope.root, *scope.of_kind(SpanKind.AGENT)):
        if node and (part := _asked_of(node)):
            return part
    for node in (*filter(None, [scope.final_model]), *reversed(scope.models)):
        if text := asked(last_user(node.prompt)):
            return Part(text, node, "input messages")
    for node in scope.of_kind(SpanKind.RETRIEVER, SpanKind.CHAIN):
        if part := _asked_of(node):
            return part
    return None


def _asked_of(node: Node) -> Part | None:
    found = node.question
    return Part(str(found.value), node, _path(node.input.field, found.field)) if found and node.input else None


def _stated_by(node: Node) -> Part | None:
    found = node.answer
    return Part(str(found.value), node, _path(node.output.field, found.field)) if found and node.output else None


def _path(field: str, inner: str) -> str:
    return f"{field}{'' if '#' in field else '#'}{inner}" if inner else field


def _answer(scope: Scope) -> Part | None:
    """Look at the root's output, then the agent's answering tool, then the final model's reply or its last call."""
    root = scope.root
    if root and (part := _stated_by(root)):
        return part
    if root and root.span.status == "ERROR":
        return None
    for node in (n for n in reversed(scope.nodes) if n.is_final_tool and not n.has_failed):
        if part := _stated_by(node):
            return part
    final = scope.final_model
    if final and final.reply and (text := answer_of_reply(final.reply)):
        return Part(text, final, "output messages")
    last = scope.models[-1] if scope.models else None
    ran = {node.tool_name for node in scope.of_kind(SpanKind.TOOL)}
    pending = [m for m in (last.replies if last else ()) if not any(name in ran for name, _ in m.calls)]
    if last and (text := answer_of_call(pending)):
        return Part(text, last, "output messages")
    return None


def _documents(context: Context) -> list[Document]:
    return [
        Document(
            id=piece.passage.id or f"d{number}",
            text=piece.passage.text or "",
            span_id=piece.node.span.span_id,
            # Only a list in the span's attributes is one that platforms count and annotate.
            position=piece.position if piece.field == "retrieval.documents" else None,
            citation_numbers=(number,),
            score=piece.passage.score,
            metadata=piece.passage.metadata,
        )
        for piece, number in zip(context.pieces, context.numbers, strict=True)
    ]


def _history(scope: Scope) -> tuple[str, ...]:
    """Return the turns before the question: from the root's messages, else from the final model's prompt."""
    if scope.root and scope.root.input and (said := turns(messages_in(scope.root.input.value))):
        return said
    history = scope.root.input.value if scope.root and scope.root.input else None
    if isinstance(history, dict) and isinstance(history.get("chat_history", history.get("history")), list):
        earlier = messages_in(history.get("chat_history", history.get("history")))
        return tuple(f"{m.role}: {m.text}" for m in earlier if m.role in ("user", "assistant") and m.texts)
    return turns(scope.final_model.prompt) if scope.final_model else ()


def _standalone(scope: Scope, question: Part | None) -> str | None:
    """Return the one query that all retrievers were asked, where it is not the question itself."""
    retrievers = scope.of_kind(SpanKind.RETRIEVER)
    if question is None or (question.node is scope.root and _were_told(retrievers, question.node.input)):
        return None
    asked_ = {part.text for node in retrievers if (part := _asked_of(node))}
    return asked_.pop() if len(asked_) == 1 and question.text not in asked_ else None


def _were_told(retrievers: Sequence[Node], given: Found | None) -> bool:
    """Tell whether a retriever got the very text that the root got: it was asked the same then."""
    if given is None or not isinstance(given.value, str):
        return False
    return any(node.input is not None and node.input.value == given.value for node in retrievers)


def _flags(scope: Scope, question: Part | None, answer: Part | None, has_history: bool) -> list[str]:
    final = scope.final_model or (scope.models[-1] if scope.models else None)
    reason = final.finish_reason if final else None
    alternatives = [m for m in final.replies if m.texts] if final else []
    conditions = {
        "not_rag": answer is None and not scope.models and not scope.of_kind(*_STEPS) and not _is_emptied(scope),
        "error": answer is None and any(n.span.status == "ERROR" for n in (*scope.models, *filter(None, [scope.root]))),
        "content_not_captured": answer is None and (_is_silent(scope) or _is_emptied(scope)),
        "no_question": question is None,
        "agent": any(n.is_evidence_tool for n in scope.nodes) or any(m.calls for n in scope.models for m in n.replies),
        "multi_turn": has_history,
        "refusal": any(n.refusal for n in scope.models if n.reply is None) or _is_refusal(answer),
        "truncated_answer": reason in _CUT_REASONS,
        "content_filter": reason == "content_filter",
        "json_answer": answer is not None and "#/" in answer.field,
        "multiple_choices": len(alternatives) > 1,
        "redacted": any(node.has_redaction for node in scope.nodes),
        "root_error": any(n.span.status == "ERROR" for n in (*scope.wrapping, *filter(None, [scope.root]))),
        "missing_root": scope.has_lost_root,
        "multi_item_trace": not scope.is_alone,
        "reranker": any(node.kind is SpanKind.RERANKER for node in scope.nodes),
    }
    return [name for name, holds in conditions.items() if holds]


def _is_silent(scope: Scope) -> bool:
    """Tell whether the steps ran but nothing of what they were given or returned was recorded."""
    if scope.models:  # some tracers keep the messages and leave their contents out
        return not any(m.texts or m.results or m.calls for n in scope.models for m in (*n.prompt, *n.replies))
    return all(n.input is None and n.output is None for n in scope.nodes) and any(n.is_run for n in scope.nodes)


def _is_emptied(scope: Scope) -> bool:
    """Tell whether a native tracer was told to hide what went in and what came out: it records empty objects then."""
    return scope.root is not None and scope.root.span.inputs == {} and scope.root.span.outputs == {}


def _is_refusal(answer: Part | None) -> bool:
    return answer is not None and len(answer.text) < _SHORT and _REFUSAL.search(answer.text) is not None


def _metadata(scope: Scope) -> dict[str, object]:
    """Keep what people filter by, and the ids that a structured answer cites."""
    session = next((s for n in scope.nodes if (s := plain_text(n.span.attributes.get("session.id")))), None)
    replies = (node.output.value for node in (scope.root, scope.final_model) if node and node.output)
    cited = next((found for reply in replies if (found := citations_in(reply))), [])
    own = {name: value for name, value in (("session_id", session), ("citations", cited)) if value}
    return {**labels_of(scope), **own}
