"""The model client retries what is transient, learns what the server refuses, and stops at what people must fix."""

import asyncio
import os
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from enricher.errors import SetupError
from enricher.judges.chat import Chat, ChatOptions, NoReply, Reply
from enricher.judges.gate import Gate
from enricher.judges.prices import Prices
from enricher.verdict import Status
from tests.servers.openai import DRIP, HANG, RESET, Fail, OpenAIServer, Raw, Say

SCHEMA = {
    "type": "object",
    "properties": {"segments": {"type": "array", "items": {"type": "string"}}},
    "required": ["segments"],
    "additionalProperties": False,
}
KEY = "sk-EXAMPLE0123456789"
SLOW = Fail(429, "Rate limit reached", code="rate_limit_exceeded", headers={"Retry-After": "2"})


@pytest.fixture
async def server():
    async with OpenAIServer(api_key=KEY).running() as running:
        running.default = lambda request: Say('{"segments": []}')
        yield running


class Sleeps(list):
    """Records the pauses instead of making them."""

    async def __call__(self, seconds):
        self.append(seconds)


@pytest.fixture
async def connect():
    chats = []

    def make(server, **options):
        options = {"base_url": server.url, "model": "m-2025-01-01", "api_key": KEY, **options}
        sleeps = Sleeps()
        clock = lambda: time.monotonic() + sum(sleeps)  # noqa: E731
        chat = Chat(ChatOptions(**options), sleep=sleeps, jitter=lambda: 0.5, clock=clock)
        chats.append(chat)
        return chat, sleeps

    yield make
    for chat in chats:
        await chat.aclose()


async def ask(chat, text="Give me JSON.", **more):
    return await chat.ask([{"role": "user", "content": text}], schema=SCHEMA, **more)


async def test_a_reply_carries_content_snapshot_usage_and_cost(server, connect):
    usage = {"prompt_tokens": 1000, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 400}}
    server.script(Say("{}", model="m-snapshot", usage=usage))
    chat, _ = connect(server, prices=Prices(prompt=2.0, cached=1.0, completion=10.0))
    reply = await ask(chat)
    assert isinstance(reply, Reply)
    assert (reply.content, reply.finish_reason, reply.snapshot) == ("{}", "stop", "m-snapshot")
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens, reply.usage.cached_tokens) == (1000, 10, 400)
    assert reply.usage.cost == pytest.approx((600 * 2 + 400 * 1 + 10 * 10) / 1e6)
    assert reply.usage.calls == 1
    sent = server.requests[0].body
    assert (sent["temperature"], sent["max_tokens"], "seed" in sent) == (0, 2048, False)
    assert sent["response_format"]["type"] == "json_schema"


async def test_429_is_retried_after_the_time_it_asked_for(server, connect):
    # RL-01, t1
    server.script(SLOW, SLOW, Say("{}"))
    chat, sleeps = connect(server)
    reply = await ask(chat)
    assert isinstance(reply, Reply)
    assert reply.usage.calls == 3
    assert sum(sleeps) >= 4


async def test_timeouts_end_as_unavailable_and_cost_no_other_item(server, connect):
    # RL-01, t3 beside t2
    server.script(HANG, when="t3")
    chat, sleeps = connect(server, timeout_s=0.5)
    lost, fine = await asyncio.gather(ask(chat, "t3 JSON"), ask(chat, "t2 JSON"))
    assert isinstance(lost, NoReply)
    assert lost.status is Status.JUDGE_UNAVAILABLE
    assert lost.usage.calls == 4
    assert len(sleeps) == 3
    assert isinstance(fine, Reply)


@pytest.mark.parametrize("fault", [RESET, Fail(500), Fail(503), Fail(408), Raw("<html>busy</html>"), Raw("{}")])
async def test_a_transient_fault_is_retried_with_growing_pauses(server, connect, fault):
    server.script(fault, fault, Say("{}"))
    chat, sleeps = connect(server)
    assert isinstance(await ask(chat), Reply)
    assert len(sleeps) == 2
    assert sleeps[0] < sleeps[1] < 2


async def test_a_server_that_drips_bytes_runs_into_the_time_limit(server, connect):
    server.script(DRIP)
    chat, _ = connect(server, timeout_s=0.2, attempts=1)
    started = time.monotonic()
    assert (await ask(chat)).status is Status.JUDGE_UNAVAILABLE
    assert time.monotonic() - started < 5


