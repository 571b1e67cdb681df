"""`python -m tests.image`: build the image without a daemon and check it as it runs; needs root, and Debian's buildah.

The container is made of namespaces: the image's user, no capability, a root that can't be written, and the entry point
as process 1, as Kubernetes runs it by `config/deploy/kubernetes-cronjob.yaml`.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
DEPLOY = ROOT / "config" / "deploy"
STATE = "/var/lib/trace-enricher"
CONFIG = f"{STATE}/enricher.yaml"
NAME = "trace-enricher"
_READY_S = 300.0
_BUILD_TOOLS = ("cc", "gcc", "g++", "make", "ld", "as", "pip", "pip3")
_INSIDE = """
set -e
mount --make-rprivate /
mount --bind "$1" "$1" && mount -o remount,bind,ro "$1"
mount -t proc proc "$1/proc"
mount -t tmpfs tmpfs "$1/tmp"
mount --bind "$2" "$1$3"
root=$1 state=$3 user=$4; shift 4
exec chroot "$root" setpriv --reuid "${user%:*}" --regid "${user#*:}" --clear-groups --no-new-privs \
  --bounding-set -all --inh-caps -all env -i -C "$state" "$@"
"""
_RECORD = {
    "id": "1", "question": "How much notice?", "answer": "Notice is 90 days.",
    "documents": [{"id": "msa-12", "text": "Notice is sixty (60) days."}],
}  # fmt: skip


class Image:
    """An image whose root file system is mounted, and a folder that stands for its volume."""

    def __init__(self, storage: Path, state: Path) -> None:
        self._buildah = ["buildah", "--root", storage / "root", "--runroot", storage / "run", "--storage-driver", "vfs"]
        self._state = state

    def build(self, more: list[str]) -> None:
        """Build it as the Dockerfile says."""
        files = ["-f", DEPLOY / "Dockerfile", "--ignorefile", DEPLOY / "Dockerfile.dockerignore"]
        how = ["--isolation", "chroot", "--network", "host", "--format", "docker", "--layers=false"]
        subprocess.run([*self._buildah, "bud", *how, *files, "-t", NAME, *more, ROOT], check=True)

    def open(self) -> None:
        """Mount it and read how it is to be run."""
        self.container = self._said("from", "--pull-never", NAME)
        self.root = Path(self._said("mount", self.container))
        self.config: dict[str, Any] = json.loads(self._said("inspect", "--type", "image", NAME))["Docker"]["config"]
        os.chown(self._state, *map(int, self.config["User"].split(":")))

    def close(self) -> None:
        """Unmount it; the image stays."""
        subprocess.run([*self._buildah, "rm", self.container], check=True, capture_output=True)

    def command(self, *args: str) -> list[str]:
        """Return what runs a command in a container of its own."""
        apart = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", _INSIDE, "sh"]
        return [*apart, str(self.root), str(self._state), STATE, self.config["User"], *self.config["Env"], *args]

    def run(self, *args: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        return subprocess.run(self.command(*args), capture_output=True, text=True, check=False)

    def _said(self, *args: str) -> str:
        return subprocess.run([*self._buildah, *args], check=True, capture_output=True, text=True).stdout.strip()


def check(image: Image, state: Path) -> None:
    """Look at what is in it and run what it is for; raises AssertionError."""
    (entry,) = image.config["Entrypoint"]
    tools = [tool for tool in _BUILD_TOOLS if image.run("sh", "-c", f"command -v {tool}").returncode == 0]
    assert not tools, f"the image holds {tools}"
    assert image.run("python", "-m", "pip", "--version").returncode != 0, "the image holds pip"
    told = image.run("sh", "-c", f"id -u; touch /opt/x /etc/x; touch /tmp/x {STATE}/x && echo writable")
    assert told.stdout.split() == [image.config["User"].split(":")[0], "writable"], told
    assert told.stderr.count("Read-only file system") == 2, told.stderr
    print("no build tools; an ordinary user; only the volume and /tmp can be written", flush=True)

    settings = {
        "connections": {"files": {"kind": "files", "paths": ["in.jsonl"], "output": "out.jsonl"}},
        "jobs": {"nightly": {"connection": "files", "schedule": {"every": "1s"}, "rules": [{"name": "all"}]}},
    }
    (state / "enricher.yaml").write_text(yaml.safe_dump(settings))
    (state / "in.jsonl").write_text(json.dumps({**_RECORD, "timestamp": datetime.now(UTC).isoformat()}) + "\n")
    for command in (["--help"], ["doctor", "-c", CONFIG], ["run", "-c", CONFIG, "--json"]):
        done = image.run(entry, *command)
        assert done.returncode == 0, (command, done.stdout[-500:], done.stderr[-500:])
    written = [json.loads(line) for line in (state / "out.jsonl").read_text().splitlines()]
    assert [line["label"] for line in written if line["name"] == "context_diff"] == ["contradicted"], written
    assert (state / "trace-enricher.db").exists()
    print("doctor is content; a run wrote its diff and its store into the volume", flush=True)
    _keep_schedule(image, state, entry)


def _keep_schedule(image: Image, state: Path, entry: str) -> None:
    with (state / "log").open("w") as log:
        outer = subprocess.Popen(image.command(entry, "schedule", "-c", CONFIG), stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + _READY_S
        while "health checks on" not in (state / "log").read_text():
            is_waiting = outer.poll() is None and time.monotonic() < deadline
            assert is_waiting, (state / "log").read_text()[-1000:]
            time.sleep(0.2)
        children = Path(f"/proc/{outer.pid}/task/{outer.pid}/children").read_text().split()
        first = int(children[0])
        asked = ["nsenter", "--target", str(first), "--mount", "--pid", "chroot", str(image.root)]
        python = "/opt/trace-enricher/bin/python"
        healthy = subprocess.run([*asked, python, *image.config["Healthcheck"]["Test"][2:]], check=False)
        assert healthy.returncode == 0, "the health check of the image fails"
        began = time.monotonic()
        os.kill(first, getattr(signal, image.config["StopSignal"]))
        code = outer.wait(_READY_S)
    finally:
        outer.kill()
    assert code == 0, (code, (state / "log").read_text()[-1000:])
    print(f"the schedule is healthy as process 1, and ended with 0 {time.monotonic() - began:.1f} s after SIGTERM")


def main() -> int:
    """Build, check, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.image", description=__doc__)
    parser.add_argument("--storage", type=Path, default=Path("/var/tmp/trace-enricher-image"), help="holds the images")
    parser.add_argument("--built", action="store_true", help="check the image that is there; do not build it")
    options, more = parser.parse_known_args()
    if os.geteuid() or not all(map(shutil.which, ("buildah", "unshare", "nsenter"))):
        print("this needs root, buildah and util-linux", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        image = Image(options.storage, Path(folder))
        if not options.built:
            image.build(more)
        image.open()
        try:
            used = subprocess.run(["du", "-sm", image.root], capture_output=True, text=True, check=True).stdout.split()[
                0
            ]
            ours = subprocess.run(["du", "-sm", image.root / "opt"], capture_output=True, text=True, check=True)
            print(f"{used} MB unpacked, {ours.stdout.split()[0]} MB of them ours", flush=True)
            check(image, Path(folder))
        finally:
            image.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
