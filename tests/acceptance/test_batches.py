"""`enricher run` with batches is killed again and again, and nothing is uploaded, paid or written twice."""

import asyncio
import json
import signal
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from tests.acceptance.command import User, until
from tests.servers.openai import OpenAIServer

TRACES = 30
FORCED = ("--from", "2026-01-01", "--to", "2100-01-01", "--json")


def configure(user: User, model: OpenAIServer) -> None:
    moment = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
    records = [
        {
            "id": f"case-{number:02}",
            "question": "How long is the notice period?",
            "documents": [{"id": "d1", "text": "The notice period is sixty days."}],
            "answer": f"The notice period is {number} days.",
            "time": moment,
        }
        for number in range(TRACES)
    ]
    (user.folder / "traces.jsonl").write_text("\n".join(map(json.dumps, records)) + "\n")
    user.configure(
        engine="openai",
        openai={
            "base_url": model.url,
            "model": "judge-2026-01-01",
            "transport": "batch",
            "batch": {"collect": "0.3s", "poll": "0.2s"},
            "price_in": 1.0,
            "price_out": 1.0,
        },
        connections={"files": {"kind": "files", "paths": ["traces.jsonl"], "output": "annotations.jsonl"}},
        jobs={"nightly": {"connection": "files", "rules": [{"name": "all"}], "second_check": {"by": []}}},
    )


def annotated(user: User) -> Counter:
    """Count the diffs that are written, by trace."""
    lines = (user.folder / "annotations.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    return Counter(row["trace_id"] for row in rows if row["name"] == "context_diff")


@pytest.mark.parametrize(
    "reached",
    [
        pytest.param("POST /files", marks=pytest.mark.long),
        "POST /batches",
        "GET /batches/",
        pytest.param("/content", marks=pytest.mark.long),
    ],
)
async def test_a_run_killed_while_its_batch_is_under_way_is_taken_up(user, reached):
    async with OpenAIServer().running() as model:
        configure(user, model)
        desk = model.desk
        desk.is_held = reached != "/content"
        process = user.start("run", "--config", "enricher.yaml", *FORCED)
        await until(lambda: any(reached in entry for entry in desk.log))
        process.send(signal.SIGKILL)
        assert (await process.wait()).code == -signal.SIGKILL
        desk.is_held = False
        finished = await user.run(*FORCED)
        assert finished.code == 0, (finished.out, finished.err)
        assert finished.json["scored"] == TRACES
        uploads = [entry for entry in desk.log if entry == "POST /files"]
        assert (len(uploads), len(desk.batches)) == (1, 1)
        assert annotated(user) == Counter({f"case-{number:02}": 1 for number in range(TRACES)})
        assert user.count("batch_lines") == 0


async def test_a_signal_leaves_the_batch_at_the_server_and_the_next_run_takes_it_up(user):
    async with OpenAIServer().running() as model:
        configure(user, model)
        model.desk.is_held = True
        process = user.start("run", "--config", "enricher.yaml", *FORCED)
        await until(lambda: any("GET /batches/" in entry for entry in model.desk.log))
        process.send(signal.SIGTERM)
        stopped = await asyncio.wait_for(process.wait(), 30)
        assert (stopped.code, stopped.json["state"]) == (1, "interrupted")
        assert user.count("leases") == 0
        model.desk.is_held = False
        finished = await user.run(*FORCED)
        assert (finished.code, finished.json["scored"]) == (0, TRACES)
        assert len(model.desk.batches) == 1
