"""How what users said, and scores that were there already, go with what was found."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import StatisticsError, correlation

from enricher.printing import number_of
from enricher.rates import Rate
from enricher.reporting.nouns import Relation, UserReports
from enricher.reporting.systemic import Answer
from enricher.trace import TraceRef

_FEWEST = 20  # answers with both, for a correlation that means anything
_EXAMPLES = 5
_CLEAR, _SLIGHT = 0.5, 0.2
_RETRIEVAL = "best retrieval score"


def user_reports(answers: Sequence[Answer], refs: Mapping[str, TraceRef]) -> UserReports:
    """Set reports and scores against the findings, trace by trace."""
    by_trace: dict[str, list[Answer]] = {}
    for answer in answers:
        by_trace.setdefault(answer.trace_id, []).append(answer)
    reported = {name: found for name, found in by_trace.items() if any(answer.is_reported for answer in found)}
    others = {name: found for name, found in by_trace.items() if name not in reported}
    found_on = [name for name, found in reported.items() if _has_finding(found)]
    nothing_on = [name for name in reported if name not in set(found_on)]
    critical = [name for name, found in others.items() if any(answer.is_critical for answer in found)]
    return UserReports(
        with_finding=len(found_on),
        without_finding=len(nothing_on),
        unreported_critical=len(critical),
        among_reported=Rate.of_count(len(found_on), len(reported)),
        among_others=Rate.of_count(sum(_has_finding(found) for found in others.values()), len(others)),
        without_finding_traces=tuple(nothing_on[:_EXAMPLES]),
        unreported_critical_traces=tuple(critical[:_EXAMPLES]),
        scores=tuple(_relations(answers, refs)),
    )


def _has_finding(answers: Sequence[Answer]) -> bool:
    return any(answer.has_finding for answer in answers)


def _relations(answers: Sequence[Answer], refs: Mapping[str, TraceRef]) -> Iterator[Relation]:
    """Compare each score that was there with the probability that the answer is faithful, or with its score."""
    knows_probability = any(answer.probability is not None for answer in answers)
    against = "probability of being faithful" if knows_probability else "faithfulness score"
    pairs: dict[str, list[tuple[float, float]]] = {}
    for answer in answers:
        ours = answer.probability if knows_probability else answer.score
        if ours is not None:
            for name, value in _scores(answer, refs.get(answer.trace_id)):
                pairs.setdefault(name, []).append((value, ours))
    reported = {report.name for ref in refs.values() for report in ref.reports}
    for name, found in sorted(pairs.items()):
        # Of a number in the metadata nobody knows whether it is a score; too few of them are not worth a line.
        if len(found) >= _FEWEST or name in reported:
            yield _relation(name, found, against)


def _scores(answer: Answer, ref: TraceRef | None) -> Iterator[tuple[str, float]]:
    for report in ref.reports if ref is not None else ():
        if report.score is not None:
            yield report.name, report.score
    retrieved = [document.score for document in answer.documents.values() if document.score is not None]
    if retrieved:
        yield _RETRIEVAL, max(retrieved)
    for name, value in answer.labels.items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield f"metadata {name}", float(value)


def _relation(name: str, pairs: Sequence[tuple[float, float]], against: str) -> Relation:
    relation = Relation(name=name, of=len(pairs), against=against)
    if len(pairs) < _FEWEST:
        few = number_of(len(pairs), "answer has", "answers have")
        told = f"only {few} both; from {_FEWEST} on something can be told"
        return relation.model_copy(update={"sentence": f"{name}: {told}"})
    try:
        found = correlation(*(_ranks([pair[side] for pair in pairs]) for side in (0, 1)))
    except StatisticsError:  # one of them is always the same
        return relation.model_copy(update={"sentence": f"{name}: always the same on these {len(pairs)} answers"})
    size = abs(found)
    word = "does not go with" if size < _SLIGHT else "goes slightly with" if size < _CLEAR else "goes clearly with"
    if size >= _SLIGHT and found < 0:
        word = word.replace("with", "against")
    sentence = f"{name} {word} the {against} (rank correlation {found:+.2f}, {len(pairs)} answers)"
    return relation.model_copy(update={"correlation": found, "sentence": sentence})


def _ranks(values: Sequence[float]) -> list[float]:
    """Rank values from 1; equal ones share the mean of their ranks."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end < len(order) and values[order[end]] == values[order[start]]:
            end += 1
        for place in order[start:end]:
            ranks[place] = (start + end + 1) / 2
        start = end
    return ranks
