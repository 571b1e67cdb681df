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
from enricher.serve.app import serve_app
from enricher.serve.serving import serve
from enricher.serve.site import ConfigAsRead, Site
from enricher.settings import Serve, Settings
from tests.serve.conftest import TOKEN, served

HINT = {"platform": "files", "project": "p", "trace_id": "r1"}


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "review.example"])
async def test_other_machines_are_served_only_with_a_token(store, host):
    with pytest.raises(SetupError, match="set ENRICHER_SERVE_TOKEN before serving on"):
        await serve(Site.of(store, Settings()), host=host, port=0)
    short = Settings(serve=Serve(token=SecretStr("short")))
    with pytest.raises(SetupError, match="use 16 characters or more"):
        await serve(Site.of(store, short), host=host, port=0)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
async def test_this_machine_is_served_without_a_token(store, host):
    async with served(store, host=host) as browser:
        assert (await browser.client.post("/intake", json=HINT)).status_code == 200
        assert (await browser.get("/login")).status_code == 200


async def test_on_all_addresses_the_intake_needs_its_own_secret(store):
    for secret, status in ((None, 404), (SecretStr("sesame"), 401)):
        async with served(store, host="0.0.0.0", token=TOKEN, secret=secret) as browser:
            port = httpx.URL(browser.url).port
            async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
                assert (await client.get("/health")).json()["status"] == "ok"
                assert (await client.get("/ready")).json()["ready"] is True
                assert (await client.post("/intake", json=HINT)).status_code == status


async def test_health_says_that_a_changed_config_counts_only_after_a_restart(store, tmp_path):
    path = tmp_path / "enricher.yaml"
    path.write_text("serve: {claim: 15m}\n")
    site = Site.of(store, Settings(), config=ConfigAsRead.of(path))
    client = httpx.AsyncClient(transport=httpx.ASGITransport(await serve_app(site, host="127.0.0.1")))
    async with client:
        told = [(await client.get("http://127.0.0.1/health")).json()]
        path.write_text("serve: {claim: 5m}\n")
        told.append((await client.get("http://127.0.0.1/health")).json())
    assert [(one["status"], one["config"]["state"]) for one in told] == [("ok", "current"), ("ok", "changed")]
    assert told[1]["config"]["problem"].endswith("restart enricher serve")


async def test_a_port_that_is_taken_is_the_operators_to_fix(store):
    site = Site.of(store, Settings(serve=Serve(token=SecretStr(TOKEN))))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SetupError, match=f"port {port} on '127.0.0.1' can't be had"):
            await serve(site, port=port)
    with pytest.raises(SetupError, match="can't be had"):
        await serve(site, host="no.such.host.invalid", port=0)


async def test_cancelling_ends_it_and_frees_the_port(store):
    address = asyncio.get_running_loop().create_future()
    serving = asyncio.create_task(serve(Site.of(store, Settings()), port=0, ready=address.set_result))
    port = httpx.URL(await address).port
    serving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await serving
    socket.create_server(("127.0.0.1", port)).close()


PROGRAM = """
import asyncio, sys
from enricher.serve.app import serve_app
from enricher.serve.serving import serve
from enricher.serve.site import ConfigAsRead, Site
from enricher.settings import Settings
from enricher.store import Store

async def main():
    async with await Store.open(sys.argv[1]) as store:
        await serve(Site.of(store, Settings()), port=0, ready=lambda url: print(url, flush=True))
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
