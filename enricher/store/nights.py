"""Nights over time: what each concluded run came to, whole or by project, model, prompt or any key of the metadata.

    found = await nights(store, Wanted(job="nightly", runs=14))            # oldest first, one Night a run
    found = await nights(store, Wanted(project="shop"), by="model")        # one Night a run and model
    found = await nights(store, Wanted(), by="metadata.tier")              # ... a run and value of that key
    what = await groupings(store, Wanted(job="nightly"))                   # what can be chosen and grouped by
    rows = await traces_of(store, Wanted(run_ids=(run,)), labels=["contradicted"], limit=50)   # drill down

`by` is one of GROUPINGS or "metadata.KEY"; what lacks the value is in the group "". Figures of different judges are
never added up: scores, labels and findings are in `Night.judges`, by judge. Only sums and counts are read, no texts.
"""

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, case, cast, func, literal, or_, select
from sqlalchemy.dialects.postgresql import JSONB

from enricher.errors import SetupError
from enricher.store.facts import BUCKETS, CRITICAL, ISSUES
from enricher.store.figures import (
    GROUPINGS,
    METADATA,
    Groupings,
    JudgedTrace,
    JudgeNight,
    Night,
    Reported,
    Wanted,
    grouping,
)
from enricher.store.records import RunState
from enricher.store.schema import decisions, facts, refs, rejections, review_items, runs
from enricher.store.store import Store
from enricher.verdict import Standing

__all__ = [
    "GROUPINGS",
    "Groupings",
    "JudgeNight",
    "JudgedTrace",
    "Night",
    "Reported",
    "Wanted",
    "groupings",
    "nights",
    "traces_of",
]

_COLUMNS = {name: facts.c[name] for name in ("job", "project", "judge_model", "judge_prompt")}
_LOOKED_AT = 2000  # latest judgements in which keys of the metadata are looked for
_SUMS = ("checked", "agreed", "cost", "prompt_tokens", "cached_tokens", "completion_tokens", "calls")
_DANGER = (
    Standing.CONTRADICTED,
    Standing.SOURCE_CONFLICT,
    Standing.UNSUPPORTED,
    Standing.PARTIAL,
    Standing.OMITTED,
)


async def nights(store: Store, wanted: Wanted, *, by: str | None = None) -> list[Night]:
    """Return the concluded runs that match, oldest first, and within each its groups in order.

    A run in which nothing matches is there with empty figures (in the group ""), so that a night without is seen.

    Raises:
        SetupError: nights can't be grouped by that.
    """
    by = None if by is None else grouping(by)
    return await store.look(lambda c: _nights(c, wanted, by))


async def groupings(store: Store, wanted: Wanted) -> Groupings:
    """Return what the judgements that match can be narrowed down to and grouped by."""
    return await store.look(lambda c: _groupings(c, wanted))


async def traces_of(
    store: Store,
    wanted: Wanted,
    *,
    by: str | None = None,
    group: str | None = None,
    labels: Collection[str] = (),
    status: str | None = None,
    issue: str | None = None,
    buckets: Collection[int] = (),
    reported: bool | None = None,
    critical: bool = False,
    limit: int = 100,
    offset: int = 0,
) -> list[JudgedTrace]:
    """Return the judgements behind a figure, the most dangerous first, then the lowest score.

    Args:
        store: where they are.
        wanted: the runs, and what of them.
        by: with `group`, the grouping and its value.
        group: value of the grouping; "" is what lacks it.
        labels: of the verdict, such as contradicted, or the failing half; any of them.
        status: verdict.Status.
        issue: kind of finding, one of facts.ISSUES.
        buckets: tenths of 0 to 1, one of which holds the score.
        reported: with (True) or without (False) a user report.
        critical: only where a document says otherwise.
        limit: at most so many.
        offset: passes over so many first.

    Raises:
        SetupError: there is no such grouping or kind of finding.
    """
    if issue is not None and issue not in ISSUES:
        raise SetupError(f"there is no kind of finding '{issue}'; use {', '.join(ISSUES)}")
    by = None if by is None else grouping(by)

    def look(connection: Connection) -> list[JudgedTrace]:
        conditions = _conditions(connection, wanted)
        if by is not None and group is not None:
            conditions.append(_group(connection, by) == group)
        narrowed = ((facts.c.status, status), (facts.c.is_reported, reported))
        conditions += [column == value for column, value in narrowed if value is not None]
        chosen = ((facts.c.label, labels), (facts.c.bucket, buckets))
        conditions += [column.in_(values) for column, values in chosen if values]
        if issue is not None:
            conditions.append(facts.c[issue.lower()] > 0)
        if critical:
            conditions.append(facts.c.worst.in_([str(standing) for standing in CRITICAL]))
        return _traces(connection, conditions, limit, offset)

    return await store.look(look)


