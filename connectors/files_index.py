"""Remember where each span of exported files lies, so that any trace can be read again while memory stays flat."""

import glob
import json
import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from connectors.files_reading import Broken, Entry, FileReader, Spool
from connectors.files_records import annotations_in, is_only_report, is_record, record_spans, subjects_of
from connectors.formats import span_of
from connectors.phoenix_query import report_from
from enricher.errors import BadReply, SetupError, TryAgain
from enricher.trace import Span

# `file` is the number of a file, or 0 for the spool.
_SCHEMA = """
    CREATE TABLE traces (id INTEGER PRIMARY KEY, trace_id TEXT NOT NULL UNIQUE, started INTEGER NOT NULL);
    CREATE INDEX traces_in_order ON traces (started, trace_id);
    CREATE TABLE spans (trace INTEGER NOT NULL, span_id TEXT NOT NULL, file INTEGER, at INTEGER, size INTEGER);
    CREATE INDEX spans_of_trace ON spans (trace);
    CREATE INDEX spans_by_id ON spans (span_id);
    CREATE TABLE reports (subject TEXT NOT NULL, file INTEGER, at INTEGER, size INTEGER);
    CREATE INDEX reports_on ON reports (subject);
    CREATE TABLE problems (file INTEGER, line INTEGER, reason TEXT NOT NULL, trace TEXT);
    CREATE INDEX problems_of_trace ON problems (trace);
"""
_REPORTED = """
    SELECT t.trace_id FROM reports r JOIN traces t ON t.trace_id = r.subject UNION
    SELECT t.trace_id FROM reports r JOIN spans s ON s.span_id = r.subject JOIN traces t ON t.id = s.trace
"""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UNTIMED = 2**62  # orders traces without a time after all others
# A line that can't be read still says which traces it belongs to, unless it broke off before.
_TRACE_ID = re.compile(rb'trace_?[iI]d"\s*:\s*"([^"\\]{1,200})"')
_RECORD_ID = re.compile(rb'\s*\{\s*"id"\s*:\s*"([^"\\]{1,200})"')


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """A trace as the index knows it."""

    trace_id: str
    started: datetime | None


