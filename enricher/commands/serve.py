"""`enricher serve`: review in the browser, and the intake of webhooks."""

from typing import Annotated

import typer

from enricher.commands.console import DONE, ConfigFile, end_with
from enricher.errors import SetupError


def serve(
    config: ConfigFile = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on; as configured when not given.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; 0 takes a free one.")] = None,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Nobody may decide, whatever token they have.")
    ] = False,
) -> None:
    """Serve the review pages and take webhooks that name traces for the next run; stays up until Ctrl-C."""
    from enricher.app import App
    from enricher.settings import load

    try:
        from enricher.serve.serving import serve as listen
        from enricher.serve.site import ConfigAsRead, Site
    except ModuleNotFoundError as error:
        if str(error.name).startswith("enricher"):
            raise
        raise SetupError(f"{error.name} is missing; run: pip install 'trace-enricher[serve]'") from error

    read = ConfigAsRead.of(config) if config is not None else None
    settings = load(config)
    if read_only:
        section = settings.serve.model_copy(update={"read_only": True})
        settings = settings.model_copy(update={"serve": section})

    async def work() -> int:
        async with await App.open(settings) as app:
            site = Site.of(app.store, settings, app.deliver_now, read)
            await listen(site, host=host, port=port, ready=_say)
        return DONE

    end_with(work())


def _say(url: str) -> None:
    print(f"listening on {url}; Ctrl-C ends it", flush=True)
