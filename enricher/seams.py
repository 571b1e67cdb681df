"""All seams on one page: what a platform, a judge and an executor must offer."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar, runtime_checkable

from enricher.trace import Item, Pair, RawTrace, Rejection, TraceQuery, TraceRef, UserReport
from enricher.verdict import Annotation, Delivery, Provenance, Usage, Verdict

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, kw_only=True, slots=True)
class Health:
    """What a connection's self-check found, for `enricher doctor`."""

    ok: bool
    facts: Mapping[str, str] = field(default_factory=dict)  # server version, project names, rights ...
    problems: tuple[str, ...] = ()  # one sentence each, saying what to do


@runtime_checkable
class Connector(Protocol):
    """A platform that holds traces and takes annotations.

    Every call may raise SetupError (credentials, unknown project), TryAgain or Unavailable (the platform may answer
    later) or BadReply. A connector retries nothing by itself beyond one connection; the run owns the retry policy.
    """

    name: str  # name of the connection in the config

    def find(self, query: TraceQuery) -> AsyncIterator[TraceRef]:
        """Yield the traces that match, each once, oldest first; pages until the platform has no more."""
        ...

    def pull(self, refs: Sequence[TraceRef]) -> AsyncIterator[RawTrace | Rejection]:
        """Yield one value a ref: the whole trace, or a Rejection (`trace_gone`) when it no longer exists."""
        ...

    async def annotate(self, annotations: Sequence[Annotation]) -> Sequence[Delivery]:
        """Write a batch; return one Delivery each, in order. One bad item never costs the others theirs."""
        ...

    async def confirm(self, annotations: Sequence[Annotation]) -> Sequence[Delivery]:
        """Read written annotations back; CONFIRMED where label and score are there, RETRY where not (yet)."""
        ...

    async def prepare(self, names: Mapping[str, Sequence[str]]) -> None:
        """Create annotation or feedback configs, name to allowed labels, so that the UI colours and offers them."""
        ...

    async def check(self) -> Health:
        """Report what is reachable and allowed; problems are values here, not exceptions."""
        ...

    async def aclose(self) -> None:
        """Release connections."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Examples:
    """Which example of a dataset each trace of a project was made for."""

    project: str  # where the traces are
    by_trace: Mapping[str, str] = field(default_factory=dict)  # trace id to example id


@runtime_checkable
class ExperimentSource(Protocol):
    """A platform on which an application is run over the examples of a dataset."""

    async def examples(self, name: str, *, is_experiment: bool) -> Examples:
        """Return the project of an experiment (or a project itself) and the examples of its traces, if it has any."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class DatasetExample:
    """One example of an evaluation dataset: JSON values throughout."""

    id: str  # a UUID, the same whenever the same answer is exported
    inputs: Mapping[str, Any]
    outputs: Mapping[str, Any]
    metadata: Mapping[str, Any]
    span_id: str | None = None  # the span or run it comes from, where the platform has it


@dataclass(frozen=True, kw_only=True, slots=True)
class Kept:
    """What became of examples that were to be in a dataset."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0


@runtime_checkable
class DatasetKeeper(Protocol):
    """A platform that keeps evaluation datasets."""

    async def keep_examples(self, name: str, examples: Sequence[DatasetExample]) -> Kept:
        """Put examples into the dataset of that name, made if it is not there; safe to repeat, nothing is doubled."""
        ...


@runtime_checkable
class LabelSource(Protocol):
    """A platform on which people label answers themselves."""

    async def peoples_labels(
        self, project: str, span_ids: Sequence[str], names: Sequence[str]
    ) -> Mapping[str, Sequence[UserReport]]:
        """Return, by span, what people said under these annotation names; never what this product wrote."""
        ...


@runtime_checkable
class Judge(Protocol):
    """Something that judges one item. It never raises for a bad reply: that is a status of the verdict.

    May raise SetupError (wrong key: stop before all traces are tried) and OverBudget.
    """

    provenance: Provenance

    async def judge(self, item: Item) -> Verdict:
        """Judge the item; its answer and documents are already cut into sentences."""
        ...

    async def aclose(self) -> None:
        """Release connections."""
        ...


@runtime_checkable
class PairJudge(Protocol):
    """Something that says which of two answers from the same context is better. It raises as a Judge does."""

    provenance: Provenance

    async def judge_pair(self, pair: Pair) -> Verdict:
        """Compare the answers of the pair; all texts are already cut into sentences."""
        ...

    def is_enough(self, pair: Pair, verdict: Verdict) -> bool:
        """Tell whether a verdict of this judge version, given earlier, says all that this judge would find out."""
        ...

    async def aclose(self) -> None:
        """Release connections."""
        ...


@runtime_checkable
class SecondCheck(Protocol):
    """Looks again, independently, at every finding of a model's verdict; nothing is authoritative alone."""

    @property
    def name(self) -> str:
        """Name the versions of what checks; part of what a verdict rests on."""
        ...

    async def check(self, verdict: Verdict, item: Item) -> Verdict:
        """Return the verdict with an opinion and a certainty on each finding; a check that fails leaves none."""
        ...

    async def aclose(self) -> None:
        """Release connections."""
        ...


@runtime_checkable
class Executor(Protocol):
    """Runs a function over many values, some at a time."""

    def map(self, work: Callable[[T], Awaitable[R]], values: AsyncIterator[T]) -> AsyncGenerator[R, None]:
        """Yield the results as they finish. At most the configured number are under way, so memory stays flat."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelCall:
    """One question to a model with its outcome, all attempts taken together, for those who watch."""

    model: str
    snapshot: str | None  # as the server named it
    messages: Sequence[tuple[str, str]]  # role and content
    reply: str | None  # None: there was none
    failure: str | None  # why not
    finish_reason: str | None
    usage: Usage


@runtime_checkable
class Watch(Protocol):
    """Told what happens while it happens; must not raise, wait or change anything."""

    def judging(self, item: Item, provenance: Provenance) -> AbstractContextManager[Callable[[Verdict], None]]:
        """Watch one judgement: give the verdict to what it yields."""
        ...

    def called(self, call: ModelCall) -> None:
        """Take note of a question to a model, just now answered or given up."""
        ...


class Unwatched:
    """Nobody watches."""

    @contextmanager
    def judging(self, item: Item, provenance: Provenance) -> Iterator[Callable[[Verdict], None]]:
        """Note nothing."""
        yield lambda verdict: None

    def called(self, call: ModelCall) -> None:
        """Note nothing."""
