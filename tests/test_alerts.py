"""Alerts: which rate passes its threshold, who is told, and how often."""

import hmac
import json
from dataclasses import replace
from datetime import timedelta

import pytest
from pydantic import SecretStr

from enricher import alerts, webhooks
from enricher.errors import SetupError
from enricher.metering import BUCKETS
from enricher.report import RunReport
from enricher.settings import Alerts, Webhook, load
from enricher.store import RunState, Store
from enricher.store.gauges import FinishedRun
from tests.doubles import START
from tests.servers.failing import FailingServer, Reply

OK = Reply(body="ok", headers={"content-type": "text/plain"})


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch):
    async def at_once(_seconds: float) -> None:
        return None

    monkeypatch.setattr(webhooks.asyncio, "sleep", at_once)


def _figures(
    count: int = 100, *, unsupported: int = 0, contradicted: int = 0, failed: int = 0, rejected: int = 0,
    refused: int = 0, disputed: int = 0, score: float = 1.0, version: str = "diff/v1",
) -> dict:  # fmt: skip
    buckets = [0.0] * len(BUCKETS)
    buckets[next(i for i, bound in enumerate(BUCKETS) if score <= bound)] = count
    return {
        "items": count + failed,
        "answers": {"judged": count, "unsupported": unsupported, "contradicted": contradicted},
        "judged": {"diff": {"OK": count, "JUDGE_TRUNCATED": failed, "JUDGE_REFUSED": refused}},
        "second_check": {"agrees": 100 - disputed, "disagrees": disputed},
        "rejected": {"no_context": rejected} if rejected else {},
        "scores": {"diff": [*buckets, score * count]},
        "versions": [version],
    }


def _run(number: int = 0, **figures) -> FinishedRun:
    moment = START - timedelta(days=number)
    return FinishedRun(
        id=f"r{number}",
        job="nightly",
        state=RunState.COMPLETED,
        started_at=moment,
        finished_at=moment,
        counters=_figures(**figures),
    )


@pytest.mark.parametrize(
    ("rule", "figures", "value"),
    [
        ("unsupported", {"unsupported": 20}, 0.2),
        ("contradicted", {"contradicted": 20}, 0.2),
        ("failed", {"failed": 25}, 0.2),
        ("rejected", {"rejected": 25}, 0.2),
        ("refused", {"refused": 25}, 0.2),
        ("disputed", {"disputed": 20}, 0.2),
    ],
)
def test_a_rate_above_its_threshold_is_a_breach_and_one_at_it_is_none(rule, figures, value):
    (alert,) = alerts.measure([_run(**figures)], Alerts.model_validate({rule: 0.19}))
    assert alert.rule == rule
    assert alert.value == pytest.approx(value)
    assert alert.is_breached
    (alert,) = alerts.measure([_run(**figures)], Alerts.model_validate({rule: 0.2}))
    assert not alert.is_breached


def test_scores_that_spread_otherwise_are_a_shift_unless_chance_explains_it():
    section = Alerts(shift=0.2)
    before = [_run(number, score=0.95) for number in (1, 2)]
    (alert,) = alerts.measure([_run(0, score=0.05), *before], section)
    assert alert.is_breached
    assert "stability index" in alert.sentence
    (alert,) = alerts.measure([_run(0, score=0.95), *before], section)
    assert alert.value == 0.0
    small = [_run(number, count=21, score=0.95) for number in (1, 2)]
    mixed = _figures(21, score=0.95)
    mixed["scores"]["diff"][0], mixed["scores"]["diff"][9] = 2, 19
    few = replace(_run(0), counters=mixed)
    assert alerts.measure([few, *small], section)[0].value == 0.0
    other = [_run(number, score=0.95, version="diff/v0") for number in (1, 2)]
    assert alerts.measure([_run(0, score=0.05), *other], section) == []


def test_without_thresholds_nothing_is_measured():
    assert alerts.measure([_run(failed=100)], Alerts()) == []


def test_too_few_items_say_nothing():
    section = Alerts(unsupported=0.1, min_items=20)
    assert alerts.measure([_run(count=19, unsupported=19)], section) == []
    assert len(alerts.measure([_run(count=20, unsupported=19)], section)) == 1


