"""Extraction rules on shapes beyond the recorded traces, and the extraction cases."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enricher.steps.extraction import ExtractionPaths, extract
from enricher.steps.extraction.extracting import NO_PATHS
from enricher.steps.extraction.payloads import folded
from enricher.steps.extraction.reading import Node
from enricher.steps.validation import validate
from enricher.trace import Item, RejectReason, SpanEvent
from tests.steps.spans import KIND, chat, documents, io, span, trace

CASES = {
    case["id"]: case
    for line in (Path(__file__).parent.parent / "cases" / "extraction.jsonl").read_text("utf-8").splitlines()
    if (case := json.loads(line))
}
FEE = "The annual fee is 80 EUR and is due in January."
DOOR = "The door code changes every Monday at noon."
PARKING = "Parking is free after 18:00 for all members."


def _item(*spans, paths: ExtractionPaths = NO_PATHS) -> Item:
    pulled = trace(*spans)
    valid = validate(extract(pulled, paths), pulled)
    assert valid.rejections == ()
    assert len(valid.items) == 1
    return valid.items[0]


def _reason(*spans) -> RejectReason:
    pulled = trace(*spans)
    valid = validate(extract(pulled), pulled)
    assert valid.items == ()
    return valid.rejections[0].reason


def _texts(item: Item) -> list[str]:
    return [document.text for document in item.documents]


def _rag(root_in: Any = "What is the fee?", root_out: Any = "It is 80 EUR.", **retriever: Any):
    root = span("rag", kind=KIND.CHAIN, **io(root_in, root_out))
    found = span("search", root, KIND.RETRIEVER, **(retriever or documents(FEE, DOOR, ids=("a", "b"))))
    return root, found


# Cases


def test_ex_01_documents_keep_their_numeric_order():
    case = CASES["EX-01"]
    attributes = case["input"]["retriever_span_attributes"]
    item = _item(*_rag(**attributes))
    assert _texts(item) == case["expected"]["documents_in_order"]
    by_number = {number: d.text for d in item.documents for number in d.citation_numbers}
    assert by_number[3] == case["expected"]["citation_3"]
    assert [d.position for d in item.documents] == list(range(12))


def test_ex_02_documents_are_found_under_any_of_the_usual_keys():
    case = CASES["EX-02"]
    root = span("root", kind=KIND.CHAIN, inputs={"question": "Fee?"}, outputs={"output": case["input"]["answer"]})
    found = span("r", root, KIND.RETRIEVER, inputs={"query": "Fee?"}, outputs=case["input"]["retriever_outputs"])
    item = _item(root, found)
    assert _texts(item) == case["expected"]["documents"]
    assert item.documents[0].id == "k1"


def test_ex_03_a_trace_without_retrieval_is_not_judged():
    case = CASES["EX-03"]["input"]["spans"][0]
    assert _reason(span("llm", kind=KIND.LLM, **chat(case["input"], case["output"]))) is RejectReason.NO_CONTEXT


def test_ex_04_an_empty_retrieval_is_told_from_no_retrieval():
    root = span("rag", kind=KIND.CHAIN, **io("What is the fee?"))
    empty = span("search", root, KIND.RETRIEVER)
    model = span("llm", root, KIND.LLM, **chat("What is the fee?", "The fee is 5 EUR."))
    assert _reason(root, empty, model) is RejectReason.EMPTY_RETRIEVAL


def test_ex_06_question_and_answer_come_from_children_of_an_empty_root():
    root = span("root", kind=KIND.CHAIN)
    found = span("search", root, KIND.RETRIEVER, **io("opening hours"), **documents("Open 9-17."))
    model = span("llm", root, KIND.LLM, **chat("When are you open?", "We are open 9-17.", "Answer from context."))
    item = _item(root, found, model)
    assert item.question != "opening hours"
    assert (item.question, item.answer) == ("When are you open?", "We are open 9-17.")
    assert item.answer_span_id == item.annotate_span_id == model.span_id


def test_ex_08_values_cut_by_a_length_limit_are_not_judged():
    attributes = CASES["EX-08"]["input"]["attributes"]
    assert _reason(span("rag", kind=KIND.RETRIEVER, **attributes)) is not None
    root = span("rag", kind=KIND.CHAIN, **{k: v for k, v in attributes.items() if k.startswith(("input", "output"))})
    found = span("r", root, KIND.RETRIEVER, **{k: v for k, v in attributes.items() if k.startswith("retrieval")})
    assert _reason(root, found) is RejectReason.TRUNCATED_ATTRIBUTES


def test_ex_09_the_same_chunk_from_two_searches_counts_once():
    case = CASES["EX-09"]["input"]
    texts = [d["text"] for d in case["documents"]]
    ids = tuple(d["document_id"] for d in case["documents"])
    item = _item(*_rag("q", case["answer"], **documents(*texts, ids=ids)))
    assert len(item.documents) == 1
    assert {item.documents[0].id: list(item.documents[0].aliases)} == CASES["EX-09"]["expected"]["aliases"]
    assert item.documents[0].citation_numbers == (1, 2)


def test_ex_11_the_last_user_message_is_the_question_and_earlier_turns_are_history():
    case = CASES["EX-11"]
    root = span("chat", kind=KIND.CHAIN, inputs=case["input"]["inputs"], outputs=case["input"]["outputs"])
    listed = [{"id": d["document_id"], "page_content": d["text"]} for d in case["input"]["documents"]]
    found = span("r", root, KIND.RETRIEVER, outputs={"documents": listed})
    item = _item(root, found)
    assert (item.question, item.answer) == (case["expected"]["question"], case["expected"]["answer"])
    assert item.history == ("user: Do you ship to Norway?", "assistant: Yes, for 15 EUR.")
    assert not any("15 EUR" in text for text in _texts(item))
    assert "multi_turn" in item.flags


def test_ex_13_a_failed_run_without_output_is_an_error():
    run = CASES["EX-13"]["input"]["run"]
    failed = span("root", kind=KIND.CHAIN, inputs=run["inputs"], outputs={}, status="ERROR")
    assert _reason(failed) is RejectReason.ERROR


def test_ex_14_blank_documents_are_dropped_without_shifting_numbers():
    root = span("rag", kind=KIND.CHAIN, inputs={"question": "q"}, outputs={"output": "Lockers cost 2 EUR."})
    listed = [{"id": d["document_id"], "page_content": d["text"]} for d in CASES["EX-14"]["input"]["documents"]]
    item = _item(root, span("r", root, KIND.RETRIEVER, outputs={"documents": listed[::-1]}))
    assert [d.id for d in item.documents] == CASES["EX-14"]["expected"]["documents_used"]
    assert "empty_documents:2" in item.flags
    assert item.documents[0].citation_numbers == (3,)
    assert "None" not in "".join(_texts(item))


# Where the question and the answer stand


@pytest.mark.parametrize(
    "given",
    [
        "What is the fee?",
        {"query": "What is the fee?"},
        {"question": "What is the fee?", "chat_history": []},
        {"payload": {"q": "What is the fee?", "lang": "en"}, "tenant": "acme"},
        {"args": ["What is the fee?"], "kwargs": {}},
        {"args": ["<app.Service object at 0x7f0>", "What is the fee?"], "kwargs": {"k": 3}},
        {"args": [], "kwargs": {"query": "What is the fee?"}},
        {"messages": [["user", "What is the fee?"]]},
        {"messages": [{"role": "system", "content": "Be short."}, {"role": "user", "content": "What is the fee?"}]},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "What is the fee?"}]}]},
        {"contents": [{"role": "user", "parts": [{"text": "What is the fee?"}]}]},
        {"input": {"question": "What is the fee?"}},
        {"user_id": "u-17", "ask": "What is the fee?"},
        {"model": "m", "input": "What is the fee?", "tools": []},
        {"data": {"retriever": {"query": "What is the fee?"}, "builder": {"question": "What is the fee?"}}},
        "Context:\nThe fee is 80 EUR.\n\nQuestion: What is the fee?\nAnswer:",
    ],
    ids=lambda given: str(given)[:40],
)
def test_the_question_is_found_in_what_the_root_was_given(given):
    assert _item(*_rag(given)).question == "What is the fee?"


@pytest.mark.parametrize(
    "said",
    [
        "It is 80 EUR.",
        {"answer": "It is 80 EUR.", "sources": ["a"]},
        {"question": "What is the fee?", "context": [{"page_content": FEE}], "answer": "It is 80 EUR."},
        {"result": "It is 80 EUR.", "source_documents": [{"page_content": FEE, "type": "Document"}]},
        {"question": "x", "documents": [], "generation": "It is 80 EUR."},
        {"messages": [{"type": "human", "content": "q"}, {"type": "ai", "content": "It is 80 EUR."}]},
        {"messages": [{"type": "ai", "data": {"content": "It is 80 EUR."}}]},
        {"role": "assistant", "content": "It is 80 EUR."},
        {"content": {"parts": [{"text": "It is 80 EUR."}], "role": "model"}},
        {"llm": {"replies": ["It is 80 EUR."], "meta": [{}]}},
        {"choices": [{"message": {"role": "assistant", "content": "It is 80 EUR."}, "finish_reason": "stop"}]},
        {"output": {"response": "It is 80 EUR.", "confidence": 0.9}},
        {"raw": {"type": "ai", "content": ""}, "parsed": {"answer": "It is 80 EUR."}, "parsing_error": None},
        {"reasoning": "The document says so.", "summary": "It is 80 EUR."},
        {"trajectory": {"thought_0": "Look it up."}, "reasoning": "Done so.", "answer": "It is 80 EUR."},
    ],
    ids=lambda said: str(said)[:40],
)
def test_the_answer_is_found_in_what_the_root_returned(said):
    assert _item(*_rag("What is the fee?", said)).answer == "It is 80 EUR."


@pytest.mark.parametrize(
    "said",
    [
        None,
        "<generator object stream at 0x7f1>",
        "StopEvent(result=AgentOutput(response=ChatMessage(role=<MessageRole.ASSISTANT: 'assistant'>, additional...",
        {"response_gen": "<generator object>", "source_nodes": []},
        {
            "llm": {
                "replies": ["ChatMessage(_role=<ChatRole.ASSISTANT: 'assistant'>, _content=[TextContent(text='x')])"]
            }
        },
        "__REDACTED__",
        "None",
    ],
)
@pytest.mark.parametrize(
    "reply",
    [
        "It is 80 EUR.",
        "assistant: It is 80 EUR.",
        "[[ ## reasoning ## ]]\nThe text says so.\n\n[[ ## answer ## ]]\nIt is 80 EUR.\n\n[[ ## completed ## ]]",
        "Thought: I can answer without using any more tools.\nAnswer: It is 80 EUR.",
        "<think>Maybe 90?</think>It is 80 EUR.",
        '{"answer": "It is 80 EUR.", "citations": [1]}',
        '```json\n{"answer": "It is 80 EUR."}\n```',
    ],
)
def test_without_a_readable_output_the_model_s_reply_is_the_answer(said, reply):
    root, found = _rag("What is the fee?", said)
    model = span("llm", root, KIND.LLM, **chat(f"{FEE}\n{DOOR}\nWhat is the fee?", reply))
    assert _item(root, found, model).answer == "It is 80 EUR."


def test_a_structured_answer_in_a_last_tool_call_is_the_answer():
    root, found = _rag("What is the fee?", None)
    call = "llm.output_messages.0.message.tool_calls.0.tool_call.function"
    asked = {"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": FEE}
    stated = {f"{call}.name": "Reply", f"{call}.arguments": '{"answer": "It is 80 EUR.", "ids": ["a"]}'}
    assert _item(root, found, span("llm", root, KIND.LLM, **asked, **stated)).answer == "It is 80 EUR."


def test_a_guard_s_verdict_and_a_reranker_s_ranking_are_never_the_answer():
    root, found = _rag("What is the fee?", None)
    ranking = span("LLMRerank._postprocess_nodes", root, KIND.CHAIN)
    ranked = span("llm", ranking, KIND.LLM, **chat("Rank these", "Doc: 2, Relevance: 9"))
    model = span("llm", root, KIND.LLM, **chat(f"{FEE} What is the fee?", "It is 80 EUR."))
    guard = span("output_guard", root, KIND.GUARDRAIL)
    verdict = span("llm", guard, KIND.LLM, **chat("Is this safe?", "SAFE"))
    item = _item(root, found, ranking, ranked, model, guard, verdict)
    assert (item.answer, item.answer_span_id) == ("It is 80 EUR.", model.span_id)


def test_a_grader_that_runs_last_does_not_hide_which_call_wrote_the_root_s_answer():
    root, found = _rag("What is the fee?", "It is 80 EUR.")
    model = span("llm", root, KIND.LLM, **chat(f"Context:\n{FEE}\n\nQuestion: What is the fee?", "It is 80 EUR."))
    grader = span("llm", root, KIND.LLM, **chat(f"Grounded? {DOOR}", "yes"))
    assert _texts(_item(root, found, model, grader)) == [FEE]


# Where the documents stand


@pytest.mark.parametrize(
    "listed",
    [
        {"documents": [{"id": "a", "page_content": FEE, "metadata": {}, "type": "Document"}]},
        [{"page_content": FEE, "metadata": {"id": "a"}}],
        {"matches": [{"id": "a", "score": 0.9, "metadata": {"text": FEE}}]},
        {"ids": [["a"]], "documents": [[FEE]], "distances": [[0.1]]},
        {"hits": {"total": 1, "hits": [{"_id": "a", "_score": 1.0, "_source": {"text": FEE}}]}},
        {"results": [{"index": 0, "relevance_score": 0.9, "document": {"id": "a", "text": FEE}}]},
        [{"node": {"id_": "a", "text": FEE, "mimetype": "text/plain"}, "score": 0.5, "class_name": "NodeWithScore"}],
        [json.dumps({"node": {"id_": "a", "text": FEE}, "score": 0.5})],
        {"points": [{"id": "a", "payload": {"page_content": FEE}, "score": 0.2}]},
        "[Document(id='a', metadata={'source': 'x'}, page_content='" + FEE + "')]",
        [{"lc": 1, "type": "constructor", "id": ["langchain", "Document"], "kwargs": {"id": "a", "page_content": FEE}}],
    ],
    ids=lambda listed: str(listed)[:40],
)
def test_documents_of_many_stores_are_read(listed):
    root = span("root", kind=KIND.CHAIN, inputs={"question": "Fee?"}, outputs={"answer": "It is 80 EUR."})
    for kind in (KIND.RETRIEVER, KIND.TOOL):
        item = _item(root, span("search", root, kind, inputs={"query": "fee"}, outputs={"output": listed}))
        assert [(d.id, d.text) for d in item.documents] == [("a", FEE)]


def test_an_outer_retriever_decides_and_the_inner_one_holds_the_text():
    root = span("rag", kind=KIND.CHAIN, **io("Fee?", "80 EUR."))
    outer = span("compressor", root, KIND.RETRIEVER, **documents(FEE))
    inner = span("base", outer, KIND.RETRIEVER, **documents(DOOR, FEE, ids=("b", "a")))
    item = _item(root, outer, inner)
    assert [(d.id, d.text, d.span_id, d.position) for d in item.documents] == [("a", FEE, inner.span_id, 1)]


def test_an_outer_retriever_that_rewrites_texts_holds_them_itself():
    root = span("rag", kind=KIND.CHAIN, **io("Fee?", "80 EUR."))
    outer = span("extractor", root, KIND.RETRIEVER, **documents("The annual fee is 80 EUR"))
    inner = span("base", outer, KIND.RETRIEVER, **documents(FEE, DOOR))
    item = _item(root, outer, inner)
    assert [(d.text, d.span_id) for d in item.documents] == [("The annual fee is 80 EUR", outer.span_id)]


def test_a_model_call_inside_a_retriever_is_not_the_answer():
    root = span("rag", kind=KIND.CHAIN, **io("Fee?"))
    outer = span("multi query", root, KIND.RETRIEVER, **documents(FEE, DOOR))
    queries = span("llm", outer, KIND.LLM, **chat("Write three queries", "fee\nprice\ncost"))
    parts = [span("base", outer, KIND.RETRIEVER, **documents(text)) for text in (FEE, DOOR, FEE)]
    model = span("llm", root, KIND.LLM, **chat(f"Context:\n{FEE}\n\n{DOOR}\n\nQuestion: Fee?", "80 EUR."))
    item = _item(root, outer, queries, *parts, model)
    assert item.answer == "80 EUR."
    assert _texts(item) == [FEE, DOOR]


def test_documents_graded_away_are_dropped_and_a_web_search_replaces_them():
    root = span("graph", kind=KIND.CHAIN, **io({"question": "Fee?"}, {"generation": "80 EUR."}))
    found = span("search", root, KIND.RETRIEVER, **documents(DOOR, PARKING))
    web = span("web_search", root, KIND.TOOL, **io("fee", [{"url": "u", "title": "t", "content": FEE}]))
    model = span("llm", root, KIND.LLM, **chat(f"Context:\n{FEE}\n\nQuestion: Fee?", "80 EUR."))
    assert _texts(_item(root, found, web, model)) == [FEE]


def test_a_filter_that_lets_nothing_through_leaves_an_empty_retrieval():
    root = span("rag", kind=KIND.CHAIN, **io("Fee?", "Empty Response"))
    found = span("retrieve", root, KIND.RETRIEVER, **documents(DOOR, ids=("n1",)))
    nodes = ["<NodeWithScore(node=TextNode(id_=n1), score=0.2)>"]
    cut = span("Cutoff._postprocess_nodes", root, KIND.CHAIN, **io({"nodes": nodes}, []))
    assert _reason(root, found, cut) is RejectReason.EMPTY_RETRIEVAL


def test_a_joiner_s_ids_pick_the_documents_when_no_prompt_is_there():
    root = span("pipeline", kind=KIND.CHAIN, **io("Fee?", "80 EUR."))
    found = span("bm25", root, KIND.RETRIEVER, **documents(FEE, DOOR, PARKING, ids=("a", "b", "c")))
    refs = [f"Document(id={i}, content: 'The ann...', score: 1.0)" for i in "abc"]
    ranker = span("ranker", root, KIND.CHAIN, **io({"documents": refs}, {"documents": [refs[2], refs[0]]}))
    item = _item(root, found, ranker)
    assert [d.id for d in item.documents] == ["c", "a"]
    assert [d.citation_numbers for d in item.documents] == [(1,), (2,)]


def test_a_sentence_window_counts_with_its_window():
    root = span("rag", kind=KIND.CHAIN, **io("Fee?", "80 EUR."))
    window = f"{DOOR} {FEE} {PARKING}"
    listed = {**documents(FEE), "retrieval.documents.0.document.metadata": json.dumps({"window": window})}
    found = span("retrieve", root, KIND.RETRIEVER, **listed)
    model = span("llm", root, KIND.LLM, **chat(f"Context:\n{window}\n\nQuery: Fee?", "80 EUR."))
    assert _texts(_item(root, found, model)) == [window]


def test_tools_beside_a_retriever_count_and_repeat_nothing():
    root = span("agent", kind=KIND.AGENT, **io("Fee and parking?", "80 EUR, free after 18:00."))
    tool = span("kb", root, KIND.TOOL, **io("fee", f"{FEE}\n\n{DOOR}"))
    found = span("retriever", tool, KIND.RETRIEVER, **documents(FEE, DOOR, ids=("a", "b")))
    again = span("lookup", root, KIND.TOOL, **io("fee", [{"id": "a", "page_content": FEE}]))
    other = span("city_api", root, KIND.TOOL, **io("parking", PARKING))
    hand = span("transfer_to_billing", root, KIND.TOOL, **io("", "Successfully transferred to billing"))
    item = _item(root, tool, found, again, other, hand)
    assert [(d.text, d.span_id) for d in item.documents] == [
        (FEE, found.span_id), (DOOR, found.span_id), (PARKING, other.span_id)
    ]  # fmt: skip


def test_a_tool_s_record_is_kept_whole():
    root = span("agent", kind=KIND.AGENT, **io("Price of A-1?", "It costs 5 EUR."))
    tool = span("prices", root, KIND.TOOL, **io("A-1", [{"sku": "A-1", "price": 5, "text": "A bolt"}]))
    assert '"price": 5' in _item(root, tool).documents[0].text


def test_only_failed_tools_leave_a_tool_error_and_one_good_one_suffices():
    root = span("agent", kind=KIND.AGENT, **io("Fee?", "I could not find it."))
    failed = span("kb", root, KIND.TOOL, status="ERROR", **io("fee"))
    told = span("kb", root, KIND.TOOL, **io("fee", {"type": "tool", "content": "Error: timeout", "status": "error"}))
    assert _reason(root, failed, told) is RejectReason.TOOL_ERROR
    assert _texts(_item(root, failed, told, span("kb", root, KIND.TOOL, **io("fee", FEE)))) == [FEE]


def test_functions_that_return_documents_are_sources():
    root = span("graph", kind=KIND.CHAIN, **io({"question": "Fee?"}, {"answer": "80 EUR.", "context": [{"text": FEE}]}))
    step = span("retrieve", root, **io({"question": "Fee?"}, {"context": [{"id": "a", "page_content": FEE}]}))
    made = span("generate", root, **io({"question": "Fee?", "context": [{"page_content": FEE}]}, {"answer": "80 EUR."}))
    item = _item(root, step, made)
    assert [(d.id, d.text, d.span_id) for d in item.documents] == [("a", FEE, step.span_id)]


def test_bare_strings_of_a_function_count_if_the_prompt_got_them():
    root = span("app", kind=KIND.CHAIN, **io("Fee?", "80 EUR."))
    fetch = span("fetch", root, **io({"q": "Fee?"}, [FEE, DOOR]))
    queries = span("expand", root, **io({"q": "Fee?"}, ["what does the membership cost", "annual price of membership"]))
    model = span("llm", root, KIND.LLM, **chat(f"Use this:\n{FEE}\n{DOOR}\nFee?", "80 EUR."))
    assert _texts(_item(root, fetch, queries, model)) == [FEE, DOOR]


def test_events_of_a_vector_store_are_documents():
    root = span("rag", **{"traceloop.span.kind": "workflow", "traceloop.entity.input": '{"args": ["Fee?"]}'})
    hit = {"db.query.result.id": "a", "db.query.result.document": FEE, "db.query.result.distance": 0.4}
    store = span("chroma.query", root, events=(SpanEvent(name="db.query.result", attributes=hit),))
    model = span("openai.chat", root, **{
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps([{"role": "user", "parts": [{"type": "text", "content": f"{FEE} Fee?"}]}]),
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "80 EUR"}]}]),
    })  # fmt: skip
    item = _item(root, store, model)
    assert [(d.id, d.text) for d in item.documents] == [("a", FEE)]
    assert item.question == "Fee?"


def test_openllmetry_llama_index_tasks_are_read():
    node = {"node": {"id_": "a", "text": FEE, "class_name": "TextNode"}, "score": 0.9}
    root = span("RetrieverQueryEngine.workflow", **{
        "traceloop.span.kind": "workflow", "traceloop.entity.name": "RetrieverQueryEngine.workflow",
        "traceloop.entity.input": json.dumps({"str_or_query_bundle": "Fee?"}),
        "traceloop.entity.output": json.dumps({"response": "80 EUR.", "source_nodes": [node]}),
    })  # fmt: skip
    found = span("VectorIndexRetriever.task", root, **{
        "traceloop.span.kind": "task", "traceloop.entity.name": "VectorIndexRetriever.task",
        "traceloop.entity.input": json.dumps({"str_or_query_bundle": "Fee?"}),
        "traceloop.entity.output": json.dumps([json.dumps(node)]),
    })  # fmt: skip
    item = _item(root, found)
    assert (item.question, item.answer) == ("Fee?", "80 EUR.")
    assert [(d.id, d.text, d.span_id) for d in item.documents] == [("a", FEE, found.span_id)]


@pytest.mark.parametrize(
    ("prompt", "ids"),
    [
        (f"Context:\n{FEE}\n\n{DOOR}\n\nQuestion: Fee?", ["d1", "d2"]),
        (f"Question: Fee?\nContext: {FEE}\n\n{DOOR}\nAnswer:", ["d1", "d2"]),
        (f"Use the following pieces of context to answer.\n\n{FEE}\n\n{DOOR}\n\nQuestion: Fee?\nHelpful Answer:", None),
        (f"### Context\n{FEE}\n\n{DOOR}\n\n### Question\nFee?", None),
        (f"Context information is below.\n------\n{FEE}\n\n{DOOR}\n------\nAnswer it.\nQuery: Fee?\nAnswer: ", None),
        (f'<documents>\n<document id="a">\n{FEE}\n</document>\n<document id="b">{DOOR}</document></documents>\nFee?',
         ["a", "b"]),
        (f"<context>\n{FEE}\n\n{DOOR}\n</context>\n\nQuestion: Fee?", None),
        (f"Sources:\n[1] {FEE}\n[2] {DOOR}\n\nQ: Fee?", ["d1", "d2"]),
        (f"Documents:\n[kb-1] {FEE}\n\n[kb-2] {DOOR}\n\nQuestion: Fee?", ["kb-1", "kb-2"]),
        (f"Context:\nSource 1: {FEE}\nSource 2: {DOOR}\n\nQuery: Fee?", None),
        (f"Context: {json.dumps([FEE, DOOR])}\nQ: Fee?", None),
        (f"Context: {[FEE, DOOR]}\nQ: Fee?", None),
        (f"[[ ## context ## ]]\n{json.dumps([FEE, DOOR])}\n\n[[ ## question ## ]]\nFee?\n\nRespond with the "
         "corresponding output fields, starting with the field `[[ ## answer ## ]]`.", None),
        (f"Context:\n1. {FEE}\n2. {DOOR}\n\nQuestion: Fee?", None),
        (f"Context:\n{FEE}\n---\n{DOOR}\n\nQuestion: Fee?", None),
        (f"Context:\n===== Document 0 =====\n{FEE}\n===== Document 1 =====\n{DOOR}\n\nQuestion: Fee?", None),
    ],
    ids=range(16),
)  # fmt: skip
def test_a_prompt_alone_gives_context_and_question(prompt, ids):
    item = _item(span("llm", kind=KIND.LLM, **chat(prompt, "80 EUR.", "Use the context only.")))
    assert item.question == "Fee?"
    assert [text.strip() for text in _texts(item)] == [FEE, DOOR]
    assert "context_from_prompt" in item.flags
    assert ids is None or [d.id for d in item.documents] == ids


def test_long_instructions_are_no_context():
    system = "You are a helpful assistant. Use only the provided context. " + "Be polite and brief. " * 20
    assert _reason(span("llm", kind=KIND.LLM, **chat("What is the fee?", "80 EUR.", system))) is RejectReason.NO_CONTEXT


def test_an_explicitly_empty_retrieval_is_not_replaced_by_the_prompt():
    root = span("rag", kind=KIND.CHAIN, **io("Fee?", "80 EUR."))
    empty = span("search", root, KIND.RETRIEVER, **io("Fee?", {"documents": []}))
    model = span("llm", root, KIND.LLM, **chat(f"Context:\n{FEE * 4}\n\nQuestion: Fee?", "80 EUR."))
    assert _reason(root, empty, model) is RejectReason.EMPTY_RETRIEVAL


def test_tool_messages_of_this_turn_are_the_context_and_of_earlier_turns_if_there_are_no_others():
    def model(*messages):
        flat = {}
        for n, (role, text) in enumerate(messages):
            flat[f"llm.input_messages.{n}.message.role"] = role
            flat[f"llm.input_messages.{n}.message.content"] = text
        reply = {"llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": "80 EUR."}
        return span("llm", kind=KIND.LLM, **flat, **reply)

    earlier = [("user", "Door?"), ("tool", json.dumps([{"id": "b", "content": DOOR}])), ("assistant", "Monday.")]
    now = [("user", "Fee?"), ("tool", json.dumps([{"id": "a", "content": FEE}]))]
    assert [d.id for d in _item(model(*earlier, *now)).documents] == ["a"]
    follow_up = _item(model(*earlier, ("user", "At noon?")))
    assert [d.id for d in follow_up.documents] == ["b"]
    assert follow_up.question == "At noon?"


def test_hosted_web_search_without_texts_is_not_recorded():
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "80 EUR."}]}
    body = {"output": [{"type": "web_search_call", "status": "completed"}, said]}
    model = span("Response", kind=KIND.LLM, **io({"input": "Fee?"}, body))
    assert _reason(model) is RejectReason.CONTEXT_NOT_RECORDED


def test_documents_that_the_prompt_escapes_still_reach_the_answer():
    root = span("rag", kind=KIND.CHAIN, **io("Fee?", "80 EUR."))
    texts = ("R&D pays <50 EUR for guests.", FEE, DOOR)
    found = span("search", root, KIND.RETRIEVER, **documents(*texts))
    prompt = f"Context:\nR&amp;D pays &lt;50 EUR for guests.\n\n{FEE}\n\nQuestion: Fee?"
    assert _texts(_item(root, found, span("llm", root, KIND.LLM, **chat(prompt, "80 EUR.")))) == list(texts[:2])


def test_messages_recorded_without_their_contents_are_not_captured():
    model = span("chat m", **{
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps([{"role": "user", "parts": [{"type": "text"}]}]),
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [{"type": "text"}]}]),
    })  # fmt: skip
    assert _reason(span("invoke_agent a"), model) is RejectReason.CONTENT_NOT_CAPTURED


def test_citation_numbers_follow_the_prompt_where_lists_were_merged():
    root = span("rag", kind=KIND.CHAIN, **io("Fee?", "80 EUR [1], at noon [2]."))
    one = span("bm25", root, KIND.RETRIEVER, **documents(FEE, PARKING, ids=("a", "c")))
    two = span("dense", root, KIND.RETRIEVER, **documents(FEE, DOOR, ids=("a", "b")))
    prompt = f"Context:\n[1] {FEE}\n[2] {DOOR}\n[3] {PARKING}\n\nQuestion: Fee?"
    item = _item(root, one, two, span("llm", root, KIND.LLM, **chat(prompt, "80 EUR [1], at noon [2].")))
    assert {d.id: d.citation_numbers for d in item.documents} == {"a": (1,), "c": (3,), "b": (2,)}


# Limits and losses


def _many(first: int, total: int) -> dict[str, Any]:
    texts = {n: f"Item {n}: the fee is {n + 100} EUR." for n in range(total)}
    return {f"retrieval.documents.{n}.document.content": texts[n] for n in range(first, total)}


def test_documents_evicted_by_the_attribute_limit_come_back_from_the_prompt():
    root = span("rag", kind=KIND.CHAIN, **io("Fee of item 1?", "101 EUR."))
    every = list(_many(0, 20).values())
    for first, dropped in ((5, 9), (5, 0)):
        found = span("search", root, KIND.RETRIEVER, dropped=dropped, **_many(first, 20))
        prompt = "Context:\n" + "\n\n".join(every) + "\n\nQuestion: Fee of item 1?"
        model = span("llm", root, KIND.LLM, **chat(prompt, "101 EUR."))
        item = _item(root, found, model)
        assert _texts(item) == every
        assert "dropped_attributes" in item.flags
        assert "context_truncated" not in item.flags
        assert {d.span_id for d in item.documents[:5]} == {model.span_id}
        assert {d.span_id for d in item.documents[5:]} == {found.span_id}


def test_evicted_documents_that_no_prompt_restores_are_flagged():
    root = span("rag", kind=KIND.CHAIN, **io("Fee of item 1?", "101 EUR."))
    item = _item(root, span("search", root, KIND.RETRIEVER, dropped=9, **_many(5, 20)))
    assert {"dropped_attributes", "context_truncated"} <= set(item.flags)


def test_many_documents_within_the_limit_are_not_suspected():
    root = span("rag", kind=KIND.CHAIN, **io("Fee of item 1?", "101 EUR."))
    item = _item(root, span("search", root, KIND.RETRIEVER, **io("fee"), **_many(0, 60)))
    assert len(item.documents) == 60
    assert not {"dropped_attributes", "context_truncated"} & set(item.flags)


def test_hidden_outputs_are_redacted_and_no_missing_answer():
    root, found = _rag("What is the fee?", "__REDACTED__")
    assert _reason(root, found) is RejectReason.REDACTED


def test_hidden_runs_were_not_captured():
    root = span("root", kind=KIND.CHAIN, inputs={}, outputs={})
    assert _reason(root, span("r", root, KIND.RETRIEVER, inputs={}, outputs={})) is RejectReason.CONTENT_NOT_CAPTURED


# Several items, several traces


def test_a_loop_over_questions_gives_one_item_each():
    loop = span("nightly", kind=KIND.CHAIN, **io(["Fee?", "Door?"]))
    spans = [loop]
    for question, answer, text in (("Fee?", "80 EUR.", FEE), ("Door?", "Monday.", DOOR)):
        part = span("rag", loop, KIND.CHAIN, **io(question, answer))
        spans += [part, span("search", part, KIND.RETRIEVER, **documents(text))]
    pulled = trace(*spans)
    items = validate(extract(pulled), pulled).items
    assert [(i.question, i.answer, _texts(i)) for i in items] == [
        ("Fee?", "80 EUR.", [FEE]), ("Door?", "Monday.", [DOOR])
    ]  # fmt: skip
    assert all("multi_item_trace" in item.flags for item in items)


def test_steps_without_a_common_root_make_one_item():
    found = span("search", parent_id="dead", kind=KIND.RETRIEVER, **io("Fee?"), **documents(FEE))
    prepare = span("prepare", parent_id="dead", kind=KIND.CHAIN, **io("Fee?", {"q": "Fee?"}))
    model = span("llm", parent_id="dead", kind=KIND.LLM, **chat(f"Context:\n{FEE}\n\nQuestion: Fee?", "80 EUR."))
    item = _item(found, prepare, model)
    assert (item.annotate_span_id, item.question, item.answer) == (model.span_id, "Fee?", "80 EUR.")
    assert "missing_root" in item.flags


def test_a_retrieval_in_a_trace_of_its_own_is_joined_to_the_call_that_got_it():
    found = span("search", kind=KIND.RETRIEVER, trace="t1", **documents(FEE, ids=("a",)))
    other = span("search", kind=KIND.RETRIEVER, trace="t2", **documents(PARKING))
    model = span("llm", kind=KIND.LLM, trace="t3", **chat(f"Context:\n{FEE}\n\nQuestion: Fee?", "80 EUR."))
    pulled = trace(found, other, model)
    valid = validate(extract(pulled), pulled)
    assert [d.id for d in valid.items[0].documents] == ["a"]
    assert "split_traces" in valid.items[0].flags
    assert [r.reason for r in valid.rejections] == [RejectReason.NO_ANSWER]


def test_odd_trees_end_in_a_result():
    loop = [span("a", kind=KIND.CHAIN, **io("Fee?", "80 EUR.")), span("b", kind=KIND.RETRIEVER, **documents(FEE))]
    a, b = (type(s)(**{**{f: getattr(s, f) for f in s.__slots__}, "parent_id": o.span_id})
            for s, o in ((loop[0], loop[1]), (loop[1], loop[0])))  # fmt: skip
    pulled = trace(a, b)
    valid = validate(extract(pulled), pulled)
    assert len(valid.items) + len(valid.rejections) == 1
    assert extract(trace()).items == ()


# Paths from the configuration


def test_paths_override_the_rules():
    root = span("root", kind=KIND.CHAIN, inputs={"p": {"ask": "Fee?"}}, outputs={"r": {"say": "80 EUR."}})
    hits = [{"_id": "a", "_source": {"body": {"de": FEE}}}, {"_id": "b", "_source": {"body": {"de": DOOR}}}]
    store = span("es", root, KIND.TOOL, outputs={"hits": {"hits": hits}})
    noise = span("audit", root, KIND.TOOL, outputs={"hits": {"hits": [{"_id": "z", "_source": {"body": {"de": "x"}}}]}})
    paths = ExtractionPaths(
        question="inputs.p.ask",
        answer="outputs.r.say",
        documents="outputs.hits.hits[]._source.body.de",
        document_id="_id",
        documents_span="e*",
    )
    item = _item(root, store, noise, paths=paths)
    assert (item.question, item.answer) == ("Fee?", "80 EUR.")
    assert [(d.id, d.text, d.span_id) for d in item.documents] == [
        ("a", FEE, store.span_id),
        ("b", DOOR, store.span_id),
    ]
    pulled = trace(root, store, noise)
    assert {s.field for s in extract(pulled, paths).found_in if s.part == "documents"} == {paths.documents}


def test_paths_read_attributes_whose_keys_have_dots():
    root = span("app", **{"my.app.question": "Fee?", "my.app.reply": "80 EUR.", "my.app.docs": json.dumps([FEE, DOOR])})
    paths = ExtractionPaths(question="my.app.question", answer="my.app.reply", documents="my.app.docs[]")
    item = _item(root, paths=paths)
    assert (item.question, item.answer, _texts(item)) == ("Fee?", "80 EUR.", [FEE, DOOR])


def test_a_path_that_finds_nothing_leaves_the_rules_result():
    root, found = _rag()
    item = _item(
        root, found, paths=ExtractionPaths(question="inputs.nowhere", document_text="x", documents="outputs.y[]")
    )
    assert (item.question, _texts(item)) == ("What is the fee?", [FEE, DOOR])


# Whatever a trace holds, extraction ends

_SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.text(max_size=12), st.just("__REDACTED__"))
_WORDS = ("messages", "content", "role", "documents", "id", "page_content", "output", "answer", "question", "parts",
          "type", "kwargs", "data", "tool_calls", "text", "metadata", "input", "outputs", "node")  # fmt: skip
_PAYLOADS = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(_WORDS), inner, max_size=4)),
    max_leaves=12,
)
_KEYS = (
    "input.value", "output.value", "llm.input_messages.0.message.content",
    "llm.output_messages.0.message.contents.0.x.text",
    "llm.prompts", "retrieval.documents", "retrieval.documents.0.document.content", "retrieval.documents.x.document.id",
    "retrieval.documents.3.document.metadata", "gen_ai.input.messages", "gen_ai.output.messages",
    "gen_ai.operation.name",
    "gen_ai.retrieval.documents", "gen_ai.system_instructions", "traceloop.entity.input", "traceloop.entity.output",
    "ai.prompt", "ai.prompt.messages", "ai.response.toolCalls", "ai.operationId", "mlflow.spanInputs",
    "mlflow.spanOutputs",
    "mlflow.spanType", "langfuse.observation.output", "gcp.vertex.agent.llm_request", "gcp.vertex.agent.llm_response",
    "crew_tasks", "llm.prompt_template.variables", "tool.name", "session.id",
)  # fmt: skip


@given(st.lists(st.tuples(st.sampled_from(KIND), st.dictionaries(st.sampled_from(_KEYS), _PAYLOADS, max_size=5),
                          _PAYLOADS, _PAYLOADS), min_size=1, max_size=4), st.booleans())  # fmt: skip
@settings(max_examples=150, deadline=None)
def test_no_payload_stops_extraction(parts, is_text):
    spans = []
    for kind, attributes, inputs, outputs in parts:
        flat = {k: json.dumps(v) if is_text and v is not None else v for k, v in attributes.items()}
        spans.append(span("s", spans[0] if spans else None, kind, inputs=inputs, outputs=outputs, **flat))
    pulled = trace(*spans)
    found = extract(pulled)
    valid = validate(found, pulled)
    assert found.items
    assert len(valid.items) + len(valid.rejections) == len(found.items)
    known = {s.span_id for s in spans}
    assert all(isinstance(i.answer, str) and i.annotate_span_id in known for i in found.items)


_PIECES = st.text(st.sampled_from("ab .\n\t\x1c\u00a0\u0301ﬁ"), max_size=12)


@given(_PIECES, _PIECES, _PIECES, st.booleans())
@settings(max_examples=300, deadline=None)
def test_what_a_prompt_quotes_stands_in_the_folded_prompt(before, text, after, is_there):
    model = Node(span("llm", kind=KIND.LLM, **chat(before + text * is_there + after, "b", system="a")), 0)
    assert model.was_given(folded(text)) is (folded(text) in model.prompt_folded)
    assert not model.quotes(text) or folded(text) in model.prompt_folded
    assert model.has_prompt is bool(model.prompt_folded)
