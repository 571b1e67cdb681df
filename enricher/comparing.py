"""Put a comparison together: where the answers are, who judges them, and where the verdicts go."""

import contextlib
import json
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import IO, Any

from enricher import logs
from enricher.app import App
from enricher.compare.gate import Gate
from enricher.compare.judging import Compared, Comparing
from enricher.compare.loading import Source, load_side, pair_of, read_pairs
from enricher.compare.matching import Matched, Matching, match
from enricher.compare.preferences import Exported, preferences
from enricher.compare.rows import pair_row, refused_row
from enricher.compare.tally import Comparison, metrics, tally
from enricher.compare.writing import annotations_of, write_back
from enricher.errors import SetupError
from enricher.executors.local import LocalExecutor
from enricher.measure.standing import confirmation
from enricher.panel import pair_engine, pair_judge
from enricher.privacy import guard, redaction_rules, rules_without_store
from enricher.progress import Reporter
from enricher.records import item_of, read_lines
from enricher.seams import Connector, ExperimentSource
from enricher.settings import Job, Settings
from enricher.steps.extraction import ExtractionPaths
from enricher.steps.redaction import RedactionRules
from enricher.steps.rendering import NAMES, NEEDS_REVIEW, PREFERENCE
from enricher.store import Store
from enricher.store.comparisons import ComparisonBook, CountedPair
from enricher.store.pairs import PairBook
from enricher.trace import TraceQuery
from enricher.wiring import Wiring, wire_records

_METADATA = "metadata:"
_LEFTOVERS = 1000  # answers without a counterpart that are kept by name; all are counted
_FAILURES = ("JUDGE_", "INVALID", "BUDGET")


@dataclass(frozen=True, kw_only=True, slots=True)
class CompareRequest:
    """What a person asked to be compared."""

    file: Path | None = None
    connection: str | None = None
    champion: str | None = None  # names of projects or experiments
    challenger: str | None = None
    experiments: bool = False
    match: str | None = None  # None: by example where there are some; "question"; "metadata:KEY"
    start: datetime | None = None
    end: datetime | None = None
    engine: str | None = None
    both_orders: bool = False
    write: bool = True
    gate: str | None = None


async def compare(settings: Settings, request: CompareRequest, progress: Reporter) -> Comparison:
    """Compare as asked; verdicts that are known are not asked for again.

    Raises:
        SetupError: the gate, a source or the judge is not as it must be; nothing has been judged.
    """
    gate = Gate(request.gate, frozenset(metrics(None))) if request.gate is not None else None
    async with await App.open(settings) as app:
        started_at = app.store.clock()
        wiring = _wiring(settings, request.engine, app.store)
        judge = pair_judge(settings, engine=request.engine, both_orders=request.both_orders, wiring=wiring)
        try:
            redaction = await redaction_rules(settings, app.store)
            sides = _Sides.of(settings, request)
            matching = await sides.matching(app, request, redaction, progress)
            comparing = Comparing(
                name=sides.name,
                champion=sides.champion,
                challenger=sides.challenger,
                judge=judge,
                executor=LocalExecutor(concurrency=_at_once(settings, request.engine)),
                min_confidence=settings.compare.min_confidence,
                confirmation=await confirmation(settings, app.store),
                book=PairBook(app.store),
                redaction=redaction,
            )
            compared = await comparing.run(matching.matched, progress)
            found = tally(sides.champion, sides.challenger, judge.provenance.version, matching, compared)
            if request.write and sides.connection is not None:
                found = await _written(app, sides, compared, found, progress)
            if gate is not None:
                held = gate.evaluate(metrics(found))
                found = found.model_copy(update={"gate": held.sentence, "gate_passed": held.passed})
            await _keep(app.store, sides, found, compared, started_at)
        finally:
            await judge.aclose()
            await wiring.aclose()
    return found