def _nights(connection: Connection, wanted: Wanted, by: str | None) -> list[Night]:
    drafts: dict[tuple[str, str], _Draft] = {}

    def draft(run_id: str, group: str) -> _Draft:
        return drafts.setdefault((run_id, group), _Draft())

    conditions, group = _conditions(connection, wanted), _group(connection, by)
    for row in connection.execute(_sums(group, conditions)):
        draft(row.run_id, row.of).add(row)
    for row in connection.execute(_reported(group, conditions)):
        draft(row.run_id, row.of).reports = Reported(
            with_finding=row.with_finding,
            without_finding=row.reported - row.with_finding,
            unreported_critical=row.unreported_critical,
            traces=row.traces,
        )
    for row in connection.execute(_decided(group, conditions)):
        draft(row.run_id, row.of).decided, draft(row.run_id, row.of).confirmed = row.decided, row.confirmed
    for row in connection.execute(_rejected(wanted, by)):
        draft(row.run_id, row.of).rejected[row.reason] = row.n
    found = []
    for run in reversed(connection.execute(_runs(wanted)).all()):
        its_groups = sorted(name for run_id, name in drafts if run_id == run.id) or [""]
        found += [draft(run.id, name).night(run, name) for name in its_groups]
    return found


class _Draft:
    """The figures of one run and group while they are read."""

    def __init__(self) -> None:
        self.judges: dict[str, dict[str, Any]] = {}
        self.sums: dict[str, Any] = dict.fromkeys(_SUMS, 0)
        self.rejected: dict[str, int] = {}
        self.reports = Reported()
        self.decided = self.confirmed = 0

    def add(self, row: Any) -> None:
        """Add what judgements of one judge with one status and label come to."""
        empty: dict[str, Any] = {"statuses": {}, "labels": {}, "issues": {}, "buckets": [0] * BUCKETS}
        judge = self.judges.setdefault(row.judge, {**empty, "score_sum": 0.0, "checked": 0, "agreed": 0})
        judge["statuses"][row.status] = judge["statuses"].get(row.status, 0) + row.n
        if row.label is not None:
            judge["labels"][row.label] = judge["labels"].get(row.label, 0) + row.n
        judge["score_sum"] += row.score_sum or 0.0
        judge["buckets"] = [sum(pair) for pair in zip(judge["buckets"], row[-BUCKETS:], strict=True)]
        for issue in ISSUES:
            if count := int(getattr(row, issue.lower())):
                judge["issues"][issue] = judge["issues"].get(issue, 0) + count
        for name in ("checked", "agreed"):
            judge[name] += int(getattr(row, name))
        for name in _SUMS:
            self.sums[name] += getattr(row, name)

    def night(self, run: Any, group: str) -> Night:
        """Return the figures under the name of their run."""
        judges = {
            name: JudgeNight(
                **{
                    **figures,
                    "buckets": tuple(figures["buckets"]),
                    "issues": {issue: figures["issues"][issue] for issue in ISSUES if issue in figures["issues"]},
                }
            )
            for name, figures in sorted(self.judges.items())
        }
        return Night(
            run_id=run.id,
            job=run.job,
            state=run.state,
            started_at=run.started_at,
            finished_at=run.finished_at,
            group=group,
            judges=judges,
            rejected=self.rejected,
            reports=self.reports,
            decided=self.decided,
            confirmed=self.confirmed,
            cost=float(self.sums["cost"]),
            **{name: int(self.sums[name]) for name in _SUMS if name not in ("checked", "agreed", "cost")},
        )


