"""Check what a run would need, before it runs: reachability, credentials, and what the rules would match."""

from collections.abc import Sequence

from pydantic import Field
from rich.console import Group, RenderableType
from rich.text import Text

from enricher.errors import EnricherError
from enricher.run import Plan, Run
from enricher.seams import Connector
from enricher.trust import Standing
from enricher.verdict import Noun


class Check(Noun):
    """One thing that was looked at."""

    name: str
    ok: bool
    facts: dict[str, str] = Field(default_factory=dict)
    problems: tuple[str, ...] = ()  # each says what to do; with ok they are hints


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
    facts = {f"rule {c.rule}": f"takes {c.taken} of {c.found} matching traces" for c in counts}
    silent = tuple(f"rule {c.rule} matches nothing in its window" for c in counts if not c.found)
    return Check(name=name, ok=True, facts=facts, problems=silent)


def check_trust(job: str, standings: Sequence[Standing]) -> Check:
    """Say how far the judges of a job agreed with people, and whether findings of theirs are confirmed."""
    facts = {f"{one.judge} compared with people": one.calibrated for one in standings}
    held = tuple(one.held for one in standings if one.held is not None)
    return Check(name=f"trust in the judges of job {job}", ok=True, facts=facts, problems=held)


def as_text(checks: Sequence[Check]) -> RenderableType:
    """Render the checks for a terminal."""
    lines = []
    for check in checks:
        lines.append(Text(f"{'ok  ' if check.ok else 'FAIL'} {check.name}", style="green" if check.ok else "bold red"))
        lines += [Text(f"       {name}: {fact}", style="dim") for name, fact in check.facts.items()]
        lines += [Text(f"     ! {problem}", style="yellow" if check.ok else "red") for problem in check.problems]
    return Group(*lines)
