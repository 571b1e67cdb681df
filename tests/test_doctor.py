"""The checks of `enricher doctor`, one by one."""

import asyncio
import contextlib
import shutil
import tomllib
from collections import namedtuple
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from enricher import doctor
from enricher.doctor import configured
from enricher.settings import load
from enricher.store import ScheduleOutcome, ScheduleRecord
from tests.servers.openai import OpenAIServer, Say

NOW = datetime(2026, 11, 3, 2, tzinfo=UTC)


@pytest.fixture
def settings(tmp_path):
    """Return settings read from a text, and the environment."""

    def of(text: str, **environment: str):
        path = tmp_path / "enricher.yaml"
        path.write_text(text)
        return load(path, environment)

    return of


def test_the_config_check_names_what_overrides_it_and_what_means_nothing(settings):
    environment = {"ENRICHER_ENGINE": "local", "ENRICHER_STOER": "x", "ENRICHER_SERVE_SECRET": "hush", "HOME": "/"}
    check = doctor.check_config(settings("logs: json\n"), Path("my.yaml"), environment)
    assert check.ok
    assert (check.facts["file"], check.facts["from the environment"]) == ("my.yaml", "ENRICHER_ENGINE")
    assert check.problems == (
        "the environment variable ENRICHER_STOER means nothing here; did you mean 'ENRICHER_STORE'?",
    )
    assert "hush" not in check.model_dump_json()


LANGSMITH = "connections: {ls: {kind: langsmith}}\njobs: {n: {connection: ls}}\n"
MODEL = "engine: openai\nopenai: {model: m, fallbacks: [{base_url: 'http://127.0.0.1:1', api_key_env: OTHER}]}\n"


@pytest.mark.parametrize(
    ("text", "environment", "missing"),
    [
        (LANGSMITH, {}, "set LANGSMITH_API_KEY: connection ls has no key to LangSmith"),
        (LANGSMITH, {"LANGSMITH_API_KEY": "hush"}, None),
        (MODEL, {}, "set OPENAI_API_KEY: https://api.openai.com/v1 answers only with a key"),
        (MODEL, {"OPENAI_API_KEY": "hush"}, None),
        ("engine: openai\nopenai: {model: m, base_url: 'http://127.0.0.1:8000/v1'}", {}, None),
        ("serve: {host: 0.0.0.0}", {}, "set ENRICHER_SERVE_TOKEN: enricher serve does not listen on 0.0.0.0"),
        ("alerts: {webhooks: [{url_env: SLACK}]}", {"SLACK": "http://hush"}, None),
    ],
)
def test_secrets_are_told_by_name_and_place_and_never_shown(settings, text, environment, missing):
    check = doctor.check_secrets(settings(text, **environment))
    assert check.ok == (missing is None)
    assert [problem[: len(missing or "")] for problem in check.problems] == ([missing] if missing else [])
    for name in environment:
        assert check.facts[name].startswith("set (")
    assert "hush" not in check.model_dump_json()
    assert ("OTHER" in check.facts) == (text == MODEL), "variables of what is not used are left out"


def test_webhooks_are_told_without_their_addresses_and_not_called(settings):
    text = """
alerts:
  webhooks: [{url: "http://127.0.0.1:9/hush", form: generic}, {url_env: SLACK, form: slack}]
"""
    check = doctor.check_webhooks(settings(text, SLACK="http://127.0.0.1:9/hush"))
    assert check.facts == {"webhook 0": "generic, 127.0.0.1:9", "webhook 1": "slack, the address in SLACK"}
    assert "nothing signs it" in check.problems[0]
    assert "no alert is ever raised" in check.problems[1]


