"""A scheduled job that fails or is missed: who is told of it, how often, and what monitors see."""

import logging
from datetime import timedelta

import pytest

from enricher import webhooks
from enricher.errors import SetupError
from enricher.metrics import metrics_text
from enricher.schedule import Alerting, Schedule
from enricher.settings import Alerts, Webhook
from tests.servers.failing import FailingServer, Reply
from tests.test_schedule import A_DAY, NIGHT, idle, world

OK = Reply(body="ok", headers={"content-type": "text/plain"})
__all__ = ["world"]


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch):
    async def at_once(_seconds: float) -> None:
        return None

    monkeypatch.setattr(webhooks.asyncio, "sleep", at_once)


async def kept(world, work, section: Alerts):
    """Return a process that keeps one entry and tells the webhooks of a section."""
    process = await world.process(entries=[idle(work=work, cron="0 2 * * *", grace="6h")])
    watchers = [process.heard, Alerting(process.app.store, lambda: section)]
    process.schedule = Schedule(process.app.store, process.entries, watchers=watchers)
    return process


async def test_a_job_that_goes_on_failing_is_told_once_and_again_after_it_was_well(world):
    problem = "the key is wrong"

    async def work(stop):
        if problem:
            raise SetupError(problem)
        return await idle().work(stop)

    async with FailingServer(OK) as receiver:
        process = await kept(world, work, Alerts(webhooks=(Webhook(url=receiver.base_url),)))
        told, well = [], []
        for night, problem in enumerate(("the key is wrong", "the key is wrong", "", "the store is full")):  # noqa: B007
            await process.at(NIGHT + night * A_DAY)
            told.append(len(receiver.asked))
            well.append('enricher_job_well{job="idle"} 1' in await metrics_text(process.app.store))
    assert told == [1, 1, 1, 2]
    assert well == [False, False, True, False]
    body = receiver.asked[0].json()
    assert (body["event"], body["job"], body["alerts"][0]["rule"]) == ("alert", "idle", "schedule")
    assert body["alerts"][0]["sentence"] == "the job failed: the key is wrong"


async def test_a_missed_run_is_told_and_a_receiver_that_was_down_hears_of_it_at_the_next_one(world, caplog):
    async def failing(stop):
        raise SetupError("the key is wrong")

    answer = Reply(status=500)
    async with FailingServer(lambda _: answer) as receiver:
        section = Alerts(webhooks=(Webhook(url=receiver.base_url, form="slack"),))
        process = await kept(world, failing, section)
        await process.at(NIGHT - timedelta(minutes=30))
        await process.at(NIGHT + timedelta(hours=7))
        assert process.heard.missed == [NIGHT]
        text = receiver.asked[-1].json()["text"]
        assert text.startswith("*Trace Enricher, job idle*\n")
        assert f"the run that was due at {NIGHT.isoformat()} was missed" in text
        assert [r.message for r in caplog.records if "webhook" in r.message and r.levelno == logging.ERROR]
        tried, answer = len(receiver.asked), OK
        await process.at(NIGHT + A_DAY)
        await process.at(NIGHT + 2 * A_DAY)
    assert len(receiver.asked) == tried + 1


async def test_a_run_that_came_to_its_end_tells_nobody(world):
    async with FailingServer(OK) as receiver:
        process = await kept(world, idle().work, Alerts(webhooks=(Webhook(url=receiver.base_url),)))
        await process.at(NIGHT)
    assert receiver.asked == []
    assert 'enricher_job_well{job="idle"} 1' in await metrics_text(process.app.store)
