"""The queue: what waits for people, narrowed down, worked through by keyboard, one by one or many at once."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from enricher.printing import number_of
from enricher.review.queue import OUTCOMES
from enricher.serve.access import Visitor
from enricher.serve.deciding import decide, give_back, question_of, state_of, take, take_next
from enricher.serve.guard import first, form_of, own_path
from enricher.serve.showing import ago
from enricher.serve.site import Refused, Site, render, site_of, visitor_of
from enricher.serve.twins import wants_json
from enricher.store import queue as store
from enricher.store.queue import NOBODY, Facet, Waiting, Wanted, has_code

router = APIRouter()
NAVIGATION = ("Queue", "/queue")

PAGE = 50
AGES = {
    "1d": "the last 24 hours",
    "7d": "the last 7 days",
    "1d+": "more than a day old",
    "3d+": "more than 3 days old",
    "7d+": "more than a week old",
    "30d+": "more than a month old",
}
RISKS = ("high", "normal")
ME, FREE = "me", "nobody"


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """What a visitor asked for; the fields are those of the form and of the address."""

    job: str = ""
    project: str = ""
    reason: str = ""
    risk: str = ""
    judge: str = ""
    age: str = ""
    assignee: str = ""  # me, nobody, or "=" and a name
    trace: str = ""

    @classmethod
    def of(cls, values: Mapping[str, str]) -> "Choice":
        """Read a choice; what is not known is refused.

        Raises:
            Refused: an age or risk that there is not.
        """
        found = cls(**{field.name: values.get(field.name, "").strip()[:200] for field in fields(cls)})
        if found.age and found.age not in AGES:
            raise Refused(400, f"There is no age '{found.age}'; use one of {', '.join(AGES)}.")
        if found.risk and found.risk not in RISKS:
            raise Refused(400, f"There is no risk '{found.risk}'; use {' or '.join(RISKS)}.")
        return found

    @property
    def is_narrowed(self) -> bool:
        """Tell whether anything is filtered out."""
        return self != Choice()

    def link(self, **more: str) -> str:
        """Return the address of this choice, changed as given."""
        given = {field.name: getattr(self, field.name) for field in fields(self)} | more
        query = urlencode({name: value for name, value in given.items() if value})
        return f"/queue?{query}" if query else "/queue"

    def wanted(self, site: Site, visitor: Visitor) -> Wanted:
        """Return the filter of the store."""
        now = site.store.clock()
        since = before = None
        if self.age.endswith("+"):
            before = now - timedelta(days=int(self.age[:-2]))
        elif self.age:
            since = now - timedelta(days=int(self.age[:-1]))
        assignee = {"": None, ME: visitor.person, FREE: NOBODY}.get(self.assignee, self.assignee.removeprefix("="))
        return Wanted(
            jobs=_jobs(site, self),
            project=self.project or None,
            judge=self.judge or None,
            reason=self.reason or None,
            trace_id=self.trace or None,
            since=since,
            before=before,
            assignee=assignee,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Option:
    """One value of a filter, with how many items it would leave."""

    value: str
    text: str
    count: int | None = None


@router.get("/queue")
async def show(request: Request) -> Response:
    """Show a page of the queue."""
    site, visitor = site_of(request), visitor_of(request)
    choice = Choice.of(request.query_params)
    wanted, now = choice.wanted(site, visitor), site.store.clock()
    after, until = _key(request.query_params.get("after")), _key(request.query_params.get("before"))
    found = await site.store.look(
        lambda c: store.lines(c, wanted, now, limit=PAGE + 1, after=after, until=None if after else until)
    )
    is_backwards = until is not None and after is None
    has_more = len(found) > PAGE
    rows = (found[1:] if is_backwards else found[:PAGE]) if has_more else found
    groups = await site.store.look(lambda c: store.facets(c, wanted, now))
    total = sum(group.count for group in groups if wanted.is_open_to(group))
    newer = choice.link(after=_text(rows[-1])) if rows and (has_more or is_backwards) else None
    if wants_json(request):
        return JSONResponse({"total": total, "items": [_told_of(line, now) for line in rows], "next": newer})
    people = await site.store.look(lambda c: store.assignees(c, now))
    return render(
        request,
        "queue.html",
        choice=choice,
        rows=[_row(line, now, visitor) for line in rows],
        total=total,
        is_empty=not choice.is_narrowed and not rows and after is None,
        filters=_filters(site, choice, wanted, groups),
        people=[(name, count) for name, count in people.items() if name != visitor.person],
        mine=people.get(visitor.person, 0),
        older=choice.link(before=_text(rows[0])) if rows and (has_more if is_backwards else after) else None,
        newer=newer,
        back=choice.link(**{n: v for n in ("after", "before") if (v := request.query_params.get(n))}),
        ages=AGES,
        said=request.session.pop("said", None),
    )


@router.post("/queue")
async def act(request: Request) -> Response:
    """Take, free, confirm or reject the chosen items; what could not be done is said."""
    site, visitor, form = site_of(request), visitor_of(request), await form_of(request)
    what, _, alone = first(form, "do").partition(":")
    chosen = [alone] if alone else list(dict.fromkeys(form.get("item", ())))[: 2 * PAGE]
    if not chosen:
        request.session["said"] = ["warn", "Choose items first."]
    elif what == "take":
        got = await take(site, visitor, chosen)
        lost = len(chosen) - len(got)
        request.session["said"] = ["warn" if lost else "good", _told("taken", len(got), lost, "held by somebody else")]
    elif what == "free":
        await give_back(site, visitor, chosen)
        request.session["said"] = ["good", _told("given back", len(chosen), 0)]
    elif what in OUTCOMES and what != "correct":
        said = await _decide_all(site, visitor, chosen, what, first(form, "comment"))
        request.session["said"] = [*said, f"/review/{alone}"] if alone else said
    else:
        raise Refused(400, "There is no such action.")
    return RedirectResponse(own_path(first(form, "back"), "/queue"), 303)


@router.post("/queue/next")
async def go_on(request: Request) -> Response:
    """Take the next free item of a choice and open it."""
    site, visitor, form = site_of(request), visitor_of(request), await form_of(request)
    choice = Choice.of({name: first(form, name) for name in form})
    free = choice if choice.assignee in ("", FREE) else Choice.of({})
    found = await take_next(site, visitor, free.wanted(site, visitor))
    if found is None:
        request.session["said"] = ["good", "Nothing more is free here."]
        return RedirectResponse(choice.link(), 303)
    return RedirectResponse(f"/review/{found}?{urlencode({'back': choice.link()})}", 303)


async def _decide_all(site: Site, visitor: Visitor, ids: Iterable[str], outcome: str, comment: str) -> list[str]:
    done, problems = 0, Counter[str]()
    for review_id in ids:
        try:
            seen = state_of(await question_of(site, review_id))
            if not seen.startswith("open:"):
                raise Refused(409, "It was decided meanwhile.")
            await decide(site, visitor, review_id, outcome=outcome, comment=comment, seen=seen)
            done += 1
        except Refused as refusal:
            problems[refusal.sentence] += 1
    said = _told(f"{outcome}ed", done, 0)
    left = " ".join(f"{count} not: {sentence}" for sentence, count in problems.items())
    return ["warn" if problems else "good", f"{said} {left}".strip()]


def _told(what: str, done: int, lost: int, why: str = "") -> str:
    said = f"{number_of(done, 'item')} {what}"
    return f"{said}, {lost} {why}." if lost else f"{said}."


def _jobs(site: Site, choice: Choice) -> tuple[str, ...] | None:
    if not choice.risk:
        return (choice.job,) if choice.job else None
    risky = tuple(name for name, job in site.settings.jobs.items() if job.risk_level == choice.risk)
    return tuple(name for name in risky if name == choice.job) if choice.job else risky


def _row(line: Waiting, now: datetime, visitor: Visitor) -> dict[str, object]:
    held = line.is_held(now)
    return {
        "line": line,
        "age": ago(line.created_at, now),
        "holder": line.assignee if held else None,
        "is_mine": held and line.assignee == visitor.person,
        "is_theirs": held and line.assignee != visitor.person,
    }


def _told_of(line: Waiting, now: datetime) -> dict[str, object]:
    return {
        "id": line.review_id,
        "trace_id": line.trace_id,
        "job": line.job,
        "project": line.project,
        "judge": line.judge,
        "reasons": list(line.reasons),
        "label": line.label,
        "score": line.score,
        "question": line.question,
        "summary": line.summary,
        "asked_at": line.created_at.isoformat(),
        "assignee": line.assignee if line.is_held(now) else None,
    }


def _filters(site: Site, choice: Choice, wanted: Wanted, groups: Sequence[Facet]) -> list[dict[str, object]]:
    """Return each filter with its values, counted as if it alone were not set."""

    def options(name: str, values: Callable[[Facet], Iterable[str]], **unset: Any) -> list[Option]:
        others = replace(wanted, **unset)
        counts: Counter[str] = Counter()
        for group in groups:
            if others.is_open_to(group):
                counts.update({value: group.count for value in values(group)})
        chosen = getattr(choice, name)
        if chosen:
            counts.setdefault(chosen, 0)
        return [Option(value=value, text=value, count=counts[value]) for value in sorted(counts)]

    def risk_of(group: Facet) -> Iterable[str]:
        job = site.settings.jobs.get(group.job)
        return (job.risk_level,) if job is not None else ()

    def codes_of(group: Facet) -> Iterable[str]:
        return {reason.partition(":")[0] for reason in group.reasons} | {
            reason for reason in group.reasons if choice.reason and has_code(reason, choice.reason)
        }

    return [
        {"name": "reason", "title": "Reason", "options": options("reason", codes_of, reason=None)},
        {"name": "risk", "title": "Risk", "options": options("risk", risk_of, jobs=None)},
        {"name": "judge", "title": "Judge", "options": options("judge", lambda g: (g.judge,), judge=None)},
        {"name": "job", "title": "Job", "options": options("job", lambda g: (g.job,), jobs=None)},
        {"name": "project", "title": "Project", "options": options("project", lambda g: (g.project,), project=None)},
    ]


def _text(row: Waiting) -> str:
    return f"{row.created_at.isoformat()}~{row.review_id}"


def _key(text: str | None) -> tuple[datetime, str] | None:
    if not text:
        return None
    moment, _, review_id = text.partition("~")
    try:
        at = datetime.fromisoformat(moment)
    except ValueError:
        raise Refused(400, "This place in the queue can't be read; go back to its beginning.") from None
    if at.tzinfo is None:
        raise Refused(400, "This place in the queue can't be read; go back to its beginning.")
    return at, review_id
