"""Files as a platform: every export is read as the traces it holds, and annotations beside them survive anything."""

import asyncio
import gzip
import json
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from connectors.files import FilesConnector
from connectors.files_output import AnnotationFile, encoded
from connectors.formats import spans_of
from enricher.errors import SetupError, TryAgain
from enricher.records import item_of
from enricher.steps.extraction import extract
from enricher.steps.validation import cleaned, validate
from enricher.trace import RawTrace, Rejection, RejectReason, ReportFilter, SpanFilter, SpanKind, TraceQuery
from enricher.verdict import Annotation, DeliveryState
from tests.trace_files import LANGSMITH, OTEL, as_otlp, load, otel, through_phoenix

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)
RECORD = {
    "id": "r1",
    "question": "How long is the notice period?",
    "documents": [{"id": "d1", "text": "The notice period is sixty days."}, "A bare text."],
    "answer": "Ninety days.",
}


def lines(*values) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


class Folder:
    """A folder of exports, and a connector over it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.output = path / "annotations.jsonl"
        self.connector = self.new_connector()

    def new_connector(self, **options) -> FilesConnector:
        given = {"paths": [str(self.path / "*.json*")], "output": self.output, "name": "files", **options}
        return FilesConnector(**given)

    def put(self, name: str, content: str | bytes) -> Path:
        file = self.path / name
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file

    async def find(self, **query):
        return [ref async for ref in self.connector.find(TraceQuery(rule="r", **query))]

    async def ids(self, **query):
        return [str(ref.trace_id) for ref in await self.find(**query)]

    async def pull(self, refs=None):
        return [got async for got in self.connector.pull(await self.find() if refs is None else refs)]

    async def items(self):
        return [item for trace in await self.pull() for item in validate(extract(trace), trace).items]

    def lines(self) -> list[dict]:
        return [json.loads(line) for line in self.output.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
async def folder(tmp_path):
    folder = Folder(tmp_path)
    yield folder
    await folder.connector.aclose()


def annotation(trace: str = "r1", span: str | None = None, **fields) -> Annotation:
    given = {
        "connection": "files",
        "project": "default",
        "trace_id": trace,
        "span_id": span or trace,
        "name": "context_diff",
        "label": "contradicted",
        "score": 0.0,
        "explanation": "Answer says 'ninety', d1 says 'sixty'.",
        "metadata": {"segments": [{"segment_id": "s1"}]},
        "identifier": "v1",
    }
    return Annotation(**{**given, **fields})


# what can be read


async def test_a_record_is_a_trace_that_is_read_like_any_other(folder):
    folder.put("in.jsonl", lines(RECORD))
    (item,) = await folder.items()
    assert (item.trace_id, item.question, item.answer) == ("r1", RECORD["question"], "Ninety days.")
    assert [(d.id, d.text, d.span_id, d.position) for d in item.documents] == [
        ("d1", "The notice period is sixty days.", "r1:documents", 0),
        ("d2", "A bare text.", "r1:documents", 1),
    ]
    assert (item.annotate_span_id, item.answer_span_id, item.flags) == ("r1", "r1", ())


words = st.lists(st.sampled_from(["sixty", "days", "§ 4", "the", "Notice", "\u2028", "“so”", "1.5", "né"]), min_size=2)
texts = words.map(" ".join).filter(lambda text: text.strip() == text)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.builds(dict, question=texts, answer=texts, documents=st.lists(texts, min_size=1, max_size=4)))
async def test_any_record_gives_what_judging_it_as_a_record_gives(tmp_path, record):
    # Texts of one length under different keys are how a length limit betrays itself; that is another test's matter.
    lengths = [len(text) for text in (record["question"], record["answer"], *record["documents"])]
    assume(len(set(lengths)) == len(lengths))
    folder = Folder(tmp_path)
    folder.put("in.jsonl", json.dumps({"id": 7, **record}, ensure_ascii=False) + "\n")
    try:
        (item,) = await folder.items()
    finally:
        await folder.connector.aclose()
    plain = cleaned(item_of({"id": 7, **record}))
    assert (item.trace_id, item.question, item.answer) == (plain.trace_id, plain.question, plain.answer)
    assert [(d.id, d.text, d.aliases) for d in item.documents] == [(d.id, d.text, d.aliases) for d in plain.documents]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"answer": None}, RejectReason.NO_ANSWER),
        ({"answer": "  "}, RejectReason.NO_ANSWER),
        ({"documents": []}, RejectReason.EMPTY_RETRIEVAL),
        ({"documents": [{"id": "d1", "text": " "}]}, RejectReason.CONTEXT_NOT_RECORDED),
    ],
)
async def test_a_record_that_lacks_a_part_is_rejected_for_that(folder, change, reason):
    folder.put("in.jsonl", lines({**RECORD, **change}))
    (trace,) = await folder.pull()
    assert [one.reason for one in validate(extract(trace), trace).rejections] == [reason]


def as_lines(recorded) -> str:
    return lines(*through_phoenix(recorded)["data"])


def as_table(recorded) -> str:
    rows = through_phoenix(recorded)["data"]
    flat = ("name", "span_kind", "parent_id", "status_code", "status_message", "events")
    return lines(
        *(
            {
                **{key: row[key] for key in flat},
                **{f"context.{key}": value for key, value in row["context"].items()},
                **{f"attributes.{key}": value for key, value in row["attributes"].items()},
                **{t: int(datetime.fromisoformat(row[t]).timestamp() * 1000) for t in ("start_time", "end_time")},
                "attributes.metadata": None,
            }
            for row in rows
        )
    )


def pretty(value) -> str:
    return json.dumps(value, indent=2)


FORMS = {
    "otlp-line.json": lambda r: lines(as_otlp(r)),
    "otlp-pretty.json": lambda r: pretty(as_otlp(r)),
    "otlp-a-span-a-line.jsonl": lambda r: lines(*(as_otlp({"spans": [s]}) for s in r["spans"])),
    "recorded.json": lambda r: json.dumps(r),
    "phoenix-lines.jsonl": as_lines,
    "phoenix-page.json": lambda r: pretty(through_phoenix(r)),
    "phoenix-list.json": lambda r: json.dumps(through_phoenix(r)["data"]),
    "phoenix-rows.jsonl": as_table,
    "bom.jsonl": lambda r: "\ufeff" + as_lines(r),
    "windows.jsonl": lambda r: as_lines(r).replace("\n", "\r\n"),
}


@pytest.mark.parametrize("is_zipped", [False, True], ids=["plain", "gz"])
@pytest.mark.parametrize("form", FORMS)
async def test_every_form_of_an_export_gives_the_same_spans(folder, form, is_zipped):
    recorded = otel("haystack-rag")
    content = FORMS[form](recorded).encode()
    folder.put(f"{form}.gz" if is_zipped else form, gzip.compress(content) if is_zipped else content)
    (trace,) = await folder.pull()
    want = {s.span_id: (s.trace_id, s.parent_id, s.name, s.attributes) for s in spans_of(through_phoenix(recorded))}
    got = {s.span_id: (s.trace_id, s.parent_id, s.name, s.attributes) for s in trace.spans}
    if "phoenix" not in form:
        assert {key: value[:3] for key, value in got.items()} == {key: value[:3] for key, value in want.items()}
    elif form != "phoenix-rows.jsonl":
        assert got == want
    assert not trace.still_running
    (item,) = validate(extract(trace), trace).items
    assert item.question == recorded["expected"]["question"]
    assert item.answer == recorded["expected"]["answer"]
    assert [d.text for d in item.documents] == [d["text"] for d in recorded["expected"]["documents"]]
    assert (await folder.connector.check()).facts["lines that can't be read"] == "0"


@pytest.mark.parametrize("path", [*OTEL, *LANGSMITH], ids=lambda path: path.name)
async def test_recorded_files_hold_the_traces_that_were_recorded(folder, path):
    folder.put(path.name, path.read_bytes())
    spans = spans_of(load(path))
    got = await folder.pull()
    assert {trace.ref.trace_id for trace in got} == {span.trace_id for span in spans}
    assert {span.span_id: span for trace in got for span in trace.spans} == {span.span_id: span for span in spans}
    assert all(trace.ref.start_time == min(s.start_time for s in trace.spans) for trace in got)


async def test_the_spans_of_a_trace_may_be_spread_over_lines_and_files(folder):
    rows = [row for name in ("haystack-rag", "dspy-rag-retrieve") for row in through_phoenix(otel(name))["data"]]
    rows.sort(key=lambda row: row["context"]["span_id"])
    folder.put("a.jsonl", lines(*rows[::2]))
    folder.put("b.jsonl.gz", gzip.compress(lines(*rows[1::2]).encode()))
    got = await folder.pull()
    assert sorted(len(trace.spans) for trace in got) == sorted(
        len(otel(name)["spans"]) for name in ("haystack-rag", "dspy-rag-retrieve")
    )
    assert all(trace.spans[0].parent_id is None for trace in got)


async def test_a_span_that_was_exported_twice_counts_once(folder):
    folder.put("a.jsonl", as_lines(otel("haystack-rag")) * 2)
    (trace,) = await folder.pull()
    assert len(trace.spans) == len(otel("haystack-rag")["spans"])


async def test_a_langsmith_run_that_has_not_ended_is_still_running(folder):
    run = {"id": "a", "trace_id": "a", "run_type": "chain", "status": "pending", "start_time": "2026-11-01T12:00:00Z"}
    folder.put("runs.jsonl", lines(run))
    (trace,) = await folder.pull()
    assert trace.still_running


async def test_a_trace_that_ended_just_now_is_still_running_and_a_record_never_is(folder):
    moment = datetime.now(UTC).isoformat()
    folder.put("in.jsonl", lines({**RECORD, "start_time": moment}, _row("t1", moment)))
    assert {t.ref.trace_id: t.still_running for t in await folder.pull()} == {"r1": False, "t1": True}


def _row(trace: str, moment: str, **fields):
    given = {"context": {"trace_id": trace, "span_id": f"{trace}-root"}, "name": "root", "span_kind": "CHAIN",
             "start_time": moment, "end_time": moment, "status_code": "OK", "attributes": {}}  # fmt: skip
    return {**given, **fields}


# what is found


async def test_a_window_takes_its_start_and_leaves_its_end_and_untimed_records_are_always_in(folder):
    times = {f"t{n}": NOON + timedelta(hours=n) for n in (3, 1, 2)}
    folder.put("in.jsonl", lines(*({**RECORD, "id": i, "timestamp": t.isoformat()} for i, t in times.items()), RECORD))
    assert await folder.ids() == ["t1", "t2", "t3", "r1"]
    assert await folder.ids(start=times["t2"], end=times["t3"]) == ["t2", "r1"]
    assert await folder.ids(end=times["t1"]) == ["r1"]


async def test_filters_look_at_every_span_of_a_trace(folder):
    late = (NOON + timedelta(seconds=9)).isoformat()
    rows = [
        _row("slow", NOON.isoformat(), end_time=late),
        _row("failed", NOON.isoformat(), status_code="ERROR"),
        _row("tagged", NOON.isoformat(), attributes={"tag.tags": ["eu"], "metadata.tenant": "acme"}),
    ]
    folder.put("in.jsonl", lines(*rows, {**RECORD, "tags": ["eu"], "metadata": {"tenant": "acme", "n": {"a": 1}}}))
    assert await folder.ids(spans=SpanFilter(min_latency_s=5)) == ["slow"]
    assert await folder.ids(spans=SpanFilter(status="ERROR")) == ["failed"]
    assert await folder.ids(spans=SpanFilter(tag="eu")) == ["tagged", "r1"]
    assert await folder.ids(spans=SpanFilter(attributes={"metadata.tenant": "acme"})) == ["tagged", "r1"]
    assert await folder.ids(spans=SpanFilter(attributes={"metadata.n.a": 1})) == ["r1"]
    assert await folder.ids(spans=SpanFilter(kind=SpanKind.RETRIEVER)) == ["r1"]
    refs = await folder.find(stratum="metadata.tenant")
    assert {ref.trace_id: ref.stratum for ref in refs} == {"slow": None, "failed": None, "tagged": "acme", "r1": "acme"}


async def test_traces_are_named_by_id_by_span_or_by_a_url_that_ends_in_one(folder):
    folder.put("in.jsonl", lines(RECORD, _row("t1", NOON.isoformat())))
    url = "https://phoenix.example/projects/UHJvamVjdDox/traces/t1?selected=x"
    refs = await folder.find(trace_ids=("r1", "t1-root", url, "nowhere"), start=NOON + timedelta(days=9))
    assert [ref.trace_id for ref in refs] == ["t1", "r1", "nowhere"]
    *_, gone = await folder.pull(refs)
    assert gone == Rejection(
        trace_id="nowhere", reason=RejectReason.TRACE_GONE, detail="No file holds a span of this trace."
    )


THUMBS_DOWN = ReportFilter(name="user_feedback", labels=("thumbs-down",))


@pytest.mark.parametrize(
    ("said", "report"),
    [
        ({"report": "thumbs-down"}, ("user_feedback", "thumbs-down", None, None, None)),
        ({"feedback": 0}, ("user_feedback", None, 0.0, None, None)),
        ({"feedback": False}, ("user_feedback", None, 0.0, None, None)),
        (
            {"report": [{"name": "user_feedback", "score": 0, "comment": "wrong", "author": "ada"}, {"score": 1}]},
            ("user_feedback", None, 0.0, "wrong", "ada"),
        ),
    ],
)
async def test_a_record_carries_what_its_user_said(folder, said, report):
    folder.put("in.jsonl", lines({**RECORD, **said}, {**RECORD, "id": "r2"}))
    (ref,) = await folder.find(reports=(THUMBS_DOWN, ReportFilter(name="user_feedback", max_score=0)))
    (given,) = ref.reports
    assert (given.name, given.label, given.score, given.comment, given.author) == report
    assert ref.trace_id == "r1"


async def test_exported_annotations_and_feedback_are_reports_on_the_traces_of_other_files(folder):
    at = NOON.isoformat()
    folder.put("spans.jsonl", lines(*(_row(f"t{n}", at) for n in range(4))))
    result = {"label": "thumbs-down", "score": 0, "explanation": "no"}
    phoenix = {"name": "user_feedback", "annotator_kind": "HUMAN", "span_id": "t1-root", "result": result,
               "updated_at": at}  # fmt: skip
    judged = {**phoenix, "annotator_kind": "LLM", "span_id": "t3-root", "result": {"label": "fine"}}
    langsmith = {"key": "user_feedback", "run_id": "t2-root", "trace_id": "t2", "score": 0, "value": "thumbs-down",
                 "feedback_source": {"type": "app"}, "created_at": at}  # fmt: skip
    folder.put("annotations-of-phoenix.jsonl", lines(phoenix, judged))
    folder.put("feedback.json", pretty([langsmith]))
    refs = await folder.find(reports=(THUMBS_DOWN,))
    assert {ref.trace_id: ref.reports[0].reported_at for ref in refs} == {"t1": NOON, "t2": NOON}
    (named,) = await folder.find(trace_ids=("t1",))
    assert named.reports[0].comment == "no"
    assert not any(ref.reports for ref in await folder.find())


async def test_a_report_that_comes_later_counts_however_old_its_trace_is(folder):
    def record(name, asked_at, reported_at):
        report = {"label": "thumbs-down", "reported_at": reported_at.isoformat()}
        return {**RECORD, "id": name, "timestamp": asked_at.isoformat(), "report": report}

    day = timedelta(days=1)
    folder.put("in.jsonl", lines(record("old", NOON - 9 * day, NOON - 8 * day), record("late", NOON - 9 * day, NOON),
                                 record("new", NOON, NOON)))  # fmt: skip
    start = NOON - timedelta(hours=1)
    window = {"reports": (THUMBS_DOWN,), "start": start, "end": NOON + day}
    assert await folder.ids(**window, reports_since=start) == ["late", "new"]
    assert await folder.ids(**window) == ["new"]


async def test_what_files_do_not_know_is_said_not_ignored(folder):
    folder.put("in.jsonl", lines(RECORD))
    with pytest.raises(SetupError, match="no filter language"):
        await folder.find(spans=SpanFilter(raw="latency > 3"))
    with pytest.raises(SetupError, match="has the project 'default', not \\['legal'\\]"):
        await folder.find(projects=("legal", "default"))


# what is wrong with a file


async def test_a_missing_file_or_a_folder_is_the_operators_to_fix(folder, tmp_path):
    connector = folder.new_connector(paths=[str(tmp_path / "missing.jsonl")])
    with pytest.raises(SetupError, match=r"there is no file .*missing.jsonl"):
        [ref async for ref in connector.find(TraceQuery(rule="r"))]
    assert not (await connector.check()).ok
    await connector.aclose()
    connector = folder.new_connector(paths=[str(tmp_path)])
    with pytest.raises(SetupError, match="Is a directory"):
        [ref async for ref in connector.find(TraceQuery(rule="r"))]
    await connector.aclose()


async def test_a_pattern_that_matches_nothing_yet_is_a_hint(folder):
    assert await folder.ids() == []
    assert (await folder.connector.check()).problems == ("no file matches the paths; check the patterns",)


BROKEN = [
    (b'{"id": "r2", "documents": [{"id": "d1", "te', "this is no JSON"),
    (b"\xff\xfe\x00", "this is no JSON"),
    (b"[" * 100_000, "this is no JSON"),
    (b'{"a": 1}', "neither a span nor a run"),
    (b"17", "neither a span, a run nor a record"),
    (b'{"id": true, "answer": "x"}', "a record needs an id"),
    (b'{"question": "q", "answer": "x"}', "a record needs an id"),
    (b'{"id": "r2", "answer": 3}', "the answer of a record must be a text"),
    (b'{"id": "r2", "answer": "x", "documents": "y"}', "must be a list of {id, text}"),
    (b'{"id": "r2", "answer": "x", "documents": [{"text": 3}]}', "must be a list of {id, text}"),
    (b'{"id": "r2", "answer": "x", "time": "yesterday"}', "must be like 2026-11-01T12:00:00Z"),
    (b'{"id": "r2", "answer": "x", "report": {"reported_at": "soon"}}', "Invalid isoformat"),
    (b'{"spanId": "s", "name": "no trace"}', "no trace id or no span id"),
    (b'{"context": {"span_id": "s"}}', "KeyError: 'trace_id'"),
    (b'{"run_type": "chain", "id": "x", "trace_id": "r2", "start_time": "never"}', "Invalid isoformat"),
]


@pytest.mark.parametrize(("line", "reason"), BROKEN, ids=[line[:40] for line, _ in BROKEN])
async def test_a_line_that_cant_be_read_is_named_and_costs_the_others_nothing(folder, caplog, line, reason):
    before, after = lines({**RECORD, "id": "before"}).encode(), lines({**RECORD, "id": "after"}).encode()
    folder.put("in.jsonl", before + line + b"\n\n" + after)
    found = await folder.pull()
    assert {t.ref.trace_id for t in found if isinstance(t, RawTrace)} == {"before", "after"}
    health = await folder.connector.check()
    assert health.ok
    assert health.facts["lines that can't be read"] == "1"
    (problem,) = health.problems
    assert "in.jsonl, line 2: " in problem
    assert reason in problem
    assert problem in caplog.text
    # A trace that such a line belongs to is never judged without it.
    rejected = [one for one in found if isinstance(one, Rejection)]
    assert [(one.trace_id, one.reason) for one in rejected] == (
        [("r2", RejectReason.UNREADABLE)] if b'"r2"' in line else []
    )


async def test_a_trace_of_which_a_line_is_broken_is_rejected_not_judged_without_it(folder):
    first, *others = as_lines(otel("haystack-rag")).splitlines(keepends=True)
    trace_id = json.loads(first)["context"]["trace_id"]
    assert trace_id in first[: len(first) // 2]
    folder.put("in.jsonl", first[: len(first) // 2] + "\n" + "".join(others))
    (rejection,) = await folder.pull()
    assert (rejection.trace_id, rejection.reason) == (trace_id, RejectReason.UNREADABLE)
    assert "line 1: this is no JSON" in rejection.detail


@pytest.mark.parametrize("is_zipped", [False, True], ids=["plain", "gz"])
async def test_the_first_lines_may_be_the_broken_ones(folder, is_zipped):
    content = b"{broken\n{also broken\n" + lines(RECORD).encode()
    folder.put("in.jsonl", gzip.compress(content) if is_zipped else content)
    assert await folder.ids() == ["r1"]
    assert [p.split(", ")[1].split(":")[0] for p in (await folder.connector.check()).problems] == ["line 1", "line 2"]


async def test_a_broken_document_is_one_problem_and_one_bad_entry_costs_the_others_nothing(folder):
    folder.put("cut.json", pretty(as_otlp(otel("haystack-rag")))[:-20])
    folder.put("mixed.json", pretty([RECORD, {"a": 1}, {**RECORD, "id": "r2"}]))
    found = await folder.pull()
    assert [one.ref.trace_id for one in found if isinstance(one, RawTrace)] == ["r1", "r2"]
    assert [one.reason for one in found if isinstance(one, Rejection)] == [RejectReason.UNREADABLE]
    assert [p.partition(": ")[0].split("/")[-1].split(",")[0] for p in (await folder.connector.check()).problems] == [
        "cut.json",
        "mixed.json",
    ]


async def test_a_gzip_file_that_breaks_off_gives_what_is_whole(folder):
    records = ({**RECORD, "id": f"r{n}", "answer": os.urandom(200).hex()} for n in range(200))
    whole = gzip.compress(lines(*records).encode())
    folder.put("in.jsonl.gz", whole[: len(whole) // 2])
    found = await folder.ids()
    assert 50 < len(found) < 150
    (problem,) = (await folder.connector.check()).problems
    assert f"line {len(found) + 1}: the compressed file is broken here" in problem


async def test_an_id_that_comes_twice_is_named_and_the_later_record_counts(folder):
    folder.put("in.jsonl", lines(RECORD, {**RECORD, "answer": "Sixty days."}))
    (item,) = await folder.items()
    assert item.answer == "Sixty days."
    assert "line 2: the id 'r1' is there already" in (await folder.connector.check()).problems[0]


# files that change


async def test_a_file_that_grows_is_read_on_from_where_it_was(folder):
    file = folder.put("in.jsonl", lines(RECORD))
    assert await folder.ids() == ["r1"]
    with file.open("a") as stream:
        stream.write(lines({**RECORD, "id": "r2"}) + '{"id": "r3", "ans')
    assert await folder.ids() == ["r1", "r2"]
    # A last line that breaks off may still be being written.
    assert (await folder.connector.check()).facts["lines that can't be read"] == "0"
    with file.open("a") as stream:
        stream.write('wer": "x", "documents": ["y"]}\n')
    assert await folder.ids() == ["r1", "r2", "r3"]


async def test_a_last_line_that_breaks_off_in_an_old_file_is_named(folder):
    file = folder.put("in.jsonl", lines(RECORD) + '{"id": "r2", "ans')
    assert await folder.ids() == ["r1"]
    os.utime(file, (time.time() - 600,) * 2)
    assert await folder.ids() == ["r1", "r2"]
    assert [type(one) for one in await folder.pull()] == [RawTrace, Rejection]
    assert "line 2: this is no JSON" in (await folder.connector.check()).problems[0]


async def test_files_that_are_changed_added_or_removed_are_read_anew(folder):
    first = folder.put("a.jsonl", lines(RECORD, {**RECORD, "id": "r2"}))
    assert await folder.ids() == ["r1", "r2"]
    first.write_text(lines({**RECORD, "id": "r3"}))
    folder.put("b.json", json.dumps({**RECORD, "id": "r4"}))
    assert await folder.ids() == ["r3", "r4"]
    first.unlink()
    assert await folder.ids() == ["r4"]


async def test_a_trace_is_pulled_whole_after_its_file_was_rewritten(folder):
    folder.put("in.jsonl", lines(RECORD))
    refs = await folder.find()
    folder.put("in.jsonl", lines({**RECORD, "id": "other"}, RECORD))
    (trace,) = await folder.pull(refs)
    assert [span.span_id for span in trace.spans] == ["r1", "r1:documents"]


# annotations


async def test_an_annotation_is_a_line_with_all_its_parts(folder):
    folder.put("in.jsonl", lines(RECORD))
    (delivery,) = await folder.connector.annotate([annotation()])
    assert (delivery.key, delivery.state) == (annotation().key, DeliveryState.CONFIRMED)
    (line,) = folder.lines()
    assert datetime.fromisoformat(line.pop("written_at")).tzinfo is not None
    assert line == {"key": annotation().key, **annotation().model_dump(mode="json", exclude={"locator"})}
    assert await folder.ids() == ["r1"]  # the output matches the pattern, and is no input


async def test_a_key_replaces_its_line_and_the_lines_of_people_stay_as_they_are(folder):
    folder.put("in.jsonl", lines(RECORD, {**RECORD, "id": "r2"}))
    await folder.connector.annotate([annotation(), annotation("r2"), annotation(identifier="v2")])
    mine = b'{"key":"%s" , "name": "context_diff", "annotator_kind": "HUMAN", "label": "faithful"}' % (
        annotation().key.encode()
    )
    note = b"# a note that is no JSON"
    folder.output.write_bytes(folder.output.read_bytes() + mine + b"\n" + note)
    for score in (0.25, 0.5):
        await folder.connector.annotate([annotation(score=score, explanation="\ud83d é “x”\u2028")])
    text = folder.output.read_bytes()
    assert text.count(mine + b"\n") == 1
    assert text.count(note + b"\n") == 1
    ours = [json.loads(line) for line in text.split(b"\n") if line.startswith(b'{"key": ')]
    assert sorted((one["trace_id"], one["identifier"], one["score"]) for one in ours) == [
        ("r1", "v1", 0.5),
        ("r1", "v2", 0.0),
        ("r2", "v1", 0.0),
    ]
    assert next(one for one in ours if one["score"] == 0.5)["explanation"] == "\ud83d é “x”\u2028"
    (confirmed,) = await folder.connector.confirm([annotation(score=0.5)])
    assert confirmed.state is DeliveryState.CONFIRMED


async def test_confirming_compares_label_and_score_and_a_score_of_zero_is_a_score(folder):
    folder.put("in.jsonl", lines(RECORD))
    await folder.connector.annotate([annotation(score=0.0), annotation(name="needs_review", score=None)])
    asked = [annotation(), annotation(name="needs_review", score=None), annotation(score=None), annotation(score=1),
             annotation(label="faithful"), annotation(name="other")]  # fmt: skip
    states = [delivery.state for delivery in await folder.connector.confirm(asked)]
    assert states == [DeliveryState.CONFIRMED] * 2 + [DeliveryState.RETRY] * 4


async def test_what_json_cant_hold_fails_alone(folder):
    folder.put("in.jsonl", lines(RECORD))
    batch = [annotation(score=float("nan")), annotation(identifier="v2"), annotation(span="nowhere")]
    deliveries = await folder.connector.annotate(batch)
    assert [one.state for one in deliveries] == [DeliveryState.FAILED, DeliveryState.CONFIRMED, DeliveryState.FAILED]
    assert [one["identifier"] for one in folder.lines()] == ["v2"]


async def test_an_output_that_cant_be_written_is_the_operators_to_fix(folder, tmp_path):
    folder.put("in.jsonl", lines(RECORD))
    connector = folder.new_connector(output=tmp_path / "no such folder" / "out.jsonl")
    with pytest.raises(SetupError, match=r"annotations can't be written"):
        await connector.annotate([annotation()])
    health = await connector.check()
    assert not health.ok
    assert "can't be written; create the folder" in health.problems[0]
    await connector.aclose()


def test_only_one_process_writes_at_a_time(tmp_path):
    one, other = AnnotationFile(tmp_path / "out.jsonl"), AnnotationFile(tmp_path / "out.jsonl")
    with one._locked(), pytest.raises(TryAgain, match="another process is writing"):
        other.write({"k": encoded("k", {"annotator_kind": "LLM"})})
    other.write({"k": encoded("k", {"annotator_kind": "LLM"})})
    one.write({"k": encoded("k", {"annotator_kind": "LLM", "label": "new"})})
    assert one.read({"k"})["k"]["label"] == "new"
    assert len((tmp_path / "out.jsonl").read_bytes().splitlines()) == 1


@pytest.mark.parametrize("torn", [b'{"key": "a", "annotator_kind": "LL', b'{"key": "a"'])
def test_a_line_that_a_crash_tore_is_removed_and_one_key_keeps_one_line(tmp_path, torn):
    path = tmp_path / "out.jsonl"
    old = encoded("a", {"annotator_kind": "LLM", "n": 1}) + encoded("b", {"annotator_kind": "CODE"})
    path.write_bytes(old + encoded("a", {"annotator_kind": "LLM", "n": 2}) + torn)
    AnnotationFile(path).write({"c": encoded("c", {"annotator_kind": "LLM"})})
    left = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(one["key"], one.get("n")) for one in left] == [("b", None), ("a", 2), ("c", None)]


WRITER = """
import asyncio, sys
from pathlib import Path
from connectors.files import FilesConnector
from tests.connectors.test_files import annotation

