"""The stand-in behaves as LangSmith does, towards the real SDK: everything here enters and leaves through it."""

import json
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import httpx
import langsmith
import pytest
from langsmith import traceable
from langsmith.utils import LangSmithAuthError, LangSmithError, LangSmithNotFoundError, LangSmithRateLimitError

from tests.servers.langsmith import StandIn
from tests.servers.langsmith.filters import Facts, FilterError, matches, parse
from tests.servers.langsmith.platform import LangSmithPlatform

A_DAY = timedelta(days=1)


@pytest.fixture
def service() -> Iterator[StandIn]:
    with StandIn() as running:
        yield running


@pytest.fixture
def platform(service: StandIn) -> Iterator[LangSmithPlatform]:
    offered = LangSmithPlatform(service)
    yield offered
    offered.close()


@pytest.fixture
def newer(service: StandIn) -> Iterator[langsmith.Langsmith]:
    with langsmith.Langsmith(api_key=service.key, tenant_id="", base_url=service.url, max_retries=0) as client:
        yield client


def raw(service: StandIn, method: str, path: str, body: Any = None, **params: Any) -> httpx.Response:
    headers = {"x-api-key": service.key}
    return httpx.request(method, service.url + path, json=body, params=params, headers=headers)


def v1_runs(service: StandIn, platform: LangSmithPlatform, **body: Any) -> list[dict[str, Any]]:
    found = raw(service, "POST", "/runs/query", {"session": [platform.project_id()], **body})
    return list(found.raise_for_status().json()["runs"])


@pytest.mark.parametrize(
    ("options", "switches", "path", "encoding"),
    [
        ({}, {}, "/runs/multipart", "zstd"),
        ({}, {"zstd": False}, "/runs/multipart", None),
        ({}, {"zstd": False, "multipart": False}, "/runs/batch", None),
        ({"auto_batch_tracing": False}, {}, "/runs", None),
    ],
)
@pytest.mark.filterwarnings("ignore:Run compression is not enabled")
def test_a_traceable_application_arrives_whole_by_every_road(service, options, switches, path, encoding):
    service.turn(**switches)
    client = langsmith.Client(api_url=service.url, api_key=service.key, tracing_sampling_rate=1.0, **options)

    @traceable(run_type="retriever")
    def search(query: str) -> list[dict[str, Any]]:
        return [{"page_content": f"about {query}", "type": "Document", "metadata": {"id": "d1"}}]

    @traceable
    def rag(question: str) -> dict[str, Any]:
        return {"answer": search(question)[0]["page_content"]}

    with langsmith.tracing_context(enabled=True, client=client, project_name="app"):
        rag("refunds")
    client.flush()
    client.close()

    sent = service.asked(path, "POST")
    assert sent[0].headers.get("content-encoding") == encoding
    project = service.state.project_named("app").id
    runs = raw(service, "POST", "/api/v1/runs/query", {"session": [project]}).json()["runs"]
    by_name = {run["name"]: run for run in runs}
    assert by_name.keys() == {"rag", "search"}
    assert by_name["rag"]["outputs"] == {"answer": "about refunds"}
    assert by_name["search"]["outputs"]["output"][0]["metadata"] == {"id": "d1"}  # a list is wrapped by the SDK
    assert by_name["search"]["parent_run_id"] == by_name["rag"]["id"]
    assert {run["status"] for run in runs} == {"success"}


def test_langchain_callbacks_arrive(service, platform):
    core = pytest.importorskip("langchain_core.runnables")
    from langchain_core.tracers import LangChainTracer

    tracer = LangChainTracer(project_name=platform.project, client=platform.client)
    chain = core.RunnableLambda(lambda question: f"re: {question}") | core.RunnableLambda(str.upper)
    chain.invoke("refunds", config={"callbacks": [tracer]})
    platform.client.flush()

    runs = v1_runs(service, platform)
    assert [run["name"] for run in runs if run["is_root"]] == ["RunnableSequence"]
    assert len(runs) == 3