async def test_retry_after_may_be_a_date_and_in_milliseconds(server, connect):
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    server.script(
        Fail(429, headers={"Retry-After": soon}),
        Fail(429, headers={"retry-after-ms": "1500"}),
        Fail(429, headers={"Retry-After": "soon"}),
        Say("{}"),
    )
    chat, sleeps = connect(server)
    assert isinstance(await ask(chat), Reply)
    assert 50 < sleeps[0] < 62
    assert 1.5 <= sleeps[1] < 2
    assert sleeps[2] < 3


async def test_a_wait_past_the_deadline_is_not_begun(server, connect):
    server.script(Fail(429, headers={"Retry-After": "86400"}))
    chat, sleeps = connect(server)
    gone = await ask(chat)
    assert gone.status is Status.JUDGE_UNAVAILABLE
    assert "deadline" in gone.failure
    assert sleeps == []


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (Fail(401, f"Incorrect API key provided: {KEY}"), "API key"),
        (Fail(403, "Project may not use it"), "may not use the model"),
        (Fail(404, "The model does not exist", code="model_not_found"), "no model m-2025-01-01"),
        (Fail(402, "Insufficient balance"), "quota"),
        (Fail(429, "You exceeded your current quota", code="insufficient_quota"), "quota"),
    ],
)
async def test_what_people_must_fix_is_tried_once_and_never_shows_the_key(server, connect, fault, words):
    # RL-05, PR-05
    server.script(fault)
    chat, sleeps = connect(server)
    with pytest.raises(SetupError, match=words) as raised:
        await ask(chat)
    assert len(server.requests) == 1
    assert sleeps == []
    assert KEY not in str(raised.value)
    assert KEY not in repr(chat.options)


async def test_a_wrong_key_is_refused_by_the_server_and_named_as_such(server, connect):
    chat, _ = connect(server, api_key="sk-wrong")
    with pytest.raises(SetupError, match="API key"):
        await ask(chat)


async def test_a_base_url_with_a_password_is_not_repeated(connect):
    server = OpenAIServer()
    async with server.running():
        server.script(Fail(404))
        chat, _ = connect(server, base_url=server.url.replace("http://", "http://me:hunter2@") + "?token=hunter2")
        with pytest.raises(SetupError) as raised:
            await ask(chat)
        assert "hunter2" not in str(raised.value)


async def test_a_context_that_is_too_long_is_sent_once(server, connect):
    # LC-04
    text = "maximum context length is 8192 tokens, requested 10840"
    server.script(Fail(400, text, code="context_length_exceeded"))
    chat, sleeps = connect(server)
    gone = await ask(chat)
    assert (gone.status, gone.context_limit) == (Status.JUDGE_CONTEXT_TOO_LONG, 8192)
    assert len(server.requests) == 1
    assert sleeps == []


@pytest.mark.parametrize(
    "fault",
    [
        Fail(500, "Requested tokens (10840) exceed context window of 8192"),
        Fail(413, "Payload too large"),
        Fail(422, "This model's maximum context length is 4096 tokens and your request has 5000 input tokens"),
    ],
)
async def test_other_servers_words_for_a_long_context_are_understood(server, connect, fault):
    server.script(fault)
    chat, _ = connect(server)
    assert (await ask(chat)).status is Status.JUDGE_CONTEXT_TOO_LONG


async def test_a_content_filter_is_a_refusal(server, connect):
    server.script(Fail(400, "The response was filtered", code="content_filter"))
    chat, _ = connect(server)
    assert (await ask(chat)).status is Status.JUDGE_REFUSED


async def test_structured_output_falls_in_order_and_what_was_refused_is_remembered(connect):
    async with OpenAIServer(forms=()).running() as server:
        server.default = lambda request: Say("{}")
        chat, sleeps = connect(server)
        assert (await ask(chat)).form == "text"
        forms = [request.body.get("response_format", {}).get("type") for request in server.requests]
        assert forms == ["json_schema", "json_object", None]
        assert (await ask(chat)).usage.calls == 1
        assert server.requests[-1].body.get("response_format") is None
        assert sleeps == []


async def test_the_server_of_llama_cpp_is_asked_for_a_json_object_after_its_500(connect):
    async with OpenAIServer(is_llama_cpp=True).running() as server:
        chat, sleeps = connect(server)
        replies = await asyncio.gather(*(ask(chat) for _ in range(3)))
        assert {reply.form for reply in replies} == {"json_object"}
        assert sleeps == []
        before = len(server.requests)
        await ask(chat)
        assert len(server.requests) == before + 1


async def test_an_unexplained_400_is_tried_without_structured_output_before_people_are_asked(server, connect):
    server.script(Fail(400, "Bad request"), Fail(400, "Bad request"), Say("{}"))
    chat, _ = connect(server)
    assert (await ask(chat)).form == "text"
    assert (await ask(chat)).usage.calls == 1


