"""Nights over time: what every run came to, narrowed down and grouped, and the answers behind each figure."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from fastapi import APIRouter
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from enricher.errors import SetupError
from enricher.report import SOUND
from enricher.serve.charts import formatter
from enricher.serve.drawing import charts, score_lines
from enricher.serve.site import Refused, render, site_of
from enricher.serve.trends import (
    group_name,
    group_row,
    groups_of,
    leading_judge,
    night_row,
    tiles,
)
from enricher.serve.twins import address, number, wants_json
from enricher.store import Store
from enricher.store.figures import GROUPINGS, METADATA, Groupings, JudgedTrace, Night, Wanted
from enricher.store.judged import records_of
from enricher.store.nights import groupings, nights, traces_of
from enricher.store.watching import latest_runs
from enricher.verdict import Status

router = APIRouter()
NAVIGATION = ("Nights", "/nights")

WINDOWS = (7, 14, 30, 60, 120)
_WINDOW = 30
_PAGE = 50
_GROUPS = 50  # of the table; the JSON has all
_NARROWED = ("job", "project", "judge_model", "judge_prompt", "model", "prompt")


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """What a visitor asked for; the fields are those of the form."""

    job: str = ""
    project: str = ""
    judge: str = ""
    judge_model: str = ""
    judge_prompt: str = ""
    model: str = ""
    prompt: str = ""
    key: str = ""  # of the metadata
    value: str = ""
    by: str = ""
    runs: int = _WINDOW
    since: str = ""  # days, the last one included
    until: str = ""

    @classmethod
    def of(cls, request: Request) -> "Choice":
        """Read the form.

        Raises:
            Refused: a field can't be.
        """
        given: QueryParams = request.query_params
        texts = {field.name: given.get(field.name, "").strip() for field in fields(cls) if field.name != "runs"}
        runs = number(request, "runs", _WINDOW, at_most=1000) or _WINDOW
        found = cls(**texts, runs=runs)
        if found.value and not found.key:
            raise Refused(400, "Choose the metadata key that must have this value.")
        _ = found.wanted  # so that every field is looked at here
        return found

    @property
    def wanted(self) -> Wanted:
        """Return what the store is asked for; the judge is chosen among what it answers."""
        since, until = _day("since", self.since), _day("until", self.until)
        narrowed: dict[str, Any] = {name: getattr(self, name) or None for name in _NARROWED}
        metadata = {self.key: self.value} if self.key and self.value else {}
        end = until + timedelta(days=1) if until else None
        return Wanted(**narrowed, metadata=metadata, since=since, until=end, runs=self.runs)

    def link(self, path: str = "/nights", **more: Any) -> str:
        """Return an address that asks for the same, but for what is given."""
        mine = {field.name: getattr(self, field.name) for field in fields(self)}
        mine["runs"] = "" if self.runs == _WINDOW else self.runs
        return address(path, {**mine, **more}.items())

    @property
    def is_narrowed(self) -> bool:
        """Tell whether anything is left out but by the number of nights."""
        return any(getattr(self, name) for name in (*_NARROWED, "value", "since", "until"))


@router.get("/nights")
async def show_nights(request: Request) -> Response:
    """Show the nights of the window."""
    store, choice = site_of(request).store, Choice.of(request)
    try:
        found, split, known = await asyncio.gather(
            nights(store, choice.wanted),
            nights(store, choice.wanted, by=choice.by) if choice.by else _none(),
            groupings(store, Wanted(job=choice.job or None, runs=choice.runs)),
        )
    except SetupError as problem:
        raise Refused(400, f"{problem}.") from None
    judge = choice.judge or leading_judge(found) or "diff"
    groups = groups_of(split, judge)
    if wants_json(request):
        return JSONResponse(_twin(choice, judge, found, split, groups, known))
    return await asyncio.to_thread(  # the charts are drawn on the way
        render,
        request,
        "nights.html",
        choice=choice,
        judge=judge,
        known=known,
        scoring=sorted({name for night in found for name, its in night.judges.items() if its.scored}),
        money=formatter("money"),
        nights=found,
        groups=groups[:_GROUPS],
        groups_left=max(0, len(groups) - _GROUPS),
        group_name=group_name,
        narrow=lambda group: _narrowed_to(choice, group),
        windows=WINDOWS,
        grouped_by=[*GROUPINGS, *(f"{METADATA}{key}" for key in known.metadata if key not in GROUPINGS)],
        has_run=bool(found) or bool(await latest_runs(store, limit=1)),
        is_judged=any(night.judged for night in found),
        **_drawn(choice, judge, found, split),
    )


async def _none() -> list[Night]:
    return []


def _drawn(choice: Choice, judge: str, found: Sequence[Night], split: Sequence[Night]) -> dict[str, Any]:
    if not any(night.judged or night.rejected for night in found):
        return {"tiles": [], "charts": []}

    def link(night: Night, *, judge: str = judge, sound: bool | None = None, **more: Any) -> str:
        told = dict(more)
        if "buckets" in told:
            told["buckets"] = ",".join(map(str, told["buckets"]))
        if sound is False:
            told["unsound"] = "1"
        return choice.link("/nights/traces", run=night.run_id, judge=judge, by="", since="", until="", runs="", **told)

    def link_run(night: Night) -> str:
        return f"/runs/{night.run_id}"

    lines = score_lines(found, split or found, judge, link_run)
    rest = charts(found, judge, link, link_run)
    return {"tiles": tiles(found, judge, link), "charts": [rest[0], lines, *rest[1:]]}


def _narrowed_to(choice: Choice, group: str) -> str | None:
    """Return the address of one group by itself; None where a filter can't say it."""
    if not group:
        return None
    by = choice.by.removeprefix(METADATA)
    its = {by: group} if choice.by in _NARROWED else {"key": by, "value": group}
    return choice.link(by="", **its)


