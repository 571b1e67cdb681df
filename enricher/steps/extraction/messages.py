"""Read chat messages of any provider or framework into one shape."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from enricher.steps.extraction.payloads import as_list, decode, plain_text

_ROLES = {
    "human": "user",
    "ai": "assistant",
    "model": "assistant",
    "aimessagechunk": "assistant",
    "developer": "system",
    "function": "tool",
    "tool-response": "tool",
    "tool-call": "assistant",
    "ipython": "tool",
    "chat": "user",
}
_KNOWN_ROLES = frozenset({"user", "assistant", "system", "tool"})
_LISTS = ("messages", "contents", "input_messages", "chat_history", "history", "input")
_RESULTS = ("tool_call_response", "tool-result", "tool_result", "function_call_output", "function_response")
_OBSERVATION = ("Observation:", "Tool Response:", "[[ ## observation")
_ERROR = ("Error:", "Error invoking tool", "Tool error", "ToolException", "Traceback (most recent call last)")


@dataclass(frozen=True, slots=True)
class Message:
    """One turn. `results` are payloads that tools returned; a turn of role user can consist of them alone."""

    role: str  # user, assistant, system or tool
    texts: tuple[str, ...] = ()
    calls: tuple[tuple[str, Any], ...] = ()  # tool name and decoded arguments
    results: tuple[Any, ...] = ()
    is_error: bool = False
    refusal: str | None = None

    @property
    def text(self) -> str:
        """Join the text parts."""
        return "\n".join(self.texts)


def messages_in(payload: Any) -> list[Message]:
    """Return the messages that a decoded payload holds as a list, on its own or under a usual key."""
    if isinstance(payload, str):
        payload = decode(payload)
    if isinstance(payload, dict):
        for key in _LISTS:
            if isinstance(payload.get(key), list) and (found := messages_in(payload[key])):
                return found
        single = message_of(payload)
        return [single] if single else []
    if not isinstance(payload, list):
        return []
    is_batch = len(payload) == 1 and isinstance(payload[0], list) and message_of(payload[0]) is None
    if is_batch:  # LangChain's batch of one
        return messages_in(payload[0])
    found = [m for m in map(message_of, payload) if m]
    return found if len(found) * 2 > len(payload) else []


def message_of(raw: Any) -> Message | None:
    """Read one message; None when the payload is something else."""
    if not isinstance(raw, dict):
        return _message_of_pair(raw)
    fields = _fields(raw)
    if fields.get("type") in _RESULTS:
        return Message("tool", results=(_result(fields),))
    role = _role(fields.get("role")) or _role(fields.get("type")) or _role(_class_name(raw))
    if role is None:
        return None
    return _message(role, fields)


def _message_of_pair(raw: Any) -> Message | None:
    """Read LangChain's ("user", "text")."""
    is_pair = isinstance(raw, list | tuple) and len(raw) == 2 and isinstance(raw[0], str) and isinstance(raw[1], str)
    role = _role(raw[0]) if is_pair else None
    return Message(role, (raw[1],)) if role else None


def _message(role: str, fields: dict[str, Any]) -> Message:
    texts: list[str] = []
    results: list[Any] = []
    calls = list(_calls(fields))
    body = fields.get("content") if fields.get("content") is not None else fields.get("parts", fields.get("contents"))
    for part in body if isinstance(body, list) else [body]:
        _read_part(part, texts, results, calls)
    if role == "tool":
        results = results or [fields["artifact"] if fields.get("artifact") else "\n".join(texts)]
        texts = []
    is_error = fields.get("status") == "error" or (role == "tool" and is_error_text(results[0]))
    extra = fields.get("additional_kwargs")
    refusal = fields.get("refusal") or (extra.get("refusal") if isinstance(extra, dict) else None)
    return Message(role, tuple(texts), tuple(calls), tuple(results), is_error, plain_text(refusal))


def is_error_text(value: Any) -> bool:
    """Tell whether a tool's result is the message of its failure."""
    if isinstance(value, dict):
        return bool(value.get("is_error") or value.get("isError")) or set(value) == {"error"}
    return isinstance(value, str) and value.lstrip().startswith(_ERROR)


def last_user(messages: Sequence[Message]) -> Message | None:
    """Return the last turn in which a person said something."""
    said = (m for m in reversed(messages) if m.role == "user" and any(map(plain_text, m.texts)))
    return next((m for m in said if not m.text.lstrip().startswith(_OBSERVATION)), None)


def last_assistant(messages: Sequence[Message]) -> Message | None:
    """Return the last assistant turn if it comes after everything that people said."""
    for message in reversed(messages):
        if message.role == "assistant" and any(map(plain_text, message.texts)):
            return message
        if message.role == "user" and message.texts:
            return None
    return None


