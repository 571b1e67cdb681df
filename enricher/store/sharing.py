"""Find verdicts that were reached on the same input, whichever trace it was on."""

from sqlalchemy import Connection, select

from enricher.store.records import item_id
from enricher.store.schema import evaluations, items
from enricher.store.settlement import ITEM
from enricher.store.store import Store
from enricher.trace import Item
from enricher.verdict import Verdict

_LOOKED_AT = 3


async def same_input(store: Store, judge_version: str, input_hash: str) -> list[tuple[Verdict, Item]]:
    """Return the newest verdicts of a judge version on an input, each with the item it was reached on."""
    query = select(evaluations).where(
        evaluations.c.input_hash == input_hash,
        evaluations.c.judge_version == judge_version,
        evaluations.c.is_verdict.is_(True),
    )
    query = query.order_by(evaluations.c.settled_at.desc()).limit(_LOOKED_AT)

    def look(connection: Connection) -> list[tuple[Verdict, Item]]:
        found = []
        for row in connection.execute(query).all():
            its_id = item_id(row.connection, row.item_key, input_hash)
            item = connection.execute(select(items.c.item).where(items.c.id == its_id)).scalar()
            if item is not None:
                found.append((Verdict.model_validate_json(row.verdict), ITEM.validate_json(item)))
        return found

    return await store.look(look)
