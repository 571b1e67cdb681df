"""Put together what measures judges: where the labels are, who is the candidate, and what is kept of it."""

import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, get_args

from enricher import logs
from enricher.app import App
from enricher.errors import SetupError
from enricher.executors.local import LocalExecutor
from enricher.measure.baseline import newest, read_accepted, write_accepted
from enricher.measure.calibration import SettingFigures, measure
from enricher.measure.drift import DriftReport, drift_of, labelled_drift
from enricher.measure.gathering import Sources, gather
from enricher.measure.golden import GoldenSet, read_golden
from enricher.measure.outcome import Regression
from enricher.measure.regression import ItemResult, JudgeRegression, Limits, accepted, compare
from enricher.measure.report import CalibrationReport
from enricher.measure.running import Candidate
from enricher.measure.standing import confirmation, holds
from enricher.panel import Panel, pair_engine, pair_judge
from enricher.privacy import guard, rules_without_store
from enricher.progress import Reporter
from enricher.rates import share
from enricher.settings import EngineName, Job, JudgeChoice, Regress, Settings
from enricher.store import Store
from enricher.store.calibrations import CalibrationBook
from enricher.store.nights import Wanted, nights
from enricher.trust import Calibration
from enricher.verdict import Usage
from enricher.wiring import Wiring, wire_records


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
        f"{one.name} agrees with people on {share(one.agreement)}; {wanted.min_agreement:.0%} are asked"
        for one in report.too_low
    ]
    return report.model_copy(update={"warnings": (*low, *(hold.sentence for hold in held))})


@dataclass(frozen=True, kw_only=True, slots=True)
class RegressRequest:
    """Who is the candidate, and what it must hold up to."""

    golden: Path | None = None  # None: regress.golden of the config
    prompt: str | None = None  # None: as configured
    model: str | None = None
    judge: str | None = None  # None: that of the prompt, else all judges of the golden set
    engine: str | None = None
    job: str | None = None  # whose constraints, examples and risk level are used; None: none of them
    accept: bool = False  # make the candidate the baseline if it passes
    min_agreement: float | None = None  # this and the next ones: None as configured
    max_regressions: int | None = None
    max_failed: int | None = None
    tolerance: Literal["none", "interval"] | None = None


async def regress(settings: Settings, request: RegressRequest, progress: Reporter) -> Regression:
    """Judge a golden set with a candidate, and compare with people's labels and with the accepted baseline.

    Raises:
        SetupError: the golden set, its baseline, the prompt or the judge is not as it must be; nothing was judged.
    """
    logs.configure(form=settings.logs, level=settings.log_level, texts=settings.log_texts)
    guard(settings)
    path = golden_path(settings, request.golden)
    golden = read_golden(path, rules_without_store(settings))
    entries = read_accepted(path)
    judges = _judges_of(request, golden)
    limits = _limits(settings.regress, request)
    settings = _with_candidate(settings, request)
    found, results, usage = list[JudgeRegression](), dict[str, dict[str, ItemResult]](), Usage()
    async with contextlib.AsyncExitStack() as stack:
        is_shared = settings.budget.per_day is not None
        store = await stack.enter_async_context(await Store.open(settings.store)) if is_shared else None
        for judge in judges:
            async with _candidate(settings, request, judge, store) as (candidate, at_once):
                items = golden.of(judge)
                progress.stage(f"judging the golden set: {judge}", len(items))
                judged = await candidate.results(items, LocalExecutor(concurrency=at_once), progress)
                usage += candidate.usage
            results[judge] = {item.id: result for item, result in judged}
            who = (candidate.setting, candidate.version)
            found.append(compare(judge, who, judged, newest(entries, judge), limits))
    outcome = Regression(golden=str(path), judges=tuple(found), usage=usage)
    if request.accept and outcome.passed and outcome.is_measured:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        new = [accepted(one, golden.digest(one.judge), results[one.judge], now) for one in found]
        write_accepted(path, [*entries, *new])
        outcome = outcome.model_copy(update={"is_accepted": True})
    return outcome


