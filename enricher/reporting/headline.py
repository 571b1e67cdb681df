"""The one sentence that somebody reads who reads nothing else, and how much it rests on."""

from collections.abc import Iterator

from enricher.printing import number_of, plural
from enricher.report import RunReport, Tally
from enricher.reporting.changes import flagged
from enricher.reporting.nouns import Changes, Headline
from enricher.store.nights import JudgeNight, Night
from enricher.verdict import Status

_NOBODY = JudgeNight()
_MOVED = 3  # figures that the headline tells of; all of them are listed below


def headline(run: RunReport, night: Night, leading: str | None, changes: Changes) -> Headline:
    """Say what came of a run; a mean or share never stands without what it is of."""
    judge = night.judges.get(leading or "", _NOBODY)
    worse = [figure for figure in changes.figures if figure.is_notable and figure.is_worse]
    contradicted = judge.labels.get("contradicted", 0)
    return Headline(
        sentence=_sentence(judge, contradicted),
        is_bad=bool(contradicted or worse),
        is_incomplete=not run.is_clean,
        coverage=coverage(judge),
        details=tuple(_details(run, night)),
        moved=tuple(_moved(changes)),
    )


def coverage(judge: JudgeNight | Tally) -> str:
    """Say what a mean is of: failures and answers without claims are in no mean, and not hidden either."""
    statuses = judge.statuses if isinstance(judge, JudgeNight) else judge.judged
    total = sum(statuses.values())
    if not total:
        return ""
    failed = sum(count for status, count in statuses.items() if status not in (Status.OK, Status.NO_CLAIMS))
    mean = "no mean score" if judge.mean_score is None else f"mean score {judge.mean_score:.3f}"
    rest = [f"{count} {word}" for count, word in ((failed, "failed"), (judge.no_claims, "without claims")) if count]
    return f"{mean}, {judge.scored} of {total} scored" + (f" ({', '.join(rest)})" if rest else "")


def _sentence(judge: JudgeNight, contradicted: int) -> str:
    rate = flagged(judge)
    if not rate.of:
        return "No answer was judged"
    if not rate.count:
        return f"All {rate.of} answers keep to their context" if rate.of > 1 else "The one answer keeps to its context"
    who = f"{rate.count} of {rate.of} answers" if rate.of > 1 else "The one answer"
    sentence = f"{who} {plural(rate.count, 'leaves its', 'leave their')} context"
    whom = f"{contradicted} of them" if rate.count > 1 else "it"
    return f"{sentence}; documents contradict {whom}" if contradicted else sentence


def _details(run: RunReport, night: Night) -> Iterator[str]:
    if run.state != "finished":
        yield f"The run is {run.state}: what it did not reach is due in the next one."
    yield from (f"{problem[:1].upper()}{problem[1:]}." for problem in run.problems)
    yield from (f"{warning[:1].upper()}{warning[1:]}." for warning in run.warnings)
    both = night.halves.get("both", 0)
    retrieval, generation = (night.halves.get(half, 0) + both for half in ("retrieval", "generation"))
    if retrieval or generation:
        also = f", both for {both} of them" if both else ""
        yield f"Retrieval failed for {retrieval} and generation for {number_of(generation, 'answer')}{also}."
    failed, rejected = sum(night.failed.values()), sum(night.rejected.values())
    if failed or rejected:
        lost = [f"{number_of(failed, 'judgement')} failed"] if failed else []
        if rejected:
            lost.append(f"{number_of(rejected, 'trace or answer', 'traces or answers')} could not be judged")
        yield f"{' and '.join(lost)}; {plural(failed + rejected, 'it is', 'they are')} in no share."
    if night.reports.unreported_critical:
        missed = number_of(night.reports.unreported_critical, "answer")
        yield f"Nobody reported {missed} that documents contradict."


def _moved(changes: Changes) -> Iterator[str]:
    notable = [figure for figure in changes.figures if figure.is_notable]
    for figure in sorted(notable, key=lambda figure: not figure.is_worse)[:_MOVED]:
        yield f"{figure.sentence[:1].upper()}{figure.sentence[1:]}."
    if len(notable) > _MOVED:
        yield f"{number_of(len(notable) - _MOVED, 'more figure')} moved beyond what was seen before."