def _role(word: Any) -> str | None:
    if not isinstance(word, str):
        return None
    word = word.lower()
    word = _ROLES.get(word, word)
    return word if word in _KNOWN_ROLES else None


def _fields(raw: dict[str, Any]) -> dict[str, Any]:
    """Unwrap LangChain's two serialised forms, {type, data} and {lc, id, kwargs}."""
    for key in ("data", "kwargs"):
        inner = raw.get(key)
        if isinstance(inner, dict) and "content" in inner:
            return {**{k: v for k, v in raw.items() if k in ("type", "role") and v != "constructor"}, **inner}
    return raw


def _class_name(raw: dict[str, Any]) -> str | None:
    path = raw.get("id")
    if isinstance(path, list) and path and isinstance(path[-1], str) and path[-1].endswith("Message"):
        return path[-1].removesuffix("Message")
    return None


def _calls(fields: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for call in as_list(fields.get("tool_calls")):
        if isinstance(call, dict):
            yield from _call(call)


def _call(call: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    inner = call.get("function") or call.get("tool_call") or call.get("function_call") or call.get("toolUse") or call
    if not isinstance(inner, dict):
        return
    name = inner.get("name") or inner.get("toolName")
    arguments = inner.get("arguments", inner.get("args", inner.get("input")))
    if isinstance(name, str):
        yield name, decode(decode(arguments, quoted=True))


def _read_part(part: Any, texts: list[str], results: list[Any], calls: list[tuple[str, Any]]) -> None:
    """Sort one content part: plain text, a tool's result, or a call. Images, audio and reasoning are passed over."""
    if isinstance(part, str):
        texts.append(part)
        return
    if not isinstance(part, dict):
        return
    kind = part.get("type")
    if kind in _RESULTS or "function_response" in part or "toolResult" in part:
        results.append(_result(part))
    elif kind in ("tool_call", "tool-call", "tool_use", "function_call") or "function_call" in part:
        calls.extend(_call(part))
    elif kind in ("reasoning", "thinking", "redacted_thinking", "refusal"):
        return
    else:
        text = part.get("text") if part.get("text") is not None else part.get("content")
        if isinstance(text, str):
            texts.append(text)


def _result(part: dict[str, Any]) -> Any:
    for key in ("function_response", "toolResult"):
        if isinstance(part.get(key), dict):
            part = part[key]
    for key in ("response", "output", "result", "content"):
        if part.get(key) is not None:
            value = decode(part[key])
            if isinstance(value, dict) and set(value) <= {"type", "value"} and "value" in value:
                return decode(value["value"])
            return value
    return ""


def openinference_messages(groups: Sequence[dict[str, Any]]) -> list[Message]:
    """Read flattened `llm.*_messages.N.message.*` attributes, one dict of remaining keys a message."""
    return [_from_flat(group) for group in groups]


def _from_flat(flat: dict[str, Any]) -> Message:
    role = _role(flat.get("message.role")) or "assistant"
    parts: dict[int, str] = {}
    calls: dict[int, dict[str, Any]] = {}
    for key, value in flat.items():
        if ".contents." not in key and ".tool_calls." not in key:
            continue
        pieces = key.split(".")
        if len(pieces) < 4 or not pieces[2].isdigit():
            continue
        if pieces[1] == "contents" and pieces[-1] in ("text", "content"):
            parts[int(pieces[2])] = value
        elif pieces[1] == "tool_calls":
            calls.setdefault(int(pieces[2]), {})[pieces[-1]] = value
    texts = [parts[index] for index in sorted(parts) if isinstance(parts[index], str)]
    if isinstance(flat.get("message.content"), str):
        texts.insert(0, flat["message.content"])
    # Phoenix leaves a tool's result under role user, but adds the id of its call.
    is_result = role == "tool" or "message.tool_call_id" in flat
    made = [(c["name"], decode(decode(c.get("arguments"), quoted=True))) for c in calls.values() if "name" in c]
    if is_result:
        body = decode("\n".join(texts))
        return Message("tool", results=(body,), is_error=is_error_text(body))
    return Message(role, tuple(texts), tuple(made))


def turns(messages: Sequence[Message]) -> tuple[str, ...]:
    """Return what was said before the last user turn, oldest first, each turn with its speaker."""
    last = last_user(messages)
    said: list[str] = []
    for message in messages:
        if message is last:
            return tuple(said)
        if message.role in ("user", "assistant") and (text := plain_text(message.text)):
            said.append(f"{message.role}: {text}")
    return ()


def as_text(value: Any) -> str:
    """Write a decoded payload as text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
