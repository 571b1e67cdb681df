"""Find the answer in what a span returned, or in what a model replied."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from enricher.steps.extraction.messages import Message, last_assistant, message_of, messages_in
from enricher.steps.extraction.payloads import Found, decode, plain_text

_KEYS = (
    "answer", "final_answer", "structured_response", "parsed", "generation", "output", "result", "response", "raw",
    "text",
    "content", "outputs", "final_result", "final_output", "output_text", "messages", "message", "completion", "reply",
    "replies", "answers", "choices", "generations", "return_values", "parts", "data", "value",
)  # fmt: skip
_STRICT_KEYS = ("answer", "final_answer")  # the only ones trusted inside a model's own JSON text
_SPEAKING = ("answer", "final_answer", "output", "response", "result", "generation", "message", "update")
_ASIDE = frozenset({"question", "input", "query", "reasoning", "rationale", "thought", "trajectory", "context",
                    "documents", "chat_history", "history", "id", "model", "type", "role", "status", "metadata",
                    "citations", "sources", "session_id", "response_gen", "source_nodes"})  # fmt: skip
_DSPY_FIELD = re.compile(r"\[\[ ## (\w+) ## \]\]\s*(.*?)\s*(?=\[\[ ## |\Z)", re.S)
_NOT_THE_ANSWER = ("reasoning", "rationale", "completed", "thought", "trajectory")
_REACT = re.compile(r"^(?:Final Answer|Answer):[ \t]*", re.M)
_THINKING = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>\s*", re.S)
_FENCED_JSON = re.compile(r"\A```(?:json)?\s*(\{.*\})\s*```\Z", re.S)
_DEPTH = 6


def answer_in(value: Any) -> Found | None:
    """Return the answer in a decoded payload, with its path inside the payload."""
    return _search(value, "", _DEPTH)


def answer_of_reply(text: str) -> str | None:
    """Return the answer in a model's text: the field of a structured reply, without thoughts and prefixes."""
    text = _THINKING.sub("", text).removeprefix("assistant: ").strip()
    if "[[ ## " in text:
        fields = [(name, body) for name, body in _DSPY_FIELD.findall(text) if name not in _NOT_THE_ANSWER and body]
        text = dict(fields).get("answer") or (fields[0][1] if fields else "")
    if text.startswith("Thought:") and (marks := list(_REACT.finditer(text))):
        text = text[marks[-1].end() :]
    fenced = _FENCED_JSON.match(text)
    body = decode(fenced.group(1) if fenced else text)
    if isinstance(body, dict):
        for key in _STRICT_KEYS:
            if (stated := plain_text(body.get(key))) is not None:
                return stated
    return plain_text(text)


def answer_of_call(messages: Sequence[Message]) -> str | None:
    """Return the answer that a model stated as arguments of a tool call."""
    for message in messages:
        for _, arguments in message.calls:
            if isinstance(arguments, dict) and (found := answer_in(arguments)):
                return str(found.value)
    return None


def citations_in(value: Any) -> list[str]:
    """Return the ids that a structured answer names as its sources."""
    body = decode(value)
    if not isinstance(body, dict):
        return []
    listed: list[Any] = next(
        (body[k] for k in ("citations", "sources", "cited_documents") if isinstance(body.get(k), list)), []
    )
    found = [str(item) for item in listed if isinstance(item, str | int)]
    return found or list(dict.fromkeys(_annotated(body.get("output"))))


def _annotated(output: Any) -> Iterator[str]:
    """Yield the files that the annotations of a Responses reply name; its text does not hold them."""
    for message in output if isinstance(output, list) else ():
        for part in (message.get("content") if isinstance(message, dict) else None) or ():
            for annotation in (part.get("annotations") if isinstance(part, dict) else None) or ():
                if isinstance(annotation, dict) and (name := annotation.get("file_id") or annotation.get("url")):
                    yield str(name)


def _search(value: Any, path: str, depth: int) -> Found | None:
    if isinstance(value, str):
        if value[:1] == "{" and not isinstance(decoded := decode(value), str):
            return _search(decoded, path, depth - 1) if depth else None
        stated = answer_of_reply(value) if plain_text(value) else None
        return Found(stated, path) if stated else None
    if isinstance(value, bool | int | float) and path:
        return Found(json.dumps(value), path)
    if depth == 0 or not isinstance(value, list | dict) or not value:
        return None
    return _in_list(value, path, depth) if isinstance(value, list) else _in_dict(value, path, depth)


def _in_list(value: list[Any], path: str, depth: int) -> Found | None:
    if messages := messages_in(value):
        said = last_assistant(messages)
        stated = answer_of_reply(said.text) if said else None
        return Found(stated, path) if stated else None
    is_document = isinstance(value[0], dict) and not any(key in value[0] for key in _SPEAKING)
    return _search(value[0], f"{path}/0", depth - 1) if len(value) == 1 and not is_document else None


def _in_dict(value: dict[str, Any], path: str, depth: int) -> Found | None:
    if (message := message_of(value)) is not None:
        stated = answer_of_reply(message.text) if message.role == "assistant" else None
        return Found(stated, path) if stated else None
    for key in _KEYS:
        item = value.get(key)
        if item is None or (isinstance(item, int | float) and key not in _STRICT_KEYS):
            continue
        if found := _search(item, f"{path}/{key}", depth - 1):
            return found
    for key, item in value.items():  # a pipeline's output by component
        if isinstance(item, dict) and key not in _ASIDE and any(k in item for k in ("replies", "answers", "answer")):
            return _in_dict(item, f"{path}/{key}", depth - 1) if depth > 1 else None
    texts = [(key, text) for key, item in value.items() if key not in _ASIDE and (text := plain_text(item))]
    return Found(texts[0][1], f"{path}/{texts[0][0]}") if len(texts) == 1 and " " in texts[0][1] else None
