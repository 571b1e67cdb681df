"""Put together what measures judges: where the labels are, who is the candidate, and what is kept of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from enricher.app import App
from enricher.measure.calibration import SettingFigures, measure
from enricher.measure.gathering import Sources, gather
from enricher.measure.report import CalibrationReport, share
from enricher.measure.standing import confirmation, holds
from enricher.progress import Reporter
from enricher.settings import Settings
from enricher.store.calibrations import CalibrationBook
from enricher.trust import Calibration


@dataclass(frozen=True, kw_only=True, slots=True)
class CalibrateRequest:
    """What a person asked to be compared with people's labels."""

    files: Sequence[Path] = ()
    judge: str | None = None  # None: all of them
    asks_platforms: bool = True
    keeps: bool = True  # the calibrations count from now on


async def calibrate(settings: Settings, request: CalibrateRequest, progress: Reporter) -> CalibrationReport:
    """Compare verdicts with people's labels; keep the calibration of each setting that has enough of them.

    Raises:
        SetupError: a file of labels can't be read.
        TryAgain: a platform is away.
    """
    wanted = settings.calibrate
    async with await App.open(settings) as app:
        progress.stage("gathering people's labels")
        now = app.store.clock()
        labelled, alone = await gather(
            app.store,
            Sources(
                connectors=app.connectors if request.asks_platforms else {},
                jobs=settings.jobs,
                files=request.files,
                since=now - wanted.look_back,
            ),
        )
        if request.judge is not None:
            labelled = [one for one in labelled if one.label.judge == request.judge]
            alone = [one for one in alone if one.judge == request.judge]
        found = measure(labelled, min_labels=wanted.min_labels, min_recall=wanted.min_recall)
        book, kept = CalibrationBook(app.store), list[str]()
        for figures in found:
            if figures.is_enough and request.keeps:
                await book.keep(_calibration(figures, now))
                kept.append(figures.name)
        rule = await confirmation(settings, app.store)
        judges = sorted({one.setting.judge for one in rule.calibrations} | {one.setting.judge for one in found})
        held = await holds(app.store, rule, [judge for judge in judges if request.judge in (None, judge)])
    report = CalibrationReport(
        made_at=now,
        min_labels=wanted.min_labels,
        min_agreement=wanted.min_agreement,
        settings=tuple(found),
        unmatched=len(alone),
        kept=tuple(kept),
    )
    low = [
        f"{one.name} agrees with people on {share(one.agreement)} labels; {wanted.min_agreement:.0%} are asked"
        for one in report.too_low
    ]
    return report.model_copy(update={"warnings": (*low, *(hold.sentence for hold in held))})


def _calibration(figures: SettingFigures, now: datetime) -> Calibration:
    return Calibration(
        setting=figures.setting,
        made_at=now,
        labels=figures.agreement.of,
        agreement=figures.agreement.rate or 0.0,
        kappa=figures.kappa,
        figures=figures.model_dump(mode="json", exclude={"setting", "name"}),
    )
