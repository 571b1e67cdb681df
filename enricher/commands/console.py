"""What every command shares: its usual options, its exit codes, and how it ends."""

import asyncio
import json
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Annotated, Any

import typer

from enricher.errors import EnricherError

DONE, INCOMPLETE, OPERATOR, ALERT = 0, 1, 2, 3

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


def print_json(value: Any) -> None:
    """Print a value for machines."""
    print(json.dumps(value, ensure_ascii=False, indent=None if isinstance(value, str) else 2))