async def judge_pairs(
    settings: Settings, source: Path, output: Path | None, engine: str | None, progress: Reporter
) -> int:
    """Judge the pairs of a file, one line in, one out, in the same order; return how many failed."""
    if output is not None and output.resolve() == source.resolve():
        raise SetupError(f"{output} is the input; name another file for the output")
    logs.configure(form=settings.logs, level=settings.log_level, texts=settings.log_texts)
    guard(settings)
    failed = 0
    async with contextlib.AsyncExitStack() as stack:
        is_paid_by_day = pair_engine(settings, engine) == "openai" and settings.budget.per_day is not None
        store = await stack.enter_async_context(await Store.open(settings.store)) if is_paid_by_day else None
        wiring = _wiring(settings, engine, store)
        stack.push_async_callback(wiring.aclose)
        judge = pair_judge(settings, engine=engine, wiring=wiring)
        stack.push_async_callback(judge.aclose)
        comparing = Comparing(
            name="",
            champion="",
            challenger="",
            judge=judge,
            executor=LocalExecutor(concurrency=1),
            min_confidence=settings.compare.min_confidence,
            redaction=rules_without_store(settings),
        )
        out = stack.enter_context(_for_writing(output)) if output is not None else None
        progress.stage("comparing answers")
        rows = _rows(read_lines(source), comparing, _at_once(settings, engine))
        async for row in rows:
            failed += str(row["status"]).startswith(_FAILURES)
            print(json.dumps(row, ensure_ascii=False), file=out)
            progress.advance()
    return failed


async def export_preferences(
    settings: Settings, *, comparison: str | None, include: Sequence[str], output: Path | None
) -> Exported:
    """Write the accepted preferences of one comparison, or of all, as JSON lines for training.

    Raises:
        SetupError: nothing was compared under that name.
    """
    exported = Exported(left_out={})
    async with await Store.open(settings.store) as store:
        book = PairBook(store)
        known = await book.comparisons()
        if comparison is not None and comparison not in known:
            raise SetupError(f"there is no comparison '{comparison}'; there is {'; '.join(known) or 'none yet'}")
        records = await book.of(comparison)
    rows = preferences(
        records,
        include=frozenset(include),
        min_confidence=settings.compare.min_confidence,
        exported=exported,
    )
    with contextlib.ExitStack() as stack:
        out = stack.enter_context(_for_writing(output)) if output is not None else None
        for row in rows:
            print(json.dumps(row, ensure_ascii=False), file=out)
    return exported


# where the answers are


@dataclass(frozen=True, kw_only=True, slots=True)
class _Sides:
    """The two sources of a comparison."""

    champion: str
    challenger: str
    connection: str | None = None
    job: Job = field(default_factory=Job)  # how its traces are read and annotations are named

    @property
    def name(self) -> str:
        place = f"{self.connection}: " if self.connection else ""
        return f"{place}{self.champion} | {self.challenger}"

    @classmethod
    def of(cls, settings: Settings, request: CompareRequest) -> "_Sides":
        """Name the sides.

        Raises:
            SetupError: neither a file nor two names are given, or both are.
        """
        named = (request.champion, request.challenger)
        if request.file is not None:
            if any(named):
                raise SetupError("give either a file of pairs, or --champion and --challenger")
            return cls(champion=f"{request.file.name}:answer_a", challenger=f"{request.file.name}:answer_b")
        if request.champion is None or request.challenger is None:
            raise SetupError("give a file of pairs, or --champion and --challenger: two projects or experiments")
        if request.champion == request.challenger:
            raise SetupError(f"--champion and --challenger are both '{request.champion}'")
        connection = request.connection or next(iter(settings.connections))
        if connection not in settings.connections:
            raise SetupError(f"--connection: there is no '{connection}'; there is {', '.join(settings.connections)}")
        job = next((job for job in settings.jobs.values() if job.connection == connection), Job())
        return cls(champion=request.champion, challenger=request.challenger, connection=connection, job=job)

    async def matching(
        self, app: App, request: CompareRequest, redaction: RedactionRules, progress: Reporter
    ) -> Matching:
        """Read both sides and match their answers."""
        if request.file is not None:
            return read_pairs(read_lines(request.file), item_of, redaction=redaction)
        assert self.connection is not None  # `of` saw to it
        connector = app.connectors[self.connection]
        read = partial(
            load_side, paths=ExtractionPaths(**self.job.paths.model_dump()), redaction=redaction, progress=progress
        )
        champion = await read(await _source(connector, self.champion, request), "champion")
        challenger = await read(await _source(connector, self.challenger, request), "challenger")
        found = match(champion.candidates, challenger.candidates)
        return replace(found, unusable=(*champion.unusable, *challenger.unusable))


