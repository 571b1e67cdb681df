"""Count what a run does; memory stays flat however many traces it takes."""

import heapq
import itertools
from collections import Counter
from collections.abc import Iterable
from datetime import datetime

from enricher.delivery import Deliveries
from enricher.pipeline import Judgement, Outcome
from enricher.printing import number_of
from enricher.report import AgreementRate, Disagreement, Finding, RuleCount, RunReport, Tally
from enricher.steps.rendering import explain, label
from enricher.trace import Rejection, RejectReason, TraceRef
from enricher.verdict import Standing, Status, Usage, Verdict

_LISTED = 100  # findings kept for the report
_RANKS = {
    Standing.CONTRADICTED: 4.0,
    Standing.SOURCE_CONFLICT: 3.5,
    Standing.UNSUPPORTED: 3.0,
    Standing.PARTIAL: 2.0,
    Standing.OMITTED: 1.7,
}
_BROKEN_HALF = 2.5  # where a half of the pipeline failed
_SOUND = 1.0
_FAILED = 1.5  # a judge that failed


class Counts:
    """What happened so far in one run."""

    def __init__(self) -> None:
        self.rules: list[RuleCount] = []
        self.problems: list[str] = []
        self.chosen = 0
        self.already_judged = 0
        self.worst_judgement: Judgement | None = None
        self._settled = 0
        self._pulled = 0
        self._deferred = 0
        self._rejected: Counter[str] = Counter()
        self._failed: Counter[str] = Counter()
        self._tallies: dict[str, _Tally] = {}
        self._disagreements: list[Disagreement] = []
        self._holds: dict[str, str] = {}  # by judge
        self._in_review = 0
        self._spent = Usage()
        self._numbers = itertools.count()
        self._worst: list[tuple[float, int, Finding]] = []
        self._worst_badness = -1.0

    def add(self, outcome: Outcome) -> None:
        """Count one settled trace."""
        self._settled += 1
        self._pulled += all(r.reason is not RejectReason.TRACE_GONE for r in outcome.rejections)
        self._deferred += outcome.is_deferred
        self.add_rejections(outcome.rejections)
        if outcome.crash:
            self._failed["BUG"] += 1
            self.problems.append(f"trace {outcome.ref.trace_id}: {outcome.crash}")
        for judgement in outcome.judgements:
            self._add_judgement(outcome.ref, judgement)

    def add_read(self, rejections: Iterable[Rejection] = (), *, is_deferred: bool = False) -> None:
        """Count one trace that was pulled and read, but not judged."""
        self._settled += 1
        self._pulled += 1
        self._deferred += is_deferred
        self.add_rejections(rejections)

    def add_rejections(self, rejections: Iterable[Rejection]) -> None:
        """Count rejections by reason."""
        self._rejected.update(str(rejection.reason) for rejection in rejections)

    def list(self, finding: Finding, badness: float = 0.0) -> None:
        """Keep a finding for the report, if it is among the worst."""
        # The least bad is on top of the heap and gives way; the running number keeps equals in order of arrival.
        heapq.heappush(self._worst, (badness, -next(self._numbers), finding))
        if len(self._worst) > _LISTED:
            heapq.heappop(self._worst)

    def spend(self, usage: Usage) -> None:
        """Count what models cost, or would cost."""
        self._spent += usage

    def _add_judgement(self, ref: TraceRef, judgement: Judgement) -> None:
        verdict = judgement.verdict
        self._tallies.setdefault(verdict.provenance.judge, _Tally()).add(judgement)
        self._in_review += bool(judgement.decision.reasons)
        if judgement.hold is not None:
            self._holds[judgement.hold.judge] = judgement.hold.sentence
        if not judgement.is_recalled:
            self.spend(verdict.usage)
        if not verdict.status.is_verdict and verdict.status is not Status.SKIPPED:
            self._failed[str(verdict.status)] += 1
        if len(self._disagreements) < _LISTED:
            self._disagreements += _disagreements(verdict)
        badness = _badness(judgement)
        if len(self._worst) < _LISTED or badness > self._worst[0][0]:  # of the others no line is needed
            self.list(_finding(ref, judgement), badness)
        if badness > self._worst_badness:
            self._worst_badness, self.worst_judgement = badness, judgement

    def report(
        self,
        *,
        run_id: str,
        job: str,
        state: str,
        started: datetime,
        finished: datetime,
        window: tuple[datetime | None, datetime | None],
        deliveries: Deliveries,
        agreement: Iterable[AgreementRate] = (),
    ) -> RunReport:
        """Sum up."""
        tallies = {name: tally.frozen() for name, tally in self._tallies.items()}
        leading = next(iter(tallies.values()), Tally())
        return RunReport(
            run_id=run_id,
            job=job,
            state=state,
            started=started,
            finished=finished,
            window_start=window[0],
            window_end=window[1],
            rules=tuple(self.rules),
            chosen=self.chosen,
            already_judged=self.already_judged,
            pulled=self._pulled,
            deferred=self._deferred,
            rejected=dict(self._rejected),
            judged=dict(sum((Counter(tally.judged) for tally in tallies.values()), Counter[str]())),
            scored=leading.scored,
            no_claims=leading.no_claims,
            failed=dict(self._failed),
            mean_score=leading.mean_score,
            labels=leading.labels,
            judges=tallies,
            written=deliveries.sent,
            confirmed=deliveries.confirmed,
            unwritten=deliveries.failed,
            undelivered=deliveries.left,
            in_review=self._in_review,
            cost=self._spent.cost,
            calls=self._spent.calls,
            prompt_tokens=self._spent.prompt_tokens,
            cached_tokens=self._spent.cached_tokens,
            completion_tokens=self._spent.completion_tokens,
            left=self.chosen - self._settled,
            problems=tuple(self.problems),
            warnings=(*(_warning(rule) for rule in self.rules if not rule.taken), *self._holds.values()),
            findings=tuple(finding for _, _, finding in sorted(self._worst, reverse=True)),
            disagreements=tuple(self._disagreements[:_LISTED]),
            agreement=tuple(agreement),
        )


