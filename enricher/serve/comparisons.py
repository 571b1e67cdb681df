"""Comparisons: what `enricher compare` counted, and every pair with both answers and what speaks for either."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from enricher.compare.report import headline, numbers
from enricher.compare.tally import Comparison
from enricher.links import platform_link
from enricher.results.pairwise import preference_summary
from enricher.serve.site import Refused, Site, render, site_of
from enricher.serve.twins import address, number, wants_json
from enricher.steps.rendering import details
from enricher.store.comparisons import ComparisonBook, ComparisonRecord, CountedPair
from enricher.store.pairs import PairRecord
from enricher.trace import Item
from enricher.verdict import Hallucination, PairwiseResult, Side

router = APIRouter()
NAVIGATION = ("Comparisons", "/comparisons")

_PAGE = 25
_LEFTOVERS = 200
_NAMES = {"A": "the champion's answer", "B": "the challenger's answer"}
_FARED = ("win", "tie", "loss")


@dataclass(frozen=True, kw_only=True, slots=True)
class Bit:
    """A stretch of an answer, and what is held against it."""

    text: str
    severity: str = ""  # of the flag; empty where nothing is flagged
    flag_id: str = ""


@router.get("/comparisons")
async def show_comparisons(request: Request) -> Response:
    """List the comparisons, newest first."""
    book, before = ComparisonBook(site_of(request).store), request.query_params.get("before") or None
    found = await book.latest(_PAGE + 1, before)
    lines = [(record, figures_of(record)) for record in found[:_PAGE]]
    older = address("/comparisons", [("before", lines[-1][0].id)]) if len(found) > _PAGE else None
    if wants_json(request):
        return JSONResponse({"comparisons": [_row(*line) for line in lines], "older": older})
    return render(request, "comparisons.html", lines=lines, older=older, is_first=before is None)


@router.get("/comparisons/{comparison_id}")
async def show_comparison(request: Request, comparison_id: str) -> Response:
    """Show the figures of a comparison and a page of its pairs."""
    book, record = await _found(request, comparison_id)
    given, offset = request.query_params, number(request, "offset", 0, at_most=1_000_000)
    outcome, people = given.get("outcome") or None, bool(given.get("people"))
    page = await book.pairs_of(
        record.id, outcome=outcome, is_accepted=False if people else None, limit=_PAGE, offset=offset
    )
    figures = figures_of(record)
    if wants_json(request):
        pairs = [_pair_row(*pair) for pair in page.pairs]
        return JSONResponse({**_row(record, figures), "matching": page.total, "offset": offset, "pairs": pairs})

    def link(**more: object) -> str:
        mine = {"outcome": outcome, "people": "1" if people else None, "offset": None}
        return address(f"/comparisons/{record.id}", {**mine, **more}.items())

    return render(
        request,
        "comparison.html",
        record=record,
        figures=figures,
        headline=headline(figures),
        numbers=list(numbers(figures)),
        dimensions=[("overall", figures.overall), *figures.dimensions.items()],
        page=page,
        outcome=outcome,
        people=people,
        link=link,
        offset=offset,
        size=_PAGE,
        leftovers=figures.leftovers[:_LEFTOVERS],
        outcomes=[*(name for name in _FARED if name in page.outcomes), *sorted(set(page.outcomes) - set(_FARED))],
        kept=sum(page.outcomes.values()),
        result_of=result_of,
        summary_of=summary_of,
    )


@router.get("/comparisons/{comparison_id}/pairs/{record_id}")
async def show_pair(request: Request, comparison_id: str, record_id: str) -> Response:
    """Show both answers of a pair, with the verdict and its evidence."""
    book, record = await _found(request, comparison_id)
    found = await book.pair_of(record.id, record_id)
    if found is None:
        raise Refused(404, "There is no such pair in this comparison; perhaps a trace of it was forgotten.")
    counted, kept = found
    result = result_of(kept)
    replies = await book.replies_to(record_id)
    if wants_json(request):
        return JSONResponse({**_pair_row(counted, kept), **_texts(kept), "replies": replies})
    return render(
        request,
        "pair.html",
        record=record,
        counted=counted,
        kept=kept,
        verdict=kept.verdict,
        result=result,
        sides=_sides(site_of(request), record, kept, result),
        replies=replies,
        summary=summary_of(kept),
        called=called,
    )


def figures_of(record: ComparisonRecord) -> Comparison:
    """Return the figures; of answers whose trace was forgotten only the count is left."""
    figures = {name: value for name, value in record.figures.items() if name in Comparison.model_fields}
    left = [entry for entry in figures.get("leftovers", ()) if "where" in entry]
    return Comparison.model_validate({**figures, "leftovers": left})


def result_of(kept: PairRecord) -> PairwiseResult | None:
    """Return which answer is better; None when there is no verdict."""
    result = kept.verdict.result
    return result if isinstance(result, PairwiseResult) else None


def summary_of(kept: PairRecord) -> str:
    """Say which answer is better and why, or why that is not known."""
    result = result_of(kept)
    return preference_summary(result, *_NAMES.values()) if result else kept.verdict.failure or "There is no verdict."


def called(text: str) -> str:
    """Call the answers in a judge's sentence by their roles."""
    for letter, name in _NAMES.items():
        text = text.replace(f"answer {letter}", name).replace(f"Answer {letter}", name.capitalize())
    return text


