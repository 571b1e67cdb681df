"""The commands that need no platform, and what every command does with mistakes, as a new user meets them."""

import asyncio
import json
import os
import pty
import socket
import subprocess
import sys

import pytest
import yaml

from tests.acceptance.cases import case
from tests.acceptance.command import ROOT, SCRIPT, environment
from tests.servers.openai import OpenAIServer
from tests.servers.phoenix import CORPUS

DOCUMENT = {"id": "d1", "text": "Refunds are paid within 30 days. Shipping takes a week."}
GOOD = {"id": "good", "question": "When?", "documents": [DOCUMENT], "answer": "Refunds are paid within 30 days."}
BAD = {"id": "bad", "question": "When?", "documents": [DOCUMENT], "answer": "Refunds are paid within 90 days."}
HEAVY = {"openai", "sqlalchemy", "alembic", "langsmith", "phoenix", "pandas", "numpy", "pydantic", "httpx", "jinja2"}


def jsonl(*records) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


@pytest.fixture
def no_platform() -> str:
    """Return an address where nobody answers."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{sock.getsockname()[1]}"


# help


def test_ctrl_c_before_a_command_has_begun_ends_without_a_traceback(tmp_path):
    code = """
import os, signal
from enricher import cli, logs
signal.signal(signal.SIGINT, signal.default_int_handler)  # what is begun in the background ignores it
logs.configure = lambda **_: os.kill(os.getpid(), signal.SIGINT)
cli.main()
"""
    done = subprocess.run([sys.executable, "-c", code], env=environment(tmp_path), capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_help_answers_without_importing_what_only_work_needs(tmp_path):
    command = [sys.executable, "-X", "importtime", SCRIPT, "--help"]
    done = subprocess.run(command, cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True, check=True)
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()}
    assert "typer" in imported
    assert imported & HEAVY == set()
    for name in ("demo", "run", "judge", "extract", "explain", "report", "doctor", "prompts"):
        assert f"\n  {name} " in done.stdout


async def test_every_command_explains_itself(user):
    for name in ("demo", "run", "judge", "extract", "explain", "report", "doctor", "prompts", "prompts show"):
        shown = await user.enricher(*name.split(), "--help")
        assert shown.code == 0
        assert f"Usage: enricher {name} [OPTIONS]" in shown.out


async def test_an_unknown_command_or_option_is_the_operators_to_mend(user):
    for wrong in (["nonsense"], ["run", "--nonsense"], ["run", "--limit", "0"], ["judge"], ["report", "a", "b"]):
        told = await user.enricher(*wrong)
        assert told.code == 2
        assert told.out == ""
        assert "Traceback" not in told.err


# judge


async def test_records_are_judged_from_a_file_or_standard_input_to_the_terminal_or_a_file(user):
    text = jsonl(GOOD, BAD)
    (user.folder / "in.jsonl").write_text(text)
    printed = await user.enricher("judge", "in.jsonl", is_fresh=True)
    assert printed.code == 0
    assert printed.err == ""
    good, bad = printed.lines
    assert (good["id"], good["status"], good["faithfulness_score"]) == ("good", "OK", 1.0)
    assert (bad["id"], bad["faithfulness_score"]) == ("bad", 0.0)
    (segment,) = bad["segments"]
    assert (segment["alignment_status"], segment["issue_type"]) == ("CONTRADICTED", "CONTRADICTED")
    assert BAD["answer"][segment["start"] : segment["end"]] == segment["generated_text"]
    quoted = DOCUMENT["text"][segment["context_start"] : segment["context_end"]]
    assert quoted == segment["supporting_context"] == "Refunds are paid within 30 days."
    assert {"summary", "flags", "judge", "engine", "prompt", "model", "usage"} <= set(bad)

    piped = await user.enricher("judge", "-", stdin=text)
    assert piped.out == printed.out
    written = await user.enricher("judge", "in.jsonl", "-o", "out.jsonl", "--judge", "diff", "--engine", "local")
    assert (written.code, written.out, written.err) == (0, "", "")
    assert (user.folder / "out.jsonl").read_text() == printed.out


async def test_a_broken_line_costs_the_others_nothing(user):
    lines = [
        json.dumps(GOOD).encode(),
        b"{broken",
        b'"text"',
        b'{"id": NaN}',
        b"[" * 100_000,
        b'{"id": "bytes", "answer": "\xff"}',
        b'{"id": "types", "documents": "no list", "answer": "x"}',
        b'{"id": "empty", "documents": [{"id": "d1", "text": "x"}], "answer": " "}',
        b'{"id": "no context", "documents": [], "answer": "Refunds are paid."}',
        rb'{"id": "half \ud83d", "documents": ["Refunds \ud800 are paid."], "answer": "Refunds \ud800 are paid."}',
        b"",
        json.dumps(BAD).encode(),
    ]
    (user.folder / "in.jsonl").write_bytes(b"\xef\xbb\xbf" + b"\n".join(lines))
    done = await user.enricher("judge", "in.jsonl")
    assert done.code == 1  # something failed
    assert "Traceback" not in done.err
    rows = done.lines
    assert len(rows) == 11
    assert all(row["status"] == "INVALID_TRACE" and row["reason"] == "unreadable" for row in rows[1:7])
    assert all(f"line {number}" in row["explanation"] for number, row in enumerate(rows[1:7], 2))
    assert [(row["status"], row["reason"]) for row in rows[7:9]] == [
        ("INVALID_TRACE", "no_answer"),
        ("SKIPPED", "empty_retrieval"),
    ]
    assert [row["faithfulness_score"] for row in (rows[0], rows[9], rows[10])] == [1.0, 1.0, 0.0]
    assert all(row["faithfulness_score"] is None for row in rows[1:9])


async def test_mistakes_with_judge_are_one_sentence(user):
    (user.folder / "in.jsonl").write_text(jsonl(GOOD))
    for arguments, words in (
        (["nowhere.jsonl"], "nowhere.jsonl can't be read: No such file"),
        (["."], "can't be read"),
        (["in.jsonl", "--judge", "segment_dif"], "--judge: 'segment_dif' is not known; use one of"),
        (["in.jsonl", "--engine", "gpt"], "--engine: 'gpt' is not known; use local, openai or hub"),
        (["in.jsonl", "--engine", "openai"], "openai.model: name the model"),
        (["in.jsonl", "-o", "no/such/folder.jsonl"], "folder.jsonl can't be written: No such file"),
        (["in.jsonl", "-o", "in.jsonl"], "in.jsonl is the input"),
        (["in.jsonl", "-o", "./in.jsonl"], "in.jsonl is the input"),
    ):
        complaint = (await user.enricher("judge", *arguments)).complaint
        assert words in complaint
        assert complaint.count("\n") == 1
    assert (user.folder / "in.jsonl").read_text() == jsonl(GOOD)


async def test_a_reader_that_goes_away_gets_no_traceback(user):
    (user.folder / "in.jsonl").write_text(jsonl(GOOD) * 400)
    line = f"{SCRIPT} judge in.jsonl | head -n 1"
    pipe = await asyncio.create_subprocess_shell(
        line, cwd=user.folder, env=environment(user.folder), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    out, err = await pipe.communicate()
    assert json.loads(out)["id"] == "good"
    assert err == b""


async def test_a_bar_shows_on_a_terminal_only(user):
    (user.folder / "in.jsonl").write_text(jsonl(GOOD) * 20)
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [SCRIPT, "judge", "in.jsonl", "-o", "out.jsonl"],
        cwd=user.folder,
        env=environment(user.folder, TERM="xterm"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=theirs,
    )
    os.close(theirs)
    assert await asyncio.to_thread(process.communicate) == (b"", None)
    shown = os.read(ours, 100_000).decode()
    os.close(ours)
    assert process.returncode == 0
    assert "judging records" in shown


async def test_a_model_behind_an_endpoint_judges_records_and_its_failures_are_statuses(user):
    async with OpenAIServer(api_key="k-1").running() as model:
        (user.folder / "enricher.yaml").write_text(
            yaml.safe_dump({"openai": {"base_url": model.url, "model": "m-2026-01-01"}})
        )
        arguments = ("judge", "-", "--engine", "openai", "--config", "enricher.yaml")
        done = await user.enricher(*arguments, stdin=jsonl(GOOD, BAD), OPENAI_API_KEY="k-1")
        assert done.code == 0, done.err
        assert [(row["id"], row["faithfulness_score"]) for row in done.lines] == [("good", 1.0), ("bad", 0.0)]
        assert all(row["engine"] == "openai" and row["usage"]["prompt_tokens"] for row in done.lines)
        refused = await user.enricher(*arguments, stdin=jsonl(GOOD), OPENAI_API_KEY="hush-hush")
        assert "key" in refused.complaint
        assert "hush-hush" not in refused.complaint


# extract


async def test_exported_traces_show_what_would_be_judged(user):
    files = sorted(CORPUS.glob("langchain-lcel*")) + sorted(CORPUS.glob("openai-no-rag*"))
    (user.folder / "broken.json").write_text("{")
    (user.folder / "noise.json").write_bytes(bytes(range(256)))
    (user.folder / "cut.json.gz").write_bytes(files[0].read_bytes()[:200])
    (user.folder / "deep.json").write_text("[" * 100_000)
    (user.folder / "empty.json").write_text("")
    (user.folder / "other.json").write_text('{"hello": "world"}')
    read = await user.enricher("extract", *map(str, files))
    assert read.code == 0
    assert read.err == ""
    valid, rejected = read.lines
    assert (valid["valid"], valid["reject_reason"]) == (True, None)
    assert valid["question"]
    assert valid["answer"]
    assert all(set(document) == {"id", "text", "span_id"} for document in valid["documents"])
    assert {source["part"] for source in valid["found_in"]} >= {"question", "answer"}
    assert (rejected["valid"], rejected["documents"]) == (False, [])

    names = ["broken.json", "noise.json", "cut.json.gz", "deep.json", "empty.json", "other.json", "nowhere.json"]
    unread = await user.enricher("extract", *names, str(files[0]))
    assert unread.code == 1
    assert "Traceback" not in unread.err
    assert [(row["file"], row["reject_reason"]) for row in unread.lines[:-1]] == [(n, "unreadable") for n in names]
    assert unread.lines[-1] == valid


# prompts


async def test_prompts_are_listed_shown_and_verified(user):
    listed = await user.enricher("prompts", "list", "--json")
    names = {row["name"]: row for row in listed.json}
    assert names["diff@v2"]["state"] == "released"
    assert names["diff@v2"]["hash"][:12] in (await user.enricher("prompts", "list")).out
    shown = await user.enricher("prompts", "show", "diff@v2")
    assert "{{answer}}" in shown.out
    assert (await user.enricher("prompts", "show", "diff@v2", "--json")).json["text"] == shown.out.removesuffix("\n")
    assert "diff@v2" in (await user.enricher("prompts", "show", "diff@v9")).complaint
    verified = await user.enricher("prompts", "verify", "--json")
    assert (verified.code, verified.json) == (0, [])


# config


async def test_a_config_with_problems_is_refused_with_all_of_them_by_every_command(user):
    wrong = case("CU-01")["input"]["config"]
    user.configure(jobs={"nightly": {"policy": {"review_below": wrong["threshold"]}, "judges": [wrong["judge"]]}})
    for command in (["run"], ["doctor"], ["judge", "-"], ["extract", "x"], ["report"], ["explain", "x"]):
        complaint = (await user.enricher(*command, "--config", "enricher.yaml")).complaint
        assert "2 problems" in complaint
        assert "review_below" in complaint
        assert "did you mean 'diff'" in complaint
    assert "can't be read" in (await user.enricher("run", "--config", "nowhere.yaml")).complaint
    assert not (user.folder / "store.db").exists()


async def test_wrong_options_of_run_are_one_sentence(user, no_platform):
    user.configure(connections={"phoenix": {"kind": "phoenix", "base_url": no_platform}})
    for arguments, words in (
        (["nightli"], "there is no job nightli; the config has nightly"),
        (["--since", "yesterday"], "--since: 'yesterday' is no duration"),
        (["--since", "1h", "--from", "2026-01-01"], "either --since or --from"),
        (["--from", "soon"], "--from: 'soon' is no ISO time"),
        (["--to", "soon"], "--to: 'soon' is no ISO time"),
    ):
        complaint = (await user.run(*arguments)).complaint
        assert words in complaint
        assert complaint.count("\n") == 1


async def test_a_store_that_cannot_be_opened_is_one_sentence(user):
    for url in ("sqlite:///enricher.yaml/store.db", "nonsense", "postgresql://u:hush-hush@127.0.0.1:1/x"):
        user.configure(store=url)
        told = await user.run()
        assert told.code in (1, 2)
        assert (told.out, told.err.count("Traceback")) == ("", 0)
        assert told.err.startswith("enricher: ")
        assert "hush-hush" not in told.err


async def test_a_platform_that_is_down_is_said_and_leaves_everything_due(user, no_platform):
    user.configure(
        connections={"phoenix": {"kind": "phoenix", "base_url": no_platform}},
        jobs={"nightly": {"rules": [{"name": "all"}]}},
    )
    down = await user.run("--json")
    assert down.code == 1
    assert "Traceback" not in down.err
    report = down.json
    assert report["state"] == "failed"
    assert any("can't be reached" in problem for problem in report["problems"])
    assert user.count("watermarks") == 0
    checked = await user.enricher("doctor", "--config", "enricher.yaml")
    assert checked.code == 2
    assert "FAIL connection phoenix" in checked.out
    assert "can't be reached" in checked.out
    checks = (await user.enricher("doctor", "--config", "enricher.yaml", "--json")).json
    assert [check["name"] for check in checks if not check["ok"]] == ["connection phoenix", "job nightly"]


async def test_without_a_run_there_is_nothing_to_report_or_explain(user):
    assert "no run yet" in (await user.enricher("report")).complaint
    assert "nothing is recorded about trace abc" in (await user.enricher("explain", "abc")).complaint


# sampling


def test_sampling_takes_the_same_traces_in_every_process(tmp_path):
    known = case("CU-03")
    rate, ids = known["input"]["rate"], known["input"]["trace_ids"]
    taken = f"[n for n in range({ids}) if is_sampled(f'{{n:032x}}', {rate})]"
    code = f"from enricher.steps.selection import is_sampled\nprint({taken})"
    chosen = [
        json.loads(
            subprocess.run(
                [sys.executable, "-c", code],
                cwd=ROOT,
                env=environment(tmp_path, PYTHONHASHSEED=seed),
                capture_output=True,
                check=True,
            ).stdout
        )
        for seed in ("1", "2")
    ]
    assert chosen[0] == chosen[1]
    low, high = known["expected"]["selected_between"]
    assert low <= len(chosen[0]) <= high
