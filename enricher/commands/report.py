"""`enricher report`: what a run found, for people who were not there."""

from pathlib import Path
from typing import Annotated

import typer

from enricher.commands.console import DONE, AsJson, ConfigFile, end_with, print_json, write_file
from enricher.errors import SetupError


def report(
    run_id: Annotated[str | None, typer.Argument(metavar="RUN", help="Id of a run; the newest when not given.")] = None,
    job: Annotated[str | None, typer.Option(help="The newest run of this job.")] = None,
    config: ConfigFile = None,
    form: Annotated[str, typer.Option("--format", help="text, json or html.")] = "text",
    output: Annotated[Path | None, typer.Option("--out", "-o", help="File to write; else standard output.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show a finished run: what was found, what changed, where it comes from. The page can be mailed as it is."""
    # What they import takes time, and other commands don't need it.
    import io
    import json

    from rich.console import Console

    from enricher.app import past_report
    from enricher.report import show
    from enricher.reporting.nouns import to_json
    from enricher.reporting.page import as_html
    from enricher.reporting.text import as_text
    from enricher.settings import load

    if form not in ("text", "json", "html"):
        raise SetupError(f"--format: '{form}' is not known; use text, json or html")
    if run_id is not None and job is not None:
        raise SetupError("give either a run or --job, whose newest run is meant")

    async def work() -> int:
        found = await past_report(load(config), run_id, job)
        wanted = "json" if as_json else form
        if output is None:
            if wanted == "json":
                print_json(to_json(found))
            elif wanted == "html":
                print(as_html(found))
            else:
                show(as_text(found))
            return DONE
        if wanted == "json":
            text = json.dumps(to_json(found), ensure_ascii=False, indent=2) + "\n"
        elif wanted == "html":
            text = as_html(found)
        else:
            sink = io.StringIO()
            show(as_text(found), Console(width=160, file=sink))
            text = sink.getvalue()
        write_file(output, text)
        return DONE

    end_with(work())
