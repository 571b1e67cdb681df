"""Windows hold every sentence of the context, and none is too large."""

from hypothesis import given, settings
from hypothesis import strategies as st

from enricher.judges.windows import cut_documents, cut_sentences, tokens
from enricher.steps.segmentation import split_item
from enricher.trace import Document, Item, SpanId, TraceId

TEXTS = st.lists(st.integers(0, 40).map(lambda n: "The garden has many old trees. " * n + "word " * n), max_size=6)


def documents(texts):
    item = Item(
        trace_id=TraceId("t"),
        question=None,
        documents=tuple(Document(id=f"d{n}", text=text) for n, text in enumerate(texts, 1)),
        answer="Yes.",
        annotate_span_id=SpanId("root"),
    )
    return split_item(item).documents


@settings(max_examples=150, deadline=None)
@given(TEXTS, st.integers(64, 400))
def test_every_character_of_a_sentence_is_in_some_window_of_its_size(texts, budget):
    whole = documents(texts)
    windows = cut_documents(whole, budget)
    seen = {document.id: set() for document in whole}
    for window in windows:
        cost = 0
        for document in window:
            for sentence in document.sentences:
                original = next(d for d in whole if d.id == document.id)
                assert original.text[sentence.start : sentence.end] == sentence.text
                seen[document.id].update(range(sentence.start, sentence.end))
                cost += tokens(sentence.text)
        assert cost <= budget
    for document in whole:
        for sentence in document.sentences:
            assert seen[document.id].issuperset(range(sentence.start, sentence.end))


def test_a_context_that_fits_stays_whole():
    whole = documents(["The tent is red.", "The tent weighs 3.1 kg."])
    assert cut_documents(whole, 1000) == [whole]


def test_the_sentences_of_an_answer_are_packed_in_order():
    (document,) = documents(["The garden has many old trees. " * 20])
    parts = cut_sentences(document.sentences, 100)
    assert len(parts) > 1
    assert tuple(sentence for part in parts for sentence in part) == document.sentences


def test_dense_scripts_count_more_tokens_than_letters():
    assert tokens("保证金应在十四天内退还") > tokens("The deposit")
