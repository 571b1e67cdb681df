"""Alerts: rates of a job over its latest runs against what the config allows, told once for each breach."""

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from enricher.rates import stability_by_chance, stability_index
from enricher.report import Alert, RunReport
from enricher.settings import Alerts, Webhook
from enricher.store import Store
from enricher.store.alarms import Alarm
from enricher.store.gauges import FinishedRun
from enricher.verdict import Status
from enricher.webhooks import name_of, plain_for_slack, post

log = logging.getLogger(__name__)

_NO_FAILURES = frozenset({Status.OK, Status.NO_CLAIMS, Status.BUDGET_EXCEEDED})  # what a budget left stays due
SCHEDULE = "schedule"  # the alert that no rate raises: a scheduled job failed or was missed
_SENTENCES = {
    "unsupported": "{value:.1%} of {of} answers say what no document says (threshold {threshold:.1%})",
    "contradicted": "{value:.1%} of {of} answers contradict a document (threshold {threshold:.1%})",
    "failed": "{value:.1%} of {of} judgements failed (threshold {threshold:.1%})",
    "rejected": "{value:.1%} of {of} traces could not be judged (threshold {threshold:.1%})",
    "refused": "the model refused {value:.1%} of {of} judgements (threshold {threshold:.1%})",
    "disputed": "the second check disagrees on {value:.1%} of {of} statements (threshold {threshold:.1%})",
    "shift": "the scores of {of} answers are spread otherwise than before: stability index {value:.2f} (threshold "
    "{threshold:.2f}); enricher drift shows where",
    "drift": "the mean score of {of} answers moved by {value:.3f} against the runs before (threshold {threshold:.3f})",
}


def measure(runs: Sequence[FinishedRun], section: Alerts) -> list[Alert]:
    """Measure each rate that has a threshold and enough to go by; `runs` are those of one job, newest first."""
    figures = [run.counters for run in runs if _has_judged(run.counters)]
    window, before = figures[: section.window], figures[section.window :][: section.drift_runs]
    found = []
    for rule, (value, of) in _rates(window, before).items():
        threshold: float | None = getattr(section, rule)
        if threshold is not None and value is not None and of >= section.min_items:
            found.append(_alert(rule, abs(value), threshold, of))
    return found


async def follow(store: Store, section: Alerts, report: RunReport) -> RunReport:
    """Raise and lower the alerts of the job that has just run, tell the webhooks, and put both into the report."""
    rules = [rule for rule in _SENTENCES if getattr(section, rule) is not None]
    if not rules or not report.run_id:
        return report
    runs = await store.finished_runs(report.job, limit=section.window + section.drift_runs + 1)
    measured = {alert.rule: alert for alert in measure(runs, section)}
    # A rule that was taken out of the config is lowered too.
    checked = {*measured, *(rule for rule in _SENTENCES if rule not in rules)}
    breached = {rule for rule, alert in measured.items() if alert.is_breached}
    alarms = await store.follow_alerts(report.job, breached, checked, report.run_id)
    alerts = tuple(
        alert.model_copy(update={"raised_at": alarms[rule].raised_at, "is_new": alarms[rule].run_id == report.run_id})
        for rule, alert in measured.items()
        if rule in alarms
    )
    for alert in alerts:
        if alert.is_new:
            log.warning("job %s: alert: %s", report.job, alert.sentence)
    problems = await _tell(store, section.webhooks, report, alerts, alarms)
    if not alerts and not problems:
        return report
    report = report.model_copy(update={"alerts": alerts, "problems": (*report.problems, *problems)})
    await store.amend_report(report.run_id, report.model_dump(mode="json"))
    return report


async def follow_schedule(store: Store, section: Alerts, report: RunReport, problem: str | None) -> None:
    """Raise an alert of a job that failed or was missed, lower it when there is no problem; tell each webhook once.

    Args:
        store: where it is kept that the alert was raised and who was told.
        section: who is told.
        report: of the run; one without an id stands for a run that did not begin.
        problem: what is said; None when the run came to its end.
    """
    breached = {SCHEDULE} if problem is not None else set()
    alarms = await store.follow_alerts(report.job, breached, {SCHEDULE}, report.run_id)
    if problem is not None:
        alert = Alert(rule=SCHEDULE, value=1.0, threshold=0.0, items=1, sentence=problem)
        alert = alert.model_copy(update={"raised_at": alarms[SCHEDULE].raised_at})
        await _tell(store, section.webhooks, report, [alert], alarms)


def _has_judged(figures: Mapping[str, Any]) -> bool:
    return bool(figures.get("judged") or figures.get("rejected"))


def _rates(
    window: Sequence[Mapping[str, Any]], before: Sequence[Mapping[str, Any]]
) -> dict[str, tuple[float | None, int]]:
    answers = {key: _sum(window, "answers", key) for key in ("judged", "unsupported", "contradicted")}
    statuses = [(status, count) for one in window for each in one["judged"].values() for status, count in each.items()]
    judged = sum(count for _, count in statuses)
    failed = sum(count for status, count in statuses if status not in _NO_FAILURES)
    rejected = sum(count for one in window for count in one["rejected"].values())
    looked_at = rejected + sum(one["items"] for one in window)
    return {
        "unsupported": (_share(answers["unsupported"], answers["judged"]), answers["judged"]),
        "contradicted": (_share(answers["contradicted"], answers["judged"]), answers["judged"]),
        "failed": (_share(failed, judged), judged),
        "rejected": (_share(rejected, looked_at), looked_at),
        "refused": (_share(sum(count for status, count in statuses if status == Status.JUDGE_REFUSED), judged), judged),
        "disputed": _disputed(window),
        "shift": _shift(window, before),
        "drift": _drift(window, before),
    }


