"""Carry a verdict over to another trace on which the judge would have seen exactly the same."""

from collections.abc import Mapping
from typing import Any

from enricher.trace import Item
from enricher.verdict import Usage, Verdict

FLAG = "same_input_as_before"  # the verdict was reached on another trace
_SPANS = "trace_event_references"


def transfer(verdict: Verdict, old: Item, new: Item) -> Verdict | None:
    """Return the verdict with the ids of the new trace and at no cost; None when it can't be carried over safely."""
    if _seen(old) != _seen(new):
        return None
    spans = _spans(old, new)
    if spans is None:
        return None
    carried = _carried(verdict.model_dump(exclude={"raw_replies", "usage"}), spans)
    if carried is None:
        return None
    carried |= {"trace_id": new.trace_id, "span_id": new.annotate_span_id}
    flags = tuple(dict.fromkeys((*verdict.flags, FLAG)))
    return Verdict.model_validate({**carried, "flags": flags, "usage": Usage()})


def _seen(item: Item) -> tuple[Any, ...]:
    """Return all of an item that a judge or a check may look at."""
    documents = tuple((d.id, d.text, d.aliases, d.citation_numbers) for d in item.documents)
    return item.question, item.standalone_question, item.history, item.answer, item.flags, documents


def _spans(old: Item, new: Item) -> dict[str, str] | None:
    """Map the spans of the old trace to those of the new one; None when one of them would be two."""
    pairs = [(old.annotate_span_id, new.annotate_span_id), (old.answer_span_id, new.answer_span_id)]
    pairs += [(old.question_span_id, new.question_span_id)]
    pairs += [(first.span_id, second.span_id) for first, second in zip(old.documents, new.documents, strict=True)]
    spans: dict[str, str] = {}
    for first, second in pairs:
        if first is None:
            continue
        if second is None or spans.setdefault(first, second) != second:
            return None
    return spans


def _carried(value: Any, spans: Mapping[str, str]) -> Any:
    """Replace every span id in a dumped verdict; None when one is not known."""
    if not isinstance(value, dict):
        return value
    found: dict[str, Any] = {}
    for name, part in value.items():
        if name == "span_id" and part is not None:
            part = spans.get(part)
        elif name == _SPANS:
            part = [spans.get(span) for span in part]
            if None in part:
                return None
        elif isinstance(part, dict):
            part = _carried(part, spans)
        elif isinstance(part, list | tuple):
            part = [_carried(entry, spans) for entry in part]
            if any(entry is None and before is not None for entry, before in zip(part, value[name], strict=True)):
                return None
        if part is None and value[name] is not None:
            return None
        found[name] = part
    return found
