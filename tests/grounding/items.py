"""Items as the engine gets them, for the tests of this folder."""

from enricher.steps.segmentation import split_item
from enricher.trace import Document, Item, SpanId, TraceId


def split(question, documents, answer, **more):
    """Return an item whose answer and documents are cut into sentences."""
    return split_item(
        Item(
            trace_id=TraceId("t"),
            question=question,
            documents=tuple(
                Document(id=f"d{n}", text=text, span_id=SpanId(f"r{n}")) for n, text in enumerate(documents, 1)
            ),
            answer=answer,
            annotate_span_id=SpanId("root"),
            answer_span_id=SpanId("llm"),
            **more,
        )
    )
