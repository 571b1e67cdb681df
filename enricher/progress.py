"""Progress of long work: a bar on a terminal, silence elsewhere."""

import contextlib
import sys
from collections.abc import Iterator
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn


class Reporter(Protocol):
    """What long work tells about itself."""

    def stage(self, words: str, total: int | None = None) -> None:
        """Say what is being done now, and of how many."""
        ...

    def advance(self, count: int = 1) -> None:
        """Say that some of it is done."""
        ...


class Silent:
    """Tells nothing: for pipes, JSON output and tests."""

    def stage(self, words: str, total: int | None = None) -> None:
        """Stay silent."""

    def advance(self, count: int = 1) -> None:
        """Stay silent."""


class _Bar:
    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task = progress.add_task("", total=None)

    def stage(self, words: str, total: int | None = None) -> None:
        self._progress.update(self._task, description=words, total=total, completed=0)

    def advance(self, count: int = 1) -> None:
        self._progress.advance(self._task, count)


@contextlib.contextmanager
def progress_bar(*, enabled: bool = True) -> Iterator[Reporter]:
    """Show a bar on the terminal's error stream while the block runs, if there is a terminal."""
    if not enabled or not sys.stderr.isatty():
        yield Silent()
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield _Bar(progress)
