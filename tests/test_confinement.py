"""`local_only`: a real process that tries every way out reaches the platform and nothing else."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

from enricher.confinement import Endpoint
from enricher.errors import SetupError
from enricher.privacy import endpoints
from enricher.settings import load
from tests.acceptance.cases import case
from tests.acceptance.command import environment
from tests.servers.failing import FailingServer, Reply
from tests.servers.openai import OpenAIServer

ROOT = Path(__file__).parent.parent
# Opens the app as every command does, then tries to reach the model server in each way that Python offers.
ATTEMPTS = """
import asyncio, http.client, json, socket, sys, urllib.request
import httpx, openai
from enricher.app import App
from enricher.errors import SetupError
from enricher.settings import load
from pathlib import Path

model, platform = sys.argv[1], sys.argv[2]
port = int(model.rsplit(":", 1)[1].split("/")[0])

async def over_asyncio():
    await asyncio.open_connection("127.0.0.1", port)

def in_openai():
    client = openai.OpenAI(base_url=model, api_key="k", max_retries=0)
    client.chat.completions.create(model="m", messages=[{"role": "user", "content": "secret"}])

def by_datagram():
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"secret", ("127.0.0.1", port))

def by_unix_socket():
    socket.socket(socket.AF_UNIX).connect("model.sock")

def in_a_thread():
    import concurrent.futures
    with concurrent.futures.ThreadPoolExecutor() as pool:
        pool.submit(socket.create_connection, ("127.0.0.1", port)).result()

WAYS = {
    "socket": lambda: socket.create_connection(("127.0.0.1", port)),
    "connect_ex": lambda: socket.socket().connect_ex(("127.0.0.1", port)),
    "name": lambda: socket.create_connection(("localhost.localdomain", port)),
    "lookup": lambda: socket.gethostbyname("api.openai.com"),
    "ipv4 in ipv6": lambda: socket.socket(socket.AF_INET6).connect(("::ffff:127.0.0.1", port)),
    "http.client": lambda: http.client.HTTPConnection("127.0.0.1", port).connect(),
    "urllib": lambda: urllib.request.urlopen(model),
    "httpx": lambda: httpx.get(model),
    "asyncio": lambda: asyncio.run(over_asyncio()),
    "openai": in_openai,
    "thread": in_a_thread,
    "datagram": by_datagram,
    "unix socket": by_unix_socket,
}

async def opened():
    async with await App.open(load(Path("enricher.yaml"), {})):
        pass

asyncio.run(opened())
found = {}
for name, way in WAYS.items():
    try:
        way()
        found[name] = "reached"
    except Exception as error:
        seen = []
        while error is not None:
            seen.append(error)
            error = error.__cause__ or error.__context__
        found[name] = "refused" if any("local_only" in str(e) for e in seen) else repr(seen)
found["platform"] = httpx.get(platform).status_code
print(json.dumps(found))
"""


async def _python(folder: Path, code: str, *args: str) -> tuple[int | None, str, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-W", "ignore", "-c", code, *args,
        cwd=folder, env=environment(folder, PYTHONPATH=str(ROOT)),
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode()


async def test_no_way_leads_to_a_model_server_and_the_platform_is_reached(tmp_path):
    async with FailingServer(Reply()) as platform, OpenAIServer().running() as model:
        config = {"local_only": True, "connections": {"p": {"kind": "phoenix", "base_url": platform.base_url}}}
        config["jobs"] = {"nightly": {"connection": "p"}}
        (tmp_path / "enricher.yaml").write_text(json.dumps(config))
        code, out, err = await _python(tmp_path, ATTEMPTS, model.url, platform.base_url)
        assert code == 0, err
        found = json.loads(out)
        assert found.pop("platform") == 200
        assert set(found.values()) == {"refused"}, found
        assert len(found) == 13
        assert model.requests == []
        assert len(platform.asked) == 1


async def test_a_judge_that_breaks_is_a_failure_and_nobody_else_is_asked(tmp_path):
    """PR-03: no fall-back to a remote model, not even when the local judge raises."""
    assert case("PR-03")["expected"]["outbound_connections"] == 0
    broken = (
        "import sys\n"
        "from enricher.judges import local\n"
        "def breaks(item): raise RuntimeError('the engine is broken')\n"
        "local.ground = breaks\n"
        "from enricher.cli import main\n"
        "sys.argv = ['enricher', 'judge', 'in.jsonl', '-c', 'enricher.yaml']\n"
        "main()\n"
    )
    record = {"id": "a", "question": "q", "documents": [{"id": "d", "text": "It is 5."}], "answer": "It is 5."}
    (tmp_path / "in.jsonl").write_text(json.dumps(record))
    async with OpenAIServer().running() as model:
        config = {"local_only": True, "openai": {"base_url": model.url, "model": "m"}}
        (tmp_path / "enricher.yaml").write_text(json.dumps(config))
        code, out, err = await _python(tmp_path, broken)
        assert model.requests == []
    assert code == 1, err
    row = json.loads(out)
    assert row["status"] == "BUG"
    assert row["faithfulness_score"] is None
    assert "broken" not in out + err


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("engine: openai\nopenai: {model: m}", "engine"),
        ("compare: {engine: openai}\nopenai: {model: m}", "compare.engine"),
        ("openai: {model: m}\njobs: {n: {judges: [{judge: diff, engine: openai}]}}", "jobs.n.judges.0.engine"),
    ],
)
def test_a_config_that_calls_out_is_refused(tmp_path, text, place):
    path = tmp_path / "enricher.yaml"
    path.write_text(f"local_only: true\n{text}\n")
    with pytest.raises(SetupError, match=f"line \\d: {place}: local_only"):
        load(path, {})


def test_the_engine_of_the_environment_is_refused_too(tmp_path):
    path = tmp_path / "enricher.yaml"
    path.write_text("local_only: true\nopenai: {model: m}\n")
    with pytest.raises(SetupError, match="local_only"):
        load(path, {"ENRICHER_ENGINE": "openai"})


def test_platforms_store_and_named_hosts_are_allowed(tmp_path):
    path = tmp_path / "enricher.yaml"
    path.write_text(
        "store: postgresql://user@db.internal/enricher\n"
        "connections:\n"
        "  a: {kind: phoenix, base_url: 'http://phoenix:6006'}\n"
        "  b: {kind: langsmith, base_url: 'https://langsmith.internal/api'}\n"
        "  c: {kind: files, paths: ['x']}\n"
        "jobs: {n: {connection: a}}\n"
        "privacy: {allowed_hosts: ['s3.internal:9000', '[::1]:80']}\n"
    )
    assert list(endpoints(load(path, {}))) == [
        Endpoint("phoenix", 6006),
        Endpoint("langsmith.internal", 443),
        Endpoint("db.internal", 5432),
        Endpoint("s3.internal", 9000),
        Endpoint("[::1]", 80),
    ]


@pytest.mark.parametrize("host", ["s3.internal", "https://s3.internal", "s3.internal:port", "::1:80"])
def test_an_allowed_host_needs_a_port(tmp_path, host):
    path = tmp_path / "enricher.yaml"
    path.write_text(f"privacy: {{allowed_hosts: ['{host}']}}\n")
    with pytest.raises(SetupError, match="write"):
        load(path, {})
