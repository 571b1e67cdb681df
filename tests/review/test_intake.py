"""The intake: what it keeps, what it refuses and how it says so, over a real server and a real LangSmith rule."""

import asyncio
import contextlib
import json
import sqlite3
import time
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from pydantic import SecretStr

from enricher.errors import SetupError
from enricher.review.intake import intake_app
from enricher.store import Store
from tests.review.conftest import SECRET, Intake, running
from tests.servers.langsmith import StandIn
from tests.servers.langsmith.platform import LangSmithPlatform

PHOENIX_ID = "0e1512c78b9a7a13370a6f55d2605f28"
RUN_ID = "01a229ab-ee5c-759a-a4d4-4febee495ea3"
CHILD_ID = "01a229ab-ee61-7802-ad9b-fc53188e558e"
PROJECT_ID = "5f2c9a0b-1d3e-4f60-9e27-3d0f6a1b2c3d"
HINT = {"platform": "phoenix", "project": "support-rag", "trace_id": PHOENIX_ID, "reason": "the user called"}


def run(**fields):
    return {"id": RUN_ID, "trace_id": RUN_ID, "session_id": PROJECT_ID, "is_root": True, "inputs": None, **fields}


def fired(*runs, **fields):
    return {"rule_id": "r1", "start_time": "2026-11-01T12:00:00", "runs": list(runs), **fields}


async def hints(intake: Intake, platform: str):
    return [(h.project, h.trace_id, h.reason) for h in await intake.store.pending_hints(platform)]


async def test_a_hint_is_stored_before_it_is_answered(intake):
    reply = await intake.post(json=HINT)
    assert (reply.status_code, reply.json()) == (200, {"stored": 1, "known": 0})
    assert await hints(intake, "phoenix") == [("support-rag", PHOENIX_ID, "the user called")]


async def test_a_hint_that_waits_already_is_not_stored_twice(intake):
    for trace_id in (PHOENIX_ID, PHOENIX_ID, f" {PHOENIX_ID.upper()} "):
        reply = await intake.post(json={**HINT, "trace_id": trace_id})
        assert reply.status_code == 200
    assert reply.json() == {"stored": 0, "known": 1}
    assert len(await hints(intake, "phoenix")) == 1


async def test_every_trace_of_a_langsmith_rule_is_kept_once(intake):
    other = run(id=PROJECT_ID, trace_id=None, s3_urls=None, outputs={"a": "b"}, feedback_stats={})
    reply = await intake.post("/intake/langsmith", json=fired(run(), run(id=CHILD_ID, is_root=False), other))
    assert (reply.status_code, reply.json()) == (200, {"stored": 2, "known": 0})
    assert await hints(intake, "langsmith") == [
        (PROJECT_ID, RUN_ID, "rule r1"),
        (PROJECT_ID, PROJECT_ID, "rule r1"),
    ]


async def test_a_rule_that_matched_nothing_is_no_error(intake):
    reply = await intake.post("/intake/langsmith", json=fired())
    assert (reply.status_code, reply.json()) == (200, {"stored": 0, "known": 0})


async def test_a_real_rule_reaches_the_intake_with_its_header(store):
    async with running(store, secret="plain") as intake:
        with StandIn() as service:
            platform = LangSmithPlatform(service)
            root = await asyncio.to_thread(platform.trace, started=datetime.now(UTC) - timedelta(minutes=5))
            since = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
            url = f"{intake.url}/intake/langsmith"
            rule = {"display_name": "all", "sampling_rate": 1, "session_id": platform.project_id(),
                    "backfill_from": since,
                    "webhooks": [{"url": url, "headers": {"X-Enricher-Secret": "plain"}}, {"url": url}]}  # fmt: skip
            async with httpx.AsyncClient(base_url=service.url, headers={"x-api-key": service.key}) as client:
                rule_id = (await client.post("/runs/rules", json=rule)).json()["id"]
                (await client.post(f"/runs/rules/{rule_id}/trigger")).raise_for_status()
                logs = (await client.get(f"/runs/rules/{rule_id}/logs")).json()
            platform.close()
    assert [(log["outcome"], log["attempts"]) for log in logs] == [(200, 1), (401, 1)]
    kept = await hints(intake, "langsmith")
    assert {(project, trace) for project, trace, _ in kept} == {(platform.project_id(), str(root.trace_id))}


