"""Decide which items must not be judged, and why; make the others safe to judge."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from enricher.steps.extraction.payloads import folded, is_broken_json
from enricher.trace import Document, Extraction, Item, RawTrace, Rejection, RejectReason, Source, Span, SpanId

_DETAILS = {
    RejectReason.NOT_RAG: "the trace holds no model call, no retrieval and no answer",
    RejectReason.ERROR: "the run failed before it had an answer",
    RejectReason.TRUNCATED_ATTRIBUTES: "the tracer cut long values off, so neither context nor answer is complete",
    RejectReason.CONTENT_NOT_CAPTURED: "the tracer did not record what was asked and answered",
    RejectReason.REDACTED: "the tracer hid the question, the answer or the context",
    RejectReason.NO_ANSWER: "there is no answer text",
    RejectReason.EMPTY_RETRIEVAL: "the retrieval found nothing",
    RejectReason.RETRIEVAL_ERROR: "the retrieval failed and nothing replaced it",
    RejectReason.TOOL_ERROR: "every tool that could have given context failed",
    RejectReason.CONTEXT_NOT_RECORDED: "documents were used, but the trace does not hold their texts",
    RejectReason.NO_CONTEXT: "the trace shows no context that the answer could rest on",
    RejectReason.MISSING_IDS: "the item has no trace id or no span id",
    RejectReason.UNKNOWN_SPAN_ID: "the item names a span that is not in its trace",
}
# Reasons that extraction flags by name; the first that applies is the one that explains the others.
_BEFORE_ANSWER = (RejectReason.ERROR, RejectReason.NOT_RAG)
_WITHOUT_CONTEXT = (
    RejectReason.EMPTY_RETRIEVAL,
    RejectReason.RETRIEVAL_ERROR,
    RejectReason.CONTEXT_NOT_RECORDED,
    RejectReason.TOOL_ERROR,
)
_CUT_MINIMUM = 64  # characters; below, equal lengths are chance
_BLURRED = 2  # characters by which cut values differ where a limit counts bytes
_CUT_STRINGS = 3  # different strings of the same greatest length that betray a limit
_HEAD = 6  # words in which different texts mostly differ
_INDEX = re.compile(r"\.\d+\.")


def validate(extraction: Extraction, trace: RawTrace) -> Extraction:
    """Move items that must not be judged to the rejections, and clean the documents of the others.

    Blank documents are dropped and counted in a flag, documents of the same text become one with aliases, ids become
    unique; citation numbers keep pointing where the answer's markers point.
    """
    known = {span.span_id for span in trace.spans}
    is_cut = has_cut_values(trace.spans)
    items: list[Item] = []
    rejections = list(extraction.rejections)
    sources: list[Source] = []
    for number, item in enumerate(extraction.items):
        reason = _reason(item, known, is_cut)
        if reason is None:
            of_item = [source for source in extraction.found_in if source.item == number]
            sources += of_item if number == len(items) else [replace(s, item=len(items)) for s in of_item]
            items.append(cleaned(item))
        else:
            rejections.append(_rejection(item.trace_id, reason, item.annotate_span_id))
    if not extraction.items and not rejections:
        rejections.append(_rejection(trace.ref.trace_id, RejectReason.NOT_RAG, None))
    return Extraction(items=tuple(items), rejections=tuple(rejections), found_in=tuple(sources))


def cleaned(item: Item) -> Item:
    """Drop blank documents, make one of those with equal texts, and make ids unique."""
    filled = [document for document in item.documents if document.text and document.text.strip()]
    groups = [[document] for document in filled] if _begin_apart(filled) else _by_text(filled)
    flags = list(item.flags)
    if blanks := len(item.documents) - len(filled):
        flags.append(f"empty_documents:{blanks}")
    if len(groups) < len(filled):
        flags.append("duplicates")
    documents = tuple(_with_unique_ids([_merged(group) for group in groups]))
    noticed = tuple(dict.fromkeys(flags))
    is_clean = documents == item.documents and noticed == item.flags
    return item if is_clean else replace(item, documents=documents, flags=noticed)


def _begin_apart(documents: Sequence[Document]) -> bool:
    """Tell cheaply that no two texts are equal: no two begin with the same words, and all are in plain characters."""
    heads = {tuple(d.text.split(None, _HEAD)[:_HEAD]) for d in documents if d.text.isascii()}
    return len(heads) == len(documents)


def _by_text(documents: Sequence[Document]) -> list[list[Document]]:
    groups: dict[str, list[Document]] = defaultdict(list)
    for document in documents:
        groups[folded(document.text)].append(document)
    return list(groups.values())


def _merged(group: Sequence[Document]) -> Document:
    first = group[0]
    if len(group) == 1 and not first.aliases and len(first.citation_numbers) < 2:
        return first
    other_ids = dict.fromkeys(alias for d in group for alias in (d.id, *d.aliases) if alias != first.id)
    numbers = sorted({number for document in group for number in document.citation_numbers})
    return replace(first, aliases=tuple(other_ids), citation_numbers=tuple(numbers))


def _with_unique_ids(documents: Sequence[Document]) -> Iterator[Document]:
    taken = {document.id for document in documents}
    seen: set[str] = set()
    for document in documents:
        name, count = document.id, 1
        while name in seen or not name:
            count += 1
            candidate = f"{document.id}#{count}"
            name = candidate if candidate not in taken else name
        seen.add(name)
        if name == document.id:
            yield document
        else:  # the new name may be that of a duplicate which went before
            yield replace(document, id=name, aliases=tuple(alias for alias in document.aliases if alias != name))


def _reason(item: Item, known: set[SpanId], is_cut: bool) -> RejectReason | None:
    if not item.trace_id or not item.annotate_span_id:
        return RejectReason.MISSING_IDS
    named = {item.annotate_span_id, item.answer_span_id, item.question_span_id, *(d.span_id for d in item.documents)}
    if named - {None} - known:
        return RejectReason.UNKNOWN_SPAN_ID
    has_answer = bool(item.answer.strip())
    has_context = any(document.text and document.text.strip() for document in item.documents)
    if not has_answer:
        for reason in _BEFORE_ANSWER:
            if reason.value in item.flags:
                return reason
    if is_cut:
        return RejectReason.TRUNCATED_ATTRIBUTES
    if "redacted" in item.flags and not (has_answer and item.question and has_context):
        return RejectReason.REDACTED
    if RejectReason.CONTENT_NOT_CAPTURED.value in item.flags:
        return RejectReason.CONTENT_NOT_CAPTURED
    if not has_answer:
        return RejectReason.NO_ANSWER
    return None if has_context else _why_no_context(item)


def _why_no_context(item: Item) -> RejectReason:
    flagged = next((reason for reason in _WITHOUT_CONTEXT if reason.value in item.flags), None)
    return flagged or (RejectReason.CONTEXT_NOT_RECORDED if item.documents else RejectReason.NO_CONTEXT)


def _rejection(trace_id: Any, reason: RejectReason, span_id: SpanId | None) -> Rejection:
    return Rejection(trace_id=trace_id, reason=reason, detail=_DETAILS[reason], span_id=span_id)


def has_cut_values(spans: Sequence[Span]) -> bool:
    """Tell whether a limit on the length of attribute values cut texts: it leaves no mark.

    It betrays itself by different strings of one and the same greatest length, under different kinds of key (chunks of
    one size are no sign), or by JSON of that length that breaks off.
    """
    texts = [(len(text), key, text) for key, text in _texts(spans) if len(text) >= _CUT_MINIMUM - _BLURRED]
    longest = max((length for length, _, _ in texts), default=0)
    if longest < _CUT_MINIMUM:
        return False
    ends = {text: _INDEX.sub(".", key) for length, key, text in texts if length == longest}
    if len(ends) >= _CUT_STRINGS and len(set(ends.values())) > 1:
        return True
    near = {text: _INDEX.sub(".", key) for length, key, text in texts if length >= longest - _BLURRED}
    return len(set(near.values())) > 1 and any(map(is_broken_json, near))


def _texts(spans: Sequence[Span]) -> Iterator[tuple[str, str]]:
    for span in spans:
        sets: list[Mapping[str, Any]] = [span.attributes, *(event.attributes for event in span.events)]
        for attributes in sets:
            for key, value in attributes.items():
                if isinstance(value, str):
                    yield key, value
