"""`enricher doctor`: is everything there that a run needs?"""

import os
from typing import Annotated

import typer

from enricher.commands.console import DONE, OPERATOR, AsJson, ConfigFile, end_with, print_json
from enricher.errors import SetupError


def doctor(
    config: ConfigFile = None,
    model: Annotated[
        bool, typer.Option("--model", help="Ask each model one short question, which costs a few tokens.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check config, secrets, platforms, store and machine, and what the rules would match; exit code 2 if one fails."""
    from enricher import logs
    from enricher.doctor import Check, as_text
    from enricher.examination import examine
    from enricher.report import show
    from enricher.settings import load

    async def work() -> int:
        try:
            settings = load(config)
        except SetupError as error:
            if not as_json:
                raise
            checks = [Check(name="config", ok=False, problems=(str(error),))]
        else:
            logs.configure(form=settings.logs, level=settings.log_level, texts=settings.log_texts)
            checks = await examine(settings, config, os.environ, with_model=model)
        if as_json:
            print_json([check.model_dump(mode="json") for check in checks])
        else:
            show(as_text(checks))
        return DONE if all(check.ok for check in checks) else OPERATOR

    end_with(work())
