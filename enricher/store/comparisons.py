"""What each call of `enricher compare` counted, and which pairs it counted, for whoever looks at it later."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, func, select

from enricher.store.history import new_run_id
from enricher.store.pairs import PairRecord, pairs_by_id
from enricher.store.schema import compared_pairs, comparisons, pairs
from enricher.store.store import Store
from enricher.store.watching import started_before

_PAGE = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class CountedPair:
    """One pair of a comparison, and how it counted."""

    record_id: str  # of the pair's verdict
    outcome: str  # win, tie or loss of the challenger; the status when there is no verdict
    is_accepted: bool  # the preference counts without a person having looked at it


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparisonRecord:
    """A comparison as stored."""

    id: str
    name: str  # under which its verdicts are kept
    champion: str
    challenger: str
    judge_version: str
    started_at: datetime
    finished_at: datetime
    gate: str | None  # how the gate ended, in a sentence
    gate_passed: bool | None
    figures: Mapping[str, Any]  # compare.tally.Comparison as JSON, without its rows, and the connection


@dataclass(frozen=True, kw_only=True, slots=True)
class PairPage:
    """Some pairs of a comparison in the order in which they were compared, and how many match."""

    pairs: Sequence[tuple[CountedPair, PairRecord]] = ()
    total: int = 0
    outcomes: Mapping[str, int] = field(default_factory=dict)  # of all pairs that are still kept


class ComparisonBook:
    """The comparisons in a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def keep(
        self, name: str, figures: Mapping[str, Any], counted: Sequence[CountedPair], started_at: datetime
    ) -> str:
        """Record a comparison that has ended and return its id; pairs that are not kept are left out of it."""
        now = self._store.clock()
        row = {
            "id": new_run_id(started_at),
            "name": name,
            "champion": figures["champion"],
            "challenger": figures["challenger"],
            "judge_version": figures["judge"],
            "started_at": started_at,
            "finished_at": now,
            "gate": figures["gate"],
            "gate_passed": figures["gate_passed"],
            "figures": dict(figures),
        }
        await self._store.transact(lambda c: _keep(c, row, counted))
        return str(row["id"])

    async def latest(self, limit: int = 50, before: str | None = None) -> list[ComparisonRecord]:
        """Return comparisons, newest first, those older than an id if one is given."""
        conditions = [] if before is None else [started_before(comparisons, before)]
        return await self._store.look(lambda c: _records(c, *conditions, limit=limit))

    async def get(self, comparison_id: str) -> ComparisonRecord | None:
        """Return one comparison."""
        found = await self._store.look(lambda c: _records(c, comparisons.c.id == comparison_id, limit=1))
        return next(iter(found), None)

    async def pairs_of(
        self,
        comparison_id: str,
        *,
        outcome: str | None = None,
        is_accepted: bool | None = None,
        limit: int = 50,
        offset: int = 0,
    ) -> PairPage:
        """Return a page of the pairs of a comparison; forgotten ones are gone."""
        conditions = [compared_pairs.c.comparison_id == comparison_id]
        if outcome is not None:
            conditions.append(compared_pairs.c.outcome == outcome)
        if is_accepted is not None:
            conditions.append(compared_pairs.c.is_accepted == is_accepted)
        return await self._store.look(lambda c: _page(c, comparison_id, conditions, limit, offset))

    async def pair_of(self, comparison_id: str, record_id: str) -> tuple[CountedPair, PairRecord] | None:
        """Return one pair of a comparison."""
        conditions = [compared_pairs.c.comparison_id == comparison_id, compared_pairs.c.pair_record_id == record_id]
        page = await self._store.look(lambda c: _page(c, comparison_id, conditions, 1, 0))
        return next(iter(page.pairs), None)

    async def replies_to(self, record_id: str) -> list[str]:
        """Return what the model said about a pair, word for word; [] when nothing, or when it is purged."""
        query = select(pairs.c.replies).where(pairs.c.id == record_id)
        return await self._store.look(lambda c: list(c.execute(query).scalar() or ()))


def _keep(connection: Connection, row: Mapping[str, Any], counted: Sequence[CountedPair]) -> None:
    connection.execute(comparisons.insert(), dict(row))
    for first in range(0, len(counted), _PAGE):
        page = counted[first : first + _PAGE]
        ids = [pair.record_id for pair in page]
        kept = set(connection.execute(select(pairs.c.id).where(pairs.c.id.in_(ids))).scalars())
        rows = [
            {
                "comparison_id": row["id"],
                "number": first + at,
                "pair_record_id": pair.record_id,
                "outcome": pair.outcome,
                "is_accepted": pair.is_accepted,
            }
            for at, pair in enumerate(page)
            if pair.record_id in kept
        ]
        if rows:
            connection.execute(compared_pairs.insert(), rows)


def _records(connection: Connection, *conditions: ColumnElement[bool], limit: int) -> list[ComparisonRecord]:
    newest_first = (comparisons.c.started_at.desc(), comparisons.c.id.desc())
    query = select(comparisons).where(*conditions).order_by(*newest_first).limit(limit)
    return [ComparisonRecord(**row._mapping) for row in connection.execute(query)]  # fields are named after columns


def _page(
    connection: Connection, comparison_id: str, conditions: Sequence[ColumnElement[bool]], limit: int, offset: int
) -> PairPage:
    link = compared_pairs.c
    chosen = select(link.pair_record_id, link.outcome, link.is_accepted).where(*conditions)
    rows = connection.execute(chosen.order_by(link.number).limit(limit).offset(offset)).all()
    records = pairs_by_id(connection, [row.pair_record_id for row in rows])
    counts = select(link.outcome, func.count()).where(link.comparison_id == comparison_id).group_by(link.outcome)
    total = select(func.count()).select_from(chosen.subquery())
    return PairPage(
        pairs=[
            (
                CountedPair(record_id=row.pair_record_id, outcome=row.outcome, is_accepted=row.is_accepted),
                records[row.pair_record_id],
            )
            for row in rows
        ],
        total=int(connection.execute(total).scalar_one()),
        outcomes={outcome: count for outcome, count in connection.execute(counts)},
    )
