"""`enricher run`, `explain`, `report` and `doctor` against a real Phoenix, as a user calls them."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from enricher.trace import SpanKind
from tests.acceptance.cases import case
from tests.acceptance.traces import FALSE, TRUE, answered, root

ALL = {"name": "all"}
REPORTED = {"name": "reported", "reports": [{"name": "user_feedback", "labels": ["thumbs-down"]}]}


def ago(**time: float) -> datetime:
    return datetime.now(UTC) - timedelta(**time)


@pytest.fixture
def configured(user, phoenix):
    """Configure a job over this test's project; returns how to do it otherwise."""

    def configure(*rules, connection=None, **job) -> None:
        user.configure(
            connections={"phoenix": {"kind": "phoenix", "base_url": phoenix.server.base_url, **(connection or {})}},
            jobs={"nightly": {"projects": [phoenix.project], "rules": list(rules) or [ALL], **job}},
        )

    configure()
    return configure


async def ours(phoenix, trace) -> list:
    return [a for a in await phoenix.annotations_on(root(trace).span_id) if a["annotator_kind"] == "CODE"]


async def test_the_whole_way_from_a_run_to_its_report_and_the_story_of_a_trace(user, phoenix, configured):
    good, bad = answered(TRUE), answered(FALSE)
    no_context = [span for span in answered(TRUE) if span.kind is not SpanKind.RETRIEVER]
    await phoenix.seed(good, bad, no_context)
    await phoenix.annotate_span(root(bad).span_id, name="user_feedback", result={"label": "thumbs-down", "score": 0})
    configured(REPORTED, ALL)

    run = await user.run("--json")
    assert run.code == 0, run.err
    assert run.err == ""
    report = run.json
    assert (report["chosen"], report["pulled"], report["scored"], report["mean_score"]) == (3, 3, 2, 0.5)
    assert report["rejected"] == {"no_context": 1}
    assert report["written"] == report["confirmed"] == 6
    assert report["findings"][0]["trace_id"] == root(bad).trace_id
    assert report["findings"][0]["reported"] is True
    (row,) = await ours(phoenix, bad)
    assert (row["name"], row["result"]["label"], row["result"]["score"]) == ("context_diff", "contradicted", 0.0)

    full = (await user.enricher("report", "--config", "enricher.yaml", "--format", "json")).json
    assert {name: full[name] for name in report} == report
    (found,) = full["ranked"]
    assert found["trace_id"] == root(bad).trace_id
    assert found["link"].endswith(f"/redirects/spans/{root(bad).span_id}")
    assert full["rejections"][0]["reason"] == "no_context"
    assert full["user_reports"]["with_finding"] == 1
    assert (await user.enricher("report", report["run_id"], "--config", "enricher.yaml", "--json")).json == full
    text = await user.enricher("report", "--config", "enricher.yaml")
    assert text.code == 0
    assert "1 of 2 answers leaves its context" in text.out
    assert "\x1b" not in text.out
    page = await user.enricher("report", "--config", "enricher.yaml", "--format", "html", "--out", "report.html")
    assert page.out == ""
    assert root(bad).trace_id in (user.folder / "report.html").read_text()
    assert "there is no run nosuch" in (await user.enricher("report", "nosuch", "--config", "enricher.yaml")).complaint
    assert "text, json or html" in (await user.enricher("report", "--format", "pdf")).complaint

    # A table shows twelve characters of a trace id: they are enough.
    story = await user.enricher("explain", root(bad).trace_id[:12], "--config", "enricher.yaml")
    assert story.code == 0
    for part in ("chosen", "thumbs-down", FALSE, "30 days", "context_diff contradicted", "confirmed"):
        assert part in story.out, part
    told = (await user.enricher("explain", root(bad).trace_id, "--config", "enricher.yaml", "--json")).json
    assert told["evaluations"][0]["verdict"]["status"] == "OK"
    assert told["refs"][0]["ref"]["rules"] == ["reported", "all"]
    rejected = await user.enricher("explain", root(no_context).trace_id, "--config", "enricher.yaml")
    assert "not judged: no_context" in rejected.out
    assert "nothing is recorded" in (await user.enricher("explain", "f" * 32, "--config", "enricher.yaml")).complaint
    assert "more than one trace" in (await user.enricher("explain", "", "--config", "enricher.yaml")).complaint


