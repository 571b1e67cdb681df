"""One trace as people judge it: question, answer and documents side by side, every opinion, and the decision."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from fastapi import APIRouter
from sqlalchemy import select
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response

from enricher.errors import EnricherError
from enricher.links import platform_link
from enricher.measure.golden import add_to_golden
from enricher.measuring import golden_path
from enricher.review.queue import OUTCOMES
from enricher.serve.deciding import (
    changed_labels,
    decide,
    free_at,
    give_back,
    question_of,
    state_of,
    take,
    take_next,
)
from enricher.serve.evidence import lay
from enricher.serve.guard import first, form_of, own_path
from enricher.serve.queue import Choice
from enricher.serve.showing import visible
from enricher.serve.site import Refused, Site, is_fragment, render, site_of, visitor_of
from enricher.serve.twins import wants_json
from enricher.steps.rendering import MAIN, NAMES, label
from enricher.store import EvaluationRecord, Question, QueueFilter, ReviewState, Story, queue
from enricher.store.history import evaluation_records
from enricher.store.schema import evaluations, raw_replies
from enricher.story import as_json
from enricher.verdict import DeliveryState, Verdict

router = APIRouter()

_QUESTIONS = 200  # of one trace
_GOLDEN = {"added": "Added to", "replaced": "Replaced in", "unchanged": "Already in"}
_PLATFORMS = {"phoenix": "Phoenix", "langsmith": "LangSmith"}


@router.get("/trace/{trace_id:path}")
async def show(request: Request, trace_id: str) -> Response:
    """Show a trace; `verdict` chooses whose, `statement` what is marked."""
    return await _page(request, trace_id, request.query_params.get("verdict", ""))


@router.get("/review/{review_id}")
async def open_review(request: Request, review_id: str) -> Response:
    """Open the trace that a question is about."""
    question = await question_of(site_of(request), review_id)
    more = {"verdict": question.evaluation.id, "back": request.query_params.get("back", "")}
    return RedirectResponse(trace_path(question.review.trace_id, **more), 303)


@router.post("/review/{review_id}")
async def settle(request: Request, review_id: str) -> Response:
    """Decide one question; then stay, or take the next one."""
    site, visitor, form = site_of(request), visitor_of(request), await form_of(request)
    question = await question_of(site, review_id)
    trace_id, back = question.review.trace_id, own_path(first(form, "back"), "/queue")
    outcome = first(form, "outcome")
    try:
        if outcome not in OUTCOMES:
            raise Refused(422, "Choose first: confirm, reject or correct.")
        correction = {"label": first(form, "label"), "changes": changed_labels(form)} if outcome == "correct" else {}
        decision = await decide(
            site, visitor, review_id, outcome=outcome, comment=first(form, "comment"), seen=first(form, "seen"),
            **correction,  # type: ignore[arg-type]
        )  # fmt: skip
    except Refused as refusal:
        return await _page(request, trace_id, question.evaluation.id, typed=form, problem=refusal)
    said = f"{decision.outcome.capitalize()}ed: {decision.label or 'no label'}. It goes back to the platform now."
    request.session["said"] = ["good", said]
    if first(form, "then") == "next":
        choice = Choice.of(_query_of(back))
        found = await take_next(site, visitor, choice.wanted(site, visitor))
        if found is not None:
            return RedirectResponse(f"/review/{found}?{urlencode({'back': back})}", 303)
        return RedirectResponse(back, 303)
    return RedirectResponse(trace_path(trace_id, verdict=question.evaluation.id, back=back), 303)


@router.post("/review/{review_id}/golden")
async def keep_as_golden(request: Request, review_id: str) -> Response:
    """Put what people decided about a question into the golden set that `enricher regress` holds prompts to."""
    site = site_of(request)
    question = await question_of(site, review_id)
    back = own_path(first(await form_of(request), "back"), "/queue")
    try:
        path = golden_path(site.settings, None)
        outcome = await asyncio.to_thread(add_to_golden, path, question)
    except EnricherError as error:
        request.session["said"] = ["bad", f"Not put into the golden set: {error}."]
    else:
        request.session["said"] = ["good", f"{_GOLDEN[outcome]} {path.name}."]
    return RedirectResponse(trace_path(question.review.trace_id, verdict=question.evaluation.id, back=back), 303)


@router.post("/review/{review_id}/take")
async def hold(request: Request, review_id: str) -> Response:
    """Put the visitor at a question, or say who is."""
    site, visitor = site_of(request), visitor_of(request)
    await take(site, visitor, [review_id])
    return await _held(request, review_id)


@router.post("/review/{review_id}/free")
async def free(request: Request, review_id: str) -> Response:
    """Give a question back."""
    site, visitor = site_of(request), visitor_of(request)
    await give_back(site, visitor, [review_id])
    return await _held(request, review_id)


@router.get("/replies/{evaluation_id}")
async def replies(request: Request, evaluation_id: str) -> Response:
    """Show what the model said, word for word."""
    query = select(raw_replies.c.reply).where(raw_replies.c.evaluation_id == evaluation_id)
    found = await site_of(request).store.look(lambda c: list(c.execute(query.order_by(raw_replies.c.number)).scalars()))
    template = "replies_part.html" if is_fragment(request) else "replies.html"
    return render(request, template, replies=[str(reply) for reply in found])


@router.get("/text/{evaluation_id}/{part}")
async def text(request: Request, evaluation_id: str, part: str) -> Response:
    """Give a whole text, of which the page may leave something out; as text, whatever it says it is."""
    query = select(evaluations).where(evaluations.c.id == evaluation_id)
    found = await site_of(request).store.look(lambda c: evaluation_records(c, query))
    item = found[0].item if found else None
    if item is not None and part == "answer":
        return PlainTextResponse(visible(item.answer))
    if item is not None and part.isdecimal() and int(part) < len(item.documents):
        return PlainTextResponse(visible(item.documents[int(part)].text))
    raise Refused(404, "There is no such text; it may have been forgotten on request.")


def trace_path(trace_id: str, **query: str) -> str:
    """Return the address of a trace."""
    given = {name: value for name, value in query.items() if value}
    return f"/trace/{quote(trace_id, safe='')}" + (f"?{urlencode(given)}" if given else "")


async def _held(request: Request, review_id: str) -> Response:
    site = site_of(request)
    if not is_fragment(request):
        question = await question_of(site, review_id)
        back = own_path(first(await form_of(request), "back"), "/queue")
        address = trace_path(question.review.trace_id, verdict=question.evaluation.id, back=back)
        return RedirectResponse(address, 303)
    holding = await _holding(site, review_id, visitor_of(request).person)
    return render(request, "hold.html", review_id=review_id, hold=holding, is_loaded=True)


async def _holding(site: Site, review_id: str, person: str) -> dict[str, Any]:
    """Say who is at a question."""
    line = await site.store.look(lambda c: queue.line(c, review_id))
    if line is None or not line.is_held(site.store.clock()):
        return {"is_open": line is not None, "holder": None, "until": "", "is_mine": False}
    return {
        "is_open": True,
        "holder": line.assignee,
        "until": free_at(line.assigned_until),
        "is_mine": line.assignee == person,
    }


async def _page(
    request: Request,
    trace_id: str,
    chosen: str,
    *,
    typed: Mapping[str, Sequence[str]] | None = None,
    problem: Refused | None = None,
) -> Response:
    site, visitor = site_of(request), visitor_of(request)
    story = await site.store.explain(trace_id)
    if not (story.evaluations or story.refs or story.rejections):
        return await _alike(request, trace_id)
    if request.method == "GET" and wants_json(request):
        return JSONResponse(as_json(story))
    asked = await _questions(site, trace_id)
    record = _chosen(story.evaluations, chosen, asked)
    question = asked.get(record.id) if record is not None else None
    back = own_path(request.query_params.get("back") or first(typed or {}, "back"), "/queue")
    return render(
        request,
        "trace.html",
        status=problem.status if problem is not None else 200,
        problem=problem.sentence if problem is not None else "",
        trace_id=trace_id,
        story=story,
        laid=lay(record) if record is not None else None,
        tabs=[_tab(one, record, asked, back) for one in _same_item(story.evaluations, record)],
        other_items=_other_items(story.evaluations, record, back),
        question=question,
        has_golden=site.settings.regress.golden is not None,
        seen=state_of(question) if question is not None else "",
        labels=_labels(record.verdict) if record is not None else (),
        hold=await _holding(site, question.review.id, visitor.person) if question is not None else None,
        typed={name: values[0] for name, values in (typed or {}).items()},
        reports=[report for ref in story.refs for report in ref.ref.reports],
        link=_link(site, story, record),
        written=_written(story, record),
        reply_count=len(story.raw_replies.get(record.id, ())) if record is not None else 0,
        statement=request.query_params.get("statement", ""),
        back=back,
        here=trace_path(trace_id, verdict=record.id if record is not None else "", back=back),
        said=request.session.pop("said", None),
    )


async def _alike(request: Request, trace_id: str) -> Response:
    found = await site_of(request).store.traces_like(trace_id, 2)
    if len(found) == 1 and trace_id:
        return RedirectResponse(trace_path(found[0]), 303)
    raise Refused(404, "Nothing is recorded about this trace; write its whole id, or more of it.")


async def _questions(site: Site, trace_id: str) -> dict[str, Question]:
    """Return what people are asked about a trace, by evaluation."""
    found = await site.store.questions(QueueFilter(state=None, trace_id=trace_id), _QUESTIONS)
    return {one.evaluation.id: one for one in found if one.review.trace_id == trace_id}


def _chosen(records: Sequence[EvaluationRecord], chosen: str, asked: Mapping[str, Question]) -> EvaluationRecord | None:
    by_id = {record.id: record for record in records}
    if chosen in by_id:
        return by_id[chosen]
    is_open = [one.evaluation.id for one in asked.values() if one.review.state is ReviewState.OPEN]
    order = list(MAIN)  # the judges, the most telling first
    ranked = sorted(
        records,
        key=lambda one: (one.id not in is_open, order.index(one.verdict.provenance.judge), -one.settled_at.timestamp()),
    )
    return next(iter(ranked), None)


def _same_item(records: Sequence[EvaluationRecord], record: EvaluationRecord | None) -> list[EvaluationRecord]:
    order = list(MAIN)
    mine = [one for one in records if record is not None and one.item_key == record.item_key]
    return sorted(mine, key=lambda one: (order.index(one.verdict.provenance.judge), -one.settled_at.timestamp()))


def _tab(
    one: EvaluationRecord, record: EvaluationRecord | None, asked: Mapping[str, Question], back: str
) -> dict[str, Any]:
    question = asked.get(one.id)
    return {
        "judge": one.verdict.provenance.judge,
        "version": one.verdict.provenance.version,
        "label": label(one.verdict) if one.verdict.result is not None else str(one.verdict.status).lower(),
        "is_failed": not one.verdict.status.is_verdict,
        "score": one.verdict.score,
        "address": trace_path(one.verdict.trace_id, verdict=one.id, back=back),
        "is_chosen": record is not None and one.id == record.id,
        "is_open": question is not None and question.review.state is ReviewState.OPEN,
    }


def _other_items(
    records: Sequence[EvaluationRecord], record: EvaluationRecord | None, back: str
) -> list[tuple[str, str]]:
    """Return the other questions of the trace, each with its address: a conversation holds several."""
    found: dict[str, tuple[str, str]] = {}
    for one in records:
        if record is not None and one.item_key != record.item_key and one.item is not None:
            address = trace_path(one.verdict.trace_id, verdict=one.id, back=back)
            found.setdefault(one.item_key, ((one.item.question or "no question")[:120], address))
    return list(found.values())


def _labels(verdict: Verdict) -> tuple[str, ...]:
    return NAMES[MAIN[verdict.result.kind]] if verdict.result is not None else ()


def _link(site: Site, story: Story, record: EvaluationRecord | None) -> tuple[str, str] | None:
    """Return the platform's name and where it shows the span."""
    if record is None:
        return None
    place = site.settings.connections.get(record.connection)
    locator = {name: text for ref in story.refs for name, text in ref.ref.locator.items()}
    address = platform_link(place, record.verdict.span_id, locator)
    return (_PLATFORMS.get(place.kind, place.kind), address) if place is not None and address else None


def _written(story: Story, record: EvaluationRecord | None) -> list[dict[str, Any]]:
    """Return what was written back about the chosen span."""
    if record is None:
        return []
    return [
        {
            "name": entry.annotation.name,
            "label": entry.annotation.label or "",
            "by": "a person" if entry.annotation.annotator_kind == "HUMAN" else "the judge",
            "state": str(entry.state),
            "is_done": entry.state is DeliveryState.CONFIRMED,
            "is_lost": entry.state is DeliveryState.FAILED,
            "reason": entry.reason,
        }
        for entry in story.outbox
        if entry.annotation.span_id == record.verdict.span_id and entry.annotation.document_position is None
    ]


def _query_of(path: str) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(path).query))