def _twin(
    choice: Choice, judge: str, found: Sequence[Night], split: Sequence[Night], groups: Sequence[Any], known: Groupings
) -> dict[str, Any]:
    return {
        "wanted": {field.name: getattr(choice, field.name) or None for field in fields(choice)},
        "judge": judge,
        "nights": [night_row(night) for night in found],
        "groups": [group_row(group) for group in groups],
        "nights_by_group": [night_row(night) for night in split],
        "groupings": {field.name: list(getattr(known, field.name)) for field in fields(known)},
    }


def _day(name: str, text: str) -> datetime | None:
    if not text:
        return None
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        raise Refused(400, f"{name}: '{text[:40]}' is no day; write it as 2026-11-30.") from None


# the answers behind a figure


@router.get("/nights/traces")
async def show_traces(request: Request) -> Response:
    """List the judgements behind a figure, the worst first."""
    store, choice, given = site_of(request).store, Choice.of(request), request.query_params
    offset = number(request, "offset", 0, at_most=1_000_000)
    wanted = replace(choice.wanted, judge=choice.judge or None)
    if given.get("run"):
        wanted = replace(wanted, run_ids=(given["run"],))
    try:
        rows = await traces_of(store, wanted, limit=_PAGE + 1, offset=offset, **await _narrowing(store, wanted, given))
    except SetupError as problem:
        raise Refused(400, f"{problem}.") from None
    page, has_more = rows[:_PAGE], len(rows) > _PAGE
    told = await _told(store, page)
    if wants_json(request):
        found = [{**_trace_row(row), **told.get(row.evaluation_id, {})} for row in page]
        return JSONResponse({"traces": found, "offset": offset, "has_more": has_more})
    query = [(name, value) for name, value in given.multi_items() if name != "offset"]
    return render(
        request,
        "night_traces.html",
        rows=page,
        told=told,
        said=_said(choice, given),
        run=given.get("run", ""),
        later=address("/nights/traces", [*query, ("offset", offset + _PAGE)]) if has_more else None,
        earlier=address("/nights/traces", [*query, ("offset", max(0, offset - _PAGE) or "")]) if offset else None,
        back=choice.link(judge="", runs=""),
        first=offset + 1,
    )


async def _narrowing(store: Store, wanted: Wanted, given: QueryParams) -> dict[str, Any]:
    buckets = given.get("buckets", "")
    if buckets and not all(part in "0123456789" and part for part in buckets.split(",")):
        raise Refused(400, "buckets: write tenths of the score, such as 0,1,2.")
    if given.get("status") and given["status"] not in list(Status):
        raise Refused(400, f"status: there is no '{given['status'][:40]}'.")
    labels = [given["label"]] if given.get("label") else []
    if given.get("unsound"):
        seen = {label for night in await nights(store, wanted) for its in night.judges.values() for label in its.labels}
        labels = sorted(seen.difference(SOUND)) or ["none of these"]
    return {
        "labels": labels,
        "status": given.get("status") or None,
        "issue": given.get("issue") or None,
        "buckets": [int(part) for part in buckets.split(",")] if buckets else [],
        "reported": True if given.get("reported") else None,
        "critical": bool(given.get("critical")),
    }


async def _told(store: Store, rows: Sequence[JudgedTrace]) -> dict[str, dict[str, str]]:
    """Return what was asked and found, by evaluation."""
    return {
        record.id: {
            "question": (record.item.question or "") if record.item else "",
            "summary": record.verdict.result.summary if record.verdict.result else record.verdict.failure or "",
        }
        async for _, record in records_of(store, rows)
    }


def _trace_row(row: JudgedTrace) -> dict[str, Any]:
    found = {field.name: getattr(row, field.name) for field in fields(row)}
    return found | {"settled_at": row.settled_at.isoformat()}


def _said(choice: Choice, given: QueryParams) -> list[str]:
    """Name what the list is narrowed down to."""
    told = [f"judged by {choice.judge}"] if choice.judge else []
    if given.get("unsound"):
        told.append("with a finding")
    for name in ("label", "issue", "status"):
        told += [f"{name} {given[name]}"] if given.get(name) else []
    if buckets := given.get("buckets"):
        tenths = [int(part) for part in buckets.split(",")]
        told.append(f"score {_bounds(tenths)}")
    told += ["reported by users"] if given.get("reported") else []
    told += ["contradicted or in conflict"] if given.get("critical") else []
    told += [f"{name.replace('_', ' ')} {getattr(choice, name)}" for name in _NARROWED if getattr(choice, name)]
    return told + ([f"{choice.key} {choice.value}"] if choice.value else [])


def _bounds(tenths: Sequence[int]) -> str:
    low, high = min(tenths) / 10, (max(tenths) + 1) / 10
    return f"up to {high:g}" if low == 0 else f"above {low:g}" if high == 1 else f"above {low:g}, up to {high:g}"