def test_the_runs_of_the_window_are_taken_together_and_empty_runs_are_none():
    runs = [_run(0, count=10, contradicted=10), _run(1, count=0), _run(2, count=90), _run(3, contradicted=100)]
    runs[1] = FinishedRun(
        id="e", job="nightly", state=RunState.FAILED, started_at=START, finished_at=START, counters={}
    )  # fmt: skip
    (alert,) = alerts.measure(runs, Alerts(contradicted=0.05, window=2))
    assert (alert.value, alert.items) == (0.1, 100)


def test_what_a_budget_left_is_no_failure():
    figures = _figures()
    figures["judged"]["diff"]["BUDGET_EXCEEDED"] = 900
    run = FinishedRun(
        id="r", job="n", state=RunState.COMPLETED, started_at=START, finished_at=START, counters=figures
    )  # fmt: skip
    (alert,) = alerts.measure([run], Alerts(failed=0.0))
    assert alert.value == 0


@pytest.mark.parametrize(("score", "moved"), [(0.7, 0.2), (0.9, 0.0), (1.0, 0.1)])
def test_drift_is_measured_against_the_runs_before_in_either_direction(score, moved):
    runs = [_run(0, score=score), *(_run(n, score=0.9) for n in range(1, 15)), _run(15, score=0.1)]
    (alert,) = alerts.measure(runs, Alerts(drift=0.05))
    assert alert.value == pytest.approx(moved)


def test_another_judge_version_is_no_drift():
    runs = [_run(0, score=0.5, version="diff/v2"), *(_run(n, score=0.9) for n in range(1, 15))]
    assert alerts.measure(runs, Alerts(drift=0.05)) == []


def test_drift_needs_runs_to_compare_with():
    assert alerts.measure([_run(0, score=0.1), _run(1)], Alerts(drift=0.05)) == []


# telling


@pytest.fixture
async def store(tmp_path):
    async with await Store.open(f"sqlite:///{tmp_path / 'store.db'}") as opened:
        yield opened


async def _ended(store: Store, section: Alerts, **figures) -> RunReport:
    run = await store.start_run("nightly")
    report = RunReport(run_id=run, job="nightly", state="finished", started=START, finished=START)
    await store.finish_run(run, RunState.COMPLETED, counters=_figures(**figures), report=report.model_dump(mode="json"))
    return await alerts.follow(store, section, report)


async def test_each_breach_is_told_once_and_again_after_it_was_over(store):
    async with FailingServer(OK) as receiver:
        section = Alerts(failed=0.1, webhooks=(Webhook(url=f"{receiver.base_url}/hook"),))
        told = []
        for failed in (50, 60, 0, 0, 50):
            report = await _ended(store, section, failed=failed)
            told.append(([(alert.rule, alert.is_new) for alert in report.alerts], len(receiver.asked)))
    assert told == [
        ([("failed", True)], 1),
        ([("failed", False)], 1),
        ([], 1),
        ([], 1),
        ([("failed", True)], 2),
    ]


async def test_the_generic_form_is_signed_and_the_receiver_can_check_it(store):
    async with FailingServer(OK) as receiver:
        hook = Webhook(url=receiver.base_url, secret_env="S").model_copy(update={"secret": SecretStr("s3cret")})
        report = await _ended(store, Alerts(rejected=0.1, webhooks=(hook,)), rejected=50)
        (asked,) = receiver.asked
    moment, _, signature = asked.headers["x-enricher-signature"].partition(",v1=")
    expected = hmac.digest(b"s3cret", moment.removeprefix("t=").encode() + b"." + asked.body, "sha256").hex()
    assert hmac.compare_digest(signature, expected)
    body = asked.json()
    assert (body["event"], body["job"], body["run_id"]) == ("alert", "nightly", report.run_id)
    assert body["alerts"][0]["rule"] == "rejected"
    assert body["alerts"][0]["threshold"] == 0.1
    assert body["alerts"][0]["sentence"] == report.alerts[0].sentence


async def test_the_slack_form_is_one_text(store):
    async with FailingServer(OK) as receiver:
        section = Alerts(failed=0.1, contradicted=0.1, webhooks=(Webhook(url=receiver.base_url, form="slack"),))
        await _ended(store, section, failed=50, contradicted=50)
        (asked,) = receiver.asked
    assert set(asked.json()) == {"text"}
    text = asked.json()["text"]
    assert "job nightly" in text
    assert "33.3% of 150 judgements failed" in text
    assert "50.0% of 100 answers contradict" in text


