"""`enricher regress`: a prompt or model against the golden set, with a gate for CI."""

from pathlib import Path
from typing import Annotated

import typer

from enricher.commands.console import ALERT, DONE, INCOMPLETE, AsJson, ConfigFile, end_with, print_json
from enricher.errors import SetupError


def regress(
    golden: Annotated[
        Path | None, typer.Option(help="Golden set, records with labels; as configured when not given.")
    ] = None,
    prompt: Annotated[str | None, typer.Option(help="Candidate, such as diff@v3.")] = None,
    model: Annotated[str | None, typer.Option(help="Candidate, such as gpt-4o-2024-08-06.")] = None,
    judge: Annotated[str | None, typer.Option(help="Only this judge; all of the golden set when not given.")] = None,
    engine: Annotated[str | None, typer.Option(help="As `engine` of the config, which counts when not given.")] = None,
    job: Annotated[str | None, typer.Option(help="Use the constraints, examples and risk level of this job.")] = None,
    accept: Annotated[
        bool, typer.Option("--accept", help="Make the candidate the baseline, if the gate holds.")
    ] = False,
    min_agreement: Annotated[float | None, typer.Option(min=0, max=1, help="With people, 0 to 1.")] = None,
    max_regressions: Annotated[int | None, typer.Option(min=0, help="Wrong now, right in the baseline.")] = None,
    max_failed: Annotated[int | None, typer.Option(min=0, help="Items without a verdict.")] = None,
    tolerance: Annotated[
        str | None, typer.Option(help="none, or interval: only what chance does not explain breaks the gate.")
    ] = None,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write a summary for a pull request.")] = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Judge the golden set with a candidate; exit code 3 below the gate, 1 if the model did not answer."""
    from enricher.measure.outcome import as_junit, as_markdown, as_text, to_json, write
    from enricher.measuring import RegressRequest
    from enricher.measuring import regress as work_out
    from enricher.progress import progress_bar
    from enricher.report import show
    from enricher.settings import load

    if tolerance not in (None, "none", "interval"):
        raise SetupError(f"--tolerance: '{tolerance}' is not known; use none or interval")
    request = RegressRequest(
        golden=golden,
        prompt=prompt,
        model=model,
        judge=judge,
        engine=engine,
        job=job,
        accept=accept,
        min_agreement=min_agreement,
        max_regressions=max_regressions,
        max_failed=max_failed,
        tolerance=tolerance,  # type: ignore[arg-type]  # checked above
    )

    async def work() -> int:
        with progress_bar(enabled=not as_json) as progress:
            found = await work_out(load(config), request, progress)
        if junit is not None:
            write(junit, as_junit(found))
        if markdown is not None:
            write(markdown, as_markdown(found))
        if as_json:
            print_json(to_json(found))
        else:
            show(as_text(found))
        if not found.is_measured:
            return INCOMPLETE
        return DONE if found.passed else ALERT

    end_with(work())
