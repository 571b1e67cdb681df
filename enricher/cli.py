"""The commands: parse, call, print. Nothing is decided here.

Modules that cost time to import are imported by the command that needs them, so that `enricher --help` answers at once;
this is the one place where the house allows that.
"""

import io
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from enricher import logs
from enricher.commands.calibrate import calibrate
from enricher.commands.compare import compare
from enricher.commands.config import init, schema
from enricher.commands.console import (
    ABORTED,
    ALERT,
    DONE,
    INCOMPLETE,
    OPERATOR,
    AsJson,
    ConfigFile,
    complain,
    end_with,
    print_json,
)
from enricher.commands.doctor import doctor
from enricher.commands.drift import drift
from enricher.commands.export import group as export_group
from enricher.commands.privacy import forget, purge
from enricher.commands.prompts import group as prompts_group
from enricher.commands.regress import regress
from enricher.commands.report import report
from enricher.commands.review import group as review_group
from enricher.commands.schedule import schedule
from enricher.commands.serve import serve
from enricher.commands.window import instant, window_start
from enricher.errors import EnricherError, SetupError
from enricher.interpreter import tune

if TYPE_CHECKING:
    from enricher.report import RunReport

cli = typer.Typer(
    name="enricher",
    help="Compare RAG answers with the context that was retrieved, and write the diff back onto the trace.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
cli.add_typer(prompts_group, name="prompts")
cli.add_typer(review_group, name="review")
cli.add_typer(export_group, name="export")


def main() -> None:
    """Run the command line; what the operator must mend is one sentence and exit code 2."""
    try:
        tune()
        logs.configure(level="warning")
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                # What the terminal's encoding can't write must not end the command; in JSON it becomes a valid escape.
                stream.reconfigure(errors="backslashreplace")
        cli(prog_name="enricher")
    except SetupError as error:
        sys.exit(complain(error, OPERATOR))
    except EnricherError as error:
        sys.exit(complain(error, INCOMPLETE))
    except KeyboardInterrupt:  # before a command has begun; nothing is under way yet
        sys.exit(ABORTED)


@cli.callback()
def options(
    log_format: Annotated[
        str | None, typer.Option("--log-format", help="text or json; as configured when not given.")
    ] = None,
) -> None:
    """Options of all commands stand before the command."""
    if log_format is not None:
        os.environ["ENRICHER_LOGS"] = log_format  # where the config is read, the environment wins


@cli.command()
def demo(
    platform: Annotated[str, typer.Option(help="phoenix, or langsmith (a stand-in; in a checkout only).")] = "phoenix",
    once: Annotated[bool, typer.Option("--once", help="End when done instead of staying up.")] = False,
    as_json: AsJson = False,
) -> None:
    """Start a platform, send it sample RAG traces with user reports, enrich them, and show the diffs."""
    from enricher.demo.show import run_demo

    end_with(run_demo(platform=platform, once=once, as_json=as_json))


@cli.command()
def run(
    jobs: Annotated[list[str] | None, typer.Argument(help="Jobs of the config; all when none is named.")] = None,
    config: ConfigFile = None,
    since: Annotated[
        str | None, typer.Option(help="Look back this far (24h, 7d) instead of from the watermark.")
    ] = None,
    start: Annotated[
        str | None, typer.Option("--from", help="Start of the window, ISO time; UTC without offset.")
    ] = None,
    end: Annotated[str | None, typer.Option("--to", help="End of the window, ISO time; UTC without offset.")] = None,
    trace: Annotated[list[str] | None, typer.Option(help="Only this trace id or URL; may be repeated.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Judge at most so many traces; the rest stays due.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be judged; write and store nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run jobs once, now; first finishes what an earlier run left."""
    from enricher.app import run_jobs
    from enricher.choosing import Request
    from enricher.progress import progress_bar
    from enricher.report import as_text, diff_view, show, to_json
    from enricher.settings import load

    request = Request(
        start=window_start(since, start), end=instant("--to", end), trace_ids=tuple(trace or ()), limit=limit,
        dry_run=dry_run,
    )  # fmt: skip

    async def work() -> int:
        with progress_bar(enabled=not as_json) as progress:
            results = await run_jobs(load(config), jobs or [], request, progress)
        if as_json:
            reports = [to_json(result.report) for result in results]
            print_json(reports[0] if len(reports) == 1 else reports)
        else:
            for result in results:
                show(as_text(result.report))
                for shown in result.shown:
                    show(diff_view(shown.verdict, shown.item.question, shown.item.answer))
        return _exit_code([result.report for result in results])

    end_with(work())


def _exit_code(reports: "list[RunReport]") -> int:
    if any(alert.is_new for report in reports for alert in report.alerts):
        return ALERT
    return DONE if all(report.is_clean for report in reports) else INCOMPLETE


@cli.command()
def judge(
    source: Annotated[
        Path, typer.Argument(metavar="IN.jsonl", help="Records {id, question, documents, answer}; - for stdin.")
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write here instead of to the terminal.")
    ] = None,
    judge_name: Annotated[str, typer.Option("--judge", help="Which judge.")] = "diff",
    engine: Annotated[str | None, typer.Option(help="local, openai or hub; as configured when not given.")] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes; the engine local judges on so many cores.")] = 1,
    config: ConfigFile = None,
) -> None:
    """Judge plain records, without any platform: one JSON line in, one out, in the same order."""
    from enricher.comparing import judge_pairs
    from enricher.judging import judge_file
    from enricher.progress import progress_bar
    from enricher.settings import load

    async def work() -> int:
        with progress_bar(enabled=output is not None) as progress:
            if judge_name == "pairwise":
                if workers > 1:
                    raise SetupError("--workers: pairs are judged by one process; leave it out")
                failed = await judge_pairs(load(config), source, output, engine, progress)
            else:
                failed = await judge_file(load(config), source, output, judge_name, engine, progress, workers=workers)
        return INCOMPLETE if failed else DONE

    end_with(work())


@cli.command()
def extract(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Exported traces.")],
    config: ConfigFile = None,
) -> None:
    """Show what would be judged: one JSON line an item, from exported traces of any supported format."""
    from enricher.extracting import extract_files
    from enricher.settings import load

    are_all_read = True
    for row in extract_files(load(config), files):
        are_all_read &= row["reject_reason"] != "unreadable"
        print(json.dumps(row, ensure_ascii=False))
    raise typer.Exit(DONE if are_all_read else INCOMPLETE)


@cli.command()
def explain(
    trace: Annotated[str, typer.Argument(help="A trace id, or the beginning of one.")],
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Show everything recorded about one trace: why chosen, what was read, each verdict, what was written."""
    from enricher.app import tell
    from enricher.report import show
    from enricher.settings import load
    from enricher.story import as_json as story_json
    from enricher.story import as_text as story_text

    async def work() -> int:
        story = await tell(load(config), trace)
        if as_json:
            print_json(story_json(story))
        else:
            show(story_text(story))
        return DONE

    end_with(work())


cli.command()(doctor)
cli.command()(report)
cli.command()(schedule)
cli.command()(compare)
cli.command()(calibrate)
cli.command()(regress)
cli.command()(drift)
cli.command()(init)
cli.command()(schema)
cli.command()(forget)
cli.command()(purge)
cli.command()(serve)


if __name__ == "__main__":
    main()
