"""The LangSmith connector against the stand-in: what it finds, pulls, writes and says when things go wrong."""

import asyncio
import json
import logging
import threading
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from connectors.langsmith import LangSmithConnector
from connectors.langsmith_query import RunQuery
from enricher.errors import BadReply, SetupError, TryAgain
from enricher.seams import Connector
from enricher.trace import (
    RawTrace,
    Rejection,
    RejectReason,
    ReportFilter,
    SpanFilter,
    SpanKind,
    TraceId,
    TraceQuery,
    TraceRef,
)
from enricher.verdict import DeliveryState

CASES = {
    case["id"]: case
    for case in map(json.loads, (Path(__file__).parents[1] / "cases" / "langsmith.jsonl").read_text().splitlines())
}
A_DAY = timedelta(days=1)
GENERATIONS = ("both", "v1", "v2")


@pytest.fixture
async def connector(langsmith_platform):
    made = langsmith_platform.connector()
    yield made
    await made.aclose()


def query(platform, **conditions: Any) -> TraceQuery:
    now = datetime.now(UTC)
    window = {"start": now - A_DAY, "end": now}
    return TraceQuery(**{"rule": "sampled", "projects": (platform.project,), **window, **conditions})


async def found(connector: LangSmithConnector, wanted: TraceQuery) -> list[TraceRef]:
    return [ref async for ref in connector.find(wanted)]


async def pulled(connector: LangSmithConnector, refs: list[TraceRef]) -> list[RawTrace | Rejection]:
    return [trace async for trace in connector.pull(refs)]


def ids(*roots: Any) -> list[str]:
    return [str(root.id) for root in roots]


def test_it_is_a_connector(connector):
    assert isinstance(connector, Connector)


# find


@pytest.mark.parametrize("generation", GENERATIONS)
async def test_traces_of_the_window_are_found_once_oldest_first(service, langsmith_platform, connector, generation):
    platform = langsmith_platform
    now = datetime.now(UTC)
    inside = [platform.trace(started=now - timedelta(hours=hours)) for hours in (2, 5, 3)]
    platform.trace(started=now - 2 * A_DAY)
    border = platform.trace(started=now - timedelta(hours=1))
    service.turn(generation=generation)

    refs = await found(connector, query(platform, end=border.start_time.replace(tzinfo=UTC)))

    assert [ref.trace_id for ref in refs] == ids(inside[1], inside[2], inside[0])  # the end is exclusive
    assert refs[0].project == platform.project
    assert refs[0].rules == ("sampled",)
    assert refs[0].locator["project_id"] == platform.project_id()
    assert refs[0].locator["start_time"] == refs[0].start_time.isoformat()


async def test_without_a_start_everything_that_is_kept_is_found(langsmith_platform, connector):
    old = langsmith_platform.trace(started=datetime.now(UTC) - 10 * A_DAY)
    refs = await found(connector, query(langsmith_platform, start=None))
    assert [ref.trace_id for ref in refs] == ids(old)  # v2 alone would look back one day


@pytest.mark.parametrize("generation", GENERATIONS)
@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        (SpanFilter(kind=SpanKind.RETRIEVER), ["prod", "slow"]),
        (SpanFilter(kind=SpanKind.RETRIEVER, status="error"), ["slow"]),
        (SpanFilter(name="generate"), ["prod", "slow", "bare"]),
        (SpanFilter(status="ERROR"), ["slow"]),
        (SpanFilter(attributes={"metadata.env": "prod", "tier": 2}), ["prod"]),
        (SpanFilter(attributes={"env": 'q"uote'}), ["slow"]),
        (SpanFilter(min_latency_s=5.0), ["slow"]),
        (SpanFilter(tag="vip"), ["prod"]),
        (SpanFilter(raw='or(has(tags, "vip"), gt(latency, "5s"))'), ["prod", "slow"]),
        (SpanFilter(raw='search("Shipping")', kind=SpanKind.RETRIEVER), ["prod"]),
    ],
)
async def test_neutral_rules_mean_the_same_on_langsmith(
    service, langsmith_platform, connector, generation, spans, expected
):
    platform = langsmith_platform
    roots = {
        "prod": platform.trace(metadata={"env": "prod", "tier": 2}, tags=["vip"]),
        "slow": platform.trace(metadata={"env": 'q"uote'}, seconds=8.0, retriever_error="TimeoutError()"),
        "bare": platform.trace(documents=None),
    }
    service.turn(generation=generation)
    refs = await found(connector, query(platform, spans=spans))
    assert {ref.trace_id for ref in refs} == set(ids(*(roots[name] for name in expected)))


async def test_a_filter_langsmith_cannot_hold_is_named(langsmith_platform, connector):
    langsmith_platform.trace()
    with pytest.raises(SetupError, match="no run type RERANKER"):
        await found(connector, query(langsmith_platform, spans=SpanFilter(kind=SpanKind.RERANKER)))
    with pytest.raises(BadReply, match=r"400.*unknown comparator"):
        await found(connector, query(langsmith_platform, spans=SpanFilter(raw='not(eq(name, "x"))')))


