"""The Phoenix connector against a real Phoenix."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from connectors.formats import raw_trace
from connectors.otlp import send
from connectors.phoenix import PhoenixConnector
from enricher.errors import SetupError
from enricher.phoenix_server import PhoenixServer
from enricher.steps.extraction import extract
from enricher.trace import RawTrace, Rejection, RejectReason, ReportFilter, Span, SpanFilter, SpanKind, TraceQuery
from enricher.verdict import Annotation, DeliveryState
from tests.conftest import ADMIN_SECRET
from tests.servers.phoenix import PhoenixPlatform, rag_trace, recorded

CASES = {
    case["id"]: case
    for line in (Path(__file__).parents[1] / "cases" / "write-back.jsonl").read_text().splitlines()
    for case in [json.loads(line)]
}
THUMBS_DOWN = {"name": "user_feedback", "result": {"label": "thumbs-down", "score": 0, "explanation": "It is 30 days."}}
REPORTED = (ReportFilter(name="user_feedback", max_score=0.0),)


def ago(**age: float) -> datetime:
    return datetime.now(UTC) - timedelta(**age)


async def found(connector: PhoenixConnector, **query) -> list:
    async with _closing(connector):
        return [ref async for ref in connector.find(TraceQuery(rule="test", **query))]


async def pulled(connector: PhoenixConnector, refs) -> list[RawTrace | Rejection]:
    return [value async for value in connector.pull(refs)]


class _closing:
    def __init__(self, connector: PhoenixConnector) -> None:
        self.connector = connector

    async def __aenter__(self) -> PhoenixConnector:
        return self.connector

    async def __aexit__(self, *_: object) -> None:
        await self.connector.aclose()


def annotation(phoenix: PhoenixPlatform, span: Span, **changes) -> Annotation:
    given = {
        "connection": "phoenix",
        "project": phoenix.project,
        "trace_id": span.trace_id,
        "span_id": span.span_id,
        "name": "context_diff",
        "label": "contradicted",
        "score": 0.5,
        "explanation": "1 of 2 segments contradicted: answer '90 days', kb-0 '30 days'",
        "metadata": {"segments": [{"segment_id": "s1", "alignment_status": "CONTRADICTED"}]},
        "identifier": "enricher:diff:v1",
    }
    return Annotation.model_validate(given | changes)


def ids(traces) -> list[str]:
    return [trace[0].trace_id for trace in traces]


def trace_ids(refs) -> list[str]:
    return [ref.trace_id for ref in refs]


async def test_the_window_includes_its_start_and_excludes_its_end_oldest_first(phoenix):
    traces = [rag_trace(ended=ago(minutes=minutes)) for minutes in (10, 30, 20, 40)]
    await phoenix.seed(*traces)
    newest, second, third, oldest = traces[0], traces[2], traces[1], traces[3]
    refs = await found(phoenix.connector(), start=oldest[0].start_time, end=newest[0].start_time)
    assert trace_ids(refs) == ids([oldest, third, second])
    assert refs[0].start_time == oldest[0].start_time
    assert (refs[0].connection, refs[0].project, refs[0].rules) == ("phoenix", phoenix.project, ("test",))


async def test_several_projects_are_merged_by_age_and_paged(phoenix):
    other = f"{phoenix.project}-other"
    here = [rag_trace(ended=ago(minutes=minutes)) for minutes in (50, 40, 30, 20, 10)]
    there = [rag_trace(ended=ago(minutes=minutes)) for minutes in (45, 25)]
    await phoenix.seed(*here)
    await phoenix.seed(*there, project=other)
    refs = await found(phoenix.connector(page_size=2), projects=(phoenix.project, other))
    assert trace_ids(refs) == ids([here[0], there[0], here[1], here[2], there[1], here[3], here[4]])
    everywhere = await found(phoenix.connector(projects=None))
    assert set(trace_ids(refs)) <= set(trace_ids(everywhere))


async def test_a_project_that_does_not_exist_is_named_with_the_closest(phoenix):
    await phoenix.seed(rag_trace())
    wrong = phoenix.project.replace("test", "tets")
    with pytest.raises(SetupError, match=f"'{wrong}'.*{phoenix.project}"):
        await found(phoenix.connector(), projects=(wrong,))


async def test_reports_on_spans_and_traces_are_found_with_what_the_person_said(phoenix):
    on_span, on_trace, praised, silent = traces = [rag_trace() for _ in range(4)]
    await phoenix.seed(*traces)
    await phoenix.annotate_span(on_span[1].span_id, **THUMBS_DOWN)
    await phoenix.annotate_trace(on_trace[0].trace_id, **THUMBS_DOWN)
    await phoenix.annotate_span(praised[0].span_id, name="user_feedback", result={"label": "thumbs-up", "score": 1})
    await phoenix.annotate_span(silent[0].span_id, name="user_feedback", result={"explanation": "no score at all"})
    refs = await found(phoenix.connector(), reports=REPORTED)
    assert set(trace_ids(refs)) == set(ids([on_span, on_trace]))
    for ref in refs:
        (report,) = ref.reports
        assert (report.name, report.label, report.score) == ("user_feedback", "thumbs-down", 0.0)
        assert report.comment == "It is 30 days."
        assert report.reported_at is not None
        assert abs(report.reported_at - datetime.now(UTC)) < timedelta(minutes=5)
    by_label = await found(
        phoenix.connector(), reports=(ReportFilter(labels=("thumbs-up", "x")), ReportFilter(name="y"))
    )
    assert trace_ids(by_label) == ids([praised])
    by_person = await found(phoenix.connector(), reports=(ReportFilter(),))
    assert set(trace_ids(by_person)) == set(ids(traces))


async def test_a_report_that_comes_days_after_its_trace_is_found(phoenix):
    old, ancient = rag_trace(ended=ago(days=5)), rag_trace(ended=ago(days=100))
    await phoenix.seed(old, ancient)
    for trace in (old, ancient):
        await phoenix.annotate_span(trace[2].span_id, **THUMBS_DOWN)
    window = {"start": ago(days=1), "reports": REPORTED}
    assert await found(phoenix.connector(), **window) == []
    assert trace_ids(await found(phoenix.connector(), **window, reports_since=ago(hours=1))) == ids([old])
    assert await found(phoenix.connector(), **window, reports_since=ago(hours=-1)) == []
    unlimited = phoenix.connector(report_lookback_days=None)
    assert trace_ids(await found(unlimited, **window, reports_since=ago(hours=1))) == ids([ancient, old])


@pytest.mark.parametrize(
    "spans",
    [
        SpanFilter(kind=SpanKind.TOOL),
        SpanFilter(name="generate\"'"),
        SpanFilter(status="error"),
        SpanFilter(min_latency_s=60.0),
        SpanFilter(attributes={"llm.model_name": "12", "metadata.n": 3}),
        SpanFilter(tag="prod"),
        SpanFilter(raw="num_spans == 4"),
        SpanFilter(kind=SpanKind.TOOL, name="generate\"'", status="ERROR", min_latency_s=60.0, tag="prod"),
    ],
)
async def test_a_span_filter_selects_the_trace_that_has_such_a_span(phoenix, spans):
    odd, usual = rag_trace(ended=ago(hours=2)), rag_trace()
    special = Span(
        trace_id=odd[0].trace_id,
        span_id=odd[0].span_id[::-1],
        parent_id=odd[2].span_id,
        name="generate\"'",
        kind=SpanKind.TOOL,
        start_time=ago(hours=2),
        end_time=ago(hours=1),
        status="ERROR",
        attributes={"llm.model_name": "12", "metadata": '{"n": 3}', "tag.tags": ["a", "prod"]},
    )
    await phoenix.seed([*odd, special], usual)
    assert trace_ids(await found(phoenix.connector(), spans=spans)) == ids([odd])


async def test_conditions_must_hold_on_the_same_span(phoenix):
    await phoenix.seed(rag_trace(child={"tag.tags": ["prod"]}))
    assert len(await found(phoenix.connector(), spans=SpanFilter(kind=SpanKind.LLM, tag="prod"))) == 1
    assert await found(phoenix.connector(), spans=SpanFilter(kind=SpanKind.RETRIEVER, tag="prod")) == []
    assert await found(phoenix.connector(), spans=SpanFilter(kind=SpanKind.RETRIEVER, name="generate")) == []


async def test_a_filter_that_phoenix_refuses_is_the_operators_to_fix(phoenix):
    await phoenix.seed(rag_trace())
    with pytest.raises(SetupError, match="Phoenix refuses the query"):
        await found(phoenix.connector(), spans=SpanFilter(raw="num_spans >"))


async def test_the_stratum_is_the_value_on_the_root(phoenix):
    await phoenix.seed(rag_trace(ended=ago(hours=3), root={"metadata": '{"tier": "pro"}'}), rag_trace())
    refs = await found(phoenix.connector(), stratum="metadata.tier")
    assert [ref.stratum for ref in refs] == ["pro", None]


async def test_ids_and_pasted_urls_find_their_traces_and_missing_ones_are_reported_gone(phoenix):
    traces = [rag_trace() for _ in range(3)]
    await phoenix.seed(*traces)
    (ref, *_) = await found(phoenix.connector())
    project_id = ref.locator["project_id"]
    page = f"{phoenix.server.base_url}/projects/{project_id}/traces/{ref.trace_id}?selectedSpanNodeId=U3Bh"
    others = [trace for trace in traces if trace[0].trace_id != ref.trace_id]
    span_url = f"{phoenix.server.base_url}/redirects/spans/{others[0][1].span_id}"
    await phoenix.annotate_span(others[1][1].span_id, **THUMBS_DOWN)
    wanted = (page, span_url, others[1][0].trace_id.upper(), others[1][0].trace_id, "f" * 32)
    refs = await found(phoenix.connector(projects=None), trace_ids=wanted, start=ago(minutes=1))
    assert set(trace_ids(refs)) == {*ids(traces), "f" * 32}
    assert len(refs) == 4
    assert refs[-1].trace_id == "f" * 32
    assert {report.comment for ref in refs for report in ref.reports} == {"It is 30 days."}
    connector = phoenix.connector(projects=None)
    async with _closing(connector):
        results = await pulled(connector, refs)
    assert [len(value.spans) for value in results[:3]] == [3, 3, 3]
    assert isinstance(results[3], Rejection)
    assert results[3].reason is RejectReason.TRACE_GONE


async def test_whole_traces_come_back_in_tree_order_although_pages_cut_through_them(phoenix):
    traces = [rag_trace(ended=ago(minutes=minutes)) for minutes in (30, 20, 10)]
    await phoenix.seed(*traces)
    connector = phoenix.connector(page_size=2, pull_batch=2)
    async with _closing(connector):
        refs = [ref async for ref in connector.find(TraceQuery(rule="test"))]
        results = await pulled(connector, refs)
    assert [value.ref for value in results] == refs
    for sent, value in zip(traces, results, strict=True):
        assert [span.name for span in value.spans] == ["answer", "retrieve", "generate"]
        assert {span.span_id for span in value.spans} == {span.span_id for span in sent}
        root, retriever, _ = value.spans
        assert (root.kind, root.status, root.parent_id) == (SpanKind.CHAIN, "OK", None)
        assert retriever.attributes["retrieval.documents.1.document.content"] == "Shipping takes a week."
        assert retriever.start_time == sent[0].start_time
        assert not value.still_running


async def test_a_trace_that_is_deleted_after_it_was_found_is_gone(phoenix):
    traces = [rag_trace(ended=ago(minutes=20)), rag_trace()]
    await phoenix.seed(*traces)
    connector = phoenix.connector()
    async with _closing(connector):
        refs = [ref async for ref in connector.find(TraceQuery(rule="test"))]
        await phoenix.delete_trace(refs[0].trace_id)
        gone, kept = await pulled(connector, refs)
    assert isinstance(gone, Rejection)
    assert (gone.trace_id, gone.reason) == (refs[0].trace_id, RejectReason.TRACE_GONE)
    assert isinstance(kept, RawTrace)


async def test_a_growing_trace_is_marked_and_explicit_ids_only_by_option(phoenix):
    fresh, open_parent = rag_trace(ended=ago(seconds=2)), rag_trace(ended=ago(minutes=2))[:2]
    await phoenix.seed(fresh, open_parent, rag_trace())
    explicit = TraceQuery(rule="test", trace_ids=(fresh[0].trace_id,))
    cautious, eager = phoenix.connector(), phoenix.connector(defer_explicit=False)
    async with _closing(cautious), _closing(eager):
        refs = [ref async for ref in cautious.find(TraceQuery(rule="test"))]
        assert [value.still_running for value in await pulled(cautious, refs)] == [False, True, True]
        refs = [ref async for ref in cautious.find(explicit)]
        assert [value.still_running for value in await pulled(cautious, refs)] == [True]
        assert [value.still_running for value in await pulled(eager, refs)] == [False]


async def test_recorded_traces_read_the_same_through_phoenix_as_from_their_files(phoenix):
    # One a family: Phoenix renumbers lists, splits JSON attributes and adds its own reading of gen_ai attributes. None
    # of them may be a sample of the demo, which other tests send to this server: Phoenix keeps a span id only once.
    names = (
        "awkward-attribute-count-limit-60docs",
        "awkward-orphan-children-no-root",
        "dspy-react",
        "genai-openai-execute-tool",
        "google-adk-native",
        "haystack-rag",
        "langchain-retrieval-chain-dict",
        "langchain-retriever-error-fallback",
        "langgraph-tool-error",
        "llamaindex-llmrerank",
        "openai-chat-tool-message-only",
        "vercel-ai-tools-raw",
    )
    traces = [recorded(name) for name in names]
    await phoenix.seed(*traces)
    connector = phoenix.connector(open_parent_s=60.0)
    async with _closing(connector):
        refs = [ref async for ref in connector.find(TraceQuery(rule="test"))]
        results = {value.ref.trace_id: value for value in await pulled(connector, refs)}
    for sent in traces:
        value = results[sent[0].trace_id]
        assert not value.still_running
        assert {(s.span_id, s.parent_id, s.name, s.start_time, s.end_time, s.status) for s in value.spans} == {
            (s.span_id, s.parent_id, s.name, s.start_time, s.end_time, s.status) for s in sent
        }
        assert items(extract(value)) == items(extract(raw_trace(tuple(sent))))


def items(extraction) -> list:
    return [
        (item.question, item.answer, item.annotate_span_id, [(d.id, d.text) for d in item.documents], item.flags)
        for item in extraction.items
    ]


@pytest.fixture
async def writer(phoenix):
    connector = phoenix.connector()
    yield connector
    await connector.aclose()


async def test_wb_01_writing_twice_leaves_one_annotation_with_the_latest_values(phoenix, writer):
    trace = rag_trace()
    await phoenix.seed(trace)
    first = await writer.annotate([annotation(phoenix, trace[2])])
    again = await writer.annotate([annotation(phoenix, trace[2], score=0.25)])
    rows = await phoenix.annotations_on(trace[2].span_id)
    assert len(rows) == CASES["WB-01"]["expected"]["annotations_on_span"]
    assert rows[0]["result"]["score"] == 0.25
    assert rows[0]["result"]["explanation"].startswith("1 of 2 segments")
    assert rows[0]["metadata"]["segments"][0]["alignment_status"] == "CONTRADICTED"
    assert (rows[0]["annotator_kind"], rows[0]["identifier"]) == ("LLM", "enricher:diff:v1")
    assert first[0].remote_id == again[0].remote_id == rows[0]["id"]
    assert again[0].state is DeliveryState.CONFIRMED


async def test_wb_03_one_unknown_span_costs_the_others_nothing(phoenix, writer):
    traces = [rag_trace() for _ in range(3)]
    await phoenix.seed(*traces)
    batch = [annotation(phoenix, trace[2]) for trace in traces]
    batch.insert(2, annotation(phoenix, traces[0][2], span_id="f" * 16))
    deliveries = await writer.annotate(batch)
    for trace in traces:
        assert len(await phoenix.annotations_on(trace[2].span_id)) == 1
    assert [delivery.state.value for delivery in deliveries] == ["confirmed", "confirmed", "failed", "confirmed"]
    assert [delivery.key for delivery in deliveries] == [item.key for item in batch]
    assert "does not exist" in deliveries[2].reason
    assert [delivery.state.value for delivery in await writer.confirm(batch)] == [
        "confirmed",
        "confirmed",
        "retry",
        "confirmed",
    ]


async def test_wb_04_and_08_an_absent_score_stays_absent_and_zero_stays_zero(phoenix, writer):
    trace = rag_trace()
    await phoenix.seed(trace)
    batch = [
        annotation(phoenix, trace[2], name="no_claims_here", label="no_claims", score=None),
        annotation(phoenix, trace[2], name="all_wrong", label="unsupported", score=0.0),
    ]
    await writer.annotate(batch)
    rows = {row["name"]: row["result"] for row in await phoenix.annotations_on(trace[2].span_id)}
    assert rows["no_claims_here"]["score"] is None
    assert rows["all_wrong"]["score"] == CASES["WB-08"]["expected"]["written"]["score"]
    assert rows["all_wrong"]["score"] is not None
    assert rows["no_claims_here"]["label"] == "no_claims"
    assert all(delivery.state is DeliveryState.CONFIRMED for delivery in await writer.confirm(batch))


async def test_confirming_tells_what_is_not_there_or_differs(phoenix, writer):
    trace = rag_trace()
    await phoenix.seed(trace)
    await writer.annotate([annotation(phoenix, trace[2], score=None)])
    deliveries = await writer.confirm(
        [
            annotation(phoenix, trace[2], score=None),
            annotation(phoenix, trace[2], score=0.0),
            annotation(phoenix, trace[2], score=None, label="faithful"),
            annotation(phoenix, trace[2], score=None, name="another"),
        ]
    )
    assert [delivery.state.value for delivery in deliveries][1:] == ["retry", "retry", "retry"]


async def test_wb_12_a_diff_over_the_limit_is_cut_in_its_structure(phoenix):
    case = CASES["WB-12"]["input"]
    trace = rag_trace()
    await phoenix.seed(trace)
    segments = [{"segment_id": f"s{n}", "generated_text": "x" * 480} for n in range(case["diff_chars"] // 500)]
    connector = phoenix.connector(max_metadata_bytes=case["limit"])
    async with _closing(connector):
        big = annotation(phoenix, trace[2], metadata={"segments": segments}, explanation="y" * case["diff_chars"])
        (delivery,) = await connector.annotate([big])
    (row,) = await phoenix.annotations_on(trace[2].span_id)
    assert delivery.state is DeliveryState.CONFIRMED
    assert (row["result"]["label"], row["result"]["score"]) == ("contradicted", 0.5)
    assert row["metadata"]["flags"] == CASES["WB-12"]["expected"]["flags"]
    assert 0 < len(row["metadata"]["segments"]) < len(segments)
    assert row["metadata"]["segments"][0] == segments[0]


async def test_wb_14_another_version_stands_beside_the_old_one_and_a_persons_word_survives(phoenix, writer):
    trace = rag_trace()
    await phoenix.seed(trace)
    span_id = trace[2].span_id
    await phoenix.annotate_span(span_id, name="context_diff", result={"label": "faithful", "score": 1.0})
    for version in ("v1", "v2"):
        await writer.annotate([annotation(phoenix, trace[2], identifier=f"enricher:diff:{version}", score=0.5)])
    rows = {(row["identifier"], row["annotator_kind"]): row["result"] for row in await phoenix.annotations_on(span_id)}
    assert set(rows) == {("", "HUMAN"), ("enricher:diff:v1", "LLM"), ("enricher:diff:v2", "LLM")}
    assert rows["", "HUMAN"]["score"] == 1.0


async def test_wb_15_a_reserved_name_is_refused_at_start_up(phoenix, writer):
    with pytest.raises(SetupError, match="note"):
        await writer.prepare({"context_diff": ("faithful",), CASES["WB-15"]["input"]["config"]["annotation_name"]: ()})
    trace = rag_trace()
    await phoenix.seed(trace)
    deliveries = await writer.annotate([annotation(phoenix, trace[2], name="note"), annotation(phoenix, trace[2])])
    assert [delivery.state.value for delivery in deliveries] == ["failed", "confirmed"]


async def test_documents_are_annotated_and_a_wrong_position_costs_the_others_nothing(phoenix, writer):
    trace = rag_trace()
    await phoenix.seed(trace)
    batch = [
        annotation(phoenix, trace[0], name="document_relevance", label="relevant", score=1.0, document_position=place)
        for place in (0, 9, 1)
    ]
    deliveries = await writer.annotate([*batch, annotation(phoenix, trace[0])])
    assert [delivery.state.value for delivery in deliveries] == ["confirmed", "failed", "confirmed", "confirmed"]
    assert "out of bounds" in deliveries[1].reason
    await writer.annotate(batch[:1])
    rows = await phoenix.document_annotations_on(trace[0].span_id)
    assert sorted((row["documentPosition"], row["label"]) for row in rows) == [(0, "relevant"), (1, "relevant")]
    assert [delivery.state.value for delivery in await writer.confirm([batch[0]])] == ["confirmed"]


async def test_text_that_phoenix_chokes_on_is_cleaned_and_bad_scores_are_refused(phoenix, writer):
    trace = rag_trace()
    await phoenix.seed(trace)
    deliveries = await writer.annotate(
        [
            annotation(phoenix, trace[2], explanation="half a pair \ud800", metadata={"text": ["\udfff", "\x00"]}),
            annotation(phoenix, trace[2], name="not_a_number", score=float("nan")),
        ]
    )
    assert [delivery.state.value for delivery in deliveries] == ["confirmed", "failed"]
    (row,) = await phoenix.annotations_on(trace[2].span_id)
    assert row["result"]["explanation"] == "half a pair \ufffd"


async def test_annotation_configs_are_offered_once_and_those_of_people_left_alone(phoenix, writer):
    await phoenix.seed(rag_trace())
    ours, theirs = f"{phoenix.project}-diff", f"{phoenix.project}-quality"
    body = {"type": "FREEFORM", "name": theirs, "description": "of the team"}
    (await phoenix.client.post("/v1/annotation_configs", json=body)).raise_for_status()
    await writer.prepare({ours: ("faithful", "contradicted"), theirs: ("yes", "no")})
    await writer.prepare({ours: ("faithful", "contradicted", "no_claims"), theirs: ("yes", "no")})
    reply = await phoenix.client.get(f"/v1/projects/{phoenix.project}/annotation_configs")
    offered = {config["name"]: config for config in reply.json()["data"]}
    assert set(offered) == {ours, theirs}
    assert [(value["label"], value["score"]) for value in offered[ours]["values"]] == [
        ("faithful", 1.0),
        ("contradicted", 0.0),
        ("no_claims", None),
    ]
    assert (offered[theirs]["type"], offered[theirs]["description"]) == ("FREEFORM", "of the team")


async def test_the_check_tells_version_and_projects_and_warns_of_the_attribute_limit(phoenix, writer):
    many = {f"retrieval.documents.{n}.document.content": "text" for n in range(128)}
    trace = rag_trace()
    crowded = Span(trace_id=trace[0].trace_id, span_id=trace[0].span_id[::-1], parent_id=trace[2].span_id,
                   start_time=ago(hours=1), end_time=ago(hours=1), attributes=many)  # fmt: skip
    await phoenix.seed([*trace, crowded])
    health = await writer.check()
    assert health.ok
    assert health.facts["version"].count(".") == 2
    assert health.facts["projects"] == phoenix.project
    assert [phoenix.project in problem and "128" in problem for problem in health.problems] == [True]
    missing = phoenix.connector(projects=("nowhere",))
    async with _closing(missing):
        health = await missing.check()
    assert not health.ok
    assert "nowhere" in health.problems[0]


async def test_with_authentication_only_a_valid_key_reads_and_writes(phoenix_server_with_auth: PhoenixServer):
    phoenix = PhoenixPlatform(server=phoenix_server_with_auth)
    trace = rag_trace()
    for key in (None, "wrong"):
        refused = phoenix.connector(api_key=key)
        async with _closing(refused):
            with pytest.raises(SetupError, match="401"):
                [ref async for ref in refused.find(TraceQuery(rule="test"))]
            with pytest.raises(SetupError, match="401"):
                await refused.annotate([annotation(phoenix, trace[2])])
            assert not (await refused.check()).ok
    with pytest.raises(SetupError, match="401"):
        await send(trace, base_url=phoenix.server.base_url, project=phoenix.project)
    await phoenix.seed(trace)
    await phoenix.annotate_span(trace[1].span_id, **THUMBS_DOWN)
    allowed = phoenix.connector(api_key=ADMIN_SECRET)
    async with _closing(allowed):
        (ref,) = [ref async for ref in allowed.find(TraceQuery(rule="test", reports=REPORTED))]
        assert ref.reports[0].author not in (None, "")
        (delivery,) = await allowed.annotate([annotation(phoenix, trace[2])])
        assert delivery.state is DeliveryState.CONFIRMED
        assert (await allowed.check()).facts["auth"] == "API key accepted"
    await phoenix.aclose()


def test_the_client_is_loaded_without_the_server_beside_it():
    code = (
        "import sys; from connectors.phoenix import PhoenixConnector; "
        "PhoenixConnector(name='p', base_url='http://127.0.0.1:1'); "
        "print('phoenix.client' in sys.modules, 'phoenix.server' in sys.modules, 'phoenix' in sys.modules)"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, env=dict(os.environ), capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["True", "False", "False"]
