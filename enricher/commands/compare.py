"""`enricher compare`: champion against challenger, with a gate for CI."""

from pathlib import Path
from typing import Annotated

import typer

from enricher.commands.console import ALERT, DONE, INCOMPLETE, AsJson, ConfigFile, end_with, print_json, write_file
from enricher.commands.window import instant, window_start


def compare(
    pairs: Annotated[
        Path | None,
        typer.Argument(metavar="[PAIRS.jsonl]", help="Records {id, question, documents, answer_a, answer_b}."),
    ] = None,
    champion: Annotated[str | None, typer.Option(help="Project or experiment that is in use.")] = None,
    challenger: Annotated[str | None, typer.Option(help="Project or experiment that may take its place.")] = None,
    connection: Annotated[str | None, typer.Option(help="Connection of the config; the first when not given.")] = None,
    experiments: Annotated[bool, typer.Option("--experiments", help="The names are experiments.")] = False,
    match: Annotated[
        str | None, typer.Option(help="question, or metadata:KEY; by example when not given, where there are some.")
    ] = None,
    since: Annotated[str | None, typer.Option(help="Look back this far (24h, 7d); all traces when not given.")] = None,
    start: Annotated[str | None, typer.Option("--from", help="Start of the window, ISO time.")] = None,
    end: Annotated[str | None, typer.Option("--to", help="End of the window, ISO time.")] = None,
    engine: Annotated[str | None, typer.Option(help="local or openai; as configured when not given.")] = None,
    both_orders: Annotated[
        bool, typer.Option("--both-orders", help="Judge every pair in both orders; else the configured share.")
    ] = False,
    gate: Annotated[str | None, typer.Option(help='Such as "challenger_losses <= 0.10 and new_critical == 0".')] = None,
    no_write: Annotated[bool, typer.Option("--no-write", help="Write nothing back to the platform.")] = False,
    html: Annotated[Path | None, typer.Option("--html", help="Write the report as a page.")] = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Compare two answers to each question from the same context: wins, ties, losses; exit code 3 if a gate breaks."""
    from enricher.compare.report import as_html, as_text, to_json
    from enricher.comparing import CompareRequest
    from enricher.comparing import compare as work_out
    from enricher.progress import progress_bar
    from enricher.report import show
    from enricher.settings import load

    request = CompareRequest(
        file=pairs,
        connection=connection,
        champion=champion,
        challenger=challenger,
        experiments=experiments,
        match=match,
        start=window_start(since, start),
        end=instant("--to", end),
        engine=engine,
        both_orders=both_orders,
        write=not no_write,
        gate=gate,
    )

    async def work() -> int:
        with progress_bar(enabled=not as_json) as progress:
            found = await work_out(load(config), request, progress)
        if html is not None:
            write_file(html, as_html(found))
        if as_json:
            print_json(to_json(found))
        else:
            show(as_text(found))
        if found.gate_passed is False:
            return ALERT
        is_whole = not (found.failed or found.left or found.write_problems) and found.pairs > 0
        return DONE if is_whole else INCOMPLETE

    end_with(work())
