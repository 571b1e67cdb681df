"""Take items of the queue and decide them, so that two people at once never decide the same one unknowingly."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from enricher.errors import SetupError
from enricher.review.queue import decide as record
from enricher.review.queue import decided
from enricher.serve.access import Visitor
from enricher.serve.site import Refused, Site
from enricher.store import PersonsDecision, Question, ReviewState, queue
from enricher.store.queue import Wanted

LONGEST_COMMENT = 4000


async def question_of(site: Site, review_id: str) -> Question:
    """Return one question to people.

    Raises:
        Refused: there is none.
    """
    found = [one for one in await site.store.question_like(review_id) if one.review.id == review_id]
    if not found:
        raise Refused(404, "There is no such item; it may have been forgotten on request.")
    return found[0]


async def take(site: Site, visitor: Visitor, review_ids: Collection[str]) -> set[str]:
    """Put a visitor at items that are free or theirs; return which they got."""
    now = site.store.clock()
    until = now + site.settings.serve.claim
    return await site.store.transact(lambda c: queue.take(c, review_ids, visitor.person, until, now))


async def take_next(
    site: Site, visitor: Visitor, wanted: Wanted, after: tuple[datetime, str] | None = None
) -> str | None:
    """Put a visitor at the next free item; return its id."""
    now = site.store.clock()
    until = now + site.settings.serve.claim
    return await site.store.transact(lambda c: queue.take_next(c, wanted, visitor.person, until, now, after))


async def give_back(site: Site, visitor: Visitor, review_ids: Collection[str]) -> None:
    """Free items that a visitor is at."""
    await site.store.transact(lambda c: queue.give_back(c, review_ids, visitor.person))


async def decide(
    site: Site,
    visitor: Visitor,
    review_id: str,
    *,
    outcome: str,
    label: str | None = None,
    changes: Sequence[str] = (),
    comment: str = "",
    seen: str = "",
) -> PersonsDecision:
    """Record a decision and send it to the platform; `seen` is what `state_of` told when the visitor looked.

    Raises:
        Refused: somebody else is at the item or was quicker, or the form says too little.
    """
    if not await take(site, visitor, [review_id]):
        line = await site.store.look(lambda c: queue.line(c, review_id))
        if line is not None:
            raise Refused(409, f"{line.assignee} is at this item; it is free again {free_at(line.assigned_until)}.")
    question = await question_of(site, review_id)
    if state_of(question) != seen:
        raise Refused(409, f"{_what_happened(question)} Look again before you decide.")
    if outcome == "correct" and not label and not changes:
        raise Refused(422, "A correction needs the right label, of the whole answer or of a statement.")
    try:
        decision = decided(
            question,
            outcome=outcome,
            person=visitor.person,
            final=label or None,
            changes=changes,
            comment=comment[:LONGEST_COMMENT],
        )
    except SetupError as error:
        raise Refused(422, f"{error}.") from error
    await record(site.store, question, decision)
    site.courier.send_soon(question.review.connection)
    return decision


def state_of(question: Question) -> str:
    """Name the state of a question, as a form carries it; another state means that something happened."""
    latest = max((d.decided_at for d in question.decisions if d.decided_at), default=None)
    return f"{question.review.state}:{question.evaluation.id[:12]}:{latest.isoformat() if latest else ''}"


def free_at(moment: datetime | None) -> str:
    """Say when a claim ends."""
    return f"at {moment:%H:%M} UTC" if moment is not None else "soon"


def changed_labels(form: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the corrected statements of a form as STATEMENT=LABEL."""
    chosen = ((name.removeprefix("set."), values[0]) for name, values in form.items() if name.startswith("set."))
    return [f"{key}={label}" for key, label in chosen if label]


def _what_happened(question: Question) -> str:
    if question.review.state is ReviewState.SUPERSEDED:
        return "A later run no longer asks about this item."
    if question.decisions:
        latest = question.decisions[-1]
        return f"{latest.person} decided this item meanwhile: {latest.outcome}, {latest.label or 'no label'}."
    return "This item changed meanwhile."
