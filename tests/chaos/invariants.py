"""What must hold once nothing goes wrong any more, whatever went wrong before."""

from collections import Counter
from typing import Any

from tests.chaos.places import DEFERRED, JUDGED, REJECTED
from tests.chaos.world import MOST_RSS_MB, World

_ENDS_ANYHOW_S = 600  # for a clock that is so far off, the age of an unfinished trace says nothing
_NAME, _ASKED = "context_diff", "needs_review"


async def broken(world: World, *, is_raving: bool) -> list[str]:
    """Return a sentence for each invariant that does not hold."""
    return [
        *await _written_once(world, is_raving=is_raving),
        *_settled_once(world),
        *_judged_once(world),
        *_accounted_for(world),
        *_nothing_left(world),
        *_bounded(world),
    ]


def let_time_pass(world: World) -> None:
    """Let write-backs that were put off to a later run be due."""
    if world.ledger.count("outbox", "state NOT IN ('confirmed', 'failed')"):
        if world.ledger.schema is not None:
            earlier = "next_attempt_at - interval '10 minutes'"
        else:
            earlier = "strftime('%Y-%m-%dT%H:%M:%f', next_attempt_at, '-10 minutes') || '000Z'"
        world.ledger.change(f"UPDATE outbox SET next_attempt_at = {earlier} WHERE state <> 'confirmed'")


async def _written_once(world: World, *, is_raving: bool) -> list[str]:
    """Exactly one annotation per item and version, and it says what is right."""
    written = await world.place.written(world.cases)
    found: list[str] = []
    for case in world.cases:
        span_id = case.span_id or case.trace_id
        rows = [row for row in written if row.span_id == span_id]
        names = Counter(row.name for row in rows)
        said = [(row.label, row.score) for row in rows if row.name == _NAME]
        if case.ends != JUDGED:
            if names and abs(world.ahead_s) < _ENDS_ANYHOW_S:
                found.append(f"trace {case.trace_id} is {case.ends} and has {dict(names)}")
        elif names[_NAME] > 1 or names[_ASKED] > 1:
            found.append(f"trace {case.trace_id} has {dict(names)}")
        elif not said:
            # A model that never says anything of use leaves a question to people.
            is_spoilt = is_raving and any(case.word in prompt for prompt in world.model.spoilt)
            if not (is_spoilt and names[_ASKED] == 1):
                found.append(
                    f"trace {case.trace_id} was not annotated: {dict(names)}, {_state_of(world, case.trace_id)}"
                )
        elif said != [case.verdict]:
            found.append(f"trace {case.trace_id} is annotated {said}, right is {case.verdict}")
    return found


def _state_of(world: World, trace_id: str) -> list[Any]:
    refs = world.ledger.query(f"SELECT state, reason, attempts FROM refs WHERE trace_id = '{trace_id}'")
    evaluations = world.ledger.query(f"SELECT status FROM evaluations WHERE trace_id = '{trace_id}'")
    outbox = world.ledger.query(f"SELECT state, reason, attempts FROM outbox WHERE trace_id = '{trace_id}'")
    return [*refs, *evaluations, *outbox]


def _settled_once(world: World) -> list[str]:
    """No verdict is lost or replaced once it is settled."""
    now = world.verdicts()
    lost = [id_ for id_ in world.settled if id_ not in now]
    changed = [id_ for id_, row in world.settled.items() if id_ in now and now[id_] != row]
    return [f"{len(ids)} settled verdicts were {what}" for what, ids in (("lost", lost), ("replaced", changed)) if ids]


def _judged_once(world: World) -> list[str]:
    """Nothing is judged twice after it was settled; `World.note_settled` found it while the runs went on."""
    return [f"asked again after they were settled: {sorted(world.asked_again)}"] if world.asked_again else []


def _accounted_for(world: World) -> list[str]:
    """Every trace is in exactly one column of each report, and in the right state in the end."""
    found: list[str] = []
    for report in world.reports():
        columns = {
            "judged": sum(report["judged"].values()),
            "rejected": sum(report["rejected"].values()),
            "deferred": report["deferred"],
            "left": report["left"],
            "crashed": report["failed"].get("BUG", 0),
        }
        if sum(columns.values()) != report["chosen"] or min(columns.values()) < 0:
            found.append(f"run {report['run_id']} chose {report['chosen']} and accounts for {columns}")
        if columns["crashed"]:
            found.append(f"run {report['run_id']} met a bug: {report['problems']}")
    states = dict(world.ledger.query("SELECT trace_id, state FROM refs"))
    right = {JUDGED: "done", REJECTED: "rejected", DEFERRED: "deferred"}
    for case in world.cases:
        is_there = case.ends != DEFERRED or (world.place.base_url and abs(world.ahead_s) < _ENDS_ANYHOW_S)
        if is_there and states.get(case.trace_id) != right[case.ends]:
            found.append(f"trace {case.trace_id} must be {right[case.ends]} and is {states.get(case.trace_id)}")
    return found


def _nothing_left(world: World) -> list[str]:
    """No lease, no run, no write-back is left open."""
    left = {
        "leases of jobs": world.ledger.count("leases", "name LIKE 'job:%'"),
        "runs under way": world.ledger.count("runs", "state = 'running'"),
        "open write-backs": world.ledger.count("outbox", "state <> 'confirmed'"),
    }
    return [f"{count} {what} are left" for what, count in left.items() if count]


def _bounded(world: World) -> list[str]:
    return [f"a process used {world.peak_mb:.0f} MB"] if world.peak_mb > MOST_RSS_MB else []
