"""What nobody may see is seen nowhere: not by the model, not in the store, not on the platform, not in a log."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.acceptance.cases import case
from tests.acceptance.command import User
from tests.servers.failing import FailingServer, Reply, reply_json
from tests.servers.openai import OpenAIServer, Say

SECRETS = ("jana.beispiel@example.com", "+49 170 1234567", "4111 1111 1111 1111", "Jana Beispiel", "K-778899")
ANSWER = "Jana Beispiel (jana.beispiel@example.com, K-778899) is refunded to 4111 1111 1111 1111 within 90 days."
DOCUMENT = "Customer Jana Beispiel, +49 170 1234567, jana.beispiel@example.com. Refunds are paid within 30 days."
PRIVACY = {
    "redact": ["email", "phone", "card"],
    "patterns": {"case": r"K-\d{6}"},
    "fields": ["metadata.customer"],
}
FORCED = ("--from", "2026-01-01", "--to", "2100-01-01")


def record(**fields) -> dict:
    moment = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
    return {
        "id": "case-1",
        "question": "What does jana.beispiel@example.com get?",
        "documents": [{"id": "d1", "text": DOCUMENT}],
        "answer": ANSWER,
        "time": moment,
        "metadata": {"customer": "Jana Beispiel"},
        "report": {"label": "thumbs-down", "score": 0, "comment": "call me: +49 170 1234567", "author": SECRETS[0]},
        **fields,
    }


def configure(user: User, *records: dict, **settings) -> None:
    (user.folder / "traces.jsonl").write_text("\n".join(map(json.dumps, records)) + "\n")
    user.configure(
        connections={"files": {"kind": "files", "paths": ["traces.jsonl"], "output": "annotations.jsonl"}},
        jobs={"nightly": {"connection": "files", "rules": [{"name": "all"}], "risk_level": "high"}},
        **settings,
    )


def kept(folder: Path) -> str:
    """Return all that is in the files of a folder but the traces themselves."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "traces.jsonl"]
    return "\n".join(path.read_bytes().decode("utf-8", "replace") for path in files)


def assert_nothing_of(secrets, text: str) -> None:
    for secret in secrets:
        assert secret not in text
        assert json.dumps(secret)[1:-1] not in text


async def test_masked_texts_reach_neither_model_nor_store_nor_platform_nor_log(user):
    async with OpenAIServer().running() as model:
        openai = {"base_url": model.url, "model": "judge-2026-01-01"}
        configure(user, record(), engine="openai", openai=openai, privacy=PRIVACY, log_level="debug")
        run = await user.run(*FORCED)
        assert run.code == 0, run.err
        assert model.requests
        assert_nothing_of(SECRETS, "\n".join(request.prompt for request in model.requests))
    shown = await user.enricher("explain", "case-1", "-c", "enricher.yaml")
    assert "MAIL" in shown.out
    assert_nothing_of(SECRETS, kept(user.folder))
    assert user.count("evaluations", "verdict LIKE '%redacted_by_rule%'") == 1


async def test_offsets_of_what_is_written_are_right_in_the_original(user):
    configure(user, record(), privacy=PRIVACY)
    run = await user.run(*FORCED)
    assert run.code == 0, run.err
    written = [json.loads(line) for line in (user.folder / "annotations.jsonl").read_text().splitlines()]
    (diff,) = (entry for entry in written if entry["name"] == "context_diff")
    assert diff["label"] == "contradicted"
    found = [segment for segment in diff["metadata"]["segments"] if segment.get("evidence")]
    quotes = {}
    for segment in found:
        assert len(ANSWER[segment["start"] : segment["end"]]) == len(segment["generated_text"])
        for quote in segment["evidence"]:
            original = DOCUMENT[quote["start"] : quote["end"]]
            assert len(original) == len(quote["text"])
            quotes[original] = quote["text"]
    assert quotes["Refunds are paid within 30 days."] == "Refunds are paid within 30 days."


async def test_plain_records_and_extraction_are_masked_too(user):
    user.configure(privacy=PRIVACY)
    (user.folder / "in.jsonl").write_text(json.dumps(record()))
    judged = await user.enricher("judge", "in.jsonl", "-c", "enricher.yaml")
    assert judged.code == 0, judged.err
    assert_nothing_of([s for s in SECRETS if s != "Jana Beispiel"], judged.out)
    assert "redacted_by_rule" in judged.lines[0]["flags"]
    exported = [
        {"trace_id": "a" * 32, "span_id": "b" * 16, "name": "root",
         "attributes": {"input.value": "q", "output.value": ANSWER, "metadata": '{"customer": "Jana Beispiel"}',
                        "openinference.span.kind": "CHAIN", "retrieval.documents.0.document.content": DOCUMENT}},
    ]  # fmt: skip
    (user.folder / "trace.json").write_text(json.dumps(exported))
    shown = await user.enricher("extract", "trace.json", "-c", "enricher.yaml")
    assert_nothing_of(SECRETS[:3], shown.out)


