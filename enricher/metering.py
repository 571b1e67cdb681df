"""Count what a run did in small figures that are kept for years: for metrics, alerts and trends."""

from collections import Counter
from typing import Any

from enricher.pipeline import Judgement, Outcome
from enricher.report import RunReport
from enricher.trace import RejectReason
from enricher.verdict import Standing, Usage, kinds_of_findings

BUCKETS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)  # upper bounds of scores, each inclusive
_WORST = (Standing.CONTRADICTED, Standing.UNSUPPORTED)


class Meter:
    """The figures of one run so far. Only sums and counts: no text, no id."""

    def __init__(self) -> None:
        self._pulled = 0
        self._items = 0
        self._recalled = 0
        self._rejected: Counter[str] = Counter()
        self._judged: dict[str, Counter[str]] = {}
        self._findings: Counter[str] = Counter()
        self._checked: Counter[str] = Counter()
        self._scores: dict[str, list[float]] = {}  # by judge: a count for each bucket, then the sum
        self._answers: Counter[str] = Counter()  # verdicts with statements, and the worst standing among them
        self._versions: set[str] = set()
        self._spent = Usage()

    def add(self, outcome: Outcome) -> None:
        """Count one settled trace."""
        self._pulled += all(r.reason is not RejectReason.TRACE_GONE for r in outcome.rejections)
        self._items += len({judgement.item.key for judgement in outcome.judgements})
        self._rejected.update(str(rejection.reason) for rejection in outcome.rejections)
        if outcome.crash:
            self._judged.setdefault("none", Counter())["BUG"] += 1
        for judgement in outcome.judgements:
            self._add(judgement)

    def _add(self, judgement: Judgement) -> None:
        verdict = judgement.verdict
        name = verdict.provenance.judge
        self._judged.setdefault(name, Counter())[str(verdict.status)] += 1
        self._versions.add(verdict.provenance.version)
        self._recalled += judgement.is_recalled
        self._spent += Usage() if judgement.is_recalled else verdict.usage
        self._findings.update(kinds_of_findings(verdict))
        if (score := verdict.score) is not None:
            counts = self._scores.setdefault(name, [0.0] * (len(BUCKETS) + 1))
            counts[next(i for i, bound in enumerate(BUCKETS) if score <= bound + 1e-9)] += 1
            counts[-1] += score
        parts = verdict.result.parts if verdict.result is not None and verdict.status.is_verdict else ()
        if parts:
            standings = {part.standing for part in parts}
            self._answers["judged"] += 1
            self._answers.update(str(worst) for worst in _WORST if worst in standings)
        for part in parts:
            self._checked.update("agrees" if opinion.agrees else "disagrees" for opinion in part.opinions)

    def figures(self, report: RunReport) -> dict[str, Any]:
        """Return the figures, completed by what the report knows of deliveries."""
        return {
            "pulled": self._pulled,
            "items": self._items,
            "recalled": self._recalled,
            "rejected": dict(self._rejected),
            "judged": {judge: dict(counts) for judge, counts in self._judged.items()},
            "findings": dict(self._findings),
            "second_check": dict(self._checked),
            "scores": self._scores,
            "answers": dict(self._answers),
            "versions": sorted(self._versions),
            "tokens": {
                "prompt": self._spent.prompt_tokens,
                "cached": self._spent.cached_tokens,
                "completion": self._spent.completion_tokens,
            },
            "calls": self._spent.calls,
            "cost": self._spent.cost,
            "written": report.written,
            "confirmed": report.confirmed,
            "unwritten": report.unwritten,
            "in_review": report.in_review,
        }
