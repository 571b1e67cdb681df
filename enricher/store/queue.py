"""The queue of open questions as people work through it: pages by key, counts, and who is at which."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, String, and_, delete, func, or_, select, tuple_, type_coerce, update

from enricher.store.schema import queue
from enricher.store.upsert import insert_into
from enricher.trace import Item
from enricher.verdict import HalvesResult, Status, Verdict

_QUESTION, _SUMMARY = 300, 500  # characters that a line of the queue needs


@dataclass(frozen=True, kw_only=True, slots=True)
class Waiting:
    """One line of the queue."""

    review_id: str
    trace_id: str
    job: str
    project: str
    judge: str
    reasons: tuple[str, ...]
    label: str  # of the verdict; where there is none, its status
    score: float | None
    question: str  # cut
    summary: str  # cut
    created_at: datetime
    assignee: str | None = None
    assigned_until: datetime | None = None

    def is_held(self, now: datetime) -> bool:
        """Tell whether somebody is at it."""
        return self.assignee is not None and self.assigned_until is not None and self.assigned_until > now

    @property
    def key(self) -> tuple[datetime, str]:
        """Return its place in the order of the queue."""
        return self.created_at, self.review_id


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """Which lines are asked for; None or empty lets everything through."""

    jobs: tuple[str, ...] | None = None
    project: str | None = None
    judge: str | None = None
    reason: str | None = None  # a code, or what stands before its colon
    trace_id: str | None = None  # the beginning of one
    since: datetime | None = None  # asked then or later
    before: datetime | None = None  # asked earlier
    assignee: str | None = None  # a name; NOBODY for those that are free

    def is_open_to(self, facet: "Facet") -> bool:
        """Tell whether a group of lines is asked for, by what a group knows."""
        return (
            (self.jobs is None or facet.job in self.jobs)
            and self.project in (None, facet.project)
            and self.judge in (None, facet.judge)
            and (self.reason is None or any(has_code(reason, self.reason) for reason in facet.reasons))
        )


NOBODY = "-"  # no name: people's names are trimmed, and this one is refused


@dataclass(frozen=True, kw_only=True, slots=True)
class Facet:
    """How many lines share job, project, judge and reasons."""

    job: str
    project: str
    judge: str
    reasons: tuple[str, ...]
    count: int


def has_code(reason: str, wanted: str) -> bool:
    """Tell whether a reason is the wanted one, or a case of it."""
    return reason == wanted or reason.startswith(f"{wanted}:")


def line_of(verdict: Verdict, item: Item | None) -> dict[str, Any]:
    """Return what a line of the queue tells of a verdict."""
    result = verdict.result
    if result is None or (verdict.status is Status.NO_CLAIMS and not isinstance(result, HalvesResult)):
        label = verdict.status.lower()
    else:
        label = result.label
    summary = result.summary if result is not None else verdict.failure or ""
    question = (item.question or "") if item is not None else ""
    return {
        "judge": verdict.provenance.judge,
        "label": label,
        "score": verdict.score,
        "question": question[:_QUESTION],
        "summary": summary[:_SUMMARY],
    }


def enter(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Add lines, or renew those that are there; whoever is at one stays at it."""
    if not rows:
        return
    statement = insert_into(connection, queue)
    renewed = {name: statement.excluded[name] for name in rows[0] if name not in ("review_id", "created_at")}
    connection.execute(statement.on_conflict_do_update(index_elements=[queue.c.review_id], set_=renewed), list(rows))


def leave(connection: Connection, review_ids: Collection[str]) -> None:
    """Take lines off the queue."""
    if review_ids:
        connection.execute(delete(queue).where(queue.c.review_id.in_(review_ids)))


def lines(
    connection: Connection,
    wanted: Wanted,
    now: datetime,
    *,
    limit: int,
    after: tuple[datetime, str] | None = None,
    until: tuple[datetime, str] | None = None,
) -> list[Waiting]:
    """Read a page in the order of the queue, oldest first: what comes after a key, or the last ones before another."""
    place = tuple_(queue.c.created_at, queue.c.review_id)
    query = select(queue).where(*_conditions(wanted, now)).limit(limit)
    if until is not None:
        query = query.where(place < until).order_by(queue.c.created_at.desc(), queue.c.review_id.desc())
        return [_line(row) for row in reversed(connection.execute(query).all())]
    if after is not None:
        query = query.where(place > after)
    query = query.order_by(queue.c.created_at, queue.c.review_id)
    return [_line(row) for row in connection.execute(query)]


