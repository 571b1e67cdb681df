"""Serving: where it listens, what it refuses, and how it ends."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from enricher.errors import SetupError
from enricher.review.serve import serve
from tests.review.conftest import running

HINT = {"platform": "files", "project": "p", "trace_id": "r1"}


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "intake.example"])
async def test_other_machines_are_served_only_with_a_secret(store, host):
    with pytest.raises(SetupError, match="set a secret before serving on"):
        await serve(store, host=host, port=0)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
async def test_this_machine_is_served_without_a_secret(store, host):
    async with running(store, secret=None, host=host) as intake:
        assert (await intake.post(json=HINT, secret=None)).status_code == 200


async def test_all_addresses_are_served_with_a_secret(store):
    async with running(store, host="0.0.0.0") as intake:
        port = httpx.URL(intake.url).port
        async with httpx.AsyncClient() as client:
            assert (await client.get(f"http://127.0.0.1:{port}/healthz")).status_code == 200


async def test_a_port_that_is_taken_is_the_operators_to_fix(store):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SetupError, match=f"port {port} on '127.0.0.1' can't be had"):
            await serve(store, port=port)
    with pytest.raises(SetupError, match="can't be had"):
        await serve(store, host="no.such.host.invalid", port=0, secret=SecretStr("x"))


async def test_cancelling_ends_it_and_frees_the_port(store):
    address = asyncio.get_running_loop().create_future()
    serving = asyncio.create_task(serve(store, port=0, ready=address.set_result))
    port = httpx.URL(await address).port
    serving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await serving
    socket.create_server(("127.0.0.1", port)).close()


PROGRAM = """
import asyncio, sys
from enricher.review.serve import serve
from enricher.store import Store

async def main():
    async with await Store.open(sys.argv[1]) as store:
        await serve(store, port=0, ready=lambda url: print(url, flush=True))
    print("closed", flush=True)

asyncio.run(main())
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_and_the_store_is_closed(tmp_path, number):
    command = [sys.executable, "-c", PROGRAM, f"sqlite:///{tmp_path / 'store.db'}"]
    root = Path(__file__).parents[2]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root, env=dict(os.environ)) as process:
        url = process.stdout.readline().strip()
        assert httpx.post(f"{url}/intake", json=HINT).json() == {"stored": 1, "known": 0}
        process.send_signal(number)
        assert process.stdout.read() == "closed\n"
        assert process.wait(10) == 0