async def test_a_dry_run_says_what_it_would_do_and_does_nothing(user, phoenix, configured):
    traces = [answered(TRUE) for _ in range(case("CU-06")["input"]["traces"])]
    await phoenix.seed(*traces)
    shown = await user.run("--dry-run")
    assert shown.code == 0, shown.err
    assert "dry run, nothing is written; 3 traces would be judged" in shown.out
    assert all(root(trace).trace_id[:12] in shown.out and root(trace).span_id in shown.out for trace in traces)
    assert (await user.run("--dry-run", "--json")).json["state"] == "dry_run"
    assert [await phoenix.annotations_on(root(trace).span_id) for trace in traces] == [[], [], []]
    tables = ("runs", "refs", "evaluations", "outbox", "watermarks", "rejections", "leases")
    assert {table: user.count(table) for table in tables} == dict.fromkeys(tables, 0)


async def test_times_without_an_offset_are_utc_wherever_the_host_is(user, phoenix, configured):
    known = case("SC-09")
    inside = answered(TRUE, ended=datetime(2026, 1, 1, 23, 30, tzinfo=UTC))
    outside = answered(TRUE, ended=datetime(2025, 12, 31, 19, 0, tzinfo=UTC))  # inside if read as local time
    await phoenix.seed(inside)
    await phoenix.seed(outside)
    window = ("--from", "2026-01-01T00:00", "--to", "2026-01-02T00:00")
    report = (await user.run(*window, "--dry-run", "--json", TZ=known["input"]["host_tz"])).json
    assert report["window_start"] == "2026-01-01T00:00:00Z"
    assert report["window_end"] == "2026-01-02T00:00:00Z"
    assert [finding["trace_id"] for finding in report["findings"]] == [root(inside).trace_id]


async def test_the_window_the_limit_and_named_traces_choose_what_is_judged(user, phoenix, configured):
    traces = [answered(TRUE, ended=ago(hours=hours)) for hours in (1, 2, 30)]
    await phoenix.seed(*traces[:2])
    await phoenix.seed(traces[2])
    assert (await user.run("--since", "90m", "--json")).json["scored"] == 1
    assert user.count("watermarks") == 0
    limited = await user.run("--since", "2d", "--limit", "1", "--json")
    assert limited.code == 0
    assert limited.json["chosen"] == 1
    named = await user.run("--trace", root(traces[2]).trace_id)
    assert named.code == 0
    assert "Refunds are paid within 30 days." in named.out  # the diff itself is shown
    assert len(await ours(phoenix, traces[2])) == 1
    gone = await user.run("--trace", "0" * 31 + "1", "--json")
    assert gone.json["rejected"] == {"trace_gone": 1}


async def test_a_trace_that_arrives_late_is_judged_once_by_the_next_run(user, phoenix, configured):
    await phoenix.seed(answered(TRUE, ended=ago(minutes=5)))
    assert (await user.run("--json")).json["scored"] == 1
    late = answered(FALSE, ended=ago(minutes=2))  # it started before the watermark
    await phoenix.seed(late)
    second, third = (await user.run("--json")).json, (await user.run("--json")).json
    assert (second["scored"], second["already_judged"]) == (1, 1)
    assert (third["scored"], third["already_judged"]) == (0, 2)
    assert user.count("evaluations") == 2
    assert len(await ours(phoenix, late)) == 1


async def test_a_trace_that_still_runs_is_not_judged_on_half_an_answer_and_not_lost(user, phoenix, configured):
    running, finished = answered(TRUE, ended=ago(minutes=10)), answered(TRUE, ended=ago(hours=2))
    await phoenix.seed(running, finished)
    configured(connection={"settle": "1h"})
    first = (await user.run("--json")).json
    assert (first["scored"], first["deferred"]) == (1, 1)
    assert await ours(phoenix, running) == []
    configured(connection={"settle": "5m"})
    assert (await user.run("--json")).json["scored"] == 1
    assert len(await ours(phoenix, running)) == 1