async def test_a_server_that_refuses_every_request_is_a_matter_for_people(server, connect):
    server.script(Fail(400, "Bad request"))
    chat, sleeps = connect(server)
    with pytest.raises(SetupError, match="refuses requests"):
        await ask(chat)
    assert len(server.requests) == 3
    assert sleeps == []


async def test_one_refused_request_among_good_ones_fails_alone(server, connect):
    server.script(Fail(400, "Bad request"), when="poison")
    chat, _ = connect(server)
    assert isinstance(await ask(chat), Reply)
    assert (await ask(chat, "poison JSON")).status is Status.JUDGE_UNAVAILABLE
    assert (await ask(chat)).form == "json_schema"


async def test_parameters_that_a_reasoning_model_refuses_are_left_out(connect):
    async with OpenAIServer(refused_parameters=("max_tokens", "temperature", "seed")).running() as server:
        server.default = lambda request: Say("{}")
        chat, _ = connect(server, seed=7)
        assert isinstance(await ask(chat), Reply)
        last = server.requests[-1].body
        assert last["max_completion_tokens"] == 2048
        assert not {"max_tokens", "temperature", "seed"} & last.keys()
        assert last["response_format"]["type"] == "json_schema"


async def test_nothing_of_the_environment_reaches_the_server(server, connect, monkeypatch):
    monkeypatch.setitem(os.environ, "OPENAI_API_KEY", "sk-from-the-environment")
    monkeypatch.setitem(os.environ, "OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setitem(os.environ, "OPENAI_ORG_ID", "org-environment")
    monkeypatch.setitem(os.environ, "OPENAI_PROJECT_ID", "proj-environment")
    monkeypatch.setitem(os.environ, "OPENAI_CUSTOM_HEADERS", "X-Team: environment\nAuthorization: Bearer environment")
    server.api_key = None
    chat, _ = connect(server, api_key=None)
    assert isinstance(await ask(chat), Reply)
    headers = server.requests[0].headers
    assert headers["authorization"] == "Bearer none"
    assert "environment" not in str(headers)


async def test_an_azure_deployment_gets_its_key_and_version_its_own_way(server, connect):
    server.api_key = None
    chat, _ = connect(server, api_version="2025-01-01")
    assert isinstance(await ask(chat), Reply)
    assert server.requests[0].headers["api-key"] == KEY


async def test_another_snapshot_than_the_first_is_a_shift(server, connect):
    server.script(Say("{}", model="m-1"), Say("{}", model="m-2"))
    chat, _ = connect(server)
    assert [(await ask(chat)).is_shifted, (await ask(chat)).is_shifted] == [False, True]


async def test_content_in_parts_and_lone_surrogates_are_read(server, connect):
    server.script(Say([{"type": "text", "text": "a\ud800"}, {"type": "text", "text": "b\0"}]))
    chat, _ = connect(server)
    assert (await ask(chat)).content == "a?b"


async def test_no_more_calls_than_allowed_are_in_flight(server, connect):
    server.latency_s = 0.02
    chat, _ = connect(server, concurrency=3)
    await asyncio.gather(*(ask(chat) for _ in range(12)))
    assert server.most_in_flight == 3


async def test_whoever_waits_for_a_place_sends_before_an_answer_is_worked_out(server, connect):
    chat, _ = connect(server, concurrency=2)
    worked_out_after = []

    async def asked(number):
        await ask(chat, f"{number} of 4")
        worked_out_after.append(chat.gate.active)

    await asyncio.gather(*map(asked, range(4)))
    assert worked_out_after[:2] == [2, 2]


async def through(gate, *, is_overloaded=False):
    async with gate.enter() as turn:
        turn.is_overloaded = is_overloaded


async def test_a_gate_halves_under_load_and_grows_again():
    gate = Gate(16)
    for _ in range(2):
        await through(gate, is_overloaded=True)
    assert gate.limit == 8
    for _ in range(200):
        await through(gate)
    assert gate.limit == 16


async def test_one_refusal_among_many_calls_does_not_narrow_the_gate():
    gate = Gate(16)
    for number in range(64):
        await through(gate, is_overloaded=number % 20 == 3)
    assert gate.limit == 16


async def test_a_gate_narrows_while_answers_take_much_longer_than_they_did(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("enricher.judges.gate.time.monotonic", lambda: now[0])
    gate = Gate(16)

    async def call(seconds):
        async with gate.enter() as turn:
            turn.begin()
            now[0] += seconds

    for _ in range(32):
        await call(1.0)
    assert gate.limit == 16
    for _ in range(16):
        await call(4.0)
    assert gate.limit == 14
    for _ in range(64):
        await call(1.2)
    assert gate.limit == 16


async def test_a_gate_gives_its_place_back_when_a_waiting_call_is_cancelled():
    gate = Gate(1)
    async with gate.enter():
        waiting = asyncio.create_task(gate.enter().__aenter__())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    async with asyncio.timeout(1), gate.enter():
        assert gate.active == 1


@pytest.mark.parametrize(("options", "words"), [({"model": ""}, "model"), ({"base_url": "api.example"}, "http")])
def test_a_connection_that_cannot_work_is_refused_at_once(options, words):
    with pytest.raises(SetupError, match=words):
        Chat(ChatOptions(**{"base_url": "http://127.0.0.1:1/v1", "model": "m", **options}))


def test_an_unknown_context_window_is_taken_to_be_small():
    # CU-07
    assert ChatOptions(base_url="http://x", model="my-local-8b").window <= 8192


async def test_what_the_server_asks_of_one_call_all_calls_keep_to(server, connect):
    server.script(Fail(429, headers={"Retry-After": "20"}), Say("{}"))
    chat, sleeps = connect(server)
    assert isinstance(await ask(chat), Reply)
    server._script.clear()
    server.script(Fail(429, headers={"Retry-After": "20"}), Say("{}"))
    first = asyncio.create_task(ask(chat))
    while len(server.requests) < 3:
        await asyncio.sleep(0)
    while not first.done() and len(sleeps) < 2:
        await asyncio.sleep(0)
    assert isinstance(await ask(chat), Reply)
    assert isinstance(await first, Reply)
    assert all(20 <= pause <= 22 for pause in sleeps)


async def test_a_short_refusal_among_answers_holds_back_the_call_that_met_it_and_no_other(server, connect):
    server.script(SLOW, Say("{}"), when="told")
    chat, sleeps = connect(server)
    told, other = await asyncio.gather(ask(chat, "told JSON"), ask(chat, "other JSON"))
    assert isinstance(told, Reply)
    assert isinstance(other, Reply)
    assert len(sleeps) == 1
    assert 2 <= sleeps[0] < 3


async def test_many_short_refusals_are_a_limit_and_meant_for_all_calls(server):
    server.script(*[SLOW] * 4, Say("{}"), when="told")
    sleeps = Sleeps()
    options = ChatOptions(base_url=server.url, model="m", api_key=KEY)
    chat = Chat(options, sleep=sleeps, jitter=lambda: 0.0, clock=lambda: 0.0)
    await ask(chat, "told JSON")
    assert sleeps[:5] == [2.0] * 5  # after each of them, and as one of all calls
    sleeps.clear()
    await ask(chat, "other JSON")
    assert sleeps[0] == 2.0
    assert sleeps[1] > 2.0  # at the rate that was borne
    await chat.aclose()


async def test_under_a_limit_calls_are_spaced_out(server, connect):
    chat, sleeps = connect(server, concurrency=8)
    let_through = 0

    def answer(request):
        nonlocal let_through
        if let_through > 20 + 10 * sum(sleeps):
            return SLOW
        let_through += 1
        return Say("{}")

    server.default = answer
    replies = await asyncio.gather(*(ask(chat, f"{number} JSON") for number in range(200)))
    assert all(isinstance(reply, Reply) for reply in replies)
    assert len(server.requests) < 300


async def test_refusals_that_say_when_to_come_back_use_up_no_attempts(server, connect):
    server.script(*[SLOW] * 6, Say("{}"), when="at last")
    server.script(SLOW, when="never")
    chat, sleeps = connect(server, attempts=2)
    reply = await ask(chat, "at last JSON")
    assert isinstance(reply, Reply)
    assert reply.usage.calls == 7
    assert len(sleeps) >= 6
    assert all(pause >= 2 for pause in sleeps)
    assert (await ask(chat, "never JSON")).status is Status.JUDGE_UNAVAILABLE
    assert len(server.requests) == 7 + 12


async def test_a_wait_of_our_own_is_no_part_of_the_deadline(server, connect):
    chat, sleeps = connect(server, requests_per_minute=1, deadline_s=30)
    for _ in range(4):
        assert isinstance(await ask(chat), Reply)
    assert sum(sleeps) > 179


async def test_a_reply_corrects_what_the_call_took_of_the_minute(server, connect):
    usage = {"prompt_tokens": 100, "completion_tokens": 50}
    server.default = lambda request: Say("{}", usage=usage)
    chat, sleeps = connect(server, tokens_per_minute=4000)
    for _ in range(10):
        await ask(chat)
    assert sleeps == []
