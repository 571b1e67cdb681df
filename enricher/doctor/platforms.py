"""Look at the platforms and at the jobs that judge there."""

import time
from collections.abc import Callable, Sequence
from datetime import datetime
from email.utils import parsedate_to_datetime

import httpx

from enricher.doctor.check import Check
from enricher.errors import EnricherError
from enricher.printing import number_of
from enricher.run import Plan, Run
from enricher.seams import Connector
from enricher.trust import Standing

_SKEW_S = 5.0  # more is worth a word: traces are taken from windows of time
_WRONG_S = 60.0  # and more than this is wrong
_ROUNDED_S = 0.5  # the date of a reply is cut to whole seconds


async def check_connection(connector: Connector) -> Check:
    """Look at one connection."""
    health = await connector.check()
    return Check(name=f"connection {connector.name}", ok=health.ok, facts=dict(health.facts), problems=health.problems)


async def check_rules(run: Run, plan: Plan) -> Check:
    """Rehearse finding, and say how many traces each rule of the job would match now."""
    name = f"job {plan.name}"
    try:
        counts = await run.match()
    except EnricherError as error:
        return Check(name=name, ok=False, problems=(str(error),))
    facts = {f"rule {c.rule}": f"takes {c.taken} of {number_of(c.found, 'matching trace')}" for c in counts}
    silent = tuple(f"rule {c.rule} matches nothing in its window" for c in counts if not c.found)
    return Check(name=name, ok=True, facts=facts, problems=silent)


def check_trust(job: str, standings: Sequence[Standing]) -> Check:
    """Say how far the judges of a job agreed with people, and whether findings of theirs are confirmed."""
    facts = {f"{one.judge} compared with people": one.calibrated for one in standings}
    held = tuple(one.held for one in standings if one.held is not None)
    return Check(name=f"trust in the judges of job {job}", ok=True, facts=facts, problems=held)


async def check_clock(name: str, base_url: str, now: Callable[[], datetime], timeout_s: float) -> Check:
    """Compare the clock of this machine with that of a platform, by the date of its reply."""
    title = f"clock against {name}"
    try:
        async with httpx.AsyncClient(timeout=timeout_s) as client:
            begun, before = now(), time.monotonic()
            reply = await client.get(base_url)
            half_s = (time.monotonic() - before) / 2
        date = parsedate_to_datetime(reply.headers.get("date", ""))
    except (httpx.HTTPError, ValueError) as error:
        return Check(name=title, ok=True, facts={"difference": f"not known: {error or type(error).__name__}"})
    ahead_s = (begun - date).total_seconds() + half_s - _ROUNDED_S
    way = "ahead of" if ahead_s > 0 else "behind"
    told = f"this machine is {abs(ahead_s):.0f} s {way} the platform" if abs(ahead_s) >= 1 else "less than a second"
    facts = {"difference": told}
    if abs(ahead_s) <= _SKEW_S:
        return Check(name=title, ok=True, facts=facts)
    advice = f"{told}: keep the time by NTP, or traces near the edges of windows are taken late"
    return Check(name=title, ok=abs(ahead_s) <= _WRONG_S, facts=facts, problems=(advice,))