@pytest.mark.parametrize("generation", GENERATIONS)
async def test_EX_16_a_score_of_0_is_a_report_and_brings_its_comment(
    service, langsmith_platform, connector, generation
):
    case = CASES["EX-16"]
    roots = {}
    for given in case["input"]["feedback"]:
        roots[given["run_id"]] = root = langsmith_platform.trace()
        langsmith_platform.report(root.id, given["key"], score=given["score"], comment=given.get("comment"))
    service.turn(generation=generation)

    refs = await found(connector, query(langsmith_platform, reports=(ReportFilter(name="user_score", max_score=0),)))

    chosen = [ref.trace_id for ref in refs]
    assert not set(ids(roots["u2"], roots["u3"])) & set(chosen)
    assert chosen == ids(*(roots[name] for name in case["expected"]["selected"]))
    assert [report.comment for report in refs[0].reports] == [case["expected"]["comment_attached"]["u1"]]
    assert refs[0].reports[0].score == 0.0


@pytest.mark.parametrize("generation", GENERATIONS)
@pytest.mark.parametrize("knows", [True, False])
async def test_a_thumbs_down_that_arrives_days_later_counts(service, langsmith_platform, connector, generation, knows):
    platform = langsmith_platform
    service.turn(knows_feedback_times=knows)
    old, older = (platform.trace(started=datetime.now(UTC) - days * A_DAY) for days in (6, 9))
    platform.report(older.id, score=0, comment="known since last night")
    await asyncio.sleep(0.01)
    since = datetime.now(UTC)
    platform.report(old.id, score=0, comment="just found out")
    service.turn(generation=generation)

    wanted = query(platform, reports=(ReportFilter(name="user_score", max_score=0),), reports_since=since)
    refs = await found(connector, wanted)

    assert [ref.trace_id for ref in refs] == ids(old)
    assert refs[0].reports[0].comment == "just found out"


@pytest.mark.parametrize("generation", GENERATIONS)
async def test_reports_by_label_and_on_inner_runs_choose_the_trace(service, langsmith_platform, connector, generation):
    platform = langsmith_platform
    roots = [platform.trace() for _ in range(3)]
    inner = next(run for run in service.state.trace_runs[str(roots[1].id)] if run != str(roots[1].id))
    platform.report(inner, "verdict", value="thumbs-down")
    platform.report(roots[2].id, "verdict", value="thumbs-up")
    service.turn(generation=generation)

    for labelled in (ReportFilter(name="verdict", labels=("thumbs-down",)), ReportFilter(labels=("thumbs-down",))):
        refs = await found(connector, query(platform, reports=(labelled,)))
        assert [ref.trace_id for ref in refs] == ids(roots[1])
        assert refs[0].reports[0].label == "thumbs-down"
        assert refs[0].start_time == roots[1].start_time.replace(tzinfo=UTC)  # the root's, out of the dotted order


async def test_our_own_feedback_is_never_a_report(langsmith_platform, connector):
    root = langsmith_platform.trace()
    await connector.annotate([langsmith_platform.annotation(root, score=0.0)])
    assert await found(connector, query(langsmith_platform, reports=(ReportFilter(max_score=0),))) == []


async def test_a_trace_that_two_reports_choose_is_found_once_with_both(langsmith_platform, connector):
    root = langsmith_platform.trace()
    langsmith_platform.report(root.id, "user_score", score=0)
    langsmith_platform.report(root.id, "tone", score=0.2)
    wanted = (ReportFilter(name="user_score", max_score=0), ReportFilter(name="tone", max_score=0.5))
    refs = await found(connector, query(langsmith_platform, reports=wanted))
    assert [[report.name for report in ref.reports] for ref in refs] == [["user_score", "tone"]]


@pytest.mark.parametrize("generation", GENERATIONS)
async def test_ids_and_pasted_urls_lead_to_their_trace(service, langsmith_platform, connector, generation):
    platform = langsmith_platform
    roots = [platform.trace(started=datetime.now(UTC) - days * A_DAY) for days in (9, 5, 3)]
    elsewhere = platform.trace(project="another", started=datetime.now(UTC) - A_DAY)
    inner = next(run for run in service.state.trace_runs[str(roots[1].id)] if run != str(roots[1].id))
    page = f"https://smith.langchain.com/o/00000000-0000-0000-0000-000000000007/projects/p/{platform.project_id()}"
    there = page.replace(platform.project_id(), platform.project_id("another"))
    pasted = (
        str(roots[0].id).upper(),
        f"{page}/r/{inner}?trace_id={roots[1].id}&start_time=2026-11-29T23:37:43.260614",
        f"{page}?timeModel=7d&peek={inner}&peeked_trace={roots[2].id}",
        f"{there}/r/{elsewhere.id}",
        inner,
    )
    service.turn(generation=generation)

    refs = await found(connector, query(platform, trace_ids=pasted, start=None, end=None))

    assert [ref.trace_id for ref in refs] == ids(*roots, elsewhere)
    assert {ref.project for ref in refs} == {platform.project, "another"}