def line(connection: Connection, review_id: str) -> Waiting | None:
    """Read one line; None when it is not, or no longer, in the queue."""
    row = connection.execute(select(queue).where(queue.c.review_id == review_id)).one_or_none()
    return None if row is None else _line(row)


def facets(connection: Connection, wanted: Wanted, now: datetime) -> list[Facet]:
    """Count lines by job, project, judge and reasons; of the filters only trace, age and assignee count here."""
    columns = (queue.c.job, queue.c.project, queue.c.judge, queue.c.reasons)
    kept = Wanted(trace_id=wanted.trace_id, since=wanted.since, before=wanted.before, assignee=wanted.assignee)
    query = select(*columns, func.count()).where(*_conditions(kept, now)).group_by(*columns)
    return [
        Facet(job=job, project=project, judge=judge, reasons=tuple(reasons), count=count)
        for job, project, judge, reasons, count in connection.execute(query)
    ]


def assignees(connection: Connection, now: datetime) -> dict[str, int]:
    """Count what each person is at."""
    query = select(queue.c.assignee, func.count()).where(queue.c.assigned_until > now).group_by(queue.c.assignee)
    return {person: count for person, count in connection.execute(query.order_by(queue.c.assignee))}


def take(connection: Connection, review_ids: Collection[str], person: str, until: datetime, now: datetime) -> set[str]:
    """Put a person at lines that are free or theirs, until a moment; return which they got."""
    is_free = or_(queue.c.assignee.is_(None), queue.c.assignee == person, queue.c.assigned_until <= now)
    taking = update(queue).where(queue.c.review_id.in_(review_ids), is_free)
    taking = taking.values(assignee=person, assigned_until=until)
    return set(connection.execute(taking.returning(queue.c.review_id)).scalars())


def give_back(connection: Connection, review_ids: Collection[str], person: str) -> None:
    """Free the lines that a person is at."""
    mine = and_(queue.c.review_id.in_(review_ids), queue.c.assignee == person)
    connection.execute(update(queue).where(mine).values(assignee=None, assigned_until=None))


def take_next(
    connection: Connection,
    wanted: Wanted,
    person: str,
    until: datetime,
    now: datetime,
    after: tuple[datetime, str] | None = None,
) -> str | None:
    """Put a person at the first free line that is wanted, and return its id; None when there is none."""
    for found in lines(connection, replace(wanted, assignee=NOBODY), now, limit=20, after=after):
        if take(connection, [found.review_id], person, until, now):
            return found.review_id
    return None


def _conditions(wanted: Wanted, now: datetime) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = []
    if wanted.jobs is not None:
        found.append(queue.c.job.in_(wanted.jobs))
    for column, value in ((queue.c.project, wanted.project), (queue.c.judge, wanted.judge)):
        if value is not None:
            found.append(column == value)
    if wanted.reason is not None:
        # The codes are stored as JSON texts, each between quotation marks.
        for_itself, as_case = json.dumps(wanted.reason), json.dumps(f"{wanted.reason}:")[:-1]
        stored = type_coerce(queue.c.reasons, String)
        found.append(or_(stored.contains(for_itself, autoescape=True), stored.contains(as_case, autoescape=True)))
    if wanted.trace_id is not None:
        found.append(queue.c.trace_id.startswith(wanted.trace_id, autoescape=True))
    if wanted.since is not None:
        found.append(queue.c.created_at >= wanted.since)
    if wanted.before is not None:
        found.append(queue.c.created_at < wanted.before)
    if wanted.assignee == NOBODY:
        found.append(or_(queue.c.assigned_until.is_(None), queue.c.assigned_until <= now))
    elif wanted.assignee is not None:
        found.append(and_(queue.c.assignee == wanted.assignee, queue.c.assigned_until > now))
    return found


def _line(row: Any) -> Waiting:
    return Waiting(**{**row._mapping, "reasons": tuple(row.reasons)})  # fields are named after columns