def test_the_extras_are_those_of_the_distribution_and_a_needed_one_that_lacks_fails(settings, monkeypatch):
    declared = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    optional = set(declared["optional-dependencies"]) - {"dev"}
    monkeypatch.setattr(
        configured, "requires", lambda name: [f'nowhere-{extra}>=1; extra == "{extra}"' for extra in sorted(optional)]
    )
    check = doctor.check_extras(settings("executor: dask\nstore: postgresql://127.0.0.1/x\n"))
    assert set(check.facts) == optional
    assert check.problems == (
        "the config needs it: pip install 'trace-enricher[dask]'",
        "the config needs it: pip install 'trace-enricher[postgres]'",
    )
    assert doctor.check_extras(settings("executor: local\n")).ok


@pytest.mark.parametrize(("free", "ok", "problems"), [(5 << 30, True, 0), (1 << 29, True, 1), (1 << 20, False, 1)])
def test_a_disk_that_is_nearly_full_is_told_and_a_full_one_fails(settings, monkeypatch, free, ok, problems):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage(0, 0, free))
    check = doctor.check_disk(settings("store: sqlite:////tmp/not/there/yet/store.db\n"))
    assert (check.ok, len(check.problems)) == (ok, problems)
    assert check.facts["store"].endswith("GB free in /tmp/not/there/yet")


def test_scheduled_jobs_are_told_with_their_last_outcome_and_who_holds_them(settings):
    text = "jobs: {nightly: {schedule: {cron: 0 2 * * *}}, often: {schedule: {every: 15m}}, never: {}}\n"
    record = ScheduleRecord(job="nightly", outcome=ScheduleOutcome.MISSED, outcome_at=NOW, reason="7:00 late")
    check = doctor.check_jobs(settings(text), {"nightly": record}, {"job:often": "process 7 on host"})
    assert check.facts == {
        "nightly": "cron 0 2 * * *; last missed at 2026-11-03 02:00 UTC",
        "often": "every 0:15:00; job:often held by process 7 on host",
        "never": "never by itself",
    }
    assert check.problems == ("job nightly: the last one is missed: 7:00 late",)


@contextlib.asynccontextmanager
async def dated(date: str):
    """Run a server that tells a date."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n{date}\r\n".encode())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


@pytest.mark.parametrize(
    ("off_s", "ok", "told"),
    [
        (0, True, ""),
        (-20, True, "this machine is 20 s ahead of the platform: keep the time by NTP"),
        (3600, False, "this machine is 3600 s behind the platform"),
    ],
)
async def test_the_clock_is_compared_with_the_platforms(off_s, ok, told):
    date = format_datetime(NOW + timedelta(seconds=off_s), usegmt=True)
    # The date of a reply is cut to seconds; half a second is allowed for that.
    now = NOW + timedelta(seconds=0.5)
    async with dated(f"Date: {date}\r\n") as url:
        check = await doctor.check_clock("phoenix", url, lambda: now, 10)
    assert check.ok == ok
    assert [problem.startswith(told) for problem in check.problems] == [True] * bool(told)


async def test_a_platform_that_tells_no_date_is_no_problem():
    async with dated("") as url:
        check = await doctor.check_clock("phoenix", url, lambda: NOW, 10)
    assert check.ok
    assert check.facts["difference"].startswith("not known")


async def test_each_model_is_asked_once_and_alone_so_that_no_fallback_hides_another(settings):
    first = OpenAIServer(api_key="another")
    second = OpenAIServer().script(Say('{"ok": true}', model="m-2026"))
    async with first.running(), second.running():
        text = (
            f"engine: openai\nopenai: {{model: m, base_url: '{first.url}', fallbacks: [{{base_url: '{second.url}'}}]}}"
        )
        wrong, right = await doctor.check_models(settings(text, OPENAI_API_KEY="hush-hush"))
    assert (len(first.requests), len(second.requests)) == (1, 1)
    assert not wrong.ok
    assert right.ok
    assert right.facts["snapshot"] == "m-2026"
    assert right.problems == ("it answers as m-2026; pin that name in the config, so that a new one shows",)
    assert "hush-hush" not in wrong.model_dump_json() + right.model_dump_json()
