"""A local server that speaks the OpenAI chat-completions protocol: scripted replies, faults, or an oracle.

Strict where the original is strict: authentication, unknown models and parameters, `response_format`, context length.
Run it by hand with `python -m tests.servers.openai --help`.
"""

import argparse
import asyncio
import contextlib
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from tests.servers import oracle
from tests.servers.batches import Desk

_PARAMETERS = frozenset(
    re.findall(
        r"\w+",
        """model messages temperature max_tokens max_completion_tokens seed response_format top_p n stop stream user
        logprobs top_logprobs presence_penalty frequency_penalty logit_bias tools tool_choice parallel_tool_calls
        metadata store reasoning_effort service_tier""",
    )
)
_REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 413: "Too Large"}
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_CACHE_STEP, _CACHE_MIN = 128, 1024  # tokens; prefixes are cached from 1024 tokens on, in steps of 128


@dataclass(frozen=True)
class Say:
    """A successful completion with this content."""

    content: Any
    finish_reason: str = "stop"
    refusal: str | None = None
    model: str | None = None  # the snapshot that the server reports
    usage: dict[str, Any] | None = None


@dataclass(frozen=True)
class Fail:
    """An error answer as the original words it."""

    status: int
    message: str = "The server had an error while processing your request."
    code: str | None = None
    param: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    body: str | None = None  # instead of the usual error object


@dataclass(frozen=True)
class Raw:
    """A 200 answer with exactly this body."""

    body: str


HANG = "hang"  # never answers
RESET = "reset"  # closes the connection without an answer
DRIP = "drip"  # sends one byte now and then, for ever
Answer = Say | Fail | Raw | str
Matcher = str | Callable[[dict[str, Any]], bool]


