"""Collect from the store what the report of a run needs."""

from collections.abc import Mapping, Sequence

from enricher.links import platform_link
from enricher.report import RunReport
from enricher.reporting.changes import changes
from enricher.reporting.headline import headline
from enricher.reporting.nouns import FailedAs, FullReport, RejectedFor
from enricher.reporting.ranking import ranked
from enricher.reporting.systemic import Answer, document_key, evidence_keys, systemic
from enricher.reporting.users import user_reports
from enricher.settings import Connection
from enricher.store import EvaluationRecord, Store
from enricher.store.facts import faithful_probability
from enricher.store.figures import JudgedTrace, is_failure
from enricher.store.judged import decisions_on, records_of, refs_of, rejections_in
from enricher.store.nights import Night, Wanted, groupings, nights, traces_of
from enricher.verdict import HalvesResult

_BEFORE = 14  # runs that this one is compared with
_LOOKED_AT = 20_000  # judgements of one run, the most dangerous first
_RANKED = 50  # answers that are shown one by one
_QUESTION = 400  # characters

Place = tuple[str, str]  # trace, annotated span


async def full_report(store: Store, run: RunReport, connections: Mapping[str, Connection]) -> FullReport:
    """Put the report of a run together from what the store has now; what was forgotten since is not in it."""
    own = Wanted(run_ids=(run.run_id,))
    before = Wanted(job=run.job, before=run.run_id, runs=_BEFORE)
    tonight, past = await nights(store, own), await nights(store, before)
    night = tonight[0] if tonight else _empty(run)
    leading = next(iter(run.judges), None)
    moved = changes(night, past, leading, await _notes(store, own, before))
    judged = await traces_of(store, own, limit=_LOOKED_AT)
    read = await _read(store, judged)
    refs = await refs_of(store, run.job, {answer.trace_id for answer in read.answers.values()})
    worst = await _worst(store, judged, read.answers)
    links = {
        (record.verdict.trace_id, record.verdict.span_id): link
        for record in worst
        if (ref := refs.get(record.verdict.trace_id))
        and (link := platform_link(connections.get(record.connection), record.verdict.span_id, ref.locator))
    }
    answers = list(read.answers.values())
    return FullReport(
        run=run,
        headline=headline(run, night, leading, moved),
        changes=moved,
        ranked=ranked(worst, read.answers, refs, await decisions_on(store, {r.id for r in worst}), links),
        answers_with_findings=sum(answer.has_finding for answer in answers),
        systemic=systemic(answers, max(night.judged - len(judged), 0)),
        rejections=tuple(
            RejectedFor(reason=one.reason, count=one.count, example=one.detail, trace_id=one.trace_id)
            for one in await rejections_in(store, run.run_id)
        ),
        failures=_failures(night, read.failures),
        user_reports=user_reports(answers, refs),
    )


class _Read:
    """What was read of the judgements of a run, answer by answer."""

    def __init__(self) -> None:
        self.answers: dict[Place, Answer] = {}
        self.failures: dict[str, tuple[str, str]] = {}  # status to the example's sentence and trace

    def add(self, judged: JudgedTrace, record: EvaluationRecord) -> None:
        """Add one judgement to its answer; failures make no answer."""
        verdict, item = record.verdict, record.item
        if verdict.result is None or judged.label is None:
            self.failures.setdefault(judged.status, (verdict.failure or "", verdict.trace_id))
            return
        place = (verdict.trace_id, verdict.span_id)
        answer = self.answers.setdefault(
            place,
            Answer(
                trace_id=verdict.trace_id,
                span_id=verdict.span_id,
                project=judged.project,
                is_reported=judged.is_reported,
            ),
        )
        if judged.worst is not None:
            answer.standings.append(judged.worst)
        if item is not None:
            answer.question = (item.question or "")[:_QUESTION] or None
            answer.documents = {document_key(document): document for document in item.documents}
            answer.labels = item.metadata
            answer.evidence += evidence_keys(verdict, item)
        if isinstance(verdict.result, HalvesResult):
            answer.half, answer.fix_note = verdict.result.failing_half, verdict.result.fix_note
        if answer.probability is None:
            answer.probability = faithful_probability(verdict)
        if answer.score is None:
            answer.score = judged.score


async def _read(store: Store, judged: Sequence[JudgedTrace]) -> _Read:
    read = _Read()
    async for one, record in records_of(store, judged):
        read.add(one, record)
    return read


async def _worst(
    store: Store, judged: Sequence[JudgedTrace], answers: Mapping[Place, Answer]
) -> list[EvaluationRecord]:
    """Read again, whole, the judgements of the answers that are shown one by one."""
    flagged = {answer.trace_id for answer in answers.values() if answer.has_finding}
    # They come most dangerous first.
    chosen = list(dict.fromkeys(one.trace_id for one in judged if one.trace_id in flagged))[:_RANKED]
    wanted = set(chosen)
    found = [record async for _, record in records_of(store, [one for one in judged if one.trace_id in wanted])]
    places = {place for place, answer in answers.items() if answer.has_finding}
    return [record for record in found if (record.verdict.trace_id, record.verdict.span_id) in places]


async def _notes(store: Store, own: Wanted, before: Wanted) -> list[str]:
    """Say where the judge itself is another one than before: then scores can't be compared."""
    now, then = await groupings(store, own), await groupings(store, before)
    notes = []
    for word, new, old in (
        ("model", now.judge_models, then.judge_models),
        ("prompt", now.judge_prompts, then.judge_prompts),
    ):
        added = [name for name in new if name not in old]
        if old and added:
            notes.append(
                f"A judge has another {word} than in the runs before ({', '.join(added)}): its figures may differ for "
                "that reason alone."
            )
    return notes


def _failures(night: Night, examples: Mapping[str, tuple[str, str]]) -> tuple[FailedAs, ...]:
    counts = sorted(((s, n) for s, n in night.failed.items() if is_failure(s)), key=lambda each: (-each[1], each[0]))
    empty = ("", "")
    return tuple(
        FailedAs(
            status=status,
            count=count,
            example=examples.get(status, empty)[0],
            trace_id=examples.get(status, empty)[1],
        )
        for status, count in counts
    )


def _empty(run: RunReport) -> Night:
    return Night(
        run_id=run.run_id,
        job=run.job,
        state=run.state,
        started_at=run.started,
        finished_at=run.finished or run.started,
    )
