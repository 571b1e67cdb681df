"""`enricher drift`: what judges say now against what they said before."""

from typing import Annotated

import typer

from enricher.commands.console import ALERT, DONE, AsJson, ConfigFile, end_with, print_json


def drift(
    jobs: Annotated[list[str] | None, typer.Argument(help="Jobs of the config; all when none is named.")] = None,
    window: Annotated[
        int | None, typer.Option(min=1, help="Newest runs taken together; alerts.window when not given.")
    ] = None,
    runs: Annotated[
        int | None, typer.Option(min=1, help="Runs before them to compare with; alerts.drift_runs when not given.")
    ] = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Compare scores, labels, refusals, failures and disagreements with the runs before; exit code 3 if any moved."""
    from enricher.measure.drift_view import as_text
    from enricher.measuring import drift as work_out
    from enricher.report import show
    from enricher.settings import load

    async def work() -> int:
        report = await work_out(load(config), jobs or [], window=window, runs=runs)
        if as_json:
            print_json({"moved": report.has_moved, **report.model_dump(mode="json")})
        else:
            show(as_text(report))
        return ALERT if report.has_moved else DONE

    end_with(work())
