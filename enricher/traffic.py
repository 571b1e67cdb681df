"""What model traffic keeps outside the process: the books over money, and calls that travel in batches."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, Protocol

ROUNDING = 1e-9  # of money: less is nothing


class Grant(NamedTuple):
    """What a ledger reserved, and if that is nothing, which cap stands in the way."""

    amount: float
    cap: str = ""


class Ledger(Protocol):
    """The books over all that spend from the same budget."""

    async def reserve(self, least: float, most: float) -> Grant:
        """Reserve as much as the caps leave, between `least` and `most`, or nothing."""
        ...

    async def settle(self, spent: float) -> None:
        """Give back what was reserved and not spent."""
        ...


class BatchState(StrEnum):
    """How far a batch has come."""

    NEW = "new"  # about to be uploaded
    UPLOADED = "uploaded"  # about to be handed in
    SUBMITTED = "submitted"
    ENDED = "ended"  # its answers are recorded, or it came to nothing


@dataclass(frozen=True, kw_only=True, slots=True)
class BatchRecord:
    """One batch as recorded."""

    id: str
    state: BatchState
    is_ours: bool  # this process handed it in
    is_orphan: bool  # the process that handed it in is gone
    input_file: str | None
    remote_id: str | None
    created_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class LineRecord:
    """One call of a batch as recorded."""

    key: str
    batch_id: str | None  # None: in no batch now
    status: int | None  # of the answer; None while there is none
    body: str
    tries: int  # batches it was part of
    first_asked_at: datetime


class BatchBook(Protocol):
    """What is recorded about batches at one endpoint; every method is a transaction of its own."""

    def now(self) -> datetime:
        """Tell the time by which records are kept."""
        ...

    async def line(self, key: str) -> LineRecord | None:
        """Return a call, if it was ever part of a batch and not yet dropped."""
        ...

    async def open_batches(self) -> Sequence[BatchRecord]:
        """Return the batches that have not ended, oldest first."""
        ...

    async def add_batch(self, batch_id: str, lines: Mapping[str, str]) -> None:
        """Record a batch that is about to be uploaded, with the keys of its calls and the traces they are for."""
        ...

    async def advance(
        self, batch_id: str, state: BatchState, *, input_file: str | None = None, remote_id: str | None = None
    ) -> None:
        """Record how far a batch has come."""
        ...

    async def end_batch(self, batch_id: str, replies: Mapping[str, tuple[int, str]], reason: str) -> None:
        """Record the answers of a batch, status and body by key; its other calls are in no batch any more."""
        ...

    async def drop_lines(self, keys: Sequence[str]) -> None:
        """Forget calls whose traces are settled."""
        ...
