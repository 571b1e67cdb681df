"""Killed at any moment, the store and the platform come to agree: everything written, each once."""

import asyncio
import sys
from collections import Counter
from pathlib import Path

from sqlalchemy import text

from enricher.store import RefState, Store
from enricher.store.engine import connect, parse_url
from enricher.verdict import DeliveryState
from tests.store.crashing import FilePlatform, run_job

ROOT = Path(__file__).resolve().parents[2]
COUNT = 150
KILLED_AFTER = (0, 31, 7, 40, 19, 26)  # steps of settling and writing


async def test_killed_at_many_points_every_verdict_has_its_write_back_and_each_arrives(url, tmp_path):
    path = tmp_path / "platform.jsonl"
    for steps in KILLED_AFTER:
        await _run_and_kill(url, path, steps)
        _assert_verdicts_and_write_backs_belong_together(url)

    await run_job(url, path, COUNT)

    expected = {f"phoenix:s{number}:context_diff:v1" for number in range(COUNT)}
    writes = Counter(FilePlatform(path).written())
    assert set(writes) == expected
    # Only what was under way when a process was killed may have been repeated: at most a batch a kill.
    assert sum(writes.values()) - COUNT <= 7 * len(KILLED_AFTER)
    async with await Store.open(url) as store:
        assert (await store.backlogs()) == {}
        story = await store.explain("t99")
        assert [r.state for r in story.outbox] == [DeliveryState.CONFIRMED]
        assert [r.state for r in story.refs] == [RefState.DONE]
    _assert_verdicts_and_write_backs_belong_together(url)


async def _run_and_kill(url, path, steps):
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.store.crashing", url, path, str(COUNT)),
        stdout=asyncio.subprocess.PIPE,
        cwd=ROOT,
    )
    for _ in range(1 + steps):
        assert await process.stdout.readline(), "it ended by itself"
    process.kill()
    await process.wait()


def _assert_verdicts_and_write_backs_belong_together(url):
    engine = connect(parse_url(url))
    with engine.connect() as connection:
        loose = {
            "a verdict without its write-back": "SELECT id FROM evaluations EXCEPT SELECT evaluation_id FROM outbox",
            "a write-back without its verdict": "SELECT evaluation_id FROM outbox EXCEPT SELECT id FROM evaluations",
            "a verdict without its replies": "SELECT id FROM evaluations EXCEPT SELECT evaluation_id FROM raw_replies",
            "a done trace without its verdict": "SELECT trace_id FROM refs WHERE state = 'done' "
            "EXCEPT SELECT trace_id FROM evaluations",
            "a verdict whose trace is not done": "SELECT trace_id FROM evaluations "
            "EXCEPT SELECT trace_id FROM refs WHERE state = 'done'",
        }
        for what, query in loose.items():
            assert connection.execute(text(query)).all() == [], what
    engine.dispose()
