"""The traces of a run on several cores: what one process would write, once, whatever becomes of the others."""

import asyncio
import json
import multiprocessing
import os
import signal

import pytest

from enricher.app import App, run_jobs
from enricher.choosing import Request
from enricher.progress import Silent
from enricher.settings import load

TRACES = 120


@pytest.fixture
def shared(tmp_path):
    """Return a config whose job's traces two processes share."""
    document = "Notice is {0} days. Fees of {0} are refunded pro rata."
    records = [
        {"id": n, "answer": f"Notice is {n % 7} days.", "documents": [{"id": "d", "text": document.format(n)}]}
        for n in range(TRACES)
    ]
    (tmp_path / "in.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    files = {"kind": "files", "paths": [str(tmp_path / "in.jsonl")], "output": str(tmp_path / "out.jsonl")}
    job = {"connection": "files", "projects": "all", "rules": [{"name": "all"}]}
    config = {"store": f"sqlite:///{tmp_path}/store.db", "workers": 2, "connections": {"files": files}}
    (tmp_path / "enricher.yaml").write_text(json.dumps({**config, "jobs": {"nightly": job}}))
    return load(tmp_path / "enricher.yaml", {})


def written(tmp_path) -> dict[str, str]:
    """Return the label of each trace that was annotated; one that was annotated twice fails."""
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    diffs = [(row["trace_id"], row["label"]) for row in rows if row["name"] == "context_diff"]
    assert len(dict(diffs)) == len(diffs)
    return dict(diffs)


async def test_processes_share_the_traces_of_a_run_and_write_what_one_would_write(shared, tmp_path):
    (result,) = await run_jobs(shared, ["nightly"], Request())
    assert (result.report.state, result.report.problems) == ("finished", ())
    many = written(tmp_path)
    assert len(many) == TRACES
    assert multiprocessing.active_children() == []
    (tmp_path / "out.jsonl").unlink()
    alone = shared.model_copy(update={"workers": 1, "store": f"sqlite:///{tmp_path}/alone.db"})
    await run_jobs(alone, ["nightly"], Request())
    assert written(tmp_path) == many


async def test_what_a_killed_process_had_not_settled_is_done_by_the_next_run_and_once(shared, tmp_path):
    running = asyncio.create_task(run_jobs(shared, ["nightly"], Request()))
    while not (children := multiprocessing.active_children()):
        await asyncio.sleep(0.01)
    os.kill(children[0].pid, signal.SIGKILL)
    (broken,) = await running
    assert broken.report.state == "failed"
    assert "the workers are out" in broken.report.problems[0]
    assert multiprocessing.active_children() == []
    (whole,) = await run_jobs(shared, ["nightly"], Request())
    assert whole.report.state == "finished"
    assert len(written(tmp_path)) == TRACES


async def test_a_job_that_asks_a_model_is_done_by_one_process(shared):
    asking = shared.model_copy(update={"engine": "openai"})
    async with await App.open(asking) as app:
        assert app._remote("nightly") is None
    async with await App.open(shared) as app:
        assert app._remote("nightly") is not None


async def test_workers_that_are_told_to_stop_finish_what_they_have_begun(shared, tmp_path):
    stop = asyncio.Event()

    def stop_them() -> None:
        for child in multiprocessing.active_children():
            os.kill(child.pid, signal.SIGTERM)
        stop.set()

    async with await App.open(shared) as app:
        asyncio.get_running_loop().call_later(1.0, stop_them)
        result = await app.run("nightly", Request(), Silent(), stop)
        assert result.report.problems == ()
        settled = len(written(tmp_path)) if (tmp_path / "out.jsonl").exists() else 0
        assert settled in (0, 50, 100, TRACES)
    (whole,) = await run_jobs(shared, ["nightly"], Request())
    assert whole.report.state == "finished"
    assert len(written(tmp_path)) == TRACES