def marked(answer: str, flags: Sequence[Hallucination]) -> list[Bit]:
    """Cut an answer at what is held against it; where flags overlap, the first one counts."""
    bits, at = [], 0
    placed = [(flag.start, flag.end, flag) for flag in flags if flag.start is not None and flag.end is not None]
    for start, end, flag in sorted(placed, key=lambda one: one[:2]):
        if start < at or not start < end <= len(answer):
            continue
        bits.append(Bit(text=answer[at:start]))
        bits.append(Bit(text=answer[start:end], severity=str(flag.severity), flag_id=flag.flag_id))
        at = end
    return [bit for bit in (*bits, Bit(text=answer[at:])) if bit.text]


async def _found(request: Request, comparison_id: str) -> tuple[ComparisonBook, ComparisonRecord]:
    book = ComparisonBook(site_of(request).store)
    record = await book.get(comparison_id)
    if record is None:
        raise Refused(404, f"There is no comparison {comparison_id[:60]}.")
    return book, record


def _sides(
    site: Site, record: ComparisonRecord, kept: PairRecord, result: PairwiseResult | None
) -> list[dict[str, Any]]:
    found = []
    connection = site.settings.connections.get(record.figures.get("connection") or "")
    both: tuple[tuple[Side, str, str, Item], ...] = (
        ("A", "champion", record.champion, kept.pair.a),
        ("B", "challenger", record.challenger, kept.pair.b),
    )
    for side, role, name, item in both:
        flags = [flag for flag in result.hallucinations if flag.answer == side] if result else []
        errors = [error for error in result.citation_errors if error.answer == side] if result else []
        found.append(
            {
                "side": side,
                "role": role,
                "name": name,
                "item": item,
                "bits": marked(item.answer, [flag for flag in flags if flag.counts]),
                "flags": flags,
                "errors": errors,
                "platform": platform_link(connection, item.annotate_span_id, {}),
                "is_better": result is not None and result.preferred == side,
            }
        )
    return found


# for programs


def _row(record: ComparisonRecord, figures: Comparison) -> dict[str, Any]:
    return {
        "id": record.id,
        "name": record.name,
        "started_at": record.started_at.isoformat(),
        "finished_at": record.finished_at.isoformat(),
        "headline": headline(figures),
        "figures": figures.model_dump(mode="json", exclude={"rows"}),
    }


def _pair_row(counted: CountedPair, kept: PairRecord) -> dict[str, Any]:
    result = result_of(kept)
    found: Mapping[str, Any] = details(result) if result is not None else {}
    return {
        "record_id": counted.record_id,
        "pair_id": kept.pair.id,
        "question": kept.pair.a.question,
        "outcome": counted.outcome,
        "is_accepted": counted.is_accepted,
        "review": list(kept.review),
        "status": str(kept.verdict.status),
        "confidence": result.confidence if result is not None else None,
        "summary": result.summary if result is not None else kept.verdict.failure,
        "flags": list(kept.verdict.flags),
        "champion_trace": kept.pair.a.trace_id,
        "challenger_trace": kept.pair.b.trace_id,
        "written_at": kept.written_at.isoformat() if kept.written_at else None,
        "verdict": dict(found),
    }


def _texts(kept: PairRecord) -> dict[str, Any]:
    documents = [{"id": document.id, "text": document.text} for document in kept.pair.a.documents]
    return {"documents": documents, "champion_answer": kept.pair.a.answer, "challenger_answer": kept.pair.b.answer}
