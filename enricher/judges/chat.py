"""The one model client: asks an OpenAI-compatible server, retries what is transient, and learns what it refuses."""

import asyncio
import json
import math
import random
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from enricher.errors import SetupError
from enricher.judges.gate import Gate, Overloaded
from enricher.judges.reply import clean
from enricher.judges.wire import Answered, Unreached
from enricher.prompts import Message
from enricher.verdict import Status, Usage

if TYPE_CHECKING:
    from enricher.judges.transport import Transport

SAFE_WINDOW = 8192  # tokens assumed for a model of unknown context size
_FORMS = ("json_schema", "json_object", "text")  # what is asked for, in falling order
_TRANSIENT = frozenset({408, 409, 425, 429})
_OVERLOAD = frozenset({429, 503, 529})
_ABOUT_FORM = re.compile(r"response_?format|json_?schema|json_?object|structured.?output|guided|grammar", re.I)
_ABOUT_TOKENS = re.compile(r"max_completion_tokens", re.I)
_TOO_LONG = re.compile(
    r"context_length_exceeded|maximum context|context (?:length|window|size)|prompt is too long|input (?:is )?too long"
    r"|too many (?:input )?tokens|reduce the length|exceeds? the (?:available |model'?s? )?context|n_ctx",
    re.I,
)
_LIMIT = re.compile(
    r"(?:context (?:length|window|size)\D{0,24}|maximum of |n_ctx\D{0,4})(\d{3,8})|(\d{3,8})\D{0,12} context", re.I
)
_FILTERED = re.compile(r"content_?(?:filter|policy)|ResponsibleAIPolicyViolation|invalid_prompt", re.I)
_NO_MONEY = re.compile(r"insufficient_quota|billing|credit balance|exceeded your current quota", re.I)