@dataclass
class Request:
    """A request as it arrived."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    answered: Answer | None = None
    method: str = "POST"
    target: str = ""  # path and query
    raw: bytes = b""

    @property
    def prompt(self) -> str:
        """Return all messages as one text."""
        return "\n".join(str(message.get("content")) for message in self.body.get("messages", ()))


class OpenAIServer:
    """The server; `script` answers by matcher, everything else goes to `default`."""

    def __init__(
        self,
        *,
        api_key: str | None = None,
        models: tuple[str, ...] = (),  # none: every model exists
        forms: tuple[str, ...] = ("json_schema", "json_object"),
        is_llama_cpp: bool = False,
        refused_parameters: tuple[str, ...] = (),
        context_window: int | None = None,
        latency_s: float = 0.0,
    ) -> None:
        self.api_key = api_key
        self.models = models
        self.forms = forms
        self.is_llama_cpp = is_llama_cpp
        self.refused_parameters = refused_parameters
        self.context_window = context_window
        self.latency_s = latency_s
        self.requests: list[Request] = []
        self.in_flight = 0
        self.most_in_flight = 0
        self.default: Callable[[Request], Answer] = lambda request: Say(oracle.answer(request.prompt))
        self.desk = Desk(answer=self._batched)
        self.url = ""
        self._script: list[tuple[Matcher, list[Answer]]] = []
        self._prompts: list[str] = []
        self._tasks: set[asyncio.Task[None]] = set()

    def script(self, *answers: Answer, when: Matcher = "") -> "OpenAIServer":
        """Answer matching requests with these in turn, the last one for ever; a text matches prompts that hold it."""
        self._script.append((when, list(answers)))
        return self

    @contextlib.asynccontextmanager
    async def running(self, port: int = 0) -> AsyncIterator["OpenAIServer"]:
        """Serve on a loopback port for the length of the block."""
        server = await asyncio.start_server(self._connected, "127.0.0.1", port)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        try:
            yield self
        finally:
            server.close()
            for task in list(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while request := await _receive(reader):
                if (found := self.desk.handle(request.method, request.target, request.raw)) is not None:
                    if not found[0]:
                        writer.transport.abort()
                        break
                    await _send(writer, found[0], found[1], {})
                    continue
                self.requests.append(request)
                self.in_flight += 1
                self.most_in_flight = max(self.most_in_flight, self.in_flight)
                try:
                    if not await self._respond(request, writer):
                        break
                finally:
                    self.in_flight -= 1
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _respond(self, request: Request, writer: asyncio.StreamWriter) -> bool:
        if self.latency_s:
            await asyncio.sleep(self.latency_s)
        answer = self._misfit(request) or self._scripted(request) or self.default(request)
        request.answered = answer
        if answer in (HANG, DRIP):
            if answer == DRIP:
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n")
            while True:
                await asyncio.sleep(0.02)
                if answer == DRIP:
                    writer.write(b" ")
                    await writer.drain()
        if answer == RESET:
            writer.transport.abort()
            return False
        assert not isinstance(answer, str)
        status, body, headers = self._encoded(request, answer)
        await _send(writer, status, body.encode("utf-8", "surrogatepass"), headers)
        return True

    def _batched(self, body: dict[str, Any]) -> tuple[int, Any]:
        """Answer one line of a batch as a call would be answered."""
        headers = {"authorization": f"Bearer {self.api_key}"}
        request = Request("/v1/chat/completions", headers, body)
        answer = self._misfit(request) or self._scripted(request) or self.default(request)
        assert not isinstance(answer, str)
        status, text, _ = self._encoded(request, answer)
        return status, json.loads(text)

    def _scripted(self, request: Request) -> Answer | None:
        for when, answers in self._script:
            fits = when in request.prompt if isinstance(when, str) else when(request.body)
            if fits and answers:
                return answers.pop(0) if len(answers) > 1 else answers[0]
        return None

    def _encoded(self, request: Request, answer: Say | Fail | Raw) -> tuple[int, str, dict[str, str]]:
        if isinstance(answer, Raw):
            return 200, answer.body, {}
        if isinstance(answer, Fail):
            error = {"message": answer.message, "type": "error", "param": answer.param, "code": answer.code}
            return answer.status, answer.body or json.dumps({"error": error}), answer.headers
        content = answer.content if isinstance(answer.content, str | list | None) else json.dumps(answer.content)
        message = {"role": "assistant", "content": content, "refusal": answer.refusal}
        model = answer.model or str(request.body.get("model"))
        completion = {
            "id": f"chatcmpl-{len(self.requests)}",
            "object": "chat.completion",
            "created": 1764547200,
            "model": model,
            "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": answer.finish_reason}],
            "usage": answer.usage or self._usage(request, content),
            "system_fingerprint": "fp_local",
        }
        return 200, json.dumps(completion), {}

    def _usage(self, request: Request, content: Any) -> dict[str, Any]:
        prompt = request.prompt
        shared = max((_shared_prefix(prompt, earlier) for earlier in self._prompts[-50:]), default=0) // 4
        cached = shared // _CACHE_STEP * _CACHE_STEP if shared >= _CACHE_MIN else 0
        self._prompts.append(prompt)
        sent, said = _tokens(prompt), _tokens(str(content or ""))
        return {
            "prompt_tokens": sent,
            "completion_tokens": said,
            "total_tokens": sent + said,
            "prompt_tokens_details": {"cached_tokens": cached},
        }

    def _misfit(self, request: Request) -> Fail | Say | None:
        """Refuse what the original refuses, in its words."""
        body = request.body
        if not request.path.endswith("/chat/completions"):
            return Fail(404, f"Invalid URL (POST {request.path})")
        if self.api_key and request.headers.get("authorization") != f"Bearer {self.api_key}":
            return Fail(401, "Incorrect API key provided: sk-***.", code="invalid_api_key")
        if self.models and body.get("model") not in self.models:
            return Fail(404, f"The model `{body.get('model')}` does not exist", code="model_not_found")
        for name in body:
            if name not in _PARAMETERS:
                return Fail(400, f"Unrecognized request argument supplied: {name}", param=name)
            if name in self.refused_parameters:
                instead = " Use 'max_completion_tokens' instead." if name == "max_tokens" else ""
                return Fail(
                    400, f"Unsupported parameter: '{name}' is not supported with this model.{instead}", param=name
                )
        return self._wrong_messages(body) or self._wrong_format(body, request.prompt) or self._too_long(body, request)

    def _wrong_messages(self, body: dict[str, Any]) -> Fail | None:
        messages = body.get("messages")
        if not isinstance(messages, list) or not messages:
            return Fail(400, "[] is too short - 'messages'", param="messages")
        for message in messages:
            if message.get("role") not in ("system", "user", "assistant", "developer", "tool"):
                return Fail(400, f"Invalid value: '{message.get('role')}'.", param="messages")
        temperature = body.get("temperature", 1)
        if not isinstance(temperature, int | float) or not 0 <= temperature <= 2:
            return Fail(400, "Invalid 'temperature': must be between 0 and 2.", param="temperature")
        tokens = body.get("max_tokens", body.get("max_completion_tokens", 1))
        if not isinstance(tokens, int) or tokens < 1:
            return Fail(400, "Invalid 'max_tokens': integer below minimum value.", param="max_tokens")
        return None

    def _wrong_format(self, body: dict[str, Any], prompt: str) -> Fail | Say | None:
        asked = body.get("response_format") or {"type": "text"}
        kind = asked.get("type")
        if self.is_llama_cpp:
            # As its Python server does: the pydantic error of the unknown type comes back as a server error.
            if kind == "json_schema":
                return Fail(500, "[{'type': 'literal_error', 'loc': ('body', 'response_format', 'type')}]")
            return Say('{"segments": []}') if kind == "json_object" else None
        if kind == "text":
            return None
        if kind not in ("json_object", "json_schema") or kind not in self.forms:
            return Fail(400, f"Invalid value: '{kind}' for response_format.type.", param="response_format.type")
        if kind == "json_object":
            if "json" not in prompt.lower():
                text = "'messages' must contain the word 'json' in some form, to use 'response_format' of that type."
                return Fail(400, text, param="messages")
            return None
        schema = asked.get("json_schema") or {}
        if not _NAME.fullmatch(str(schema.get("name", ""))) or not isinstance(schema.get("schema"), dict):
            return Fail(400, "Missing or invalid 'response_format.json_schema'.", param="response_format.json_schema")
        problem = _schema_problem(schema["schema"]) if schema.get("strict") else None
        return Fail(400, f"Invalid schema for response_format: {problem}", param="response_format") if problem else None

    def _too_long(self, body: dict[str, Any], request: Request) -> Fail | None:
        asked = body.get("max_tokens", body.get("max_completion_tokens", 0))
        needed = _tokens(request.prompt) + asked
        if self.context_window is None or needed <= self.context_window:
            return None
        limit = f"This model's maximum context length is {self.context_window} tokens."
        text = f"{limit} However, you requested {needed} tokens."
        return Fail(400, text, code="context_length_exceeded", param="messages")


def _schema_problem(schema: dict[str, Any]) -> str | None:
    """Return what strict mode would refuse: every object is closed and requires all its properties."""
    if "object" in _types(schema):
        if schema.get("additionalProperties") is not False:
            return "'additionalProperties' is required to be supplied and to be false"
        if set(schema.get("required", ())) != set(schema.get("properties", {})):
            return "'required' is required to be supplied and to be an array including every key in properties"
    parts = [*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])]
    return next((problem for part in parts if (problem := _schema_problem(part))), None)


def _types(schema: dict[str, Any]) -> list[str]:
    kind = schema.get("type", [])
    return [kind] if isinstance(kind, str) else kind


def _tokens(text: str) -> int:
    return len(text) // 4 + 1


def _shared_prefix(first: str, second: str) -> int:
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if first[:middle] == second[:middle] else (low, middle - 1)
    return low


async def _receive(reader: asyncio.StreamReader) -> Request | None:
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {key.strip().lower(): value.strip() for key, _, value in (line.partition(":") for line in lines if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    method, target, _ = first.split(" ", 2)
    is_json = "json" in headers.get("content-type", "application/json")
    parsed = json.loads(body) if body and is_json else {}
    return Request(target.split("?")[0], headers, parsed, method=method, target=target, raw=body)


async def _send(writer: asyncio.StreamWriter, status: int, data: bytes, headers: dict[str, str]) -> None:
    extra = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    head = f"HTTP/1.1 {status} {_REASONS.get(status, 'Status')}\r\nContent-Type: application/json\r\n{extra}"
    writer.write(f"{head}Content-Length: {len(data)}\r\n\r\n".encode("latin-1") + data)
    await writer.drain()


async def _main(arguments: argparse.Namespace) -> None:
    server = OpenAIServer(
        api_key=arguments.api_key,
        is_llama_cpp=arguments.llama_cpp,
        context_window=arguments.context_window,
        latency_s=arguments.latency_ms / 1000,
    )
    async with server.running(arguments.port):
        print(f"OpenAI-compatible oracle at {server.url}", flush=True)
        forever: Awaitable[Any] = asyncio.Event().wait()
        await forever


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--api-key", default=None, help="refuse every other key with 401")
    parser.add_argument("--llama-cpp", action="store_true", help="behave like llama.cpp's Python server")
    parser.add_argument("--context-window", type=int, default=None, help="refuse longer requests with 400")
    parser.add_argument("--latency-ms", type=float, default=0.0)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_main(parser.parse_args()))
