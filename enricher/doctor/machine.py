"""Look at what this machine keeps: the store, the room on its disk, and how the scheduled jobs stand."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from sqlalchemy.engine import make_url

from enricher.doctor.check import Check
from enricher.printing import number_of
from enricher.settings import FilesConnection, Settings
from enricher.store import ScheduleOutcome, ScheduleRecord, Store
from enricher.store.schema import SCHEMA_VERSION

_LITTLE = 1 << 30  # bytes free; below it is worth a word
_NONE_LEFT = 100 << 20  # and below this a run may fail


async def check_store(store: Store, shown: str) -> Check:
    """Say what the store holds; it was opened, and so brought to the present schema."""
    newest = next(iter(await store.runs(limit=1)), None)
    queues = await store.queues()
    waiting = {
        "trace": sum(queues.traces.values()),
        "write-back": sum(queues.write_backs.values()),
        "review": queues.reviews,
        "hint": queues.hints,
    }
    facts = {
        "schema": f"{SCHEMA_VERSION}, up to date",
        "last run": f"{newest.id} of job {newest.job}, {newest.state}" if newest else "none yet",
        "waiting": ", ".join(number_of(count, noun) for noun, count in waiting.items()),
    }
    return Check(name=f"store {shown}", ok=True, facts=facts)


def check_disk(settings: Settings) -> Check:
    """Say how much room there is where this machine writes."""
    facts, problems, is_full = {}, [], False
    for what, folder in _folders(settings).items():
        there = next(parent for parent in (folder, *folder.parents) if parent.exists())
        free = shutil.disk_usage(there).free
        facts[what] = f"{free / (1 << 30):.1f} GB free in {folder}"
        is_full |= free < _NONE_LEFT
        if free < _LITTLE:
            problems.append(f"there is little room for the {what} in {folder}; free some, or name another place")
    return Check(name="disk", ok=not is_full, facts=facts or {"here": "nothing is written"}, problems=tuple(problems))


def check_jobs(settings: Settings, records: Mapping[str, ScheduleRecord], leases: Mapping[str, str]) -> Check:
    """Say how scheduled jobs stand, and who holds their leases."""
    facts, hints = {}, []
    for name, job in settings.jobs.items():
        record = records.get(name)
        parts = [_times(job.schedule.cron, str(job.schedule.every)) if job.schedule else "never by itself"]
        if record is not None and record.outcome is not None:
            parts.append(f"last {record.outcome} at {record.outcome_at:%Y-%m-%d %H:%M} UTC")
            if record.outcome in (ScheduleOutcome.FAILED, ScheduleOutcome.MISSED):
                hints.append(f"job {name}: the last one is {record.outcome}: {record.reason}")
        parts += [f"{lease} held by {who}" for lease, who in leases.items() if lease.partition(":")[2] == name]
        facts[name] = "; ".join(parts)
    if not any(job.schedule for job in settings.jobs.values()):
        hints.append("no job has a schedule: enricher schedule has nothing to do, enricher run does")
    return Check(name="schedule", ok=True, facts=facts, problems=tuple(hints))


def _times(cron: str | None, every: str) -> str:
    return f"cron {cron}" if cron else f"every {every}"


def _folders(settings: Settings) -> dict[str, Path]:
    found: dict[str, Path] = {}
    url = make_url(settings.store)
    if url.drivername.startswith("sqlite") and url.database:
        found["store"] = Path(url.database).resolve().parent
    outputs: Sequence[tuple[str, Path]] = [
        (name, section.output) for name, section in settings.connections.items() if isinstance(section, FilesConnection)
    ]
    return found | {f"annotations of {name}": output.resolve().parent for name, output in outputs}