async def test_what_people_said_comes_with_a_pasted_trace(langsmith_platform, connector):
    root = langsmith_platform.trace()
    langsmith_platform.report(root.id, score=0, comment="wrong price")
    langsmith_platform.report(root.id, "hallucination", score=1, feedback_source_type="model")
    await connector.annotate([langsmith_platform.annotation(root)])
    (ref,) = await found(connector, query(langsmith_platform, trace_ids=(str(root.id),)))
    assert [(report.name, report.comment) for report in ref.reports] == [("user_score", "wrong price")]


async def test_a_damaged_run_costs_only_its_own_trace(service, langsmith_platform, connector):
    roots = [langsmith_platform.trace() for _ in range(2)]
    refs = await found(connector, query(langsmith_platform))
    service.state.runs[str(roots[0].id)].seen_at(datetime.now(UTC))["end_time"] = "yesterday"
    (damaged,) = await pulled(connector, refs[:1])
    assert damaged.reason is RejectReason.MISSING_IDS


@pytest.mark.parametrize("text", ["not-an-id", "https://smith.langchain.com/public/abc/r", "https://example.org/"])
async def test_what_points_to_no_trace_is_named(langsmith_platform, connector, text):
    langsmith_platform.trace()
    with pytest.raises(SetupError, match="LangSmith"):
        await found(connector, query(langsmith_platform, trace_ids=(text,)))


async def test_an_unknown_project_is_named_with_close_ones(langsmith_platform, connector):
    langsmith_platform.trace(project="rag-production")
    with pytest.raises(SetupError, match="no project 'rag-prodution'; there is rag-production"):
        await found(connector, query(langsmith_platform, projects=("rag-prodution",)))


async def test_strata_come_from_the_roots_metadata(langsmith_platform, connector):
    langsmith_platform.trace(metadata={"tier": "gold", "customer": {"size": 3}})
    for key, value in (("metadata.tier", "gold"), ("customer.size", "3"), ("missing", None)):
        assert [ref.stratum for ref in await found(connector, query(langsmith_platform, stratum=key))] == [value]


@pytest.mark.parametrize(("generation", "largest"), [("v1", 100), ("both", 1000)])
async def test_RL_02_pages_keep_to_the_servers_size_and_lose_nothing(
    service, langsmith_platform, connector, generation, largest
):
    case = CASES["RL-02"]
    service.load(_bare_traces(case["input"]["wanted"], langsmith_platform.project))
    service.turn(generation=generation)
    refs = await found(connector, query(langsmith_platform))
    bodies = [one.json() for one in service.asked("/runs/query", "POST")]
    sizes = [body.get("limit", body.get("page_size")) for body in bodies]
    assert max(sizes) <= largest
    assert 250 not in sizes
    assert len({ref.trace_id for ref in refs}) == len(refs) == case["expected"]["fetched"]


async def test_SC_08_a_trace_ingested_late_is_found_by_the_next_run_that_looks_back(
    service, langsmith_platform, connector
):
    case = CASES["SC-08"]
    minutes = int(case["input"]["lookback"].removesuffix("m"))
    watermark = datetime.now(UTC)
    late = langsmith_platform.trace(started=watermark - timedelta(minutes=2), seconds=1.0)
    early = query(langsmith_platform, start=watermark - A_DAY, end=watermark - timedelta(minutes=3))
    assert await found(connector, early) == []  # the run at 02:00 doesn't see it
    following = query(langsmith_platform, start=watermark - timedelta(minutes=minutes), end=watermark + A_DAY)
    assert [ref.trace_id for ref in await found(connector, following)] == ids(late)


# pull


@pytest.mark.parametrize("generation", GENERATIONS)
async def test_whole_trees_come_in_the_order_of_the_refs(service, langsmith_platform, connector, generation):
    platform = langsmith_platform
    for _ in range(3):
        platform.trace(metadata={"env": "prod"}, tags=["vip"])
    service.turn(generation=generation)
    refs = list(reversed(await found(connector, query(platform))))
    service.forget_requests()

    traces = await pulled(connector, refs)

    assert [trace.ref.trace_id for trace in traces] == [ref.trace_id for ref in refs]
    assert len(service.requests) == 1
    spans = traces[0].spans
    assert [(span.name, span.kind) for span in spans] == [
        ("answer", SpanKind.CHAIN),
        ("retrieve", SpanKind.RETRIEVER),
        ("generate", SpanKind.LLM),
    ]
    assert [span.parent_id for span in spans] == [None, spans[0].span_id, spans[0].span_id]
    assert spans[0].inputs == {"question": "When are refunds paid?"}
    assert spans[1].outputs["output"][0]["page_content"] == "Refunds are paid within 30 days."
    assert spans[0].attributes["metadata.env"] == "prod"
    assert spans[0].attributes["tag.tags"] == ["vip"]
    assert not any("LANGSMITH" in key for span in spans for key in span.attributes)
    assert not traces[0].still_running


async def test_only_the_fields_that_are_needed_are_selected(service, langsmith_platform, connector):
    langsmith_platform.trace()
    langsmith_platform.trace()
    await pulled(connector, await found(connector, query(langsmith_platform)))
    selects = service.asked("/api/v2/runs/query")[-1].json()["selects"]
    assert {"INPUTS", "OUTPUTS", "METADATA"} <= set(selects)
    assert not {"EXTRA", "EVENTS", "MANIFEST", "ATTACHMENTS"} & set(selects)


