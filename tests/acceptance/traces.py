"""Traces for the acceptance tests: small ones whose verdict is known."""

import secrets
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from enricher.trace import Span, SpanKind
from tests.servers.phoenix import rag_trace

TRUE = "Refunds are paid within 30 days."
FALSE = "Refunds are paid within 90 days."


def answered(answer: str, *, ended: datetime | None = None) -> list[Span]:
    """Return a trace of chain, retriever and model whose documents hold `TRUE`."""
    spans = []
    for span in rag_trace(ended=ended):
        said = {} if span.kind is SpanKind.RETRIEVER else {"output.value": answer}
        spans.append(replace(span, attributes={**span.attributes, **said}))
    return spans


def root(trace: Sequence[Span]) -> Span:
    """Return the span that annotations go to."""
    return next(span for span in trace if span.parent_id is None)


def unique() -> str:
    """Return a word that no other test uses."""
    return secrets.token_hex(4)