async def write():
    connector = FilesConnector(name="files", paths=[sys.argv[1]], output=Path(sys.argv[2]))
    while True:
        for n in range(0, 60, 5):
            await connector.annotate([annotation(f"r{m}") for m in range(n, n + 5)])
            print(n, flush=True)

asyncio.run(write())
"""


async def test_a_kill_at_any_moment_and_a_resumption_leave_exactly_one_line_a_key(folder):
    source = folder.put("in.jsonl", lines(*({**RECORD, "id": f"r{n}"} for n in range(60))))
    person = {"span_id": "r1", "name": "context_diff", "annotator_kind": "HUMAN", "label": "faithful"}
    folder.output.write_text(lines(person))
    for kill_after in (1, 9, 14, 23):
        command = [sys.executable, "-c", WRITER, str(source), str(folder.output)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]) as writer:
            confirmed = {int(writer.stdout.readline()) for _ in range(kill_after)}
            await asyncio.sleep(0.004 * (kill_after % 5))
            writer.send_signal(signal.SIGKILL)
        keys = [one["key"] for one in folder.lines() if one["annotator_kind"] != "HUMAN"]
        assert len(keys) == len(set(keys))
        # What was reported as written is there.
        assert {annotation(f"r{n + m}").key for n in confirmed for m in range(5)} <= set(keys)
    everything = [annotation(f"r{n}") for n in range(60)]
    await folder.connector.annotate(everything)
    assert [one.state for one in await folder.connector.confirm(everything)] == [DeliveryState.CONFIRMED] * 60
    written = folder.lines()
    assert sorted(one["key"] for one in written if "key" in one) == sorted(one.key for one in everything)
    assert [one for one in written if one["annotator_kind"] == "HUMAN"] == [person]
