"""Write logs for people or for machines: with the run and the trace they are about, and without anybody's texts.

A traceback says which error came from which line; its message may repeat a prompt, a reply or a document, so that it is
left out unless `log_texts` asks for it.
"""

import contextlib
import json
import logging
import sys
from collections.abc import Iterator
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from enricher.errors import EnricherError

_run: ContextVar[str] = ContextVar("enricher_run", default="")
_trace: ContextVar[str] = ContextVar("enricher_trace", default="")
_OURS = ("enricher", "connectors")
_HOUSE = Path(__file__).resolve().parent.parent
_state = {"texts": False}


def configure(
    *, form: str = "text", level: str | None = None, texts: bool = False, stream: IO[str] | None = None
) -> None:
    """Write to standard error from now on, in the form "text" or "json"; without a level, the one set before stays.

    Libraries are heard from warnings on: asked for more, they log whole requests, and so other people's texts.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else Lines())
    _state["texts"] = texts
    root = logging.getLogger()
    for old in [handler for handler in root.handlers if getattr(handler, "is_of_enricher", False)]:
        root.removeHandler(old)
    handler.is_of_enricher = True  # type: ignore[attr-defined]  # so that it is found again
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    if level is not None:
        for name in _OURS:
            logging.getLogger(name).setLevel(level.upper())


@contextlib.contextmanager
def about(*, run_id: str = "", trace_id: str = "") -> Iterator[None]:
    """Name the run or the trace in every line that is written inside the block."""
    tokens = [(variable, variable.set(value)) for variable, value in ((_run, run_id), (_trace, trace_id)) if value]
    try:
        yield
    finally:
        for variable, token in reversed(tokens):
            variable.reset(token)


def describe(error: BaseException) -> str:
    """Say what an error is and where it comes from; its message only when it is our own, or texts are asked for."""
    frames = list(_frames(error.__traceback__))
    where = f" at {frames[-1]}" if frames else ""
    said = f": {error}" if isinstance(error, EnricherError) or _state["texts"] else ""
    return f"{type(error).__name__}{where}{said}"


class Lines(logging.Formatter):
    """One line for people: level, place, run and trace, message; a traceback below it."""

    def format(self, record: logging.LogRecord) -> str:
        """Put the line together."""
        known = " ".join(filter(None, (_run.get(), _trace.get())))
        line = f"{record.levelname} {record.name}: {f'[{known}] ' if known else ''}{record.getMessage()}"
        return "\n".join([line, *_traceback(record)])


class JsonLines(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """Put the object together; what is not known of a line is not in it."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {name: value for name, value in (("run_id", _run.get()), ("trace_id", _trace.get())) if value}
        if record.exc_info and record.exc_info[1] is not None:
            line["error"] = type(record.exc_info[1]).__name__
            line["traceback"] = _traceback(record)
        return json.dumps(line)


def _traceback(record: logging.LogRecord) -> list[str]:
    error = record.exc_info[1] if record.exc_info else None
    lines: list[str] = []
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        lines += [f"  {frame}" for frame in _frames(error.__traceback__)]
        lines.append(f"{'because of ' if len(seen) > 1 else ''}{describe(error)}")
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return lines


def _frames(traceback: TracebackType | None) -> Iterator[str]:
    while traceback is not None:
        code = traceback.tb_frame.f_code
        file = Path(code.co_filename)
        shown = file.relative_to(_HOUSE) if file.is_relative_to(_HOUSE) else file.name
        yield f"{shown}:{traceback.tb_lineno} in {code.co_name}"
        traceback = traceback.tb_next
