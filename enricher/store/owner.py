"""Name this process so that another one can tell whether it still lives."""

import os
import socket
from pathlib import Path


def this_process() -> str:
    """Name this process: host, process namespace, process id, moment of its start."""
    return _name(socket.gethostname(), os.getpid())


def is_surely_gone(owner: str) -> bool:
    """Tell whether the process of `owner` is known to have ended; False for other hosts and containers.

    `owner` is what `this_process` said there, possibly followed by a slash and something of the process's own.
    """
    ours = this_process().split("/")
    theirs = owner.split("/")[: len(ours)]
    if len(theirs) < len(ours) or theirs[:2] != ours[:2] or not theirs[2].isdigit():
        return False
    pid = int(theirs[2])
    # A process id is used again some day; the moment of its start tells the two apart.
    return not _lives(pid) or _started(pid) != theirs[3]


def describe(owner: str) -> str:
    """Say which process an owner is, for a person."""
    host, _, rest = owner.partition("/")
    return f"process {rest.split('/')[1]} on {host}" if rest.count("/") >= 1 else owner


def _name(host: str, pid: int) -> str:
    return "/".join((host.replace("/", "_"), _namespace(), str(pid), _started(pid)))


def _namespace() -> str:
    # Two containers may share a host name while neither sees the other's processes.
    try:
        return os.readlink("/proc/self/ns/pid").removeprefix("pid:")
    except OSError:
        return "-"


def _started(pid: int) -> str:
    try:
        # The name of the program, in parentheses, may hold blanks: the fields are counted from after it.
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return "-"
    # A zombie has ended, although its process id is still taken.
    return "ended" if fields[0] in "ZX" else fields[19]


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
