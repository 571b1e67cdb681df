"""A report is sent when a run ends; one that does not arrive has a name and a reason, and costs the run nothing."""

import hmac
import json

import pytest
from pydantic import SecretStr

from enricher import webhooks
from enricher.conclusion import conclude
from enricher.errors import SetupError
from enricher.report import ReportState, RunReport
from enricher.settings import Job, Settings, Webhook, load
from tests.reporting.samples import PHOENIX, Case, night
from tests.servers.failing import FailingServer, Reply

OK = Reply(body="ok", headers={"content-type": "text/plain"})
WRONG = Case(trace="t1", status="CONTRADICTED", answer="Within <90> days.\u202e", question="<b>When</b>?")


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch):
    async def at_once(_seconds: float) -> None:
        return None

    monkeypatch.setattr(webhooks.asyncio, "sleep", at_once)


async def ended(store, clock, *hooks):
    """Run a night whose job sends its report to these webhooks."""
    settings = Settings(connections=dict(PHOENIX), jobs={"nightly": Job(send_report=hooks)})
    return await conclude(settings, store, None, await night(store, clock, WRONG))


async def test_the_whole_report_is_sent_signed_with_the_page(store, clock):
    async with FailingServer(OK) as receiver:
        hook = Webhook(url=receiver.base_url, secret_env="S").model_copy(update={"secret": SecretStr("s3cret")})
        report = await ended(store, clock, hook)
        (asked,) = receiver.asked
    moment, _, signature = asked.headers["x-enricher-signature"].partition(",v1=")
    expected = hmac.digest(b"s3cret", moment.removeprefix("t=").encode() + b"." + asked.body, "sha256").hex()
    assert hmac.compare_digest(signature, expected)
    body = asked.json()
    assert (body["event"], body["job"], body["run_id"]) == ("report", "nightly", report.run_id)
    assert body["headline"]["sentence"] == "The one answer leaves its context; documents contradict it"
    assert body["report"]["ranked"][0]["statements"][0]["text"] == WRONG.answer
    assert body["html"].startswith("<!DOCTYPE html>")
    assert "<b>" not in body["html"]
    assert [(one.webhook, one.state, one.reason) for one in report.sent] == [(0, ReportState.DELIVERED, "")]
    assert report.warnings == ()


async def test_the_slack_form_is_one_text_in_which_traces_mean_nothing(store, clock):
    async with FailingServer(OK) as receiver:
        await ended(store, clock, Webhook(url=receiver.base_url, form="slack"))
        (asked,) = receiver.asked
    text = asked.json()["text"]
    assert set(asked.json()) == {"text"}
    assert "The one answer leaves its context" in text
    assert "“Within &lt;90&gt; days.⟦U+202E⟧”" in text
    assert "<http://phoenix.test:6006/redirects/spans/t1-root|t1>" in text


async def test_a_receiver_that_is_down_leaves_the_run_clean_and_says_why(store, clock):
    async with FailingServer(Reply(status=500)) as ill, FailingServer(OK) as well:
        secret = f"{ill.base_url}/services/T000/SECRET"
        report = await ended(store, clock, Webhook(url=secret), Webhook(url=well.base_url))
        assert (len(ill.asked), len(well.asked)) == (3, 1)
    assert report.state == "finished"
    assert report.is_clean
    assert [(one.webhook, one.state) for one in report.sent] == [(0, "REPORT_UNDELIVERED"), (1, "REPORT_DELIVERED")]
    assert report.sent[0].reason == "it answered 500"
    assert report.warnings == ("the report did not reach webhook 0: it answered 500",)
    kept = RunReport.model_validate((await store.run(report.run_id)).report)
    assert kept.sent == report.sent
    assert "SECRET" not in json.dumps(kept.model_dump(mode="json"))


async def test_what_local_only_refuses_is_a_report_that_did_not_arrive(store, clock, monkeypatch):
    async def refused(*_args, **_more):
        raise SetupError("local_only: a connection to hooks.test was refused; it is not the platform's")

    monkeypatch.setattr(webhooks.httpx.AsyncClient, "post", refused)
    report = await ended(store, clock, Webhook(url="http://hooks.test/x"))
    assert report.sent[0].state is ReportState.UNDELIVERED
    assert "local_only" in report.sent[0].reason


async def test_without_webhooks_nothing_is_sent(store, clock):
    report = await ended(store, clock)
    assert report.sent == ()


def test_the_address_can_be_a_secret_and_must_be_set(tmp_path, monkeypatch):
    config = tmp_path / "enricher.yaml"
    config.write_text("jobs: {nightly: {send_report: [{url_env: HOOK, form: slack}]}}")
    with pytest.raises(SetupError, match="set the environment variable HOOK"):
        load(config)
    monkeypatch.setenv("HOOK", "https://hooks.slack.com/services/T/B/X")
    (hook,) = load(config).jobs["nightly"].send_report
    assert hook.secret_url.get_secret_value().endswith("/T/B/X")
