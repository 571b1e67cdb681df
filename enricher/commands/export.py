"""`enricher export ...`: what people and judges said, for other programs."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from enricher.commands.console import DONE, AsJson, ConfigFile, end_with, print_json
from enricher.errors import SetupError
from enricher.printing import number_of

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


@group.command("dataset")
def dataset(
    to: Annotated[str, typer.Option(help="phoenix, langsmith or jsonl.")],
    name: Annotated[
        str, typer.Option(help="Name of the dataset; it is made if it is not there.")
    ] = "enricher-findings",
    run: Annotated[str | None, typer.Option(help="Only of this run.")] = None,
    job: Annotated[str | None, typer.Option(help="Only of this job.")] = None,
    project: Annotated[str | None, typer.Option(help="Only of this project.")] = None,
    judge: Annotated[str | None, typer.Option(help="Only what this judge found.")] = None,
    issue: Annotated[list[str] | None, typer.Option(help="Only this kind of finding; may be repeated.")] = None,
    decision: Annotated[
        str | None, typer.Option(help="Only what people decided so: confirm, reject or correct.")
    ] = None,
    label: Annotated[str | None, typer.Option(help="Only this label, of people where they decided.")] = None,
    id_: Annotated[
        list[str] | None, typer.Option("--id", help="Only this trace or evaluation, from its beginning; repeatable.")
    ] = None,
    labelled: Annotated[bool, typer.Option("--labelled", help="Only what people decided about.")] = False,
    sound: Annotated[bool, typer.Option("--sound", help="Also answers on which nothing was found.")] = False,
    connection: Annotated[str | None, typer.Option(help="Where to, if the config has several of the kind.")] = None,
    output: Output = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Make an evaluation dataset of findings with people's labels, linked to their traces; a repeat doubles nothing."""
    from enricher.datasets import Chosen, export_dataset
    from enricher.settings import load
    from enricher.store.facts import ISSUES

    if to not in ("phoenix", "langsmith", "jsonl"):
        raise SetupError(f"--to: '{to}' is not known; use phoenix, langsmith or jsonl")
    if unknown := [one for one in issue or () if one not in ISSUES]:
        raise SetupError(f"--issue: '{unknown[0]}' is not known; use {', '.join(ISSUES)}")
    if decision not in (None, "confirm", "reject", "correct"):
        raise SetupError(f"--decision: '{decision}' is not known; use confirm, reject or correct")
    if output is not None and to != "jsonl":
        raise SetupError("--output is for --to jsonl; a platform gets a dataset")
    chosen = Chosen(
        run_id=run,
        job=job,
        project=project,
        judge=judge,
        issues=tuple(issue or ()),
        decision=decision,
        label=label,
        ids=tuple(id_ or ()),
        labelled=labelled,
        sound=sound,
    )

    async def work() -> int:
        found = await export_dataset(load(config), chosen, to=to, name=name, connection=connection)
        if to == "jsonl":
            write_lines(list(found.lines), output)
        told = f"{number_of(found.examples, 'example')}, {found.labelled} of them with a label of people"
        kept = (
            f": {found.added} added, {found.changed} changed, {found.unchanged} as they were" if to != "jsonl" else ""
        )
        if as_json and to != "jsonl":
            print_json({key: value for key, value in asdict(found).items() if key != "lines"})
        else:
            print(
                told if to == "jsonl" else f"{name} on {to}: {told}{kept}",
                file=sys.stderr if to == "jsonl" else sys.stdout,
            )
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