def test_v2_returns_the_id_only_unless_fields_are_selected(service, platform, newer):
    root = platform.trace()
    project = platform.project_id()

    bare = raw(service, "POST", "/api/v2/runs/query", {"project_ids": [project]}).json()["items"]
    assert [set(item) for item in bare] == [{"id"}] * 3

    runs = list(newer.runs.query_v2(project_ids=[project], is_root=True, selects=["NAME", "OUTPUTS"]))
    assert [(run.id, run.name, run.outputs) for run in runs] == [(None, "answer", {"answer": "Within 90 days."})]
    assert newer.runs.retrieve_v2(str(root.id), project_id=project, selects=["STATUS"]).status == "SUCCESS"
    assert (
        raw(service, "POST", "/api/v2/runs/query", {"project_ids": [project], "selects": ["name"]}).status_code == 422
    )


def test_v2_looks_back_one_day_unless_told(platform, newer):
    platform.trace(started=datetime.now(UTC) - 3 * A_DAY)
    project = platform.project_id()

    assert list(newer.runs.query_v2(project_ids=[project])) == []
    assert len(list(newer.runs.query_v2(project_ids=[project], min_start_time=datetime.now(UTC) - 4 * A_DAY))) == 3
    with pytest.raises(langsmith.BadRequestError, match="401 days"):
        list(newer.runs.query_v2(project_ids=[project], min_start_time=datetime.now(UTC) - 402 * A_DAY))


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/runs/query", {"limit": 101}, 400),
        ("/runs/query", {"limit": 100}, 200),
        ("/api/v2/runs/query", {"page_size": 1001}, 422),
        ("/api/v2/runs/query", {"page_size": 1000}, 200),
        ("/api/v2/traces/query", {"page_size": 101}, 422),
    ],
)
def test_pages_have_a_largest_size(service, platform, path, body, status):
    platform.trace()
    project = platform.project_id()
    where = {"session": [project], "project_ids": [project], "project_id": project}
    wanted = {key: where[key] for key in where if (key == "session") == path.startswith("/runs")}
    wanted.pop("project_id" if "runs" in path else "project_ids", None)
    assert raw(service, "POST", path, {**wanted, **body}).status_code == status


def test_cursors_are_opaque_and_bound_to_their_query(service, platform):
    for _ in range(3):
        platform.trace(documents=None, answer=None)
    body = {"project_ids": [platform.project_id()], "page_size": 2}
    first = raw(service, "POST", "/api/v2/runs/query", body).json()
    second = raw(service, "POST", "/api/v2/runs/query", {**body, "cursor": first["next_cursor"]}).json()

    ids = [item["id"] for item in first["items"] + second["items"]]
    assert len(ids) == len(set(ids)) == 3
    assert second["next_cursor"] is None
    other = {**body, "page_size": 1, "cursor": first["next_cursor"]}
    assert raw(service, "POST", "/api/v2/runs/query", other).status_code == 400


RUN = Facts(
    fields={"name": "rag", "run_type": "chain", "latency": 6.0, "tags": ["prod"], "error": None, "is_root": True},
    feedback=[{"key": "user_score", "score": 0}, {"key": "tone", "score": 1}, {"key": "note", "score": None}],
    text="refunds within 30 days",
    pairs=lambda kind: {"metadata": [("env", "prod"), ("tier", 2)], "output": [("answer", "in 30 days")]}.get(kind, []),
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('eq(run_type, "chain")', True),
        ("neq(error, null)", False),
        ("eq(error, null)", True),
        ('gt(latency, "5s")', True),
        ("gte(latency, 6.5)", False),
        ("has(tags, 'prod')", True),
        ('in(name, ["rag", "other"])', True),
        ('and(eq(feedback_key, "user_score"), eq(feedback_score, 0))', True),
        ('and(eq(feedback_key, "tone"), eq(feedback_score, 0))', False),  # the 0 belongs to another key
        ('and(eq(feedback_key, "note"), lte(feedback_score, 0))', False),  # no score is not 0
        ('and(eq(feedback_key, "tone"), eq(feedback_key, "user_score"))', False),  # no feedback has two keys
        ('and(and(eq(metadata_key, "env"), eq(metadata_value, "prod")), eq(is_root, true))', True),
        ('and(eq(metadata_key, "env"), eq(metadata_value, "2"))', False),
        ('or(eq(name, "x"), and(eq(metadata_key, "tier"), eq(metadata_value, 2)))', True),
        ('and(eq(output_key, "answer"), like(output_value, "%30%"))', True),
        ('search("within 30")', True),
        ('has(feedback_key, "tone")', True),
        (r'eq(name, "a\"b")', False),
    ],
)
def test_the_filter_language_is_evaluated(text, expected):
    assert matches(parse(text), RUN) is expected


