"""How often second checks share the findings of a judge, day by day."""

from dataclasses import dataclass
from datetime import date, datetime

from sqlalchemy import Connection, Integer, String, case, cast, func, select

from enricher.store.schema import evaluations, opinions


@dataclass(frozen=True, kw_only=True, slots=True)
class Agreement:
    """What one second check made of one judge's findings of one kind on one day (UTC)."""

    day: date
    judge: str
    standing: str  # of the findings: contradicted, unsupported, partial ...
    second_by: str  # version of what checked
    checked: int
    agreed: int

    @property
    def rate(self) -> float:
        """Return the share of the checked findings that the second check shares."""
        return self.agreed / self.checked


def agreement(connection: Connection, job: str, since: datetime) -> list[Agreement]:
    """Count by day, judge, kind of finding and checker, oldest first; statements that are no findings do not count."""
    if connection.dialect.name == "postgresql":
        day = func.to_char(func.timezone("UTC", opinions.c.settled_at), "YYYY-MM-DD")
    else:
        day = func.substr(cast(opinions.c.settled_at, String), 1, 10)
    columns = (day, opinions.c.judge, opinions.c.standing, opinions.c.second_by)
    query = (
        select(*columns, func.count(), func.sum(cast(case((opinions.c.agrees, 1), else_=0), Integer)))
        .join(evaluations, evaluations.c.id == opinions.c.evaluation_id)
        .where(evaluations.c.job == job, opinions.c.settled_at >= since, opinions.c.certainty.is_not(None))
        .group_by(*columns)
        .order_by(*columns)
    )
    return [
        Agreement(
            day=date.fromisoformat(day_),
            judge=judge,
            standing=standing,
            second_by=second_by,
            checked=checked,
            agreed=int(agreed),
        )
        for day_, judge, standing, second_by, checked, agreed in connection.execute(query)
    ]