def _sum(window: Sequence[Mapping[str, Any]], group: str, key: str) -> int:
    return sum(one[group].get(key, 0) for one in window)


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _drift(window: Sequence[Mapping[str, Any]], before: Sequence[Mapping[str, Any]]) -> tuple[float | None, int]:
    """Compare mean scores, judge by judge, with the runs before of the very same judge versions; return the largest."""
    runs = [one for one in comparable(window, before) if one["scores"]]
    moves = []
    for judge in _scoring(window):
        now, then = _mean(window, judge), _mean(runs, judge)
        if now is not None and then is not None:
            moves.append((now[0] - then[0], min(now[1], then[1])))
    return max(moves, key=lambda move: abs(move[0])) if moves and len(runs) > 1 else (None, 0)


def _shift(window: Sequence[Mapping[str, Any]], before: Sequence[Mapping[str, Any]]) -> tuple[float | None, int]:
    """Return the largest stability index of a judge's scores that chance does not explain; 0 where it explains all."""
    runs = [one for one in comparable(window, before) if one["scores"]]
    moves = []
    for judge in _scoring(window):
        now, then = _histogram(window, judge), _histogram(runs, judge)
        if sum(now) and sum(then):
            index = stability_index(now, then)
            is_real = index > stability_by_chance(now, then)
            moves.append((index if is_real else 0.0, int(min(sum(now), sum(then)))))
    return max(moves) if moves and len(runs) > 1 else (None, 0)


def comparable(window: Sequence[Mapping[str, Any]], before: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the figures of those runs before whose judge versions are all among those of the window.

    A new prompt or model is no drift of the application; scores of two versions can't be compared.
    """
    versions = {version for one in window for version in one["versions"]}
    return [one for one in before if set(one["versions"]) <= versions]


def _disputed(window: Sequence[Mapping[str, Any]]) -> tuple[float | None, int]:
    opinions = [one.get("second_check", {}) for one in window]
    against = sum(each.get("disagrees", 0) for each in opinions)
    total = against + sum(each.get("agrees", 0) for each in opinions)
    return _share(against, total), total


def _scoring(window: Sequence[Mapping[str, Any]]) -> list[str]:
    return sorted({judge for one in window for judge in one["scores"]})


def _histogram(figures: Sequence[Mapping[str, Any]], judge: str) -> list[float]:
    rows = [one["scores"][judge][:-1] for one in figures if judge in one["scores"]]
    return [sum(counts) for counts in zip(*rows, strict=True)]


def _mean(figures: Sequence[Mapping[str, Any]], judge: str) -> tuple[float, int] | None:
    scores = [one["scores"][judge] for one in figures if judge in one["scores"]]
    count = int(sum(sum(each[:-1]) for each in scores))
    return (sum(each[-1] for each in scores) / count, count) if count else None


def _alert(rule: str, value: float, threshold: float, of: int) -> Alert:
    sentence = _SENTENCES[rule].format(value=value, threshold=threshold, of=of)
    return Alert(rule=rule, value=value, threshold=threshold, items=of, sentence=sentence)


# telling


async def _tell(
    store: Store, hooks: Sequence[Webhook], report: RunReport, alerts: Sequence[Alert], alarms: Mapping[str, Alarm]
) -> list[str]:
    """Tell each webhook what it has not taken yet; return one sentence for each that did not take it."""
    told = {alert.rule: set(alarms[alert.rule].told) for alert in alerts}
    problems = []
    for number, hook in enumerate(hooks):
        name = name_of(hook)
        news = [alert for alert in alerts if name not in told[alert.rule]]
        if not news:
            continue
        payload = _for_slack(report, news) if hook.form == "slack" else _for_machines(report, news)
        problem = await post(hook, payload)  # the next run tries again
        if problem is None:
            for alert in news:
                told[alert.rule].add(name)
        else:
            problems.append(f"webhook {number} was not told of {', '.join(a.rule for a in news)}: {problem}")
    for problem in problems:
        log.error("job %s: %s", report.job, problem)
    if told:
        await store.note_alerts_told(report.job, told)
    return problems


def _for_slack(report: RunReport, alerts: Sequence[Alert]) -> dict[str, Any]:
    lines = [f"• {plain_for_slack(alert.sentence)}" for alert in alerts]
    run = f": run {report.run_id}" if report.run_id else ""
    return {"text": "\n".join([f"*Trace Enricher, job {plain_for_slack(report.job)}*{run}", *lines])}


def _for_machines(report: RunReport, alerts: Sequence[Alert]) -> dict[str, Any]:
    return {
        "event": "alert",
        "job": report.job,
        "run_id": report.run_id,
        "finished": _moment(report.finished),
        "alerts": [alert.model_dump(mode="json", exclude={"is_new"}) for alert in alerts],
    }


def _moment(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None
