"""Read exported files entry by entry, plain or gzip, lines or one document, on from where the last reading ended."""

import gzip
import json
import os
import tempfile
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from connectors.formats import entries_of
from enricher.errors import TryAgain

_TAIL = 256  # bytes before the place reached that must be unchanged for reading to go on there
_WRITING_S = 60.0  # a last line that breaks off is waited for while its file is younger than this
_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"

Place = tuple[int, int]  # offset and length in bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One span, run, record or report, and where it can be read again: in its own file, or in the spool."""

    line: int  # of a document over many lines: which entry
    value: Any
    place: Place
    is_spooled: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Broken:
    """A line that can't be read."""

    line: int
    reason: str
    raw: bytes


class Spool:
    """A temporary file for entries that are no lines of a plain file, each as a line of its own."""

    def __init__(self) -> None:
        self._file = cast(IO[bytes], tempfile.TemporaryFile(prefix="enricher-"))  # noqa: SIM115 closed by `close`
        self._end = 0

    def add(self, value: Any) -> Place:
        """Keep an entry and return its place."""
        raw = json.dumps(value).encode()
        self._file.seek(self._end)
        self._file.write(raw)
        self._end += len(raw)
        return self._end - len(raw), len(raw)

    def read(self, place: Place) -> Any:
        """Return a kept entry."""
        return json.loads(_read(self._file, *place))

    def close(self) -> None:
        """Delete the file."""
        self._file.close()


class FileReader:
    """Reads one file, and after it has grown only what is new in it."""

    def __init__(self, path: Path, spool: Spool) -> None:
        self.path = path
        self.lines = 0  # read so far
        self._spool = spool
        self._stat = path.stat()
        self._is_new = True
        self._at = 0
        self._tail = b""
        self._may_grow = False  # a plain file of lines
        self._is_cut = False  # its last line breaks off, perhaps because it is being written

    def has_more(self) -> bool:
        """Tell whether there may be something to read."""
        return self._is_new or self._is_cut or not _is_same(self._stat, self.path.stat())

    def goes_on(self) -> bool:
        """Tell whether the file is as it was, or has only grown; else what was read of it no longer holds."""
        stat = self.path.stat()
        if _is_same(self._stat, stat):
            return True
        if not self._may_grow or stat.st_ino != self._stat.st_ino or stat.st_size <= self._stat.st_size:
            return False
        with self.path.open("rb") as stream:
            return _read(stream, max(0, self._at - _TAIL), min(_TAIL, self._at)) == self._tail

    def entry(self, place: Place) -> Any:
        """Return what stands at a place of the file.

        Raises:
            TryAgain: the file was changed meanwhile; it has to be indexed again.
        """
        try:
            with self.path.open("rb") as stream:
                return json.loads(_read(stream, *place))
        except (OSError, ValueError) as error:
            raise TryAgain(f"{self.path} was changed while it was read: {error}") from error

    def read(self) -> Iterator[Entry | Broken]:
        """Yield what is new in the file."""
        self._is_new = False
        self._stat = self.path.stat()
        with self.path.open("rb") as stream:
            is_gzip = stream.read(2) == _GZIP
            stream.seek(0)
            if is_gzip:
                yield from self._unzipped(stream)
            elif self._at or (document := _document(stream)) is None:
                self._may_grow = True
                yield from self._read_lines(stream)
                self._tail = _read(stream, max(0, self._at - _TAIL), min(_TAIL, self._at))
            else:
                yield from self._spooled(document)

    def _unzipped(self, stream: IO[bytes]) -> Iterator[Entry | Broken]:
        with cast(IO[bytes], gzip.open(stream, "rb")) as unzipped:
            try:
                document = _document(unzipped)
                yield from self._read_lines(unzipped) if document is None else self._spooled(document)
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                yield Broken(line=self.lines + 1, reason=f"the compressed file is broken here: {error}", raw=b"")

    def _spooled(self, document: Any) -> Iterator[Entry | Broken]:
        if isinstance(document, Broken):
            yield document
            return
        for number, value in enumerate(entries_of(document), 1):
            yield Entry(line=number, value=value, place=self._spool.add(value), is_spooled=True)

    def _read_lines(self, stream: IO[bytes]) -> Iterator[Entry | Broken]:
        stream.seek(self._at)
        self._is_cut = False
        while raw := stream.readline():
            text = raw if self._at else raw.removeprefix(_BOM)
            try:
                payload = json.loads(text) if text.strip() else []
            except (ValueError, RecursionError) as error:
                self._is_cut = self._may_grow and not raw.endswith(b"\n")
                if not self._is_cut or time.time() - self._stat.st_mtime > _WRITING_S:
                    yield Broken(line=self.lines + 1, reason=_no_json(error), raw=text)
                if self._is_cut:
                    return  # read again when there is more
            else:
                yield from self._of_line(payload, (self._at + len(raw) - len(text), len(text)))
            self.lines += 1
            self._at += len(raw)

    def _of_line(self, payload: Any, place: Place) -> Iterator[Entry]:
        values = list(entries_of(payload))
        is_itself = self._may_grow and len(values) == 1 and values[0] is payload
        for value in values:
            spot = place if is_itself else self._spool.add(value)
            yield Entry(line=self.lines + 1, value=value, place=spot, is_spooled=not is_itself)


def _document(stream: IO[bytes]) -> Any | None:
    """Return the content of a file that is one JSON document over many lines, or why it is none; None for lines.

    In such a document neither of the first two lines is JSON by itself. It is held in memory.
    """
    first, second = stream.readline().removeprefix(_BOM).strip(), stream.readline()
    stream.seek(0)
    if not second or _is_json(first) or (first not in (b"{", b"[") and _is_json(second)):
        return None
    raw = stream.read().removeprefix(_BOM)
    try:
        return json.loads(raw)
    except (ValueError, RecursionError) as error:
        if any(line.startswith(b'{"') and _is_json(line) for line in raw.splitlines()):
            return None
        return Broken(line=getattr(error, "lineno", 1), reason=_no_json(error), raw=raw)


def _no_json(error: Exception) -> str:
    # The decoder counts lines from where it began, which is not where the file does.
    said = f"{error.msg} in column {error.colno}" if isinstance(error, json.JSONDecodeError) else str(error)
    return f"this is no JSON: {said}"


def _is_json(raw: bytes) -> bool:
    try:
        json.loads(raw)
    except (ValueError, RecursionError):
        return False
    return True


def _is_same(one: os.stat_result, other: os.stat_result) -> bool:
    return (one.st_ino, one.st_size, one.st_mtime_ns) == (other.st_ino, other.st_size, other.st_mtime_ns)


def _read(stream: IO[bytes], at: int, size: int) -> bytes:
    stream.seek(at)
    return stream.read(size)
