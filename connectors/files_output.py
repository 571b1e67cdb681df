"""Keep annotations in a JSON Lines file: one line a key, durable once written, and people's lines untouched."""

import contextlib
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Set
from pathlib import Path
from typing import IO, Any

from enricher.errors import SetupError, TryAgain

_KEY_FIRST = b'{"key": '  # how every line of ours begins

Line = tuple[bytes, str | None, Mapping[str, Any]]  # as it stands; its key if it is ours; what it says


def encoded(key: str, fields: Mapping[str, Any]) -> bytes:
    """Return the line of an annotation.

    Raises:
        ValueError: JSON can't hold it, for example because a number is not finite.
    """
    text = json.dumps({"key": key, **fields}, ensure_ascii=False, allow_nan=False)
    # Half of a surrogate pair has no UTF-8 form; its Python escape is also JSON's.
    return text.encode("utf-8", "backslashreplace") + b"\n"


class AnnotationFile:
    """The file that annotations are written to; blocking, and safe between processes.

    New keys are appended. Where a key is there already, the file is written anew without its old line and takes the
    place of the old file in one step, so that a kill at any moment leaves either of them.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._new = path.with_name(f"{path.name}.tmp")
        self._lock = path.with_name(f"{path.name}.lock")
        self._keys: set[int] = set()  # hashes of the keys in the file; a chance hit costs a rewriting, nothing else
        self._has_repeats = False
        self._stat: os.stat_result | None = None  # how the file looked when its keys were known

    @property
    def files(self) -> tuple[Path, ...]:
        """Return the paths that are never input."""
        return self.path, self._new, self._lock, self._lock.with_name(f"{self._lock.name}-journal")

    def write(self, lines: Mapping[str, bytes]) -> None:
        """Write lines by key; when this returns they are on the disk.

        Raises:
            TryAgain: another process is writing.
            SetupError: the file can't be written.
        """
        try:
            with self._locked():
                self._read_keys()
                if self._has_repeats or any(hash(key) in self._keys for key in lines):
                    self._rewrite(lines)
                else:
                    with self.path.open("ab") as stream:
                        _write(stream, lines.values())
                    _sync_folder(self.path)
                self._keys.update(map(hash, lines))
                self._stat = self.path.stat()
        except OSError as error:
            raise SetupError(f"annotations can't be written to {self.path}: {error.strerror or error}") from error

    def read(self, keys: Set[str]) -> dict[str, Mapping[str, Any]]:
        """Return the annotations of these keys as they stand in the file."""
        try:
            with self.path.open("rb") as stream:
                return {key: fields for _, key, fields in _lines(stream) if key is not None and key in keys}
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise SetupError(f"{self.path} can't be read: {error.strerror or error}") from error

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold SQLite's lock on an empty file: every system has it, and it ends with the process."""
        try:
            holder = sqlite3.connect(self._lock, timeout=0, isolation_level=None)
            with contextlib.closing(holder):
                holder.execute("BEGIN EXCLUSIVE")
                yield
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorname", "") == "SQLITE_BUSY":
                raise TryAgain(f"another process is writing to {self.path}") from error
            raise SetupError(f"annotations can't be written beside {self._lock}: {error}") from error

    def _read_keys(self) -> None:
        """Learn which keys are there, unless the file is as we left it; mend an end that a crash left."""
        if self.path.exists() and self._stat is not None and _is_same(self._stat, self.path.stat()):
            return
        self._keys, self._has_repeats = set(), False
        if not self.path.exists():
            return
        self._mend_end()
        with self.path.open("rb") as stream:
            for key in (key for _, key, _ in _lines(stream) if key is not None):
                self._has_repeats = self._has_repeats or hash(key) in self._keys
                self._keys.add(hash(key))

    def _mend_end(self) -> None:
        with self.path.open("r+b") as stream:
            last = b""
            for line in stream:
                last = line
            if not last or last.endswith(b"\n"):
                return
            stream.seek(-len(last), os.SEEK_END)
            if last.startswith(_KEY_FIRST) and not _decoded(last):
                stream.truncate()  # a line of ours that a crash tore; it was never reported as written
            else:
                stream.seek(0, os.SEEK_END)
                _write(stream, [b"\n"])

    def _rewrite(self, lines: Mapping[str, bytes]) -> None:
        before = None
        while before is None or not _is_same(before, self.path.stat()):  # else a person's new line would be lost
            before = self.path.stat()
            with self.path.open("rb") as old, self._new.open("wb") as new:
                last = {key: number for number, (_, key, _) in enumerate(_lines(old))} if self._has_repeats else {}
                old.seek(0)
                for number, (line, key, _) in enumerate(_lines(old)):
                    if key is None or (key not in lines and last.get(key, number) == number):
                        new.write(line if line.endswith(b"\n") else line + b"\n")
                _write(new, lines.values())
            self._new.chmod(before.st_mode & 0o7777)
        self._new.replace(self.path)
        _sync_folder(self.path)
        self._has_repeats = False


def _lines(stream: IO[bytes]) -> Iterator[Line]:
    for line in stream:
        fields = _decoded(line)
        is_ours = isinstance(fields.get("key"), str) and fields.get("annotator_kind") in ("LLM", "CODE")
        yield line, fields["key"] if is_ours else None, fields


def _decoded(line: bytes) -> Mapping[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _write(stream: IO[bytes], lines: Iterable[bytes]) -> None:
    stream.write(b"".join(lines))
    stream.flush()
    os.fsync(stream.fileno())


def _sync_folder(path: Path) -> None:
    """Make the file's name durable too, where the system can."""
    with contextlib.suppress(OSError):  # Windows opens no folders
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _is_same(one: os.stat_result, other: os.stat_result) -> bool:
    return (one.st_ino, one.st_size, one.st_mtime_ns) == (other.st_ino, other.st_size, other.st_mtime_ns)
