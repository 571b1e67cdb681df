"""Call `enricher` as a user does: a process of its own, a scrubbed environment, a folder without anything in it."""

import asyncio
import json
import os
import select
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
SCRIPT = Path(sys.executable).parent / "enricher"
_WAIT_S = 180.0


@dataclass(frozen=True, kw_only=True)
class Finished:
    """What a command left behind; the code is negative when a signal ended it."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Read standard output, which must be JSON and nothing else."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """Read standard output as JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def complaint(self) -> str:
        """Return what the operator is told, which must be all there is, and no traceback."""
        assert self.code == 2, (self.code, self.out, self.err)
        assert self.out == ""
        assert self.err.startswith("enricher: "), self.err
        assert "Traceback" not in self.err
        return self.err.removeprefix("enricher: ")


@dataclass(kw_only=True)
class Process:
    """A command under way."""

    pid: int
    files: tuple[Path, Path, Path]
    exit_code: Callable[[float], int]  # waits at most so many seconds

    def send(self, number: signal.Signals) -> None:
        """Send a signal, if the process is still there."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    async def wait(self, within_s: float = _WAIT_S) -> Finished:
        """Wait for the end; the event loop goes on, so servers of the test can answer."""
        code = await asyncio.to_thread(self.exit_code, within_s)
        return Finished(code=code, out=self.files[1].read_text(), err=self.files[2].read_text())


class Starter:
    """Starts commands one after the other by forking a process that has imported everything."""

    def __init__(self, **env: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.acceptance.starter"],
            cwd=ROOT,
            env=environment(ROOT, **env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
        )
        self._unread = b""
        self._under_way: int | None = None

    def start(self, args: list[str], cwd: Path, env: Mapping[str, str], files: tuple[Path, Path, Path]) -> Process:
        """Start one; the one before has ended, or is left over from a test that failed."""
        if self._under_way is not None:
            os.kill(self._under_way, signal.SIGKILL)
            self._ended(_WAIT_S)
        order = {"args": args, "cwd": str(cwd), "env": dict(env), "files": [str(file) for file in files]}
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order).encode() + b"\n")
        self._under_way = self._number(_WAIT_S)
        return Process(pid=self._under_way, files=files, exit_code=self._ended)

    def close(self) -> None:
        """End; a command that is still under way is left to its test."""
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()
        self._process.wait(timeout=10)

    def _ended(self, within_s: float) -> int:
        code = self._number(within_s)
        self._under_way = None
        return code

    def _number(self, within_s: float) -> int:
        assert self._process.stdout is not None
        deadline = time.monotonic() + within_s
        while b"\n" not in self._unread:
            if not select.select([self._process.stdout], [], [], max(deadline - time.monotonic(), 0))[0]:
                raise TimeoutError(f"the command has not ended within {within_s:g} s")
            more = self._process.stdout.read(100)
            assert more, "the starter has ended"
            self._unread += more
        line, _, self._unread = self._unread.partition(b"\n")
        return int(line)


def environment(home: Path, **more: str) -> dict[str, str]:
    """Return an environment in which nothing of the tester's is set."""
    return {"PATH": os.defpath, "HOME": str(home), **more}


@dataclass
class User:
    """Somebody in a folder of their own."""

    folder: Path
    starter: Starter
    _numbers: count = field(default_factory=count)
    _store: sqlite3.Connection | None = None

    def configure(self, **settings: Any) -> None:
        """Write the config that every command of this user is called with."""
        (self.folder / "enricher.yaml").write_text(yaml.safe_dump({"store": "sqlite:///store.db", **settings}))

    def start(self, *args: str, stdin: str = "", is_fresh: bool = False, **env: str) -> Process:
        """Start a command; a fresh one is a new interpreter, which takes longer and may run beside others."""
        files = self._files(stdin)
        surroundings = environment(self.folder, **env)
        if not is_fresh:
            return self.starter.start(list(args), self.folder, surroundings, files)
        with files[0].open("rb") as source, files[1].open("wb") as out, files[2].open("wb") as err:
            process = subprocess.Popen(
                [SCRIPT, *args], cwd=self.folder, env=surroundings, stdin=source, stdout=out, stderr=err
            )
        return Process(pid=process.pid, files=files, exit_code=process.wait)

    async def enricher(self, *args: str, stdin: str = "", is_fresh: bool = False, **env: str) -> Finished:
        """Call a command and wait for its end."""
        return await self.start(*args, stdin=stdin, is_fresh=is_fresh, **env).wait()

    async def run(self, *args: str, **env: str) -> Finished:
        """Call `enricher run` with the config."""
        return await self.enricher("run", "--config", "enricher.yaml", *args, **env)

    def query(self, sql: str) -> list[Any]:
        """Look into the store without its own code; nothing when it is not there yet."""
        place = self.folder / "store.db"
        if self._store is None and place.exists():
            self._store = sqlite3.connect(f"file:{place}?mode=ro", uri=True)
        with suppress(sqlite3.OperationalError):  # its tables may not be there yet
            return self._store.execute(sql).fetchall() if self._store else []
        return []

    def count(self, table: str, condition: str = "1") -> int:
        """Count rows of the store."""
        return next((row[0] for row in self.query(f"SELECT count(*) FROM {table} WHERE {condition}")), 0)

    def close(self) -> None:
        """Release the store."""
        if self._store is not None:
            self._store.close()

    def _files(self, stdin: str) -> tuple[Path, Path, Path]:
        place = self.folder / ".calls" / str(next(self._numbers))
        place.mkdir(parents=True)
        files = (place / "in", place / "out", place / "err")
        for file, text in zip(files, (stdin, "", ""), strict=True):
            file.write_text(text)
        return files


async def until(holds: Callable[[], Any], *, within_s: float = 60.0) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < deadline, "it has not come to hold in time"
        await asyncio.sleep(0.005)
