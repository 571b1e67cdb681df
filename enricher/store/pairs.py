"""What comparisons have found: each pair with its verdict, kept so that it is asked about once and can be exported."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select, update

from enricher.store.drafts import ITEM
from enricher.store.forgetting import forgotten_among
from enricher.store.records import digest
from enricher.store.schema import pairs
from enricher.store.store import Store
from enricher.store.upsert import insert_into
from enricher.trace import Item, Pair
from enricher.verdict import Verdict


@dataclass(frozen=True, kw_only=True, slots=True)
class PairRecord:
    """A judged pair as stored."""

    comparison: str
    champion: str  # names of the sources
    challenger: str
    pair: Pair  # without sentences
    input_hash: str
    verdict: Verdict  # without raw replies
    review: tuple[str, ...] = ()  # reason codes; empty: accepted automatically, or nothing to accept
    settled_at: datetime | None = None
    written_at: datetime | None = None  # when both platforms had shown the verdict

    @property
    def id(self) -> str:
        """Identify the pair under one judge version."""
        return pair_record_id(self.comparison, self.pair.id, self.verdict.provenance.version, self.input_hash)


def pair_record_id(comparison: str, pair_id: str, judge_version: str, input_hash: str) -> str:
    """Return the digest under which the verdict on a pair is kept."""
    return digest(comparison, pair_id, judge_version, input_hash)


class PairBook:
    """The pairs in a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def known(self, record_id: str) -> PairRecord | None:
        """Return what is recorded of a pair."""
        found = await self._store.look(lambda c: _records(c, pairs.c.id == record_id))
        return next(iter(found), None)

    async def keep(self, record: PairRecord) -> bool:
        """Record a verdict in place of an earlier one on the same input; False when a trace of it is forgotten."""
        now = self._store.clock()
        return await self._store.transact(lambda c: _keep(c, record, now))

    async def note_written(self, record_ids: Iterable[str]) -> None:
        """Keep that the platforms have shown these verdicts."""
        ids, now = list(record_ids), self._store.clock()
        statement = update(pairs).where(pairs.c.id.in_(ids)).values(written_at=now)
        await self._store.transact(lambda c: c.execute(statement) and None)

    async def of(self, comparison: str | None = None) -> list[PairRecord]:
        """Return the newest verdict on each pair, of one comparison or of all, oldest pair first."""
        condition = pairs.c.comparison == comparison if comparison is not None else pairs.c.id != ""
        newest: dict[tuple[str, str], PairRecord] = {}
        for record in await self._store.look(lambda c: _records(c, condition)):
            newest[record.comparison, record.pair.id] = record
        return list(newest.values())

    async def comparisons(self) -> list[str]:
        """Return the names of all comparisons."""
        query = select(pairs.c.comparison).distinct().order_by(pairs.c.comparison)
        return await self._store.look(lambda c: list(c.execute(query).scalars()))


def _keep(connection: Connection, record: PairRecord, now: datetime) -> bool:
    traces = (record.pair.a.trace_id, record.pair.b.trace_id)
    if forgotten_among(connection, traces):
        return False
    row = {
        "id": record.id,
        "comparison": record.comparison,
        "champion": record.champion,
        "challenger": record.challenger,
        "pair_id": record.pair.id,
        "champion_trace_id": record.pair.a.trace_id,
        "challenger_trace_id": record.pair.b.trace_id,
        "judge_version": record.verdict.provenance.version,
        "input_hash": record.input_hash,
        "status": record.verdict.status.value,
        "pair": {"id": record.pair.id, "a": _bare(record.pair.a), "b": _bare(record.pair.b)},
        "verdict": record.verdict.model_dump(mode="json", exclude={"raw_replies"}),
        "replies": list(record.verdict.raw_replies) or None,
        "review": list(record.review),
        "cost": record.verdict.usage.cost,
        "settled_at": now,
        "written_at": None,
    }
    statement = insert_into(connection, pairs)
    replaced = {column.name: statement.excluded[column.name] for column in pairs.c if column.name != "id"}
    connection.execute(statement.on_conflict_do_update(index_elements=[pairs.c.id], set_=replaced), [row])
    return True


def _bare(item: Item) -> Any:
    # Sentences follow from the texts.
    bare = replace(item, sentences=(), documents=tuple(replace(d, sentences=()) for d in item.documents))
    return ITEM.dump_python(bare, mode="json")


def pairs_by_id(connection: Connection, ids: Collection[str]) -> dict[str, PairRecord]:
    """Read the pairs of these records; ids of forgotten ones are absent."""
    rows = connection.execute(select(pairs.c.id, *_COLUMNS).where(pairs.c.id.in_(ids)))
    return {row.id: _record(row) for row in rows}


def _records(connection: Connection, condition: Any) -> Sequence[PairRecord]:
    rows = connection.execute(select(*_COLUMNS).where(condition).order_by(pairs.c.settled_at, pairs.c.id))
    return [_record(row) for row in rows]


_COLUMNS = (
    pairs.c.comparison,
    pairs.c.champion,
    pairs.c.challenger,
    pairs.c.input_hash,
    pairs.c.pair,
    pairs.c.verdict,
    pairs.c.review,
    pairs.c.settled_at,
    pairs.c.written_at,
)


def _record(row: Any) -> PairRecord:
    return PairRecord(
        comparison=row.comparison,
        champion=row.champion,
        challenger=row.challenger,
        pair=Pair(id=row.pair["id"], a=ITEM.validate_python(row.pair["a"]), b=ITEM.validate_python(row.pair["b"])),
        input_hash=row.input_hash,
        verdict=Verdict.model_validate(row.verdict),
        review=tuple(row.review),
        settled_at=row.settled_at,
        written_at=row.written_at,
    )
