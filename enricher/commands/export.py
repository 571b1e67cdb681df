"""`enricher export ...`: what people and judges said, for other programs."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from enricher.commands.console import DONE, ConfigFile, end_with
from enricher.errors import SetupError

group = typer.Typer(help="Export labels of people and other data as JSON lines.", no_args_is_help=True)

Output = Annotated[Path | None, typer.Option("-o", "--output", help="File to write; else standard output.")]


@group.command("labels")
def labels(output: Output = None, config: ConfigFile = None) -> None:
    """Export what people decided in the review queue, one label a person and item."""
    from enricher.review.queue import as_label
    from enricher.settings import load
    from enricher.store import Store

    async def work() -> int:
        async with await Store.open(load(config).store) as store:
            rows = [as_label(q, decision) for q in await store.persons_decisions() for decision in q.decisions]
        write_lines(rows, output)
        return DONE

    end_with(work())


@group.command("preferences")
def preferences(
    comparison: Annotated[
        str | None, typer.Option(help='Such as "phoenix: prod | next"; all comparisons when not given.')
    ] = None,
    include: Annotated[
        list[str] | None, typer.Option(help="Also: ties, disputed, biased, low-confidence; may be repeated.")
    ] = None,
    output: Output = None,
    config: ConfigFile = None,
) -> None:
    """Write accepted preferences as JSON lines {prompt, chosen, rejected, metadata}, ready for DPO."""
    from enricher.compare.preferences import KINDS
    from enricher.comparing import export_preferences
    from enricher.settings import load

    wanted = include or []
    if unknown := [kind for kind in wanted if kind not in KINDS]:
        raise SetupError(f"--include: '{unknown[0]}' is not known; use {', '.join(KINDS)}")

    async def work() -> int:
        exported = await export_preferences(load(config), comparison=comparison, include=wanted, output=output)
        left = ", ".join(f"{count} {reason}" for reason, count in sorted(exported.left_out.items()))
        told = f"{exported.pairs} preference{'s' * (exported.pairs != 1)}"
        print(f"{told}; left out: {left}" if left else told, file=sys.stderr)
        return DONE

    end_with(work())


def write_lines(rows: list[dict[str, object]], output: Path | None) -> None:
    """Write JSON lines to a file, or to standard output.

    Raises:
        SetupError: the file can't be written.
    """
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    if output is None:
        print(lines, end="")
        return
    try:
        output.write_text(lines, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise SetupError(f"{output} can't be written: {error.strerror}") from error