@pytest.mark.parametrize("generation", GENERATIONS)
async def test_failure_states_of_retrieval_stay_apart(service, langsmith_platform, connector, generation):
    platform = langsmith_platform
    platform.trace(documents=None)
    platform.trace(documents=[])
    platform.trace(retriever_error="TimeoutError()")
    service.turn(generation=generation)
    none, empty, failed = await pulled(connector, await found(connector, query(platform)))
    assert [span.kind for span in none.spans] == [SpanKind.CHAIN, SpanKind.LLM]
    assert empty.spans[1].outputs == {"output": []}
    assert (failed.spans[1].status, failed.spans[1].status_message) == ("ERROR", "TimeoutError()")


async def test_a_missing_trace_is_a_rejection_and_the_others_come(service, langsmith_platform, connector):
    platform = langsmith_platform
    gone = TraceRef(connection="langsmith", project=platform.project, trace_id=TraceId(str(uuid.uuid4())))
    kept = platform.trace()
    refs = await found(connector, query(platform))
    first, second = await pulled(connector, [gone, *refs])
    assert isinstance(first, Rejection)
    assert first.reason is RejectReason.TRACE_GONE
    assert second.ref.trace_id == str(kept.id)

    service.advance(15 * 86_400)
    assert [trace.reason for trace in await pulled(connector, refs)] == [RejectReason.TRACE_GONE]


async def test_a_ref_with_a_wrong_time_is_still_pulled(langsmith_platform, connector):
    platform = langsmith_platform
    roots = [platform.trace(started=datetime.now(UTC) - days * A_DAY) for days in (1, 5)]
    refs = [
        TraceRef(connection="x", project=platform.project, trace_id=TraceId(id_), start_time=datetime.now(UTC))
        for id_ in ids(*roots)
    ]
    assert [len(trace.spans) for trace in await pulled(connector, refs)] == [3, 3]


async def test_a_trace_is_deferred_while_its_root_runs(service, langsmith_platform, connector):
    root = langsmith_platform.trace(ends=False)
    refs = await found(connector, query(langsmith_platform))
    assert [trace.still_running for trace in await pulled(connector, refs)] == [True]
    root.end(outputs={"answer": "done"})
    root.patch()
    langsmith_platform.client.flush()
    assert [trace.still_running for trace in await pulled(connector, refs)] == [False]


async def test_a_lost_end_of_an_inner_run_does_not_hold_the_trace_for_ever(langsmith_platform):
    platform = langsmith_platform
    root = platform.trace(started=datetime.now(UTC) - timedelta(minutes=10))
    child = root.create_child(name="tool", run_type="tool", start_time=root.start_time)
    child.post()  # never patched
    platform.client.flush()
    for patience, expected in ((3600.0, True), (60.0, False)):
        connector = platform.connector(open_run_s=patience)
        refs = await found(connector, query(platform))
        assert [trace.still_running for trace in await pulled(connector, refs)] == [expected]
        await connector.aclose()


async def test_payloads_behind_presigned_urls_are_read_without_our_key(service, langsmith_platform, connector):
    langsmith_platform.trace(documents=["a passage " * 100])
    service.turn(generation="v1", payload_url_bytes=500)
    (trace,) = await pulled(connector, await found(connector, query(langsmith_platform)))
    assert len(trace.spans[1].outputs["output"][0]["page_content"]) == 1000
    assert all("x-api-key" not in one.headers for one in service.asked("/_payloads/"))

    service.fail(path="/_payloads/", status=404)
    (lost,) = await pulled(connector, [trace.ref])
    assert (lost.reason, "gone" in lost.detail) == (RejectReason.CONTENT_NOT_CAPTURED, True)
    service.fail(path="/_payloads/", status=403)
    with pytest.raises(TryAgain):
        await pulled(connector, [trace.ref])


async def test_a_batch_that_is_too_much_for_the_server_is_halved(service, langsmith_platform, connector):
    for _ in range(4):
        langsmith_platform.trace()
    refs = await found(connector, query(langsmith_platform))
    service.fail(path="/api/v2/runs/query", status=503, detail="memory limit exceeded")
    assert [len(trace.spans) for trace in await pulled(connector, refs)] == [3, 3, 3, 3]


async def test_a_server_without_queries_for_many_traces_is_asked_for_each(service, langsmith_platform, connector):
    for _ in range(2):
        langsmith_platform.trace()
    refs = await found(connector, query(langsmith_platform))
    service.fail(path="/api/v2/runs/query", status=400, detail="unknown comparator in")
    service.forget_requests()
    assert [len(trace.spans) for trace in await pulled(connector, refs)] == [3, 3]
    assert [one.method for one in service.asked("/api/v2/traces/")] == ["GET", "GET"]
    await pulled(connector, refs)
    assert len(service.asked("/api/v2/runs/query")) == 1  # it isn't tried again


# write-back