# queries


def _runs(wanted: Wanted) -> Select[Any]:
    """Choose the concluded runs, newest first."""
    query = select(runs.c.id, runs.c.job, runs.c.state, runs.c.started_at, runs.c.finished_at)
    query = query.where(runs.c.finished_at.is_not(None), runs.c.state != RunState.RUNNING.value)
    if wanted.job is not None:
        query = query.where(runs.c.job == wanted.job)
    if wanted.since is not None:
        query = query.where(runs.c.started_at >= wanted.since)
    if wanted.until is not None:
        query = query.where(runs.c.started_at < wanted.until)
    if wanted.run_ids:
        query = query.where(runs.c.id.in_(wanted.run_ids))
    if wanted.before is not None:
        own = select(runs.c.started_at).where(runs.c.id == wanted.before).scalar_subquery()
        earlier = and_(runs.c.started_at == own, runs.c.id < wanted.before)
        query = query.where(or_(runs.c.started_at < own, earlier))
    return query.order_by(runs.c.started_at.desc(), runs.c.id.desc()).limit(wanted.runs)


def _conditions(connection: Connection, wanted: Wanted) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = [facts.c.run_id.in_(select(_runs(wanted).subquery().c.id))]
    for name in ("project", "judge", "judge_model", "judge_prompt"):
        if (value := getattr(wanted, name)) is not None:
            conditions.append(facts.c[name] == value)
    labels = {name: getattr(wanted, name) for name in ("model", "prompt") if getattr(wanted, name) is not None}
    for key, value in {**labels, **wanted.metadata}.items():
        conditions.append(_label(connection, grouping(f"{METADATA}{key}")) == value)
    return conditions


def _group(connection: Connection, by: str | None) -> ColumnElement[str]:
    if by is None:
        return literal("")
    if by in _COLUMNS:
        return func.coalesce(_COLUMNS[by], "")
    return func.coalesce(_label(connection, by if by.startswith(METADATA) else f"{METADATA}{by}"), "")


def _label(connection: Connection, by: str) -> ColumnElement[Any]:
    """Return the expression that reads one key of the metadata."""
    key = by.removeprefix(METADATA)
    if connection.dialect.name == "postgresql":
        return func.jsonb_extract_path_text(cast(facts.c.metadata, JSONB), key)
    return func.json_extract(facts.c.metadata, f'$."{key}"')


def _sums(group: ColumnElement[str], conditions: Sequence[ColumnElement[bool]]) -> Select[Any]:
    alike = (facts.c.run_id, group.label("of"), facts.c.judge, facts.c.status, facts.c.label)
    totals = (func.count().label("n"), func.sum(facts.c.score).label("score_sum"))
    figures = [func.sum(facts.c[name]).label(name) for name in (*map(str.lower, ISSUES), *_SUMS)]
    # Columns, not rows: sorting by one more key and reading ten times the rows would cost most of the time.
    buckets = [func.sum(case((facts.c.bucket == number, 1), else_=0)) for number in range(BUCKETS)]
    query = select(*alike, *totals, *figures, *buckets).where(*conditions)
    return query.group_by(facts.c.run_id, "of", facts.c.judge, facts.c.status, facts.c.label)


