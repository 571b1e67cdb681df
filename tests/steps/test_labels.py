"""What items can be grouped by: the application's model, prompt, retrievers and metadata, as the trace names them."""

import json

from enricher.steps.extraction import extract
from tests.steps.spans import KIND, documents, io, span, trace


def item_of(root_attributes=None, model_attributes=None, metadata=None):
    root = span("qa", None, KIND.CHAIN, **io({"question": "How long?"}, "30 days."), **(root_attributes or {}))
    found = span("vector_store", root, KIND.RETRIEVER, **io("How long?"), **documents("30 days."))
    said = io("How long?", "30 days.")
    model = span("chat", root, KIND.LLM, **said, **(model_attributes or {}))
    [item] = extract(trace(root, found, model)).items
    return item.metadata


def test_model_and_retrievers_are_named():
    found = item_of(model_attributes={"llm.model_name": "gpt-4o", "gen_ai.response.model": "gpt-4o-2024-08-06"})
    assert (found["model"], found["retriever"]) == ("gpt-4o-2024-08-06", "vector_store")


def test_a_prompt_is_named_by_its_version_else_by_a_digest_of_its_template():
    named = {"llm.prompt_template.version": "7", "llm.prompt_template.template": "Answer {question}"}
    assert item_of(model_attributes=named)["prompt"] == "7"
    hub = {"metadata.lc_hub_repo": "rag", "metadata.lc_hub_commit_hash": "abc"}
    assert item_of(model_attributes=hub)["prompt"] == "rag@abc"
    one, two = ({"llm.prompt_template.template": text} for text in ("Answer {question}", "Be brief. {question}"))
    assert item_of(model_attributes=one)["prompt"].startswith("template ")
    assert item_of(model_attributes=one)["prompt"] == item_of(model_attributes=one)["prompt"]
    assert item_of(model_attributes=one)["prompt"] != item_of(model_attributes=two)["prompt"]
    assert "prompt" not in item_of()


def test_metadata_is_read_as_text_and_flattened_without_what_frameworks_note_of_themselves():
    text = {"metadata": json.dumps({"tier": "gold", "langgraph_step": 2, "ls_provider": "x", "n": {"a": 1}})}
    found = item_of(root_attributes=text)
    assert (found["tier"], found["n"]) == ("gold", {"a": 1})
    assert not {"langgraph_step", "ls_provider"} & set(found)
    flat = item_of(root_attributes={"metadata.release": "r7", "tag.tags": ["beta", "eu"]})
    assert (flat["release"], flat["tags"]) == ("r7", ["beta", "eu"])
    assert item_of(root_attributes={"metadata": "no JSON"})["retriever"] == "vector_store"
