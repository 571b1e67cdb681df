"""`enricher calibrate`: how far a judge agrees with people."""

from pathlib import Path
from typing import Annotated

import typer

from enricher.commands.console import ALERT, DONE, INCOMPLETE, AsJson, ConfigFile, end_with, print_json
from enricher.errors import SetupError


def calibrate(
    labels: Annotated[
        list[Path] | None,
        typer.Option(help="Labels as `enricher export labels` writes them, beside those known; may be repeated."),
    ] = None,
    judge: Annotated[str | None, typer.Option(help="Only this judge.")] = None,
    no_platform: Annotated[
        bool, typer.Option("--no-platform", help="Do not ask Phoenix and LangSmith for annotations of people.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the figures; no calibration is kept.")] = False,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Compare verdicts with people's labels; exit code 3 if a judge agrees too little, 1 if labels are missing."""
    from enricher.measure.report import as_text
    from enricher.measuring import CalibrateRequest
    from enricher.measuring import calibrate as work_out
    from enricher.progress import progress_bar
    from enricher.report import show
    from enricher.settings import load
    from enricher.steps.rendering import MAIN

    if judge is not None and judge not in MAIN:
        raise SetupError(f"--judge: '{judge}' is not known; use one of {', '.join(MAIN)}")
    request = CalibrateRequest(
        files=tuple(labels or ()), judge=judge, asks_platforms=not no_platform, keeps=not dry_run
    )  # fmt: skip

    async def work() -> int:
        with progress_bar(enabled=not as_json) as progress:
            report = await work_out(load(config), request, progress)
        if as_json:
            print_json(report.model_dump(mode="json"))
        else:
            show(as_text(report))
        if report.too_low:
            return ALERT
        return DONE if report.is_enough else INCOMPLETE

    end_with(work())