@pytest.mark.parametrize("secret", [None, "", "wrong", f"{SECRET}s", SECRET[:-1], "se\u0301same"])
@pytest.mark.parametrize("path", ["/intake", "/intake/langsmith"])
async def test_a_bad_or_missing_secret_is_refused_before_the_body_is_read(intake, path, secret):
    reply = await intake.post(path, secret=secret, content=b"{broken")
    assert reply.status_code == 401
    assert reply.json() == {"detail": "the header X-Enricher-Secret must carry the secret"}
    assert await hints(intake, "phoenix") == []


async def test_secrets_are_compared_in_constant_time(intake, monkeypatch):
    compared = []

    def compare(given, secret):
        compared.append((given, secret))
        return False

    monkeypatch.setattr("enricher.review.intake.secrets.compare_digest", compare)
    assert (await intake.post(json=HINT, secret="x")).status_code == 401
    assert compared == [(b"x", SECRET.encode())]


MALFORMED = [
    ("/intake", b"", "the body is no JSON"),
    ("/intake", b"{broken", "the body is no JSON"),
    ("/intake", b"\xff\xfe{}", "the body is no JSON"),
    ("/intake", b"[" * 100_000, "the body is no JSON"),
    ("/intake", b"[]", "the body: this must be a JSON object"),
    ("/intake", b"{}", "platform: Field required"),
    ("/intake", {**HINT, "platform": "langfuse"}, "platform: Input should be 'phoenix', 'langsmith' or 'files'"),
    ("/intake", {**HINT, "project": " "}, "project: String should have at least 1 character"),
    ("/intake", {**HINT, "project": None}, "project: Input should be a valid string"),
    ("/intake", {**HINT, "trace_id": 17}, "trace_id: Input should be a valid string"),
    ("/intake", {**HINT, "trace_id": "17"}, "trace_id: '17' is no id of phoenix, which is 32 hexadecimal digits"),
    ("/intake", {**HINT, "platform": "langsmith"}, f"trace_id: '{PHOENIX_ID}' is no id of langsmith, which is a UUID"),
    ("/intake", {**HINT, "platform": "files", "trace_id": "a\x00b"}, "is no id of files, which is one line of text"),
    ("/intake", b'{"platform": "files", "project": "p", "trace_id": "\\ud83d"}', "trace_id: Input should be a valid"),
    ("/intake/langsmith", [], "the body: this must be a JSON object"),
    ("/intake/langsmith", {"rule_id": "r"}, "runs: Field required"),
    ("/intake/langsmith", {"rule_id": "r", "threads": []}, "a rule on threads names no run; use a rule on runs"),
    ("/intake/langsmith", fired(run(), run(session_id=None)), "runs.1.session_id: Input should be a valid string"),
    ("/intake/langsmith", fired(run(trace_id="x")), "trace_id: 'x' is no id of langsmith, which is a UUID"),
]


@pytest.mark.parametrize(("path", "body", "reason"), MALFORMED, ids=[str(case[2])[:40] for case in MALFORMED])
async def test_a_malformed_body_is_refused_with_the_reason_in_one_sentence(intake, path, body, reason):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    reply = await intake.post(path, content=content)
    assert reply.status_code == 422
    assert reason in reply.json()["detail"]
    assert "\n" not in reply.json()["detail"]
    assert [await hints(intake, platform) for platform in ("phoenix", "langsmith", "files")] == [[], [], []]


async def test_a_reason_of_any_kind_becomes_one_short_line(intake):
    await intake.post(json={**HINT, "reason": "it\nsays\x00 " + "x" * 900})
    ((_, _, reason),) = await hints(intake, "phoenix")
    assert reason.startswith("it says xxx")
    assert len(reason) == 500


