"""Finding runs: time windows, the three filters, snapshots behind opaque cursors; shared by v1 and v2."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from tests.servers.langsmith import shapes
from tests.servers.langsmith.filters import Expression, FilterError, clauses, matches, parse, trace_ids_named
from tests.servers.langsmith.replies import Refused
from tests.servers.langsmith.state import Run, State, moment

LONGEST_WINDOW = timedelta(days=401)
DEFAULT_WINDOW = timedelta(days=1)


@dataclass(frozen=True, kw_only=True)
class RunQuery:
    """A query in words both API generations share."""

    project_ids: frozenset[str] | None = None
    filter: str | None = None
    trace_filter: str | None = None
    tree_filter: str | None = None
    is_root: bool | None = None
    has_error: bool | None = None
    ids: frozenset[str] | None = None
    run_type: str | None = None
    trace_ids: frozenset[str] | None = None
    parent_run: str | None = None
    start: datetime | None = None  # inclusive
    end: datetime | None = None  # exclusive
    feedback_start: datetime | None = None  # inclusive
    feedback_end: datetime | None = None  # exclusive
    ascending: bool = False


def find(state: State, query: RunQuery) -> list[str]:
    """Return the ids of all runs that match, in the order of the query."""
    expressions = [_read(text) for text in (query.filter, query.trace_filter, query.tree_filter)]
    own, of_root, of_any = expressions
    if (query.feedback_start or query.feedback_end) and not any(
        clause.pair == "feedback" for one in expressions if one for clause in clauses(one)
    ):
        raise Refused(400, "min/max_feedback_modified_at need at least one feedback condition")
    candidates = query.trace_ids
    if own is not None and (named := trace_ids_named(own)) is not None:
        candidates = frozenset(named) if candidates is None else candidates & named
    verdicts: dict[tuple[str, str], bool] = {}
    found = []
    for run, seen in state.visible_runs(traces=candidates):
        if not _fits(query, run, seen) or (own is not None and not _meets(state, query, own, run, seen)):
            continue
        trace = str(seen["trace_id"])
        if of_root is not None and not _tree(state, query, of_root, trace, "root", verdicts):
            continue
        if of_any is not None and not _tree(state, query, of_any, trace, "any", verdicts):
            continue
        found.append((str(seen.get("start_time")), run.id))
    found.sort(reverse=not query.ascending)
    return [run_id for _, run_id in found]


def page(
    state: State, body: Mapping[str, Any], cursor: str | None, size: int, all_ids: Any
) -> tuple[list[Any], str | None]:
    """Cut one page out of a result; the cursor is opaque and bound to the query that made it."""
    bound_to = json.dumps({key: value for key, value in body.items() if key != "cursor"}, sort_keys=True, default=str)
    if cursor is None:
        rest = list(all_ids())
    else:
        held = state.cursors.get(cursor)
        if held is None or held[0] != bound_to:
            raise Refused(400, "invalid cursor: it belongs to another query")
        rest = held[1]
    following = None
    if len(rest) > size:
        following = state.token("cursor")
        state.cursors[following] = (bound_to, rest[size:])
    return rest[:size], following


def window(start: Any, end: Any, now: datetime) -> tuple[datetime, datetime]:
    """Return a v2 time window: the last day unless told, at most 401 days."""
    until = _time(end) or now
    since = _time(start) or now - DEFAULT_WINDOW
    if until - since > LONGEST_WINDOW:
        raise Refused(400, "the time range between min_start_time and max_start_time must not exceed 401 days")
    return since, until


def selected(wanted: Iterable[str] | None) -> list[str]:
    """Check v2 selects; only the id when nothing is asked for."""
    names = list(wanted or ["ID"])
    if unknown := [name for name in names if name not in shapes.V2_FIELDS]:
        raise Refused(422, f"selects: unknown field {unknown[0]!r}")
    return names


def _time(value: Any) -> datetime | None:
    try:
        return moment(value)
    except ValueError as error:
        raise Refused(422, f"not an RFC3339 time: {value!r}") from error


def _read(text: str | None) -> Expression | None:
    try:
        return parse(text) if text else None
    except FilterError as error:
        raise Refused(400, str(error)) from error


def _fits(query: RunQuery, run: Run, seen: Mapping[str, Any]) -> bool:
    started = moment(seen.get("start_time"))
    return (
        (query.project_ids is None or run.project_id in query.project_ids)
        and (query.is_root is None or query.is_root == shapes.is_root(seen))
        and (query.ids is None or run.id in query.ids)
        and (query.run_type is None or query.run_type == seen.get("run_type"))
        and (query.has_error is None or query.has_error == bool(seen.get("error")))
        and (query.parent_run is None or query.parent_run == seen.get("parent_run_id"))
        and (query.start is None or (started is not None and started >= query.start))
        and (query.end is None or (started is not None and started < query.end))
    )


def _meets(state: State, query: RunQuery, expression: Expression, run: Run, seen: Mapping[str, Any]) -> bool:
    feedback = state.feedback_of(run.id, counted_only=True)
    if query.feedback_start or query.feedback_end:
        feedback = [one for one in feedback if _in_time(query, moment(one["modified_at"]))]
    return matches(expression, shapes.facts(state, run, seen, feedback))


def _in_time(query: RunQuery, at: datetime | None) -> bool:
    return at is not None and not (
        (query.feedback_start and at < query.feedback_start) or (query.feedback_end and at >= query.feedback_end)
    )


def _tree(
    state: State, query: RunQuery, expression: Expression, trace: str, whom: str, verdicts: dict[tuple[str, str], bool]
) -> bool:
    if (trace, whom) not in verdicts:
        verdicts[trace, whom] = any(
            _meets(state, query, expression, run, seen)
            for run, seen in state.visible_runs(traces=[trace])
            if whom == "any" or shapes.is_root(seen)
        )
    return verdicts[trace, whom]
