"""A Dask cluster of real processes on loopback, whose workers can be killed."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
_SCHEDULER = "from distributed.cli.dask_scheduler import main; main()"
_WORKER = "from distributed.cli.dask_worker import main; main()"


@dataclass(kw_only=True)
class Cluster:
    """One scheduler and its workers."""

    address: str
    folder: Path
    environment: dict[str, str]
    scheduler: subprocess.Popen[bytes]
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def add_worker(self, *, threads: int = 1) -> subprocess.Popen[bytes]:
        """Start a worker without a nanny, so that a killed one stays dead."""
        options = ["--no-nanny", "--nthreads", str(threads), "--no-dashboard", "--local-directory", str(self.folder)]
        worker = _start(_WORKER, [self.address, *options], self.environment)
        self.workers.append(worker)
        return worker

    def restart_scheduler(self) -> None:
        """Kill the scheduler and start another one at its address; workers of the old one end by themselves."""
        self.kill(self.scheduler)
        contact = self.folder / "restarted.json"
        contact.unlink(missing_ok=True)
        self.scheduler = _started_scheduler(contact, self.address.rpartition(":")[2], self.environment)
        assert _address(contact, self.scheduler) == self.address

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        """End a process at once."""
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=30)


@contextmanager
def running_cluster(folder: Path, environment: dict[str, str] | None = None) -> Iterator[Cluster]:
    """Start a scheduler; end everything that was started."""
    known = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG", "VIRTUAL_ENV")}
    # A lost worker is noticed within seconds.
    timeouts = {"DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "20s", "DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": "15s"}
    env = {**known, "PYTHONPATH": str(ROOT), **timeouts, **(environment or {})}
    contact = folder / "scheduler.json"
    scheduler = _started_scheduler(contact, "0", env)
    cluster = Cluster(address="", folder=folder, environment=env, scheduler=scheduler)
    try:
        cluster.address = _address(contact, scheduler)
        yield cluster
    finally:
        for process in (*cluster.workers, cluster.scheduler):
            if process.poll() is None:
                cluster.kill(process)


def _started_scheduler(contact: Path, port: str, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    options = ["--host", "127.0.0.1", "--port", port, "--no-dashboard", "--scheduler-file", str(contact)]
    return _start(_SCHEDULER, options, environment)


def _start(program: str, options: list[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen([sys.executable, "-c", program, *options], env=environment, cwd="/", **quiet)


def _address(contact: Path, scheduler: subprocess.Popen[bytes]) -> str:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        assert scheduler.poll() is None, "the scheduler has ended"
        if contact.is_file() and (text := contact.read_text()):
            address: str = json.loads(text)["address"]
            return address
        time.sleep(0.05)
    raise TimeoutError("the scheduler did not start")
