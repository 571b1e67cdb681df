"""What an operator sees without looking: exit code 3, a webhook, spans and figures at a collector, JSON logs."""

import asyncio
import json
from datetime import UTC, datetime, timedelta

import pytest

from tests.acceptance.command import User
from tests.servers.collector import Collector
from tests.servers.failing import FailingServer, Reply
from tests.servers.openai import OpenAIServer, Say

FORCED = ("--from", "2026-01-01", "--to", "2100-01-01")
TRUE, FALSE = "Refunds are paid within 30 days.", "Refunds are paid within 90 days."
MARKED = "Jana Beispiel"


def records(*answers: str) -> str:
    moment = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
    rows = (
        {
            "id": f"case-{number}",
            "question": f"What does {MARKED} get?",
            "documents": [{"id": "d1", "text": f"{TRUE} {MARKED} asked."}],
            "answer": f"{answer} {MARKED} asked.",
            "time": moment,
            "report": {"score": 0, "comment": f"{MARKED} is cross"},
        }
        for number, answer in enumerate(answers)
    )
    return "\n".join(map(json.dumps, rows)) + "\n"


def configure(user: User, *answers: str, **settings) -> None:
    (user.folder / "traces.jsonl").write_text(records(*answers))
    user.configure(
        connections={"files": {"kind": "files", "paths": ["traces.jsonl"], "output": "annotations.jsonl"}},
        jobs={"nightly": {"connection": "files", "rules": [{"name": "all"}]}},
        **settings,
    )


async def test_a_breach_ends_with_3_is_told_once_and_stays_in_the_report(user):
    async with FailingServer(Reply(body="ok")) as receiver:
        alerts = {"contradicted": 0.3, "min_items": 2, "webhooks": [{"url": receiver.base_url, "form": "slack"}]}
        configure(user, TRUE, FALSE, FALSE, alerts=alerts)
        first = await user.run(*FORCED)
        assert first.code == 3, first.err
        assert "66.7% of 3 answers contradict a document" in first.out
        assert len(receiver.asked) == 1
        configure(user, TRUE, FALSE, FALSE, FALSE, alerts=alerts)
        second = await user.run(*FORCED, "--json")
        assert second.code == 0
        assert second.json["alerts"][0]["is_new"] is False
        assert len(receiver.asked) == 1
        shown = await user.enricher("report", "-c", "enricher.yaml")
        assert "contradict a document" in shown.out
        assert "since" in shown.out


async def test_spans_and_figures_of_a_run_reach_a_collector_without_texts(user):
    async with Collector() as collector, OpenAIServer().running() as model:
        configure(
            user,
            TRUE,
            FALSE,
            engine="openai",
            openai={"base_url": model.url, "model": "judge-2026-01-01"},
            telemetry={"endpoint": collector.url},
        )
        finished = await user.run(*FORCED)
        assert finished.code == 0, finished.err
    kinds = [span["attributes"]["openinference.span.kind"] for span in collector.spans]
    assert sorted(kinds) == ["EVALUATOR", "EVALUATOR", "LLM", "LLM"]
    assert {span["attributes"].get("enricher.judged_trace_id") for span in collector.spans} > {"case-0", "case-1"}
    assert collector.named("enricher_traces_pulled")[-1]["value"] == 2
    assert collector.named("enricher_last_success_timestamp_seconds")
    assert MARKED.encode() not in collector.bodies


async def test_a_collector_that_is_away_costs_nothing_but_a_log_line(user):
    configure(user, TRUE, telemetry={"endpoint": "http://127.0.0.1:9", "timeout": "1s"})
    finished = await user.run(*FORCED, "--json")
    assert finished.code == 0, finished.err
    assert finished.json["scored"] == 1
    assert MARKED not in finished.err


@pytest.mark.parametrize("how", ["config", "option", "environment"])
async def test_logs_are_json_lines_about_run_and_trace_without_texts(user, how):
    async with OpenAIServer().script(Say(f"{MARKED}: no json")).running() as model:
        logs = {"logs": "json"} if how == "config" else {}
        openai = {"base_url": model.url, "model": "judge-2026-01-01"}
        configure(user, TRUE, FALSE, engine="openai", openai=openai, log_level="debug", **logs)
        before = ("--log-format", "json") if how == "option" else ()
        env = {"ENRICHER_LOGS": "json"} if how == "environment" else {}
        finished = await user.enricher(*before, "run", "-c", "enricher.yaml", *FORCED, **env)
    assert finished.code == 1
    lines = [json.loads(line) for line in finished.err.splitlines()]
    assert {line["trace_id"] for line in lines if "trace_id" in line} == {"case-0", "case-1"}
    assert len({line["run_id"] for line in lines if "trace_id" in line}) == 1
    assert all(datetime.fromisoformat(line["time"]) for line in lines)
    assert MARKED not in finished.err


async def test_a_wrong_log_format_is_refused(user):
    configure(user, TRUE)
    finished = await user.enricher("--log-format", "xml", "run", "-c", "enricher.yaml")
    assert "use one of text, json" in finished.complaint


async def test_metrics_are_served_by_a_process_that_ran_nothing(user):
    configure(user, TRUE, FALSE)
    assert (await user.run(*FORCED)).code == 0
    process = user.start("serve", "-c", "enricher.yaml", "--port", "0", is_fresh=True)
    try:
        for _ in range(600):
            if "listening on " in (said := process.files[1].read_text()):
                break
            await asyncio.sleep(0.1)
        url = said.partition("listening on ")[2].partition(";")[0]
        host, port = url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        answer = (await reader.read()).decode()
        writer.close()
    finally:
        process.send(15)
        await process.wait()
    assert 'enricher_traces_pulled_total{job="nightly"} 2' in answer
    assert MARKED not in answer
