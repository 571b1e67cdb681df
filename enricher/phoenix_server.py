"""Start and stop a Phoenix server of our own: for the demo and for tests that want the real thing."""

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import httpx

from enricher.errors import SetupError

_PACKAGE = "arize-phoenix"
_INSTALL = "pip install 'trace-enricher[demo]'"
_POLL_S = 0.5
_LAST_WORDS = 1500  # characters of the server's log that are shown when it fails
# Nothing of these may reach the child: a PHOENIX_SQL_DATABASE_URL of the user would put demo traces in a real database.
_FOREIGN = ("PHOENIX_", "OTEL_")


@dataclass(frozen=True, kw_only=True, slots=True)
class PhoenixServer:
    """A running Phoenix; `stop` ends it."""

    base_url: str
    folder: Path  # database and log
    api_key: str | None  # the administrator's secret, when authentication is on
    process: subprocess.Popen[bytes]
    owns_folder: bool

    @property
    def log(self) -> str:
        """Return the end of what the server has printed."""
        return (self.folder / "phoenix.log").read_text(errors="replace")[-_LAST_WORDS:]

    async def stop(self) -> None:
        """End the server and remove its folder if it is temporary. Spans not yet visible may be lost."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            if not await _ended(self.process, within_s=10.0):
                self.process.kill()
                await _ended(self.process, within_s=10.0)
        if self.owns_folder:
            shutil.rmtree(self.folder, ignore_errors=True)


async def start_phoenix(
    *,
    folder: Path | None = None,
    port: int = 0,
    admin_secret: str | None = None,
    ready_within_s: float = 300.0,
    on_wait: Callable[[float], None] | None = None,
) -> PhoenixServer:
    """Start Phoenix on this machine only and wait until it is ready, which takes 20 to 40 CPU-seconds.

    Args:
        folder: where its database is kept; a temporary one, removed by `stop`, if None.
        port: 0 for a free one.
        admin_secret: turns authentication on and is the administrator's API key; at least 32 characters, with digits
            and lower-case letters.
        ready_within_s: how long to wait.
        on_wait: called about twice a second with the seconds waited so far.

    Raises:
        SetupError: Phoenix is not installed, ended by itself or did not get ready in time.
    """
    _require_installed()
    place = folder or Path(tempfile.mkdtemp(prefix="trace-enricher-phoenix-"))
    place.mkdir(parents=True, exist_ok=True)
    port = port or _free_port()
    with (place / "phoenix.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "phoenix.server.main", "serve"],
            env=_environment(place, port, admin_secret),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C is for us; we stop the server ourselves
        )
    server = PhoenixServer(
        base_url=f"http://127.0.0.1:{port}",
        folder=place,
        api_key=admin_secret,
        process=process,
        owns_folder=folder is None,
    )
    try:
        await _wait_until_ready(server, ready_within_s, on_wait)
    except BaseException:
        await server.stop()
        raise
    return server


def _require_installed() -> None:
    # The package's metadata answers at once; finding its modules would import the whole server.
    try:
        version(_PACKAGE)
    except PackageNotFoundError as error:
        raise SetupError(f"the embedded Phoenix needs the package {_PACKAGE}; run: {_INSTALL}") from error


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _environment(folder: Path, port: int, admin_secret: str | None) -> dict[str, str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}
    # Compiled modules halve the start; they go where they outlive the checkout and need no right to write elsewhere.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment["PYTHONPYCACHEPREFIX"] = str(_bytecode_folder())
    environment |= {
        "PHOENIX_WORKING_DIR": str(folder),
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": str(port),
        "PHOENIX_GRPC_PORT": str(_free_port()),
        "PHOENIX_TELEMETRY_ENABLED": "false",
        "PHOENIX_ALLOW_EXTERNAL_RESOURCES": "false",
        "PHOENIX_DISABLE_AGENT_ASSISTANT": "true",
        "PHOENIX_ALLOWED_PROVIDERS": "NONE",
        "PHOENIX_DISCOVER_CONFIG": "false",
    }
    if admin_secret is not None:
        environment |= {
            "PHOENIX_ENABLE_AUTH": "true",
            "PHOENIX_SECRET": admin_secret[::-1],  # must differ from the administrator's secret
            "PHOENIX_ADMIN_SECRET": admin_secret,
        }
    return environment


def _bytecode_folder() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "trace-enricher" / "bytecode"


async def _wait_until_ready(server: PhoenixServer, within_s: float, on_wait: Callable[[float], None] | None) -> None:
    started = time.monotonic()
    # `trust_env=False`: a proxy of the environment has no business on loopback.
    async with httpx.AsyncClient(base_url=server.base_url, timeout=5.0, trust_env=False) as client:
        while (waited := time.monotonic() - started) < within_s:
            if (code := server.process.poll()) is not None:
                raise SetupError(f"Phoenix ended with code {code} while starting; its last words: {server.log}")
            if await _is_ready(client):
                return
            if on_wait is not None:
                on_wait(waited)
            await asyncio.sleep(_POLL_S)
    raise SetupError(f"Phoenix was not ready after {within_s:g} s; its last words: {server.log}")


async def _is_ready(client: httpx.AsyncClient) -> bool:
    try:
        return (await client.get("/readyz")).is_success
    except httpx.TransportError:
        return False


async def _ended(process: subprocess.Popen[bytes], *, within_s: float) -> bool:
    deadline = time.monotonic() + within_s
    while process.poll() is None and time.monotonic() < deadline:
        await asyncio.sleep(0.05)
    return process.poll() is not None
