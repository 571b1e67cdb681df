"""The Phoenix connector against servers that misbehave as Phoenix or a proxy before it can."""

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from connectors.http import HttpCalls
from connectors.phoenix import PhoenixConnector
from enricher.errors import BadReply, SetupError, TryAgain
from enricher.trace import RawTrace, SpanFilter, TraceId, TraceQuery, TraceRef
from enricher.verdict import Annotation, DeliveryState
from tests.servers.failing import Asked, FailingServer, Reply, reply_json

PROJECTS = reply_json({"data": [{"name": "p", "id": "UHJvamVjdDoy"}], "next_cursor": None})
CASES = {
    case["id"]: case
    for kind in ("rate-limit", "write-back")
    for line in (Path(__file__).parents[1] / "cases" / f"{kind}.jsonl").read_text().splitlines()
    for case in [json.loads(line)]
}


def at(server: FailingServer, **options) -> PhoenixConnector:
    return PhoenixConnector(name="phoenix", base_url=server.base_url, **{"timeout_s": 5.0, **options})


def trace(number: int) -> dict:
    start = datetime(2026, 11, 30, tzinfo=UTC) + timedelta(minutes=number)
    return {"trace_id": f"{number:032x}", "start_time": start.isoformat(), "spans": []}


def span(number: int, trace_number: int = 0) -> dict:
    return {
        "context": {"trace_id": f"{trace_number:032x}", "span_id": f"{number:016x}"},
        "start_time": "2026-11-30T00:00:00+00:00",
        "end_time": "2026-11-30T00:00:01+00:00",
    }


def annotation(number: int, **changes) -> Annotation:
    given = {"connection": "phoenix", "project": "p", "trace_id": "0" * 32, "span_id": f"{number:016x}"}
    return Annotation.model_validate(given | {"name": "context_diff", "label": "x", "identifier": "e:1"} | changes)


def written(asked: Asked) -> list[dict]:
    return asked.json()["data"]


def accept(asked: Asked) -> Reply:
    return reply_json({"data": [{"id": f"id-{item['span_id']}"} for item in written(asked)]})


async def found(connector: PhoenixConnector, **query) -> list[str]:
    try:
        return [ref.trace_id async for ref in connector.find(TraceQuery(rule="test", **query))]
    finally:
        await connector.aclose()


async def test_rl_03_a_big_page_that_times_out_is_asked_for_in_smaller_ones():
    case = CASES["RL-03"]["input"]
    spans = [span(number) for number in range(case["spans_in_window"])]

    def script(asked: Asked) -> Reply:
        params = dict(asked.params)
        if len(server.asked) == 1:
            return Reply(status=int(case["first_big_request"]))
        start, limit = int(params.get("cursor", 0)), min(int(params["limit"]), case["server_page_limit"])
        more = str(start + limit) if start + limit < len(spans) else None
        return reply_json({"data": spans[start : start + limit], "next_cursor": more})

    ref = TraceRef(connection="phoenix", project="p", trace_id=TraceId("0" * 32), locator={"project_id": "P"})
    async with FailingServer(script) as server:
        connector = at(server)
        (pulled,) = [value async for value in connector.pull([ref])]
        await connector.aclose()
    assert all(int(dict(asked.params)["limit"]) <= case["server_page_limit"] for asked in server.asked)
    assert isinstance(pulled, RawTrace)
    assert len(pulled.spans) == CASES["RL-03"]["expected"]["fetched"]


async def test_rl_04_a_trace_that_shifts_to_the_next_page_is_found_once():
    case = CASES["RL-04"]
    pages = {None: (case["input"]["page1"], "c2"), "c2": (case["input"]["page2"], None)}

    def script(asked: Asked) -> Reply:
        if asked.path == "/v1/projects":
            return PROJECTS
        names, following = pages[dict(asked.params).get("cursor")]
        return reply_json({"data": [{**trace(0), "trace_id": name} for name in names], "next_cursor": following})

    async with FailingServer(script) as server:
        assert await found(at(server)) == case["expected"]["unique"]


async def test_pages_in_a_circle_end_with_an_error():
    def script(asked: Asked) -> Reply:
        if asked.path == "/v1/projects":
            return PROJECTS
        return reply_json({"data": [trace(1)], "next_cursor": "again"})

    async with FailingServer(script) as server:
        with pytest.raises(BadReply, match="circle"):
            await found(at(server))


async def test_empty_pages_without_end_are_an_error():
    def script(asked: Asked) -> Reply:
        if asked.path == "/v1/projects":
            return PROJECTS
        return reply_json({"data": [], "next_cursor": f"c{len(server.asked)}"})

    async with FailingServer(script) as server:
        with pytest.raises(BadReply, match="circle"):
            await found(at(server))
    assert len(server.asked) < 50


async def test_a_server_that_ignores_filters_is_refused_instead_of_believed():
    def script(asked: Asked) -> Reply:
        return PROJECTS if asked.path == "/v1/projects" else reply_json({"data": [trace(1)], "next_cursor": None})

    async with FailingServer(script) as server:
        with pytest.raises(SetupError, match="too old"):
            await found(at(server), spans=SpanFilter(name="x"))


