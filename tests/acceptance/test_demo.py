"""The demo: the front door, with a Phoenix of its own."""

import asyncio
import os
import re
import signal
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from enricher.demo import phoenix
from enricher.demo.show import run_demo
from enricher.demo.stage import PROJECT
from enricher.phoenix_server import PhoenixServer
from tests.acceptance.command import until
from tests.browser import chromium, window


@pytest.fixture
def bytecode() -> dict[str, str]:
    """Return the setting that lets Phoenix find its compiled modules where this user keeps them."""
    return {"XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")}


async def test_the_demo_prints_its_report_as_json_and_nothing_else(user, bytecode):
    done = await user.enricher("demo", "--once", "--json", is_fresh=True, **bytecode)
    report = done.json
    assert done.code == 0, (report["problems"], done.err)
    assert report["state"] == "finished"
    assert report["pulled"] >= 18
    assert sum(report["rejected"].values()) >= 1
    assert report["pulled"] == report["scored"] + report["no_claims"] + sum(report["rejected"].values())
    assert report["written"] == report["confirmed"] > report["scored"]
    assert (report["failed"], report["unwritten"], report["undelivered"], report["problems"]) == ({}, 0, 0, [])
    assert {"contradicted", "faithful"} <= set(report["labels"])
    assert any(finding["reported"] for finding in report["findings"])
    assert done.err.startswith("Phoenix is up at http://127.0.0.1:")
    assert list(user.folder.iterdir()) == [user.folder / ".calls"]  # nothing is left behind


async def test_a_demo_that_is_stopped_early_leaves_no_phoenix_behind(user, bytecode):
    demo = user.start("demo", is_fresh=True, **bytecode)
    children = Path(f"/proc/{demo.pid}/task/{demo.pid}/children")
    await until(children.read_text)
    (server,) = (int(pid) for pid in children.read_text().split())
    await asyncio.sleep(0.5)
    demo.send(signal.SIGTERM)
    stopped = await demo.wait(within_s=30)
    assert stopped.code == 1
    assert stopped.err == "enricher: stopped before the end\n"
    assert not Path(f"/proc/{server}").exists()


@dataclass
class Borrowed:
    """The Phoenix of the test session, which the demo must not end."""

    server: PhoenixServer
    stops: list[str] = field(default_factory=list)

    @property
    def base_url(self) -> str:
        return self.server.base_url

    async def stop(self) -> None:
        self.stops.append("stopped")


@pytest.fixture
def borrowed(phoenix_server, monkeypatch) -> Borrowed:
    borrowed = Borrowed(phoenix_server)

    async def start(**_) -> Borrowed:
        return borrowed

    monkeypatch.setattr(phoenix, "start_phoenix", start)
    return borrowed


async def decide_in_browser(url):
    async with chromium() as browser, window(browser, url) as desk:
        await desk.page.goto("/queue")
        await desk.page.keyboard.press("j")
        await desk.page.keyboard.press("1")
        await desk.page.get_by_text("1 item confirmed.").wait_for()
        assert desk.complaints == []


async def test_the_demo_shows_the_worst_diff_and_lets_people_decide_until_ctrl_c(borrowed, capsys):
    demo = asyncio.create_task(run_demo(platform="phoenix", once=False, as_json=False))
    out = ""
    while "Ctrl-C ends the demo" not in out:
        assert not demo.done(), out
        await asyncio.sleep(0.1)
        out += capsys.readouterr().out
    for part in ("answers leave their context", "reported", "The worst one", "Question", "contradicted", "✓ “"):
        assert part in out, part
    assert f"{borrowed.base_url}/projects" in out
    async with httpx.AsyncClient(base_url=borrowed.base_url) as person:
        where = f"/v1/projects/{PROJECT}/spans"
        spans = (await person.get(where, params={"limit": "1000"})).json()["data"]
        ids = [("span_ids", span["context"]["span_id"]) for span in spans if span["parent_id"] is None]
        rows = (await person.get(f"{where[:-5]}span_annotations", params=[*ids, ("limit", "1000")])).json()["data"]
        assert sum(row["name"] == "context_diff" for row in rows) >= 10
        await decide_in_browser(re.search(r"(http\S+)/queue", out)[1])
        async with asyncio.timeout(60):
            while True:
                params = [*ids, ("limit", "1000")]
                rows = (await person.get(f"{where[:-5]}span_annotations", params=params)).json()["data"]
                if decided := [row for row in rows if row["identifier"].startswith("trace-enricher/review/")]:
                    break
                await asyncio.sleep(0.1)
    assert [(row["name"], row["annotator_kind"]) for row in decided] == [("context_diff", "HUMAN")]
    assert borrowed.stops == []
    os.kill(os.getpid(), signal.SIGINT)
    assert await demo == 0
    assert borrowed.stops == ["stopped"]


async def test_the_demo_runs_on_the_stand_in_of_langsmith_too(user):
    done = await user.enricher("demo", "--platform", "langsmith", "--once", "--json")
    report = done.json
    assert done.code == 0, (report["problems"], done.err)
    assert report["scored"] >= 5
    assert report["written"] == report["confirmed"] > 0
    assert any(finding["reported"] for finding in report["findings"])
    assert "phoenix or langsmith" in (await user.enricher("demo", "--platform", "opik")).complaint
