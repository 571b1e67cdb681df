"""Telemetry against a real collector's protocol: what is sent, where it hangs together, and that no text is in it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import SecretStr

from enricher.errors import SetupError
from enricher.judges.chat import Chat, ChatOptions
from enricher.judges.diff import ModelDiffJudge
from enricher.pipeline import Judging, Pipeline
from enricher.prompts import load as load_prompt
from enricher.seams import Unwatched, Watch
from enricher.settings import Telemetry as Section
from enricher.settings import load
from enricher.telemetry import Telemetry
from enricher.trace import RawTrace, TraceId, TraceRef
from tests.doubles import rag_spans
from tests.servers.collector import Collector
from tests.servers.failing import Reply
from tests.servers.openai import OpenAIServer, Say

ROOT = Path(__file__).parent.parent
ANSWER = "Jana Beispiel gives ninety days of notice."


@pytest.fixture
async def collector():
    async with Collector() as running:
        yield running


@pytest.fixture
async def model():
    async with OpenAIServer().running() as running:
        yield running


async def _never(*_: object) -> None:
    return None


async def _judge(telemetry: Telemetry, model: OpenAIServer) -> None:
    chat = Chat(ChatOptions(base_url=model.url, model="m-2026"), watch=telemetry.called)
    judge = ModelDiffJudge(chat, load_prompt("diff@v2"))
    pipeline = Pipeline(judges=[Judging(judge=judge)], recall=_never, watch=telemetry)
    ref = TraceRef(connection="c", project="judged-project", trace_id=TraceId("t-1"))
    await pipeline.enrich(RawTrace(ref=ref, spans=rag_spans("t-1", answer=ANSWER)))
    await judge.aclose()


def _section(collector: Collector, **fields) -> Section:
    return Section.model_validate({"endpoint": collector.url, "timeout": "2s", **fields})


def test_both_watches_keep_to_the_seam():
    assert isinstance(Unwatched(), Watch)
    assert issubclass(Telemetry, Watch)


async def test_a_judgement_is_an_evaluator_span_with_its_model_calls_below(collector, model):
    telemetry = Telemetry(_section(collector), version="1")
    await _judge(telemetry, model)
    await telemetry.aclose()

    (judged,) = (span for span in collector.spans if span["name"] == "judge diff")
    (asked,) = (span for span in collector.spans if span["name"] == "ask m-2026")
    assert judged["attributes"]["openinference.span.kind"] == "EVALUATOR"
    assert judged["attributes"]["enricher.judged_trace_id"] == "t-1"
    assert judged["attributes"]["enricher.status"] == "OK"
    assert judged["parent"] == ""
    assert asked["attributes"]["openinference.span.kind"] == "LLM"
    assert (asked["parent"], asked["trace"]) == (judged["id"], judged["trace"])
    assert asked["attributes"]["llm.token_count.prompt"] > 0
    assert 0 < asked["seconds"] <= judged["seconds"] + 0.01
    assert collector.resources[0]["openinference.project.name"] == "trace-enricher"


async def test_no_text_leaves_unless_asked_and_all_of_it_when_asked(collector, model):
    silent = Telemetry(_section(collector), version="1")
    await _judge(silent, model)
    await silent.aclose()
    assert collector.spans
    assert b"Jana" not in collector.bodies
    assert b"sixty days" not in collector.bodies

    talking = Telemetry(_section(collector, texts=True), version="1")
    await _judge(talking, model)
    await talking.aclose()
    (judged,) = (s for s in collector.spans if "input.value" in s["attributes"])
    assert json.loads(judged["attributes"]["input.value"])["answer"] == ANSWER
    (asked,) = (s for s in collector.spans if "llm.output_messages.0.message.content" in s["attributes"])
    assert any("Jana" in str(value) for key, value in asked["attributes"].items() if "input_messages" in key)


async def test_a_failure_is_an_error_span_and_no_text_of_the_reply_is_in_it(collector, model):
    model.script(Say("Jana says: not json"))
    telemetry = Telemetry(_section(collector), version="1")
    await _judge(telemetry, model)
    await telemetry.aclose()
    (judged,) = (span for span in collector.spans if span["name"] == "judge diff")
    assert judged["status"] == 2
    assert judged["attributes"]["enricher.outcome"] == "JUDGE_PARSE_ERROR"
    assert b"Jana" not in collector.bodies


async def test_figures_have_the_names_of_the_metrics_page(collector, model):
    telemetry = Telemetry(_section(collector, traces=False), version="1")
    await _judge(telemetry, model)
    figures = {"pulled": 3, "rejected": {"no_context": 2}, "written": 4, "confirmed": 4}
    telemetry.ran("nightly", figures, {"queue_traces": 5.0})
    await telemetry.aclose()

    assert collector.spans == []
    (judged,) = collector.named("enricher_judged")
    assert (judged["value"], judged["judge"], judged["status"]) == (1, "diff", "OK")
    (rejected,) = collector.named("enricher_rejected")
    assert (rejected["value"], rejected["reason"], rejected["job"]) == (2, "no_context", "nightly")
    assert collector.named("enricher_traces_pulled")[0]["value"] == 3
    assert collector.named("enricher_queue_traces")[0]["value"] == 5
    assert sum(collector.named("enricher_score")[0]["value"]) == 1
    assert {point["kind"] for point in collector.named("enricher_tokens")} == {"prompt", "cached", "completion"}


async def test_headers_are_sent_and_wrong_ones_refused(collector, model):
    section = _section(collector).model_copy(update={"headers": SecretStr("x-key=abc, y=1")})
    telemetry = Telemetry(section, version="1")
    await _judge(telemetry, model)
    await telemetry.aclose()
    assert all(headers["x-key"] == "abc" and headers["y"] == "1" for headers in collector.headers)
    with pytest.raises(SetupError, match="ENRICHER_OTLP_HEADERS must hold"):
        Telemetry(section.model_copy(update={"headers": SecretStr("abc")}), version="1")


async def test_a_collector_that_refuses_costs_no_judgement(collector, model):
    collector.reply = Reply(status=400)
    telemetry = Telemetry(_section(collector), version="1")
    await _judge(telemetry, model)
    await telemetry.aclose()
    assert len(model.requests) == 1


def test_nothing_of_opentelemetry_is_imported_without_an_endpoint(tmp_path):
    code = (
        "import sys, asyncio\n"
        "from enricher.app import App\n"
        "from enricher.settings import Settings\n"
        "async def main():\n"
        "    async with await App.open(Settings(store='sqlite:///' + sys.argv[1], connections={})): pass\n"
        "asyncio.run(main())\n"
        "print([name for name in sys.modules if name.startswith('opentelemetry.sdk')])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, f"{tmp_path}/s.db"], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.parametrize(
    ("job", "telemetry", "is_refused"),
    [
        ("projects: all", "{endpoint: 'http://phoenix:6006'}", True),
        ("projects: [trace-enricher]", "{endpoint: 'http://phoenix:6006/'}", True),
        ("projects: [shop]", "{endpoint: 'http://phoenix:6006'}", False),
        ("projects: all", "{endpoint: 'http://collector:4318'}", False),
        ("projects: all", "{endpoint: 'http://phoenix:6006', into_judged_project: true}", False),
        ("projects: [shop]", "{endpoint: 'http://phoenix:6006', project: shop}", True),
    ],
)
def test_spans_do_not_go_where_they_would_be_judged_unless_told(tmp_path, job, telemetry, is_refused):
    path = tmp_path / "enricher.yaml"
    path.write_text(
        "connections: {p: {kind: phoenix, base_url: 'http://phoenix:6006'}}\n"
        f"jobs: {{nightly: {{connection: p, {job}}}}}\ntelemetry: {telemetry}\n"
    )
    if is_refused:
        with pytest.raises(SetupError, match=r"telemetry\.project: job nightly judges"):
            load(path, {})
    else:
        assert load(path, {}).telemetry.endpoint


def test_local_only_allows_an_export_to_the_platform_alone(tmp_path):
    path = tmp_path / "enricher.yaml"
    written = (
        "local_only: true\nconnections: {{p: {{kind: phoenix, base_url: 'http://phoenix:6006'}}}}\n"
        "jobs: {{nightly: {{connection: p, projects: [shop]}}}}\ntelemetry: {{endpoint: 'http://{}'}}\n"
    )
    path.write_text(written.format("collector:4318"))
    with pytest.raises(SetupError, match=r"telemetry\.endpoint: local_only"):
        load(path, {})
    path.write_text(written.format("phoenix:6006"))
    assert load(path, {}).local_only