async def drift(
    settings: Settings, jobs: Sequence[str], *, window: int | None = None, runs: int | None = None
) -> DriftReport:
    """Compare the newest runs of jobs with those before, and the agreement with people week by week; asks no platform.

    Raises:
        SetupError: there is no such job.
    """
    for name in jobs:
        if name not in settings.jobs:
            raise SetupError(f"there is no job '{name}'; the config has {', '.join(settings.jobs)}")
    alerts = settings.alerts
    now, before = window or alerts.window, runs or alerts.drift_runs
    async with await Store.open(settings.store) as store:
        found = []
        for name in jobs or settings.jobs:
            # Runs in which nothing was judged say nothing; there may be many of them.
            some = await nights(store, Wanted(job=name, runs=4 * (now + before)))
            counted = await store.finished_runs(name, limit=4 * (now + before))
            found.append(
                drift_of(
                    name,
                    some,
                    counted,
                    window=now,
                    before=before,
                    min_items=alerts.min_items,
                    stability=settings.drift.stability,
                )
            )
        labelled, _ = await gather(store, Sources(since=store.clock() - settings.calibrate.look_back))
    figures = measure(labelled, min_labels=settings.calibrate.min_labels, min_recall=settings.calibrate.min_recall)
    weeks = [labelled_drift(one.name, one.weeks) for one in figures if one.weeks]
    return DriftReport(jobs=tuple(found), labelled=tuple(weeks))


def golden_path(settings: Settings, given: Path | None) -> Path:
    """Return where the golden set is.

    Raises:
        SetupError: neither the command nor the config says.
    """
    path = given or settings.regress.golden
    if path is None:
        raise SetupError("say where the golden set is: --golden FILE, or regress.golden in the config")
    return path


def _judges_of(request: RegressRequest, golden: GoldenSet) -> list[str]:
    there = sorted({item.judge for item in golden.items})
    wanted = request.prompt.partition("@")[0] if request.prompt is not None else request.judge
    if request.judge is not None and request.judge != wanted:
        raise SetupError(f"--prompt {request.prompt} is of another judge than --judge {request.judge}")
    if wanted is None:
        return there
    if wanted not in there:
        raise SetupError(f"{golden.path} has no item for the judge '{wanted}'; it has some for {', '.join(there)}")
    return [wanted]


def _limits(configured: Regress, request: RegressRequest) -> Limits:
    given = {name: getattr(request, name) for name in Limits.model_fields}
    return Limits(**{name: getattr(configured, name) if value is None else value for name, value in given.items()})


def _with_candidate(settings: Settings, request: RegressRequest) -> Settings:
    if request.prompt is None and request.model is None:
        return settings
    openai = settings.openai
    if request.model is not None:
        openai = openai.model_copy(update={"model": request.model})
    if request.prompt is not None:
        judge = request.prompt.partition("@")[0]
        prompts = openai.prompts.model_copy(update={judge: request.prompt})
        openai = openai.model_copy(update={"prompts": prompts})
    return settings.model_copy(update={"openai": openai})


@contextlib.asynccontextmanager
async def _candidate(
    settings: Settings, request: RegressRequest, judge: str, store: Store | None
) -> AsyncIterator[tuple[Candidate, int]]:
    """Make the judge that is measured, and say how many items it takes at a time."""
    # A prompt or a model can only mean a model.
    engine = request.engine or ("openai" if request.prompt or request.model else None)
    if engine not in (None, *get_args(EngineName)):
        raise SetupError(f"--engine: '{engine}' is not known; use one of {', '.join(get_args(EngineName))}")
    is_on_model = (pair_engine(settings, engine) if judge == "pairwise" else engine or settings.engine) == "openai"
    wiring = wire_records(settings, store) if is_on_model else Wiring()
    at_once = settings.concurrency if is_on_model else 1
    if judge == "pairwise":
        pairs = pair_judge(settings, engine=engine, wiring=wiring)
        try:
            yield Candidate(pairs), at_once
        finally:
            await pairs.aclose()
            await wiring.aclose()
        return
    panel = Panel.of(settings, _job(settings, request, judge, engine), wiring)
    try:
        yield Candidate(panel.judges[0].judge, panel.second), at_once
    finally:
        await panel.aclose()


def _job(settings: Settings, request: RegressRequest, judge: str, engine: str | None) -> Job:
    if request.job is not None and request.job not in settings.jobs:
        raise SetupError(f"--job: there is no job '{request.job}'; the config has {', '.join(settings.jobs)}")
    job = settings.jobs[request.job] if request.job is not None else Job()
    own = next((choice for choice in job.judges if choice.judge == judge), None)
    choice = (own or JudgeChoice.model_validate(judge)).model_copy(
        update={
            "when": (),
            "engine": engine or (own.engine if own is not None else None),
            "prompt": request.prompt or (own.prompt if own is not None else None),
        }
    )
    return job.model_copy(update={"judges": (choice,)})


def _calibration(figures: SettingFigures, now: datetime) -> Calibration:
    return Calibration(
        setting=figures.setting,
        made_at=now,
        labels=figures.agreement.of,
        agreement=figures.agreement.rate or 0.0,
        kappa=figures.kappa,
        figures=figures.model_dump(mode="json", exclude={"setting", "name"}),
    )