@pytest.mark.parametrize(
    "text",
    [
        "status:error",
        'not(eq(name, "x"))',
        'exists(metadata, "k")',
        'eq(metadata.env, "prod")',
        'eq(name, "x"',
        'eq(name, "x") extra',
        'nin(name, ["x"])',
        "eq(name, unquoted)",
        'in(name, "x")',
        "",
    ],
)
def test_unknown_filter_syntax_is_refused(text):
    with pytest.raises(FilterError):
        parse(text)


def test_a_bad_filter_is_a_400_and_can_be_validated(service, platform):
    platform.trace()
    body = {"project_ids": [platform.project_id()], "filter": "status:error"}
    refused = raw(service, "POST", "/api/v2/runs/query", body)
    assert (refused.status_code, refused.json()["title"]) == (400, "Bad Request")
    told = raw(service, "POST", "/api/v1/runs/query/validate", {"filter": "status:error"}).json()
    assert told["valid"] is False
    assert told["errors"][0]["field"] == "filter"


def test_filter_means_this_run_trace_filter_its_root_and_tree_filter_any_run(platform, newer):
    platform.trace(tags=["vip"], retriever_error="TimeoutError()")
    platform.trace(documents=["x"])
    project = platform.project_id()

    def names(**query: Any) -> list[str]:
        return sorted(run.name or "" for run in newer.runs.query_v2(project_ids=[project], selects=["NAME"], **query))

    assert names(filter='eq(run_type, "retriever")') == ["retrieve", "retrieve"]
    assert names(filter='eq(run_type, "retriever")', trace_filter='has(tags, "vip")') == ["retrieve"]
    assert names(is_root=True, tree_filter='eq(status, "error")') == ["answer"]
    assert names(filter="neq(error, null)") == ["retrieve"]


def test_runs_show_only_after_the_ingest_delay_and_are_pending_until_patched(service, platform):
    service.turn(ingest_delay_s=60.0)
    root = platform.trace(ends=False)
    assert v1_runs(service, platform) == []
    with pytest.raises(LangSmithNotFoundError):
        platform.report(root.id, score=0)

    service.advance(61)
    by_name = {run["name"]: run for run in v1_runs(service, platform)}
    assert by_name["answer"]["status"] == "pending"
    assert not by_name["answer"]["outputs"]
    platform.report(root.id, score=0)

    root.end(outputs={"answer": "late"})
    root.patch()
    platform.client.flush()
    assert {run["status"] for run in v1_runs(service, platform, is_root=True)} == {"pending"}
    service.advance(61)
    assert [run["outputs"] for run in v1_runs(service, platform, is_root=True)] == [{"answer": "late"}]


def test_feedback_to_an_unseen_run_can_be_accepted(service, platform):
    platform.trace()
    service.turn(feedback_to_unseen="accept")
    assert platform.report(uuid.uuid4(), score=1)


def test_statistics_learn_of_feedback_late(service, platform):
    root = platform.trace()
    service.turn(stats_delay_s=30.0)
    platform.report(root.id, score=0, comment="wrong")
    wanted = {"is_root": True, "filter": 'eq(feedback_key, "user_score")'}
    assert v1_runs(service, platform, **wanted) == []
    assert [f.comment for f in platform.client.list_feedback(run_ids=[root.id])] == ["wrong"]
    service.advance(31)
    stats = v1_runs(service, platform, **wanted)[0]["feedback_stats"]["user_score"]
    assert (stats["n"], stats["avg"], stats["comments"]) == (1, 0.0, [])