async def test_a_trace_that_never_ends_is_given_up_with_its_reason(user, phoenix, configured):
    stuck = answered(TRUE, ended=ago(minutes=10))
    await phoenix.seed(stuck)
    configured(connection={"settle": "1h"}, give_up_after="1s")
    assert (await user.run("--json")).json["deferred"] == 1
    await asyncio.sleep(1.1)
    assert (await user.run("--json")).code == 0
    told = (await user.enricher("explain", root(stuck).trace_id, "--config", "enricher.yaml", "--json")).json
    assert [entry["rejection"]["reason"] for entry in told["rejections"]] == ["still_running"]
    assert await ours(phoenix, stuck) == []


async def test_a_rate_of_zero_judges_only_what_users_reported(user, phoenix, configured):
    traces = [answered(TRUE) for _ in range(10)]
    await phoenix.seed(*traces)
    await phoenix.annotate_span(root(traces[9]).span_id, name="user_feedback", result={"label": "thumbs-down"})
    configured({"name": "sampled", "rate": case("CU-02")["input"]["config"]["sample_rate"]}, REPORTED)
    report = (await user.run("--json")).json
    assert report["chosen"] == 1
    assert [finding["trace_id"] for finding in report["findings"]] == [root(traces[9]).trace_id]


async def test_a_rule_that_matches_nothing_is_said_loudly(user, phoenix, configured):
    await phoenix.seed(*(answered(TRUE) for _ in range(4)))
    configured(REPORTED, {"name": "slow", "where": {"min_latency": "1h"}})
    quiet = await user.run()
    assert quiet.code == case("RP-02")["expected"]["exit"] == 0
    for rule in ("reported", "slow"):
        assert f"0 of 4 traces matched rule {rule}: none in the window meets its conditions" in quiet.out
    assert len((await user.run("--json")).json["warnings"]) == 2


async def test_a_misspelt_project_is_named_with_the_closest_one_and_not_created(user, phoenix, configured):
    """CU-08: a typo is no night without traces."""
    await phoenix.seed(answered(TRUE))
    wrong = phoenix.project[:-1] + "q" + phoenix.project[-1:]
    configured(projects=[wrong])
    for arguments in ((), ("--dry-run", "--json")):
        complaint = (await user.run(*arguments)).complaint
        assert f"'{wrong}'" in complaint
        assert phoenix.project in complaint
        assert complaint.count("\n") == 1
    failing = await user.enricher("doctor", "--config", "enricher.yaml", "--json")
    assert failing.code == 2
    assert any(not check["ok"] and wrong in check["problems"][0] for check in failing.json)
    listed = (await phoenix.client.get("/v1/projects", params={"limit": "1000"})).json()["data"]
    assert wrong not in [project["name"] for project in listed]


async def test_doctor_says_what_is_there_and_what_the_rules_would_match(user, phoenix, configured):
    await phoenix.seed(answered(TRUE), answered(FALSE))
    configured(REPORTED, ALL)
    well = await user.enricher("doctor", "--config", "enricher.yaml")
    assert well.code == 0, well.out
    assert "rule all: takes 2 of 2 matching traces" in well.out
    assert "rule reported matches nothing in its window" in well.out
    checks = (await user.enricher("doctor", "--config", "enricher.yaml", "--json")).json
    assert all(check["ok"] for check in checks)
    assert (user.count("runs"), user.count("refs")) == (0, 0)


async def test_a_terminal_that_cannot_show_every_letter_ends_no_command(user, phoenix, configured):
    question = "Wann wird erstattet — 何时退款?"
    asked = [replace(span, attributes={**span.attributes, "input.value": question}) for span in answered(TRUE)]
    await phoenix.seed(asked)
    finished = await user.enricher(
        "run", "--config", "enricher.yaml", "--json", is_fresh=True, PYTHONIOENCODING="ascii"
    )
    assert finished.code == 0, finished.err
    assert finished.out.isascii()
    assert finished.json["findings"][0]["question"] == question