async def test_a_receiver_that_stumbles_is_asked_again_in_the_same_run(store):
    answers = [Reply(status=503), Reply(resets=True), OK]
    async with FailingServer(lambda _: answers.pop(0)) as receiver:
        report = await _ended(store, Alerts(failed=0.1, webhooks=(Webhook(url=receiver.base_url),)), failed=50)
        assert len(receiver.asked) == 3
    assert report.problems == ()


async def test_a_receiver_that_is_down_is_told_by_the_next_run_and_the_others_are_not_told_twice(store):
    down = Reply(status=500)
    async with FailingServer(OK) as well, FailingServer(lambda _: down) as ill:
        hooks = (Webhook(url=f"{ill.base_url}/services/T000/SECRET"), Webhook(url=well.base_url))
        section = Alerts(failed=0.1, webhooks=hooks)
        report = await _ended(store, section, failed=50)
        assert "webhook 0 was not told of failed: it answered 500" in report.problems
        assert "SECRET" not in json.dumps(report.model_dump(mode="json"))
        assert (len(ill.asked), len(well.asked)) == (3, 1)
        down = OK
        report = await _ended(store, section, failed=50)
        assert (len(ill.asked), len(well.asked)) == (4, 1)
        assert report.problems == ()
        await _ended(store, section, failed=50)
        assert (len(ill.asked), len(well.asked)) == (4, 1)


async def test_a_refusal_is_not_repeated(store):
    async with FailingServer(Reply(status=404)) as receiver:
        report = await _ended(store, Alerts(failed=0.1, webhooks=(Webhook(url=receiver.base_url),)), failed=50)
        assert len(receiver.asked) == 1
    assert "404" in report.problems[0]


async def test_the_stored_report_holds_the_alert(store):
    report = await _ended(store, Alerts(failed=0.1), failed=50)
    record = await store.run(report.run_id)
    assert record is not None
    assert RunReport.model_validate(record.report) == report
    assert report.alerts[0].is_new


async def test_an_alert_whose_threshold_is_taken_out_is_lowered(store):
    await _ended(store, Alerts(failed=0.1), failed=50)
    await _ended(store, Alerts(unsupported=0.1), failed=50)
    assert (await _ended(store, Alerts(failed=0.1), failed=50)).alerts[0].is_new


async def test_too_few_items_do_not_lower_an_alert(store):
    await _ended(store, Alerts(failed=0.1), failed=50)
    await _ended(store, Alerts(failed=0.1), count=1)
    assert not (await _ended(store, Alerts(failed=0.1), failed=50)).alerts[0].is_new


def test_a_url_that_is_a_secret_comes_from_the_environment(tmp_path):
    path = tmp_path / "enricher.yaml"
    path.write_text("alerts: {webhooks: [{url_env: HOOK, form: slack}]}\n")
    (hook,) = load(path, {"HOOK": "https://hooks.example.com/T0/B0/x"}).alerts.webhooks
    assert hook.secret_url is not None
    assert "B0" not in repr(hook)
    with pytest.raises(SetupError, match="set the environment variable HOOK"):
        load(path, {})


@pytest.mark.parametrize(
    ("hook", "complaint"),
    [
        ("{}", "give either url or url_env"),
        ("{url: 'http://127.0.0.1:1', url_env: Y}", "give either url or url_env"),
        ("{url: 'http://x', form: teams}", "slack"),
        ("{url: 'http://x', secret: abc}", "secrets are not read from the file"),
    ],
)
def test_a_wrong_webhook_is_refused(tmp_path, hook, complaint):
    path = tmp_path / "enricher.yaml"
    path.write_text(f"alerts: {{webhooks: [{hook}]}}\n")
    with pytest.raises(SetupError, match=complaint):
        load(path, {})


def test_local_only_refuses_webhooks_elsewhere(tmp_path):
    path = tmp_path / "enricher.yaml"
    path.write_text("local_only: true\nalerts: {webhooks: [{url: 'http://chat.internal:8080/x'}]}\n")
    with pytest.raises(SetupError, match=r"alerts\.webhooks\.0: local_only"):
        load(path, {})
    path.write_text(path.read_text() + "privacy: {allowed_hosts: ['chat.internal:8080']}\n")
    assert load(path, {}).local_only