def test_feedback_can_be_found_by_when_it_was_given(service, platform, newer):
    root = platform.trace()
    platform.report(root.id, score=0)
    query = {"project_ids": [platform.project_id()], "filter": "eq(feedback_score, 0)"}
    later = datetime.now(UTC) + timedelta(minutes=1)
    assert list(newer.runs.query_v2(**query, min_feedback_modified_at=later)) == []
    assert len(list(newer.runs.query_v2(**query, max_feedback_modified_at=later))) == 1
    with pytest.raises(langsmith.BadRequestError, match="feedback condition"):
        list(newer.runs.query_v2(project_ids=query["project_ids"], min_feedback_modified_at=later))
    service.turn(knows_feedback_times=False)
    assert len(list(newer.runs.query_v2(**query, min_feedback_modified_at=later))) == 1


@pytest.mark.parametrize("tells", [True, False])
def test_limits_hold_per_window_and_tell_when_to_come_back_if_they_do(service, platform, tells):
    platform.trace()
    service.turn(limits={"runs_query": {"requests": 2, "seconds": 10.0}}, tells_retry_after=tells)
    body = {"project_ids": [platform.project_id()]}
    statuses = [raw(service, "POST", "/api/v2/runs/query", body).status_code for _ in range(3)]
    assert statuses == [200, 200, 429]
    assert ("retry-after" in raw(service, "POST", "/api/v2/runs/query", body).headers) is tells
    assert raw(service, "GET", "/sessions").status_code == 200  # another bucket
    service.advance(11)
    assert raw(service, "POST", "/api/v2/runs/query", body).status_code == 200


def test_the_sdk_names_scripted_failures(service, platform, newer):
    root = platform.trace()
    project = platform.project_id()
    service.fail(path="/api/v2/runs/query", status=503)
    with pytest.raises(langsmith.InternalServerError):
        list(newer.runs.query_v2(project_ids=[project]))
    service.fail(path="/api/v2/runs/query", drop=True)
    with pytest.raises(langsmith.APIConnectionError):
        list(newer.runs.query_v2(project_ids=[project]))
    service.fail(path="/api/v2/runs/query", hang_s=1.0)
    with pytest.raises(langsmith.APITimeoutError):
        list(newer.runs.query_v2(project_ids=[project], timeout=0.2))
    service.fail(path="/api/v2/runs/query", malformed=True)
    with pytest.raises(ValueError, match="Unterminated"):
        list(newer.runs.query_v2(project_ids=[project]))
    service.fail(path="/feedback", status=422, detail="no", skip=1)
    platform.report(root.id, score=1)
    with pytest.raises(LangSmithError, match="422"):
        platform.report(root.id, score=1)


@pytest.mark.filterwarnings("ignore")
def test_a_used_up_limit_is_a_rate_limit_error_of_the_sdk(service, platform):
    root = platform.trace()
    service.fail(path="/feedback", status=429, retry_after=0, times=9)
    with pytest.raises(LangSmithRateLimitError):
        platform.report(root.id, score=1)


def test_feedback_posted_again_is_replaced_or_refused(service, platform):
    root = platform.trace()
    id_ = uuid.uuid4()
    platform.report(root.id, score=0, feedback_id=id_)
    platform.report(root.id, score=1, feedback_id=id_)
    assert [one["score"] for one in service.feedback_of(str(root.id))] == [1]

    service.turn(repost="conflict")
    with pytest.raises(LangSmithError, match="409"):
        platform.report(root.id, score=0, feedback_id=id_)
    platform.client.update_feedback(id_, score=None, comment="taken back")
    held = service.feedback_of(str(root.id))[0]
    assert (held["comment"], held["key"]) == ("taken back", "user_score")


