"""Write the verdict on a pair back to both of its traces: a win of one side is a loss of the other."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from enricher.compare.judging import Compared
from enricher.errors import BadReply, EnricherError, TryAgain
from enricher.results.pairwise import preference_summary
from enricher.seams import Connector
from enricher.steps.rendering import NEEDS_REVIEW, PREFERENCE, details, identifier
from enricher.trace import TraceRef
from enricher.verdict import Annotation, Delivery, DeliveryState, PairwiseResult, Preference, Side

_BATCH = 100
_TRIES = 4
_LOOKS = 8
_FIRST_WAIT_S = 0.25
_LABELS: Mapping[Preference, dict[str, str]] = {
    Preference.A: {"A": "win", "B": "loss"},
    Preference.B: {"A": "loss", "B": "win"},
    Preference.TIE: {"A": "tie", "B": "tie"},
}
_SCORES = {"win": 1.0, "tie": 0.5, "loss": 0.0}

Call = Callable[[Sequence[Annotation]], Awaitable[Sequence[Delivery]]]


@dataclass(kw_only=True, slots=True)
class Written:
    """What came of writing verdicts back."""

    annotations: int = 0  # that the platform has shown
    record_ids: list[str] = field(default_factory=list)  # of pairs whose both sides it has shown
    problems: dict[str, None] = field(default_factory=dict)


def annotations_of(one: Compared, champion: str, challenger: str, *, prefix: str = "") -> tuple[Annotation, ...]:
    """Return what is written to both traces: the preference once it is accepted, the call for review before.

    The identifier names the other side, so that a comparison replaces itself and stands beside those with others.
    """
    refs: tuple[tuple[Side, TraceRef | None, str], ...] = (
        ("A", one.matched.champion, challenger),
        ("B", one.matched.challenger, champion),
    )
    found: list[Annotation] = []
    for side, ref, opponent in refs:
        if ref is None:
            continue
        result = one.result
        if result is not None and one.is_accepted:
            label = _LABELS[result.preferred][side]
            metadata = _metadata(one, result, side, opponent)
            found.append(
                _annotation(one, side, ref, opponent, prefix + PREFERENCE).model_copy(
                    update={
                        "label": label,
                        "score": _SCORES[label],
                        "explanation": _sentence(result, side, label, opponent),
                        "metadata": metadata,
                    }
                )
            )
        if one.reasons:
            said = result.summary if result is not None else one.verdict.failure or ""
            found.append(
                _annotation(one, side, ref, opponent, prefix + NEEDS_REVIEW).model_copy(
                    update={
                        "label": one.reasons[0],
                        "explanation": f"Compared with {opponent}: {said}",
                        "metadata": {"reasons": list(one.reasons), "status": str(one.verdict.status)},
                    }
                )
            )
    return tuple(found)


def _annotation(one: Compared, side: Side, ref: TraceRef, opponent: str, name: str) -> Annotation:
    item = one.pair.a if side == "A" else one.pair.b
    provenance = one.verdict.provenance
    return Annotation(
        connection=ref.connection,
        project=ref.project,
        trace_id=item.trace_id,
        span_id=item.annotate_span_id,
        name=name,
        identifier=f"{identifier(provenance)}/against {opponent}",
        annotator_kind="CODE" if provenance.engine == "local" else "LLM",
        locator=dict(ref.locator),
    )


def _sentence(result: PairwiseResult, side: Side, label: str, opponent: str) -> str:
    mine, theirs = "this answer", "the other answer"
    names = (mine, theirs) if side == "A" else (theirs, mine)
    return f"{label.capitalize()} against {opponent}. {preference_summary(result, *names)}"


def _metadata(one: Compared, result: PairwiseResult, side: Side, opponent: str) -> dict[str, object]:
    other = one.pair.b if side == "A" else one.pair.a
    return {
        "status": str(one.verdict.status),
        "this_answer": side,
        **details(result),
        "compared_with": {"source": opponent, "trace_id": other.trace_id, "span_id": other.annotate_span_id},
        "pair": one.pair.id,
        "flags": list(one.verdict.flags),
        "judge": one.verdict.provenance.model_dump(exclude_none=True),
    }


async def write_back(
    compared: Sequence[Compared],
    connectors: Mapping[str, Connector],
    annotations: Callable[[Compared], tuple[Annotation, ...]],
    *,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> Written:
    """Write what the platforms have not shown yet, and look whether it is there; safe to repeat."""
    written = Written()
    wanted = {index: annotations(one) for index, one in enumerate(compared) if _is_due(one)}
    states: dict[str, DeliveryState] = {}
    for name, connector in connectors.items():
        own = [a for found in wanted.values() for a in found if a.connection == name]
        for at in range(0, len(own), _BATCH):
            try:
                states |= await _delivered(connector, own[at : at + _BATCH], written, sleep)
            except EnricherError as error:
                written.problems[f"{name}: {error}"] = None
    for index, found in wanted.items():
        confirmed = sum(states.get(a.key) is DeliveryState.CONFIRMED for a in found)
        written.annotations += confirmed
        record = compared[index].record
        if found and confirmed == len(found) and record is not None:
            written.record_ids.append(record.id)
    return written


def _is_due(one: Compared) -> bool:
    return one.record is None or one.record.written_at is None


async def _delivered(
    connector: Connector, batch: Sequence[Annotation], written: Written, sleep: Callable[[float], Awaitable[None]]
) -> dict[str, DeliveryState]:
    """Send a batch until each of it is accepted or refused for good, then look for what was accepted."""
    states: dict[str, DeliveryState] = {}
    open_ = {annotation.key: annotation for annotation in batch}
    final = (DeliveryState.CONFIRMED, DeliveryState.FAILED)
    steps = ((_TRIES, connector.annotate, (*final, DeliveryState.SENT)), (_LOOKS, connector.confirm, final))
    for tries, call, done in steps:
        for attempt in range(tries):
            left = [annotation for key, annotation in open_.items() if states.get(key) not in done]
            for result in await _results(call, left, attempt == tries - 1):
                states[result.key] = result.state
                if result.state is DeliveryState.FAILED:
                    written.problems[f"{connector.name}: {result.reason}"] = None
            if all(states.get(key) in done for key in open_):
                break
            await sleep(_FIRST_WAIT_S * 2.0**attempt)
        open_ = {key: annotation for key, annotation in open_.items() if states.get(key) is DeliveryState.SENT}
        if not open_:
            break
    unseen = sum(states.get(annotation.key) not in final for annotation in batch)
    if unseen:
        written.problems[f"{connector.name}: {unseen} verdicts are not seen on the platform yet; compare again"] = None
    return states


async def _results(call: Call, batch: Sequence[Annotation], is_last: bool) -> Sequence[Delivery]:
    try:
        return await call(batch)
    except (TryAgain, BadReply):
        if is_last:
            raise
        return ()
