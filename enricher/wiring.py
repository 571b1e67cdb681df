"""What the model clients of one job share: the budget, the books, and how calls travel."""

from collections.abc import Callable
from dataclasses import dataclass

from enricher.errors import SetupError
from enricher.judges.batch import Batcher, BatchOptions
from enricher.judges.budget import RunLedger, Spending
from enricher.judges.chat import ChatOptions
from enricher.judges.endpoint import Address, Carrier
from enricher.judges.prices import Prices
from enricher.seams import ModelCall
from enricher.settings import Job, Settings
from enricher.store import Store
from enricher.store.traffic import Caps, StoreBatchBook, StoreLedger, keepsake


@dataclass(frozen=True, kw_only=True, slots=True)
class Wiring:
    """What a job's model clients are given; nothing is capped, and calls go out at once, by default."""

    spending: Spending | None = None
    is_rehearsal: bool = False  # nobody is asked; what it would cost is counted
    price_factor: float = 1.0  # of list prices
    traces: int | None = None  # under way at a time; None: as many as usual
    salt: bytes | None = None  # what the tags of prompts are derived from; None: another for each run
    carrier: Callable[[ChatOptions], Carrier | None] = lambda options: None
    watch: Callable[[ModelCall], None] | None = None  # told of each question and its outcome

    async def aclose(self) -> None:
        """Close the books."""
        if self.spending is not None:
            await self.spending.aclose()


async def wire(
    settings: Settings, name: str, store: Store, *, dry_run: bool = False, spender: str | None = None
) -> Wiring:
    """Prepare the model clients of a job; several processes that work on one run name it as the spender.

    Raises:
        SetupError: there is a cap on money, but the model has no price.
    """
    job = settings.jobs[name]
    if is_local(settings, job):
        return Wiring()
    batch = settings.openai.batch
    is_batched = settings.openai.transport == "batch"
    if dry_run:
        return Wiring(is_rehearsal=True, price_factor=batch.price_factor if is_batched else 1.0)
    caps = Caps(
        per_run=settings.budget.per_run,
        per_day=settings.budget.per_day,
        job_per_run=job.budget.per_run,
        job_per_day=job.budget.per_day,
    )
    if caps:
        _require_price(settings)
    spending = Spending(StoreLedger(store, name, caps, run=spender)) if caps else None
    if not is_batched:
        return Wiring(spending=spending)
    return Wiring(
        spending=spending,
        # The same in every run: a question after a crash must be, to the letter, the one that was handed in.
        salt=await keepsake(store, "fence"),
        carrier=lambda options: _batcher(settings, options, store),
        traces=batch.traces,
    )


def is_local(settings: Settings, job: Job) -> bool:
    """Tell whether the embedded engine alone judges for a job."""
    return all((choice.engine or settings.engine) == "local" for choice in job.judges)


def wire_records(settings: Settings, store: Store | None) -> Wiring:
    """Prepare the model client for plain records; a cap a day needs the store."""
    budget = settings.budget
    if budget.per_run is None and budget.per_day is None:
        return Wiring()
    _require_price(settings)
    if store is not None:
        return Wiring(spending=Spending(StoreLedger(store, "", Caps(per_run=budget.per_run, per_day=budget.per_day))))
    return Wiring(spending=Spending(RunLedger(budget.per_run or 0.0)))


def _batcher(settings: Settings, options: ChatOptions, store: Store) -> Batcher:
    batch = settings.openai.batch
    place = Address(base_url=options.base_url, model=options.model).place
    return Batcher(
        StoreBatchBook(store, f"{place} {options.model}"),
        BatchOptions(
            collect_s=batch.collect.total_seconds(),
            most_calls=batch.max_calls,
            poll_s=batch.poll.total_seconds(),
            live_after_s=batch.live_after.total_seconds() if batch.live_after is not None else None,
            tries=batch.tries,
            price_factor=batch.price_factor,
        ),
    )


def prices_of(settings: Settings, model: str) -> Prices:
    """Return what a model costs: by the price table, else the prices without a name."""
    options = settings.openai
    if (row := options.prices.get(model)) is not None:
        return Prices(prompt=row.prompt, cached=row.cached, completion=row.completion)
    return Prices(prompt=options.price_in, cached=options.price_cached, completion=options.price_out)


def _require_price(settings: Settings) -> None:
    model = settings.openai.model
    if not prices_of(settings, model).are_known:
        raise SetupError(
            f"there is a budget, but no price for the model {model}: set openai.prices, or price_in and price_out"
        )