async def _source(connector: Connector, name: str, request: CompareRequest) -> Source:
    key = None
    if request.match is not None and request.match.startswith(_METADATA):
        key = request.match.removeprefix(_METADATA)
    elif request.match not in (None, "question"):
        raise SetupError(f"--match: '{request.match}' is not known; use question or metadata:KEY")
    project, examples = name, {}
    if request.match is None or request.experiments:
        if isinstance(connector, ExperimentSource):
            found = await connector.examples(name, is_experiment=request.experiments)
            project, examples = found.project, dict(found.by_trace)
        elif request.experiments:
            raise SetupError(f"the connection {connector.name} has no experiments; leave --experiments out")
    query = TraceQuery(rule="compare", projects=(project,), start=request.start, end=request.end)
    return Source(
        name=name,
        connector=connector,
        query=query,
        examples={} if request.match == "question" else examples,
        metadata_key=key or None,
        only_examples=request.experiments and request.match != "question",
    )


# judging and writing


def _wiring(settings: Settings, engine: str | None, store: Store | None) -> Wiring:
    return wire_records(settings, store) if pair_engine(settings, engine) == "openai" else Wiring()


def _at_once(settings: Settings, engine: str | None) -> int:
    return settings.concurrency if pair_engine(settings, engine) == "openai" else 2


async def _rows(lines: Iterable[tuple[int, str]], comparing: Comparing, at_once: int) -> AsyncIterator[dict[str, Any]]:
    """Yield one row a line, in order; at most so many lines are held."""
    batch: list[tuple[int, str]] = []
    for line in lines:
        batch.append(line)
        if len(batch) >= 4 * at_once:
            for row in await _batch_rows(batch, comparing, at_once):
                yield row
            batch = []
    for row in await _batch_rows(batch, comparing, at_once):
        yield row


async def _batch_rows(lines: Sequence[tuple[int, str]], comparing: Comparing, at_once: int) -> list[dict[str, Any]]:
    async def numbered() -> AsyncIterator[tuple[int, str]]:
        for line in lines:
            yield line

    async def one(line: tuple[int, str]) -> tuple[int, dict[str, Any]]:
        number, text = line
        try:
            record = json.loads(text)
            pair = pair_of(record, number, item_of, comparing.redaction)
        except (ValueError, RecursionError) as error:
            return number, refused_row({"where": f"line {number}", "detail": str(error)})
        compared = await comparing.compare(Matched(pair=pair))
        return number, pair_row(record.get("id"), compared.verdict, comparing.min_confidence)

    found = dict([row async for row in LocalExecutor(concurrency=at_once).map(one, numbered())])
    return [found[number] for number in sorted(found)]


async def _written(
    app: App, sides: _Sides, compared: Sequence[Compared], found: Comparison, progress: Reporter
) -> Comparison:
    connection = sides.connection or ""
    connector, prefix = app.connectors[connection], sides.job.annotation_prefix
    progress.stage("writing the verdicts back")
    await connector.prepare({prefix + name: NAMES[name] for name in (PREFERENCE, NEEDS_REVIEW)})
    written = await write_back(
        compared,
        {connection: connector},
        lambda one: annotations_of(one, sides.champion, sides.challenger, prefix=prefix),
    )
    await PairBook(app.store).note_written(written.record_ids)
    return found.model_copy(update={"written": written.annotations, "write_problems": tuple(written.problems)})


async def _keep(
    store: Store, sides: _Sides, found: Comparison, compared: Sequence[Compared], started_at: datetime
) -> None:
    """Record what was counted; questions of answers that were not compared are nobody's to keep."""
    kept = found.model_copy(update={"rows": (), "leftovers": found.leftovers[:_LEFTOVERS]})
    figures = kept.model_dump(mode="json", exclude={"leftovers": {"__all__": {"question"}}})
    counted = [
        CountedPair(record_id=one.record.id, outcome=row.outcome, is_accepted=row.accepted)
        for one, row in zip(compared, found.rows, strict=True)
        if one.record is not None
    ]
    figures["connection"] = sides.connection
    await ComparisonBook(store).keep(sides.name, figures, counted, started_at)


def _for_writing(path: Path) -> IO[str]:
    try:
        return path.open("w", encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise SetupError(f"{path} can't be written: {error.strerror}") from error