async def test_pr_01_a_reply_that_is_no_json_is_logged_by_its_length_only(user):
    known = case("PR-01")
    raw = known["input"]["raw_response"]
    async with OpenAIServer().script(Say(raw)).running() as model:
        openai = {"base_url": model.url, "model": "judge-2026-01-01"}
        configure(
            user, record(), engine="openai", openai=openai, logs="json", log_level=known["input"]["log_level"].lower()
        )
        run = await user.run(*FORCED)
    assert run.code == 1
    assert "Jana Beispiel, born" not in run.err
    assert "Jana" not in run.err
    lines = [json.loads(line) for line in run.err.splitlines()]
    told = next(line for line in lines if "JUDGE_PARSE_ERROR" in line["message"])
    assert told["trace_id"] == "case-1"
    assert told["run_id"]
    assert str(len(raw)) in told["message"]
    assert user.count("raw_replies", "reply LIKE '%Jana Beispiel%'") == 2


async def test_pr_02_a_trace_that_the_tracer_emptied_is_not_judged(user):
    known = case("PR-02")
    run = known["input"]["run"] | {
        "id": "r1",
        "trace_id": "r1",
        "run_type": "chain",
        "name": "rag",
        "status": "success",
    }
    (user.folder / "run.json").write_text(json.dumps([run]))
    (row,) = (await user.enricher("extract", "run.json")).lines
    assert row["valid"] is False
    assert row["reject_reason"] in (known["expected"]["reason"], "redacted")


async def test_pr_05_a_key_is_in_no_output_log_store_or_annotation(user):
    known = case("PR-05")
    (name, key), *_ = known["input"]["env"].items()

    def leaky(asked) -> Reply:
        return reply_json({"detail": f"bad key {asked.headers.get('x-api-key')} at {asked.path} {asked.headers}"}, 401)

    async with FailingServer(leaky) as platform:
        user.configure(
            connections={"langsmith": {"kind": "langsmith", "base_url": platform.base_url}},
            jobs={"nightly": {"connection": "langsmith", "rules": [{"name": "all"}]}},
            log_level="debug",
        )
        outputs = []
        for command in (("run",), ("doctor",), ("doctor", "--json"), ("run", "--json")):
            finished = await user.enricher(*command, "-c", "enricher.yaml", **{name: key})
            assert finished.code == 2
            outputs += [finished.out, finished.err]
        assert platform.asked
    assert key not in "\n".join(outputs)
    assert key not in kept(user.folder)


async def test_a_bug_leaves_no_text_in_the_log_unless_asked(user):
    configure(user, record(), logs="json", log_level="debug")
    finished = await user.run(*FORCED, "--json")
    assert finished.code == 0
    assert_nothing_of([*SECRETS, "refunded", "Refunds are paid"], finished.err)


async def test_forgetting_deletes_everything_but_what_the_platform_has(user):
    configure(user, record(), record(id="case-2"))
    assert (await user.run(*FORCED)).code == 0
    refused = await user.enricher("forget", "case-1", "-c", "enricher.yaml")
    assert "--yes" in refused.complaint
    assert user.count("evaluations") == 2

    forgotten = await user.enricher("forget", "case-1", "--yes", "-c", "enricher.yaml", "--json")

    assert forgotten.json["deleted_rows"] > 0
    assert any(place.startswith("context_diff on span case-1") for place in forgotten.json["left_on_platform"])
    tables = ("refs", "evaluations", "items", "outbox", "review_items", "rejections")
    assert [user.count(table, "trace_id = 'case-1'") for table in tables] == [0] * len(tables)
    assert user.count("evaluations", "trace_id = 'case-2'") == 1
    assert user.count("runs", "report LIKE '%case-1%'") == 0
    again = await user.run(*FORCED, "--json")
    assert again.json["chosen"] == 1
    assert user.count("refs", "trace_id = 'case-1'") == 0


async def test_raw_replies_are_purged_by_age_by_hand_and_by_the_next_run(user):
    async with OpenAIServer().running() as model:
        openai = {"base_url": model.url, "model": "judge-2026-01-01"}
        configure(user, record(), engine="openai", openai=openai)
        assert (await user.run(*FORCED)).code == 0
        assert user.count("raw_replies") == 1
        assert "say how old" in (await user.enricher("purge", "-c", "enricher.yaml")).complaint
        late = await user.enricher("purge", "--older-than", "1h", "-c", "enricher.yaml", "--json")
        assert late.json == {"deleted": 0}
        configure(user, record(), engine="openai", openai=openai, privacy={"keep_raw_replies": "0s"})
        assert (await user.run(*FORCED)).code == 0
        assert user.count("raw_replies") == 0
        assert user.count("evaluations") == 1


@pytest.mark.parametrize(
    ("privacy", "complaint"),
    [
        ({"patterns": {"x": "("}}, "'x' is no regular expression"),
        ({"patterns": {"x": "a*"}}, "'x' matches the empty text"),
        ({"redact": ["mail"]}, "did you mean 'email'"),
        ({"secret": "abc"}, "secrets are not read from the file"),
    ],
)
async def test_a_wrong_rule_is_refused(user, privacy, complaint):
    user.configure(privacy=privacy)
    assert complaint in (await user.run()).complaint
