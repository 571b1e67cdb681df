"""Figures for Prometheus: they come from the store, count each run once, and hold no text of a trace."""

import asyncio
from datetime import timedelta

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from enricher.metrics import Metrics, metrics_text
from enricher.serve.serving import serve
from enricher.serve.site import Site
from enricher.settings import Settings
from enricher.store import RunState, Store
from enricher.trace import TraceId, TraceRef
from enricher.verdict import Status
from tests.doubles import START
from tests.test_run import World


@pytest.fixture
async def world(tmp_path):
    async with await Store.open(f"sqlite:///{tmp_path / 'store.db'}") as store:
        yield World(store)


def _values(text: str) -> dict[str, float]:
    """Read the text with the format's own parser."""
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = ",".join(f"{name}={value}" for name, value in sorted(sample.labels.items()))
            found[f"{sample.name} {labels}".strip()] = sample.value
    return found


async def test_the_figures_of_runs_add_up(world):
    world.platform.add("good")
    world.platform.add("bad", answer="The notice period is ninety days.")
    world.platform.add("broken")
    world.judge.script = {"broken": Status.JUDGE_TRUNCATED}
    await world.run()
    world.now += timedelta(hours=1)
    world.platform.add("new", at=world.now - timedelta(minutes=5))
    await world.run()

    values = _values(await metrics_text(world.store))

    assert values["enricher_runs_total job=nightly,state=completed"] == 2
    assert values["enricher_traces_pulled_total job=nightly"] == 4
    assert values["enricher_judged_total job=nightly,judge=diff,status=OK"] == 3
    assert values["enricher_judged_total job=nightly,judge=diff,status=JUDGE_TRUNCATED"] == 1
    assert values["enricher_findings_total issue_type=CONTRADICTED,job=nightly"] == 1
    assert values["enricher_model_calls_total job=nightly"] == 4
    assert values["enricher_score_count job=nightly,judge=diff"] == 3
    assert values["enricher_score_sum job=nightly,judge=diff"] == 2
    assert values["enricher_score_bucket job=nightly,judge=diff,le=0.1"] == 1
    assert values["enricher_score_bucket job=nightly,judge=diff,le=0.9"] == 1
    assert values["enricher_score_bucket job=nightly,judge=diff,le=1"] == 3
    assert values["enricher_score_bucket job=nightly,judge=diff,le=+Inf"] == 3
    assert values["enricher_queue queue=reviews"] == 1
    assert values["enricher_last_success_timestamp_seconds job=nightly"] == world.now.timestamp()
    assert values["enricher_delivery_lag_seconds job=nightly,of=max"] >= 0


async def test_rejections_are_counted_by_reason(world):
    world.platform.add("gone")
    await world.run()
    del world.platform.traces["gone"]
    run = world.new_run(trace_ids=("gone",))
    world.platform.find = _finds_gone
    await run.execute()
    values = _values(await metrics_text(world.store))
    assert values["enricher_rejected_total job=nightly,reason=trace_gone"] == 1
    assert values["enricher_traces_pulled_total job=nightly"] == 1


async def _finds_gone(query):
    yield TraceRef(connection="memory", project="p", trace_id=TraceId("gone"), rules=(query.rule,), start_time=START)


async def test_each_run_is_counted_once_however_often_the_figures_are_asked_for(world):
    metrics = Metrics(world.store)
    for number in range(3):
        world.platform.add(f"t{number}", at=world.now - timedelta(minutes=1))
        await world.run()
        for _ in range(2):
            values = _values(await metrics.text())
        assert values["enricher_traces_pulled_total job=nightly"] == number + 1
        world.now += timedelta(hours=2)
    assert _values(await metrics.text()) == _values(await metrics_text(world.store))


async def test_a_failed_run_is_no_success(world):
    run = await world.store.start_run("nightly")
    await world.store.finish_run(run, RunState.FAILED, counters={})
    values = _values(await metrics_text(world.store))
    assert values["enricher_runs_total job=nightly,state=failed"] == 1
    assert "enricher_last_success_timestamp_seconds job=nightly" not in values


async def test_no_text_and_no_id_of_a_trace_is_in_the_figures(world):
    world.platform.add("t-secret-id", answer="Jana Beispiel gets ninety days.")
    await world.run()
    text = await metrics_text(world.store)
    assert "Jana" not in text
    assert "t-secret-id" not in text


async def test_an_empty_store_has_figures_too(world):
    assert _values(await metrics_text(world.store)) == {
        "enricher_queue queue=reviews": 0,
        "enricher_queue queue=hints": 0,
    }


async def test_serve_answers_on_metrics(world):
    world.platform.add("t1")
    await world.run()
    ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    stop = asyncio.Event()
    serving = asyncio.create_task(serve(Site.of(world.store, Settings()), port=0, stop=stop, ready=ready.set_result))
    async with httpx.AsyncClient() as client:
        answer = await client.get(f"{await ready}/metrics")
    stop.set()
    await serving
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert _values(answer.text)["enricher_traces_pulled_total job=nightly"] == 1
