"""What was looked at, and how it is shown."""

from collections.abc import Sequence

from pydantic import Field
from rich.console import Group, RenderableType
from rich.text import Text

from enricher.verdict import Noun


class Check(Noun):
    """One thing that was looked at."""

    name: str
    ok: bool
    facts: dict[str, str] = Field(default_factory=dict)
    problems: tuple[str, ...] = ()  # each says what to do; with ok they are hints


def as_text(checks: Sequence[Check]) -> RenderableType:
    """Render the checks for a terminal."""
    lines = []
    for check in checks:
        lines.append(Text(f"{'ok  ' if check.ok else 'FAIL'} {check.name}", style="green" if check.ok else "bold red"))
        lines += [Text(f"       {name}: {fact}", style="dim") for name, fact in check.facts.items()]
        lines += [Text(f"     ! {problem}", style="yellow" if check.ok else "red") for problem in check.problems]
    return Group(*lines)