async def _chunks(count: int):
    for _ in range(count):
        yield b"x" * 100_000


@pytest.mark.parametrize("is_chunked", [False, True], ids=["with its length", "in chunks"])
async def test_a_body_that_is_too_large_is_refused_while_it_is_read(store, is_chunked):
    async with running(store, body_limit=250_000) as intake:
        content = _chunks(100) if is_chunked else b"x" * 10_000_000
        reply = await intake.post(content=content)
        assert (reply.status_code, reply.json()) == (413, {"detail": "the body is longer than 250000 bytes"})
        assert (await intake.post(content=_chunks(2))).status_code == 422
        assert (await intake.post(json=HINT)).status_code == 200


async def test_a_body_that_does_not_come_is_given_up(intake, monkeypatch):
    monkeypatch.setattr("enricher.review.intake._READ_WITHIN_S", 0.1)
    reader, writer = await asyncio.open_connection("127.0.0.1", httpx.URL(intake.url).port)
    head = f"POST /intake HTTP/1.1\r\nhost: x\r\nx-enricher-secret: {SECRET}\r\ncontent-length: 90\r\n\r\n{{"
    writer.write(head.encode())
    status = await asyncio.wait_for(reader.readline(), 5)
    writer.close()
    assert b" 408 " in status


@contextlib.contextmanager
def locked(store: Store):
    with contextlib.closing(sqlite3.connect(store._engine.url.database, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield


@pytest.mark.parametrize("path", ["/intake", "/intake/langsmith"])
async def test_a_store_that_is_away_is_said_within_a_second_and_the_hint_may_be_sent_again(intake, path):
    body = HINT if path == "/intake" else fired(run())
    with locked(intake.store):
        began = time.monotonic()
        reply = await intake.post(path, json=body)
        assert time.monotonic() - began < 2.0  # a second, and what a busy machine adds
        assert (reply.status_code, reply.headers["retry-after"]) == (503, "10")
        assert reply.json()["detail"] == "the store does not answer; nothing is lost if this is sent again"
    assert (await intake.post(path, json=body)).status_code == 200
    assert len(await hints(intake, HINT["platform"] if path == "/intake" else "langsmith")) == 1


async def test_a_store_that_refuses_is_said_too(intake, monkeypatch):
    async def refuse(*_):
        raise SetupError("the disk is full")

    monkeypatch.setattr(intake.store, "add_hint", refuse)
    assert (await intake.post(json=HINT)).status_code == 503


async def test_health_needs_no_secret_and_tells_whether_the_store_answers(intake, monkeypatch):
    reply = await intake.client.get("/healthz")
    assert (reply.status_code, reply.json()) == (200, {"status": "ok"})

    async def refuse(**_):
        raise SetupError("the disk is full")

    monkeypatch.setattr(intake.store, "runs", refuse)
    assert (await intake.client.get("/healthz")).status_code == 503


async def test_a_hundred_hints_at_once_are_all_kept(intake):
    waiting = [{**HINT, "trace_id": f"{n:032x}"} for n in range(100)]
    for _ in range(10):
        replies = await asyncio.gather(*(intake.post(json=body) for body in waiting))
        # On a busy machine some are told to come again; nobody is told anything else.
        assert {reply.status_code for reply in replies} <= {200, 503}
        waiting = [body for body, reply in zip(waiting, replies, strict=True) if reply.status_code == 503]
        if not waiting:
            break
    assert waiting == []
    assert len(await hints(intake, "phoenix")) == 100


async def test_nothing_else_is_offered(intake):
    for path in ("/docs", "/redoc", "/openapi.json"):
        assert (await intake.client.get(path)).status_code == 404
    assert (await intake.client.get("/intake")).status_code == 405


async def test_an_empty_secret_is_the_operators_to_fix(store):
    with pytest.raises(SetupError, match="the secret of the intake is empty"):
        intake_app(store, secret=SecretStr(""))
