"""The one model client: asks an OpenAI-compatible server, retries what is transient, and learns what it refuses."""

import asyncio
import json
import logging
import random
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from enricher.errors import SetupError
from enricher.judges.budget import Permit, Spending
from enricher.judges.deadline import Deadline, deadline_of_this_trace
from enricher.judges.dialect import Question, is_filtered, is_out_of_money, is_too_long, stated_limit
from enricher.judges.endpoint import Address, Carrier, Down, Endpoint, Limits, spread
from enricher.judges.gate import Gate
from enricher.judges.prices import Prices, estimate
from enricher.judges.reply import clean
from enricher.judges.wire import Answered, Unreached, retry_after
from enricher.prompts import Message
from enricher.seams import ModelCall
from enricher.verdict import Status, Usage

_log = logging.getLogger(__name__)

SAFE_WINDOW = 8192  # tokens assumed for a model of unknown context size
_TRANSIENT = frozenset({408, 409, 425, 429})
_REFUSALS = 12  # that say when to come back: on a busy server a question meets more of them than of any fault


class ChatOptions(BaseModel):
    """How a model is reached and asked; nothing of it is read from the environment."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    base_url: str
    model: str
    api_key: SecretStr | None = None
    api_version: str | None = None  # for Azure deployments; the base URL then names the deployment
    fallbacks: tuple[Address, ...] = ()  # asked, in this order, while those before are not to be had
    max_tokens: int = Field(default=2048, ge=16)
    context_window: int | None = Field(default=None, ge=512)
    timeout_s: float = Field(default=60.0, gt=0)  # for one call
    deadline_s: float = Field(default=300.0, gt=0)  # for one question, all attempts and waits included
    patience_s: float = Field(default=60.0, ge=0)  # how long a server that is down is waited for
    attempts: int = Field(default=4, ge=1)
    concurrency: int = Field(default=16, ge=1)
    requests_per_minute: int | None = Field(default=None, ge=1)
    tokens_per_minute: int | None = Field(default=None, ge=1)
    seed: int | None = None
    prices: Prices = Prices()

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
    """Why the model said nothing: JUDGE_UNAVAILABLE, JUDGE_CONTEXT_TOO_LONG, JUDGE_REFUSED or BUDGET_EXCEEDED.

    It is final: whatever deserved another attempt has had it.
    """

    status: Status
    failure: str
    usage: Usage = field(default_factory=Usage)
    context_limit: int | None = None  # as the server stated it


class _Again(NamedTuple):
    """A reason to try again, and how long the server asked this call to wait."""

    why: str
    after_s: float | None = None
    is_free: bool = False  # not counted: the way of asking was changed, or another endpoint is asked


class Chat:
    """A connection to one model; made once for a run and shared by its judges."""

    def __init__(
        self,
        options: ChatOptions,
        *,
        spending: Spending | None = None,
        carrier: Carrier | None = None,
        watch: Callable[[ModelCall], None] | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not options.model:
            raise SetupError("name the model of the openai engine (openai.model)")
        self.options = options
        first = Address(
            base_url=options.base_url, model=options.model, api_key=options.api_key, api_version=options.api_version
        )
        limits = Limits(
            timeout_s=options.timeout_s,
            concurrency=options.concurrency,
            requests_per_minute=options.requests_per_minute,
            tokens_per_minute=options.tokens_per_minute,
            patience_s=options.patience_s,
        )
        timing: Mapping[str, Any] = {"sleep": sleep, "jitter": jitter, "clock": clock}
        self._endpoints = [
            Endpoint(address, limits, seed=options.seed, has_others=bool(options.fallbacks), **timing)
            for address in (first, *options.fallbacks)
        ]
        self._spending = spending
        self._carrier = carrier
        self._watch = watch
        self._sleep = sleep
        self._jitter = jitter
        self._clock = clock
        self._snapshot: str | None = None

    @property
    def gate(self) -> Gate:
        """Return the gate of the endpoint that is preferred."""
        return self._endpoints[0].gate

    @property
    def place(self) -> str:
        """Name the endpoint that is preferred, without anything secret."""
        return self._endpoints[0].address.place

    @property
    def halt(self) -> str | None:
        """Say why no further trace should be begun: the budget is used up, or no endpoint is to be had."""
        if self._spending is not None and self._spending.used_up:
            return self._spending.used_up
        outages = [endpoint.outage for endpoint in self._endpoints]
        return outages[0] if all(outages) else None

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
        started = self._clock()
        question = Question(
            messages=messages,
            schema=schema,
            schema_name=re.sub(r"[^\w-]", "_", schema_name)[:64],
            max_tokens=max_tokens or self.options.max_tokens,
            form=self._endpoints[0].dialect.form,
        )
        outcome = await self._asked(question)
        usage = outcome.usage.model_copy(update={"calls": question.calls, "latency_s": self._clock() - started})
        if self._watch is not None:
            self._watch(_told(self.options.model, messages, outcome, usage))
        return replace(outcome, usage=usage)

    def release(self) -> None:
        """Stop waiting for what takes hours; it can be taken up again."""
        if self._carrier is not None:
            self._carrier.release()

    async def aclose(self) -> None:
        """Close all connections."""
        if self._carrier is not None:
            await self._carrier.aclose()
        for endpoint in self._endpoints:
            await endpoint.aclose()

    async def _asked(self, question: Question) -> Reply | NoReply:
        expected = estimate(question.messages, question.max_tokens, self.options.prices)
        least = self.options.prices.cost(prompt=expected.prompt_tokens, cached=0, completion=0)
        deadline = Deadline(self.options.deadline_s, self._clock, within=deadline_of_this_trace())
        failed = refused = 0
        while True:
            permit = await self._spending.admit(least, expected.cost) if self._spending is not None else None
            if permit is None and self._spending is not None:
                return NoReply(status=Status.BUDGET_EXCEEDED, failure=self._spending.used_up or "over budget")
            outcome = await self._attempt(question, expected, deadline, permit)
            if not isinstance(outcome, _Again):
                return outcome
            if outcome.is_free:
                continue
            why = outcome.why
            if outcome.after_s:
                refused += 1
            else:
                failed += 1
            if failed == self.options.attempts or refused == _REFUSALS:
                break
            # Of several endpoints another one may answer at once.
            pause = 0.0 if self._has_other() else self._pause(failed, outcome.after_s)
            if max(pause, self._wait()) > deadline.left or not deadline.left:
                why = f"{why}; the next attempt would be past the deadline"
                break
            if pause:
                await self._sleep(pause)
        return NoReply(status=Status.JUDGE_UNAVAILABLE, failure=f"the model gave no answer: {why}")

    async def _attempt(
        self, question: Question, expected: Usage, deadline: Deadline, permit: Permit | None
    ) -> Reply | NoReply | _Again:
        """Send the question once; return an outcome or a reason to try again."""
        endpoint = self._chosen()
        body = endpoint.dialect.body(question)
        size = expected.prompt_tokens + expected.completion_tokens
        question.calls += 1
        spent = 0.0
        try:
            if self._carrier is not None:
                answered = await self._carrier.send(body, endpoint, question, size, deadline)
            else:
                answered = await endpoint.send(body, question=question, tokens=size, deadline=deadline)
            if answered.status != 200:
                return self._refused(answered, body, question, endpoint)
            outcome = self._read(answered, question, endpoint)
            if isinstance(outcome, Reply):
                spent = 0.0 if answered.is_paid else outcome.usage.cost
            return outcome
        except Down as error:
            question.calls -= 1
            if self._carrier is None and self._has_other():
                return _Again(str(error), is_free=True)
            return NoReply(status=Status.JUDGE_UNAVAILABLE, failure=f"the model gave no answer: {error}")
        except Unreached as error:
            return _Again(str(error))
        finally:
            if permit is not None:
                permit.settle(spent)

    # which endpoint

    def _chosen(self) -> Endpoint:
        """Return the first endpoint that is ready; when none is, the one that is soonest."""
        usable = [endpoint for endpoint in self._endpoints if endpoint.refusal is None]
        if not usable:
            raise SetupError(self._endpoints[0].refusal or "there is no endpoint")
        if len(usable) == 1:
            return usable[0]
        ready = next((endpoint for endpoint in usable if endpoint.is_ready), None)
        return ready or min(usable, key=lambda endpoint: (endpoint.outage is not None, endpoint.wait))

    def _has_other(self) -> bool:
        return len(self._endpoints) > 1 and any(endpoint.is_ready for endpoint in self._endpoints)

    def _wait(self) -> float:
        return min((endpoint.wait for endpoint in self._endpoints if endpoint.refusal is None), default=0.0)

    def _pause(self, failed: int, asked_s: float | None) -> float:
        if asked_s:
            return spread(asked_s, self._jitter)
        return min(30.0, 0.5 * 2.0 ** (failed - 1)) * (0.5 + 0.5 * self._jitter())

    # what came back

    def _read(self, answered: Answered, question: Question, endpoint: Endpoint) -> Reply | _Again:
        try:
            answer = json.loads(answered.body)
            choice = answer["choices"][0]
            message = choice["message"]
            content, refusal = _text(message.get("content")), _text(message.get("refusal"))
        except (ValueError, LookupError, TypeError, AttributeError):
            return _Again("the answer is no chat completion")
        form = endpoint.dialect.answered(question)
        snapshot = answer.get("model") if isinstance(answer.get("model"), str) else None
        self._snapshot = self._snapshot or snapshot
        finish = choice.get("finish_reason")
        usage = self._usage(answer.get("usage"), answered.price_factor)
        if question.slot is not None and usage.prompt_tokens:
            question.slot.amount = usage.prompt_tokens + usage.completion_tokens
        return Reply(
            content=content,
            finish_reason=finish if isinstance(finish, str) else None,
            refusal=refusal,
            snapshot=snapshot,
            is_shifted=bool(snapshot) and snapshot != self._snapshot,
            form=form,
            usage=usage,
        )

    def _usage(self, stated: Any, price_factor: float) -> Usage:
        stated = stated if isinstance(stated, dict) else {}
        details = stated.get("prompt_tokens_details")
        cached = details.get("cached_tokens") if isinstance(details, dict) else stated.get("prompt_cache_hit_tokens")
        prompt, completion, cached = map(_count, (stated.get("prompt_tokens"), stated.get("completion_tokens"), cached))
        cost = price_factor * self.options.prices.cost(prompt=prompt, cached=cached, completion=completion)
        return Usage(prompt_tokens=prompt, completion_tokens=completion, cached_tokens=cached, cost=cost)

    def _refused(
        self, answered: Answered, body: Mapping[str, Any], question: Question, endpoint: Endpoint
    ) -> NoReply | _Again:
        text = answered.body[:4000].decode("utf-8", "replace")
        status = answered.status
        if is_too_long(status, text):
            return NoReply(
                status=Status.JUDGE_CONTEXT_TOO_LONG,
                failure="the request does not fit the model's context window",
                context_limit=stated_limit(text),
            )
        if is_filtered(status, text):
            return NoReply(status=Status.JUDGE_REFUSED, failure="a content filter refused the request")
        if status in (400, 422, 500, 501) and endpoint.dialect.gives_in(status, text, body, question):
            return _Again("the server refuses a parameter", is_free=True)
        if status in (401, 402, 403, 404) or is_out_of_money(status, text):
            return self._out_of_use(endpoint, _what_to_mend(status, endpoint.address))
        if status in _TRANSIENT or status >= 500:
            return _Again(f"HTTP {status}", after_s=retry_after(answered.headers))
        if endpoint.dialect.has_answered:
            failure = f"the model server refused this request (HTTP {status})"
            return NoReply(status=Status.JUDGE_UNAVAILABLE, failure=failure)
        return self._out_of_use(
            endpoint,
            f"the model server at {endpoint.address.place} refuses requests (HTTP {status}); "
            "check openai.base_url and openai.model",
        )

    def _out_of_use(self, endpoint: Endpoint, sentence: str) -> _Again:
        """Ask this endpoint no more; another one may still answer."""
        endpoint.refusal = sentence
        if all(other.refusal is not None for other in self._endpoints):
            raise SetupError(self._endpoints[0].refusal or sentence)
        _log.warning("%s; the next endpoint is asked instead", sentence)
        return _Again(sentence, is_free=True)


def _what_to_mend(status: int, address: Address) -> str:
    name, model = address.place, address.model
    if status == 401:
        return f"the model server at {name} does not accept the API key (HTTP 401); check openai.api_key_env"
    if status == 403:
        return f"the API key may not use the model {model} at {name} (HTTP 403)"
    if status == 404:
        return f"there is no model {model} at {name} (HTTP 404); check openai.model and openai.base_url"
    return f"the quota at {name} is used up (HTTP {status}); raise it, or wait until it is renewed"


def _text(content: Any) -> str | None:
    if isinstance(content, list):  # some servers answer in parts
        content = "".join(part.get("text", "") for part in content if isinstance(part, dict))
    return clean(content) if isinstance(content, str) else None


def _count(value: Any) -> int:
    return max(0, value) if isinstance(value, int) else 0


def _told(model: str, messages: Sequence[Message], outcome: Reply | NoReply, usage: Usage) -> ModelCall:
    reply = outcome if isinstance(outcome, Reply) else None
    return ModelCall(
        model=model,
        snapshot=reply.snapshot if reply else None,
        messages=[(message["role"], message["content"]) for message in messages],
        reply=(reply.content or reply.refusal) if reply else None,
        failure=outcome.failure if isinstance(outcome, NoReply) else None,
        finish_reason=reply.finish_reason if reply else None,
        usage=usage,
    )