class FilesIndex:
    """An index over files, in a temporary database; blocking, and for one thread at a time.

    Args:
        patterns: paths, or patterns as a shell knows them (`**` for any depth).
        excluded: files that are never read as input, whatever the patterns say.
    """

    def __init__(self, patterns: Sequence[str], *, excluded: Sequence[Path]) -> None:
        self._patterns = patterns
        self._excluded = {path.resolve() for path in excluded}
        self._open()

    def _open(self) -> None:
        self._files: list[FileReader] = []  # the one of number n stands at n - 1
        self._spool = Spool()
        # An unnamed database lives in a temporary file, of which only the cache is in memory.
        self._db = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._db.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -16000;")
        self._db.executescript(_SCHEMA)

    def close(self) -> None:
        """Release the temporary files."""
        self._db.close()
        self._spool.close()

    # what is there

    def page(
        self, after: Found | None, *, start: datetime | None, end: datetime | None, reported: bool, limit: int
    ) -> list[Found]:
        """Return the next traces in order of age that start in the window; those without a time are in every one."""
        last = (-_UNTIMED, "") if after is None else (_microseconds(after.started), after.trace_id)
        window = (-_UNTIMED if start is None else _microseconds(start), _UNTIMED if end is None else _microseconds(end))
        only = f"AND trace_id IN ({_REPORTED})" if reported else ""
        query = f"""SELECT trace_id, started FROM traces WHERE (started, trace_id) > (?, ?)
            AND (started = {_UNTIMED} OR (started >= ? AND started < ?)) {only} ORDER BY started, trace_id LIMIT ?"""
        return [_found(*row) for row in self._db.execute(query, (*last, *window, limit))]

    def trace(self, name: str) -> Found | None:
        """Return the trace of this id, or the one that holds a span of this id."""
        for query in (
            "SELECT trace_id, started FROM traces WHERE trace_id = ?",
            "SELECT trace_id, started FROM spans s JOIN traces t ON t.id = s.trace WHERE s.span_id = ? LIMIT 1",
        ):
            if row := self._db.execute(query, (name,)).fetchone():
                return _found(*row)
        return None

    def spans(self, trace_id: str) -> list[Span]:
        """Read the spans of a trace; of one that was exported twice, the later counts."""
        query = """SELECT file, at, size FROM spans s JOIN traces t ON t.id = s.trace
            WHERE t.trace_id = ? ORDER BY s.rowid"""
        places = dict.fromkeys(self._db.execute(query, (trace_id,)).fetchall())
        spans = [span for place in places for span in _spans_in(self._entry(*place))]
        if any(span.trace_id != trace_id for span in spans):
            raise TryAgain(f"a file was changed while trace {trace_id} was read from it")
        return list({span.span_id: span for span in spans}.values())

    def annotations(self, trace_id: str) -> list[Any]:
        """Read what was said of a trace and its spans, in the shape of Phoenix's annotations."""
        query = """SELECT file, at, size FROM reports WHERE subject = :trace UNION
            SELECT r.file, r.at, r.size FROM traces t JOIN spans s ON s.trace = t.id JOIN reports r
            ON r.subject = s.span_id WHERE t.trace_id = :trace ORDER BY 1, 2"""
        places = self._db.execute(query, {"trace": trace_id}).fetchall()
        return [annotation for place in places for annotation in annotations_in(self._entry(*place))]

    def has_span(self, trace_id: str, span_id: str) -> bool:
        """Tell whether a trace has such a span."""
        query = "SELECT 1 FROM spans s JOIN traces t ON t.id = s.trace WHERE t.trace_id = ? AND s.span_id = ?"
        return self._db.execute(query, (trace_id, span_id)).fetchone() is not None

    def damage(self, trace_id: str) -> str | None:
        """Return which line of a trace can't be read, None when all of them can."""
        query = "SELECT file, line, reason FROM problems WHERE trace = ?"
        row = self._db.execute(query, (trace_id,)).fetchone()
        return self._sentence(*row) if row else None

    def problems(self, limit: int = 20) -> tuple[int, list[str]]:
        """Count what can't be read, and name the first."""
        (count,) = self._db.execute("SELECT count(DISTINCT file || ':' || line) FROM problems").fetchone()
        query = "SELECT file, line, min(reason) FROM problems GROUP BY file, line ORDER BY file, line LIMIT ?"
        return int(count), [self._sentence(*row) for row in self._db.execute(query, (limit,))]

    def counts(self) -> dict[str, int]:
        """Count files, traces and spans."""
        rows = {name: self._db.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in ("traces", "spans")}
        return {"files": len(self._files), **rows}

    def _sentence(self, file: int, line: int, reason: str) -> str:
        return f"{self._files[file - 1].path}, line {line}: {reason}"

    def _entry(self, file: int, at: int, size: int) -> Any:
        return self._files[file - 1].entry((at, size)) if file else self._spool.read((at, size))

    # keeping up with the files

    def refresh(self) -> int:
        """Read what is new in the files, or all again where one has changed; return how many problems are new.

        Raises:
            SetupError: a file that was named is missing or must not be read.
        """
        paths = self._paths()
        try:
            if any(file.path not in paths or not file.goes_on() for file in self._files):
                self._start_over()
            before = self.problems(0)[0]
            known = {file.path for file in self._files}
            self._files += [FileReader(path, self._spool) for path in paths if path not in known]
            for number, file in enumerate(self._files, 1):
                if file.has_more():
                    self._follow(number, file)
        except BaseException as error:
            self._start_over()  # half of a file is no index of it
            if isinstance(error, OSError):
                raise SetupError(f"{error.filename} can't be read: {error.strerror or error}") from error
            raise
        return self.problems(0)[0] - before

    def _start_over(self) -> None:
        self.close()
        self._open()

    def _paths(self) -> list[Path]:
        found: dict[Path, Path] = {}
        for pattern in self._patterns:
            literal = Path(pattern).expanduser()
            is_pattern = glob.has_magic(pattern) and not literal.exists()
            if not is_pattern and not literal.exists():
                raise SetupError(f"there is no file {pattern}; name files, or a pattern such as exports/*.jsonl")
            for path in map(Path, sorted(glob.glob(str(literal), recursive=True)) if is_pattern else [literal]):
                if path.resolve() not in self._excluded and (path.is_file() or not is_pattern):
                    found.setdefault(path.resolve(), path)
        return list(found.values())

    def _follow(self, number: int, file: FileReader) -> None:
        self._db.execute("BEGIN")
        # A last line that broke off may be whole by now.
        self._db.execute("DELETE FROM problems WHERE file = ? AND line > ?", (number, file.lines))
        for got in file.read():
            if isinstance(got, Broken):
                self._note(number, got)
            else:
                self._add(number, got)
        self._db.execute("COMMIT")

    def _add(self, number: int, entry: Entry) -> None:
        place = (0 if entry.is_spooled else number, *entry.place)
        try:
            spans = _spans_in(entry.value)
            subjects = subjects_of(entry.value)
            for annotation in annotations_in(entry.value) if subjects else ():
                report_from(annotation, {})
        except (BadReply, KeyError, ValueError, TypeError, AttributeError) as error:
            reason = str(error) if isinstance(error, BadReply) else f"{type(error).__name__}: {error}"
            self._note(number, Broken(line=entry.line, reason=reason, raw=json.dumps(entry.value).encode()))
            return
        self._db.executemany("INSERT INTO reports VALUES (?, ?, ?, ?)", [(subject, *place) for subject in subjects])
        if is_record(entry.value) and self.has_span(spans[0].trace_id, spans[0].span_id):
            reason = f"the id '{spans[0].trace_id}' is there already; the later record counts"
            self._note(number, Broken(line=entry.line, reason=reason, raw=b""))
        for span in spans:
            trace = self._add_trace(span.trace_id, span.start_time)
            self._db.execute("INSERT INTO spans VALUES (?, ?, ?, ?, ?)", (trace, span.span_id, *place))

    def _add_trace(self, trace_id: str, started: datetime | None) -> int:
        query = """INSERT INTO traces (trace_id, started) VALUES (?, ?)
            ON CONFLICT (trace_id) DO UPDATE SET started = min(started, excluded.started) RETURNING id"""
        return int(self._db.execute(query, (trace_id, _microseconds(started))).fetchone()[0])

    def _note(self, number: int, broken: Broken) -> None:
        """Keep a problem, and the traces that it damages; a trace of which nothing else is left is still found."""
        ids = dict.fromkeys(_TRACE_ID.findall(broken.raw)) or _RECORD_ID.findall(broken.raw[:1000])[:1]
        traces = [one.decode(errors="replace") for one in ids]
        for trace in traces:
            self._add_trace(trace, None)
        rows = [(number, broken.line, broken.reason, trace) for trace in traces or [None]]
        self._db.executemany("INSERT INTO problems VALUES (?, ?, ?, ?)", rows)


def _spans_in(entry: Any) -> tuple[Span, ...]:
    if not isinstance(entry, dict):
        raise BadReply("this is neither a span, a run nor a record")
    if is_only_report(entry):
        return ()
    spans = record_spans(entry) if is_record(entry) else (span_of(entry),)
    if not all(span.trace_id and span.span_id for span in spans):
        raise BadReply("the span has no trace id or no span id")
    return spans


def _microseconds(moment: datetime | None) -> int:
    return _UNTIMED if moment is None else (moment - _EPOCH) // timedelta(microseconds=1)


def _found(trace_id: str, started: int) -> Found:
    return Found(trace_id=trace_id, started=None if started == _UNTIMED else _EPOCH + timedelta(microseconds=started))
