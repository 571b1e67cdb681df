"""Find the question in what a span was given."""

from typing import Any

from enricher.steps.extraction.messages import Message, last_user, message_of, messages_in
from enricher.steps.extraction.payloads import Found, decode, is_broken_json, plain_text
from enricher.steps.extraction.prompts import question_of, without_label

_KEYS = (
    "question", "str_or_query_bundle", "user_question", "original_question", "user_query", "query", "query_str",
    "query_bundle", "input", "user_input", "user_message", "user_msg", "chat_input", "message", "messages", "contents",
    "prompt", "task", "description", "inputs", "new_message", "input_str", "search_query", "text", "content", "parts",
    "args", "kwargs", "data", "payload", "body", "request", "input_args", "params", "event", "state", "q", "value",
)  # fmt: skip
_CONTAINERS = frozenset({"args", "kwargs", "data", "payload", "body", "request", "input_args", "params", "event",
                         "state", "inputs"})  # fmt: skip
# Long texts under these keys are configuration or context, not the question.
_ASIDE = frozenset({"context", "documents", "docs", "system", "instructions", "template", "metadata", "config", "model",
                    "history", "chat_history", "trajectory", "lang", "language", "user_id", "session_id"})  # fmt: skip
_DEPTH = 5


def question_in(value: Any) -> Found | None:
    """Return the question in a decoded payload, with its path inside the payload."""
    found = _search(value, "", _DEPTH)
    return Found(without_label(found.value), found.field) if found else None


def asked(message: Message | None) -> str | None:
    """Return the question in a user turn: its last text part, without the context around it."""
    texts = [text for text in (message.texts if message else ()) if plain_text(text)]
    return question_of(texts[-1]) if texts else None


def _search(value: Any, path: str, depth: int) -> Found | None:
    if isinstance(value, str):
        text = plain_text(value)
        if text and text[0] in "{[" and not isinstance(decoded := decode(text), str):
            return _search(decoded, path, depth - 1) if depth else None
        return Found(question_of(text), path) if text and not is_broken_json(text) else None
    if depth == 0 or not isinstance(value, list | dict) or not value:
        return None
    if said := _in_messages(value):
        return Found(said, path)
    if isinstance(value, list):
        listed = (_search(item, f"{path}/{index}", depth - 1) for index, item in enumerate(value[:3]))
        return next((found for found in listed if found), None)
    return _in_dict(value, path, depth)


def _in_messages(value: list[Any] | dict[str, Any]) -> str | None:
    if isinstance(value, list):
        return asked(last_user(messages_in(value)))
    single = message_of(value)
    return asked(single) if single and single.role == "user" else None


def _in_dict(value: dict[str, Any], path: str, depth: int) -> Found | None:
    for key in _KEYS:
        if key in value and (found := _search(value[key], f"{path}/{key}", depth - 1)):
            return found
        if key in _CONTAINERS and isinstance(value.get(key), dict):
            found = _of_parts(value[key], f"{path}/{key}", depth - 1)
            if found:
                return found
    return _only_text(value, path)


def _of_parts(value: dict[str, Any], path: str, depth: int) -> Found | None:
    """Look into each named part of a container, such as the components of a Haystack pipeline."""
    inner = ((key, part) for key, part in value.items() if isinstance(part, dict) and depth > 0)
    return next((found for key, part in inner if (found := _in_dict(part, f"{path}/{key}", depth - 1))), None)


def _only_text(value: dict[str, Any], path: str) -> Found | None:
    """Take the only text of several words, whatever its key."""
    texts = [
        (key, text)
        for key, item in value.items()
        if key not in _ASIDE and (text := plain_text(item)) and (" " in text or text.endswith("?"))
    ]
    questions = [pair for pair in texts if pair[1].endswith("?")]
    chosen = questions if len(questions) == 1 else texts
    return Found(question_of(chosen[0][1]), f"{path}/{chosen[0][0]}") if len(chosen) == 1 else None
