"""Short ways to write spans for extraction tests."""

import json
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from enricher.trace import RawTrace, Span, SpanEvent, SpanId, SpanKind, TraceId, TraceRef

_clock = count()
_START = datetime(2026, 1, 1, tzinfo=UTC)
KIND = SpanKind


def span(
    name: str,
    parent: Span | None = None,
    kind: SpanKind = SpanKind.UNKNOWN,
    *,
    trace: str = "t1",
    status: str = "OK",
    events: tuple[SpanEvent, ...] = (),
    inputs: Any = None,
    outputs: Any = None,
    dropped: int = 0,
    parent_id: str | None = None,
    **attributes: Any,
) -> Span:
    """Make a span; each starts and ends after the ones made before. `a__b` stands for the key `a.b`."""
    number = next(_clock)
    flat = {key.replace("__", "."): value for key, value in attributes.items()}
    return Span(
        trace_id=TraceId(trace),
        span_id=SpanId(f"{number:016x}"),
        parent_id=parent.span_id if parent else (SpanId(parent_id) if parent_id else None),
        name=name,
        kind=kind,
        start_time=_START + timedelta(seconds=number),
        end_time=_START + timedelta(seconds=number, milliseconds=500),
        status=status,
        attributes=flat,
        events=events,
        inputs=inputs,
        outputs=outputs,
        dropped_attributes=dropped,
    )


def io(asked: Any = None, said: Any = None) -> dict[str, Any]:
    """Write input.value and output.value; anything but text becomes JSON."""
    sides = (("input.value", asked), ("output.value", said))
    return {key: v if isinstance(v, str) else json.dumps(v) for key, v in sides if v is not None}


def documents(*texts: str, ids: tuple[str, ...] = ()) -> dict[str, Any]:
    """Write retrieval.documents."""
    flat = {f"retrieval.documents.{n}.document.content": text for n, text in enumerate(texts)}
    return {**flat, **{f"retrieval.documents.{n}.document.id": name for n, name in enumerate(ids)}}


def chat(prompt: str, reply: str, system: str = "") -> dict[str, Any]:
    """Write one model call: an optional system message, one user message, one reply."""
    said = [("system", system)] if system else []
    flat: dict[str, Any] = {}
    for n, (role, text) in enumerate([*said, ("user", prompt)]):
        flat[f"llm.input_messages.{n}.message.role"] = role
        flat[f"llm.input_messages.{n}.message.content"] = text
    return {**flat, "llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": reply}


def trace(*spans: Span) -> RawTrace:
    """Wrap spans as a pulled trace."""
    ref = TraceRef(connection="c", project="p", trace_id=spans[0].trace_id if spans else TraceId("t1"))
    return RawTrace(ref=ref, spans=tuple(spans))