def test_a_run_posted_again_is_a_conflict(service, platform):
    root = platform.trace()
    again = {"id": str(root.id), "name": "x", "run_type": "chain", "start_time": "2026-01-01T00:00:00+00:00"}
    assert raw(service, "POST", "/runs", again).status_code == 409


@pytest.mark.parametrize("status", [501, 404])
def test_v1_is_gone_where_only_the_new_store_is_left(service, platform, status):
    root = platform.trace()
    service.turn(generation="v2", removed_status=status)
    assert raw(service, "POST", "/runs/query", {"session": [platform.project_id()]}).status_code == status
    assert raw(service, "GET", f"/runs/{root.id}").status_code == status
    body = {"run_id": str(root.id), "key": "k", "score": 1}
    assert raw(service, "POST", "/feedback", body).status_code == 501
    assert raw(service, "POST", "/feedback", {**body, "session_id": platform.project_id()}).status_code == 200


def test_v2_is_absent_on_an_old_server(service, platform):
    platform.trace()
    service.turn(generation="v1")
    assert raw(service, "POST", "/api/v2/runs/query", {"project_ids": [platform.project_id()]}).status_code == 404


@pytest.mark.filterwarnings("ignore")
def test_keys_are_checked(service):
    with pytest.raises(LangSmithAuthError):
        list(langsmith.Client(api_url=service.url, api_key="wrong").list_projects())
    service.turn(is_org_scoped=True)
    refused = raw(service, "GET", "/sessions")
    assert (refused.status_code, refused.json()["error"]) == (403, "org_scoped_key_requires_workspace")


def test_feedback_extends_retention_unless_told_not_to(service, platform):
    kept, lost = platform.trace(), platform.trace()
    platform.report(kept.id, score=1)
    platform.report(lost.id, score=1, extend_trace_retention=False)
    tiers = {run["trace_id"]: run["trace_tier"] for run in v1_runs(service, platform)}
    assert tiers == {str(kept.id): "longlived", str(lost.id): "shortlived"}
    service.advance(15 * 86_400)
    assert {run["trace_id"] for run in v1_runs(service, platform)} == {str(kept.id)}
    assert raw(service, "GET", f"/runs/{lost.id}").status_code == 404


def test_feedback_that_would_extend_is_refused_at_the_limit(service, platform):
    service.turn(extended_traces_allowed=0)
    root = platform.trace()
    platform.report(root.id, score=1, extend_trace_retention=False)
    with pytest.raises(LangSmithError, match="extended"):
        platform.report(root.id, score=1)


@pytest.mark.parametrize(
    "fields",
    [
        {"key": "k" * 181, "score": 1},
        {"key": "k", "score": 0.12345},
        {"key": "k", "value": ["a list"]},
        {"key": "graded", "score": 3},
        {"key": "k", "feedback_source": {"type": "somebody"}},
    ],
)
def test_feedback_is_checked(service, platform, fields):
    root = platform.trace()
    config = {"type": "continuous", "min": 0, "max": 1}
    platform.client.create_feedback_config("graded", feedback_config=config)
    body = {"run_id": str(root.id), "session_id": platform.project_id(), **fields}
    assert raw(service, "POST", "/feedback", body).status_code == 422


def test_feedback_configs_can_be_repeated_but_not_contradicted(service, platform):
    config = {"type": "continuous", "min": 0, "max": 1}
    first = platform.client.create_feedback_config("graded", feedback_config=config)
    assert platform.client.create_feedback_config("graded", feedback_config=config).id == first.id
    with pytest.raises(LangSmithError, match="already exists"):
        platform.client.create_feedback_config("graded", feedback_config={**config, "max": 5})


def test_large_payloads_are_handed_out_as_urls_that_run_out(service, platform):
    platform.trace(documents=["a passage " * 100])
    service.turn(payload_url_bytes=500)
    run = v1_runs(service, platform, run_type="retriever")[0]
    assert run["outputs"] is None
    url = run["outputs_s3_urls"]["ROOT"]["presigned_url"]
    assert len(httpx.get(url).json()["output"][0]["page_content"]) == 1000
    service.advance(301)
    assert httpx.get(url).status_code == 403


