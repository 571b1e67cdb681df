"""`enricher forget` and `enricher purge`: delete what was recorded about a trace, or raw replies that are too old."""

import sys
from typing import Annotated

import typer

from enricher.commands.console import DONE, INCOMPLETE, AsJson, ConfigFile, end_with, print_json
from enricher.errors import SetupError


def forget(
    trace: Annotated[str, typer.Argument(help="The whole trace id.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Delete everything recorded about one trace, and never look at it again."""
    from enricher.settings import load
    from enricher.store import Store

    settings = load(config)

    async def work() -> int:
        async with await Store.open(settings.store) as store:
            written = [entry.annotation for entry in (await store.explain(trace)).outbox if entry.sent_at is not None]
            if not yes and not _is_sure(trace):
                return INCOMPLETE
            rows = await store.forget(trace)
        kept = sorted({f"{annotation.name} on span {annotation.span_id}" for annotation in written})
        if as_json:
            print_json({"trace_id": trace, "deleted_rows": rows, "left_on_platform": kept})
            return DONE
        print(f"forgotten: {rows} rows about {trace} are deleted; it will not be judged again")
        if kept:
            print("what was written to the platform stays there, and is for its owner to delete:")
            print("\n".join(f"  {place}" for place in kept))
        return DONE

    end_with(work())


def purge(
    older_than: Annotated[
        str | None, typer.Option(help="Such as 30d; without it privacy.keep_raw_replies of the config.")
    ] = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Delete old raw replies of models; verdicts stay."""
    from enricher.privacy import purge as purge_old
    from enricher.settings import Privacy, load
    from enricher.store import Store

    settings = load(config)
    if older_than is not None:
        try:
            kept = Privacy.model_validate({"keep_raw_replies": older_than}).keep_raw_replies
        except ValueError:
            raise SetupError(f"--older-than: '{older_than}' is no duration; write for example 12h or 30d") from None
        settings = settings.model_copy(
            update={"privacy": settings.privacy.model_copy(update={"keep_raw_replies": kept})}
        )  # fmt: skip
    if settings.privacy.keep_raw_replies is None:
        raise SetupError("say how old: --older-than 30d, or privacy.keep_raw_replies in the config")

    async def work() -> int:
        async with await Store.open(settings.store) as store:
            count = await purge_old(settings, store)
        if as_json:
            print_json({"deleted": count})
        else:
            print(f"{count} raw replies are deleted")
        return DONE

    end_with(work())


def _is_sure(trace: str) -> bool:
    if not sys.stdin.isatty():
        raise SetupError("nothing is deleted without being asked for: add --yes")
    return typer.confirm(f"Delete everything recorded about {trace}? This can't be undone")