@pytest.mark.parametrize("generation", GENERATIONS)
@pytest.mark.parametrize("repost", ["upsert", "conflict"])
async def test_writing_twice_leaves_one_feedback_with_the_later_content(
    service, langsmith_platform, connector, generation, repost
):
    platform = langsmith_platform
    root = platform.trace()
    platform.report(root.id, "context_diff", score=1, comment="a person's own")
    service.turn(generation=generation, repost=repost)

    first = await connector.annotate([platform.annotation(root, score=0.25)])
    second = await connector.annotate([platform.annotation(root, label="faithful", score=1 / 3)])

    assert [one.state for one in (*first, *second)] == [DeliveryState.SENT] * 2
    assert first[0].remote_id == second[0].remote_id
    person, ours = service.feedback_of(str(root.id))
    assert (person["comment"], person["score"]) == ("a person's own", 1)
    assert (ours["score"], ours["value"]["label"]) == (0.3333, "faithful")
    confirmed = await connector.confirm([platform.annotation(root, label="faithful", score=1 / 3)])
    assert [one.state for one in confirmed] == [DeliveryState.CONFIRMED]
    stale = await connector.confirm([platform.annotation(root, score=0.25)])
    assert [one.state for one in stale] == [DeliveryState.RETRY]


async def test_feedback_is_written_at_once_unbilled_and_with_its_provenance(service, langsmith_platform, connector):
    platform = langsmith_platform
    root = platform.trace()
    await connector.annotate([platform.annotation(root)])
    (sent,) = [one.json() for one in service.asked("/feedback", "POST")]
    assert sent["extend_trace_retention"] is False
    assert sent["session_id"] == platform.project_id()
    assert sent["start_time"] == root.start_time.replace(tzinfo=UTC).isoformat()
    assert sent["feedback_source"]["type"] == "model"
    assert sent["feedback_source"]["metadata"] == {
        "product": "trace-enricher",
        "identifier": "trace-enricher/diff/local",
        "judge": {"judge": "diff"},
    }
    assert sent["comment"] == "1 of 2 segments contradicted."
    assert service.state.tier_of(str(root.id)) == "shortlived"

    inner = next(run for run in service.state.trace_runs[str(root.id)] if run != str(root.id))
    await connector.annotate([platform.annotation(root, span_id=inner, annotator_kind="CODE", locator={})])
    sent = service.asked("/feedback", "POST")[-1].json()
    assert "start_time" not in sent  # we only know the root's
    assert sent["session_id"] == platform.project_id()  # looked up by the project's name
    assert sent["feedback_source"]["type"] == "api"


async def test_WB_07_the_diff_is_an_object_and_reads_back_as_it_was(service, langsmith_platform, connector):
    diff = CASES["WB-07"]["input"]["structured_diff"]
    root = langsmith_platform.trace()
    await connector.annotate([langsmith_platform.annotation(root, metadata={"segments": diff})])
    (read,) = langsmith_platform.client.list_feedback(run_ids=[root.id])
    assert not isinstance(read.value, list)
    assert isinstance(read.value, dict)
    assert read.value["segments"] == diff


async def test_WB_08_a_score_of_0_is_written_and_an_absent_one_is_absent(service, langsmith_platform, connector):
    result = CASES["WB-08"]["input"]["result"]
    root, other = langsmith_platform.trace(), langsmith_platform.trace()
    await connector.annotate(
        [
            langsmith_platform.annotation(root, **result),
            langsmith_platform.annotation(other, score=None, label="no_claims"),
        ]
    )
    sent = {one.json()["run_id"]: one.json() for one in service.asked("/feedback", "POST")}
    assert sent[str(root.id)]["score"] == 0.0
    assert "score" not in sent[str(other.id)]
    assert "None" not in str(sent[str(other.id)]["value"])


async def test_one_bad_item_never_costs_the_others_theirs(service, langsmith_platform):
    platform = langsmith_platform
    root = platform.trace()
    batch = [
        platform.annotation(root),
        platform.annotation(root, identifier="nan", score=float("nan")),
        platform.annotation(root, identifier="long", name="k" * 181),
        platform.annotation(root, identifier="foreign", span_id="a1"),
        platform.annotation(root, identifier="refused"),
        platform.annotation(root, identifier="last"),
    ]
    connector = platform.connector(write_concurrency=1)
    service.fail(path="/feedback", status=422, detail="not like this", skip=2)
    states = [one.state for one in await connector.annotate(batch)]
    sent, failed = DeliveryState.SENT, DeliveryState.FAILED
    assert states == [sent, failed, failed, failed, failed, sent]
    assert [one.key for one in await connector.annotate(batch)] == [one.key for one in batch]
    await connector.aclose()


async def test_WB_05_a_run_that_is_not_ingested_yet_is_retried_and_written_once(service, langsmith_platform, connector):
    case = CASES["WB-05"]
    root = langsmith_platform.trace()
    service.fail(path="/feedback", status=404, detail="Run not found", times=case["input"]["responses"].count(404))
    annotation = langsmith_platform.annotation(root, locator={"start_time": datetime.now(UTC).isoformat()})
    states = [(await connector.annotate([annotation]))[0].state for _ in range(case["expected"]["attempts"])]
    assert states == [DeliveryState.RETRY, DeliveryState.RETRY, DeliveryState.SENT]
    assert len(service.feedback_of(str(root.id))) == 1


