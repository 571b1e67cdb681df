"""Start the command again and again for the price of one import: each time a forked process runs its entry point.

Reads one order a line, `{args, cwd, env, files}`; answers with the process id and, when it has ended, its exit code.
"""

import gc
import json
import os
import sys
import time
import traceback
from importlib import import_module
from typing import Any

import httpx

from connectors.phoenix_client import phoenix_client
from enricher import cli

_EXPENSIVE = ("enricher.app", "enricher.report", "openai")  # what commands import when they need it


def main() -> None:
    for name in _EXPENSIVE:
        import_module(name)
    phoenix_client(httpx.AsyncClient())
    gc.freeze()
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _become(json.loads(line))
            os._exit(_called())
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def _called() -> int:
    code: Any = 1
    try:
        cli.main()
        code = 0
    except SystemExit as end:
        code = end.code or 0
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    # Taking the interpreter down would touch, and so copy, every page that the processes share.
    return int(code)


def _become(order: dict[str, Any]) -> None:
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["env"])
    time.tzset()
    for number, (path, flags) in enumerate(zip(order["files"], (os.O_RDONLY, os.O_WRONLY, os.O_WRONLY), strict=True)):
        opened = os.open(path, flags)
        os.dup2(opened, number)
        os.close(opened)
    sys.argv = ["enricher", *order["args"]]


if __name__ == "__main__":
    main()
