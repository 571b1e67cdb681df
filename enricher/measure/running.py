"""Judge the items of a golden set, some at a time, in their order."""

import logging
from collections.abc import AsyncIterator, Sequence

from enricher.errors import EnricherError
from enricher.logs import describe
from enricher.measure.golden import GoldenItem
from enricher.measure.regression import ItemResult
from enricher.pipeline import examine
from enricher.progress import Reporter
from enricher.seams import Executor, Judge, PairJudge, SecondCheck
from enricher.steps.rendering import explain, label
from enricher.trace import Pair
from enricher.trust import Setting
from enricher.verdict import Provenance, Usage, Verdict

log = logging.getLogger(__name__)


class Candidate:
    """A judge with its second check, or a judge of pairs, under the setting that is measured."""

    def __init__(self, judge: Judge | PairJudge, second: SecondCheck | None = None) -> None:
        self._judge = judge
        self._second = second
        self._provenance = judge.provenance
        self.usage = Usage()

    @property
    def setting(self) -> Setting:
        """Return the setting, with the snapshot that the server reported."""
        return Setting.of(self._provenance)

    @property
    def version(self) -> str:
        """Return the version of the verdicts."""
        return self._provenance.version

    async def results(
        self, items: Sequence[GoldenItem], executor: Executor, progress: Reporter
    ) -> list[tuple[GoldenItem, ItemResult]]:
        """Judge all items; whatever becomes of one is a result."""

        async def numbered() -> AsyncIterator[tuple[int, GoldenItem]]:
            for entry in enumerate(items):
                yield entry

        async def one(entry: tuple[int, GoldenItem]) -> tuple[int, ItemResult]:
            return entry[0], await self._result(entry[1])

        found: dict[int, ItemResult] = {}
        async for number, result in executor.map(one, numbered()):
            found[number] = result
            progress.advance()
        return [(item, found[number]) for number, item in enumerate(items)]

    async def _result(self, item: GoldenItem) -> ItemResult:
        try:
            verdict = await self._verdict(item)
        except EnricherError:
            raise
        except Exception as error:
            log.exception("golden item %s can't be judged", item.id)
            return ItemResult(input_hash=item.input_hash, status="BUG", summary=describe(error))
        self._note(verdict)
        return ItemResult(
            input_hash=item.input_hash,
            status=str(verdict.status),
            label=label(verdict) if verdict.status.is_verdict else None,
            score=verdict.score,
            summary=explain(verdict),
        )

    async def _verdict(self, item: GoldenItem) -> Verdict:
        if isinstance(item.asked, Pair):
            assert isinstance(self._judge, PairJudge)  # of pairs is who was made for them
            return await self._judge.judge_pair(item.asked)
        assert isinstance(self._judge, Judge)
        return await examine(item.asked, self._judge, self._second)

    def _note(self, verdict: Verdict) -> None:
        self.usage += verdict.usage
        known: Provenance = verdict.provenance
        if verdict.status.is_verdict and known.model_snapshot is not None:
            self._provenance = known
