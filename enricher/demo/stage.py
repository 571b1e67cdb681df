"""What the demo needs of a platform: start it, fill it with traces and reports, and say where to look."""

from typing import Protocol

from rich.console import Console

from enricher.progress import Reporter
from enricher.settings import Connection, ReportRule

PROJECT = "rag-demo"


class Stage(Protocol):
    """A platform of our own, for as long as the demo runs."""

    connection: Connection  # known once it is started
    report: ReportRule  # how its users report an answer

    async def start(self, progress: Reporter, console: Console) -> None:
        """Start the platform and wait until it answers."""
        ...

    async def fill(self, progress: Reporter) -> None:
        """Send traces and user reports, and wait until they show."""
        ...

    def say_where(self, console: Console) -> None:
        """Say where people see the result."""
        ...

    async def stop(self) -> None:
        """End the platform and remove what it kept."""
        ...