def test_queues_take_runs_and_archive_them(service, platform, newer):
    root = platform.trace()
    queue = str(platform.client.create_annotation_queue(name="review").id)
    item = {"item_type": "RUN", "run_id": str(root.id), "project_id": platform.project_id()}
    made = newer.annotation_queues.items.create(queue, items=[item])  # type: ignore[list-item]
    listed = list(newer.annotation_queues.items.list(queue, status="needs_my_review"))
    assert [one.run_id for one in listed] == [str(root.id)]
    newer.annotation_queues.items.create_status(str((made.items or [])[0].id), status="completed")
    assert list(newer.annotation_queues.items.list(queue, status="needs_my_review")) == []
    assert newer.annotation_queues.items.retrieve_count(queue, status="archived").count == 1


def test_datasets_take_examples(platform):
    dataset = platform.client.create_dataset("golden")
    platform.client.create_examples(
        dataset_id=dataset.id, examples=[{"inputs": {"q": "a"}, "reference_outputs": {"a": "b"}}]
    )
    assert [one.inputs for one in platform.client.list_examples(dataset_id=dataset.id)] == [{"q": "a"}]


class Receiver:
    """A webhook endpoint that answers as told."""

    def __init__(self, *statuses: int) -> None:
        self.bodies: list[dict[str, Any]] = []
        remaining = list(statuses)
        bodies = self.bodies

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                bodies.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
                self.send_response(remaining.pop(0))
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Keep the test's output clean."""

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/intake"
        Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.mark.parametrize(("statuses", "attempts"), [((200,), 1), ((500, 503, 200), 3), ((404,), 1)])
def test_rules_send_matching_runs_to_webhooks(service, platform, statuses, attempts):
    root = platform.trace(started=datetime.now(UTC))
    receiver = Receiver(*statuses)
    rule = raw(
        service,
        "POST",
        "/api/v1/runs/rules",
        {
            "display_name": "reported",
            "sampling_rate": 1,
            "session_id": platform.project_id(),
            "filter": "eq(is_root, true)",
            "backfill_from": (datetime.now(UTC) - A_DAY).isoformat(),
            "webhooks": [{"url": receiver.url, "headers": {"x-secret": "s"}}],
        },
    ).json()
    raw(service, "POST", f"/api/v1/runs/rules/{rule['id']}/trigger").raise_for_status()
    raw(service, "POST", f"/api/v1/runs/rules/{rule['id']}/trigger").raise_for_status()  # nothing new: nothing sent
    receiver.close()

    assert len(receiver.bodies) == attempts
    sent = receiver.bodies[0]
    assert sent["rule_id"] == rule["id"]
    assert [run["id"] for run in sent["runs"]] == [str(root.id)]  # the matching run only, no children
    log = raw(service, "GET", f"/api/v1/runs/rules/{rule['id']}/logs").json()
    assert [(one["outcome"], one["attempts"]) for one in log] == [(statuses[-1], attempts)]


def test_it_can_be_controlled_over_http(service):
    httpx.post(f"{service.url}/_standin/switches", json={"repost": "conflict"}).raise_for_status()
    assert service.switches.repost == "conflict"
    httpx.post(f"{service.url}/_standin/faults", json={"path": "/sessions", "status": 500}).raise_for_status()
    assert raw(service, "GET", "/sessions").status_code == 500
    assert "GET /sessions" in httpx.get(f"{service.url}/_standin/requests").json()
    with pytest.raises(ValueError, match="no switch 'typo'"):
        service.turn(typo=1)


def test_a_key_may_be_allowed_to_read_only(service):
    service.turn(keys={"reader": ["read"], service.key: ["read", "write"]})
    headers = {"x-api-key": "reader"}
    assert httpx.get(f"{service.url}/sessions", headers=headers).status_code == 200
    assert httpx.post(f"{service.url}/feedback", headers=headers, json={"key": "k"}).status_code == 403