async def test_a_run_that_is_gone_is_not_retried_for_ever(langsmith_platform, connector):
    root = langsmith_platform.trace()
    long_ago = {"project_id": langsmith_platform.project_id(), "start_time": "2026-01-01T00:00:00+00:00"}
    (delivery,) = await connector.annotate(
        [langsmith_platform.annotation(root, span_id=str(uuid.uuid4()), locator=long_ago)]
    )
    assert (delivery.state, "not there" in delivery.reason) == (DeliveryState.FAILED, True)


async def test_a_diff_that_is_too_long_is_cut_between_entries_and_flagged(service, langsmith_platform):
    connector = langsmith_platform.connector(max_value_bytes=2_000)
    root = langsmith_platform.trace()
    segments = [{"segment_id": f"s{n}", "generated_text": "words " * 10} for n in range(100)]
    metadata = {"segments": segments, "flags": ["known"], "status": "OK"}
    await connector.annotate([langsmith_platform.annotation(root, metadata=metadata, explanation="e" * 9_000)])
    (held,) = service.feedback_of(str(root.id))
    assert (held["score"], held["value"]["label"], held["value"]["status"]) == (0.5, "contradicted", "OK")
    assert held["value"]["flags"] == ["known", "diff_truncated"]
    assert 0 < len(held["value"]["segments"]) < 100
    assert len(json.dumps(held["value"])) <= 2_000
    assert len(held["comment"]) < 4_100
    await connector.aclose()


async def test_names_without_a_score_carry_their_label_as_a_category(service, langsmith_platform, connector):
    root = langsmith_platform.trace()
    await connector.prepare({"failing_half": ("none", "retrieval", "generation", "both"), "needs_review": ()})
    half = langsmith_platform.annotation(root, name="failing_half", label="retrieval", score=None)
    await connector.annotate([half])
    (held,) = service.feedback_of(str(root.id))
    assert held["value"] == "retrieval"
    assert held["feedback_source"]["metadata"]["segments"] == [{"segment_id": "s1"}]
    assert [one.state for one in await connector.confirm([half])] == [DeliveryState.CONFIRMED]


async def test_configs_are_created_and_those_of_others_left_alone(service, langsmith_platform, connector, caplog):
    theirs = {"type": "continuous", "min": 0, "max": 5}
    langsmith_platform.client.create_feedback_config("groundedness", feedback_config=theirs)
    names = {"context_diff": ("faithful", "contradicted"), "groundedness": ("no", "partial", "yes")}
    with caplog.at_level(logging.WARNING):
        await connector.prepare(names)
        await connector.prepare(names)
    held = {key: one["feedback_config"] for key, one in service.state.feedback_configs.items()}
    assert held == {"context_diff": {"type": "continuous", "min": 0, "max": 1}, "groundedness": theirs}
    assert "groundedness" in caplog.text
    assert "groundedness" in (await connector.check()).facts["feedback configs"]


@pytest.mark.parametrize("generation", GENERATIONS)
async def test_runs_go_into_the_review_queue_once(service, langsmith_platform, connector, generation):
    platform = langsmith_platform
    roots = [platform.trace() for _ in range(2)]
    service.turn(generation=generation)
    items = [platform.annotation(root) for root in roots]
    first = await connector.add_to_queue(items[:1], queue="legal", keys=("context_diff",))
    second = await connector.add_to_queue([*items, items[1]], queue="legal")
    assert [one.state for one in first] == [DeliveryState.SENT]
    assert [one.state for one in second] == [DeliveryState.CONFIRMED, DeliveryState.SENT, DeliveryState.SENT]
    (queue,) = service.state.queues.values()
    assert queue["rubric_items"][0]["feedback_key"] == "context_diff"
    assert [item["run_id"] for item in service.state.queue_items[queue["id"]]] == ids(*roots)
    assert service.state.extended_traces == set()


async def test_a_run_that_was_reviewed_is_not_queued_again(service, langsmith_platform, connector):
    root = langsmith_platform.trace()
    await connector.add_to_queue([langsmith_platform.annotation(root)])
    (items,) = service.state.queue_items.values()
    items[0]["completed_by"] = ["reviewer"]
    await connector.add_to_queue([langsmith_platform.annotation(root)])
    assert len(items) == 1


async def test_a_call_for_review_puts_its_run_into_the_queue_and_other_feedback_does_not(service, langsmith_platform):
    connector = langsmith_platform.connector(review_queue="legal")
    asked, other = langsmith_platform.trace(), langsmith_platform.trace()
    batch = [
        langsmith_platform.annotation(asked, name="rag_needs_review", label="policy", score=None),
        langsmith_platform.annotation(other),
    ]
    try:
        for _ in range(2):  # a repeat adds nothing
            states = {one.state for one in await connector.annotate(batch)}
            assert states <= {DeliveryState.SENT, DeliveryState.CONFIRMED}
    finally:
        await connector.aclose()
    (queue,) = service.state.queues.values()
    assert [item["run_id"] for item in service.state.queue_items[queue["id"]]] == ids(asked)


# what goes wrong


async def _find(connector: LangSmithConnector, platform: Any) -> Any:
    return await found(connector, query(platform))