def _reported(group: ColumnElement[str], conditions: Sequence[ColumnElement[bool]]) -> Select[Any]:
    """Count traces, not judgements: several judges look at one."""

    def any_of(condition: ColumnElement[bool]) -> ColumnElement[int]:
        return func.max(case((condition, 1), else_=0))

    critical = facts.c.worst.in_([str(standing) for standing in CRITICAL])
    each = (
        select(
            facts.c.run_id,
            group.label("of"),
            any_of(facts.c.is_reported.is_(True)).label("is_reported"),
            any_of(facts.c.worst.is_not(None)).label("has_finding"),
            any_of(critical).label("is_critical"),
        )
        .where(*conditions, facts.c.label.is_not(None))
        .group_by(facts.c.run_id, "of", facts.c.trace_id)
        .subquery()
    )
    return select(
        each.c.run_id,
        each.c.of,
        func.count().label("traces"),
        func.sum(each.c.is_reported).label("reported"),
        func.sum(each.c.is_reported * each.c.has_finding).label("with_finding"),
        func.sum((1 - each.c.is_reported) * each.c.is_critical).label("unreported_critical"),
    ).group_by(each.c.run_id, each.c.of)


def _decided(group: ColumnElement[str], conditions: Sequence[ColumnElement[bool]]) -> Select[Any]:
    stands = case((decisions.c.outcome == "confirm", 1), else_=0)
    query = select(
        facts.c.run_id, group.label("of"), func.count().label("decided"), func.sum(stands).label("confirmed")
    )
    joined = facts.join(review_items, review_items.c.evaluation_id == facts.c.evaluation_id)
    joined = joined.join(decisions, decisions.c.review_id == review_items.c.id)
    query = query.select_from(joined).where(*conditions, facts.c.is_recalled.is_(False))
    return query.group_by(facts.c.run_id, "of")


def _rejected(wanted: Wanted, by: str | None) -> Select[Any]:
    """Count rejections; of a trace that can't be judged only job and project are known."""
    of: ColumnElement[str] = literal("")
    if by == "job":
        of = rejections.c.job
    elif by == "project":
        of = func.coalesce(refs.c.project, "")
    query = select(rejections.c.run_id, of.label("of"), rejections.c.reason, func.count().label("n"))
    query = query.where(rejections.c.run_id.in_(select(_runs(wanted).subquery().c.id)))
    if by == "project" or wanted.project is not None:
        same = and_(
            refs.c.job == rejections.c.job,
            refs.c.connection == rejections.c.connection,
            refs.c.trace_id == rejections.c.trace_id,
        )
        query = query.select_from(rejections.outerjoin(refs, same))
    if wanted.project is not None:
        query = query.where(refs.c.project == wanted.project)
    return query.group_by(rejections.c.run_id, "of", rejections.c.reason).order_by(rejections.c.reason)


def _groupings(connection: Connection, wanted: Wanted) -> Groupings:
    conditions = _conditions(connection, wanted)

    def values(column: ColumnElement[Any]) -> tuple[str, ...]:
        query = select(column).where(*conditions, column.is_not(None)).distinct().order_by(column)
        return tuple(connection.execute(query).scalars())

    latest = select(facts.c.metadata).where(*conditions).order_by(facts.c.settled_at.desc()).limit(_LOOKED_AT)
    keys = {key for labels in connection.execute(latest).scalars() for key in labels}
    return Groupings(
        jobs=values(facts.c.job),
        projects=values(facts.c.project),
        judges=values(facts.c.judge),
        judge_models=values(facts.c.judge_model),
        judge_prompts=values(facts.c.judge_prompt),
        metadata=tuple(sorted(keys)),
    )


def _traces(
    connection: Connection, conditions: Sequence[ColumnElement[bool]], limit: int, offset: int
) -> list[JudgedTrace]:
    danger = case(
        *((facts.c.worst == str(standing), number) for number, standing in enumerate(_DANGER)), else_=len(_DANGER)
    )
    shown = [facts.c[name] for name in JudgedTrace.__dataclass_fields__]
    query = select(*shown).where(*conditions)
    query = query.order_by(danger, facts.c.score.is_(None), facts.c.score, facts.c.trace_id, facts.c.judge)
    rows = connection.execute(query.limit(limit).offset(offset))
    return [JudgedTrace(**row._mapping) for row in rows]  # fields are named after columns