class ChatOptions(BaseModel):
    """How a model is reached and asked; nothing of it is read from the environment."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    base_url: str
    model: str
    api_key: SecretStr | None = None
    api_version: str | None = None  # for Azure deployments; the base URL then names the deployment
    max_tokens: int = Field(default=2048, ge=16)
    context_window: int | None = Field(default=None, ge=512)
    timeout_s: float = Field(default=60.0, gt=0)  # for one call
    deadline_s: float = Field(default=300.0, gt=0)  # for one question, all attempts and waits included
    attempts: int = Field(default=4, ge=1)
    concurrency: int = Field(default=16, ge=1)
    seed: int | None = None
    price_in: float = 0.0  # money for a million tokens
    price_cached: float = 0.0
    price_out: float = 0.0

    @property
    def window(self) -> int:
        """Return the context window, or a cautious guess when it is unknown."""
        return self.context_window or SAFE_WINDOW


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """What the model said."""

    content: str | None
    finish_reason: str | None = None
    refusal: str | None = None
    snapshot: str | None = None  # the model as the server names it
    is_shifted: bool = False  # another snapshot than the first of this run
    form: str = "text"  # the structured output that was asked for
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, kw_only=True, slots=True)
class NoReply:
    """Why the model said nothing: JUDGE_UNAVAILABLE, JUDGE_CONTEXT_TOO_LONG or JUDGE_REFUSED."""

    status: Status
    failure: str
    usage: Usage = field(default_factory=Usage)
    context_limit: int | None = None  # as the server stated it


@dataclass(slots=True)
class _Dialect:
    """What this server turned out to take; kept for the run."""

    form: int = 0  # index into _FORMS
    token_key: str = "max_tokens"
    omitted: set[str] = field(default_factory=set)
    has_answered: bool = False
    snapshot: str | None = None


@dataclass(slots=True)
class _Ask:
    """One question on its way."""

    messages: Sequence[Message]
    schema: Mapping[str, Any]
    schema_name: str
    max_tokens: int
    form: int
    started: float
    calls: int = 0


class Chat:
    """A connection to one model; made once for a run and shared by its judges."""

    def __init__(
        self,
        options: ChatOptions,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        if not options.model:
            raise SetupError("name the model of the openai engine (openai.model)")
        if urlsplit(options.base_url).scheme not in ("http", "https"):
            raise SetupError("the base URL of the openai engine must begin with http:// or https:// (openai.base_url)")
        self.options = options
        self.gate = Gate(options.concurrency)
        self._sleep = sleep
        self._jitter = jitter
        self._dialect = _Dialect()
        self._transport: Transport | None = None

    async def ask(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any],
        schema_name: str = "verdict",
        max_tokens: int | None = None,
    ) -> Reply | NoReply:
        """Ask once, with all retries that transport errors, 429 and 5xx deserve.

        Raises:
            SetupError: key, model, URL or quota are wrong; no further trace would fare better.
        """
        self._connected()
        ask = _Ask(
            messages=messages,
            schema=schema,
            schema_name=re.sub(r"[^\w-]", "_", schema_name)[:64],
            max_tokens=max_tokens or self.options.max_tokens,
            form=self._dialect.form,
            started=time.monotonic(),
        )
        failed, why = 0, ""
        while failed < self.options.attempts:
            outcome = await self._attempt(ask)
            if isinstance(outcome, Reply | NoReply):
                usage = outcome.usage.model_copy(
                    update={"calls": ask.calls, "latency_s": time.monotonic() - ask.started}
                )
                return replace(outcome, usage=usage)
            if outcome is None:  # the server refused a parameter that is now left out
                continue
            failed += 1
            why, after = outcome
            pause = self._pause(failed, after)
            if failed < self.options.attempts:
                if time.monotonic() - ask.started + pause > self.options.deadline_s:
                    why = f"{why}; the next attempt would be past the deadline"
                    break
                await self._sleep(pause)
        usage = Usage(calls=ask.calls, latency_s=time.monotonic() - ask.started)
        return NoReply(status=Status.JUDGE_UNAVAILABLE, failure=f"the model gave no answer: {why}", usage=usage)

    async def aclose(self) -> None:
        """Close all connections."""
        if self._transport is not None:
            await self._transport.aclose()
            self._transport = None

    async def _attempt(self, ask: _Ask) -> Reply | NoReply | tuple[str, float | None] | None:
        """Send the question once; return what to do next: an outcome, a reason to retry, or None to resend at once."""
        transport = self._connected()
        body = self._body(ask)
        answered: Answered | None = None
        ask.calls += 1
        try:
            async with self.gate.enter():
                answered = await transport.send(body)
                if answered.status in _OVERLOAD:
                    raise Overloaded
        except Unreached as error:
            return str(error), None
        except Overloaded:
            pass
        assert answered is not None
        if answered.status == 200:
            return self._read(answered, ask)
        return self._refused(answered, body, ask)

    def _connected(self) -> "Transport":
        if self._transport is None:
            # Only here, because importing the package behind it takes a second of CPU that local runs must not pay.
            from enricher.judges.transport import Transport

            key = self.options.api_key
            self._transport = Transport(
                base_url=self.options.base_url,
                api_key=key.get_secret_value() if key else "",
                timeout_s=self.options.timeout_s,
                connections=self.options.concurrency,
                api_version=self.options.api_version,
            )
        return self._transport

    def _body(self, ask: _Ask) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self.options.model, "messages": list(ask.messages), "temperature": 0}
        body[self._dialect.token_key] = ask.max_tokens
        if self.options.seed is not None:
            body["seed"] = self.options.seed
        form = _FORMS[ask.form]
        if form == "json_schema":
            asked = {"name": ask.schema_name, "strict": True, "schema": ask.schema}
            body["response_format"] = {"type": form, "json_schema": asked}
        elif form == "json_object":
            body["response_format"] = {"type": form}
        return {key: value for key, value in body.items() if key not in self._dialect.omitted}

    def _read(self, answered: Answered, ask: _Ask) -> Reply | tuple[str, float | None]:
        try:
            answer = json.loads(answered.body)
            choice = answer["choices"][0]
            message = choice["message"]
            content, refusal = _text(message.get("content")), _text(message.get("refusal"))
        except (ValueError, LookupError, TypeError, AttributeError):
            return "the answer is no chat completion", None
        dialect = self._dialect
        # What a lower form of asking achieved where a higher one was refused is remembered for the run.
        dialect.form = max(dialect.form, ask.form)
        dialect.has_answered = True
        snapshot = answer.get("model") if isinstance(answer.get("model"), str) else None
        dialect.snapshot = dialect.snapshot or snapshot
        finish = choice.get("finish_reason")
        return Reply(
            content=content,
            finish_reason=finish if isinstance(finish, str) else None,
            refusal=refusal,
            snapshot=snapshot,
            is_shifted=bool(snapshot) and snapshot != dialect.snapshot,
            form=_FORMS[ask.form],
            usage=self._usage(answer.get("usage")),
        )

    def _usage(self, stated: Any) -> Usage:
        stated = stated if isinstance(stated, dict) else {}
        details = stated.get("prompt_tokens_details")
        cached = details.get("cached_tokens") if isinstance(details, dict) else stated.get("prompt_cache_hit_tokens")
        prompt, completion, cached = map(_count, (stated.get("prompt_tokens"), stated.get("completion_tokens"), cached))
        options = self.options
        millions = (prompt - cached) * options.price_in + cached * options.price_cached + completion * options.price_out
        return Usage(
            prompt_tokens=prompt, completion_tokens=completion, cached_tokens=cached, cost=max(0.0, millions / 1e6)
        )

    def _refused(
        self, answered: Answered, body: Mapping[str, Any], ask: _Ask
    ) -> NoReply | tuple[str, float | None] | None:
        text = answered.body[:4000].decode("utf-8", "replace")
        status = answered.status
        if status in (400, 413, 422, 500) and (status == 413 or _TOO_LONG.search(text)):
            limit = _LIMIT.search(text)
            return NoReply(
                status=Status.JUDGE_CONTEXT_TOO_LONG,
                failure="the request does not fit the model's context window",
                context_limit=int(limit[1] or limit[2]) if limit else None,
            )
        if status == 400 and _FILTERED.search(text):
            return NoReply(status=Status.JUDGE_REFUSED, failure="a content filter refused the request")
        if status in (400, 422, 500, 501) and self._gives_in(status, text, body, ask):
            return None
        if status in (401, 402, 403, 404) or (status == 429 and _NO_MONEY.search(text)):
            raise SetupError(self._what_to_fix(status))
        if status in _TRANSIENT or status >= 500:
            return f"HTTP {status}", _retry_after(answered.headers)
        if self._dialect.has_answered:
            failure = f"the model server refused this request (HTTP {status})"
            return NoReply(status=Status.JUDGE_UNAVAILABLE, failure=failure)
        raise SetupError(
            f"the model server at {self._place} refuses requests (HTTP {status}); "
            "check openai.base_url and openai.model"
        )

    def _gives_in(self, status: int, text: str, body: Mapping[str, Any], ask: _Ask) -> bool:
        """Change the way of asking to what the server takes; tell whether the question is worth sending again."""
        dialect = self._dialect
        has_form = "response_format" in body
        is_named = has_form and bool(_ABOUT_FORM.search(text))
        if not is_named and status in (400, 422):
            if "max_tokens" in body and _ABOUT_TOKENS.search(text):
                dialect.token_key = "max_completion_tokens"
                return True
            for key in ("temperature", "seed"):
                if key in body and key in text:
                    dialect.omitted.add(key)
                    return True
        if not has_form or not (is_named or status in (400, 422)):
            return False
        # One form lower, or as low as a neighbour has learnt meanwhile.
        ask.form = max(ask.form + 1, dialect.form)
        if is_named:
            dialect.form = ask.form
        return True

    def _what_to_fix(self, status: int) -> str:
        name, model = self._place, self.options.model
        if status == 401:
            return f"the model server at {name} does not accept the API key (HTTP 401); check openai.api_key_env"
        if status == 403:
            return f"the API key may not use the model {model} at {name} (HTTP 403)"
        if status == 404:
            return f"there is no model {model} at {name} (HTTP 404); check openai.model and openai.base_url"
        return f"the quota at {name} is used up (HTTP {status}); raise it, or wait until it is renewed"

    @property
    def _place(self) -> str:
        # Without user, password and query, which may hold secrets.
        url = urlsplit(self.options.base_url)
        return f"{url.scheme}://{url.hostname}{f':{url.port}' if url.port else ''}{url.path}"

    def _pause(self, failed: int, after: float | None) -> float:
        if after is not None:
            return after + min(1.0, 0.1 * after + 0.05) * self._jitter()
        return min(30.0, 0.5 * 2.0 ** (failed - 1)) * (0.5 + 0.5 * self._jitter())


def _text(content: Any) -> str | None:
    if isinstance(content, list):  # some servers answer in parts
        content = "".join(part.get("text", "") for part in content if isinstance(part, dict))
    return clean(content) if isinstance(content, str) else None


def _count(value: Any) -> int:
    return max(0, value) if isinstance(value, int) else 0


def _retry_after(headers: Mapping[str, str]) -> float | None:
    milliseconds, stated = headers.get("retry-after-ms"), headers.get("retry-after")
    try:
        seconds = float(milliseconds) / 1000 if milliseconds else float(stated) if stated else None
        return max(0.0, seconds) if seconds is not None and math.isfinite(seconds) else None
    except ValueError:
        pass
    try:
        at = parsedate_to_datetime(stated or "")
    except ValueError:
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return max(0.0, (at - datetime.now(UTC)).total_seconds())