async def _annotate(connector: LangSmithConnector, platform: Any) -> Any:
    return await connector.annotate([platform.annotation(platform.root), platform.annotation(platform.root, name="b")])


@pytest.mark.parametrize(("call", "path"), [(_find, "/runs/query"), (_annotate, "/feedback")])
@pytest.mark.parametrize(
    ("fault", "error", "said"),
    [
        ({"status": 401}, SetupError, "check the API key"),
        ({"status": 403}, SetupError, "rights"),
        ({"status": 429, "retry_after": 7}, TryAgain, "429"),
        ({"status": 429}, TryAgain, "429"),
    ],
)
async def test_errors_are_named_by_who_must_act(service, langsmith_platform, connector, call, path, fault, error, said):
    langsmith_platform.root = langsmith_platform.trace()
    await _find(connector, langsmith_platform)
    fault = service.fail(path=path, times=99, **fault)
    service.forget_requests()
    with pytest.raises(error, match=said) as raised:
        await call(connector, langsmith_platform)
    assert len(service.requests) <= 2  # sent once (or both items at the same time), never repeated
    if fault.retry_after:
        assert raised.value.after == pytest.approx(7, abs=0.5)


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ({"status": 500}, TryAgain),
        ({"status": 503}, TryAgain),
        ({"hang_s": 4.0}, TryAgain),
        ({"drop": True, "times": 2}, TryAgain),
        ({"malformed": True}, BadReply),
        ({"status": 302}, SetupError),
    ],
)
async def test_a_page_that_fails_in_the_middle_is_named(service, langsmith_platform, fault, error):
    service.load(_bare_traces(150, langsmith_platform.project))
    service.turn(generation="v1")
    connector = langsmith_platform.connector(timeout_s=2.0 if "hang_s" in fault else 30.0)
    await connector.check()
    service.fail(path="/api/v1/runs/query", skip=1, **fault)
    with pytest.raises(error):
        await _find(connector, langsmith_platform)
    assert len(await _find(connector, langsmith_platform)) == 150
    await connector.aclose()


async def test_a_kept_connection_that_died_is_replaced_once(service, langsmith_platform, connector):
    langsmith_platform.trace()
    await _find(connector, langsmith_platform)
    service.fail(path="/api/v2/runs/query", drop=True)
    assert len(await _find(connector, langsmith_platform)) == 1


async def test_items_after_an_outage_stay_due(service, langsmith_platform, connector):
    root = langsmith_platform.trace()
    service.fail(path="/feedback", status=500, skip=2, times=99)
    batch = [langsmith_platform.annotation(root, identifier=str(n)) for n in range(5)]
    states = [one.state for one in await connector.annotate(batch)]
    assert states.count(DeliveryState.SENT) == 2
    assert states.count(DeliveryState.RETRY) == 3


async def test_a_pause_that_was_asked_for_is_kept(service, langsmith_platform, connector):
    langsmith_platform.trace()
    await _find(connector, langsmith_platform)
    service.fail(path="/api/v2/runs/query", status=429, retry_after=60)
    with pytest.raises(TryAgain):
        await _find(connector, langsmith_platform)
    service.forget_requests()
    with pytest.raises(TryAgain, match="pause") as raised:
        await _find(connector, langsmith_platform)
    assert service.asked("/runs/query") == []
    assert raised.value.after == pytest.approx(60, abs=1)


async def test_requests_keep_to_the_configured_pace(service, langsmith_platform):
    connector = langsmith_platform.connector(queries_per_s=20.0, runs_per_page=1)
    for _ in range(6):
        langsmith_platform.trace()
    refs = await found(connector, query(langsmith_platform))
    service.forget_requests()
    await pulled(connector, refs)  # 18 runs, one a page, of which 10 go at once
    times = [one.at for one in service.asked("/runs/query")]
    assert len(times) == 18
    assert times[-1] - times[0] >= 0.3
    await connector.aclose()


async def test_RL_05_a_wrong_key_stops_the_run_at_the_first_request(service, langsmith_platform):
    langsmith_platform.trace()
    connector = langsmith_platform.connector(api_key="lsv2_pt_wrong")
    service.forget_requests()
    with pytest.raises(SetupError, match="check the API key"):
        await _find(connector, langsmith_platform)
    assert len(service.requests) == CASES["RL-05"]["expected"]["attempts"]
    await connector.aclose()


async def test_PR_05_the_key_is_in_no_error_and_no_health(service, langsmith_platform):
    key = CASES["PR-05"]["input"]["env"]["LANGSMITH_API_KEY"]
    connector = langsmith_platform.connector(api_key=key)
    with pytest.raises(SetupError) as raised:
        await _find(connector, langsmith_platform)
    chain = [repr(raised.value), repr(raised.value.__cause__), str(raised.value.__cause__)]
    assert key not in "".join(chain)
    assert key not in repr(await connector.check())
    await connector.aclose()


async def test_a_key_that_spans_workspaces_needs_one(service, langsmith_platform, connector):
    langsmith_platform.trace()
    service.turn(is_org_scoped=True)
    with pytest.raises(SetupError, match="workspace_id"):
        await _find(connector, langsmith_platform)
    at_home = langsmith_platform.connector(workspace_id="00000000-0000-0000-0000-000000000007")
    assert len(await _find(at_home, langsmith_platform)) == 1
    await at_home.aclose()


