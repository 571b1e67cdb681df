"""Send the report of a run to those who want it; a report that does not arrive is told, and costs the run nothing."""

import logging
from collections.abc import Mapping
from typing import Any

from enricher.errors import EnricherError
from enricher.printing import visible
from enricher.report import ReportState, RunReport, SentReport
from enricher.reporting.gathering import full_report
from enricher.reporting.nouns import FullReport, to_json
from enricher.settings import Settings, Webhook
from enricher.store import Store
from enricher.webhooks import plain_for_slack, post

log = logging.getLogger(__name__)

_FINDINGS = 5  # of a message
_LONGEST = 300  # characters of one text in it


async def send(store: Store, settings: Settings, run: RunReport) -> RunReport:
    """Send the report to each webhook of the job; return it with what became of that."""
    job = settings.jobs.get(run.job)
    if job is None or not job.send_report or not run.run_id:
        return run
    # Most runs send none, and need not load what makes pages.
    from enricher.reporting.page import as_html

    try:
        full = await full_report(store, run, settings.connections)
        page = as_html(full)
        sent = [await _sent(number, hook, full, page) for number, hook in enumerate(job.send_report)]
    except EnricherError as error:
        sent = [
            SentReport(webhook=n, state=ReportState.UNDELIVERED, reason=str(error)) for n in range(len(job.send_report))
        ]
    lost = [f"the report did not reach webhook {one.webhook}: {one.reason}" for one in sent if one.reason]
    for warning in lost:
        log.error("job %s: %s", run.job, warning)
    run = run.model_copy(update={"sent": tuple(sent), "warnings": (*run.warnings, *lost)})
    await store.amend_report(run.run_id, run.model_dump(mode="json"))
    return run


async def _sent(number: int, hook: Webhook, full: FullReport, page: str) -> SentReport:
    problem = await post(hook, _for_slack(full) if hook.form == "slack" else _for_machines(full, page))
    state = ReportState.DELIVERED if problem is None else ReportState.UNDELIVERED
    return SentReport(webhook=number, state=state, reason=problem or "")


def _for_machines(full: FullReport, page: str) -> dict[str, Any]:
    """Return the whole report, and the page for whoever mails it on."""
    run = full.run
    return {
        "event": "report",
        "job": run.job,
        "run_id": run.run_id,
        "state": run.state,
        "finished": run.finished.isoformat() if run.finished else None,
        "headline": full.headline.model_dump(mode="json"),
        "report": to_json(full),
        "html": page.encode("utf-8", "replace").decode(),
    }


def _for_slack(full: FullReport) -> Mapping[str, Any]:
    head = full.headline
    lines = [f"*Trace Enricher, job {_plain(full.run.job)}*: {_plain(head.sentence)}"]
    lines += [_plain(head.coverage)] if head.coverage else []
    lines += [f"• {_plain(detail)}" for detail in (*head.moved, *head.details)]
    for finding in full.ranked[:_FINDINGS]:
        worst = finding.statements[0] if finding.statements else None
        said = f"“{_plain(worst.text)}”" if worst else ""
        against = (
            f", {_plain(worst.passages[0].document)} “{_plain(worst.passages[0].text)}”"
            if worst and worst.passages
            else ""
        )
        where = f"<{finding.link}|{finding.trace_id[:12]}>" if finding.link else _plain(finding.trace_id[:12])
        lines.append(f"{finding.rank}. {finding.standing.replace('_', ' ')} {where}: {said}{against}")
    return {"text": "\n".join(lines)}


def _plain(text: str) -> str:
    text = visible(" ".join(text.split()))
    return plain_for_slack(text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…")
