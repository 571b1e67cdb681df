"""Take chosen traces up: pull them whole, send each through the pipeline, and settle what came of it."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from enricher.errors import SetupError, TryAgain
from enricher.logs import about, describe
from enricher.pipeline import Outcome, Pipeline
from enricher.seams import Connector
from enricher.store import Evaluation, RefState, Settlement, Store, Taken
from enricher.trace import RawTrace, Rejection, TraceId
from enricher.verdict import Status

T = TypeVar("T")
log = logging.getLogger(__name__)

_MOST_ATTEMPTS = 10  # runs that take up a trace whose judge is unavailable
_LONGEST_WAIT_S = 120.0  # a platform that asks for more is asked again sooner; then its traces stay due
_TRANSIENT = {Status.JUDGE_UNAVAILABLE, Status.BUDGET_EXCEEDED}


@dataclass(frozen=True, kw_only=True, slots=True)
class Handler:
    """What a run does to the traces that it takes up, in whatever process it is done."""

    run_id: str
    job: str
    connector: Connector
    pipeline: Pipeline
    store: Store

    async def pull(self, waiting: dict[TraceId, Taken]) -> AsyncIterator[tuple[Taken, RawTrace | Rejection]]:
        """Pull until each waiting trace has come; after a failure only those still missing are asked for again.

        Raises:
            TryAgain, BadReply: the platform is out; those still waiting stay in `waiting`.
        """
        async for attempt in retrying():
            with attempt:
                async for got in self.connector.pull([taken.ref for taken in waiting.values()]):
                    trace_id = got.trace_id if isinstance(got, Rejection) else got.ref.trace_id
                    if (taken := waiting.pop(trace_id, None)) is not None:
                        yield taken, got

    async def handle(self, pulled: tuple[Taken, RawTrace | Rejection]) -> Outcome:
        """Judge and settle one trace; a bug on one trace costs the others nothing."""
        with about(run_id=self.run_id, trace_id=pulled[0].ref.trace_id):
            return await self._handle(*pulled)

    async def _handle(self, taken: Taken, got: RawTrace | Rejection) -> Outcome:
        if isinstance(got, Rejection):
            outcome = Outcome(ref=taken.ref, rejections=(got,))
        else:
            try:
                outcome = await self.pipeline.enrich(got)
            except SetupError:
                raise
            except Exception as error:
                log.exception("trace %s can't be handled", taken.ref.trace_id)
                outcome = Outcome(ref=taken.ref, crash=describe(error))
        await self.store.settle(self._settlement(outcome, taken))
        return outcome

    def _settlement(self, outcome: Outcome, taken: Taken) -> Settlement:
        state, reason = _state_after(outcome, taken.attempts)
        return Settlement(
            run_id=self.run_id,
            job=self.job,
            ref=taken.ref,
            evaluations=tuple(
                Evaluation(
                    item_key=judgement.item.key,
                    input_hash=judgement.input_hash,
                    verdict=judgement.verdict,
                    annotations=judgement.annotations,
                    review=judgement.decision.reasons,
                    item=judgement.item,
                    is_cached=judgement.is_recalled,
                )
                for judgement in outcome.judgements
            ),
            rejections=outcome.rejections,
            state=state,
            reason=reason,
        )


def _state_after(outcome: Outcome, attempts: int) -> tuple[RefState, str]:
    if outcome.is_deferred:
        return RefState.DEFERRED, "still running"
    if outcome.crash:
        return (RefState.DUE if attempts < _MOST_ATTEMPTS else RefState.DONE), outcome.crash[:500]
    transient = [j.verdict.status for j in outcome.judgements if j.verdict.status in _TRANSIENT]
    # However long money is short, what was never judged is not forgotten.
    if Status.BUDGET_EXCEEDED in transient or (transient and attempts < _MOST_ATTEMPTS):
        return RefState.DUE, str(transient[0])
    if outcome.judgements:
        return RefState.DONE, ""
    return RefState.REJECTED, ", ".join(sorted({str(rejection.reason) for rejection in outcome.rejections}))


def _wait(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    asked = error.after if isinstance(error, TryAgain) else None
    return min(asked, _LONGEST_WAIT_S) if asked is not None else wait_random_exponential(multiplier=0.5, max=30)(state)


def retrying() -> AsyncRetrying:
    """Make the patience that a platform which asks to try again deserves."""
    return AsyncRetrying(retry=retry_if_exception_type(TryAgain), stop=stop_after_attempt(5), wait=_wait, reraise=True)


async def patiently(call: Callable[[], Awaitable[T]]) -> T:
    """Call until it succeeds, as long as the platform asks to try again; its last word is raised."""
    async for attempt in retrying():
        with attempt:
            return await call()
    raise AssertionError("tenacity raises the last error")