async def test_neither_key_nor_address_come_from_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("PHOENIX_API_KEY", "from-the-environment")
    monkeypatch.setenv("PHOENIX_CLIENT_HEADERS", "x-secret=1")
    (tmp_path / ".env.phoenix").write_text("PHOENIX_API_KEY=from-a-file\n")
    monkeypatch.chdir(tmp_path)
    async with FailingServer(accept) as server:
        connector = at(server)
        await connector.annotate([annotation(1)])
        await connector.aclose()
        keyed = at(server, api_key="given")
        await keyed.annotate([annotation(1)])
        await keyed.aclose()
    assert "authorization" not in server.asked[0].headers
    assert "x-secret" not in server.asked[0].headers
    assert server.asked[1].headers["authorization"] == "Bearer given"


async def test_a_path_before_the_api_is_kept():
    async with FailingServer(PROJECTS) as server:
        calls = HttpCalls(base_url=f"{server.base_url}/s/team/", api_key=None, timeout_s=5.0)
        await calls.get("v1/projects")
        await calls.aclose()
    assert server.asked[0].path == "/s/team/v1/projects"


async def asked_to_wait(header: str) -> float | None:
    async with FailingServer(Reply(status=429, headers={"retry-after": header})) as server:
        calls = HttpCalls(base_url=server.base_url, api_key=None, timeout_s=5.0)
        with pytest.raises(TryAgain) as raised:
            await calls.get("v1/projects")
        await calls.aclose()
    return raised.value.after


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("2", 2.0), ("0.5", 0.5), ("Mon, 30 Nov 2020 01:00:00 GMT", 0.0), ("soon", None), ("", None)],
)
async def test_retry_after_is_read_as_seconds(header, seconds):
    assert await asked_to_wait(header) == seconds


async def test_retry_after_is_read_as_a_date():
    in_an_hour = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    assert await asked_to_wait(in_an_hour) == pytest.approx(3600, abs=60)


async def test_a_connection_that_died_after_a_500_is_replaced():
    def script(asked: Asked) -> Reply:
        return Reply(status=500, closes=True) if len(server.asked) == 1 else PROJECTS

    async with FailingServer(script) as server:
        calls = HttpCalls(base_url=server.base_url, api_key=None, timeout_s=5.0)
        with pytest.raises(TryAgain):
            await calls.get("v1/projects")
        assert (await calls.get("v1/projects"))["data"]
        await calls.aclose()


async def test_a_request_whose_connection_breaks_is_sent_once_more():
    def script(asked: Asked) -> Reply:
        return Reply(resets=True) if len(server.asked) == 1 else accept(asked)

    async with FailingServer(script) as server:
        connector = at(server)
        (delivery,) = await connector.annotate([annotation(1)])
        await connector.aclose()
    assert delivery.state is DeliveryState.CONFIRMED
    assert len(server.asked) == 2


async def test_an_item_that_breaks_the_server_is_isolated():
    def script(asked: Asked) -> Reply:
        poisoned = any(item["span_id"] == f"{37:016x}" for item in written(asked))
        return Reply(status=500, closes=True) if poisoned else accept(asked)

    async with FailingServer(script) as server:
        connector = at(server)
        deliveries = await connector.annotate([annotation(number) for number in range(100)])
        await connector.aclose()
    states = [delivery.state for delivery in deliveries]
    assert states[37] is DeliveryState.RETRY
    assert states.count(DeliveryState.CONFIRMED) == 99
    assert len(server.asked) < 20


async def test_a_server_that_is_broken_altogether_is_not_asked_for_every_item():
    async with FailingServer(Reply(status=500, closes=True)) as server:
        connector = at(server)
        with pytest.raises(TryAgain):
            await connector.annotate([annotation(number) for number in range(100)])
        await connector.aclose()
    assert len(server.asked) <= 12


async def test_what_is_written_before_the_server_fails_is_not_lost():
    def script(asked: Asked) -> Reply:
        return accept(asked) if len(server.asked) == 1 else Reply(status=503)

    async with FailingServer(script) as server:
        connector = at(server, write_batch=2)
        deliveries = await connector.annotate([annotation(number) for number in range(6)])
        await connector.aclose()
    assert [delivery.state.value for delivery in deliveries] == ["confirmed"] * 2 + ["retry"] * 4
    assert len(server.asked) == 2


async def test_a_payload_that_is_too_large_fails_alone():
    def script(asked: Asked) -> Reply:
        return Reply(status=413) if len(asked.body) > 5000 else accept(asked)

    async with FailingServer(script) as server:
        connector = at(server)
        batch = [annotation(1), annotation(2, explanation="x" * 6000), annotation(3)]
        deliveries = await connector.annotate(batch)
        await connector.aclose()
    assert [delivery.state.value for delivery in deliveries] == ["confirmed", "failed", "confirmed"]


async def test_wb_02_an_invented_span_id_is_never_sent():
    case = CASES["WB-02"]
    real = case["expected"]["written_to"][0]
    async with FailingServer(accept) as server:
        connector = at(server)
        invented = annotation(1, span_id=case["input"]["raw_response_span_id"])
        deliveries = await connector.annotate([invented, annotation(1, span_id=real.upper())])
        await connector.aclose()
    assert not any(invented.span_id.encode() in asked.body for asked in server.asked)
    assert [delivery.state.value for delivery in deliveries] == ["failed", "confirmed"]
    assert [item["span_id"] for asked in server.asked for item in written(asked)] == [real]


async def test_a_reply_that_confirms_fewer_than_were_sent_is_not_believed():
    async with FailingServer(reply_json({"data": []})) as server:
        connector = at(server)
        with pytest.raises(BadReply, match="0 annotations of 1"):
            await connector.annotate([annotation(1)])
        await connector.aclose()