async def test_the_environment_changes_nothing(service, langsmith_platform, monkeypatch):
    root = langsmith_platform.trace()
    monkeypatch.setenv("LANGSMITH_TRACING_SAMPLING_RATE", "0.0")
    monkeypatch.setenv("LANGSMITH_API_KEY", "another")
    monkeypatch.setenv("LANGSMITH_TENANT_ID", "another")
    monkeypatch.setenv("LANGCHAIN_BASE_URL", "http://127.0.0.1:1")
    before = threading.active_count()
    connector = langsmith_platform.connector()
    await connector.annotate([langsmith_platform.annotation(root)])
    assert len(service.feedback_of(str(root.id))) == 1
    assert "x-tenant-id" not in service.asked("/feedback", "POST")[0].headers
    await connector.aclose()
    assert not any("tracing" in thread.name.lower() for thread in threading.enumerate()[before:])


def test_a_missing_key_or_a_wrong_url_is_named_at_once(service):
    with pytest.raises(SetupError, match="API key"):
        LangSmithConnector(name="langsmith", base_url="http://127.0.0.1:1", api_key="")
    with pytest.raises(SetupError, match="http"):
        LangSmithConnector(name="langsmith", base_url="smith.langchain.com", api_key="k")


@pytest.mark.parametrize("suffix", ["", "/", "/api", "/api/v1", "/api/v1/"])
async def test_every_way_to_write_the_base_url_works(service, langsmith_platform, suffix):
    langsmith_platform.trace()
    connector = LangSmithConnector(name="langsmith", base_url=service.url + suffix, api_key=service.key)
    assert len(await _find(connector, langsmith_platform)) == 1
    await connector.aclose()


# check


@pytest.mark.parametrize(
    ("switches", "generation"),
    [
        ({"generation": "both"}, "v2; v1 still answers"),
        ({"generation": "v2"}, "v2; v1 is removed"),
        ({"generation": "v1"}, "v1 only"),
        ({"is_info_broken": True}, "v2"),
    ],
)
async def test_the_self_check_names_generation_rights_retention_and_projects(
    service, langsmith_platform, connector, switches, generation
):
    langsmith_platform.trace()
    service.turn(**switches)
    health = await connector.check()
    assert health.ok
    assert health.facts["run queries"].startswith(generation)
    assert health.facts["projects"] == langsmith_platform.project
    assert health.facts["key"] == "may read and write feedback"
    assert "nothing is billed" in health.facts["retention"]


async def test_the_self_check_finds_a_key_that_may_only_read(service, langsmith_platform):
    langsmith_platform.trace()
    service.turn(keys={service.key: ["read", "write"], "reader": ["read"]})
    connector = langsmith_platform.connector(api_key="reader", extend_trace_retention=True)
    health = await connector.check()
    assert not health.ok
    assert "may not write" in health.problems[0]
    assert "is billed" in health.facts["retention"]
    await connector.aclose()


async def test_the_self_check_of_a_server_that_is_down_is_a_problem_not_an_error():
    connector = LangSmithConnector(name="langsmith", base_url="http://127.0.0.1:9", api_key="k")
    health = await connector.check()
    assert not health.ok
    assert "can't be reached" in health.problems[0]
    await connector.aclose()


def test_both_exception_families_of_the_sdk_are_named(connector):
    from langsmith import utils

    named = connector._api._named
    assert isinstance(named(utils.LangSmithAuthError("no")), SetupError)
    assert isinstance(named(utils.LangSmithRateLimitError("slow")), TryAgain)
    assert isinstance(named(utils.LangSmithConnectionError("down")), TryAgain)
    assert isinstance(named(utils.LangSmithError("odd")), BadReply)


async def test_a_server_that_repeats_its_cursor_is_not_followed(service, langsmith_platform, connector, monkeypatch):
    langsmith_platform.trace()

    async def looping(*_: Any, **__: Any) -> Any:
        return {"items": [], "next_cursor": "again"}

    monkeypatch.setattr(connector._api, "post", looping)
    asked = RunQuery(project_ids=["p"], start=datetime.now(UTC))
    with pytest.raises(BadReply, match="same cursor"):
        async for _ in connector._api.runs(asked):
            pass


def _bare_traces(count: int, project: str) -> list[dict[str, Any]]:
    begin = datetime.now(UTC) - timedelta(hours=2)
    runs = []
    for place in range(count):
        started = begin + timedelta(seconds=place)
        id_ = str(uuid.UUID(int=place + 1, version=4))
        runs.append(
            {
                "id": id_,
                "trace_id": id_,
                "dotted_order": f"{started:%Y%m%dT%H%M%S%f}Z{id_}",
                "name": "answer",
                "run_type": "chain",
                "session_name": project,
                "start_time": started.isoformat(),
                "end_time": (started + timedelta(seconds=1)).isoformat(),
                "inputs": {"question": "q"},
                "outputs": {"answer": "a"},
            }
        )
    return runs
