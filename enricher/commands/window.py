"""The options of commands that name a window of time."""

from datetime import UTC, datetime, timedelta

from enricher.errors import SetupError


def window_start(since: str | None, start: str | None) -> datetime | None:
    """Return where a window starts: so long ago, or at a time.

    Raises:
        SetupError: both are given, or one can't be read.
    """
    from enricher.settings import duration

    if since is None:
        return instant("--from", start)
    if start is not None:
        raise SetupError("give either --since or --from, not both")
    try:
        back = duration(since)
    except ValueError as error:
        raise SetupError(f"--since: {error}") from error
    assert isinstance(back, timedelta)  # a text gives that or raises
    return datetime.now(UTC) - back


def instant(option: str, text: str | None) -> datetime | None:
    """Read an ISO time that was given to an option.

    Raises:
        SetupError: it is none.
    """
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise SetupError(f"{option}: '{text}' is no ISO time; write for example 2026-01-31T02:00") from error
    # Without an offset it is UTC, whatever the time zone of the host.
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
