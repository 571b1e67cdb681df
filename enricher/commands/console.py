"""What every command shares: its usual options, its exit codes, and how it ends."""

import asyncio
import json
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Annotated, Any

import typer

from enricher.errors import EnricherError, SetupError

DONE, INCOMPLETE, OPERATOR, ALERT = 0, 1, 2, 3
ABORTED = 130  # as of every program that Ctrl-C ended, and as typer says once a command has begun

ConfigFile = Annotated[Path | None, typer.Option("--config", "-c", help="YAML file; see config/default.yaml.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


def complain(error: EnricherError | str, code: int) -> int:
    """Say on standard error what is wrong; return the exit code."""
    print(f"enricher: {error}", file=sys.stderr)
    return code


def end_with(work: Coroutine[Any, Any, int]) -> None:
    """Do the work of a command and exit with the code that it returns."""
    try:
        code = asyncio.run(work)
    except asyncio.CancelledError:
        code = complain("stopped before the end", INCOMPLETE)
    raise typer.Exit(code)


def write_file(path: Path, text: str) -> None:
    """Write what a command made; what UTF-8 can't hold becomes its escape."""
    try:
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise SetupError(f"{path} can't be written: {error.strerror}") from error


def print_json(value: Any) -> None:
    """Print a value for machines."""
    print(json.dumps(value, ensure_ascii=False, indent=None if isinstance(value, str) else 2))
