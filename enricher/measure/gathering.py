"""Gather people's labels from the review queue, the platforms and files, and the verdicts that they are labels of."""

import logging
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from enricher.errors import SetupError
from enricher.measure.calibration import Labelled, joined
from enricher.measure.labels import Judged, PersonsLabel, distinct, from_file, from_platform, from_review
from enricher.seams import Connector, LabelSource
from enricher.settings import Job
from enricher.steps.rendering import MAIN
from enricher.store import Store
from enricher.store.calibrations import CalibrationBook, JudgedPlace
from enricher.store.pairs import PairBook, PairRecord

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class Sources:
    """Where people's labels are looked for."""

    connectors: Mapping[str, Connector] = field(default_factory=dict)  # platforms; none when they are not asked
    jobs: Mapping[str, Job] = field(default_factory=dict)
    files: Sequence[Path] = ()
    since: datetime  # how old the verdicts may be that platforms are asked about


async def gather(store: Store, sources: Sources) -> tuple[list[Labelled], list[PersonsLabel]]:
    """Return every label beside the verdicts on the same item, and the labels without a verdict.

    Raises:
        SetupError: a file can't be read.
        TryAgain: a platform is away: figures on a part of the labels would mislead.
    """
    labels = [*from_review(await store.persons_decisions())]
    labels += [label async for label in _on_platforms(store, sources)]
    labels += [label async for label in _on_pairs(store, sources)]
    labels += [label for path in sources.files for label in from_file(path)]
    labels = distinct(labels)
    return joined(labels, await _verdicts(store, labels))


async def _on_platforms(store: Store, sources: Sources) -> AsyncIterator[PersonsLabel]:
    by_project: defaultdict[tuple[str, str], list[JudgedPlace]] = defaultdict(list)
    for place in await CalibrationBook(store).places(sources.since):
        if place.judge in MAIN:
            by_project[place.connection, place.project].append(place)
    for (connection, project), places in by_project.items():
        connector = sources.connectors.get(connection)
        if connector is None or not isinstance(connector, LabelSource):
            continue
        names = dict(_names(connection, sources.jobs.values(), {place.judge for place in places}))
        spans = list(dict.fromkeys(place.span_id for place in places))
        said = await connector.peoples_labels(project, spans, list(names))
        for place in places:
            mine = [one for one in said.get(place.span_id, ()) if names.get(one.name) == place.judge]
            for label in from_platform(place, mine):
                yield label


async def _on_pairs(store: Store, sources: Sources) -> AsyncIterator[PersonsLabel]:
    """Yield what people say on the platform of compared answers, each as how answer A of the pair fared."""
    records = await PairBook(store).of() if sources.connectors else []
    for (connection, project), answers in _answers(records, sources).items():
        connector = sources.connectors[connection]
        if not isinstance(connector, LabelSource):
            continue
        names = [name for name, _ in _names(connection, sources.jobs.values(), ["pairwise"])]
        try:
            said = await connector.peoples_labels(project, list(answers), names)
        except SetupError as error:  # the traces of an experiment are in a project of another name
            log.warning("labels of people on '%s' are not read: %s", project, error)
            continue
        for span, (pair, place, turned) in answers.items():
            for label in from_platform(place, said.get(span, ())):
                if label.label is not None:
                    yield replace(label, item=pair, label=turned.get(label.label, label.label))


def _answers(
    records: Iterable[PairRecord], sources: Sources
) -> dict[tuple[str, str], dict[str, tuple[str, JudgedPlace, Mapping[str, str]]]]:
    """Return by connection and project the spans of compared answers, with their pair and how labels are turned."""
    found: defaultdict[tuple[str, str], dict[str, tuple[str, JudgedPlace, Mapping[str, str]]]] = defaultdict(dict)
    twice: set[str] = set()
    for record in records:
        connection = record.comparison.partition(": ")[0]
        if connection not in sources.connectors or (record.settled_at or sources.since) < sources.since:
            continue
        for project, item, turned in (
            (record.champion, record.pair.a, _AS_SAID),
            (record.challenger, record.pair.b, _TURNED),
        ):
            span = item.annotate_span_id
            place = JudgedPlace(
                connection=connection, project=project, trace_id=item.trace_id, span_id=span, judge="pairwise"
            )  # fmt: skip
            # An answer that was compared with several others: nobody can tell which of them people mean.
            twice |= {span} & found[connection, project].keys()
            found[connection, project][span] = (record.pair.id, place, turned)
    return {where: {s: one for s, one in spans.items() if s not in twice} for where, spans in found.items()}


_AS_SAID: Mapping[str, str] = {}
_TURNED = {"win": "loss", "loss": "win", "tie": "tie"}


def _names(connection: str, jobs: Iterable[Job], judges: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield each annotation name under which people may label on a connection, with its judge."""
    prefixes = {job.annotation_prefix for job in jobs if job.connection == connection} or {""}
    return ((prefix + MAIN[judge], judge) for judge in judges for prefix in prefixes)


async def _verdicts(store: Store, labels: Sequence[PersonsLabel]) -> dict[tuple[str, str], list[Judged]]:
    found: defaultdict[tuple[str, str], list[Judged]] = defaultdict(list)
    traces = {label.trace_id for label in labels if label.judge != "pairwise"}
    for record in await CalibrationBook(store).verdicts(traces):
        verdict = record.verdict
        found[verdict.provenance.judge, verdict.span_id].append(Judged.of(verdict, record.input_hash))
    if any(label.judge == "pairwise" for label in labels):
        for pair in await PairBook(store).of():
            found["pairwise", pair.pair.id].append(Judged.of(pair.verdict, pair.input_hash))
    return dict(found)
