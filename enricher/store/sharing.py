"""Find verdicts that were reached on the same input, whichever trace it was on."""

from collections.abc import Sequence

from sqlalchemy import Connection, bindparam, select

from enricher.store.drafts import ITEM
from enricher.store.records import EvaluationKey, item_id
from enricher.store.schema import evaluations, items
from enricher.store.store import Store
from enricher.trace import Item
from enricher.verdict import Verdict

_LOOKED_AT = 3
_SAME = (
    select(evaluations.c.id, evaluations.c.connection, evaluations.c.item_key, evaluations.c.verdict)
    .where(
        evaluations.c.input_hash == bindparam("input"),
        evaluations.c.judge_version == bindparam("version"),
        evaluations.c.is_verdict.is_(True),
    )
    .order_by((evaluations.c.id == bindparam("own")).desc(), evaluations.c.settled_at.desc())
    .limit(_LOOKED_AT)
)
_ITEM = select(items.c.item).where(items.c.id == bindparam("item"))
# Nearly all inputs are new: one question for many of them tells which are not.
_SEEN = select(evaluations.c.input_hash).where(
    evaluations.c.input_hash.in_(bindparam("inputs", expanding=True)), evaluations.c.is_verdict.is_(True)
)
Known = Verdict | list[tuple[Verdict, Item]]


async def same_input(store: Store, key: EvaluationKey) -> Known:
    """Return the verdict that is known for this very key; else those on the same input, each with its item."""
    return await store.look_up(_same_inputs, key)


def _same_inputs(connection: Connection, keys: Sequence[EvaluationKey]) -> list[Known]:
    seen = set(connection.execute(_SEEN, {"inputs": [key.input_hash for key in keys]}).scalars())
    return [_same_input(connection, key) if key.input_hash in seen else [] for key in keys]


def _same_input(connection: Connection, key: EvaluationKey) -> Known:
    found = []
    bound = {"input": key.input_hash, "version": key.judge_version, "own": key.id}
    for row in connection.execute(_SAME, bound).all():
        verdict = Verdict.model_validate_json(row.verdict)
        if row.id == key.id:
            return verdict
        its_id = item_id(row.connection, row.item_key, key.input_hash)
        item = connection.execute(_ITEM, {"item": its_id}).scalar()
        if item is not None:
            found.append((verdict, ITEM.validate_json(item)))
    return found
