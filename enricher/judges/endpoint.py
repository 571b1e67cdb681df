"""One endpoint with everything that all calls to it share: connections, limits, its dialect, and how it is doing."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from enricher.errors import SetupError
from enricher.judges.breaker import Breaker, Entry
from enricher.judges.deadline import Deadline
from enricher.judges.dialect import Dialect, Question
from enricher.judges.gate import Gate
from enricher.judges.pace import Pace
from enricher.judges.tempo import Tempo
from enricher.judges.wire import Answered, Unreached, retry_after

if TYPE_CHECKING:
    from enricher.judges.transport import Transport

_OVERLOAD = frozenset({429, 503, 529})
_SHORT_S = 5.0  # a refusal that asks for more is hardly meant for one call alone
_HOPS = 2  # turns of the event loop: in the first one all who wait are woken, in the second one they send


class Address(BaseModel):
    """Where a model is, and the key to it; nothing of it is read from the environment."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    base_url: str
    model: str  # as this endpoint names it
    api_key: SecretStr | None = None
    api_version: str | None = None  # for Azure deployments; the base URL then names the deployment

    @property
    def place(self) -> str:
        """Name the endpoint without user, password and query, which may hold secrets."""
        url = urlsplit(self.base_url)
        return f"{url.scheme}://{url.hostname}{f':{url.port}' if url.port else ''}{url.path}"


class Limits(BaseModel):
    """How much one endpoint is asked at a time, and for how long it is waited for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    timeout_s: float = Field(default=60.0, gt=0)
    concurrency: int = Field(default=16, ge=1)
    requests_per_minute: int | None = Field(default=None, ge=1)
    tokens_per_minute: int | None = Field(default=None, ge=1)
    patience_s: float = Field(default=60.0, ge=0)  # how long a server that is down is waited for


def spread(wait_s: float, jitter: Callable[[], float]) -> float:
    """Lengthen a wait that a server asks for, by a little that differs: not all who wait come back as one."""
    return wait_s + min(1.0, 0.1 * wait_s + 0.05) * jitter()


class Down(Unreached):
    """The endpoint is down: no call was made."""

    def __init__(self, message: str) -> None:
        super().__init__(message, is_timeout=False)


class Endpoint:
    """A server that answers questions, and what is known of it in this run."""

    def __init__(
        self,
        address: Address,
        limits: Limits,
        *,
        seed: int | None = None,
        has_others: bool = False,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if urlsplit(address.base_url).scheme not in ("http", "https"):
            raise SetupError("the base URL of the openai engine must begin with http:// or https:// (openai.base_url)")
        self.address = address
        self.dialect = Dialect(model=address.model, seed=seed)
        self.refusal: str | None = None  # what people must mend; it is not asked again in this run
        self.gate = Gate(limits.concurrency)
        self._breaker = Breaker(patience_s=limits.patience_s, clock=clock)
        self._pace = Pace(
            requests=limits.requests_per_minute, tokens=limits.tokens_per_minute, sleep=sleep, clock=clock
        )
        self._limits = limits
        self._has_others = has_others  # which can be asked while this one wants to be left alone
        self._tempo = Tempo(sleep=sleep, clock=clock)
        self._sleep = sleep
        self._jitter = jitter
        self._clock = clock
        self._resumes = 0.0
        self._transport: Transport | None = None

    @property
    def wait(self) -> float:
        """Return how many seconds it still asks to be left alone."""
        return max(0.0, self._resumes - self._clock())

    @property
    def is_ready(self) -> bool:
        """Tell whether a call could be made now, as far as is known."""
        return self.refusal is None and not self._breaker.is_open and not self.wait

    @property
    def outage(self) -> str | None:
        """Say why no call is worth while for now; None when it is."""
        if self.refusal is not None:
            return self.refusal
        if self._breaker.is_down:
            return f"the model server at {self.address.place} is down"
        if self.wait > self._limits.patience_s:
            return f"the model server at {self.address.place} asks to be left alone for {self.wait:.0f} s"
        return None

    async def send(self, body: Mapping[str, Any], *, question: Question, tokens: int, deadline: Deadline) -> Answered:
        """Make one call when the limits allow it.

        Raises:
            Unreached: no whole answer came within the time; Down when the call was not even tried.
        """
        queued = self._clock()
        async with self.gate.enter() as turn:
            entry = await self._breaker.enter()
            try:
                if entry is Entry.DOWN:
                    raise Down(self.outage or f"the model server at {self.address.place} is down")
                question.slot = await self._pace.start(tokens)
                deadline.put_off(self._clock() - queued)
                await self._rest(deadline)
                ready = self._clock()
                started = await self._tempo.start()
                if started > ready:
                    deadline.put_off(started - ready)
                    await self._rest(deadline)
                turn.begin()
                answered = await self.transport.send(body, timeout_s=min(self._limits.timeout_s, deadline.left))
            except Unreached as error:
                if not isinstance(error, Down):
                    turn.is_overloaded = error.is_timeout
                    self._breaker.failed(question, entry)
                else:
                    self._breaker.abandoned(entry)
                raise
            except BaseException:
                self._breaker.abandoned(entry)
                raise
            after = retry_after(answered.headers) if answered.status in _OVERLOAD else None
            turn.is_overloaded = answered.status in _OVERLOAD
            self._note(answered, question, entry, started, after)
        # Whoever waited for the place sends first: what this answer says is worked out while the next are under way.
        for _ in range(_HOPS):
            await asyncio.sleep(0)
        return answered

    async def _rest(self, deadline: Deadline) -> None:
        if (wait := self.wait) > 0:
            if wait > deadline.left:
                raise Down(f"the server asks to be left alone for {wait:.0f} s, which is past the deadline")
            await self._sleep(spread(wait, self._jitter))

    def _note(self, answered: Answered, question: Question, entry: Entry, started: float, after: float | None) -> None:
        if answered.status >= 500:
            self._breaker.failed(question, entry)
        else:
            self._breaker.succeeded()
        if answered.status == 200:
            self._tempo.answered()
            return
        if question.slot is not None:
            question.slot.amount = 0  # a refused request used no tokens
        if not after:
            return
        # Where another endpoint can be asked, none need wait. Else the call that was refused waits for itself, and all
        # do when a limit shows that was not known, or for a long rest.
        if self._has_others or self._tempo.refused(started, after) or after > _SHORT_S:
            self._resumes = max(self._resumes, self._clock() + after)

    @property
    def transport(self) -> "Transport":
        """Return the connections, made when they are first needed."""
        if self._transport is None:
            # Only here, because the package behind it takes time to import that local runs must not pay.
            from enricher.judges.transport import Transport

            key = self.address.api_key
            self._transport = Transport(
                base_url=self.address.base_url,
                api_key=key.get_secret_value() if key else "",
                timeout_s=self._limits.timeout_s,
                api_version=self.address.api_version,
            )
        return self._transport

    async def aclose(self) -> None:
        """Close all connections."""
        if self._transport is not None:
            await self._transport.aclose()
            self._transport = None


class Carrier(Protocol):
    """Another way to an answer than a call at once."""

    async def send(
        self, body: Mapping[str, Any], endpoint: Endpoint, question: Question, tokens: int, deadline: Deadline
    ) -> Answered:
        """Bring the answer to a body that is in the endpoint's words, or raise Unreached."""
        ...

    def release(self) -> None:
        """Let go of all who wait."""
        ...

    async def aclose(self) -> None:
        """End what is under way; it can be taken up again."""
        ...
