"""What every platform's connector must do, run over every platform."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from enricher.errors import BadReply, EnricherError, SetupError, TryAgain
from enricher.seams import Connector
from enricher.trace import RawTrace, Rejection, RejectReason, TraceId, TraceRef
from enricher.verdict import DeliveryState
from tests.contracts.platforms import (
    FilesInContract,
    LangSmithInContract,
    PhoenixInContract,
    Platform,
    Seeded,
    annotation,
    annotation_for,
    everything,
    langsmith_at,
    phoenix_at,
)
from tests.servers.failing import FailingServer, Reply
from tests.servers.langsmith import StandIn
from tests.servers.langsmith.platform import LangSmithPlatform
from tests.servers.phoenix import PhoenixPlatform

PLATFORMS = ["phoenix", "langsmith", "files"]
AT_A_FAILING_SERVER: dict[str, Callable[[str], Connector]] = {"phoenix": phoenix_at, "langsmith": langsmith_at}

SEEDED = Seeded(trace_id="0e1512c78b9a7a13370a6f55d2605f28", span_id="5f2c9a0b1d3e4f60")
REF = TraceRef(
    connection="platform", project="p", trace_id=TraceId(SEEDED.trace_id), locator={"project_id": "UHJvamVjdDoy"}
)


@pytest.fixture
def phoenix_in_contract(phoenix: PhoenixPlatform) -> PhoenixInContract:
    return PhoenixInContract(phoenix=phoenix)


@pytest.fixture
def langsmith_in_contract() -> Iterator[LangSmithInContract]:
    with StandIn() as service:
        filled = LangSmithPlatform(service)
        yield LangSmithInContract(langsmith=filled)
        filled.close()


@pytest.fixture
def files_in_contract(tmp_path: Path) -> FilesInContract:
    return FilesInContract(folder=tmp_path)


@pytest.fixture(params=PLATFORMS)
def platform(request: pytest.FixtureRequest) -> Platform:
    return request.getfixturevalue(f"{request.param}_in_contract")


@pytest.fixture
async def connector(platform: Platform) -> AsyncIterator[Connector]:
    connector = platform.connector()
    yield connector
    await connector.aclose()


async def find(connector: Connector, **changes) -> list[TraceRef]:
    return [ref async for ref in connector.find(everything(**changes))]


async def pull(connector: Connector, refs) -> list[RawTrace | Rejection]:
    return [value async for value in connector.pull(refs)]


def test_a_connector_has_every_method_of_the_seam(connector):
    assert isinstance(connector, Connector)


async def test_paging_ends_and_gives_each_trace_once_oldest_first(platform):
    seeded = await platform.seed(7)
    connector = platform.connector(small_pages=True)
    refs = await find(connector)
    await connector.aclose()
    assert [ref.trace_id for ref in refs] == [trace.trace_id for trace in seeded]
    assert all(ref.rules == ("contract",) and ref.project == platform.project for ref in refs)


async def test_a_window_without_traces_gives_none(platform, connector):
    await platform.seed(1)
    (ref,) = await find(connector)
    assert await find(connector, end=ref.start_time) == []


async def test_pulling_gives_one_value_a_ref_in_order_and_names_what_is_gone(platform, connector):
    seeded = await platform.seed(3)
    refs = await find(connector)
    await platform.delete(seeded[1])
    first, gone, last = await pull(connector, refs)
    assert isinstance(first, RawTrace)
    assert isinstance(last, RawTrace)
    assert {seeded[0].span_id} <= {span.span_id for span in first.spans}
    assert all(span.trace_id == last.ref.trace_id for span in last.spans)
    assert isinstance(gone, Rejection)
    assert (gone.trace_id, gone.reason) == (seeded[1].trace_id, RejectReason.TRACE_GONE)


async def test_an_unknown_trace_id_is_not_passed_over_in_silence(platform, connector):
    await platform.seed(1)
    refs = await find(connector, trace_ids=(SEEDED.trace_id,))
    (gone,) = await pull(connector, refs)
    assert isinstance(gone, Rejection)
    assert gone.reason is RejectReason.TRACE_GONE


async def test_annotating_twice_leaves_one_with_the_latest_values(platform, connector):
    (seeded,) = await platform.seed(1)
    (ref,) = await find(connector)
    for score in (0.5, 0.0):
        (delivery,) = await connector.annotate([annotation_for(ref, seeded, score=score)])
        assert delivery.state in (DeliveryState.SENT, DeliveryState.CONFIRMED)
    (confirmed,) = await connector.confirm([annotation_for(ref, seeded, score=0.0)])
    (written,) = await platform.annotations_on(seeded)
    assert (written.name, written.label, written.score) == ("context_diff", "contradicted", 0.0)
    assert confirmed.state is DeliveryState.CONFIRMED
    assert confirmed.key == annotation_for(ref, seeded).key


async def test_one_bad_item_costs_the_others_nothing(platform, connector):
    seeded = await platform.seed(3)
    refs = await find(connector)
    batch = [annotation_for(ref, trace) for ref, trace in zip(refs, seeded, strict=True)]
    batch.insert(1, annotation_for(refs[0], SEEDED))
    deliveries = await connector.annotate(batch)
    assert [delivery.key for delivery in deliveries] == [item.key for item in batch]
    for trace in seeded:
        assert len(await platform.annotations_on(trace)) == 1
    assert deliveries[1].state in (DeliveryState.FAILED, DeliveryState.RETRY)
    assert deliveries[1].reason


async def test_a_persons_annotation_of_the_same_name_survives(platform, connector):
    (seeded,) = await platform.seed(1)
    (ref,) = await find(connector)
    await platform.annotate_as_person(seeded, name="context_diff", label="faithful", score=1.0)
    for _ in range(2):
        await connector.annotate([annotation_for(ref, seeded, score=0.0)])
    written = await platform.annotations_on(seeded)
    assert sorted((w.by_person, w.label, w.score) for w in written) == [
        (False, "contradicted", 0.0),
        (True, "faithful", 1.0),
    ]


async def test_what_is_not_written_is_not_confirmed(platform, connector):
    (seeded,) = await platform.seed(1)
    (ref,) = await find(connector)
    (delivery,) = await connector.confirm([annotation_for(ref, seeded)])
    assert delivery.state is DeliveryState.RETRY


async def test_preparing_twice_is_like_once(platform, connector):
    await platform.seed(1)
    for _ in range(2):
        await connector.prepare({f"{platform.project}-diff": ("faithful", "contradicted")})


async def test_the_check_of_a_healthy_platform_is_ok(platform, connector):
    await platform.seed(1)
    assert (await connector.check()).ok


Call = Callable[[Connector], Awaitable[object]]


async def _find(connector: Connector) -> object:
    return await find(connector)


async def _pull(connector: Connector) -> object:
    return await pull(connector, [REF])


async def _annotate(connector: Connector) -> object:
    deliveries = await connector.annotate([annotation("p", SEEDED, locator=dict(REF.locator))])
    # A failure of the platform may also be told item by item, but never as success or as final.
    assert [delivery.state for delivery in deliveries] == [DeliveryState.RETRY]
    raise TryAgain(deliveries[0].reason)


async def _confirm(connector: Connector) -> object:
    return await connector.confirm([annotation("p", SEEDED, locator=dict(REF.locator))])


async def _prepare(connector: Connector) -> object:
    return await connector.prepare({"context_diff": ("faithful",)})


@pytest.mark.parametrize("call", [_find, _pull, _annotate, _confirm, _prepare])
@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (Reply(status=401, body="Invalid token"), SetupError),
        (Reply(status=403), SetupError),
        (Reply(status=404, body='{"detail": "Not Found"}'), SetupError),
        (Reply(status=302, headers={"location": "/login"}), SetupError),
        (Reply(status=429, headers={"retry-after": "7"}), TryAgain),
        (Reply(status=500, closes=True), TryAgain),
        (Reply(status=503), TryAgain),
        (Reply(body='{"data": [', status=200), BadReply),
        (Reply(body="<!DOCTYPE html><title>Log in</title>", headers={"content-type": "text/html"}), BadReply),
        (Reply(body="[]"), BadReply),
        (Reply(resets=True), TryAgain),
        (Reply(delay_s=5.0), TryAgain),
    ],
    ids=["401", "403", "404", "302", "429", "500", "503", "cut JSON", "HTML", "not an object", "reset", "slow"],
)
@pytest.mark.parametrize("platform_name", AT_A_FAILING_SERVER)
async def test_every_failure_has_its_error_and_none_is_an_empty_result(platform_name, reply, error, call):
    if platform_name == "langsmith" and reply.body == "[]" and call in (_find, _confirm):
        pytest.skip("LangSmith lists projects and feedback as a bare list, so an empty one is an answer")
    async with FailingServer(reply) as server:
        connector = AT_A_FAILING_SERVER[platform_name](server.base_url)
        with pytest.raises(error) as raised:
            await call(connector)
        await connector.aclose()
    if reply.status == 429:
        assert raised.value.after == 7.0
    assert str(raised.value)
    # A connector retries nothing beyond one connection: the run owns the retry policy.
    assert len(server.asked) <= 3


@pytest.mark.parametrize("platform_name", AT_A_FAILING_SERVER)
async def test_a_server_that_is_down_may_come_back(platform_name):
    async with FailingServer(Reply()) as server:
        pass
    connector = AT_A_FAILING_SERVER[platform_name](server.base_url)
    for call in (_find, _pull, _annotate, _confirm, _prepare):
        with pytest.raises(TryAgain, match="reached"):
            await call(connector)
    await connector.aclose()


@pytest.mark.parametrize("reply", [Reply(status=401), Reply(status=503), Reply(body="<html>"), Reply(resets=True)])
@pytest.mark.parametrize("platform_name", AT_A_FAILING_SERVER)
async def test_the_check_tells_a_failure_as_a_problem(platform_name, reply):
    async with FailingServer(reply) as server:
        connector = AT_A_FAILING_SERVER[platform_name](server.base_url)
        health = await asyncio.wait_for(connector.check(), timeout=10)
        await connector.aclose()
    assert not health.ok
    assert health.problems


@pytest.mark.parametrize("platform_name", AT_A_FAILING_SERVER)
@pytest.mark.parametrize("base_url", ["", "localhost:6006", "ftp://h", "http://", "http://h:port"])
def test_a_wrong_address_is_the_operators_to_fix(platform_name, base_url):
    with pytest.raises(EnricherError) as raised:
        AT_A_FAILING_SERVER[platform_name](base_url)
    assert isinstance(raised.value, SetupError)