def _warning(rule: RuleCount) -> str:
    if rule.found:
        return f"0 of {number_of(rule.found, 'trace')} matched rule {rule.rule}: its sampling took none"
    why = "none in the window meets its conditions" if rule.in_window else "there is none in the window"
    return f"0 of {number_of(rule.in_window, 'trace')} matched rule {rule.rule}: {why}"


class _Tally:
    """What one judge said so far."""

    def __init__(self) -> None:
        self.judged: Counter[str] = Counter()
        self.labels: Counter[str] = Counter()
        self.issues: Counter[str] = Counter()
        self.certainties: Counter[str] = Counter()
        self.scored = 0
        self.total = 0.0

    def add(self, judgement: Judgement) -> None:
        """Count one judgement."""
        verdict = judgement.verdict
        self.judged[str(verdict.status)] += 1
        if verdict.status.is_verdict:
            self.labels[label(verdict)] += 1
        if (score := verdict.score) is not None:
            self.scored += 1
            self.total += score
        for finding in verdict.result.findings if verdict.result is not None else ():
            self.issues[str(finding.standing)] += 1
            if finding.certainty is not None:
                self.certainties[str(finding.certainty)] += 1

    def frozen(self) -> Tally:
        """Return the figures as the report holds them."""
        return Tally(
            judged=dict(self.judged),
            scored=self.scored,
            no_claims=self.judged[str(Status.NO_CLAIMS)],
            mean_score=self.total / self.scored if self.scored else None,
            labels=dict(self.labels),
            findings=dict(self.issues),
            certainties=dict(self.certainties),
        )


def _disagreements(verdict: Verdict) -> list[Disagreement]:
    return [
        Disagreement(
            trace_id=verdict.trace_id,
            judge=verdict.provenance.judge,
            statement=finding.statement,
            standing=str(finding.standing),
            certainty=str(finding.certainty),
            second_by=opinion.by,
            second_standing=str(opinion.standing),
            evidence=opinion.evidence[0].text if opinion.evidence else None,
            explanation=opinion.explanation,
        )
        for finding in (verdict.result.findings if verdict.result is not None else ())
        for opinion in finding.opinions
        if not opinion.agrees
    ]


def _badness(judgement: Judgement) -> float:
    """Order findings: contradictions before additions, before failures, before the rest; then by score."""
    verdict = judgement.verdict
    if verdict.result is None:
        return _FAILED
    if verdict.result.kind == "halves":
        return _SOUND if verdict.result.label == "none" else _BROKEN_HALF
    worst = verdict.result.worst
    rank = _RANKS[worst.standing] if worst is not None else _SOUND if verdict.status is Status.OK else 0.0
    score = verdict.score
    return rank + (0.9 - 0.9 * score if score is not None else 0.0)


def _finding(ref: TraceRef, judgement: Judgement) -> Finding:
    verdict = judgement.verdict
    return Finding(
        trace_id=verdict.trace_id,
        span_id=verdict.span_id,
        project=ref.project,
        judge=verdict.provenance.judge,
        status=str(verdict.status),
        label=label(verdict) if verdict.status.is_verdict else None,
        score=verdict.score,
        question=judgement.item.question,
        summary=explain(verdict),
        reported=bool(ref.reports),
    )
